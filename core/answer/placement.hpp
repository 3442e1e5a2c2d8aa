// Which rank belongs on which GPU: the plan as it is beside its best mapping on the same wires.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/answer/subsets.hpp"

namespace wireplan {

// The groups of one kind under a mapping.
struct MappedGroup {
  GroupKind dimension{};
  std::vector<std::vector<int>> gpus;  // of the node shown, a list per group in order of ranks
  std::string_view link_class;
  std::string bottleneck;
  BytesPerSecond bandwidth, bottleneck_rate, bottleneck_nominal;
  Seconds time, exposed;               // of all its messages in a step
  bool is_walk = false;                // only neighbours talk
};

struct Mapping {
  std::string order;           // parallel.order
  std::vector<int> gpus;       // cluster.gpus; empty: null
  std::vector<int> placement;  // parallel.placement; empty: null
  Range<Seconds> time;
  Seconds communication;       // all messages, hidden or not
  Range<Seconds> exposed;      // what shows of them, at either end of their band
  std::vector<MappedGroup> groups;
};

// What of the gain survives the bands. apart: the better one is faster even with its wires at the slow end of the band and the other's
// at the fast end. same_constants: both are timed with the same constants, whose error moves both alike, and at either end of the band
// the better one is faster. open: neither.
enum class Certainty : unsigned char { apart, same_constants, open };
template <> inline constexpr std::array<std::string_view, 3> kNames<Certainty> = {"apart", "same-constants", "open"};

struct PlacementAnswer {
  Mapping current, best;       // the same where nothing is gained
  bool is_better = false;
  Seconds gain;                // of a step
  Seconds gain_low, gain_high; // the same with all wires at one end of their band: the less and the more of the two
  Certainty certainty = Certainty::open;
  bool exact = true;           // no mapping is faster, in the model; false: local search
  int compared = 0;            // mappings that differ
  int subset_size = 0;
  Subsets subsets;
  std::string text, subset_text;
};

// what: the mapping with the shortest step, of equal ones that with the least communication in all. Candidates: on one node every
// assignment of ranks to its GPUs; on several the same assignment on each of them, and the order of the dimensions (parallel.order),
// which decides who stays inside a node; where fewer GPUs are used than a node has, also the best subsets of as many.
// Exact (but for the subset and order) where 8 or fewer GPUs of a node are used: every assignment is compared, of those that layout or
// graph make alike one. Beyond, or after 6,000 rings: exchanges of two GPUs from two starts while they gain.
// A mapping on several nodes is stated by cluster.gpus, one on a single node by parallel.placement.
// `subset_size`: k of best_subsets(), 0: as many as the plan uses.
// valid after validate(plan) passed. Kind: estimate. Test: tests/core/answer/placement_test.cpp.
PlacementAnswer best_placement(const Plan& plan, const Constants& constants, int subset_size = 0);

// Sentences of the answer: core/answer/placement_text.cpp.
std::string placement_text(const Plan& plan, const PlacementAnswer& answer, const PreparedCluster& cluster);
std::string subset_text(const PlacementAnswer& answer, int node_gpus);

}  // namespace wireplan
