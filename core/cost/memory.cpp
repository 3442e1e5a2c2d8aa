#include "core/cost/memory.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/layer_tape.hpp"
#include "core/cost/parameter_store.hpp"
#include "core/cost/step_memory.hpp"

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
double base_bytes_per_parameter(DType t) { return t == DType::nf4 ? 0.5 + kNf4ScaleBytes : element_bytes(t) >= 2 ? 2 : element_bytes(t); }

void fill_states(const Plan& p, const StageParameters& s, const StageParameters& trained, StageMemory& out) {
  const bool shards_p = sharding_of(p).shards_parameters, shards_g = shards_gradients(p.parallel.data_sharding), shards_o = shards_optimizer(p.parallel.data_sharding);
  const double stored = stored_parameter_bytes(p);
  if (p.training.lora) {
    // Adapters are stored like trained parameters; the base is frozen: quantised matrices, 16-bit ends and norms.
    out.parameter_term = term(stored, trained.dense, 0, shards_p, p);
    const double ends = s.embedding + s.head;
    const double matrices = std::max(0.0, s.total() - ends);
    const double e = compute_bytes(p), frozen = std::min(e, base_bytes_per_parameter(p.training.lora->base_dtype)) * matrices + e * ends;
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
  out.states.parameters = out.parameter_term.bytes();  // engines that offload them say so themselves
  out.states.gradients = out.gradient_term.bytes();
  out.states.master_weights = p.training.offload.optimizer ? Bytes(0) : out.master_term.bytes();
  out.states.optimizer_states = p.training.offload.optimizer ? Bytes(0) : out.optimizer_term.bytes();
}

// What loading, the first step and saving need beside a steady step.
void fill_phases(const Plan& p, const StageParameters& stage, const StepMemory& step, StageMemory& m) {
  m.between_steps = Bytes(m.idle.total);
  m.after_forward = Bytes(std::ceil(step.after_forward));
  m.after_backward = Bytes(std::ceil(step.after_backward));
  // Adam's moments appear in the first optimizer step (or in backward, parameter by parameter): until then they are not there.
  double first = 0;
  for (const StepPhase phase : {StepPhase::forward, StepPhase::loss, StepPhase::backward, StepPhase::optimizer}) {
    const Holdings& h = step.peaks[static_cast<std::size_t>(phase)].holdings;
    first = std::max(first, h.total - (phase == StepPhase::optimizer ? 0 : h[Term::optimizer_states]));
  }
  if (step.first_step >= 0) first = step.first_step;
  m.first_step = Bytes(std::ceil(first));
  const Bytes whole = Bytes(std::ceil(stage.total() * stored_bytes(p)));
  m.load = p.training.load == Load::every_rank && whole > m.states.parameters ? whole + m.states.parameters : m.states.parameters;
  const bool keeps_gradients = p.parallel.framework != Framework::pytorch;
  m.initialize = m.states.parameters + m.states.master_weights + (keeps_gradients ? m.states.gradients : Bytes(0)) + Bytes(m.idle[Term::gradient_buckets]);
  if (step.initialize >= 0) m.initialize = Bytes(std::ceil(step.initialize));
  m.host = Bytes(step.host);
  const bool gathers = sharding_of(p).shards_parameters && p.training.checkpoint == Checkpoint::full;
  m.save = m.between_steps + Bytes(gathers ? std::ceil(std::max(stage.embedding + stage.head, stage.largest_layer) * stored_bytes(p)) : 0);
}

void round_up(Holdings& h) {
  h.total = 0;
  for (double& bytes : h.bytes) {
    bytes = std::ceil(bytes);
    h.total += bytes;
  }
}

}  // namespace

