// DeepSpeed's ZeRO along a step: what it holds of parameters and gradients between the layers' own activations. Buckets and the
// optimizer step: deepspeed_memory.hpp, deepspeed_buckets.hpp; what stage 3 gathers when: core/count/zero3_replay.hpp.
#include <algorithm>
#include <optional>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/deepspeed_buckets.hpp"
#include "core/cost/deepspeed_memory.hpp"
#include "core/count/zero3_replay.hpp"

namespace wireplan {
namespace {

class DeepSpeedStep final : public DataParallelMemory {
 public:
  DeepSpeedStep(const Plan& plan, int stage)
      : traffic_(plan, stage), zero_(traffic_, deepspeed_settings(plan)), buckets_(zero_), is_reentrant_(plan.training.switches.reentrant_checkpoint) {
    if (zero_.kind == ZeroKind::sharded) replay_.emplace(traffic_, zero_.settings);
    for (const auto& [list, modules] : {std::pair{&traffic_.dense_layer, &dense_}, std::pair{&traffic_.moe_layer, &moe_}, std::pair{&traffic_.head, &head_}})
      for (std::size_t i = 0; i < list->size(); ++i)
        if ((*list)[i].module == Module::own) modules->push_back(static_cast<signed char>(i));
  }

  void start(Ledger& l) override {
    const ZeroBytes b = is_first_step ? zero_before_first_step(zero_) : zero_between_steps(zero_);
    scalars_ = b.scalars;
    l.add(Term::parameters, b.parameters + b.frozen);
    l.add(Term::gradients, b.gradients);
    l.add(Term::master_weights, b.master_weights);
    l.add(Term::optimizer_states, b.optimizer_states);
    l.add(Term::gradient_buckets, b.bucket);
    l.add(Term::reduce_buffers, b.staging);
    const double of_base = is_first_step ? 0 : persistent_of_base();
    l.add(Term::unsharded_root, b.persistent + of_base);
    l.add(Term::constants, b.scalars);
    persistent_ = traffic_.plan.training.lora ? of_base : b.persistent;
    held_ = gathered_ = 0;
    held_weights_.clear();
    buckets_.begin_step();
  }
  std::optional<KeptStates> states() const override {
    const ZeroBytes b = zero_between_steps(zero_);
    return KeptStates{b.parameters + b.frozen + b.persistent + persistent_of_base(), -1, b.master_weights, b.optimizer_states};
  }
  double initialize_peak() const override { return zero_initialize_peak(zero_); }
  double host_bytes() const override { return zero_host_bytes(zero_); }
  bool has_own_first_step() const override { return true; }
  bool counts_layers_alike() const override { return false; }
  bool ends_like_others() const override { return zero_.kind == ZeroKind::sharded && !zero_.settings.offload_optimizer; }

  void before_micro_batch(Ledger& l, bool is_first, bool is_last) override {
    is_last_ = is_last;
    if (!replay_) return;
    // The first step of a run records the order of modules; later micro-batches of it have it, but nothing stays gathered yet.
    replay_->begin(is_first_step ? (is_first ? Zero3Pass::recording : Zero3Pass::deciding) : is_first ? Zero3Pass::first : Zero3Pass::later);
    use_.reset();
    follow(l, "all-gather", replay_->alive());
  }

