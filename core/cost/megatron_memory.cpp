// Megatron's data parallelism: parameters and gradients stand in buffers that stay; with the distributed optimizer the fp32 copy and
// the states are divided over data × context (experts: over the ranks that hold the same experts).
//
// Between steps: e·P + g·P + 12·P/N, and what libraries keep: workspaces of the matrix products, the buffer that gathered inputs of
// the head are written to, and one 16-bit buffer per distinct weight shape that Transformer Engine hands to autograd in place of a
// gradient when products add theirs to the buffer.  [megatron-lm] param_and_grad_buffer.py, distrib_optimizer.py, schedules.py,
// tensor_parallel/layers.py; [transformer-engine] module/base.py.
#include <algorithm>
#include <array>
#include <utility>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/count/groups.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {
namespace {

// One 16-bit buffer for each distinct shape among the matrices of the lists.
class Shapes {
 public:
  void add(const TensorList& list, double element) {
    for (const Tensor& x : list) {
      if (x.columns <= 1 || x.is_buffer || x.part == Part::router || x.part == Part::embedding) continue;
      const std::pair<double, double> shape{x.rows, x.columns};
      bool is_known = false;
      for (std::size_t i = 0; i < count_; ++i) is_known = is_known || seen_[i] == shape;
      if (is_known || count_ == seen_.size()) continue;
      seen_[count_++] = shape;
      bytes_ += whole_blocks(element * x.rows * x.columns);
    }
  }
  double bytes() const { return bytes_; }

 private:
  std::array<std::pair<double, double>, 48> seen_{};
  std::size_t count_ = 0;
  double bytes_ = 0;
};

class Megatron final : public DataParallelMemory {
 public:
  Megatron(const Plan& plan, int stage, const StageParameters& own, const StageParameters& updated) : p_(plan), has_head_(stage_layers(plan.model, plan.parallel, stage).heads > 0) {
    const Training& t = p_.training;
    const bool divides = shards_optimizer(p_.parallel.data_sharding);
    const double N = divides ? double(shard_ranks(p_)) : 1, M = divides ? double(group_size(p_, GroupKind::expert_data)) : 1;
    const bool is_frozen = t.lora.has_value();
    const double trained = updated.dense - updated.buffers;
    const double divided = trained / N + updated.experts / std::max(M, 1.0);
    const double e = compute_bytes(p_), g = element_bytes(t.gradient_dtype);
    // A frozen base in its own format but for its ends.
    const double ends = own.embedding + own.head, base = is_frozen ? std::min(e, element_bytes(t.lora->base_dtype) + (t.lora->base_dtype == DType::nf4 ? kNf4ScaleBytes : 0)) : e;
    parameters_ = whole_blocks(base * (own.total() - ends) + e * ends + (is_frozen ? e * trained : 0));
    gradients_ = whole_blocks(g * (trained + updated.experts));
    master_ = t.master_weights_dtype && e < 4 ? whole_blocks(4 * divided) : 0;
    states_ = whole_blocks(optimizer_state_bytes_per_parameter(p_) * divided);
    // 16-bit gradients are copied to fp32 for the optimizer; the loss scaling of fp16 keeps the copy until the next step.
    wide_gradients_ = g < 4 && master_ > 0 ? whole_blocks(4 * divided) : 0;
    if (t.offload.optimizer) master_ = states_ = wide_gradients_ = 0;  // on the host, gradients are copied there
    keeps_wide_ = t.parameter_dtype == DType::fp16;
    stream_ = whole_blocks(tokens_of_stream(p_) * double(p_.model.hidden_size) * stream_bytes(p_));
    // Tensors that went between stages and are still referenced: two for each chunk after a step, one while others are on their way.
    const double v = p_.parallel.pipeline_schedule == PipelineSchedule::interleaved ? double(p_.parallel.virtual_stages) : 1;
    if (p_.parallel.pipeline > 1 && (stage > 0 || v > 1)) left_over_ = v * stream_;
    left_between_ = v > 1 ? 2 * left_over_ : left_over_;
    const double b = double(t.micro_batch_size), s = double(t.sequence_length);
    const bool sees_batch = stage == 0 || has_head_;
    mask_ = t.switches.batch_has_mask && sees_batch ? whole_blocks(b * s * s / double(p_.parallel.context)) : 0;
    // A token that goes to several experts has their products grouped, on streams of their own.
    workspaces_ = t.switches.workspace_bytes + (p_.model.moe && p_.model.moe->experts_per_token > 1 ? t.switches.grouped_workspace_bytes : 0);
    const double whole = whole_blocks(compute_bytes(p_) * tokens_per_micro_batch(p_) * double(p_.model.hidden_size));
    if (p_.parallel.sequence_parallel && p_.parallel.tensor > 1) gathered_ = whole;
    if (p_.model.moe && p_.parallel.moe_dispatcher == MoeDispatcher::allgather && p_.parallel.expert * p_.parallel.expert_tensor > 1)
      gathered_ += whole * double(p_.parallel.expert);
    if (t.switches.fused_weight_gradients && !is_frozen) stand_ins_ = stand_in_bytes();
  }

