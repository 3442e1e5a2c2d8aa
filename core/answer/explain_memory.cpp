#include <algorithm>

#include "core/answer/explainer.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {

namespace {

constexpr Claim kCount = Claim::count, kBound = Claim::bound, kEstimate = Claim::estimate;

std::string states_source(const Plan& p) {
  switch (p.parallel.framework) {
    case Framework::pytorch: return shards_parameters(p.parallel.data_sharding) ? "pytorch-fsdp-notes" : "pytorch-ddp-notes";
    case Framework::megatron: return "megatron-lm";
    case Framework::deepspeed: return "zero20";
  }
  return "zero20";
}

void explain_state(const Plan& p, const std::string& key, const std::string& symbol, const StateTerm& term, Bytes result, const std::string& what, bool is_offloaded, Explainer& out) {
  const std::string path = "memory.states." + key;
  if (is_offloaded && result.value == 0) {
    out.add(path, symbol, "0", {}, result.value, "bytes", kCount, {states_source(p)});
    return;
  }
  std::vector<ExplainedValue> values = {
      factor_of("b", term.per_element, kCount, "bytes of " + what + " per parameter"),
      count_of("P", term.dense, "parameters of the fullest stage on one rank, before sharding", p.parallel.pipeline == 1 && p.parallel.tensor == 1 && !p.model.moe && !p.training.lora ? "model.parameters" : ""),
      count_of("N", term.dense_ranks, "ranks that share them")};
  std::string formula = "b·ceil(P/N)";
  if (term.experts > 0) {
    formula = "b·(ceil(P/N) + ceil(X/M))";
    values.push_back(count_of("X", term.experts, "parameters of its routed experts"));
    values.push_back(count_of("M", term.expert_ranks, "ranks that share those"));
  }
  if (term.frozen.value > 0) {
    formula += " + F";
    values.push_back(bytes_of("F", term.frozen, kCount, "frozen base weights and their block scales"));
  }
  formula = "ceil(" + formula + ")";
  if (const Bytes rest = result - term.bytes(); rest.value != 0) {
    formula += " + d";
    values.push_back(bytes_of("d", rest, kCount, "frozen parts, single tensors in a wider format, and rows that do not divide by the ranks"));
  }
  out.add(path, symbol, std::move(formula), std::move(values), result.value, "bytes", kCount, {states_source(p)});
}

// What a term of the ledger is, and where it comes from.
struct TermText {
  Term term;
  const char* symbol;
  const char* meaning;
};
constexpr TermText kActivationTerms[] = {{Term::in_flight, "I", "what the other micro-batches in flight keep on this stage"},
                                         {Term::recomputed_activations, "R", "of the layer that is recomputed: what its second forward keeps"},
                                         {Term::outer_activations, "E", "batch, rotation tables, final norm and head, scalars of the loss"},
                                         {Term::stream, "x", "the residual stream, or its gradient, between two layers"}};
constexpr TermText kGatheredTerms[] = {{Term::unsharded_root, "R", "parameters gathered for the whole forward and backward"},
                                       {Term::unsharded_units, "u", "gathered parameters of the blocks in use"},
                                       {Term::weight_copies, "c", "16-bit copies of fp32 weights that autocast keeps for the backward"}};
constexpr TermText kCommunicationTerms[] = {{Term::gather_buffers, "g", "receive buffers of all-gathers"},
                                            {Term::reduce_buffers, "r", "copies for the reduction of gradients"},
                                            {Term::gradient_buckets, "b", "gradient buckets that stay"}};
constexpr TermText kTemporaryTerms[] = {{Term::operations, "x", "results and gradients on their way inside the running layer"},
                                        {Term::optimizer_temporaries, "o", "copies the optimizer kernel makes"},
                                        {Term::constants, "k", "tables and buffers of the model that stay"},
                                        {Term::workspaces, "w", "workspaces of libraries"}};

// The code the layers were read from.
const char* code_source(ModuleCode modules) {
  switch (modules) {
    case ModuleCode::megatron: return "megatron-lm";
    case ModuleCode::torchtitan: return "torchtitan";
    case ModuleCode::nanogpt: return "nanogpt";
    case ModuleCode::litgpt: return "litgpt";
    case ModuleCode::huggingface: break;
  }
  return "huggingface-transformers";
}

// Layers of the stage whose kept tensors are alive at the peak: those before the running one, forward and backward; at the loss
// and in the head all of them.
struct KeptLayers {
  Count dense = 0, moe = 0;
};
KeptLayers kept_layers(const Plan& p, const StageMemory& w, int stage) {
  KeptLayers n;
  if (w.place.phase == StepPhase::optimizer || w.place.layer == kEmbeddingLayer) return n;
  for (const LayerRange& range : stage_pieces(p.model, p.parallel, stage))
    for (Count i = range.begin; i < range.end; ++i)
      if (w.place.layer < 0 || i < w.place.layer) ++(is_moe_layer(p.model, i) ? n.moe : n.dense);
  return n;
}

// n·(a_1 + a_2 + …) for every kind of layer, then what is left of the one that runs.
void explain_layers(const Plan& p, const Estimate& e, const StageMemory& w, std::string& formula, std::vector<ExplainedValue>& values) {
  double rest = w.peak[Term::layer_activations];
  const RecomputeKind kind = p.training.recompute.kind;
  // Megatron's selective recomputation keeps the layer and repeats attention's scores; PyTorch's policy runs the layer again.
  const bool has_policy = kind == RecomputeKind::selective && p.training.switches.modules != ModuleCode::megatron;
  const bool again = kind == RecomputeKind::full || has_policy;
  const bool all_alike = kind == RecomputeKind::full || kind == RecomputeKind::selective || kind == RecomputeKind::none;
  if (all_alike && rest > 0) {
    const KeptLayers n = kept_layers(p, w, e.memory.worst_stage);
    for (const bool is_moe : {false, true}) {
      const Count count = is_moe ? n.moe : n.dense;
      if (count == 0) continue;
      const Tape tape = layer_tape(p, {is_moe, true});
      std::vector<KeptTensor> tensors = again ? std::vector<KeptTensor>{{"input of the checkpointed layer", tape.entered_bytes()}} : tape.kept_tensors();
      if (has_policy) tensors.push_back({"results kept by the checkpoint's policy", tape.forward_without_keeping().end.kept - tape.entered_bytes()});
      double sum = 0;
      std::string list;
      std::vector<ExplainedValue> parts;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string symbol = std::string(is_moe ? "m_" : "a_") + std::to_string(i + 1);
        list += (i ? " + " : "") + symbol;
        parts.push_back(bytes_of(symbol, Bytes(tensors[i].bytes), kCount, std::string(tensors[i].name)));
        sum += tensors[i].bytes;
      }
      if (double(count) * sum > rest) continue;
      rest -= double(count) * sum;
      const std::string symbol = is_moe ? "n_m" : "n_d";
      formula += symbol + "·(" + list + ") + ";
      values.push_back(count_of(symbol, double(count), is_moe ? "mixture-of-experts layers whose kept tensors are alive" : "layers whose kept tensors are alive"));
      values.insert(values.end(), parts.begin(), parts.end());
    }
  }
  formula += "L";
  values.push_back(bytes_of("L", Bytes(rest), kCount, "kept by the layer that runs, and by layers of another kind"));
}

