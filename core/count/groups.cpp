#include "core/count/groups.hpp"

#include <algorithm>
#include <array>
#include <utility>

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
  } else if (kind == GroupKind::embedding) {
    const bool at_end = position == 0 || position == size - 1;
    m.first = at_end ? 0 : position;
    m.step = at_end ? std::max<Count>(size - 1, 1) : 1;
    m.count = at_end ? std::min<Count>(size, 2) : 1;
  }
  return m;
}

// Nodes and the most ranks on one of them, for ranks on GPUs of their own index.
std::pair<Count, Count> spread(const Members& m, Count gpus) {
  if (m.count <= 1) return {1, 1};
  if (m.run_count == 1) {
    const Count stride = m.runs[0].stride * m.step, begin = m.at(0);
    if (stride >= gpus) return {m.count, 1};                          // each step leaves the node
    const Count nodes = m.at(m.count - 1) / gpus - begin / gpus + 1;  // no node is stepped over
    const Count room = gpus - begin % gpus;
    const Count on_first = std::min(m.count, (room + stride - 1) / stride),
                on_full = std::min(m.count - on_first, (gpus + stride - 1) / stride);
    return {nodes, std::max(on_first, on_full)};
  }
  Count nodes = 0, most = 0, here = 0, last = -1;
  for (Count i = 0; i < m.count; ++i) {
    const Count node = m.at(i) / gpus;  // ranks of a group grow, so nodes do
    if (node != last) {
      ++nodes;
      here = 0;
      last = node;
    }
    most = std::max(most, ++here);
  }
  return {nodes, most};
}

std::pair<Count, Count> spread_placed(const Members& m, Count gpus, const std::vector<int>& placement) {
  std::vector<Count> nodes;
  nodes.reserve(static_cast<std::size_t>(m.count));
  for (Count i = 0; i < m.count; ++i) nodes.push_back(placement[static_cast<std::size_t>(m.at(i))] / gpus);
  std::sort(nodes.begin(), nodes.end());
  Count distinct = 0, most = 0, here = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_new = i == 0 || nodes[i] != nodes[i - 1];
    distinct += is_new;
    here = is_new ? 1 : here + 1;
    most = std::max(most, here);
  }
  return {distinct, most};
}

}  // namespace

Count group_size(const Plan& plan, GroupKind kind) {
  return members_of(plan, kind, view_of(plan.parallel, kind), 0).count;
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
  const Count world = p.tensor * p.context * p.data * p.pipeline;
  const Count gpus = std::max<Count>(plan.cluster.gpus_per_node, 1), on_node = std::min(world, gpus);
  const bool placed = p.placement.size() == static_cast<std::size_t>(world);

  struct Local {
    Count leader, rank;
    int gpu;
  };
  std::vector<Local> ranks;
  ranks.reserve(static_cast<std::size_t>(on_node));
  const View view = view_of(p, kind);
  const auto add = [&](Count rank, Count gpu) {
    ranks.push_back({members_of(plan, kind, view, rank).at(0), rank, static_cast<int>(gpu)});
  };
  if (placed) {
    for (Count r = 0; r < world; ++r)
      if (p.placement[static_cast<std::size_t>(r)] < gpus) add(r, p.placement[static_cast<std::size_t>(r)]);
  } else {
    for (Count r = 0; r < on_node; ++r) add(r, r);
  }
  std::sort(ranks.begin(), ranks.end(), [](const Local& a, const Local& b) {
    return a.leader != b.leader ? a.leader < b.leader : a.rank < b.rank;
  });

  GroupShape shape;
  shape.ranks = static_cast<int>(group_size(plan, kind));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == 0 || ranks[i].leader != ranks[i - 1].leader) {
      const Members m = members_of(plan, kind, view, ranks[i].rank);
      const auto [nodes, most] = placed ? spread_placed(m, gpus, p.placement) : spread(m, gpus);
      shape.nodes = std::max(shape.nodes, static_cast<int>(nodes));
      shape.per_node = std::max(shape.per_node, static_cast<int>(most));
      shape.local.emplace_back();
    }
    shape.local.back().push_back(ranks[i].gpu);
  }
  return shape;
}

}  // namespace wireplan