  bool ends_like_others() const override { return true; }

  void start(Ledger& l) override {
    l.add(Term::parameters, parameters_);
    l.add(Term::gradients, gradients_ + (keeps_wide_ ? wide_gradients_ : 0));
    l.add(Term::master_weights, master_);
    l.add(Term::optimizer_states, states_);
    l.add(Term::workspaces, workspaces_);
    l.add(Term::outer_activations, left_between_);
    l.add(Term::gather_buffers, gathered_);
    l.add(Term::constants, stand_ins_);
  }

  void before_micro_batch(Ledger& l, bool is_first, bool) override {
    if (is_first && keeps_wide_) l.free(Term::gradients, wide_gradients_);
    if (is_first) l.add(Term::outer_activations, left_over_ - left_between_ + mask_);
  }
  void gradient(Ledger& l, const Piece&, const Weight& w) override { l.mark("gradient", Term::unsharded_gradients, whole_blocks(w.bytes)); }
  void optimizer(Ledger& l) override {
    l.add(Term::outer_activations, left_between_ - left_over_ - mask_);
    l.mark("step", Term::optimizer_temporaries, wide_gradients_);
    if (keeps_wide_) l.add(Term::gradients, wide_gradients_);
  }

 private:
  double stand_in_bytes() const {
    const Storage storage = storage_of(p_.model, p_.parallel.framework);
    const double e = compute_bytes(p_), V = double(padded_vocabulary(p_.model, p_.parallel.framework, p_.parallel.tensor));
    Shapes shapes;
    if (!p_.model.moe || moe_layers_between(p_.model, 0, p_.model.num_layers) < p_.model.num_layers)
      shapes.add(on_rank(layer_tensors(p_.model, false, storage), p_.model, p_.parallel), e);
    if (p_.model.moe) shapes.add(on_rank(layer_tensors(p_.model, true, storage), p_.model, p_.parallel), e);
    const double head = has_head_ ? whole_blocks(e * V / double(p_.parallel.tensor) * double(p_.model.hidden_size)) : 0;
    return shapes.bytes() + head;
  }

  const Plan& p_;
  const bool has_head_;
  double parameters_ = 0, gradients_ = 0, master_ = 0, states_ = 0, wide_gradients_ = 0, stream_ = 0, left_over_ = 0, left_between_ = 0, mask_ = 0, gathered_ = 0, stand_ins_ = 0, workspaces_ = 0;
  bool keeps_wide_ = false;
};

}  // namespace

std::unique_ptr<DataParallelMemory> megatron_memory(const Plan& plan, int stage, const StageParameters& own, const StageParameters& updated) {
  return std::make_unique<Megatron>(plan, stage, own, updated);
}

}  // namespace wireplan