template <std::size_t N>
void add_terms(const Holdings& h, const TermText (&terms)[N], std::string& formula, std::vector<ExplainedValue>& values) {
  for (const TermText& t : terms) {
    formula += (formula.empty() ? "" : " + ") + std::string(t.symbol);
    values.push_back(bytes_of(t.symbol, Bytes(h[t.term]), kCount, t.meaning));
  }
}

void explain_parts(const Plan& p, const Estimate& e, const StageMemory& w, Explainer& out) {
  const MemoryParts& parts = e.memory.parts;
  const Holdings& h = w.peak;
  const std::string at = " at the peak, " + e.memory.peak_at;
  const auto add = [&](const char* key, const char* symbol, std::string formula, std::vector<ExplainedValue> values, Bytes result, std::vector<std::string> sources) {
    out.add(std::string("memory.parts.") + key, symbol, std::move(formula), std::move(values), result.value, "bytes", kEstimate, std::move(sources));
  };
  const auto from_state = [&](const char* key, const char* symbol, Bytes part, Bytes state, const char* rest) {
    add(key, symbol, "S + d", {bytes_of("S", state, kCount, "what the GPU keeps of them", std::string("memory.states.") + key), bytes_of("d", part - state, kCount, rest + at)}, part, {states_source(p)});
  };
  from_state("parameters", "P", parts.parameters, w.states.parameters, "rounding of each tensor to blocks of 512 bytes");
  add("gradients", "G", "g + u", {bytes_of("g", Bytes(h[Term::gradients]), kCount, "stored gradients alive" + at), bytes_of("u", Bytes(h[Term::unsharded_gradients]), kCount, "gradients still whole, before their reduction")}, parts.gradients, {states_source(p)});
  from_state("master_weights", "M", parts.master_weights, w.states.master_weights, "rounding to blocks of 512 bytes");
  from_state("optimizer_states", "O", parts.optimizer_states, w.states.optimizer_states, "rounding to blocks, and step counters");
  const char* code = code_source(p.training.switches.modules);
  const bool is_deepspeed = p.parallel.framework == Framework::deepspeed, is_sharded = shards_parameters(p.parallel.data_sharding);
  const char* gathers = is_deepspeed ? "deepspeed-zero" : "pytorch-fsdp-notes";
  const char* reductions = is_deepspeed ? "deepspeed-zero" : p.parallel.framework == Framework::megatron ? "megatron-lm" : is_sharded ? "pytorch-fsdp-notes" : "pytorch-ddp-notes";
  std::string formula;
  std::vector<ExplainedValue> values;
  explain_layers(p, e, w, formula, values);
  add_terms(h, kActivationTerms, formula, values);
  add("activations", "A", std::move(formula), std::move(values), parts.activations, {"framework-traces", code});
  const double V = p.model.opaque ? 0 : double(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor));
  const double logits = tokens_per_micro_batch(p) * V;
  add("logits", "L", logits > 0 ? "x·n" : "x", {factor_of("x", logits > 0 ? parts.logits.value / logits : parts.logits.value, kEstimate, "bytes per logit: 16-bit logits, fp32 copies and gradients that coexist" + at), count_of("n", logits, "logits of one micro-batch, tokens × vocabulary")},
      parts.logits, {"framework-traces", code});
  const auto add_sum = [&](const char* key, const char* symbol, const auto& terms, Bytes result, std::vector<std::string> sources) {
    std::string sum;
    std::vector<ExplainedValue> of;
    add_terms(h, terms, sum, of);
    add(key, symbol, std::move(sum), std::move(of), result, std::move(sources));
  };
  add_sum("unsharded_parameters", "U", kGatheredTerms, parts.unsharded_parameters, {gathers});
  add_sum("communication_buffers", "B", kCommunicationTerms, parts.communication_buffers, {reductions});
  add_sum("temporary", "t", kTemporaryTerms, parts.temporary, {"framework-traces"});
}

