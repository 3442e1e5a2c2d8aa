#include "core/answer/curves.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/count/groups.hpp"
#include "core/count/messages.hpp"

namespace wireplan {
namespace {

std::string counted(double value) { return std::fabs(value) < 1e16 ? format_count(value) : format_exact(value); }

Error refused(std::string path, double value, std::string limit, std::string text) {
  return {std::move(path), format_exact(value), std::move(limit), std::move(text)};
}

// What is wrong with the GPUs of each node; `gpus` is not empty.
Errors judged(const std::vector<int>& gpus, int available) {
  const std::string limit = "GPUs 0 to " + std::to_string(available - 1) + ", each once";
  for (int g : gpus)
    if (g < 0 || g >= available)
      return {refused("gpus", g, limit, "GPU " + std::to_string(g) + " is not one of GPUs 0 to " + std::to_string(available - 1) + " of each node. Nearest: " +
                                            std::to_string(g < 0 ? 0 : available - 1))};
  std::vector<int> sorted = gpus;
  sort(sorted);
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return {refused("gpus", *twice, limit, "GPU " + std::to_string(*twice) + " is listed twice; a rank has a GPU of its own. Nearest: list it once")};
  return {};
}

}  // namespace

CallSize call_size(Collective op, Bytes asked, ElementType type, int ranks) {
  const double element = bytes_of(type), n = std::max(1, ranks);
  const double elements = std::floor(std::max(0.0, asked.value) / element);
  if (!is_split_by_rank(op)) return {Bytes(elements * element), elements};
  double part = std::floor(elements / n);
  if (op != Collective::scatter && op != Collective::gather) part = std::floor(part * element / 16) * 16 / element;
  return {Bytes(part * element * n), part};
}

Result<std::vector<Bytes>> sizes_of(const SizeRange& r) {
  const std::string limit = "1 B to 1 PB";
  if (!(r.begin >= 1 && r.begin <= kMostCallBytes))
    return refused("begin", r.begin, limit, "sizes begin at 1 B to 1 PB, not " + counted(r.begin) + " B. Nearest: " + (r.begin < 1 ? "1" : "1000000000000000"));
  if (!(r.end >= 1 && r.end <= kMostCallBytes))
    return refused("end", r.end, limit, "sizes end at 1 B to 1 PB, not " + counted(r.end) + " B. Nearest: " + (r.end < 1 ? "1" : "1000000000000000"));
  if (r.end < r.begin)
    return refused("end", r.end, "at least the first size, " + format_exact(r.begin),
                   "the last size, " + format_message_size(Bytes(r.end)) + ", is below the first, " + format_message_size(Bytes(r.begin)) + ". Nearest: " + format_exact(r.begin));
  const bool steps = r.step != 0;
  if (steps && !(r.step >= 1 && r.step <= kMostCallBytes))
    return refused("step", r.step, limit, "sizes grow by 1 B to 1 PB, not " + counted(r.step) + " B. Nearest: 1048576");
  if (!steps && !(r.factor >= 1.001 && r.factor <= kMostCallBytes))
    return refused("factor", r.factor, "1.001 to 1e15", "sizes grow by a factor of 1.001 to 1e15, not " + format_exact(r.factor) + ". Nearest: " + (r.factor > 1 && r.factor < 1.001 ? "1.001" : "2"));
  std::vector<Bytes> sizes;
  for (double size = r.begin; size <= r.end;) {
    if (sizes.size() == static_cast<std::size_t>(kMostCurveSizes))
      return refused(steps ? "step" : "factor", steps ? r.step : r.factor, "at most 1,000 sizes",
                     "from " + format_message_size(Bytes(r.begin)) + " to " + format_message_size(Bytes(r.end)) + " these are more than 1,000 sizes. Nearest: factor 2");
    sizes.push_back(Bytes(size));
    // Whole bytes, and always on, also where the factor is near 1.
    size = steps ? size + r.step : std::max(std::floor(size * r.factor), size + 1);
  }
  return sizes;
}

Result<Curve> collective_curve(const PreparedCluster& cluster, const CurveRequest& request) {
  Curve curve;
  curve.op = request.op;
  curve.nodes = request.nodes;
  curve.gpus = request.gpus;
  if (curve.gpus.empty())
    curve.gpus = used_gpus(*cluster.cluster);
  Errors errors = judged(curve.gpus, cluster.gpus);
  const int nodes = cluster.cluster->nodes;
  if (request.nodes < 1 || request.nodes > nodes || (request.nodes > 1 && !cluster.cluster->network))
    errors.push_back(refused("nodes", request.nodes, "1 to " + std::to_string(nodes),
                             counted(request.nodes) + " nodes, the cluster has " + counted(nodes) + ". Nearest: " + std::to_string(request.nodes < 1 ? 1 : nodes)));
  const double ranks = static_cast<double>(curve.gpus.size()) * request.nodes;
  if (errors.empty() && !(ranks >= 2 && ranks <= kMostCurveRanks))
    errors.push_back(refused("nodes", request.nodes, "2 to 100,000 ranks in all",
                             counted(ranks) + (ranks < 2 ? " rank has nobody to exchange data with. Nearest: two GPUs" : " ranks are too many. Nearest: ") +
                                 (ranks < 2 ? "" : format_exact(std::floor(kMostCurveRanks / static_cast<double>(curve.gpus.size()))) + " nodes")));
  if (request.sizes.size() > static_cast<std::size_t>(kMostCurveSizes))
    errors.push_back(refused("sizes", static_cast<double>(request.sizes.size()), "at most 1,000 sizes",
                             counted(static_cast<double>(request.sizes.size())) + " sizes are too many. Nearest: 1000"));
  for (Bytes size : request.sizes)
    if (!(size.value >= 0 && size.value <= kMostCallBytes)) {
      errors.push_back(refused("sizes", size.value, "0 to 1 PB", "a call of " + format_exact(size.value) + " bytes cannot be. Nearest: " + (size.value < 0 ? "0" : "1000000000000000")));
      break;
    }
  if (!errors.empty()) return errors;

  curve.ranks = static_cast<int>(ranks);
  curve.ring = ring_on_wiring(cluster, single_group(curve.ranks, curve.nodes, curve.gpus));
  curve.bottleneck = bottleneck_of(cluster.graph, *cluster.cluster, curve.ring, curve.op);
  for (Bytes size : request.sizes) {
    Curve::Point point{size, collective_call(cluster, curve.ring, curve.op, curve.ranks, size), {}, {}};
    if (const Seconds time = point.call.time.value; time.value > 0) {
      point.algorithm_bandwidth = size / time;
      point.bus_bandwidth = bus_factor(curve.op, curve.ranks) * point.algorithm_bandwidth;
    }
    curve.points.push_back(point);
  }
  return curve;
}

}  // namespace wireplan
