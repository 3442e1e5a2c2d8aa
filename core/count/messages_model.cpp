// Messages that carry activations: tensor, context, expert and pipeline parallelism.
#include <algorithm>

#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

double norm_elements(const TensorList& list) {
  double sum = 0;
  for (const Tensor& x : list)
    if (x.part == Part::norm) sum += x.elements();
  return sum;
}

// Pairs of a column-parallel and a row-parallel part: attention, and the dense MLP or the shared experts.
struct Halves {
  double forward = 0, recomputed = 0, recomputed_layers = 0;
};
Halves halves_of(const StageTraffic& t) {
  const Model& model = t.plan.model;
  const bool shared = model.moe && model.moe->shared_intermediate_size > 0;
  const double dense = double(t.layers.dense), moe = double(t.layers.moe), again = double(t.recomputed.total()),
               again_moe = double(t.recomputed.moe);
  return {2 * dense + (shared ? 2 : 1) * moe, 2 * (again - again_moe) + (shared ? 2 : 1) * again_moe, again};
}

bool is_loss_parallel(const Training& training, Framework framework) {
  return framework != Framework::pytorch || training.switches.loss_parallel;
}

// Norm weights see only a slice of the sequence, so their gradients are summed over the tensor group. Megatron sums them in one
// call a step; DTensor one by one, in the optimizer or, under FSDP, before each reduction. Clipping without FSDP reads the
// unsummed gradients three times more; either way it adds one vector with a norm per tensor (seen in [framework-traces], foreach).
void add_norm_gradients(StageTraffic& t) {
  const Parallel& p = t.plan.parallel;
  const Switches& how = t.plan.training.switches;
  const bool sharded = p.framework == Framework::pytorch &&
                       (shards_parameters(p.data_sharding) || p.data_sharding == DataSharding::zero2);
  const Element element = element_of(sharded ? how.reduce_dtype : t.plan.training.gradient_dtype);
  if (p.framework != Framework::pytorch) {
    double elements = norm_elements(t.head) + double(t.layers.dense) * norm_elements(t.dense_layer);
    if (t.layers.moe > 0) elements += double(t.layers.moe) * norm_elements(t.moe_layer);
    t.add("tensor-norm-gradients", Collective::all_reduce, GroupKind::tensor, Phase::after_backward,
          elements * bytes_of(element), 1, element, false);
    return;
  }
  const bool clips = !sharded && how.gradient_clipping;
  const double calls = sharded ? double(t.syncs) : clips ? 4 : 1;
  if (how.gradient_clipping) {
    const Element norm = element_of(t.plan.training.gradient_dtype);
    double tensors = tensors_of(t.embedding) + tensors_of(t.head) + double(t.layers.dense) * tensors_of(t.dense_layer);
    if (t.layers.moe > 0) tensors += double(t.layers.moe) * tensors_of(t.moe_layer);
    t.add("gradient-norm", Collective::all_reduce, GroupKind::tensor, Phase::optimizer, tensors * bytes_of(norm), 1,
          norm, false);
  }
  const auto add = [&](const TensorList& list, double layers) {
    for (const Tensor& x : list) {
      if (x.part == Part::norm)
        t.add("tensor-norm-gradients", Collective::all_reduce, GroupKind::tensor, Phase::after_backward,
              x.elements() * bytes_of(element), layers * calls, element, false);
    }
  };
  add(t.head, 1);
  add(t.dense_layer, double(t.layers.dense));
  if (t.layers.moe > 0) add(t.moe_layer, double(t.layers.moe));
}

// Vocabulary-parallel cross entropy: all-reduce of a maximum, the target's logit and a sum per token, fp32. Otherwise the
// logits are gathered.
void add_loss(StageTraffic& t) {
  const Parallel& p = t.plan.parallel;
  const double m = double(t.micro_batches) * t.layers.heads;
  if (is_loss_parallel(t.plan.training, p.framework)) {
    t.add("vocabulary-loss", Collective::all_reduce, GroupKind::tensor, Phase::forward, 4 * t.tokens, 3 * m,
          Element::fp32, false);
  } else {
    const double v = double(padded_vocabulary(t.plan.model, p.framework, p.tensor));
    t.add("vocabulary-gather", Collective::all_gather, GroupKind::tensor, Phase::forward,
          t.tokens * v * bytes_of(t.activation), m, t.activation, false);
  }
}

}  // namespace

