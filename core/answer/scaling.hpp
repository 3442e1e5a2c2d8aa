// The same plan on fewer and on more GPUs: where adding some stops paying.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

// weak: sequences of a GPU's step stay, as when GPUs are added to a run; strong: the global batch stays.
enum class ScalingMode : unsigned char { weak, strong };
template <> inline constexpr std::array<std::string_view, 2> kNames<ScalingMode> = {"weak", "strong"};

inline constexpr int kMostScalingNodes = 100'000;  // as validate() has it

struct ScalingCount { int nodes = 1, gpus_per_node = 1; };

struct ScalingPoint {
  ScalingCount count;
  Count gpus = 1;
  bool is_plan = false;     // the plan itself
  bool fits = false;        // memory of GPU and host
  double tokens = 0;        // of a step
  StepAnswer step;
  std::string bottleneck;   // of the message that shows most, "" where nothing shows
  double efficiency = 1;    // tokens/s of a GPU against the first point
  double kept = 1;          // against the point before
};

struct ScalingGap {
  ScalingCount count;
  Count gpus = 1;
  std::string reason;
};

struct Scaling {
  ScalingMode mode = ScalingMode::weak;
  std::vector<ScalingPoint> points;
  std::vector<ScalingGap> left_out;
  int breaks_at = -1;       // the first point that keeps less than 90 % of the speed before it; -1: none
  std::string text;
};

// The counts that are looked at: 1, 2, 4 … GPUs of a node and all the plan uses, then 1, 2, 4 … nodes, its own number and `up_to`.
std::vector<ScalingCount> scaling_counts(const Cluster& cluster, int up_to);

// The plan on another count: data = GPUs / (tensor · pipeline · context), everything else of the layout stays. A mapping of ranks to GPUs
// goes where it no longer matches; of listed GPUs the first are used. An error where the count cannot hold the layout or the batch.
Result<Plan> plan_on(const Plan& plan, const ScalingCount& count, ScalingMode mode, const std::optional<Network>& network);

// what: estimates of the plan on each count.
// formula: efficiency = (tokens/s/GPU) / (the same on the smallest count), kept = the same against the count before.
// where: up_to nodes, at least the plan's own (0: those); `network` joins nodes where the plan, of one node, states none.
// valid: validate(plan) passed.  kind: estimate; the point of the plan itself equals estimate(plan).  test: scaling_test.cpp.
Scaling scaling(const Plan& plan, const Constants& constants, ScalingMode mode, int up_to = 0, const std::optional<Network>& network = {});

}  // namespace wireplan