std::vector<ExplainedValue> part_values(const MemoryParts& m, const std::string& prefix) {
  const auto v = [&](const char* symbol, Bytes b, Claim kind, const char* key, const char* meaning) { return bytes_of(symbol, b, kind, meaning, prefix.empty() ? "" : prefix + key); };
  return {v("P", m.parameters, kCount, "parameters", "parameters"), v("G", m.gradients, kCount, "gradients", "gradients"), v("M", m.master_weights, kCount, "master_weights", "separate fp32 master weights"),
          v("O", m.optimizer_states, kCount, "optimizer_states", "optimizer states"), v("A", m.activations, kEstimate, "activations", "activations"), v("L", m.logits, kEstimate, "logits", "logits and loss"),
          v("U", m.unsharded_parameters, kEstimate, "unsharded_parameters", "gathered units"), v("B", m.communication_buffers, kEstimate, "communication_buffers", "communication buffers"), v("t", m.temporary, kEstimate, "temporary", "temporary")};
}

void explain_totals(const Plan& p, const Constants& k, const Estimate& e, const StageMemory& w, Explainer& out) {
  const MemoryAnswer& m = e.memory;
  const ExplainedValue allocated = bytes_of("A", m.allocated.value, kEstimate, "allocated at the peak", "memory.allocated_bytes");
  const ExplainedValue low = bytes_of("A_l", m.allocated.low, kEstimate, "allocated, low end", "memory.allocated_bytes.low");
  const ExplainedValue high = bytes_of("A_h", m.allocated.high, kEstimate, "allocated, high end", "memory.allocated_bytes.high");
  const ExplainedValue slack = factor_of("f", e.slack_share, kEstimate, "what the caching allocator holds beyond it, as a share");
  const ExplainedValue runtime = bytes_of("r", m.runtime, kBound, "context, libraries and communicators", "memory.runtime_bytes");
  const std::vector<std::string> allocator = {"pytorch-allocator"}, own = {"wireplan-definition"};
  const auto range = [&](const char* name, const Range<Bytes>& r, const char* formula, std::vector<ExplainedValue> values, const char* symbol, const std::vector<std::string>& sources) {
    set_band(out.add(std::string("memory.") + name, symbol, formula, std::move(values), r.value.value, "bytes", kEstimate, sources), r);
  };
  const auto end = [&](const char* name, const char* which, Bytes value, const char* formula, std::vector<ExplainedValue> values, const char* symbol, const std::vector<std::string>& sources) {
    out.add(std::string("memory.") + name + "." + which, symbol, formula, std::move(values), value.value, "bytes", kEstimate, sources);
  };
  const Bytes exact = std::min(w.states.total(), m.allocated.value);
  const std::vector<ExplainedValue> band = {allocated, factor_of("w", e.band_share, kEstimate, "relative half width of what is estimated"), bytes_of("S", exact, kCount, "model states, which are exact")};
  range("allocated_bytes", m.allocated, "P + G + M + O + A + L + U + B + t", part_values(m.parts, "memory.parts."), "A", own);
  end("allocated_bytes", "low", m.allocated.low, "A - ceil(w·(A - S))", band, "A_l", own);
  end("allocated_bytes", "high", m.allocated.high, "A + ceil(w·(A - S))", band, "A_h", own);

  const double unavoidable = std::min(k.memory.unavoidable_fragmentation, e.slack_share), unavoidable_high = std::min(k.memory.band_fragmentation, e.slack_share);
  range("need_bytes", m.need, "A + ceil(u·A) + r", {allocated, factor_of("u", unavoidable, kEstimate, "fragmentation that cannot be given back before the allocator fails"), runtime}, "need", allocator);
  end("need_bytes", "low", m.need.low, "A_l + r", {low, runtime}, "need", allocator);
  end("need_bytes", "high", m.need.high, "A_h + ceil(u·A_h) + r", {high, factor_of("u", unavoidable_high, kEstimate, "the same, high end"), runtime}, "need", allocator);
  range("reserved_bytes", m.reserved, "A + ceil(f·A)", {allocated, slack}, "R", allocator);
  end("reserved_bytes", "low", m.reserved.low, "A_l", {low}, "R", allocator);
  end("reserved_bytes", "high", m.reserved.high, "A_h + ceil(f·A_h)", {high, slack}, "R", allocator);
  const auto reserved = [&](Bytes v, const char* suffix) { return bytes_of("R", v, kEstimate, "reserved by the caching allocator", std::string("memory.reserved_bytes") + suffix); };
  range("device_bytes", m.device, "R + r", {reserved(m.reserved.value, ""), runtime}, "D", own);
  end("device_bytes", "low", m.device.low, "R + r", {reserved(m.reserved.low, ".low"), runtime}, "D", own);
  end("device_bytes", "high", m.device.high, "R + r", {reserved(m.reserved.high, ".high"), runtime}, "D", own);
  explain_parts(p, e, w, out);
  out.add("memory.allocator_slack_bytes", "s", "ceil(f·A)", {slack, allocated}, m.allocator_slack.value, "bytes", kEstimate, allocator);
  out.add("memory.runtime_bytes", "r", "c + w + n·q", {bytes_of("c", e.context, kBound, "CUDA context and kernels of one process"), bytes_of("w", e.workspaces, kBound, "workspaces of matrix products (0 where they are allocated bytes)"), count_of("n", e.communicators, "process groups in use"), bytes_of("q", k.memory.communicator, kBound, "buffers of one group")},
          m.runtime.value, "bytes", kBound, {"wireplan-definition"});
}