// [megatron21] §3.2: two all-reduces forward and two backward per layer; with sequence parallelism an all-gather and a
// reduce-scatter each, and Megatron gathers the saved input again for its weight gradient ([korthikanti22] §4.2.2).
// Vocabulary-parallel ends add one each. PyTorch's checkpoint stops before the last row-parallel product of a block.
void add_tensor_parallel(StageTraffic& t) {
  const Parallel& p = t.plan.parallel;
  if (p.tensor <= 1 || t.plan.model.opaque) return;
  const bool pytorch = p.framework == Framework::pytorch, overlappable = p.overlap.tensor;
  const Halves halves = halves_of(t);
  const double m = double(t.micro_batches),
               bytes = t.tokens * double(t.plan.model.hidden_size) * bytes_of(t.activation);
  const double first = t.layers.embeddings, last = t.layers.heads;
  const double again_out =
      halves.recomputed - (pytorch ? halves.recomputed_layers : 0);  // outputs of recomputed blocks
  // Per-operator checkpointing keeps what the reduce-scatters return; gathers run again.
  const bool per_operator = pytorch && t.plan.training.recompute.kind == RecomputeKind::selective;
  const auto add = [&](std::string_view name, Collective collective, Phase phase, double calls) {
    t.add(name, collective, GroupKind::tensor, phase, bytes, calls * m, t.activation, overlappable);
  };
  if (p.sequence_parallel) {
    add("tensor-all-gather-forward", Collective::all_gather, Phase::forward, halves.forward + last);
    add("tensor-reduce-scatter-forward", Collective::reduce_scatter, Phase::forward, halves.forward + first);
    add("tensor-all-gather-recompute", Collective::all_gather, Phase::backward, per_operator ? halves.forward : halves.recomputed);
    add("tensor-reduce-scatter-recompute", Collective::reduce_scatter, Phase::backward, again_out);
    add("tensor-all-gather-backward", Collective::all_gather, Phase::backward,
        halves.forward + first + (pytorch ? 0 : halves.forward + last));
    add("tensor-reduce-scatter-backward", Collective::reduce_scatter, Phase::backward, halves.forward + last);
    add_norm_gradients(t);
  } else {
    add("tensor-forward", Collective::all_reduce, Phase::forward, halves.forward + first);
    add("tensor-recompute", Collective::all_reduce, Phase::backward, again_out);
    add("tensor-backward", Collective::all_reduce, Phase::backward, halves.forward + last);
  }
  if (t.is_last) add_loss(t);
}

