// In which order a ring visits the GPUs of a group on one node.
#pragma once

#include <cstddef>
#include <vector>

#include "core/cost/wiring.hpp"

namespace wireplan {

// Traffic on every direction of every link, in half ring edges: index 2·link + (0 forward, 1 back). A ring sends half of its data
// round in each direction, so an edge between two GPUs puts one half on the way there and one on the way back.
using HalfFlows = std::vector<int>;
constexpr std::size_t direction_of(PreparedCluster::Step s) { return 2 * static_cast<std::size_t>(s.link) + (s.forward ? 0 : 1); }

void add_edge(const PreparedCluster& cluster, int a, int b, int halves, HalfFlows& flows);

// Order of the ring over `gpus` that is widest beside the flows already there; of equally wide ones the nearest, of those the first.
// It returns to its first GPU; on several nodes that last way stands for the one by the NICs, which cross the same sockets.
// Exact for up to 8 GPUs (branch and bound); more are taken in order of socket, switch and index. Kind: exact optimum of the model.
// Source: [nccl-search] (by bandwidth, then hops); NCCL's discrete speeds are not applied.
std::vector<int> ring_order(const PreparedCluster& cluster, const std::vector<int>& gpus, const HalfFlows& flows);

// What all rings together can pass around a group whose ring needs direct NVLinks only, 0 where it needs other ways.
//   B = min( C(A) over all subsets A,  2 (C(v) - c_max(v)) over members v if n > 2 )
// where C(A) = planning rate of the NVLinks from A to the other members, c_max(v) the widest link of v. Every ring crosses each cut at
// least once in each direction, and uses two different links of each member, one of them at most half of its passes.
// Source: a cut bound of our own [wireplan-definition]; [nccl-search] reaches it on the cube mesh of the DGX-1
// (6 rings of 20 GB/s on 8 GPUs, 4 on one half of them, 2 on six).
// Kind: bound. More than 12 members: single-member cuts only. Test: tests/core/cost/wiring_ring_test.cpp.
struct MeshBound {
  BytesPerSecond rate, nominal;
  std::vector<int> tight;  // the GPUs on one side of the tightest cut
};
MeshBound mesh_bound(const PreparedCluster& cluster, const std::vector<int>& order);

}  // namespace wireplan
