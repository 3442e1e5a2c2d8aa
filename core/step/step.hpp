// Seconds of one optimizer step on the slowest rank: compute kernel by kernel, communication on the wiring, what of it hides behind
// compute, the pipeline's schedule, optimizer.
//
// Notation: F, B forward and backward of one micro-batch on a stage, m micro-batches.
#pragma once

#include <string>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/count/messages.hpp"
#include "core/count/parameters.hpp"
#include "core/describe/plan.hpp"
#include "core/step/compute.hpp"
#include "core/step/schedule.hpp"
#include "core/step/step_wiring.hpp"

namespace wireplan {

struct MessageCost {
  Message message;
  RingOnWiring ring;          // of its group
  int ranks = 1, nodes = 1;
  int groups = 1;             // of its kind on that node
  CollectiveCall call;        // one call
  BytesPerSecond bandwidth;   // B: what a rank sends of it over the time the wires need
  double sharing = 1;         // calls take so much longer beside what the layers send over the same links
  Seconds total, exposed;     // all calls of the step; exposed <= total
  // exposed = unavoidable + share·(total - unavoidable), see core/step/exposure.hpp
  Seconds unavoidable;
  double share = 1;
};

// One micro-batch on a stage as the step meets it.
struct PassPace {
  Seconds forward, backward;        // with the host, on infinitely fast links
  Seconds real_forward, real_backward;  // and on this wiring
};

struct StepCost {
  Range<Seconds> time;
  Seconds compute, exposed_communication, bubble, optimizer, host, offload, straggler, on_ideal_wiring;
  Seconds forward, backward;  // compute of one micro-batch on the slowest stage
  std::size_t slowest = 0;    // that stage
  Count busiest = 0;          // the stage the messages are of
  std::vector<PassPace> paces;  // by stage
  Seconds layer_forward, layer_backward;  // of the busiest stage: one layer with the host and its own communication, data-parallel traffic apart
  Seconds schedule, ideal_schedule;  // from the first pass of a step to the last: on this wiring, on infinitely fast links
  Seconds ideal_bubble;
  Seconds once;               // communication before and after the schedule, once per step
  double straggler_factor = 0;
  Bytes offload_bytes;        // moved over PCIe per step and rank while nothing else runs, on the stage with most
  Seconds waits_for_copies;   // the rest of `offload`: what passes wait for copies of offloaded parameters
  std::vector<ComputeCost> stages;
  std::vector<MessageCost> messages;
};

// Valid after validate(plan) passed; every number is finite and not negative.
// Parts are exclusive: compute + exposed + bubble + optimizer + host + offload + straggler = time.value, all of the slowest stage's rank:
//   compute   m·(F + B)                      exposed   what its own communication adds        host   what launching adds
//   bubble    what is left of the schedule: the rank waits for other stages, and for what their communication adds
StepCost step_cost(const Plan& plan, const PreparedCluster& cluster, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                   const SequenceWork& work, const EfficiencyConstants& efficiency);
// The same where rings and calls are remembered and the messages known: step_messages(), and the stage they are of.
struct StepMessages { std::vector<Message> messages; Count stage = 0; };
StepMessages busiest_messages(const Plan& plan);
StepCost step_cost(const Plan& plan, StepWiring& wiring, const StepMessages& busiest, const std::vector<StageParameters>& stages,
                   const std::vector<StageParameters>& trained, const SequenceWork& work, const EfficiencyConstants& efficiency);

// Its first part: `stages` and `optimizer` alone. With settle() after it, a step at other constants whose messages are known.
void compute_stages(const Plan& plan, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained, const SequenceWork& work,
                    const EfficiencyConstants& efficiency, StepCost& cost);

// What the host adds to a step beside launching kernels, and what stragglers add to all of it, as a share.
Seconds host_time(const Plan& plan, const EfficiencyConstants& efficiency);
double straggler_factor(const Plan& plan, const EfficiencyConstants& efficiency);

// The pipeline of a plan, and what each stage's passes take in it.
Schedule schedule_of(const Plan& plan);
std::vector<StagePass> stage_passes(const StepCost& cost, bool on_this_wiring);

// Share of the exposed communication that faster links alone would not take away: start, hops, network latency and filling pipelines, against
// bytes on the wire and copies. 0 where nothing is exposed.
double latency_share(const StepCost& cost);

// Fills in what follows from `call` and `ring` of the messages: `total`, what of it shows, what the host adds, the time of the step.
// For messages on other wires than those that step_cost() found.
void settle(const Plan& plan, const EfficiencyConstants& efficiency, StepCost& cost);

}  // namespace wireplan
