// PyTorch's fully_shard: parameters sharded tensor by tensor, gathered unit by unit.
//
// Forward of a unit: an all-gather buffer, then the parameters copied out of it; the buffer stays until the next unit's copy-out (the
// root's forward frees the last one). Backward: the unit before is gathered into its buffer while this one runs. Reduction of a unit:
// its parameters go, its gradients are copied into the input of the reduce-scatter, whose output is the sharded gradient; the input
// stays until the next reduction.  [pytorch-fsdp2] _fsdp_param_group.py, _fsdp_collectives.py; checked on [framework-traces].
#include <algorithm>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {
namespace {

struct GatheredUnit {
  PieceBytes bytes;
  bool reshards = true;      // after forward
  bool is_gathered = false;  // its parameters are there
  double fresh = 0;          // gradients of the present backward
  double kept = 0;           // those of the micro-batches before, whole
};

class Fsdp2 final : public DataParallelMemory {
 public:
  Fsdp2(const Plan& plan, const StagePieces& pieces) : plan_(plan), how_(plan.training.switches), layers_(Count(pieces.layers.size())) {
    const bool whole = plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::none;
    const bool own_ends = how_.fsdp_units == FsdpUnits::embedding_blocks_head && !whole;
    const bool tied = plan.model.tie_word_embeddings;
    const bool keeps_all = plan.parallel.data_sharding == DataSharding::zero2;
    const Count n = std::max<Count>(1, plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::layers ? plan.parallel.fsdp_unit.layers : 1);
    layers_per_unit_ = n;
    units_.resize(std::size_t(2 + (whole ? 0 : (layers_ + n - 1) / n)));
    GatheredUnit &ends = units_[kRoot], &embedding = units_[kEmbedding];
    if (whole) {
      for (const PieceBytes* layer : pieces.layers) ends.bytes += *layer;
    } else {
      for (Count i = 0; i < layers_; ++i) units_[std::size_t(2 + i / n)].bytes += *pieces.layers[std::size_t(i)];
      for (std::size_t u = 2; u < units_.size(); ++u) units_[u].reshards = !keeps_all;
      if (units_.size() > 2 && !how_.reshard_last_unit) units_.back().reshards = false;
    }
    embedding_unit_ = own_ends && !tied ? kEmbedding : kRoot;
    head_is_unit_ = own_ends;
    units_[embedding_unit_].bytes += pieces.embedding;
    ends.bytes += pieces.head;
    ends.reshards = false;
    embedding.reshards = !keeps_all;
    const double e = compute_bytes(plan), reduce = element_bytes(how_.reduce_dtype);
    reduces_wider_ = reduce > e;
    casts_output_ = reduce != element_bytes(plan.training.gradient_dtype);
    syncs_every_ = plan.parallel.gradient_sync == GradientSync::every;
    accumulates_ = !syncs_every_ && micro_batches(plan) > 1;
    offloads_ = plan.training.offload.parameters || plan.training.offload.optimizer;
    largest_state_ = std::max(pieces.embedding.one_state, pieces.head.one_state);
  }

  // One unit, or several layers to a unit: the unit's gradients wait for the last of them.
  bool counts_layers_alike() const override { return units_.size() > 2 && layers_per_unit_ == 1; }

  void start(Ledger& l) override {
    if (offloads_) return;
    for (const GatheredUnit& u : units_) {
      l.add(Term::parameters, u.bytes.stored);
      if (u.bytes.master > 0) l.add(Term::master_weights, u.bytes.master);
      if (!appears_in_backward()) l.add(Term::optimizer_states, u.bytes.states + u.bytes.counters);
    }
  }

  void before_micro_batch(Ledger& l, bool is_first, bool is_last) override {
    is_first_ = is_first;
    reduces_ = is_last || syncs_every_;
    for (GatheredUnit& u : units_) u.is_gathered = false;
    if (!head_is_unit_) gather(l, kRoot);
  }

