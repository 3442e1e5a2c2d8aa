// PyTorch's FullyShardedDataParallel: one flat parameter a unit, views of it inside the modules.
//
// Forward: a unit's flat parameter is gathered, the unit runs, it is freed; the root (embedding, final norm, head) stays. Backward:
// gathered again; the gradients of the views wait until all are there and are then joined to a flat gradient (frozen pieces beside
// trained ones give zeros), the parameter goes, the gradient is reduced and cast.  [pytorch-fsdp-notes] _runtime_utils.py,
// _flat_param.py; checked on [framework-traces].
#include <algorithm>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/layer_tape.hpp"

namespace wireplan {
namespace {

class Fsdp1 final : public DataParallelMemory {
 public:
  Fsdp1(const Plan& plan, const StagePieces& pieces) : training_(plan.training), how_(plan.training.switches), layers_(Count(pieces.layers.size())) {
    const bool whole = plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::none;
    per_unit_ = std::max<Count>(1, plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::layers ? plan.parallel.fsdp_unit.layers : 1);
    units_.resize(std::size_t(1 + (whole ? 0 : (layers_ + per_unit_ - 1) / per_unit_)));
    units_[0].bytes += pieces.embedding;
    units_[0].bytes += pieces.head;
    for (Count i = 0; i < layers_; ++i) units_[whole ? 0 : std::size_t(1 + i / per_unit_)].bytes += *pieces.layers[std::size_t(i)];
    for (Unit& u : units_) u.bytes = one_flat_parameter(plan, u.bytes);
    offloads_ = plan.training.offload.parameters || plan.training.offload.optimizer;
    keeps_all_ = plan.parallel.data_sharding == DataSharding::zero2;
    casts_ = compute_bytes(plan) < stored_bytes(plan);
    share_of_compute_ = compute_bytes(plan) / stored_bytes(plan);
    syncs_every_ = plan.parallel.gradient_sync == GradientSync::every;
    accumulates_ = !syncs_every_ && micro_batches(plan) > 1;
    // Units that mix frozen and trained pieces keep a sharded gradient of the whole unit until the next forward.
    keeps_stale_ = how_.fsdp_use_orig_params && plan.training.lora.has_value();
  }

  // One unit, or several layers to a unit: the unit's gradients wait for the last of them.
  bool counts_layers_alike() const override { return units_.size() > 1 && per_unit_ == 1; }

  void start(Ledger& l) override {
    l.add(Term::constants, 512);  // the norm's zero
    for (const Unit& u : units_) {
      if (offloads_) continue;
      l.add(Term::parameters, u.bytes.stored);
      if (u.bytes.master > 0) l.add(Term::master_weights, u.bytes.master);
      l.add(Term::optimizer_states, u.bytes.states + u.bytes.counters);
      if (keeps_stale_) l.add(Term::gradients, stale(u));
    }
    // A root without anything trained has no backward that would free it.
    if (units_[0].bytes.trained <= 0) l.add(Term::unsharded_root, units_[0].bytes.gathered);
  }

