#include "core/cost/nccl/tune.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wireplan::nccl {
namespace {

constexpr int kTree = 0, kRing = 1, kNvls = 2, kNvlsTree = 3, kPat = 4;
constexpr int kLl = 0, kLl128 = 1, kSimple = 2;
constexpr int kMostThreads = 640, kWarp = 32;

int log2_floor(double n) { return n < 1 ? -1 : std::ilogb(n); }

std::size_t generation_of(int cc) { return cc >= 100 ? 3 : cc >= 90 ? 2 : cc >= 80 ? 1 : 0; }

const Graph& graph_of(const Decision& d, int algorithm) {
  return algorithm == kRing ? d.ring : algorithm == kNvls || algorithm == kNvlsTree ? d.nvls : d.tree;
}

bool is_x86(CpuClass c) { return c != CpuClass::arm && c != CpuClass::p9 && c != CpuClass::unknown; }

}  // namespace

void tune(Decision& d, const Release& release, const Environment& environment) {
  const int ranks = d.ranks, nodes = d.nccl_nodes();
  if (ranks < 2) return;
  const int cc = d.least_compute_capability;
  const std::size_t generation = generation_of(cc);
  const std::size_t by_nodes = static_cast<std::size_t>(std::min(nodes, 3) - 1);
  // On one node the GPU limits LL, across nodes the CPU (the rows of Volta and Ampere stand for Intel and AMD there).
  const std::size_t ll_row = nodes == 1 ? generation : d.cpu == CpuClass::amd ? 1 : 0;
  const double ll_most = release.ll_most[ll_row][by_nodes];
  const double tree_most = release.tree_most[generation][by_nodes], nvls_tree_most = release.nvls_tree_most[generation][by_nodes];
  const double ring_ll128_most = release.ring_ll128_most[generation][by_nodes], tree_ll128_most = release.tree_ll128_most[generation][by_nodes];
  auto hardware = release.hardware_latency;
  if (d.cpu == CpuClass::p9) hardware[1][kTree][kSimple] = hardware[1][kRing][kSimple];
  const float per_node = static_cast<float>(ranks) / static_cast<float>(nodes);

  for (int op = 0; op < kOperations; ++op) {
    const bool reduces_all = op == static_cast<int>(Operation::all_reduce);
    const bool splits = op == static_cast<int>(Operation::all_gather) || op == static_cast<int>(Operation::reduce_scatter);
    const int ring_steps = reduces_all ? 2 * (ranks - 1) : splits ? ranks - 1 : ranks;
    for (int a = 0; a < kAlgorithms; ++a) {
      if (!reduces_all && !splits && a != kRing) continue;
      if (splits && a != kPat && a != kRing && a != kNvls) continue;
      if (reduces_all && a == kPat) continue;
      const Graph& graph = graph_of(d, a);
      const std::size_t inside = graph.intra_type == PathType::nvl ? 0 : 1;  // rule 17
      for (int p = 0; p < kProtocols; ++p) {
        if (a >= kNvls && p != kSimple) continue;
        if (a == kPat && (cc < 60 || nodes != ranks)) continue;
        const std::size_t ai = static_cast<std::size_t>(a), pi = static_cast<std::size_t>(p);
        float rate = nodes <= 2 ? graph.intra : graph.inter;
        const float channels = static_cast<float>(graph.channels);
        const bool is_nvls = a == kNvls || a == kNvlsTree;
        const float efficiency = static_cast<float>(release.nvls_efficiency[generation]);
        if (is_nvls && release.nvls_is_pipelined) {
          if (graph.channels < 2) continue;
          float intra = graph.intra * efficiency * static_cast<float>(graph.channels - 1) / channels;
          intra *= reduces_all ? 2.0f : (per_node - 1) / per_node;
          const float inter = graph.inter * (nodes <= 2 && a == kNvlsTree ? 2.0f : 1.0f);
          rate = std::min({intra, inter, a == kNvlsTree ? static_cast<float>(nvls_tree_most) : std::numeric_limits<float>::max()});
        } else if (is_nvls) {
          rate = std::min(graph.intra * (splits ? (per_node - 1) / per_node : 1.0f), graph.inter * (splits ? .9f : a == kNvlsTree && nodes > 2 ? .5f : 1.0f));
        }
        float bus = channels * rate;
        const auto at_most = [&](double most) { bus = static_cast<float>(std::min<double>(bus, most)); };
        if (a == kRing && p == kLl) bus = static_cast<float>(std::min(ll_most, bus * .5));
        if (a == kRing && p == kLl128) bus = static_cast<float>(std::min(bus * 0.92, graph.channels * ring_ll128_most));
        if (a == kTree) bus = static_cast<float>(std::min(bus * .92, graph.channels * tree_most));
        if (a == kTree && p == kLl) bus = static_cast<float>(std::min(bus * 1.0 / 3.8, ll_most));
        if (a == kTree && p == kLl128) {
          bus = static_cast<float>(bus * (nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0));
          at_most(graph.channels * tree_ll128_most);
        }
        if (a == kTree && d.tree.pattern == Pattern::tree) bus = static_cast<float>(bus * .85);
        if (a == kPat) bus = static_cast<float>(bus * .75);
        if (a == kNvls && splits && nodes > 1) bus = 0;  // needs SHARP
        if (a == kRing || !splits) {
          const float ratio = a == kTree ? .5f : is_nvls && !release.nvls_is_pipelined ? efficiency : static_cast<float>(1.0 * ranks / ring_steps);
          bus *= ratio;
        }

        float latency = static_cast<float>(release.base_latency[ai][pi]);
        float intra = static_cast<float>(hardware[inside][ai][pi]);
        float inter = static_cast<float>(hardware[2][per_node == 1 ? kTree : ai][pi]);
        inter += graph.latency_us;
        if (p == kSimple) inter += graph.latency_us;  // the flush
        const float log_nodes = static_cast<float>(log2_floor(nodes));
        if (a == kRing && !reduces_all && !splits) {
          float one = static_cast<float>(hardware[nodes == 1 ? inside : 2][kRing][pi]);
          if (!graph.same_channels) {
            if (p == kSimple) one = static_cast<float>(hardware[nodes == 1 ? inside : 2][kTree][pi]);
            one *= static_cast<float>(ring_steps);
          }
          latency += one;
        } else if (a == kRing) {
          float overhead = nodes == 1 ? 0.0f : d.cpu == CpuClass::amd ? 2.0f : 1.0f;
          if (p == kSimple) overhead *= 3;
          intra = std::max(intra, overhead);
          const int across = nodes == 1 ? 0 : reduces_all ? 2 * (nodes - 1) : nodes - 1;
          latency += static_cast<float>(ring_steps - across) * intra + static_cast<float>(across) * inter;
        } else if (a == kTree) {
          latency += 2 * (static_cast<float>(ranks / nodes - 1) * intra + log_nodes * inter);
        } else if (a == kNvls) {
          latency = intra + (nodes > 1 ? inter : 0.0f);
        } else if (a == kNvlsTree) {
          latency += intra + 2 * log_nodes * inter;
        } else {
          latency += static_cast<float>(log_nodes * (inter / 3.5) + ranks * 2.8);
        }

        // What may not be used.
        if (a == kNvlsTree && nodes == 1) bus = 0;
        if (a == kNvls && nodes > 1) bus = 0;
        const std::size_t oi = static_cast<std::size_t>(op);
        if (environment.algorithms[oi][ai] || environment.protocols[oi][pi] < 0) bus = 0;
        if (p == kLl128 && environment.protocols[oi][pi] == 0 &&
            !(graph.inter_type <= (cc >= 90 ? PathType::pxn : PathType::pxb) && graph.intra_type <= PathType::nvb &&
              (cc == d.most_compute_capability || cc >= 90) && cc >= 70))
          bus = 0;
        d.costs[oi][ai][pi] = {latency, bus};
      }
    }
  }
}

