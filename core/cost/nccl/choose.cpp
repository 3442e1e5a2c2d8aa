#include <algorithm>
#include <cmath>
#include <limits>

#include "core/cost/nccl/tune.hpp"

namespace wireplan::nccl {
namespace {

constexpr int kMostThreads = 640, kWarp = 32;

// NCCL's expectation in its own precision, on which ties hang.
float expected(const Decision& d, const Release& release, Operation op, Algorithm a, Protocol p, double size) {
  const Decision::Cost& cost = d.cost(op, a, p);
  float rate = static_cast<float>(cost.rate), latency = static_cast<float>(cost.latency_us);
  const auto& correction = release.tree_correction[static_cast<std::size_t>(p)];
  const int row = size < 64 ? -1 : std::ilogb(size / 64);
  const int rows = a == Algorithm::tree ? 23 : release.nvls_tree_is_corrected && a == Algorithm::nvls_tree && d.least_compute_capability >= 100 && is_x86(d.cpu) ? 24 : 0;
  if (row >= 0 && row < rows) rate *= static_cast<float>(correction[static_cast<std::size_t>(row)]);
  constexpr double kFilled = 64;  // bytes of a rank on a channel
  if (a == Algorithm::ring && p == Protocol::simple && op == Operation::all_reduce && d.nccl_nodes() > 1 && size / (d.channels * d.ranks) >= kFilled)
    latency *= static_cast<float>(release.ring_long_latency[generation_of(d.least_compute_capability)]);
  return latency + static_cast<float>(size) / (1000 * rate);
}

// Rule 18: of the channels only as many as the call gives work to, then of the threads.
void set_launch(Choice& choice, const Decision& d, const Release& release, double size) {
  const Algorithm a = choice.algorithm;
  const std::size_t p = static_cast<std::size_t>(choice.protocol);
  const bool is_ring = a == Algorithm::ring, is_simple = choice.protocol == Protocol::simple;
  choice.most_channels = is_nvls(a) ? d.nvls_channels : d.channels;
  choice.threads = kMostThreads;
  if (is_nvls(a) || a == Algorithm::pat) return;
  int threads = static_cast<int>(release.threads[p]);
  if (is_ring && is_simple && d.ring.channels * static_cast<double>(d.ring.intra) <= release.slow_ring) threads = static_cast<int>(release.slow_ring_threads);
  const double per_thread = release.bytes_per_thread[p] * (is_ring && choice.protocol == Protocol::ll ? d.ranks : 1);
  choice.most_channels = std::max(1, static_cast<int>(std::min<double>(d.channels, std::floor(size / (threads * per_thread)))));
  if (!is_ring) return;  // trees keep all threads
  while (size < choice.most_channels * threads * per_thread && threads % (4 * kWarp) == 0) threads /= 2;
  choice.threads = std::max(threads + (is_simple ? kWarp : 0), 3 * kWarp);
}

// The call is cut into cells worth a channel's trouble, which are dealt out evenly.
int used_channels(const Choice& choice, const Release& release, Operation op, double size, int ranks) {
  constexpr double kElement = 4, kAlignment = 16;
  const bool splits = op == Operation::all_gather || op == Operation::reduce_scatter;
  const double bytes = std::floor((splits ? size / ranks : size) / kElement) * kElement;
  const double per_byte = (op == Operation::all_reduce ? 2 : splits ? ranks : 1) * (choice.protocol == Protocol::ll ? 4 : 1);  // traffic
  const double cell = std::ceil(std::ceil(release.least_traffic / per_byte) / kAlignment) * kAlignment;
  const double cells = std::ceil(bytes / cell);
  const double per_channel = std::max(release.least_traffic, std::floor(std::max(release.least_traffic, bytes * per_byte) / choice.most_channels));
  if (choice.most_channels == 1 || cells == 0) return 1;
  return std::min(choice.most_channels, static_cast<int>(std::ceil(cells / std::min(cells, std::ceil(per_channel / (cell * per_byte))))));
}

}  // namespace

Choice choice_at(const Decision& d, const Release& release, Operation op, double size, std::optional<Algorithm> only) {
  Choice choice;
  choice.is_none = true;
  const auto has = [&](Algorithm a, Protocol p) { return d.cost(op, a, p).rate > 0; };
  const bool is_alone = only && (has(*only, Protocol::ll) || has(*only, Protocol::ll128) || has(*only, Protocol::simple));
  float least = std::numeric_limits<float>::max();
  for (int i = 0; i < kAlgorithms; ++i)
    for (int j = 0; j < kProtocols; ++j) {
      const Algorithm a = static_cast<Algorithm>(i);
      const Protocol p = static_cast<Protocol>(j);
      if (!has(a, p) || (is_alone && a != *only)) continue;
      if (a == Algorithm::nvls && op != Operation::all_reduce && d.most_ranks_of_node > kMostNvlsHeads) continue;
      const float time = expected(d, release, op, a, p, size);
      if (time >= least) continue;
      least = time;
      choice.algorithm = a;
      choice.protocol = p;
      choice.is_none = false;
    }
  if (choice.is_none) return choice;
  choice.time_us = static_cast<double>(least);
  set_launch(choice, d, release, size);
  choice.channels = used_channels(choice, release, op, size, d.ranks);
  return choice;
}

}  // namespace wireplan::nccl
