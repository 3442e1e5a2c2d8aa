#include "core/cost/played_model.hpp"

#include <algorithm>

namespace wireplan {

PlayedPiece::PlayedPiece(const Tape& tape, bool is_run_again, bool is_reentrant, bool apart) : again(is_run_again), result_bytes(tape.result_bytes()) {
  std::vector<Stretch>* first = apart ? &forward_pieces : nullptr;
  forward = again ? tape.forward_without_keeping(first) : tape.forward(first);
  if (again) second = tape.forward_again(is_reentrant, apart ? &second_pieces : nullptr);
  tape.backward(again, backward, apart);
  modules = std::size_t(std::count_if(backward.begin(), backward.end(), [](const Stretch& s) { return s.weight.elements > 0; }));
}

PlayedModel::PlayedModel(const Plan& p, const std::vector<StageParameters>& stage_list, const std::vector<StageParameters>& trained_list)
    : plan(p), stages(stage_list), trained(trained_list), bytes(model_bytes(p)),
      walks_modules(p.parallel.framework == Framework::deepspeed && shards_parameters(p.parallel.data_sharding)),
      computes_chunks(p.training.loss == Loss::chunked && p.training.switches.loss_chunks > 1 && p.training.switches.loss.forward <= 0 && !p.model.opaque) {}

const PlayedPiece& PlayedModel::layer(Count layer, bool again) {
  const Switches& how = plan.training.switches;
  const bool frozen_before = plan.training.lora.has_value() || how.frozen_embedding;
  const LayerKind kind{is_moe_layer(plan.model, layer), !(frozen_before && layer == 0)};
  std::optional<PlayedPiece>& slot = layers_[(kind.is_moe ? 1 : 0) + (kind.entered_needs_gradient ? 0 : 2) + (again ? 4 : 0)];
  if (!slot) slot.emplace(layer_tape(plan, kind), again, how.reentrant_checkpoint, walks_modules);
  return *slot;
}

const PlayedPiece& PlayedModel::head() {
  if (!head_) head_.emplace(computes_chunks ? final_norm_tape(plan) : head_tape(plan), false, false, walks_modules);
  return *head_;
}

}  // namespace wireplan
