// What shows of the communication of a step: which messages a stage's passes wait for, which hide behind its compute.
//
// Notation: m micro-batches; exposed = U + a·(T - U) of a message of T seconds: U nothing can hide, a is the share of the rest that shows.
#pragma once

#include "core/step/pass.hpp"
#include "core/step/step.hpp"

namespace wireplan {

// What communication inside the layers adds to one layer of one micro-batch. Sets `share` of those messages:
//   tensor parallel   a fixed share, less where the framework pipelines it with the product
//   expert parallel   dispatch and combine block the layer: all of it
//   context ring      what attention of the same block does not cover
struct LayerWaits { Seconds forward, backward; };
LayerWaits waits_in_layers(const Plan& plan, const EfficiencyConstants& efficiency, StepCost& cost);
// One message of those: the share of its `total` in a step that shows on `stage`, and what that adds to a layer.
double share_in_layers(const Plan& plan, const EfficiencyConstants& efficiency, const ComputeCost& stage, const Message& message, Seconds total);
void add_wait(const Plan& plan, const ComputeCost& stage, const Message& message, Seconds shown, LayerWaits& waits);

// Adds `sharing` to traffic that runs beside compute, and to its `total`: while the layers send over links that it needs, it waits. With u the share of
// the passes in which they do:  sharing = 1/(1 - u).  Links are shared where both cross the network, or what bounds the one inside a node carries
// the other. Kind: estimate; what the layers send counts as undisturbed.  Needs cost.layer_forward and layer_backward.
void share_links(const Plan& plan, StepCost& cost);

// What data-parallel traffic adds to the passes of the stage that sends most, by cost.layer_forward and cost.layer_backward.
// Sets `unavoidable` and `share` of those messages.
struct DataParallelWaits {
  Seconds forward, backward;  // every micro-batch
  Seconds once;               // at the first gather, after the last reduction, and what no framework overlaps
  Seconds copies_forward, copies_backward;  // what copies of offloaded parameters add to each pass
};
DataParallelWaits waits_for_data(const Plan& plan, const EfficiencyConstants& efficiency, StepCost& cost);

// The units of one pass of that stage with the traffic that may run beside them; for pass_times(). Backward begins with the last.
enum class PassTraffic : unsigned char { forward, first_forward, backward, last_backward };
std::vector<PassUnits> pass_units(const Plan& plan, const StepCost& cost, PassTraffic traffic);

// The message that a unit's gathers or reductions are, by the run of pass_units(): its index, -1 where there is none.
int message_of(const Plan& plan, const StepCost& cost, PassTraffic traffic, int run, bool is_gather);

// Which units of a pass a message belongs to. Messages with calls for at least every second layer are the layers'. Others of the name
// are an end's: FSDP lists them in the order of the model, buckets come in that of the gradients. Where no message of the name is the
// layers' (buckets of many layers), one call is the first end's, which forward begins and backward ends with, the rest spreads.
enum class UnitPlace : unsigned char { first_end, layers, last_end, one_and_layers, layers_all };
UnitPlace place_of(const Plan& plan, const StepCost& cost, std::size_t message);

constexpr bool is_gather(Collective c) { return c == Collective::all_gather || c == Collective::broadcast; }

// Passes of a step that a message's calls are dealt to: every micro-batch, or one of them. Gathers of sharded parameters come
// with every use; Megatron's distributed optimizer gathers what it updated, once.
double passes_of(const Plan& plan, const Message& message);
bool comes_once(const Plan& plan, const Message& message);  // in one pass of several: of the micro-batches, or of the stages

// Belongs to forward or backward, not to what comes after them.
constexpr bool is_in_passes(const Message& m) { return m.phase == Phase::forward || m.phase == Phase::backward; }

// Runs beside compute of its phase; the others stand in the way of it.
bool may_hide(const Message& message);

constexpr bool is_forward(PassTraffic t) { return t == PassTraffic::forward || t == PassTraffic::first_forward; }

constexpr bool is_model_parallel(GroupKind g) {
  return g == GroupKind::tensor || g == GroupKind::expert || g == GroupKind::expert_tensor || g == GroupKind::context || g == GroupKind::pipeline;
}

// Layers wait for it in their forward or backward.
constexpr bool is_inside_layers(const Message& m) {
  return is_model_parallel(m.group) && m.group != GroupKind::pipeline && is_in_passes(m);
}

}  // namespace wireplan