  void before_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::embedding) run_to_release(l, Zero3Event::kEmbedding, 0);
  }
  void after_forward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::embedding) release(l);
  }
  void before_module(Ledger& l, const Piece& piece, std::size_t module) override {
    const auto& list = modules_of(piece);
    if (module < list.size()) run_to_release(l, place_of(piece), list[module]);
  }
  void after_module(Ledger& l, const Piece& piece, std::size_t module, ModulePass pass) override {
    const auto& list = modules_of(piece);
    if (!replay_ || module >= list.size()) return;
    const double before = gathered_;
    if (is_release(place_of(piece), list[module])) release(l);
    // What a recomputed layer keeps for its backward holds the storage of its weights, released or not.
    if (pass == ModulePass::again && !is_reentrant_) hold_weight(l, module, std::max(0.0, before - gathered_));
    if (pass == ModulePass::backward) hold_weight(l, module, 0);
  }

  void before_loss_backward(Ledger& l, bool) override {
    buckets_.begin_backward(is_last_);
    ready_ = 0;
    hold(l, "bucket");
  }
  void before_backward(Ledger& l, const Piece& piece) override {
    if (piece.kind == Piece::Kind::embedding) run_to_release(l, Zero3Event::kEmbedding, 0);
  }
  void gradient(Ledger& l, const Piece&, const Weight& w) override {
    for (double i = 0; i < w.tensors && ready_ < zero_.parameters.ready.size(); ++i) {
      buckets_.gradient(ready_++);
      hold(l, "reduction of a bucket");
    }
  }
  // A layer whose operations are not exactly the modules that own parameters leaves none behind either.
  void after_backward(Ledger& l, const Piece&) override {
    for (std::size_t i = 0; i < held_weights_.size(); ++i) hold_weight(l, i, 0);
  }
  void end_of_backward(Ledger& l) override {
    while (ready_ < zero_.parameters.ready.size()) {  // learned positions and other small tables
      buckets_.gradient(ready_++);
      hold(l, "reduction of a bucket");
    }
    buckets_.end_backward();
    hold(l, "last reduction");
    while (has_use()) release(l);
  }
  void optimizer(Ledger& l) override {
    Zero3Remains remains;
    if (replay_) remains = {replay_->alive() - replay_->persistent(), replay_->secondary()};
    const double highest = zero_optimizer_peak(zero_, is_first_step, remains) + l[Term::constants] - scalars_ + l[Term::kept_logits] + l[Term::outer_activations];
    l.mark("step", Term::optimizer_temporaries, std::max(0.0, highest - l.now.total));
    l.free(Term::gradient_buckets, held_);
    held_ = 0;
    follow(l, "step", persistent_);
  }

 private:
  // What the replay gathers under adapters is the frozen base.
  double persistent_of_base() const { return traffic_.plan.training.lora && replay_ ? replay_->persistent() : 0; }
  const std::vector<signed char>& modules_of(const Piece& piece) const {
    if (piece.kind == Piece::Kind::head) return head_;
    return traffic_.is_moe(piece.layer) ? moe_ : dense_;
  }
  static int place_of(const Piece& piece) { return piece.kind == Piece::Kind::head ? Zero3Event::kHead : static_cast<int>(piece.layer); }

  // Whether the next event is the release of a module.
  bool is_release(int place, int tensor) const {
    return use_ && is_fetched_ && use_->place == place && use_->tensor == tensor;
  }
  // Everything that comes before the release of a module: its own fetch, and those of the modules without parameters on the way.
  void run_to_release(Ledger& l, int place, int tensor) {
    while (has_use()) {
      fetch(l);
      if (is_release(place, tensor)) return;
      release(l);
    }
  }
  bool has_use() {
    if (use_ || !replay_) return use_.has_value();
    use_ = replay_->next_use();
    is_fetched_ = false;
    return use_.has_value();
  }
  void fetch(Ledger& l) {
    if (!is_fetched_) pass(l, use_->before);
    is_fetched_ = true;
  }
  void release(Ledger& l) {
    if (!has_use()) return;
    fetch(l);
    pass(l, use_->release);
    use_.reset();
  }
  void pass(Ledger& l, const Zero3Moment& moment) {
    if (moment.peak <= 0 && moment.alive <= 0) return;
    l.mark("all-gather", Term::unsharded_units, std::max(0.0, moment.peak - persistent_ - gathered_));
    follow(l, "all-gather", moment.alive);
  }
  void follow(Ledger& l, std::string_view at, double alive) {
    const double now = alive - persistent_;
    l.add(Term::unsharded_units, now - gathered_);
    gathered_ = now;
    l.mark(at);
  }
  void hold_weight(Ledger& l, std::size_t module, double bytes) {
    if (held_weights_.size() <= module) held_weights_.resize(module + 1);
    l.add(Term::unsharded_units, bytes - held_weights_[module]);
    held_weights_[module] = bytes;
  }
  void hold(Ledger& l, std::string_view at) {
    l.mark(at, Term::gradient_buckets, buckets_.peak() - held_);
    l.add(Term::gradient_buckets, buckets_.alive() - held_);
    held_ = buckets_.alive();
    l.mark(at);
  }

  StageTraffic traffic_;
  ZeroPlan zero_;
  ZeroBuckets buckets_;
  std::optional<Zero3Replay> replay_;
  std::optional<Zero3Use> use_;  // the next release of the present micro-batch
  bool is_fetched_ = false;      // what comes before it has been counted
  std::vector<signed char> dense_, moe_, head_;  // first tensor of each module
  std::vector<double> held_weights_;  // of the layer whose backward runs, by module
  const bool is_reentrant_;
  std::size_t ready_ = 0;
  double held_ = 0, gathered_ = 0, persistent_ = 0, scalars_ = 0;
  bool is_last_ = true;
};

}  // namespace

std::unique_ptr<DataParallelMemory> deepspeed_memory(const Plan& plan, int stage) { return std::make_unique<DeepSpeedStep>(plan, stage); }

}  // namespace wireplan