namespace {

// Ring attention: c − 1 hops of a block of keys and values forward; backward the same again and their gradients beside.
// [ring-attention] §3
void add_context(StageTraffic& t) {
  const Model& model = t.plan.model;
  const double hops = t.ranks(GroupKind::context) - 1, m = double(t.micro_batches), layers = double(t.layers.total());
  double width = 2 * double(kv_heads_on_rank(model, t.plan.parallel.tensor) * model.head_dim);
  if (model.mla)
    width = double(model.num_attention_heads) / double(t.plan.parallel.tensor) *
            double(model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim + model.mla->v_head_dim);
  const double bytes = t.tokens * width * bytes_of(t.activation);
  t.add("context-ring-forward", Collective::send_recv, GroupKind::context, Phase::forward, bytes, hops * layers * m,
        t.activation, true);
  t.add("context-ring-backward", Collective::send_recv, GroupKind::context, Phase::backward, bytes,
        hops * (2 * layers + double(t.recomputed.total())) * m, t.activation, true);
}

// K distinct experts land on e·(1 − (1 − 1/e)^K) ranks: what a dispatcher sends that copies a token once per rank. [deepep]
double ranks_per_token(double e, Count k) {
  double missed = 1;
  for (Count i = 0; i < k; ++i) missed *= 1 - 1 / e;
  return e * (1 - missed);
}

// Tokens to the ranks of their experts and back, forward and backward, balanced routing. [deepseek-v3] §3.2
void add_experts(StageTraffic& t) {
  const Parallel& p = t.plan.parallel;
  const Model& model = t.plan.model;
  if (!model.moe || t.layers.moe == 0) return;
  const double layers = double(t.layers.moe), again = double(t.recomputed.moe), m = double(t.micro_batches),
               e = double(p.expert), e_t = double(p.expert_tensor);
  const double tokens = p.sequence_parallel ? t.tokens / double(p.tensor) : t.tokens;
  const double token_bytes = double(model.hidden_size) * bytes_of(t.activation),
               k = double(model.moe->experts_per_token);
  if (p.moe_dispatcher == MoeDispatcher::allgather) {
    const double bytes = tokens * token_bytes * e;
    t.add("expert-dispatch-forward", Collective::all_gather, GroupKind::expert, Phase::forward, bytes, layers * m,
          t.activation, false);
    t.add("expert-combine-forward", Collective::reduce_scatter, GroupKind::expert, Phase::forward, bytes, layers * m,
          t.activation, false);
    t.add("expert-dispatch-backward", Collective::reduce_scatter, GroupKind::expert, Phase::backward, bytes, layers * m,
          t.activation, false);
    t.add("expert-combine-backward", Collective::all_gather, GroupKind::expert, Phase::backward, bytes,
          (layers + again) * m, t.activation, false);
    if (again > 0)
      t.add("expert-combine-recompute", Collective::reduce_scatter, GroupKind::expert, Phase::backward, bytes,
            again * m, t.activation, false);
  } else {
    const double copies =
        p.moe_dispatcher == MoeDispatcher::flex ? ranks_per_token(e, model.moe->experts_per_token) : k;
    const double bytes = tokens * copies * token_bytes;
    t.add("expert-all-to-all-forward", Collective::all_to_all, GroupKind::expert, Phase::forward, bytes, 2 * layers * m,
          t.activation, false);
    t.add("expert-all-to-all-backward", Collective::all_to_all, GroupKind::expert, Phase::backward, bytes,
          2 * (layers + again) * m, t.activation, false);
  }
  // Slices of one expert each need all tokens of their group.
  const double sliced = tokens * k * token_bytes * e_t;
  t.add("expert-tensor-all-gather-forward", Collective::all_gather, GroupKind::expert_tensor, Phase::forward, sliced,
        layers * m, t.activation, false);
  t.add("expert-tensor-reduce-scatter-forward", Collective::reduce_scatter, GroupKind::expert_tensor, Phase::forward,
        sliced, layers * m, t.activation, false);
  t.add("expert-tensor-all-gather-backward", Collective::all_gather, GroupKind::expert_tensor, Phase::backward, sliced,
        (layers + again) * m, t.activation, false);
  t.add("expert-tensor-reduce-scatter-backward", Collective::reduce_scatter, GroupKind::expert_tensor, Phase::backward,
        sliced, (layers + again) * m, t.activation, false);
}

// One hop of the residual stream per boundary, micro-batch and chunk, each way; a slice of it with sequence parallelism.
// [megatron21] §2.2. Tied ends add their table's gradients once a step.
void add_pipeline(StageTraffic& t) {
  const Parallel& p = t.plan.parallel;
  const bool v_shaped =
      p.pipeline_schedule == PipelineSchedule::zb_v || p.pipeline_schedule == PipelineSchedule::dualpipe_v;
  const double chunks = v_shaped ? 2 : p.pipeline_schedule == PipelineSchedule::dualpipe ? 1 : double(p.virtual_stages);
  const double hops = double(t.micro_batches) * chunks;
  const double bytes = t.tokens * double(t.plan.model.hidden_size) * bytes_of(t.activation) /
                       (p.sequence_parallel ? double(p.tensor) : 1.0);
  t.add("pipeline-forward", Collective::send_recv, GroupKind::pipeline, Phase::forward, bytes, hops, t.activation,
        p.overlap.pipeline);
  t.add("pipeline-backward", Collective::send_recv, GroupKind::pipeline, Phase::backward, bytes, hops, t.activation,
        p.overlap.pipeline);
  if (!has_tied_copies(t.plan.model, p) || t.plan.training.lora || !(t.is_first || t.is_last)) return;
  const TensorList& holder = t.is_first ? t.embedding : t.head;
  double table = 0;
  for (const Tensor& x : holder)
    if (x.part == Part::embedding && x.cut == Cut::rows) table += x.elements();
  const Element element = element_of(t.plan.training.gradient_dtype);
  t.add("tied-embedding", Collective::all_reduce, GroupKind::embedding, Phase::after_backward,
        table * bytes_of(element), 1, element, false);
}

}  // namespace

void add_model_parallel(StageTraffic& t) {
  add_context(t);
  add_experts(t);
  add_pipeline(t);
}

}  // namespace wireplan
