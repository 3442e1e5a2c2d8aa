#include "web/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/math.hpp"
#include "core/base/statistics.hpp"

namespace wireplan {

namespace {

std::size_t number_in(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == key.npos ? 0 : static_cast<std::size_t>(std::atoi(std::string(key.substr(dot + 1)).c_str()));
}

// One group on prepared wires.
struct Asked {
  const PreparedCluster& cluster;
  const RingOnWiring& ring;
  Collective collective;
  int ranks;
  bool as_measured = true;  // by the cluster's profile, where it says anything

  CollectiveChart::Point point(double size) const {
    const Bytes bytes(size);
    CollectiveChart::Point p{bytes, {}, {}, {}, as_measured ? collective_call(cluster, ring, collective, ranks, bytes)
                                                            : usual_call(cluster, ring, collective, ranks, bytes)};
    const Bytes moved = bus_factor(collective, ranks) * Bytes(size);
    const auto rate = [&](Seconds time) { return time.value > 0 ? moved / time : BytesPerSecond{}; };
    p.low = rate(p.call.time.high);
    p.bus = rate(p.call.time.value);
    p.high = rate(p.call.time.low);
    return p;
  }
};

bool is_same_way(const CollectiveCall& a, const CollectiveCall& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

// Two points an octave; where algorithm or protocol switches between two of them, the piece ends there and the next begins.
std::vector<std::vector<CollectiveChart::Point>> pieces_of(const Asked& asked) {
  constexpr double kStep = 1.4142135623730951;
  std::vector<std::vector<CollectiveChart::Point>> pieces(1);
  for (double size = kLeastChartBytes; size <= kMostChartBytes * 1.001; size *= kStep) {
    CollectiveChart::Point p = asked.point(std::round(size));
    if (!pieces.back().empty() && !is_same_way(pieces.back().back().call, p.call)) {
      CollectiveChart::Point before = pieces.back().back(), after = p;
      for (int i = 0; i < 7; ++i) {
        const CollectiveChart::Point middle = asked.point(std::sqrt(before.size.value * after.size.value));
        (is_same_way(middle.call, before.call) ? before : after) = middle;
      }
      pieces.back().push_back(before);
      pieces.push_back({after});
    }
    pieces.back().push_back(std::move(p));
  }
  return pieces;
}

std::vector<CollectiveChart::Point> points_of(const Asked& asked) {
  std::vector<CollectiveChart::Point> points;
  for (double size = kLeastChartBytes; size <= kMostChartBytes * 1.001; size *= 2) points.push_back(asked.point(size));
  return points;
}

// Algorithms that NCCL can be told to take, where they are not the one it takes anyway.
void add_others(CollectiveChart& chart, PreparedCluster cluster, const RingOnWiring& ring) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree, Algorithm::nvls, Algorithm::nvls_tree}) {
    cluster.switches.algorithm = algorithm;
    CollectiveChart::Line line{std::string(name_of(algorithm)), points_of({cluster, ring, chart.collective, chart.ranks, false})};
    // Sizes at which it is told and taken, and differs from what is drawn already.
    bool differs = false;
    for (const CollectiveChart::Point& p : line.points) {
      const CollectiveChart::Point* shown = chart.at(p.size);
      if (p.call.algorithm == algorithm && shown && shown->call.algorithm != algorithm) differs = true;
    }
    std::erase_if(line.points, [&](const CollectiveChart::Point& p) { return p.call.algorithm != algorithm; });
    if (differs && line.points.size() > 1) chart.others.push_back(std::move(line));
  }
}

void predict(CollectiveChart& chart, const PreparedCluster& cluster, const RingOnWiring& ring) {
  if (ring.bus_bandwidth.value <= 0) return;
  chart.predicted = pieces_of({cluster, ring, chart.collective, chart.ranks});
  if (chart.collective == Collective::all_reduce) add_others(chart, cluster, ring);
  const Bottleneck binds = bottleneck_of(cluster.graph, *cluster.cluster, ring, chart.collective);
  chart.wire = binds.name;
  const double flows = binds.is_network ? chart.groups : binds.flows;
  if (flows > 0) chart.wire_limit = binds.rate / flows;
}

// Measured beside what is predicted without it.
void measure(CollectiveChart& chart, const MeasuredCurve& curve, const PreparedCluster& cluster, const RingOnWiring& ring) {
  const Asked asked{cluster, ring, chart.collective, chart.ranks, false};
  std::vector<double> errors;
  for (const MeasuredCurve::Point& p : curve.points) {
    CollectiveChart::Measured m{p.size, p.time, {}, bus_factor(chart.collective, chart.ranks) * p.size / p.time};
    if (ring.bus_bandwidth.value > 0) m.predicted = asked.point(p.size.value).call.time.value;
    if (m.predicted.value > 0) errors.push_back(std::fabs(m.predicted / m.time - 1));
    chart.measured.push_back(m);
  }
  if (errors.empty()) return;
  chart.others.push_back({"", points_of(asked)});
  chart.worst_error = *std::max_element(errors.begin(), errors.end());
  chart.median_error = quantile(std::move(errors), 0.5);
}

