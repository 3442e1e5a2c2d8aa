// What data parallelism allocates along a step: gathered parameters, gradients, buckets. The walk over the layers
// (core/cost/step_memory.cpp) calls it at the borders of pieces and whenever a gradient is finished.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/cost/ledger.hpp"
#include "core/cost/parameter_store.hpp"
#include "core/cost/tape.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {

// A piece of the model: the embedding, a layer, or final norm and head.
struct Piece {
  enum class Kind : unsigned char { embedding, layer, head } kind = Kind::layer;
  Count layer = 0;  // of the stage
};

// Bytes a rank keeps of each, without rounding to blocks where they are many tensors.
struct KeptStates {
  double parameters = 0;
  double gradients = 0;  // negative: as StateTerm counts them
  double master_weights = 0, optimizer_states = 0;
};

// What units of a sharded model keep between them; each has its PieceBytes as `bytes`.
template <class Unit>
KeptStates kept_by(const std::vector<Unit>& units) {
  KeptStates kept;
  for (const Unit& u : units) {
    kept.parameters += u.bytes.raw_stored;
    kept.gradients += u.bytes.raw_kept_gradients;
    kept.optimizer_states += u.bytes.raw_states;
    kept.master_weights += u.bytes.raw_master;
  }
  return kept;
}

enum class ModulePass : unsigned char { forward, again, backward };

class DataParallelMemory {
 public:
  virtual ~DataParallelMemory() = default;
  bool is_first_step = false;  // an optimizer in backward makes its states then
  // Only where the walk tells the modules of a layer apart (PlayedModel): before and after each operation that owns parameters, in
  // its order.
  virtual void before_module(Ledger&, const Piece&, std::size_t /*module*/) {}
  virtual void after_module(Ledger&, const Piece&, std::size_t /*module*/, ModulePass) {}
  // False: every layer has to be walked, since what it adds depends on the layers before.
  virtual bool counts_layers_alike() const { return true; }
  // The last micro-batch of a step is like those after the first.
  virtual bool ends_like_others() const { return false; }
  // Begins a step with what stays between steps.
  virtual void start(Ledger& ledger) = 0;
  virtual void before_micro_batch(Ledger&, bool /*is_first*/, bool /*is_last*/) {}
  virtual void before_forward(Ledger&, const Piece&) {}
  virtual void after_forward(Ledger&, const Piece&) {}
  virtual void after_root_forward(Ledger&) {}
  virtual void before_loss_backward(Ledger&, bool /*loss_inside*/) {}  // the loss is computed inside the root's forward
  virtual void before_backward(Ledger&, const Piece&) {}
  virtual void gradient(Ledger&, const Piece&, const Weight&) {}
  virtual void after_backward(Ledger&, const Piece&) {}
  virtual void end_of_backward(Ledger&) {}
  virtual void optimizer(Ledger&) {}
  // Highest bytes while the engine starts, and bytes of one rank in host memory; negative: nothing of its own.
  virtual double initialize_peak() const { return -1; }
  virtual double host_bytes() const { return -1; }
  // The first step differs from the others in more than missing optimizer states.
  virtual bool has_own_first_step() const { return false; }
  // What the rank keeps of each without rounding; the default is for engines whose states StateTerm counts.
  virtual std::optional<KeptStates> states() const { return std::nullopt; }
};

// The optimizer step's own copies: Adam's foreach kernel takes the square roots of all second moments at once, the loop those of one
// tensor and a quotient; fused kernels and other optimizers none.  [pytorch-autograd] torch.optim; checked on [framework-traces].
void mark_step(Ledger& ledger, const Training& training, double one_state, double largest_tensor_state);

// One rank's pieces, with layers of the stage in order.
struct StagePieces {
  PieceBytes embedding, head;
  std::vector<const PieceBytes*> layers;
};

std::unique_ptr<DataParallelMemory> replicated_memory(const Plan& plan, const StagePieces& pieces);  // one rank, DDP, ZeroRedundancyOptimizer
std::unique_ptr<DataParallelMemory> fsdp2_memory(const Plan& plan, const StagePieces& pieces);
std::unique_ptr<DataParallelMemory> deepspeed_memory(const Plan& plan, int stage);  // ZeRO 0 to 3
std::unique_ptr<DataParallelMemory> fsdp1_memory(const Plan& plan, const StagePieces& pieces);
// `updated`: what of the stage is trained.
std::unique_ptr<DataParallelMemory> megatron_memory(const Plan& plan, int stage, const StageParameters& own, const StageParameters& updated);

}  // namespace wireplan
