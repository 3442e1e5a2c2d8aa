#include "core/answer/placement.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/answer/link_traffic.hpp"
#include "core/answer/mapping_search.hpp"
#include "core/base/sort.hpp"

namespace wireplan {

namespace {

constexpr int kMostRings = 6'000;
constexpr std::size_t kOrders = 2, kSubsets = 2;  // that are searched besides those of the plan
constexpr double kWorthIt = 1e-3;                 // share of the step; ten times that of the communication where the step stays the same

// Where a candidate lies: all that differs from the plan.
struct Candidate {
  std::string order;
  std::vector<int> gpus;  // of the i-th rank of every node
};

class Chooser {
 public:
  Chooser(const Plan& plan, const Constants& constants)
      : plan_(plan), constants_(constants), whole_(plan.cluster), work_(sequence_work(plan)), stages_(stage_parameters(plan.model, plan.parallel)),
        trained_(plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : stages_) {
    whole_.gpus.clear();
    whole_.gpus_per_node = whole_.node.gpus;
    cluster_ = prepare(whole_, constants.links);
  }

  const PreparedCluster& cluster() const { return cluster_; }

  Mapping mapping_of(const Plan& plan) const {
    const StepCost cost = cost_of(plan);
    Mapping m;
    m.order = plan.parallel.order;
    m.gpus = plan.cluster.gpus;
    m.placement = plan.parallel.placement;
    m.time = cost.time;
    for (const MessageCost& c : cost.messages) {
      m.communication += c.total;
      const double value = c.call.time.value.value;
      m.exposed.value += c.exposed;
      m.exposed.low += value > 0 ? c.exposed * (c.call.time.low.value / value) : c.exposed;
      m.exposed.high += value > 0 ? c.exposed * (c.call.time.high.value / value) : c.exposed;
      auto group = std::find_if(m.groups.begin(), m.groups.end(), [&](const MappedGroup& g) { return g.dimension == c.message.group; });
      if (group == m.groups.end()) {
        Bottleneck b = bottleneck_of(cluster_.graph, whole_, c.ring, c.message.collective);
        m.groups.push_back({c.message.group, group_shape(plan, c.message.group).local, c.ring.link_class, std::move(b.name), group_bandwidth(c), b.rate, b.nominal, {}, {}, c.message.collective == Collective::send_recv});
        group = m.groups.end() - 1;
      }
      group->time += c.total;
      group->exposed += c.exposed;
    }
    return m;
  }

  // The best candidate, as a plan.
  Plan search(const std::vector<Subset>& subsets, bool& exact, int& compared) {
    std::vector<int> used = used_gpus(plan_.cluster, plan_.cluster.gpus_per_node);
    sort(used);
    std::vector<std::vector<int>> sets{used};
    for (const Subset& s : subsets)
      if (s.gpus.size() == used.size() && sets.size() <= kSubsets && std::find(sets.begin(), sets.end(), s.gpus) == sets.end()) sets.push_back(s.gpus);
    const std::vector<std::string> orders = orders_worth_it();
    const std::vector<int> alike = used.size() <= 8 ? alike_gpus(cluster_) : std::vector<int>();
    // What a ring costs to lay grows with GPUs and links.
    const double size = static_cast<double>(used.size()) * static_cast<double>(cluster_.graph.links.size() + 1);
    const int budget = static_cast<int>(std::clamp(1e7 / size, 4.0, static_cast<double>(kMostRings))) / static_cast<int>(sets.size() * orders.size());

    Candidate best;
    MappedStep::Result result;
    for (const std::string& order : orders) {
      const Plan plan = bare(order);
      MappedStep step(plan, cluster_, cost_of(plan), constants_.efficiency);
      for (const std::vector<int>& gpus : sets) {
        Found found = best_assignment(step, gpus, alike, cluster_, budget);
        exact = exact && found.exact;
        compared += found.compared;
        if (!best.gpus.empty() && !(found.result < result)) continue;
        best = {order, std::move(found.gpus)};
        result = found.result;
      }
    }
    return stated(best);
  }

 private:
  StepCost cost_of(const Plan& plan) const { return step_cost(plan, cluster_, stages_, trained_, work_, constants_.efficiency); }

  // The plan with ranks on the GPUs of their own number.
  Plan bare(const std::string& order) const {
    Plan plan = plan_;
    plan.parallel.order = order;
    plan.parallel.placement.clear();
    plan.cluster.gpus.clear();
    return plan;
  }