bool is_of(const MeasuredCurve& curve, Collective collective, int ranks, int nodes) {
  return curve.collective == collective && curve.ranks == ranks && curve.nodes == nodes;
}

const MeasuredCurve* curve_of(const Cluster& cluster, Collective collective, int ranks, int nodes) {
  if (!cluster.profile) return nullptr;
  for (const MeasuredCurve& c : cluster.profile->curves)
    if (is_of(c, collective, ranks, nodes)) return &c;
  return nullptr;
}

// A row of communication: on the wires as they are while all groups of its kind talk.
CollectiveChart of_row(const Plan& plan, const Estimate& e, const LinkConstants& constants, std::size_t row) {
  CollectiveChart chart;
  const MessageCost& shown = e.cost.messages[row];
  chart.collective = shown.message.collective;
  chart.ranks = shown.ranks;
  chart.nodes = shown.nodes;
  chart.groups = std::max(1, shown.groups);
  for (std::size_t i = 0; i < e.cost.messages.size() && i < e.communication.size(); ++i) {
    const MessageCost& m = e.cost.messages[i];
    if (m.message.collective != chart.collective || m.ranks != chart.ranks || m.message.group != shown.message.group) continue;
    chart.sent.push_back({m.message.bytes, e.communication[i].name, i == row});
  }
  const PreparedCluster cluster = prepare(plan.cluster, constants);
  predict(chart, cluster, shown.ring);
  if (const MeasuredCurve* curve = curve_of(plan.cluster, chart.collective, chart.ranks, chart.nodes))
    measure(chart, *curve, cluster, shown.ring);
  return chart;
}

// A measured curve of a group that the plan does not have: by itself on the machine.
CollectiveChart of_curve(const Plan& plan, const LinkConstants& constants, const MeasuredCurve& curve) {
  CollectiveChart chart;
  chart.collective = curve.collective;
  chart.ranks = curve.ranks;
  chart.nodes = curve.nodes;
  Cluster whole = plan.cluster;
  whole.gpus_per_node = whole.node.gpus;
  whole.gpus.clear();
  const int per_node = curve.nodes > 0 ? curve.ranks / curve.nodes : 0;
  const bool fits = per_node >= 1 && per_node * curve.nodes == curve.ranks && per_node <= whole.node.gpus &&
                    curve.nodes <= whole.nodes && (curve.nodes == 1 || whole.network);
  const PreparedCluster cluster = prepare(whole, constants);
  RingOnWiring ring;
  if (fits) {
    const bool listed = static_cast<int>(curve.gpus.size()) == per_node &&
                        std::all_of(curve.gpus.begin(), curve.gpus.end(), [&](int g) { return g >= 0 && g < whole.node.gpus; });
    ring = ring_on_wiring(cluster, single_group(curve.ranks, curve.nodes, listed ? curve.gpus : std::vector<int>()));
    predict(chart, cluster, ring);
  } else {
    chart.problem = "chart.not_here";
  }
  measure(chart, curve, cluster, ring);
  return chart;
}

}  // namespace

const CollectiveChart::Point* CollectiveChart::at(Bytes size) const {
  const Point* nearest = nullptr;
  const auto distance = [&](const Point& p) { return std::fabs(log2_of(p.size.value / size.value)); };
  for (const std::vector<Point>& piece : predicted)
    for (const Point& p : piece)
      if (!nearest || distance(p) < distance(*nearest)) nearest = &p;
  return nearest;
}

std::vector<ChartChoice> chart_choices(const Plan& plan, const Estimate& e) {
  std::vector<ChartChoice> choices;
  for (std::size_t i = 0; i < e.communication.size() && i < e.cost.messages.size(); ++i) {
    const MessageCost& m = e.cost.messages[i];
    choices.push_back({"row." + std::to_string(i), m.message.collective, m.ranks, m.nodes, e.communication[i].name, m.message.bytes});
  }
  if (!plan.cluster.profile) return choices;
  const std::size_t rows = choices.size();
  const std::vector<MeasuredCurve>& curves = plan.cluster.profile->curves;
  for (std::size_t i = 0; i < curves.size() && i < 64; ++i) {
    const bool is_shown = std::any_of(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(rows), [&](const ChartChoice& c) {
      return is_of(curves[i], c.collective, c.ranks, c.nodes);
    });
    if (!is_shown) choices.push_back({"curve." + std::to_string(i), curves[i].collective, curves[i].ranks, curves[i].nodes, {}, {}});
  }
  return choices;
}

CollectiveChart collective_chart(const Plan& plan, const Estimate& e, const LinkConstants& constants, std::string_view key) {
  CollectiveChart chart;
  const std::size_t i = number_in(key);
  if (key.starts_with("row.") && i < e.cost.messages.size() && i < e.communication.size())
    chart = of_row(plan, e, constants, i);
  else if (key.starts_with("curve.") && plan.cluster.profile && i < plan.cluster.profile->curves.size())
    chart = of_curve(plan, constants, plan.cluster.profile->curves[i]);
  else
    return chart;
  chart.key = std::string(key);
  return chart;
}

}  // namespace wireplan
