// Allocated bytes over the time of one step, for every pipeline stage: what a memory profiler would draw.
#pragma once

#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

struct MemoryPoint {
  Seconds time;
  Bytes allocated;
  Place place;  // what runs until then
};

struct MemoryLine {
  int stage = 0;
  std::vector<MemoryPoint> points;  // by time, from the start of the step to its end
};

// what: bytes after every layer, forward and backward, and the highest between, of a steady step.
// where: time within a micro-batch is dealt evenly to the layers of each direction, forward and backward as their compute takes them;
//   of more than three micro-batches only the first two and the last are drawn, those between are like the second. In a pipeline a
//   stage's line shows one micro-batch at its deepest point after the warm-up and before the cool-down.
// kind: bytes as the estimate's (core/cost/step_memory.hpp); times estimate.  test: timeline_test.cpp: its highest point is the peak.
std::vector<MemoryLine> memory_timeline(const Plan& plan, const Estimate& estimate);

}  // namespace wireplan
