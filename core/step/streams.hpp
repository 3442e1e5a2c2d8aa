// The time line of one step: what each stream of a rank does when, and what it waits for.
#pragma once

#include <string>
#include <vector>

#include "core/step/step.hpp"

namespace wireplan {

enum class StepEventKind : unsigned char { forward, backward, weight_gradient, forward_and_backward, optimizer, communication, copy, host, straggler };
template <>
inline constexpr std::array<std::string_view, 9> kNames<StepEventKind> = {"forward", "backward", "weight-gradient", "forward-and-backward", "optimizer", "communication", "copy", "host", "straggler"};

struct StepEvent {
  std::string name;  // "forward of layer 12", "fsdp-all-gather-forward"
  StepEventKind kind = StepEventKind::forward;
  Seconds start, duration;
  Count micro_batch = -1;   // -1: of none
  int communication = -1;   // index in StepCost::messages, -1: none
  std::string waits_for;    // why the stream stood still before, the longest of several reasons; "" where it did not
};

struct StepWait { std::string reason; Seconds total; double times = 0; };

struct StepStream {
  Count stage = 0;
  std::string name;  // compute, network (data-parallel traffic), layers (communication inside the layers), copy, host (an offloaded optimizer)
  std::vector<StepEvent> events;  // by time; none overlaps the next
  std::vector<StepWait> waits;    // compute: all it stood still for, by reason
};

// What: the step that step_cost() adds up, laid out in time. Without a pipeline: the units of every micro-batch as pass_times() plays them;
//   past kDetailed units (layers and ends, forward and backward) only those of the first two micro-batches and of the last, the others pass
//   by pass. With a pipeline: the passes of every stage as pipeline_times() plays them (past kPasses of the slowest stage alone), traffic on
//   the slowest stage; what is communicated inside a layer is part of its pass there.
// Where: compute that communication slows is drawn as long as it then takes. The last event ends at time.value.
// Kind: estimate.  Valid: cost by step_cost() of the same plan and constants.  Test: tests/core/step/streams_test.cpp.
inline constexpr double kDetailed = 6000, kPasses = 24000;
std::vector<StepStream> step_streams(const Plan& plan, const StepCost& cost, const EfficiencyConstants& efficiency);

// Seconds the compute stream of the slowest stage stands still, by reason, longest first.
std::vector<StepWait> step_waits(const StepCost& cost, const std::vector<StepStream>& streams);

}  // namespace wireplan