void explain_phases(const Plan& p, const Estimate& e, const StageMemory& w, Explainer& out) {
  const std::vector<std::string> own = {"wireplan-definition"};
  const ExplainedValue between = bytes_of("S", w.between_steps, kEstimate, "between steps", "memory.phases.between_steps");
  const auto phase = [&](const char* key, const char* formula, std::vector<ExplainedValue> values, Bytes result) {
    out.add(std::string("memory.phases.") + key, key, formula, std::move(values), result.value, "bytes", kEstimate, own);
  };
  const StateBytes& s = w.states;
  phase("load", "P + F", {bytes_of("P", s.parameters, kCount, "parameters", "memory.states.parameters"), bytes_of("F", w.load - s.parameters, kEstimate, "a second copy where every rank loads the whole model")}, w.load);
  phase("initialize", "P + d", {bytes_of("P", s.parameters, kCount, "parameters", "memory.states.parameters"), bytes_of("d", w.initialize - s.parameters, kEstimate, "what the framework makes of them before the first step: copies, master weights, buffers")}, w.initialize);
  phase("first_step", "S - O + d", {between, bytes_of("O", Bytes(w.idle[Term::optimizer_states]), kCount, "optimizer states: they appear in the first optimizer step"), bytes_of("d", w.first_step - w.between_steps + Bytes(w.idle[Term::optimizer_states]), kEstimate, "what the step adds at its highest moment")}, w.first_step);
  phase("steady", "A", {bytes_of("A", e.memory.allocated.value, kEstimate, "allocated at the peak", "memory.allocated_bytes")}, e.memory.steady);
  {
    std::string formula;
    std::vector<ExplainedValue> values;
    constexpr TermText kIdle[] = {{Term::parameters, "P", "parameters"}, {Term::master_weights, "M", "master weights"}, {Term::optimizer_states, "O", "optimizer states and step counters"},
                                  {Term::gradients, "G", "gradients that stay"}, {Term::unsharded_root, "R", "parameters that stay gathered"}, {Term::gradient_buckets, "B", "gradient buckets"},
                                  {Term::reduce_buffers, "r", "reduction buffers"}, {Term::constants, "k", "tables and buffers of the model"}, {Term::workspaces, "w", "workspaces of libraries"}};
    add_terms(w.idle, kIdle, formula, values);
    double rest = w.idle.total;
    for (const TermText& t : kIdle) rest -= w.idle[t.term];
    values.push_back(bytes_of("d", Bytes(rest), kEstimate, "everything else that stays"));
    phase("between_steps", (formula + " + d").c_str(), std::move(values), w.between_steps);
  }
  phase("save", "S + U", {between, bytes_of("U", w.save - w.between_steps, kEstimate, "largest unit, gathered for a full checkpoint")}, w.save);
  out.add("memory.after_forward_bytes", "A_f", "A_f", {bytes_of("A_f", e.memory.after_forward, kEstimate, "alive just before the last micro-batch's backward, minus alive before its forward: what its layers, final norm, head and loss keep")}, e.memory.after_forward.value, "bytes", kEstimate, {"framework-traces"});
  out.add("memory.after_backward_bytes", "A_b", "S + d", {between, bytes_of("d", w.after_backward - w.between_steps, kEstimate, "gradients and buffers that the end of backward leaves")}, e.memory.after_backward.value, "bytes", kEstimate, {"framework-traces"});
  out.add("memory.host_bytes", "H", "g·d", {count_of("g", p.cluster.gpus_per_node, "ranks on a node"), bytes_of("d", offloaded_bytes(p, w), kEstimate, "what one rank keeps in host memory")}, e.memory.host.value, "bytes", kEstimate, own);
}

}  // namespace

