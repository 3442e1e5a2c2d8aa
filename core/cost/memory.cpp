#include "core/cost/memory.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/activations.hpp"
#include "core/count/deepspeed_settings.hpp"

namespace wireplan {

Bytes StateTerm::bytes() const {
  return Bytes(std::ceil(per_element * (std::ceil(dense / dense_ranks) + std::ceil(experts / expert_ranks)) + frozen.value));
}

namespace {

// Under PyTorch an fp32 master *is* the stored parameter: FSDP mixed precision shards it, autocast casts from it.
bool stores_fp32(const Plan& p) {
  return p.parallel.framework == Framework::pytorch && p.training.master_weights_dtype.has_value();
}

double stored_parameter_bytes(const Plan& p) {
  if (stores_fp32(p)) return 4;
  return p.training.parameter_dtype == DType::fp32 ? 4 : 2;  // low-precision recipes store 16 bit between uses
}

double gathered_parameter_bytes(const Plan& p) { return p.training.parameter_dtype == DType::fp32 ? 4 : 2; }

bool parameters_are_sharded(const Plan& p) {
  if (shards_parameters(p.parallel.data_sharding)) return true;
  // PyTorch's SHARD_GRAD_OP keeps the flat parameters sharded between steps and gathered from forward to backward.
  return p.parallel.framework == Framework::pytorch && p.parallel.data_sharding == DataSharding::zero2;
}

double expert_data_ranks(const Plan& p) {
  const Parallel& l = p.parallel;
  return std::max(1.0, static_cast<double>(l.data * l.context * l.tensor) / static_cast<double>(l.expert * l.expert_tensor));
}

StateTerm term(double per_element, double dense, double experts, bool is_sharded, const Plan& p) {
  StateTerm result;
  result.per_element = per_element;
  result.dense = dense;
  result.experts = experts;
  if (is_sharded) {
    result.dense_ranks = static_cast<double>(shard_ranks(p));
    result.expert_ranks = expert_data_ranks(p);
  }
  return result;
}

// Bytes per parameter of a frozen base, block scales included: nf4 half a byte and one fp32 scale per 64 values.
double base_bytes_per_parameter(DType t) { return t == DType::nf4 ? 0.5 + 4.0 / 64 : element_bytes(t) >= 2 ? 2 : element_bytes(t); }

void fill_states(const Plan& p, const StageParameters& s, const StageParameters& trained, StageMemory& out) {
  const bool shards_p = parameters_are_sharded(p), shards_g = shards_gradients(p.parallel.data_sharding), shards_o = shards_optimizer(p.parallel.data_sharding);
  const double stored = stored_parameter_bytes(p);
  if (p.training.lora) {
    // Adapters are stored like trained parameters; the base is frozen: quantised matrices, 16-bit ends and norms.
    out.parameter_term = term(stored, trained.dense, 0, shards_p, p);
    const double ends = s.embedding + s.head;
    const double matrices = std::max(0.0, s.total() - ends);
    const double frozen = base_bytes_per_parameter(p.training.lora->base_dtype) * matrices + 2 * ends;
    out.parameter_term.frozen = Bytes(std::ceil(frozen / (shards_p ? static_cast<double>(shard_ranks(p)) : 1.0)));
  } else {
    out.parameter_term = term(stored, s.dense, s.experts, shards_p, p);
  }
  // Correction biases of routers are stored but have neither gradient nor optimizer state.
  const double updated = std::max(0.0, trained.dense - trained.buffers);
  out.gradient_term = term(element_bytes(p.training.gradient_dtype), updated, trained.experts, shards_g, p);
  const bool has_master = p.training.master_weights_dtype.has_value() && !stores_fp32(p) && stored < 4;
  out.master_term = term(has_master ? 4 : 0, updated, trained.experts, shards_o, p);
  out.optimizer_term = term(optimizer_state_bytes_per_parameter(p), updated, trained.experts, shards_o, p);
  out.states.parameters = p.training.offload.parameters ? Bytes(0) : out.parameter_term.bytes();
  out.states.gradients = out.gradient_term.bytes();
  out.states.master_weights = p.training.offload.optimizer ? Bytes(0) : out.master_term.bytes();
  out.states.optimizer_states = p.training.offload.optimizer ? Bytes(0) : out.optimizer_term.bytes();
}

// Everything about a stage that does not depend on the moment.
struct StageContext {
  const Plan& plan;
  const StageParameters& stage;
  int index = 0, count = 1;
  double T = 0, Tp = 0, t = 1, h = 0, V = 0, f = 0;
  double dense_layers = 0, moe_layers = 0;
  Bytes kept_dense{}, kept_moe{}, final_norm{};  // of one layer and one micro-batch under the plan's recompute setting; of the last norm
  bool is_last = false, holds_gradients = false;
};

Bytes mean_kept(const Plan& p, int stage, bool is_moe) {
  const double share = recomputed_share(p, stage);
  return kept_per_layer(p, is_moe) * (1 - share) + kept_per_layer_recomputed(p, is_moe) * share;
}

StageContext stage_context(const Plan& p, const std::vector<StageParameters>& stages, int index) {
  StageContext c{p, stages[static_cast<std::size_t>(index)]};
  c.index = index;
  c.count = static_cast<int>(stages.size());
  c.T = tokens_per_micro_batch(p);
  c.Tp = tokens_outside_tensor_parallel(p);
  c.t = static_cast<double>(p.parallel.tensor);
  if (!p.model.opaque) {
    c.h = static_cast<double>(p.model.hidden_size);
    c.V = static_cast<double>(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor));
    c.f = static_cast<double>(p.model.intermediate_size);
    const StageLayers layers = stage_layers(p.model, p.parallel, index);
    c.dense_layers = static_cast<double>(layers.dense);
    c.moe_layers = static_cast<double>(layers.moe);
    c.is_last = layers.heads > 0;
  } else {
    c.dense_layers = static_cast<double>(c.stage.layers);
    c.is_last = index + 1 == c.count;
  }
  // Megatron and DeepSpeed keep gradient buffers for ever; PyTorch frees them between steps, so the first micro-batch's loss
  // finds none, later ones do.
  c.holds_gradients = p.parallel.framework != Framework::pytorch || micro_batches(p) > 1;
  c.kept_dense = mean_kept(p, index, false);
  if (p.model.moe) c.kept_moe = mean_kept(p, index, true);
  // Eager RMSNorm keeps an fp32 copy, the normalised value and its output; LayerNorm and fused norms input and output.
  const bool is_eager_rms = activation_inventory(p) == ActivationInventory::eager && p.model.norm == Norm::rmsnorm;
  c.final_norm = Bytes((is_eager_rms ? 8.0 : 4.0) * c.Tp * c.h);
  return c;
}

Bytes communication_buckets(const StageContext& c, const StageMemory& m) {
  const Parallel& l = c.plan.parallel;
  if (l.data * l.context < 2) return Bytes(0);
  if (l.framework == Framework::pytorch && (l.data_sharding == DataSharding::ddp || l.data_sharding == DataSharding::zero1)) {
    // The reducer's buckets are a second copy of the gradients unless they are views of them [pytorch-ddp-notes].
    const bool is_view = c.plan.training.details && c.plan.training.details->gradient_as_bucket_view.value_or(false);
    return is_view ? Bytes(0) : m.gradient_term.bytes();
  }
  if (l.framework == Framework::deepspeed) {
    const double elements = std::min(deepspeed_settings(c.plan).reduce_bucket, c.stage.total());
    return Bytes(elements * element_bytes(c.plan.training.gradient_dtype) * (l.overlap.gradient_reduce ? 2 : 1));
  }
  return Bytes(0);
}

// Parameters of the unit one gather brings, and of the root that stays gathered from forward to the end of backward.
struct Units { double root = 0, unit = 0; };
Units gathered_units(const StageContext& c) {
  const double whole = c.stage.total();
  switch (c.plan.parallel.fsdp_unit.kind) {
    case FsdpUnit::Kind::none: return {whole, 0};
    case FsdpUnit::Kind::block: return {c.stage.embedding + c.stage.head, c.stage.largest_layer};
    case FsdpUnit::Kind::layers: {
      const double n = static_cast<double>(std::min<Count>(c.plan.parallel.fsdp_unit.layers, std::max<Count>(c.stage.layers, 1)));
      return {c.stage.embedding + c.stage.head, c.stage.largest_layer * n};
    }
  }
  return {};
}

// The parts and terms of one moment.
void fill_moment(const StageContext& c, const StageMemory& m, const MemoryConstants& k, Moment moment, MemoryParts& parts, MemoryTerms& terms) {
  const Plan& p = c.plan;
  parts.parameters = m.states.parameters;
  parts.master_weights = m.states.master_weights;
  parts.optimizer_states = m.states.optimizer_states;
  const bool is_backward_end = moment == Moment::backward_first_layer || moment == Moment::optimizer;
  parts.gradients = c.holds_gradients || is_backward_end ? m.states.gradients : Bytes(0);

  const double stage_layers = std::max(1.0, static_cast<double>(c.stage.layers));
  double passes = layer_passes_in_flight(p, c.index, c.stage.layers);
  if (moment == Moment::optimizer) passes = 0;
  // The first layer's backward: this micro-batch's later layers are gone, other micro-batches in flight are not.
  if (moment == Moment::backward_first_layer) passes = std::max(1.0, passes - stage_layers + 1);
  terms.dense_passes = passes * c.dense_layers / stage_layers;
  terms.moe_passes = passes * c.moe_layers / stage_layers;
  terms.kept_dense = c.kept_dense;
  terms.kept_moe = c.kept_moe;
  const bool in_backward = moment == Moment::backward_last_layer || moment == Moment::backward_first_layer;
  if (in_backward && recomputed_share(p, c.index) > 0) {
    const bool is_moe = c.moe_layers > 0;
    terms.working_set = Bytes(std::max(0.0, (kept_per_layer(p, is_moe) - kept_per_layer_recomputed(p, is_moe)).value));
  }
  if (moment != Moment::optimizer && !p.model.opaque) {
    if (c.is_last && moment != Moment::backward_first_layer) terms.ends += c.final_norm;
    if (c.index == 0) terms.ends += Bytes(2 * c.Tp * c.h);
  }
  if (p.training.offload.activations) {  // two layers stay: the current one and the one being copied
    const bool keeps_moe = c.moe_layers > 0 && (c.dense_layers <= 0 || terms.kept_moe > terms.kept_dense);
    terms.dense_passes = keeps_moe ? 0 : std::min(terms.dense_passes, 2.0);
    terms.moe_passes = keeps_moe ? std::min(terms.moe_passes, 2.0) : 0;
  }
  parts.activations = terms.dense_passes * terms.kept_dense + terms.moe_passes * terms.kept_moe + terms.working_set + terms.ends;

  if (c.is_last && moment == Moment::loss && !p.model.opaque) {
    terms.per_logit = loss_bytes_per_logit(p);
    terms.logits = c.T * c.V / c.t;
    parts.logits = Bytes(terms.per_logit * terms.logits);
  }

  if (parameters_are_sharded(p) && moment != Moment::optimizer) {
    const Units u = gathered_units(c);
    terms.per_gathered = gathered_parameter_bytes(p);
    if (p.parallel.data_sharding == DataSharding::zero2) {
      terms.root = c.stage.total();  // gathered once, kept until backward
    } else {
      terms.root = u.root;
      terms.unit = u.unit;
      terms.units = in_backward ? 2 : 1;  // backward: the current block and the prefetched one
      if (in_backward) terms.unit_gradient = Bytes((u.unit > 0 ? u.unit : u.root) * element_bytes(p.training.gradient_dtype));
    }
    parts.unsharded_parameters = Bytes(terms.per_gathered * (terms.root + terms.units * terms.unit));
  }
  terms.buckets = communication_buckets(c, m);
  parts.communication_buffers = terms.buckets;

  terms.workspaces = k.workspaces;
  if (in_backward && !p.model.opaque) {
    const double g = is_gated(p.model.mlp) ? 3 : 2;  // gradients of the MLP's wide tensors beside the tensors themselves
    terms.transient = Bytes(2 * g * c.T * c.f / c.t + 4 * c.Tp * c.h);
  }
  if (moment == Moment::optimizer && p.training.details && p.training.details->optimizer_kernel == OptimizerKernel::foreach)
    terms.optimizer_temporaries = m.states.optimizer_states / 2.0;  // one temporary of the size of one state
  parts.temporary = terms.workspaces + terms.unit_gradient + terms.transient + terms.optimizer_temporaries;
  // Whole bytes, so that the parts add up to the allocated bytes exactly in any order.
  for (Bytes* part : {&parts.activations, &parts.logits, &parts.unsharded_parameters, &parts.communication_buffers, &parts.temporary})
    part->value = std::ceil(part->value);
}

void fill_phases(const StageContext& c, const MemoryConstants& k, StageMemory& m) {
  const Plan& p = c.plan;
  const bool keeps_gradients = p.parallel.framework != Framework::pytorch;
  const Bytes buckets = communication_buckets(c, m);
  const Bytes kept = m.states.parameters + m.states.master_weights + m.states.optimizer_states + buckets + k.workspaces;
  m.between_steps = kept + (keeps_gradients ? m.states.gradients : Bytes(0));
  m.after_forward_layers = c.dense_layers * c.kept_dense + c.moe_layers * c.kept_moe;
  if (c.is_last && !p.model.opaque)  // log-softmax in fp32 and the final norm's saved tensors
    m.after_forward_ends = Bytes(4 * c.T * c.V / c.t) + c.final_norm;
  m.after_forward = m.after_forward_layers + m.after_forward_ends;
  m.after_backward = kept + m.states.gradients;
  const Bytes whole = Bytes(c.stage.total() * stored_parameter_bytes(p));
  m.load = p.training.load == Load::every_rank ? std::max(whole, m.states.parameters) + m.states.parameters * (whole > m.states.parameters ? 1.0 : 0.0) : m.states.parameters;
  m.initialize = m.states.parameters + m.states.master_weights + (keeps_gradients ? m.states.gradients : Bytes(0)) + buckets;
  // Adam's moments appear in the first optimizer step: until then the peaks are lower by them.
  const Bytes before = m.parts.total() - m.parts.optimizer_states;
  m.first_step = std::max(before, m.states.total() + buckets + k.workspaces);
  const Units u = gathered_units(c);
  const double gathered = parameters_are_sharded(p) && p.training.checkpoint == Checkpoint::full ? std::max(u.root, u.unit) : 0;
  m.save = m.between_steps + Bytes(gathered * stored_parameter_bytes(p));
  for (Bytes* phase : {&m.between_steps, &m.after_forward, &m.after_backward, &m.load, &m.initialize, &m.first_step, &m.save})
    phase->value = std::ceil(phase->value);
}

}  // namespace

