#include "core/answer/mapping_search.hpp"

#include <algorithm>
#include <cstddef>

#include "core/answer/placement_note.hpp"
#include "core/base/sort.hpp"

namespace wireplan {

namespace {

constexpr int kEnumerated = 8;
constexpr double kMostSorted = 5e7;  // GPUs that one run of exchanges puts in order

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The lists of `groups` under `names`, as one list of numbers; groups that are the same set (or, where order counts, the same walk
// from either end) give the same.
std::vector<int> canonical(const std::vector<std::vector<int>>& groups, const std::vector<int>& names, bool is_ordered, std::vector<std::vector<int>>& lists) {
  lists.clear();
  for (const std::vector<int>& group : groups) {
    std::vector<int>& list = lists.emplace_back();
    for (int i : group) list.push_back(names[at(i)]);
    if (!is_ordered) sort(list);
    else if (list.back() < list.front()) std::reverse(list.begin(), list.end());
  }
  sort(lists);
  std::vector<int> key;
  for (const std::vector<int>& list : lists) {
    key.insert(key.end(), list.begin(), list.end());
    key.push_back(-1);
  }
  return key;
}

class Enumeration {
 public:
  Enumeration(MappedStep& step, const std::vector<int>& gpus, const std::vector<int>& alike, int budget)
      : step_(step), gpus_(gpus), alike_(alike), budget_(step.rings() + budget), before_(gpus.size()), taken_(gpus.size()), chosen_(gpus.size()) {
    for (const auto& [a, b] : step.symmetries()) before_[at(b)].push_back(a);
  }

  void run(Found& found) {
    extend(0, found);
    found.exact = step_.rings() <= budget_;
  }

 private:
  void extend(std::size_t position, Found& found) {
    if (step_.rings() > budget_) return;
    if (position == gpus_.size()) {
      const MappedStep::Result result = step_.step(chosen_);
      ++found.compared;
      if (found.gpus.empty() || result < found.result) {
        found.gpus = chosen_;
        found.result = result;
      }
      return;
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (taken_[i]) continue;
      bool is_first = true;  // of its kind, and above those that must be lower
      for (std::size_t j = 0; j < i; ++j) is_first = is_first && (taken_[j] || alike_[at(gpus_[j])] != alike_[at(gpus_[i])]);
      for (int a : before_[position]) is_first = is_first && chosen_[at(a)] < gpus_[i];
      if (!is_first) continue;
      taken_[i] = true;
      chosen_[position] = gpus_[i];
      extend(position + 1, found);
      taken_[i] = false;
    }
  }

  MappedStep& step_;
  const std::vector<int>& gpus_;
  const std::vector<int>& alike_;
  int budget_;
  std::vector<std::vector<int>> before_;
  std::vector<bool> taken_;
  std::vector<int> chosen_;
};

// Exchanges of two GPUs, each taken when it gains, until none does or the budget is spent. Inside a group an exchange lays no new
// ring, and yet takes time.
void exchange(MappedStep& step, std::vector<int> gpus, int last_ring, Found& found) {
  const int last = found.compared + static_cast<int>(kMostSorted / static_cast<double>(gpus.size()));
  const auto may_go_on = [&] { return step.rings() < last_ring && found.compared < last; };
  MappedStep::Result result = step.step(gpus);
  ++found.compared;
  for (bool gained = true; gained && may_go_on();) {
    gained = false;
    for (std::size_t i = 0; i < gpus.size() && may_go_on(); ++i)
      for (std::size_t j = i + 1; j < gpus.size() && may_go_on(); ++j) {
        std::swap(gpus[i], gpus[j]);
        const MappedStep::Result other = step.step(gpus);
        ++found.compared;
        if (other < result) {
          result = other;
          gained = true;
        } else {
          std::swap(gpus[i], gpus[j]);
        }
      }
  }
  if (found.gpus.empty() || result < found.result) {
    found.gpus = std::move(gpus);
    found.result = result;
  }
}

}  // namespace

MappedStep::MappedStep(const Plan& plan, const PreparedCluster& cluster, StepCost cost, const EfficiencyConstants& efficiency)
    : plan_(plan), cluster_(cluster), efficiency_(efficiency), cost_(std::move(cost)) {
  std::vector<GroupKind> seen;
  for (std::size_t i = 0; i < cost_.messages.size(); ++i) {
    const Message& m = cost_.messages[i].message;
    const auto place = std::find(seen.begin(), seen.end(), m.group) - seen.begin();
    if (place == static_cast<std::ptrdiff_t>(seen.size())) {
      seen.push_back(m.group);
      kinds_.push_back({group_shape(plan, m.group), {}, false, {}});
    }
    Kind& kind = kinds_[static_cast<std::size_t>(place)];
    kind.messages.push_back(i);
    kind.is_ordered = kind.is_ordered || m.collective == Collective::send_recv;
  }
}

MappedStep::Result MappedStep::step(const std::vector<int>& gpus) {
  Result result;
  GroupShape mapped;
  for (Kind& kind : kinds_) {
    std::vector<int> key = canonical(kind.shape.local, gpus, kind.is_ordered, mapped.local);
    auto known = kind.known.find(key);
    if (known == kind.known.end()) {
      mapped.ranks = kind.shape.ranks;
      mapped.nodes = kind.shape.nodes;
      mapped.per_node = kind.shape.per_node;
      const RingOnWiring ring = ring_of(plan_, cluster_, cost_.messages[kind.messages.front()].message.group, mapped);
      ++rings_;
      std::vector<CollectiveCall> calls;
      for (std::size_t i : kind.messages) {
        const MessageCost& c = cost_.messages[i];
        calls.push_back(collective_call(cluster_, ring, c.message.collective, c.ranks, c.message.bytes));
      }
      known = kind.known.emplace(std::move(key), Laid{ring, std::move(calls)}).first;
    }
    for (std::size_t i = 0; i < kind.messages.size(); ++i) {
      MessageCost& c = cost_.messages[kind.messages[i]];
      c.ring = known->second.ring;
      c.call = known->second.calls[i];
    }
  }
  settle(plan_, efficiency_, cost_);
  for (const MessageCost& c : cost_.messages) result.communication += c.total;
  result.time = cost_.time.value;
  return result;
}

// Whether every group lies on the same positions when each position i goes to moved[i].
bool MappedStep::keeps_groups(const std::vector<int>& moved) const {
  std::vector<int> same(moved.size());
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<int>(i);
  std::vector<std::vector<int>> lists;
  return std::all_of(kinds_.begin(), kinds_.end(), [&](const Kind& k) { return canonical(k.shape.local, same, k.is_ordered, lists) == canonical(k.shape.local, moved, k.is_ordered, lists); });
}

// A layout is a grid of dimensions, so exchanges of two coordinates of a dimension and turns of a whole one, one dimension at a time or
// several at once, are tried. An exchange that keeps all groups and first moves position a to b > a asks for gpus[a] < gpus[b]: the assignment that comes
// first in order of the alphabet, of those a symmetry makes alike, has it.
std::vector<std::pair<int, int>> MappedStep::symmetries() const {
  const int n = size();
  std::vector<std::vector<int>> exchanges{std::vector<int>(at(n))};
  for (int i = 0; i < n; ++i) exchanges.front()[at(i)] = i;
  std::vector<std::pair<int, int>> pairs;
  int stride = 1;
  for (std::string_view rest = plan_.parallel.order; !rest.empty();) {
    const auto dimension = value_named<Dimension>(rest.substr(0, rest.find('-')));
    rest.remove_prefix(std::min(rest.size(), rest.find('-') == std::string_view::npos ? rest.size() : rest.find('-') + 1));
    const Parallel& p = plan_.parallel;
    const Count full = dimension == Dimension::tp ? p.tensor : dimension == Dimension::cp ? p.context : dimension == Dimension::dp ? p.data : dimension == Dimension::pp ? p.pipeline : 1;
    const int extent = static_cast<int>(std::min<Count>(full, n / stride));
    if (extent < 2 || n % (stride * extent) != 0) continue;
    // Coordinates u and v change places; (0, 0): the dimension is turned round.
    std::vector<std::pair<int, int>> changes;
    if (extent > 2) changes.push_back({0, 0});
    for (int u = 0; u < extent; ++u)
      for (int v = u + 1; v < extent; ++v) changes.push_back({u, v});
    const std::size_t so_far = exchanges.size();
    for (const auto& [u, v] : changes)
      for (std::size_t e = 0; e < so_far; ++e) {
        std::vector<int> moved = exchanges[e];
        for (int& m : moved) {
          const int coordinate = m / stride % extent;
          if (v == 0) m += (extent - 1 - 2 * coordinate) * stride;
          else if (coordinate == u) m += (v - u) * stride;
          else if (coordinate == v) m -= (v - u) * stride;
        }
        exchanges.push_back(std::move(moved));
      }
    stride *= extent;
  }
  for (const std::vector<int>& moved : exchanges) {
    const auto first = std::find_if(moved.begin(), moved.end(), [&](const int& m) { return m != &m - moved.data(); });
    if (first == moved.end() || !keeps_groups(moved)) continue;
    const std::pair pair{static_cast<int>(first - moved.begin()), *first};
    if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) pairs.push_back(pair);
  }
  return pairs;
}

Found best_assignment(MappedStep& step, const std::vector<int>& gpus, const std::vector<int>& alike, const PreparedCluster& cluster, int budget) {
  Found found;
  if (cluster.switched || gpus.size() < 2) {
    found.gpus = gpus;
    found.result = step.step(gpus);
    found.exact = true;
    found.compared = 1;
    return found;
  }
  if (gpus.size() <= kEnumerated) Enumeration(step, gpus, alike, budget).run(found);
  if (found.exact) return found;
  const int last_ring = step.rings() + budget;
  exchange(step, gpus, last_ring - budget / 2, found);
  std::vector<int> near;
  for (const std::vector<int>& group : nearest_groups(cluster, gpus, gpus.size())) near.insert(near.end(), group.begin(), group.end());
  exchange(step, std::move(near), last_ring, found);
  return found;
}

}  // namespace wireplan
