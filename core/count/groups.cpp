#include "core/count/groups.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/base/sort.hpp"
#include "core/count/deepspeed_settings.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kDimensions = 5;
using Sizes = std::array<Count, kDimensions>;  // by Dimension

constexpr std::size_t index_of(Dimension d) { return static_cast<std::size_t>(d); }

// The order as dimensions, innermost first. Names that are missing (validate() refuses them) come last.
std::array<Dimension, kDimensions> order_of(const std::string& text) {
  std::array<Dimension, kDimensions> order{};
  std::array<bool, kDimensions> seen{};
  std::size_t n = 0;
  for (std::size_t start = 0; start <= text.size() && n < kDimensions;) {
    const std::size_t end = std::min(text.find('-', start), text.size());
    const auto d = value_named<Dimension>(std::string_view(text).substr(start, end - start));
    if (d && !seen[index_of(*d)]) {
      seen[index_of(*d)] = true;
      order[n++] = *d;
    }
    start = end + 1;
  }
  for (std::size_t i = 0; i < kDimensions; ++i)
    if (!seen[i] && n < kDimensions) order[n++] = static_cast<Dimension>(i);
  return order;
}

Sizes dense_sizes(const Parallel& p) {
  Sizes s{};
  s[index_of(Dimension::tp)] = p.tensor;
  s[index_of(Dimension::cp)] = p.context;
  s[index_of(Dimension::ep)] = 1;
  s[index_of(Dimension::dp)] = p.data;
  s[index_of(Dimension::pp)] = p.pipeline;
  return s;
}

Sizes expert_sizes(const Parallel& p) {
  Sizes s{};
  s[index_of(Dimension::tp)] = p.expert_tensor;
  s[index_of(Dimension::cp)] = 1;
  s[index_of(Dimension::ep)] = p.expert;
  s[index_of(Dimension::dp)] =
      std::max<Count>(p.tensor * p.context * p.data / std::max<Count>(p.expert * p.expert_tensor, 1), 1);
  s[index_of(Dimension::pp)] = p.pipeline;
  return s;
}

struct Run {  // ranks base + i·stride, 0 <= i < size
  Count stride = 1, size = 1;
};

// The group of one rank: an arithmetic walk over at most five runs (innermost first), of which the members
// first, first + step, ... (count of them) are taken.
struct Members {
  Count base = 0;
  std::array<Run, kDimensions> runs{};
  std::size_t run_count = 0;
  Count first = 0, step = 1, count = 1;

  Count at(Count i) const {
    Count index = first + i * step, rank = base;
    for (std::size_t r = 0; r < run_count; ++r) {
      rank += index % runs[r].size * runs[r].stride;
      index /= runs[r].size;
    }
    return rank;
  }
};

bool is_expert_kind(GroupKind k) {
  return k == GroupKind::expert || k == GroupKind::expert_data || k == GroupKind::expert_tensor;
}

bool spans(GroupKind kind, Dimension d) {
  switch (kind) {
    case GroupKind::tensor:
    case GroupKind::expert_tensor:
      return d == Dimension::tp;
    case GroupKind::pipeline:
    case GroupKind::embedding:
      return d == Dimension::pp;
    case GroupKind::context:
      return d == Dimension::cp;
    case GroupKind::expert:
      return d == Dimension::ep;
    case GroupKind::expert_data:
      return d == Dimension::dp;
    case GroupKind::data:
    case GroupKind::shard:
    case GroupKind::replicate:
    case GroupKind::secondary:
      return d == Dimension::dp || d == Dimension::cp;
  }
  return false;
}

struct View {  // strides of one view of the ranks
  std::array<Dimension, kDimensions> order;
  Sizes sizes;
};

View view_of(const Parallel& p, GroupKind kind) {
  return {order_of(p.order), is_expert_kind(kind) ? expert_sizes(p) : dense_sizes(p)};
}