double optimizer_state_bytes_per_parameter(const Plan& plan) {
  const Training& t = plan.training;
  const double state = element_bytes(t.optimizer_state_dtype);
  switch (t.optimizer) {
    case Optimizer::adamw: case Optimizer::adam: return 2 * state;
    case Optimizer::adamw_8bit: case Optimizer::adamw_8bit_paged: return 2 * (1 + 4.0 / 256);
    case Optimizer::sgd: return 0;
    case Optimizer::sgd_momentum: case Optimizer::lion: return state;
    case Optimizer::adafactor: case Optimizer::muon: break;
  }
  if (plan.model.opaque) return t.optimizer == Optimizer::muon ? state : 0;
  const ModelParameters all = count_parameters(plan.model);
  if (t.optimizer == Optimizer::muon) {
    const double ends = all.embedding + all.head + all.final_norm;
    return all.total > 0 ? state * (1 + ends / all.total) : state;
  }
  // Adafactor: one row and one column vector per matrix, here for the matrices of a layer and both ends.
  const double h = static_cast<double>(plan.model.hidden_size), f = static_cast<double>(plan.model.intermediate_size), V = static_cast<double>(plan.model.vocab_size);
  const double attention = 4 * h + 2 * static_cast<double>((plan.model.num_attention_heads + plan.model.num_key_value_heads) * plan.model.head_dim);
  const double mlp = (is_gated(plan.model.mlp) ? 3 : 2) * (h + f);
  const double vectors = static_cast<double>(plan.model.num_layers) * (attention + mlp) + (h + V) * (plan.model.tie_word_embeddings ? 1 : 2);
  return all.total > 0 ? 4 * vectors / all.total : 0;
}

