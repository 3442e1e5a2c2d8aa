// Seconds of one optimizer step on the slowest rank: compute by roofline at a stated efficiency, communication on the wiring,
// what of it hides behind compute, pipeline bubble, optimizer. Provisional; the estimate says so in its notes.
//
// Notation: C compute and M communication of a phase, m micro-batches, p stages, v virtual stages, τ_i one micro-batch on stage i.
#pragma once

#include <string>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/count/messages.hpp"
#include "core/count/parameters.hpp"
#include "core/describe/plan.hpp"
#include "core/step/compute.hpp"

namespace wireplan {

struct MessageCost {
  Message message;
  RingOnWiring ring;          // of its group
  int ranks = 1, nodes = 1;
  int groups = 1;             // of its kind on that node
  CollectiveCall call;        // one call
  BytesPerSecond bandwidth;   // B: what a rank sends of it over the time the wires need
  Seconds total, exposed;     // all calls of the step; exposed <= total
  // exposed = unavoidable + share·(total - unavoidable), see exposure rules in step.cpp
  Seconds unavoidable;
  double share = 1;
};

struct StepCost {
  Range<Seconds> time;
  Seconds compute, exposed_communication, bubble, optimizer, host, offload, straggler, on_ideal_wiring;
  Seconds forward, backward;  // compute of one micro-batch on the slowest stage
  Seconds launch;             // host work of one micro-batch on that stage
  Seconds stage_sum;          // Σ τ_i over stages, τ = forward + backward
  double bubble_factor = 0;   // bubble = bubble_factor · (stage_sum - τ_max)
  double straggler_factor = 0;
  Bytes offload_bytes;        // moved over PCIe per step and rank, on the stage with most
  std::vector<ComputeCost> stages;
  std::vector<MessageCost> messages;
};

// Valid after validate(plan) passed; every number is finite and not negative.
// Parts are exclusive: compute + exposed + bubble + optimizer + host + offload + straggler = time.value.
StepCost step_cost(const Plan& plan, const PreparedCluster& cluster, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                   const SequenceWork& work, const EfficiencyConstants& efficiency);

// Fills in what follows from `call` and `total` of the messages: what of them shows, what the host adds, the time of the step.
// For messages on other wires than those that step_cost() found.
void settle(const Plan& plan, const EfficiencyConstants& efficiency, StepCost& cost);

}  // namespace wireplan