  // The plan's own order, and where several nodes make a difference the best ones with every GPU as it comes. On one node another
  // order is another assignment.
  std::vector<std::string> orders_worth_it() const {
    std::vector<std::string> orders{plan_.parallel.order};
    if (plan_.cluster.nodes < 2) return orders;
    const Parallel& p = plan_.parallel;
    struct Judged { std::string order; Seconds time; };
    std::vector<Judged> judged;
    std::array<std::pair<const char*, Count>, 4> dimensions{{{"tp", p.tensor}, {"cp", p.context}, {"ep-dp", p.data * p.expert}, {"pp", p.pipeline}}};
    std::array<std::size_t, 4> turn{0, 1, 2, 3};
    do {
      // Those of one rank stay where they are: their place says nothing.
      std::string order;
      bool repeats = false;
      for (std::size_t i = 0; i < turn.size(); ++i) {
        order += (i ? "-" : "") + std::string(dimensions[turn[i]].first);
        if (dimensions[turn[i]].second > 1) continue;
        repeats = repeats || turn[i] != i;
      }
      if (repeats || order == p.order) continue;
      judged.push_back({order, cost_of(bare(order)).time.value});
    } while (std::next_permutation(turn.begin(), turn.end()));
    sort(judged, [](const Judged& a, const Judged& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; });
    for (std::size_t i = 0; i < judged.size() && i < kOrders; ++i) orders.push_back(std::move(judged[i].order));
    return orders;
  }

  Plan stated(const Candidate& c) const {
    Plan plan = bare(c.order);
    std::vector<int> set = c.gpus, first(c.gpus.size());
    sort(set);
    std::iota(first.begin(), first.end(), 0);
    // A plan that lists its GPUs goes on doing so: the list says how many there are.
    const bool has_list = !plan_.cluster.gpus.empty();
    if (plan_.cluster.nodes > 1) {
      if (has_list || c.gpus != first) plan.cluster.gpus = c.gpus;
      return plan;
    }
    if (has_list || set != first) plan.cluster.gpus = set;
    if (c.gpus == set) return plan;
    for (int gpu : c.gpus) plan.parallel.placement.push_back(static_cast<int>(std::find(set.begin(), set.end(), gpu) - set.begin()));
    return plan;
  }

  const Plan& plan_;
  const Constants& constants_;
  Cluster whole_;
  PreparedCluster cluster_;  // all GPUs of a node
  SequenceWork work_;
  std::vector<StageParameters> stages_, trained_;
};

bool has_same_constants(const Mapping& a, const Mapping& b) {
  for (std::size_t i = 0; i < a.groups.size() && i < b.groups.size(); ++i)
    if (a.groups[i].link_class != b.groups[i].link_class) return false;
  return a.groups.size() == b.groups.size();
}

// Compute is the same in both, so its error moves both alike; what counts is what shows of the messages.
void weigh(PlacementAnswer& a) {
  const Range<Seconds>&now = a.current.exposed, &then = a.best.exposed;
  a.gain = a.current.time.value - a.best.time.value;
  const Seconds low = now.low - then.low, high = now.high - then.high;
  a.gain_low = std::min({low, high, a.gain});
  a.gain_high = std::max({low, high, a.gain});
  if (now.low > then.high) a.certainty = Certainty::apart;
  else if (has_same_constants(a.current, a.best) && a.gain_low.value > 0) a.certainty = Certainty::same_constants;
}

}  // namespace

PlacementAnswer best_placement(const Plan& plan, const Constants& constants, int subset_size) {
  PlacementAnswer answer;
  Chooser chooser(plan, constants);
  const int used = plan.cluster.gpus_per_node, all = chooser.cluster().gpus;
  answer.subset_size = subset_size > 0 ? std::min(subset_size, all) : used;
  answer.subsets = best_subsets(chooser.cluster(), answer.subset_size);
  answer.current = chooser.mapping_of(plan);
  answer.best = answer.current;
  if (total_gpus(plan.cluster) > 1 && !answer.current.groups.empty()) {
    const std::vector<Subset> subsets = used == all ? std::vector<Subset>() : used == answer.subset_size ? answer.subsets.best : best_subsets(chooser.cluster(), used).best;
    Mapping found = chooser.mapping_of(chooser.search(subsets, answer.exact, answer.compared));
    const Seconds now = answer.current.time.value, then = found.time.value;
    const bool is_faster = then < now * (1 - kWorthIt);
    const bool is_lighter = then <= now && found.communication < answer.current.communication * (1 - 10 * kWorthIt);
    answer.is_better = is_faster || is_lighter;
    if (answer.is_better) answer.best = std::move(found);
  }
  weigh(answer);
  answer.text = placement_text(plan, answer, chooser.cluster());
  answer.subset_text = subset_text(answer, all);
  return answer;
}

}  // namespace wireplan
