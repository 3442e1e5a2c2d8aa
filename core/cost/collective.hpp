// What one call of a collective takes on a wiring: time with its band, how it is done and what the figure rests on.
//
// Notation as in wiring.hpp, and k steps of a ring, f bus factor, W bandwidth of a node's NICs for one group.
#pragma once

#include <array>

#include "core/cost/wiring.hpp"

namespace wireplan {

// profile: the user's own curve; measured: a shipped table of this operation, number of ranks and kind of machine, within its
// sizes; interpolated: shipped tables of that kind of machine, carried over; extrapolated: outside the sizes that were measured;
// formula: nothing of the kind was measured.
enum class Basis : unsigned char { profile, measured, interpolated, formula, extrapolated };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Basis> = {"profile", "measured", "interpolated", "formula", "extrapolated"};

// Time of one call by its parts.
struct CollectiveParts {
  Seconds start;    // L0 + h·k
  Seconds network;  // l·(1.6 + log2 N)·p
  Seconds wire;     // V / B
  Seconds copy;     // (S/n) / C
  Seconds fill;     // F; over several nodes that of the network, in the switch A·(n/8)^0.45·V / (V + vs)
  Seconds total() const { return start + network + wire + copy + fill; }
};

struct CollectiveCall {
  Range<Seconds> time;
  CollectiveParts parts;  // by formula: parts.total() · correction = time.value
  double correction = 1;  // what measured tables and the profile say over the formula
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::formula;
  // Where NCCL's own decision is known: what it expects of the algorithm and protocol it takes.
  struct Nccl { int channels = 0; Seconds latency, wire; };  // channels that carry something, 0: not known
  Nccl nccl{};
};

// k of the formula below, among g GPUs of a node; g < 2: 0.
double ring_steps(Collective collective, int g);

// The formula alone. On one node algorithm, protocol and channels are NCCL's own choice where the ring has a plan:
//   ring      T = L0 + h·k + V/Bp + (S/n)/C + F    F = a0 + a1·k
//     LL      Bp = min(rho·B, channels in use · what one carries), F = 0;  LL128  Bp = 0.92·B, F·0.8;  Simple  Bp = B
//     Simple where NCCL found no ring: twice h, F = 0
//   NVLS      T = L0 + h·min(k, 14) + A·(n/8)^0.45·V/(V + vs) + V/(e·link)
//     k = 2(g-1) for all_reduce, 1 for send_recv, 1.5 + 0.35(g-2) for all_to_all, g-1 for the others
// else (all_to_all and send_recv, GPUs of other makers) by one smooth curve, and all_reduce by NVLS where that is quicker:
//   T = L0 + h·k + V/B + (S/n)/C + F·V/(V + v0)      v0 = F·B/(1/rho - 1)
// Over several nodes NCCL's choice is shown, but times by it were further from what was measured than
//   T = L0 + h·k + l·(1.6 + log2 N)·p + V/B + An·(1 + log2 N)/2·p·V/(V + vn)   p = 1 all_reduce, 0.6 others
//     ring  B = min(W, B inside);  tree (NVLS machines, EFA, TCPXO)  B = min(f·W·c, B inside), c = 1 on two nodes, else 1/2
//     all_to_all  V/B = S((1-1/N)/(W/g) + ((g-1)/n)/B inside);  scatter, gather: B = min(W·f/(1-1/N), B inside)
// V = f·S. Source: [nccl-tests-perf] for f, form and constants fitted on [published-nccl-tests] (LinkConstants).
// Valid S >= 0, ranks >= 1 (1 gives 0). Kind: estimate. Test: tests/core/cost/collective_test.cpp.
CollectiveCall collective_formula(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

// Whether NCCL, or the tuner that comes with the fabric, takes trees between nodes.
bool takes_trees(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective);

// One call among the groups whose rings `ring` describes: the formula times what measured tables say, and what the cluster's
// profile says over both. ranks < 2: all zero.
// Kind: estimate; its band is how far off such figures were on sources they were not fitted on.
CollectiveCall collective_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

// The same on any machine of the kind, without the cluster's profile.
CollectiveCall usual_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

}  // namespace wireplan