void explain_memory(const Plan& p, const Constants& k, const Estimate& e, Explainer& out) {
  const MemoryAnswer& m = e.memory;
  const StageMemory& w = e.stage_memory[static_cast<std::size_t>(m.worst_stage)];
  out.add("memory.capacity_bytes", "C", "C", {bytes_of("C", m.capacity, p.cluster.node.gpu.reported.value > 0 ? Claim::measured : kCount, p.cluster.node.gpu.reported.value > 0 ? "what a process sees on " + p.cluster.node.gpu.name : "nominal size of " + p.cluster.node.gpu.name)},
          m.capacity.value, "bytes", p.cluster.node.gpu.reported.value > 0 ? Claim::measured : kCount, {"facts-gpus"});
  explain_state(p, "parameters", "P", w.parameter_term, w.states.parameters, "a stored parameter", p.training.offload.parameters, out);
  explain_state(p, "gradients", "G", w.gradient_term, w.states.gradients, "gradient", false, out);
  explain_state(p, "master_weights", "M", w.master_term, w.states.master_weights, "master weight", p.training.offload.optimizer, out);
  explain_state(p, "optimizer_states", "O", w.optimizer_term, w.states.optimizer_states, "optimizer state", p.training.offload.optimizer, out);
  explain_totals(p, k, e, w, out);
  for (std::size_t i = 0; i < m.ranks.size(); ++i) {
    const std::string path = "memory.ranks." + std::to_string(i) + ".";
    const RankMemory& r = m.ranks[i];
    out.add(path + "allocated_bytes", "A_i", "P + G + M + O + A + L + U + B + t", part_values(e.stage_memory[i].parts, ""), r.allocated.value, "bytes", kEstimate, {"wireplan-definition"});
    out.add(path + "reserved_bytes", "R_i", "A_i + ceil(f·A_i)", {bytes_of("A_i", r.allocated, kEstimate, "allocated on the stage", path + "allocated_bytes"), factor_of("f", e.slack_share, kEstimate, "allocator slack as a share")}, r.reserved.value, "bytes", kEstimate, {"pytorch-allocator"});
    out.add(path + "device_bytes", "D_i", "R_i + r", {bytes_of("R_i", r.reserved, kEstimate, "reserved on the stage", path + "reserved_bytes"), bytes_of("r", m.runtime, kBound, "runtime", "memory.runtime_bytes")}, r.device.value, "bytes", kEstimate, {"wireplan-definition"});
  }
  explain_phases(p, e, w, out);
}

}  // namespace wireplan
