// The least time a step can take, by what all data shardings of a layout have in common.
//
// Notation: m micro-batches, F, B passes of a stage with the host and with what its layers wait for.
#pragma once

#include <vector>

#include "core/step/exposure.hpp"
#include "core/step/step.hpp"

namespace wireplan {

// what: lower bounds of step_cost().time.value; the second is at least the first.
// formula: (1 + sigma)·(max(max over stages m·(F + B), way to the last stage and back) + optimizer + host);  the same with the schedule's length in
//   place of the outer maximum. The way, where passes run from the first to the last rank (1f1b, gpipe, interleaved): the last rank has nothing to do
//   before the others' first chunks have passed the first micro-batch on, and they pass the last one back after it: sum over the others of (F + B_in)/v.
// where: compute, optimizer, host and sigma as in the step; the waits of layers are the least that those of the first, second or last stage are
//   (the step takes them from the one of these that sends most); data-parallel traffic, hops of the pipeline and copies count nothing.
// valid: every stage's passes only grow by what is left out, a schedule only grows with its passes, and the parts of a step add up to no less
//   than its schedule, its optimizer and its host.  kind: bound.  test: step_bound_test.cpp.
class StepBound {
 public:
  // For plans that differ from this one in data_sharding, shard_group, gradient_sync, offload and overlap of data-parallel traffic alone. `wiring` stands
  // on its cluster. Keeps references to all but `wiring`.
  StepBound(const Plan& plan, StepWiring& wiring, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
            const SequenceWork& work, const EfficiencyConstants& efficiency);
  Seconds by_stages(const Plan& plan) const;
  Seconds by_schedule(const Plan& plan) const;

 private:
  struct Passes {
    std::vector<StagePass> stages;
    Seconds optimizer;
  };
  ComputeCost stage_cost(const Plan& plan, std::size_t stage) const;
  Passes passes(const Plan& plan) const;
  Seconds step_of(const Plan& plan, Seconds schedule, Seconds optimizer) const;

  const std::vector<StageParameters>&stages_, &trained_;
  const SequenceWork& work_;
  const EfficiencyConstants& k_;
  ComputeRates rates_;
  LayerWaits waits_;
};

}  // namespace wireplan