Members members_of(const Plan& plan, GroupKind kind, const View& view, Count rank) {
  Members m;
  m.base = rank;
  Count stride = 1, position = 0, size = 1;
  for (const Dimension d : view.order) {
    const Count n = view.sizes[index_of(d)];
    if (spans(kind, d) && n > 1) {
      const Count coordinate = rank / stride % n;
      m.base -= coordinate * stride;
      position += coordinate * size;
      size *= n;
      if (m.run_count > 0 && m.runs[m.run_count - 1].stride * m.runs[m.run_count - 1].size == stride)
        m.runs[m.run_count - 1].size *= n;
      else
        m.runs[m.run_count++] = {stride, n};
    }
    stride *= n;
  }
  m.count = size;
  const Count shard = std::clamp<Count>(shard_ranks(plan), 1, size);
  if (kind == GroupKind::shard) {
    m.first = position / shard * shard;
    m.count = shard;
  } else if (kind == GroupKind::replicate) {
    m.first = position % shard;
    m.step = shard;
    m.count = size / shard;
  } else if (kind == GroupKind::secondary) {
    const Count k = secondary_ranks(plan);
    m.count = k > 1 && size % k == 0 ? k : 1;
    m.first = position / m.count * m.count;
  } else if (kind == GroupKind::embedding) {
    const bool at_end = position == 0 || position == size - 1;
    m.first = at_end ? 0 : position;
    m.step = at_end ? std::max<Count>(size - 1, 1) : 1;
    m.count = at_end ? std::min<Count>(size, 2) : 1;
  }
  return m;
}

// Nodes that the first `count` members stand on, rank r on GPU r. Walks the members without a division each.
Count nodes_of(const Members& m, Count gpus, Count count) {
  const Run inner = m.run_count > 0 ? m.runs[0] : Run{}, outer = m.run_count > 1 ? m.runs[1] : Run{};
  const Count step = m.step % inner.size, carried = m.step / inner.size;
  Count digit = m.first % inner.size, rank = m.at(0), nodes = 0, node_end = -1;
  for (Count i = 0; i < count; ++i) {
    if (rank >= node_end) {  // ranks of a group grow, so nodes do
      ++nodes;
      node_end = (rank / gpus + 1) * gpus;
    }
    digit += step;
    rank += step * inner.stride + carried * outer.stride;
    if (digit >= inner.size) {
      digit -= inner.size;
      rank += outer.stride - inner.size * inner.stride;
    }
  }
  return nodes;
}

// Nodes a whole group stands on, in at most 2·limit steps. Members repeat on further nodes after a period; a group is counted
// as its first members and the periods after them. Where not even a period fits into the limit, they stand for the rest.
Count nodes_of_group(const Members& m, Count gpus, Count limit) {
  if (m.count <= 1) return 1;
  if (m.run_count == 1) {
    const Count stride = m.runs[0].stride * m.step;
    return stride >= gpus ? m.count : m.at(m.count - 1) / gpus - m.at(0) / gpus + 1;  // no node is stepped over
  }
  if (m.count <= limit) return nodes_of(m, gpus, m.count);
  // `round` members return to the same place in the inner run, `period` of them to the same GPU of a node.
  const Count round = m.runs[0].size / std::gcd(m.runs[0].size, m.step);
  const Count shift = round * m.step / m.runs[0].size * m.runs[1].stride;
  const Count rounds = gpus / std::gcd(shift, gpus);
  if (round > limit / rounds) {
    const double share = double(m.count) / double(limit);
    return std::min(Count(double(nodes_of(m, gpus, limit)) * share), m.at(m.count - 1) / gpus - m.at(0) / gpus + 1);
  }
  const Count period = round * rounds, periods = (m.count - 1) / period;
  const Count each =
      nodes_of(m, gpus, period + 1) - 1;  // the next period begins on a node of its own, or on one it shares
  return periods * each + nodes_of(m, gpus, m.count - periods * period);
}

struct Local {
  Count node, leader, rank;
  int gpu;
};

// Ranks of each list of `local` are of one node and group.
std::vector<std::vector<int>> lists_of(const std::vector<Local>& ranks, std::size_t begin, std::size_t end) {
  std::vector<std::vector<int>> lists;
  for (std::size_t i = begin; i < end; ++i) {
    if (i == begin || ranks[i].leader != ranks[i - 1].leader) lists.emplace_back();
    lists.back().push_back(ranks[i].gpu);
  }
  return lists;
}

std::size_t longest(const std::vector<std::vector<int>>& lists) {
  std::size_t most = 0;
  for (const auto& list : lists) most = std::max(most, list.size());
  return most;
}

void sort_by_node_and_group(std::vector<Local>& ranks) {
  sort(ranks, [](const Local& a, const Local& b) {
    if (a.node != b.node) return a.node < b.node;
    return a.leader != b.leader ? a.leader < b.leader : a.rank < b.rank;
  });
}

