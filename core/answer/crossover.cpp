#include "core/answer/crossover.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/math.hpp"
#include "core/base/sort.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

constexpr double kSame = 1e-5;      // of a step: rounding, and steps of the schedule that is played
constexpr double kWorthASwitch = 0.999;  // of the time of the sharding that was the fastest so far
constexpr double kNotWorthIt = 0.01;  // differences that no one chooses by
constexpr int kMostNics = 16;         // of a node that are worth proposing: as many as the largest presets have
bool is_data_parallel(GroupKind g) {
  return g == GroupKind::data || g == GroupKind::shard || g == GroupKind::replicate || g == GroupKind::expert_data || g == GroupKind::secondary;
}

bool crosses(const MessageCost& m, LinkPlace place) { return place == LinkPlace::network ? m.ring.network_bandwidth.value > 0 : m.ring.per_node > 1; }

// The message whose links are asked about; sharding moves those of data-parallel groups.
const MessageCost* asked_message(const StepCost& cost, std::optional<LinkPlace> place, bool is_of_sharding) {
  const MessageCost* best = nullptr;
  const auto is_before = [&](const MessageCost& a, const MessageCost& b) {
    const bool data_a = is_data_parallel(a.message.group), data_b = is_data_parallel(b.message.group);
    if (is_of_sharding && data_a != data_b) return data_a;
    return a.exposed != b.exposed ? a.exposed > b.exposed : a.total > b.total;
  };
  for (const MessageCost& m : cost.messages)
    if ((!place || crosses(m, *place)) && (!best || is_before(m, *best))) best = &m;
  return best;
}

AskedLink asked_link(const Plan& plan, const PreparedCluster& cluster, const LinkLimits& limits, const MessageCost& m, std::optional<LinkPlace> place) {
  AskedLink link;
  const bool binds = bottleneck_of(cluster.graph, plan.cluster, m.ring, m.message.collective).is_network;
  link.place = place.value_or(binds ? LinkPlace::network : LinkPlace::node);
  if (link.place == LinkPlace::network) {
    const Network& network = *plan.cluster.network;
    link.name = network_name(network);
    link.rate = link.nominal = network.nic_rate;
    link.nics = network.nics_per_node;
    link.has_classes = link.is_stated = true;
    return link;
  }
  const RingOnWiring ring = limits.inside(group_shape(plan, m.message.group));
  const Bottleneck b = bottleneck_of(cluster.graph, plan.cluster, ring, m.message.collective);
  link.name = b.name;
  link.rate = b.rate;
  link.nominal = b.nominal;
  link.has_classes = !plan.cluster.node.gpu.is_xgmi;  // all that leave a GPU, where it is no single link
  if (b.link >= 0) {
    const Link& l = cluster.graph.links[static_cast<std::size_t>(b.link)];
    link.has_classes = l.kind == LinkKind::pcie || l.kind == LinkKind::nvlink;
    link.is_stated = l.stated;
  }
  return link;
}