  void before_micro_batch(Ledger& l, bool is_first, bool is_last) override {
    if (is_first) l.clear(Term::gradients);
    is_first_ = is_first;
    reduces_ = is_last || syncs_every_;
    for (Unit& u : units_) u.is_gathered = false;
    if (units_[0].bytes.trained > 0) gather(l, 0);
  }
  void before_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && piece.layer % per_unit_ == 0) gather(l, unit_of(piece.layer));
  }
  void after_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && ends(piece.layer) && !keeps_all_) release(l, unit_of(piece.layer));
  }
  void after_root_forward(Ledger&) override {
    for (std::size_t u = 1; u < units_.size(); ++u) units_[u].is_gathered = keeps_all_;
  }
  void before_backward(Ledger& l, const Piece& piece) override {
    if (piece.kind != Piece::Kind::layer || !ends(piece.layer)) return;
    const std::size_t u = unit_of(piece.layer);
    if (prefetched_ > 0 && u > 0) {  // this unit's, or that of a counted layer of its kind
      units_[u].is_gathered = true;
      prefetched_ = 0;
    }
    gather(l, u);
    if (how_.fsdp_backward_prefetch && u > 1 && !units_[u - 1].is_gathered) {
      gather(l, u - 1);
      prefetched_ = u - 1;
    }
  }
  void gradient(Ledger& l, const Piece& piece, const Weight& w) override {
    Unit& u = units_[piece.kind == Piece::Kind::layer ? unit_of(piece.layer) : 0];
    u.fresh += whole_blocks(w.bytes);
    l.add(Term::unsharded_gradients, whole_blocks(w.bytes));
    l.mark("gradient");
  }
  void after_backward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::layer && piece.layer % per_unit_ == 0 && unit_of(piece.layer) > 0) reduce(l, unit_of(piece.layer));
  }
  void end_of_backward(Ledger& l) override {
    reduce(l, 0);
    l.clear(Term::unsharded_units);
    if (units_[0].bytes.trained > 0) l.clear(Term::unsharded_root);
  }
  std::optional<KeptStates> states() const override { return offloads_ ? KeptStates{} : kept_by(units_); }

  void optimizer(Ledger& l) override {
    double state = 0, largest = 0;
    for (const Unit& u : units_) {
      state += u.bytes.one_state;
      largest = std::max(largest, u.bytes.one_state);
    }
    if (offloads_) l.mark("step on the host");
    else mark_step(l, training_, state, largest);
    l.clear(Term::gradients);
    if (keeps_stale_ && !offloads_)
      for (const Unit& u : units_) l.add(Term::gradients, stale(u));
  }

 private:
  struct Unit {
    PieceBytes bytes;
    bool is_gathered = false;
    double fresh = 0;
  };
  std::size_t unit_of(Count layer) const { return units_.size() == 1 ? 0 : std::size_t(1 + layer / per_unit_); }
  bool ends(Count layer) const { return (layer + 1) % per_unit_ == 0 || layer + 1 == layers_; }
  Term term_of(std::size_t u) const { return u == 0 ? Term::unsharded_root : Term::unsharded_units; }
  double stale(const Unit& u) const { return u.bytes.trained > 0 ? u.bytes.gradients : 0; }

  void gather(Ledger& l, std::size_t index) {
    Unit& u = units_[index];
    if (u.is_gathered || u.bytes.elements <= 0) return;
    l.add(term_of(index), u.bytes.gathered);
    l.mark("all-gather", Term::gather_buffers, casts_ ? whole_blocks(u.bytes.stored * share_of_compute_) : 0);  // the shard in 16 bit
    u.is_gathered = true;
  }
  void release(Ledger& l, std::size_t index) {
    if (!units_[index].is_gathered) return;
    l.free(term_of(index), units_[index].bytes.gathered);
    units_[index].is_gathered = false;
  }
  void reduce(Ledger& l, std::size_t index) {
    Unit& u = units_[index];
    if (u.bytes.trained <= 0) {
      release(l, index);
      return;
    }
    const double flat = u.bytes.flat_gradient;
    const double zeros = how_.fsdp_use_orig_params ? std::max(0.0, flat - u.fresh) : 0;
    l.mark("join of a unit's gradients", Term::unsharded_gradients, zeros + flat);
    l.add(Term::unsharded_gradients, flat - u.fresh);
    u.fresh = 0;
    release(l, index);
    if (accumulates_ && !is_first_) l.free(Term::unsharded_gradients, flat);  // added to the one kept
    if (!reduces_) return;
    l.add(Term::reduce_buffers, u.bytes.reduce_output);
    l.mark("reduce-scatter");
    const bool is_new = is_first_ || !syncs_every_;
    l.add(Term::gradients, u.bytes.gradients);
    l.mark("cast of the sharded gradient");
    if (!is_new || offloads_) l.free(Term::gradients, u.bytes.gradients);  // else it stays; offloaded, it leaves for the host
    l.free(Term::reduce_buffers, u.bytes.reduce_output);
    l.free(Term::unsharded_gradients, flat);
  }

  const Training& training_;
  const Switches& how_;
  const Count layers_;
  std::vector<Unit> units_;  // the root, then the layers' units
  Count per_unit_ = 1;
  std::size_t prefetched_ = 0;
  double share_of_compute_ = 1;
  bool offloads_ = false, keeps_all_ = false, casts_ = false, syncs_every_ = true, accumulates_ = false, keeps_stale_ = false, is_first_ = true, reduces_ = true;
};

}  // namespace

std::unique_ptr<DataParallelMemory> fsdp1_memory(const Plan& plan, const StagePieces& pieces) { return std::make_unique<Fsdp1>(plan, pieces); }

}  // namespace wireplan
