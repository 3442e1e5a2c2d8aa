#include "core/cost/measured_tables.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

constexpr double kFarthest = 4, kWidth = 0.15, kOtherMachine = 0.3, kMostFromAfar = 0.35;

double between(Collective a, Collective b) {
  if (a == b) return 0;
  const auto is_half = [](Collective c) { return c == Collective::all_gather || c == Collective::reduce_scatter; };
  if (is_half(a) && is_half(b)) return 0.7;
  return (is_half(a) && b == Collective::all_reduce) || (is_half(b) && a == Collective::all_reduce) ? 1.0 : 2.5;
}

// Two machines without a name are of one kind where they are as many of the same card.
std::string unnamed_machine(const Node& node) { return std::to_string(node.gpus) + " x " + node.gpu.id; }
bool is_of_kind(const PreparedCluster& c, const std::string& machine) { return c.machine().empty() ? machine == unnamed_machine(c.cluster->node) : machine == c.machine(); }

struct Asked {
  const PreparedCluster& cluster;
  const RingOnWiring& ring;
  Collective collective;
  int ranks;
  Bytes size;
  double log2_size, log2_ranks, log2_nodes;
  bool by_tree;

  bool is_own = false;  // asks the profile

  // What residuals of the tables are against.
  double expected(double log2_of_size) const {
    const Bytes at(power(2, log2_of_size));
    return (is_own ? usual_call(cluster, ring, collective, ranks, at) : collective_formula(cluster, ring, collective, ranks, at)).time.value.value;
  }
};

// Of a curve that does not say which GPUs it was measured on nothing is known.
bool is_same_set(const std::vector<int>& gpus, std::vector<int> order) {
  sort(order);
  return gpus.empty() || gpus == order;
}

double distance(const Asked& a, const MeasuredTable& t) {
  double d = between(a.collective, t.collective) + std::fabs(a.log2_ranks - t.log2_ranks) * (a.ring.nodes == t.nodes ? 1 : 0.5) +
             0.7 * std::fabs(a.log2_nodes - t.log2_nodes);
  if (a.is_own ? !is_same_set(t.gpus, a.ring.order) : !is_of_kind(a.cluster, t.machine)) d += kOtherMachine;
  return d;
}

double residual_at(const Asked& a, const MeasuredTable& t, double d) {
  const std::vector<MeasuredTable::Point>& p = t.points;
  const double at = a.log2_size;
  double r = 0;
  if (at >= p.back().log2_size) {
    r = p.back().residual;
    if (at > p.back().log2_size) {
      const double last = p.back().log2_size, end = a.expected(last), here = a.expected(at);
      const double with_size = end > 0 ? std::clamp(log2_of(a.expected(last + 1) / end), 0.0, 1.0) : 0;  // share of the time that grows with the size
      if (here > 0) r = natural_log(std::max(0.2, 1 + (exponential(r) - 1) * end / here * (1 - with_size + with_size * power(2, at - last))));
    }
  } else if (at <= p.front().log2_size) {
    r = p.front().residual * exponential((at - p.front().log2_size) / 6);
  } else {
    const auto above = std::lower_bound(p.begin(), p.end(), at, [](const MeasuredTable::Point& q, double x) { return q.log2_size < x; });
    const auto below = above - 1;
    r = below->residual + (above->residual - below->residual) * (at - below->log2_size) / (above->log2_size - below->log2_size);
  }
  return d >= kOtherMachine ? std::clamp(r, -kMostFromAfar, kMostFromAfar) : r;
}

// Noise apart, no call gets faster with size: where one did, both ends of the stretch become its mean (pool adjacent violators).
void smooth(std::vector<MeasuredCurve::Point>& points) {
  struct Pool { double sum; std::size_t count; };
  std::vector<Pool> pools;
  for (const MeasuredCurve::Point& p : points) {
    pools.push_back({natural_log(p.time.value), 1});
    while (pools.size() > 1) {
      const Pool last = pools.back(), before = pools[pools.size() - 2];
      if (before.sum / static_cast<double>(before.count) <= last.sum / static_cast<double>(last.count)) break;
      pools.pop_back();
      pools.back() = {before.sum + last.sum, before.count + last.count};
    }
  }
  std::size_t i = 0;
  for (const Pool& pool : pools)
    for (std::size_t n = 0; n < pool.count; ++n) points[i++].time = Seconds(exponential(pool.sum / static_cast<double>(pool.count)));
}

// One machine's hiccups (first calls above all) must not lift what is near: a call that took more than half as long again as a larger
// one counts as long as that.
void drop_hiccups(std::vector<MeasuredCurve::Point>& points) {
  for (std::size_t i = points.size(); i-- > 1;)
    if (points[i - 1].time > points[i].time * 1.5) points[i - 1].time = points[i].time;
}

MeasuredTable table_of(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks) {
  MeasuredTable t;
  t.class_row = ring.class_row;
  t.fabric_row = ring.nodes > 1 ? ring.fabric_row : -1;
  t.by_tree = ring.nodes > 1 && takes_trees(cluster, ring, collective);
  t.collective = collective;
  t.ranks = ranks;
  t.nodes = ring.nodes;
  t.log2_ranks = log2_of(ranks);
  t.log2_nodes = log2_of(ring.nodes);
  return t;
}