MemoryParts parts_of(const Holdings& h) {
  const auto sum = [&](std::initializer_list<Term> terms) {
    Bytes bytes;
    for (const Term t : terms) bytes += Bytes(h[t]);
    return bytes;
  };
  MemoryParts parts;
  parts.parameters = sum({Term::parameters});
  parts.gradients = sum({Term::gradients, Term::unsharded_gradients});
  parts.master_weights = sum({Term::master_weights});
  parts.optimizer_states = sum({Term::optimizer_states});
  parts.activations = sum({Term::layer_activations, Term::in_flight, Term::recomputed_activations, Term::outer_activations, Term::stream});
  parts.logits = sum({Term::logits, Term::kept_logits});
  parts.unsharded_parameters = sum({Term::unsharded_root, Term::unsharded_units, Term::weight_copies});
  parts.communication_buffers = sum({Term::gather_buffers, Term::reduce_buffers, Term::gradient_buckets});
  parts.temporary = sum({Term::operations, Term::optimizer_temporaries, Term::constants, Term::workspaces});
  return parts;
}

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
      // q = min(v·m, 2(p-1-i) + (v-1)p + 1) passes of chunks are alive after the warm-up, dealt in runs of p; from then on the next
      // forward pass and a backward pass, last chunk first, take turns: the highest sum of layers in one round.
      const std::vector<LayerRange> chunks = stage_pieces(plan.model, plan.parallel, stage);
      const double q = std::min(v * m, 2 * (p - 1 - i) + (v - 1) * p + 1), steps = std::min(v * m - q, p * v);
      const auto layers_of_pass = [&](double pass, bool is_backward) {
        const std::size_t chunk = std::size_t(std::floor(std::fmod(pass, p * v) / p));
        return double(chunks[is_backward ? chunks.size() - 1 - chunk : chunk].size());
      };
      double alive = 0;
      for (double k = 0; k < q; ++k) alive += layers_of_pass(k, false);
      double highest = alive;
      for (double k = 0; k < steps; ++k) {
        alive -= layers_of_pass(k, true);
        highest = std::max(highest, alive += layers_of_pass(q + k, false));
      }
      return highest;
    }
    case PipelineSchedule::one_f_one_b: case PipelineSchedule::zb_h1: break;
  }
  return std::min(m, p - i) * L;
}

Bytes kept_bytes(const Plan& plan, const StageParameters& stage, const StageParameters& trained) {
  const Offload& offload = plan.training.offload;
  // Sharded parameters leave with their optimizer where one switch moves both.
  if (offload.parameters || (offload.optimizer && sharding_of(plan).shards_parameters)) return Bytes(0);
  StageMemory kept;
  fill_states(plan, stage, trained, kept);
  return kept.states.parameters + kept.states.master_weights + kept.states.optimizer_states;
}

Bytes offloaded_bytes(const Plan& plan, const StageMemory& stage) {
  if (stage.host.value >= 0) return stage.host + (plan.training.offload.activations ? stage.layers_keep : Bytes(0));
  Bytes total;
  if (plan.training.offload.optimizer || stage.states.parameters.value <= 0) total += stage.master_term.bytes() + stage.optimizer_term.bytes();
  if (stage.states.parameters.value <= 0) total += stage.parameter_term.bytes();
  if (plan.training.offload.activations) total += stage.layers_keep;
  return total;
}

std::vector<StageMemory> stage_memory(const Plan& plan, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained) {
  std::vector<StageMemory> result(stages.size());
  PlayedModel model(plan, stages, trained);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageMemory& m = result[i];
    fill_states(plan, stages[i], trained[i], m);
    const StepMemory step = step_memory(model, static_cast<int>(i));
    m.peak = step.highest().holdings;
    m.place = step.highest().place;
    m.idle = step.between_steps;
    if (const auto& kept = step.states)
      m.states = {Bytes(std::ceil(kept->parameters)), kept->gradients < 0 ? m.states.gradients : Bytes(std::ceil(kept->gradients)), Bytes(std::ceil(kept->master_weights)), Bytes(std::ceil(kept->optimizer_states))};
    m.layers_keep = Bytes(std::ceil(step.layers_keep));
    round_up(m.peak);
    round_up(m.idle);
    m.parts = parts_of(m.peak);
    fill_phases(plan, stages[i], step, m);
  }
  return result;
}

}  // namespace wireplan