// The fullest node shows the load: the one with most ranks of one group, then with most groups, then the first.
GroupShape placed_shape(const Plan& plan, GroupKind kind, const View& view, Count world, Count gpus) {
  GroupShape shape;
  std::vector<Local> ranks;
  ranks.reserve(static_cast<std::size_t>(world));
  std::vector<Count> leaders;  // once for every node a group stands on
  for (Count r = 0; r < world; ++r) {
    const Count gpu = plan.parallel.placement[static_cast<std::size_t>(r)];
    ranks.push_back({gpu / gpus, members_of(plan, kind, view, r).at(0), r, used_gpu(plan.cluster, static_cast<int>(gpu % gpus))});
  }
  sort_by_node_and_group(ranks);
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    while (end < ranks.size() && ranks[end].node == ranks[begin].node) ++end;
    for (std::size_t i = begin; i < end; ++i)
      if (i == begin || ranks[i].leader != ranks[i - 1].leader) leaders.push_back(ranks[i].leader);
    std::vector<std::vector<int>> lists = lists_of(ranks, begin, end);
    const std::size_t most = longest(lists), known = longest(shape.local);
    if (most > known || (most == known && lists.size() > shape.local.size())) shape.local = std::move(lists);
  }
  sort(leaders);
  for (std::size_t begin = 0, end = 0; begin < leaders.size(); begin = end) {
    while (end < leaders.size() && leaders[end] == leaders[begin]) ++end;
    shape.nodes = std::max(shape.nodes, static_cast<int>(end - begin));
  }
  return shape;
}

// Ranks on GPUs of their own number: by symmetry node 0 is the fullest.
GroupShape plain_shape(const Plan& plan, GroupKind kind, const View& view, Count world, Count gpus) {
  constexpr Count kMostSteps = 2'000'000;  // of walking over the members of all groups on the node
  GroupShape shape;
  std::vector<Local> ranks;
  for (Count r = 0; r < std::min(world, gpus); ++r)
    ranks.push_back({0, members_of(plan, kind, view, r).at(0), r, used_gpu(plan.cluster, static_cast<int>(r))});
  sort_by_node_and_group(ranks);
  shape.local = lists_of(ranks, 0, ranks.size());
  const Count limit = kMostSteps / static_cast<Count>(shape.local.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && ranks[i].leader == ranks[i - 1].leader) continue;
    const Members m = members_of(plan, kind, view, ranks[i].rank);
    shape.nodes = std::max(shape.nodes, static_cast<int>(nodes_of_group(m, gpus, limit)));
  }
  return shape;
}

}  // namespace

Count group_size(const Plan& plan, GroupKind kind) {
  return members_of(plan, kind, view_of(plan.parallel, kind), 0).count;
}

std::array<Count, kNames<GroupKind>.size()> group_sizes(const Plan& plan) {
  View view = view_of(plan.parallel, GroupKind::data);
  const Sizes dense = view.sizes, experts = expert_sizes(plan.parallel);
  std::array<Count, kNames<GroupKind>.size()> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const GroupKind kind = static_cast<GroupKind>(i);
    view.sizes = is_expert_kind(kind) ? experts : dense;
    sizes[i] = members_of(plan, kind, view, 0).count;
  }
  return sizes;
}

std::vector<int> group_ranks(const Plan& plan, GroupKind kind, int rank) {
  const Members m = members_of(plan, kind, view_of(plan.parallel, kind), rank);
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(m.count));
  for (Count i = 0; i < m.count; ++i) ranks.push_back(static_cast<int>(m.at(i)));
  return ranks;
}

GroupShape group_shape(const Plan& plan, GroupKind kind) {
  const Parallel& p = plan.parallel;
  const Count world = std::max<Count>(p.tensor * p.context * p.data * p.pipeline, 1);
  const Count gpus = std::max<Count>(plan.cluster.gpus_per_node, 1);
  const View view = view_of(p, kind);
  const bool placed = p.placement.size() == static_cast<std::size_t>(world);
  GroupShape shape = placed ? placed_shape(plan, kind, view, world, gpus) : plain_shape(plan, kind, view, world, gpus);
  shape.ranks = static_cast<int>(members_of(plan, kind, view, 0).count);
  shape.per_node = static_cast<int>(longest(shape.local));
  return shape;
}

GroupShape single_group(int ranks, int nodes, std::vector<int> local) {
  GroupShape shape;
  shape.ranks = ranks;
  shape.nodes = nodes;
  shape.per_node = (ranks + nodes - 1) / nodes;
  if (local.empty())
    for (int i = 0; i < shape.per_node; ++i) local.push_back(i);
  shape.local.push_back(std::move(local));
  return shape;
}

int first_rank_of_stage(const Plan& p, int stage) {
  double stride = 1;
  std::string_view rest = p.parallel.order;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('-'));
    if (name == "pp") break;
    if (name == "tp") stride *= static_cast<double>(p.parallel.tensor);
    if (name == "cp") stride *= static_cast<double>(p.parallel.context);
    if (name == "dp") stride *= static_cast<double>(p.parallel.data);
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return static_cast<int>(stride * stage);
}

}  // namespace wireplan