double layer_passes_in_flight(const Plan& plan, int stage, Count layers) {
  const double m = static_cast<double>(micro_batches(plan)), p = static_cast<double>(plan.parallel.pipeline), v = static_cast<double>(plan.parallel.virtual_stages);
  const double L = layers_per_micro_batch(plan.parallel, layers), i = stage;
  if (p < 2) return L;
  switch (plan.parallel.pipeline_schedule) {
    case PipelineSchedule::gpipe: return m * L;
    case PipelineSchedule::zb_h2: return std::min(m, 2 * p - 1) * L;
    case PipelineSchedule::zb_v: return std::min(m, p) * L;
    case PipelineSchedule::dualpipe: case PipelineSchedule::dualpipe_v: return std::min(m, p + 1) * L;
    case PipelineSchedule::interleaved: {
      // Chunk passes alive on stage i, each L/v layers: min(v·m, 2(p-1-i) + (v-1)p + 1).
      const double chunks = std::min(v * m, 2 * (p - 1 - i) + (v - 1) * p + 1);
      return chunks * L / v;
    }
    case PipelineSchedule::one_f_one_b: case PipelineSchedule::zb_h1: break;
  }
  return std::min(m, p - i) * L;
}

Bytes offloaded_bytes(const Plan& plan, const StageMemory& stage) {
  Bytes total;
  if (plan.training.offload.optimizer) total += stage.master_term.bytes() + stage.optimizer_term.bytes();
  if (plan.training.offload.parameters) total += stage.parameter_term.bytes();
  if (plan.training.offload.activations) total += stage.after_forward;
  return total;
}

std::vector<StageMemory> stage_memory(const Plan& plan, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                                      const MemoryConstants& constants) {
  std::vector<StageMemory> result(stages.size());
  Count first_layer = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageMemory& m = result[i];
    const StageContext c = stage_context(plan, stages, static_cast<int>(i));
    fill_states(plan, stages[i], trained[i], m);
    bool is_first = true;
    for (Moment moment : {Moment::loss, Moment::backward_last_layer, Moment::backward_first_layer, Moment::optimizer}) {
      if (moment == Moment::loss && !c.is_last) continue;
      MemoryParts parts;
      MemoryTerms terms;
      fill_moment(c, m, constants, moment, parts, terms);
      if (is_first || parts.total() > m.parts.total()) { m.parts = parts; m.terms = terms; m.moment = moment; }
      is_first = false;
    }
    m.layer = m.moment == Moment::backward_first_layer ? first_layer : first_layer + std::max<Count>(stages[i].layers, 1) - 1;
    fill_phases(c, constants, m);
    first_layer += stages[i].layers;
  }
  return result;
}

}  // namespace wireplan
