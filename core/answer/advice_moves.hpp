// The knobs that advice turns: each changes one thing of a plan, with what must follow from it.
#pragma once

#include <string>
#include <vector>

#include "core/answer/advice.hpp"

namespace wireplan {

// Means something only beside another layout than the plan has, so that it cannot be judged alone.
constexpr bool depends_on_layout(Knob k) { return k == Knob::sequence_parallel || k == Knob::gradient_sync || k == Knob::overlap || k == Knob::schedule; }
// The estimate leaves a part of its time out (notes of the estimate, training.offload), so its speed cannot be compared with others'.
constexpr bool is_last_resort(Knob k) { return k == Knob::offload_states || k == Knob::offload_activations; }

// All moves worth a look for this plan. Those over links only where the step waits for links (`waits`).
std::vector<Move> moves_of(const Plan& plan, bool waits);

// Turns one knob. False where the plan has no such knob, it stands there already, or the framework cannot do it; `plan` is then as good as lost.
bool apply(const Move& move, const PlanFilling& filling, const PreparedCluster& cluster, Plan& plan);

// What must follow changes: switches, and what validate() asks. False: no valid plan, or another global batch.
bool settle(const Plan& before, const PlanFilling& filling, Plan& plan);

// "FSDP", "recompute=full": of a move, by what the plan is after it.
std::string key_of(const Move& move, const Plan& after);
std::string label_of(const Move& move, const Plan& before, const Plan& after);
// What it costs besides bytes and seconds; "" where those are all.
std::string price_of(const Move& move, const Plan& after);

}  // namespace wireplan