Choice choice_at(const Decision& d, const Release& release, Operation operation, double size, std::optional<Algorithm> only) {
  Choice choice;
  float least = std::numeric_limits<float>::max();
  const std::size_t op = static_cast<std::size_t>(operation);
  const bool reduces_all = operation == Operation::all_reduce;
  const int nodes = d.nccl_nodes(), log_size = log2_floor(size / 64);
  int alone = only ? static_cast<int>(*only) : -1;
  if (alone >= 0) {
    const auto& costs = d.costs[op][static_cast<std::size_t>(alone)];
    if (std::all_of(costs.begin(), costs.end(), [](const Decision::Cost& cost) { return cost.rate == 0; })) alone = -1;
  }
  for (int a = 0; a < kAlgorithms; ++a)
    for (int p = 0; p < kProtocols; ++p) {
      const Decision::Cost& cost = d.costs[op][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
      if (cost.rate == 0 || (alone >= 0 && a != alone) || (a == kNvls && !reduces_all && d.most_ranks_of_node > kMostNvlsHeads)) continue;
      float rate = static_cast<float>(cost.rate), latency = static_cast<float>(cost.latency_us);
      const auto correct = [&] { rate *= static_cast<float>(release.tree_correction[static_cast<std::size_t>(p)][static_cast<std::size_t>(log_size)]); };
      if (a == kTree && log_size >= 0 && log_size < 23) correct();
      if (release.nvls_tree_is_corrected && a == kNvlsTree && log_size >= 0 && log_size < 24 && d.least_compute_capability >= 100 && is_x86(d.cpu)) correct();
      if (a == kRing && p == kSimple && nodes > 1 && reduces_all && size / (d.channels * d.ranks) >= 64) latency *= d.least_compute_capability < 80 ? 1.9f : 1.4f;
      const float time = latency + static_cast<float>(size) / (1000 * rate);
      if (time < least) {
        least = time;
        choice.algorithm = static_cast<Algorithm>(a);
        choice.protocol = static_cast<Protocol>(p);
      }
    }
  if (least == std::numeric_limits<float>::max()) {
    choice.is_none = true;
    return choice;
  }
  choice.time_us = least;

  // Channels and threads (rule 18): channels go first, then threads are halved.
  const int a = static_cast<int>(choice.algorithm), p = static_cast<int>(choice.protocol);
  const bool is_nvls = a == kNvls || a == kNvlsTree;
  int channels = is_nvls ? d.nvls_channels : d.channels;
  int threads = p == kLl ? 512 : p == kLl128 ? 640 : 512;
  if (a == kRing && p == kSimple && d.ring.intra * static_cast<float>(d.ring.channels) <= 12) threads = 256;
  if (is_nvls || a == kPat) threads = kMostThreads;
  double per_thread = p == kSimple ? 64 : 8;
  if (a == kRing && p == kLl) per_thread *= d.ranks;
  if (!is_nvls && a != kPat) {
    while (size < channels * threads * per_thread && channels >= 2) --channels;
    while (size < channels * threads * per_thread && threads % 128 == 0) threads /= 2;
  }
  if (p == kSimple && a == kRing) threads += kWarp;
  if (p == kSimple && a == kTree) threads += 4 * kWarp;
  threads = std::max(threads, 3 * kWarp);
  if (a == kTree || a == kPat) threads = kMostThreads;
  choice.most_channels = channels;
  choice.threads = threads;

  // Cells of at least 16 KiB of traffic are dealt out to the channels.
  constexpr double kLeastTraffic = 16384, kElement = 4;
  const bool splits = operation == Operation::all_gather || operation == Operation::reduce_scatter;
  const double plain = reduces_all ? 2 : splits ? d.ranks : 1;
  const double bytes = std::floor((splits ? size / d.ranks : size) / kElement) * kElement;
  const double per_byte = plain * (p == kLl ? 4 : 1);
  const double traffic = std::max(kLeastTraffic, bytes * per_byte);
  const double per_channel = std::max(kLeastTraffic, std::floor(traffic / channels));
  const double cell = std::ceil(std::ceil(kLeastTraffic / per_byte) / 16) * 16;
  const double cells = std::ceil(bytes / cell);
  const double cells_per_channel = std::min(cells, std::ceil(per_channel / (cell * per_byte)));
  const double first = channels == 1 ? cells : cells_per_channel;
  const double rest = cells - std::min(cells, first);
  const int most = is_nvls ? d.nvls_channels : d.channels;
  int used = (cells > 0 ? 1 : 0) + static_cast<int>(std::floor(rest / std::max(cells_per_channel, 1.0))) + (std::fmod(rest, std::max(cells_per_channel, 1.0)) > 0 ? 1 : 0);
  choice.channels = std::max(1, std::min(used, most));
  return choice;
}

}  // namespace wireplan::nccl