// The sign change of f between low and high, where it has different signs, to kCrossingWidth.
template <class F>
double bisected(double low, double high, bool is_above_low, const F& is_above) {
  while (high / low > kCrossingWidth) {
    const double middle = std::sqrt(low * high);
    (is_above(middle) == is_above_low ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

std::string factor_text(double factor) { return format_fixed(factor, factor < 0.1 ? 3 : factor < 10 ? 2 : 0); }

std::string speed_text(const AskedLink& link, const LinkNeed& need) {
  std::string text = format_rate(need.rate) + (link.place == LinkPlace::network ? " per NIC" : "") + " (" + factor_text(need.factor) + " × today's";
  if (!need.class_name.empty()) text += ", reached by " + need.class_name;
  else if (link.has_classes) text += ", faster than any kind of link there is a name for";
  if (need.nics > link.nics && need.nics <= kMostNics) text += ", or reached by " + std::to_string(need.nics) + " of today's NICs";
  return text + ")";
}

class Searcher {
 public:
  Searcher(const Plan& plan, const Constants& constants) : plan_(plan), constants_(constants), cluster_(prepare(plan.cluster, constants.links)), limits_(cluster_), alternatives_(sharding_alternatives(plan, constants)) {
    steps_.reserve(alternatives_.size());
    for (const Alternative& a : alternatives_) steps_.emplace_back(a.plan, a.estimate, cluster_, limits_, constants_);
  }

  Result<Crossover> answer(std::optional<LinkPlace> place, double limit) {
    std::size_t own = 0;
    while (own + 1 < alternatives_.size() && !alternatives_[own].chosen) ++own;
    const StepCost& cost = alternatives_[own].estimate.cost;
    const MessageCost* message = asked_message(cost, place, true);
    if (!message) {
      const char* who = !place ? "links between GPUs" : *place == LinkPlace::network ? "the network" : "links inside a node";
      return Error{"crossover", place ? quoted(name_of(*place)) : "true", "links that the plan uses", std::string("nothing that the plan sends crosses ") + who};
    }
    Crossover c;
    link_ = asked_link(plan_, cluster_, limits_, *message, place);
    c.link = link_;
    for (std::size_t i = 0; i < alternatives_.size(); ++i) {
      const Alternative& a = alternatives_[i];
      std::vector<Seconds> times;
      for (int k = 0; k < kLinkSpeeds; ++k) times.push_back(time(i, link_speed(k)));
      const MemoryAnswer& memory = a.estimate.memory;
      c.shardings.push_back({a.plan.parallel.data_sharding, a.label, memory.fits && memory.fits_host != 0, a.chosen, std::move(times)});
    }
    for (std::size_t more = 1; more < c.shardings.size(); ++more)
      for (std::size_t less = 0; less < more; ++less) c.pairs.push_back(pair(c, less, more));
    find_fastest(c);
    c.text = fastest_text(c);
    c.bound_from = steps_[own].bound_from(link_.place);
    c.basis = basis_text(c.bound_from);
    link_ = asked_link(plan_, cluster_, limits_, *asked_message(cost, place, false), place);
    c.exposed = exposed(own, limit);
    return c;
  }

 private:
  Seconds time(std::size_t i, double factor) { return steps_[i].at(link_.place, factor).step; }

  LinkNeed need_at(double factor) const {
    LinkNeed need{factor, link_.rate * factor, "", 0};
    need.class_name = link_class_name(link_, need.rate, constants_.links);
    need.nics = static_cast<int>(std::ceil(link_.nics * factor / kCrossingWidth));
    return need;
  }

  // Equal times count as no change: -1 a is faster, 1 b is, 0 neither.
  static int faster(Seconds a, Seconds b) {
    if (std::fabs(a.value - b.value) <= kSame * b.value) return 0;
    return a < b ? -1 : 1;
  }

  ShardingPair pair(const Crossover& c, std::size_t less, std::size_t more) {
    ShardingPair p;
    p.less = less;
    p.more = more;
    int sign = 0;
    double last = kSlowestLinks;
    for (int i = 0; i < kLinkSpeeds; ++i) {
      const Seconds a = c.shardings[less].times[static_cast<std::size_t>(i)], b = c.shardings[more].times[static_cast<std::size_t>(i)];
      const int here = faster(a, b);
      if (b.value > 0) p.largest_difference = std::max(p.largest_difference, std::fabs(a / b - 1));
      if (here != 0 && sign != 0 && here != sign) {
        const double at = bisected(last, link_speed(i), true, [&](double x) { return (time(less, x) < time(more, x)) == (sign < 0); });
        p.crossings.push_back({need_at(at), here < 0 ? less : more});
      }
      if (here != 0) sign = here, last = link_speed(i);
    }
    if (p.crossings.empty() && sign != 0) p.faster = static_cast<int>(sign < 0 ? less : more);
    p.text = pair_text(c, p);
    return p;
  }

  std::string pair_text(const Crossover& c, const ShardingPair& p) const {
    const std::string &less = c.shardings[p.less].label, &more = c.shardings[p.more].label;
    if (p.largest_difference < kNotWorthIt) return less + " and " + more + " differ by less than 1 % at every speed within 64 ×.";
    if (p.crossings.empty()) {
      const std::string& fast = p.faster == static_cast<int>(p.less) ? less : more;
      return (fast == less ? more : less) + " never beats " + fast + " within 64 × of today's speed, either way.";
    }
    std::string text;
    for (const ShardingPair::Crossing& x : p.crossings)
      text += (text.empty() ? "" : "; ") + (x.faster_above == p.less ? less : more) + " beats " + (x.faster_above == p.less ? more : less) + " from " + speed_text(link_, x.at) + " on";
    return text + ".";
  }

  // Walks the crossings of all pairs that fit; between two of them one sharding is the fastest.
  void find_fastest(Crossover& c) {
    std::vector<double> borders;
    for (const ShardingPair& p : c.pairs)
      if (c.shardings[p.less].fits && c.shardings[p.more].fits)
        for (const ShardingPair::Crossing& x : p.crossings) borders.push_back(x.at.factor);
    sort(borders);
    borders.push_back(kFastestLinks);
    double from = kSlowestLinks;
    for (const double to : borders) {
      const double middle = std::sqrt(from * to);
      int best = -1;
      for (std::size_t i = 0; i < c.shardings.size(); ++i)
        if (c.shardings[i].fits && (best < 0 || time(i, middle) < time(static_cast<std::size_t>(best), middle))) best = static_cast<int>(i);
      if (best < 0) return;
      const std::size_t next = static_cast<std::size_t>(best);
      if (c.fastest.empty() || time(next, middle) < time(c.fastest.back().sharding, middle) * kWorthASwitch)
        c.fastest.push_back({next, c.fastest.empty(), need_at(from)});
      from = to;
    }
  }

  std::string fastest_text(const Crossover& c) const {
    const auto fitting = std::count_if(c.shardings.begin(), c.shardings.end(), [](const ShardingTimes& s) { return s.fits; });
    if (plan_.parallel.data * plan_.parallel.context < 2) return "There is one data-parallel rank: nothing to shard, and no sharding sends anything.";
    if (fitting == 0) return "No sharding fits, so none can be used; their times are shown all the same.";
    if (fitting == 1) return "Only " + c.shardings[c.fastest.front().sharding].label + " fits, whatever the links; the others are timed as if they did.";
    std::string text = "Of those that fit " + c.shardings[c.fastest.front().sharding].label;
    if (c.fastest.size() == 1) return text + " is the fastest at every speed from 1/64 to 64 × today's.";
    text += " is the fastest on slow links";
    for (std::size_t i = 1; i < c.fastest.size(); ++i) text += ", " + c.shardings[c.fastest[i].sharding].label + " from " + speed_text(link_, c.fastest[i].from) + " on";
    return text + ".";
  }

  ExposedNeed exposed(std::size_t own, double limit) {
    ExposedNeed e;
    e.limit = limit;
    e.link = link_;
    const auto share = [&](double factor) {
      const StepOnLinks::Times t = steps_[own].at(link_.place, factor);
      return t.step.value > 0 ? t.exposed / t.step : 0;
    };
    e.now = share(1);
    e.at_fastest = share(kFastestLinks);
    const std::string what = "Communication that shows is " + format_percent(e.now) + " of the step now. By " + (link_.place == LinkPlace::network ? "the NICs" : "links inside a node") + " alone it is at most " + format_percent(limit);
    if (share(kSlowestLinks) <= limit) {
      e.answer = ExposedAnswer::always;
      e.text = what + ", even if they were 64 times slower.";
    } else if (e.at_fastest > limit) {
      e.answer = ExposedAnswer::never;
      const std::string still = format_percent(e.at_fastest);
      e.text = what + " at no speed within 64 × today's: at that it still is " + (still == format_percent(limit) ? "a little more" : still) + ".";
    } else {
      e.answer = ExposedAnswer::from;
      e.need = need_at(bisected(kSlowestLinks, kFastestLinks, true, [&](double x) { return share(x) > limit; }));
      e.text = what + " from " + speed_text(link_, e.need) + " on.";
    }
    return e;
  }

  std::string basis_text(double bound) const {
    const std::string rate = format_rate(link_.rate);
    std::string text = link_.place == LinkPlace::network ? "Scaled: the NICs of every node alike, " + rate + " each way per NIC now (" + link_.name + ")"
                                                         : "Scaled: all links inside a node alike; speeds are those of " + link_.name + ", " + rate + " each way now" +
                                                               (link_.is_stated ? " as stated" : " by NCCL's planning rate") +
                                                               (link_.nominal.value > 0 && link_.nominal != link_.rate ? ", " + format_rate(link_.nominal) + " by its data sheet" : "");
    if (bound < kFastestLinks)
      text += ". From " + factor_text(bound) + " × today's speed on " + (link_.place == LinkPlace::network ? "copies to the NICs or the fabric's own limit bind instead" : "the number of channels that NCCL plans binds instead");
    return text + ". Held as they are: NCCL's choices, latencies, and what measurements say of calls of these sizes on today's links.";
  }

  const Plan& plan_;
  const Constants& constants_;
  PreparedCluster cluster_;
  LinkLimits limits_;
  std::vector<Alternative> alternatives_;
  std::vector<StepOnLinks> steps_;
  AskedLink link_;
};

}  // namespace

double link_speed(int i) { return power(2, 0.5 * (i - kLinkSpeeds / 2)); }

Result<Crossover> crossover(const Plan& plan, const Constants& constants, std::optional<LinkPlace> place, double limit) {
  return Searcher(plan, constants).answer(place, limit);
}

}  // namespace wireplan
