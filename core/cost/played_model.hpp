// Layers and head of a model, written and played once each for all stages of a pipeline and all steps.
//
// Inside core/cost only.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/cost/layer_tape.hpp"
#include "core/cost/parameter_store.hpp"
#include "core/cost/tape.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {

// One kind of layer, or the head.
struct PlayedPiece {
  // `is_run_again`: its backward begins with a second forward. `apart`: with the stretches of each module.
  PlayedPiece(const Tape& tape, bool is_run_again, bool is_reentrant, bool apart);
  bool again;
  double result_bytes;
  Stretch forward, second;
  std::vector<Stretch> backward, forward_pieces, second_pieces;
  std::size_t modules = 0;
};

class PlayedModel {
 public:
  // `trained`: what of the stages is trained.
  PlayedModel(const Plan& plan, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained);

  const Plan& plan;
  const std::vector<StageParameters>&stages, &trained;
  const ModelBytes bytes;
  const bool walks_modules;      // the stretches of each module are told apart: ZeRO-3 gathers by module
  const bool computes_chunks;    // head and loss run in pieces of the sequence, where the code base has no coefficient of its own

  // Layer `layer` of the model, run again in backward or not.
  const PlayedPiece& layer(Count layer, bool again);
  const PlayedPiece& head();

 private:
  std::array<std::optional<PlayedPiece>, 8> layers_;
  std::optional<PlayedPiece> head_;
};

}  // namespace wireplan