  void before_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && piece.layer % layers_per_unit_ != 0) return;
    const std::size_t u = unit_of(piece);
    if (u != kRoot || head_is_unit_) gather(l, u);
  }

  void after_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && !ends_unit(piece.layer)) return;
    const std::size_t u = unit_of(piece);
    if (units_[u].reshards) release(l, u);
  }

  void after_root_forward(Ledger& l) override {
    l.clear(Term::gather_buffers);
    for (GatheredUnit& u : units_) u.is_gathered = !u.reshards;  // counted layers too
  }

  void before_loss_backward(Ledger& l, bool loss_inside) override {
    // The root's hook stands at what its forward returned: the loss itself, when the loss is computed inside.
    if (loss_inside && !head_is_unit_) prefetch(l, units_.size() - 1);
  }

  void before_backward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && !ends_unit(piece.layer)) return;
    const std::size_t u = unit_of(piece);
    if (piece.kind == Piece::Kind::head) {
      l.clear(Term::gather_buffers);
      prefetched_ = 0;
      prefetch(l, units_.size() - 1);
      return;
    }
    if (piece.kind == Piece::Kind::embedding) {
      if (u == kEmbedding) take(l, u);
      return;
    }
    if (u == kRoot) return;
    take(l, u);
    if (u > 2) prefetch(l, u - 1);
    else if (embedding_unit_ == kEmbedding) prefetch(l, kEmbedding);
  }

  void gradient(Ledger& l, const Piece& piece, const Weight& w) override {
    GatheredUnit& u = units_[unit_of(piece)];
    const double size = whole_blocks(w.bytes);
    if (accumulates_ && !is_first_) {  // added to those kept whole
      l.mark("gradient", Term::unsharded_gradients, size);
      return;
    }
    if (piece.kind == Piece::Kind::embedding) table_ = size;
    u.fresh += size;
    l.add(Term::unsharded_gradients, size);
    l.mark("gradient");
  }

  void after_backward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::embedding) return;
    if (piece.kind == Piece::Kind::head) {
      if (head_is_unit_ && embedding_unit_ != kRoot) reduce(l, kRoot);
      return;
    }
    const std::size_t u = unit_of(piece);
    if (u != kRoot && piece.layer % layers_per_unit_ == 0) reduce(l, u);
  }

  void end_of_backward(Ledger& l) override {
    l.clear(Term::gather_buffers);
    prefetched_ = 0;
    if (plan_.parallel.tensor > 1 && plan_.parallel.framework == Framework::pytorch && table_ > 0) {  // this rank's rows are cut out of the embedding's whole gradient
      GatheredUnit& u = units_[embedding_unit_];
      const double share = table_ / double(plan_.parallel.tensor);
      if (reduces_) {
        l.mark("cut of the embedding's gradient", Term::operations, share);
        l.add(Term::unsharded_gradients, share - table_);
        u.fresh += share - table_;
      } else {
        uncut_ = table_ - share;  // kept as it is
      }
      table_ = 0;
    }
    if (!(head_is_unit_ && embedding_unit_ != kRoot)) reduce(l, kRoot);
    if (embedding_unit_ == kEmbedding) reduce(l, kEmbedding);
    l.clear(Term::reduce_buffers);
    l.clear(Term::unsharded_units);
    l.clear(Term::unsharded_root);
  }

  std::optional<KeptStates> states() const override {
    KeptStates kept = offloads_ ? KeptStates{} : kept_by(units_);
    if (how_.optimizer_kernel == OptimizerKernel::in_backward) kept.gradients = 0;
    return kept;
  }

  void optimizer(Ledger& l) override {
    if (offloads_) {
      l.mark("step on the host");
      return;
    }
    double state = 0;
    for (const GatheredUnit& u : units_) state += u.bytes.one_state;
    mark_step(l, plan_.training, state, largest_state_);
    l.clear(Term::gradients);
  }

 private:
  bool appears_in_backward() const { return is_first_step && how_.optimizer_kernel == OptimizerKernel::in_backward; }
  static constexpr std::size_t kRoot = 0, kEmbedding = 1;

  std::size_t unit_of(const Piece& piece) const {
    if (piece.kind == Piece::Kind::embedding) return embedding_unit_;
    if (piece.kind == Piece::Kind::head || units_.size() <= 2) return kRoot;
    return std::size_t(2 + piece.layer / layers_per_unit_);
  }
  bool ends_unit(Count layer) const { return (layer + 1) % layers_per_unit_ == 0 || layer + 1 == layers_; }
  Term parameters_term(std::size_t u) const { return u < 2 ? Term::unsharded_root : Term::unsharded_units; }

  void gather(Ledger& l, std::size_t index) {
    GatheredUnit& u = units_[index];
    if (u.is_gathered || u.bytes.elements <= 0) return;
    l.add(Term::gather_buffers, u.bytes.gather_buffer);
    l.mark("all-gather");
    l.add(Term::gather_buffers, u.bytes.gather_buffer - l[Term::gather_buffers]);  // the previous unit's goes
    l.add(parameters_term(index), u.bytes.gathered);
    l.mark("copy out of the all-gather");
    u.is_gathered = true;
  }
  void release(Ledger& l, std::size_t index) {
    if (!units_[index].is_gathered) return;
    l.free(parameters_term(index), units_[index].bytes.gathered);
    units_[index].is_gathered = false;
  }
  void prefetch(Ledger& l, std::size_t index) {
    if (units_[index].is_gathered || index == kRoot || prefetched_ == index || units_[index].bytes.elements <= 0) return;
    l.add(Term::gather_buffers, units_[index].bytes.gather_buffer);
    prefetched_ = index;
    l.mark("all-gather");
  }
  // The unit's parameters in backward, out of the prefetched buffer.
  void take(Ledger& l, std::size_t index) {
    GatheredUnit& u = units_[index];
    if (u.is_gathered || u.bytes.elements <= 0) return;
    if (prefetched_ < 2) prefetch(l, index);  // else it is this unit's, or that of a counted layer of its kind
    l.add(parameters_term(index), u.bytes.gathered);
    l.mark("copy out of the all-gather");
    l.free(Term::gather_buffers, u.bytes.gather_buffer);
    u.is_gathered = true;
    prefetched_ = 0;
  }

  // Gradients kept whole over micro-batches, in the type of the reduction.
  double kept_whole(const GatheredUnit& u) const { return u.bytes.whole_gradients * widening(); }
  double widening() const { return reduces_wider_ ? element_bytes(how_.reduce_dtype) / compute_bytes(plan_) : 1; }

  void reduce(Ledger& l, std::size_t index) {
    GatheredUnit& u = units_[index];
    if (u.bytes.elements <= 0) return;
    release(l, index);
    if (u.bytes.trained <= 0) return;
    if (!reduces_) {  // the gradients stay whole, in the type of the reduction
      if (reduces_wider_) {
        const double wide = is_first_ ? kept_whole(u) + (index == embedding_unit_ ? uncut_ * widening() : 0) : 0;
        l.add(Term::unsharded_gradients, wide);
        l.mark("gradients kept whole");
        l.free(Term::unsharded_gradients, u.fresh);
        u.kept += wide;
      } else {
        u.kept += u.fresh;
      }
      u.fresh = 0;
      return;
    }
    l.clear(Term::reduce_buffers);
    l.add(Term::reduce_buffers, u.bytes.reduce_input);
    l.mark("copy into the reduce-scatter");
    l.free(Term::unsharded_gradients, u.fresh + u.kept);
    u.fresh = u.kept = 0;
    l.add(Term::reduce_buffers, u.bytes.reduce_output);
    l.mark("reduce-scatter");
    if (appears_in_backward() && !offloads_ && (is_first_ || !syncs_every_)) l.add(Term::optimizer_states, u.bytes.states + u.bytes.counters);
    const bool stays = how_.optimizer_kernel != OptimizerKernel::in_backward && !offloads_;
    const bool is_new = stays && (is_first_ || !syncs_every_);
    if (casts_output_) {
      l.add(Term::gradients, u.bytes.gradients);
      l.mark("cast of the sharded gradients");
      l.free(Term::reduce_buffers, u.bytes.reduce_output);
      if (!is_new) l.free(Term::gradients, u.bytes.gradients);
    } else {
      l.free(Term::reduce_buffers, u.bytes.reduce_output);
      if (is_new) l.add(Term::gradients, u.bytes.reduce_output);
      l.mark("sharded gradients");
    }
  }

  const Plan& plan_;
  const Switches& how_;
  const Count layers_;
  std::vector<GatheredUnit> units_;  // root, embedding, then the layers' units
  std::size_t embedding_unit_ = kRoot, prefetched_ = 0;
  double largest_state_ = 0;  // of one tensor
  double table_ = 0;  // gradient of the embedding in the present backward, as it is written
  double uncut_ = 0;  // of it, rows of other ranks that stay with gradients kept whole
  Count layers_per_unit_ = 1;
  bool head_is_unit_ = false, reduces_wider_ = false, casts_output_ = false, syncs_every_ = true, offloads_ = false, accumulates_ = false;
  bool is_first_ = true, reduces_ = true;
};

}  // namespace

std::unique_ptr<DataParallelMemory> fsdp2_memory(const Plan& plan, const StagePieces& pieces) { return std::make_unique<Fsdp2>(plan, pieces); }

}  // namespace wireplan
