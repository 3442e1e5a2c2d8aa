// Which k of the n GPUs of a node talk best to each other.
#pragma once

#include <string>
#include <vector>

#include "core/cost/wiring.hpp"

namespace wireplan {

struct Subset {
  std::vector<int> gpus;                // rising
  BytesPerSecond bus_bandwidth, all_to_all_bandwidth;
  int distance = 0;                     // Σ over pairs of 16 · kind of way + its links
  std::string bottleneck;
  BytesPerSecond bottleneck_rate, bottleneck_nominal;
};

struct Subsets {
  Subset first;             // GPUs 0 to k-1
  std::vector<Subset> best; // the best first, five at most
  bool all_equal = false;   // every pair meets in the NVSwitch alone
  bool exact = true;        // no other subset is better, in the model of ring_on_wiring()
};

// what: subsets of k GPUs by the bus bandwidth of a ring over them alone; of equal ones by that of all-to-all, then the nearest by the
// ways between them, then the lowest indices.
// Exact for up to 16 GPUs: enumeration of subsets that differ (of GPUs that hang alike on the node the lowest are taken), those left
// out whose narrowest GPU can send no more than the fifth best ring; 4,000 rings are tried at most. Beyond, from each of the first 64
// GPUs the nearest ones: a heuristic.
// valid: `cluster` prepared with all GPUs of the node, 1 <= k <= cluster.gpus. Kind: estimate. Test: tests/core/answer/placement_test.cpp.
Subsets best_subsets(const PreparedCluster& cluster, int k);

// For each GPU the lowest one that hangs on the node in the same way: swapping the two leaves graph and peer access as they are.
std::vector<int> alike_gpus(const PreparedCluster& cluster);

}  // namespace wireplan
