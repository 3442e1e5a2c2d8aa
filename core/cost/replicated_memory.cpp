// Parameters whole on every rank: a single GPU, DistributedDataParallel, ZeroRedundancyOptimizer.
#include <algorithm>

#include "core/cost/data_parallel_memory.hpp"

namespace wireplan {
namespace {

class Replicated final : public DataParallelMemory {
 public:
  Replicated(const Plan& plan, const StagePieces& pieces) : training_(plan.training), how_(plan.training.switches), micro_batches_(micro_batches(plan)) {
    const Parallel& p = plan.parallel;
    syncs_every_ = p.gradient_sync == GradientSync::every;
    offloads_ = plan.training.offload.optimizer;
    is_distributed_ = p.data * p.context > 1;
    all_ = pieces.embedding;
    all_ += pieces.head;
    for (const PieceBytes* layer : pieces.layers) all_ += *layer;
    // Tensor parallel: the optimizer cuts its rows out of the embedding's whole gradient and reduces those of the norms.
    if (p.tensor > 1) replicated_rows_ = pieces.embedding.raw_kept_gradients * double(p.tensor - 1);
    if (p.tensor > 1) extra_temporaries_ = pieces.embedding.whole_gradients + double(1 + 2 * pieces.layers.size()) * whole_blocks(double(plan.model.hidden_size) * 2);
    largest_state_ = std::max({pieces.embedding.one_state, pieces.head.one_state});
  }

  void start(Ledger& l) override {
    l.add(Term::parameters, all_.stored);
    if (!appears_in_backward() && !offloads_) l.add(Term::optimizer_states, all_.states + all_.counters);
    // The reducer's buckets are allocated once and stay.
    if (is_distributed_) l.add(Term::gradient_buckets, whole_blocks(all_.raw_gradients));
  }

  void before_micro_batch(Ledger&, bool is_first, bool is_last) override {
    accumulates_ = !is_first;
    // Views of the buckets only where the reducer hands them out; gradients accumulated without it stand outside.
    in_buckets_ = is_distributed_ && how_.gradient_as_bucket_view && (micro_batches_ == 1 || syncs_every_);
    // The reducer of the last micro-batch moves what was accumulated outside into its views.
    moves_into_buckets_ = is_distributed_ && how_.gradient_as_bucket_view && !in_buckets_ && is_last;
  }

  void gradient(Ledger& l, const Piece&, const Weight& w) override {
    const double size = w.stored_bytes > 0 ? w.stored_bytes : w.bytes;
    if (how_.optimizer_kernel == OptimizerKernel::in_backward) {
      if (appears_in_backward() && !offloads_ && !accumulates_ && all_.trained > 0) l.add(Term::optimizer_states, (all_.states + all_.counters) * w.elements / all_.trained);
      l.mark("optimizer in backward", Term::gradients, whole_blocks(size));
      return;
    }
    if (in_buckets_ || accumulates_) {
      l.mark("gradient", Term::gradients, whole_blocks(size));
      if (moves_into_buckets_) l.free(Term::gradients, whole_blocks(size));
      return;
    }
    l.add(Term::gradients, whole_blocks(size));
    l.mark("gradient");
  }

  std::optional<KeptStates> states() const override {
    const double gradients = how_.optimizer_kernel == OptimizerKernel::in_backward ? 0 : all_.raw_kept_gradients + replicated_rows_;
    return KeptStates{all_.raw_stored, gradients, 0, offloads_ ? 0 : all_.raw_states};
  }

  void optimizer(Ledger& l) override {
    if (extra_temporaries_ > 0) l.mark("gradients of divided tensors", Term::optimizer_temporaries, extra_temporaries_);
    if (!offloads_) mark_step(l, training_, all_.one_state, largest_state_);
    l.clear(Term::gradients);
  }

 private:
  bool appears_in_backward() const { return is_first_step && how_.optimizer_kernel == OptimizerKernel::in_backward; }

  const Training& training_;
  const Switches& how_;
  const Count micro_batches_;
  PieceBytes all_;
  double largest_state_ = 0, extra_temporaries_ = 0, replicated_rows_ = 0;
  bool syncs_every_ = false, is_distributed_ = false, accumulates_ = false, in_buckets_ = false, moves_into_buckets_ = false, offloads_ = false;
};

}  // namespace

void mark_step(Ledger& l, const Training& training, double one_state, double largest) {
  const bool is_adam = training.optimizer == Optimizer::adamw || training.optimizer == Optimizer::adam;
  const OptimizerKernel kernel = training.switches.optimizer_kernel;
  if (kernel == OptimizerKernel::foreach && is_adam) l.mark("square roots of the second moments", Term::optimizer_temporaries, one_state);
  if (kernel == OptimizerKernel::loop && is_adam) l.mark("square root of a second moment and its quotient", Term::optimizer_temporaries, 2 * largest);
  l.mark("step");
}

std::unique_ptr<DataParallelMemory> replicated_memory(const Plan& plan, const StagePieces& pieces) {
  return std::make_unique<Replicated>(plan, pieces);
}

}  // namespace wireplan