// What is measured over what is expected of each size, where anything is expected.
template <typename Expected>
void add_residuals(const std::vector<MeasuredCurve::Point>& measured, const Expected& expected, MeasuredTable& t) {
  for (const MeasuredCurve::Point& p : measured)
    if (const Seconds usual = expected(p.size); usual.value > 0) t.points.push_back({log2_of(p.size.value), natural_log(p.time / usual)});
}

}  // namespace

std::vector<MeasuredTable> measured_tables(const std::vector<CollectiveRun>& runs, const LinkConstants& constants) {
  std::vector<MeasuredTable> tables;
  for (const CollectiveRun& run : runs) {
    const PreparedCluster cluster = prepare(run, constants);
    const RingOnWiring ring = ring_on_wiring(cluster, group_of(run));
    MeasuredTable t = table_of(cluster, ring, run.collective, run.gpus);
    t.machine = run.cluster.node.id.empty() ? unnamed_machine(run.cluster.node) : run.cluster.node.id;
    t.source = run.source;
    std::vector<MeasuredCurve::Point> points;
    for (const MeasuredCurve::Point& p : run.points)
      if (p.size.value > 0 && p.time.value > 0) points.push_back(p);
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
    smooth(points);
    add_residuals(points, [&](Bytes size) { return collective_formula(cluster, ring, run.collective, run.gpus, size).time.value; }, t);
    if (!t.points.empty()) tables.push_back(std::move(t));
  }
  return tables;
}

std::vector<MeasuredTable> profile_tables(const PreparedCluster& cluster, const Profile& profile) {
  std::vector<MeasuredTable> tables;
  for (const MeasuredCurve& curve : profile.curves) {
    const int per_node = (curve.ranks + curve.nodes - 1) / curve.nodes;
    std::vector<int> gpus = curve.gpus.empty() ? used_gpus(*cluster.cluster, per_node) : curve.gpus;
    const bool has_all = static_cast<int>(gpus.size()) == per_node && std::all_of(gpus.begin(), gpus.end(), [&](int g) { return g < cluster.gpus; });
    if (!has_all || (curve.nodes > 1 && !cluster.cluster->network)) continue;
    const RingOnWiring ring = ring_on_wiring(cluster, single_group(curve.ranks, curve.nodes, gpus));
    MeasuredTable t = table_of(cluster, ring, curve.collective, curve.ranks);
    t.gpus = curve.gpus;
    sort(t.gpus);
    std::vector<MeasuredCurve::Point> points = curve.points;
    drop_hiccups(points);
    smooth(points);
    add_residuals(points, [&](Bytes size) { return usual_call(cluster, ring, curve.collective, curve.ranks, size).time.value; }, t);
    if (!t.points.empty()) tables.push_back(std::move(t));
  }
  return tables;
}

namespace {

std::optional<TableAnswer> ask(const Asked& asked, const std::vector<MeasuredTable>& tables) {
  const int fabric = asked.ring.nodes > 1 ? asked.ring.fabric_row : -1;
  std::optional<TableAnswer> answer;
  double weights = 0, sum = 0, from = 0, to = 0;  // sizes of the nearest tables
  for (const MeasuredTable& t : tables) {
    if (t.class_row != asked.ring.class_row || t.fabric_row != fabric) continue;
    if (t.collective == asked.collective && t.by_tree != asked.by_tree) continue;
    const double d = distance(asked, t);
    if (d > kFarthest) continue;
    if (asked.is_own && answer && (answer->distance == 0) != (d == 0)) {
      if (d > 0) continue;
      weights = sum = 0;
    }
    const double outside = std::max({0.0, t.points.front().log2_size - asked.log2_size, asked.log2_size - t.points.back().log2_size});
    const double w = exponential(-(d + 0.25 * outside) / kWidth) * std::min(1.0, static_cast<double>(t.points.size()) / 6);
    weights += w;
    sum += w * exponential(-0.35 * d) * residual_at(asked, t, d);
    if (!answer || d <= answer->distance) {
      const bool nearer = !answer || d < answer->distance;
      from = nearer ? t.points.front().log2_size : std::min(from, t.points.front().log2_size);
      to = nearer ? t.points.back().log2_size : std::max(to, t.points.back().log2_size);
      answer = TableAnswer{0, d, asked.log2_size >= from && asked.log2_size <= to};
    }
  }
  if (answer && weights > 0) answer->residual = sum / weights;
  return answer;
}

std::optional<TableAnswer> ask(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size, bool is_own) {
  const std::vector<MeasuredTable>& tables = is_own ? cluster.own_tables : cluster.constants->tables;
  if (tables.empty() || size.value <= 0) return std::nullopt;
  return ask({cluster, ring, collective, ranks, size, log2_of(size.value), log2_of(ranks), log2_of(ring.nodes),
              ring.nodes > 1 && takes_trees(cluster, ring, collective), is_own},
             tables);
}

}  // namespace

std::optional<TableAnswer> ask_tables(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  return ask(cluster, ring, collective, ranks, size, false);
}

std::optional<TableAnswer> ask_profile(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  return ask(cluster, ring, collective, ranks, size, true);
}

}  // namespace wireplan
