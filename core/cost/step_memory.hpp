// One training step of one pipeline stage on one rank, event by event: what is alive when, and the highest moment of every phase.
//
// Order of a step: for each micro-batch forward of embedding, layers, final norm and head, loss, backward of the same in reverse; then
// the optimizer. Layers of one kind add the same bytes each, so only the first three and the last of a run are played and those between
// are counted.
#pragma once

#include <optional>
#include <vector>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/played_model.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

struct StepMemory {
  std::array<Ledger::Peak, 4> peaks{};   // by StepPhase
  Holdings between_steps;
  double after_forward = 0;              // alive before the last micro-batch's backward minus before its forward
  double after_backward = 0;
  double initialize = -1, host = -1;     // where data parallelism has its own (negative: it has not)
  double first_step = -1;                // highest moment of the first step, where it differs in more than missing optimizer states
  double layers_keep = 0;                // of one micro-batch, wherever it is
  std::optional<KeptStates> states;
  const Ledger::Peak& highest() const;
};

StepMemory step_memory(PlayedModel& model, int stage, std::vector<TimelinePoint>* timeline = nullptr);
StepMemory step_memory(const Plan& plan, int stage, std::vector<TimelinePoint>* timeline = nullptr);

}  // namespace wireplan
