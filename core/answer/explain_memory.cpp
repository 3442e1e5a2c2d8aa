#include <algorithm>

#include "core/answer/explainer.hpp"
#include "core/cost/activations.hpp"

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
  if (is_offloaded) {
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
  out.add(path, symbol, "ceil(" + formula + ")", std::move(values), result.value, "bytes", kCount, {states_source(p)});
}

void explain_parts(const Plan& p, const Estimate& e, const StageMemory& w, Explainer& out) {
  const MemoryParts& parts = e.memory.parts;
  const MemoryTerms& t = w.terms;
  const std::string at = " at the peak, " + e.memory.peak_at;
  const auto from_state = [&](const char* key, const char* symbol, Bytes part, Bytes state) {
    const double share = state.value > 0 ? part / state : 0;
    out.add(std::string("memory.parts.") + key, symbol, "a·S", {factor_of("a", share, kCount, "1 when they are alive" + at + ", else 0"), bytes_of("S", state, kCount, "what the GPU keeps of them", std::string("memory.states.") + key)},
            part.value, "bytes", kCount, {states_source(p)});
  };
  from_state("parameters", "P", parts.parameters, w.states.parameters);
  from_state("gradients", "G", parts.gradients, w.states.gradients);
  from_state("master_weights", "M", parts.master_weights, w.states.master_weights);
  from_state("optimizer_states", "O", parts.optimizer_states, w.states.optimizer_states);
  const std::string inventory = activation_inventory(p) == ActivationInventory::fused ? "megatron-lm" : "huggingface-transformers";
  out.add("memory.parts.activations", "A", "ceil(n_d·A_d + n_m·A_m + W + E)",
          {factor_of("n_d", t.dense_passes, kCount, "dense layers × micro-batches alive" + at), bytes_of("A_d", t.kept_dense, kEstimate, "what one dense layer keeps of one micro-batch for its backward"),
           factor_of("n_m", t.moe_passes, kCount, "mixture-of-experts layers × micro-batches alive"), bytes_of("A_m", t.kept_moe, kEstimate, "what one of those keeps"),
           bytes_of("W", t.working_set, kEstimate, "one recomputed layer while its backward runs"), bytes_of("E", t.ends, kEstimate, "embedding output and final norm")},
          parts.activations.value, "bytes", kEstimate, {"korthikanti22", inventory});
  out.add("memory.parts.logits", "L", "ceil(x·n)", {factor_of("x", t.per_logit, kEstimate, "bytes per logit: 16-bit logits, fp32 copies and gradients that coexist"), count_of("n", t.logits, "logits of one micro-batch on the rank, tokens × vocabulary / tensor")},
          parts.logits.value, "bytes", kEstimate, {inventory});
  out.add("memory.parts.unsharded_parameters", "U", "ceil(b·(R + k·u))",
          {factor_of("b", t.per_gathered, kCount, "bytes of a gathered parameter"), count_of("R", t.root, "parameters that stay gathered from forward to backward"), count_of("k", t.units, "gathered units alive: the current one, and in backward the prefetched one"),
           count_of("u", t.unit, "parameters of the largest unit")},
          parts.unsharded_parameters.value, "bytes", kEstimate, {"pytorch-fsdp-notes"});
  out.add("memory.parts.communication_buffers", "B", "ceil(B_k)", {bytes_of("B_k", t.buckets, kEstimate, "gradient buckets the framework keeps beside the gradients")}, parts.communication_buffers.value, "bytes", kEstimate,
          {p.parallel.framework == Framework::deepspeed ? "deepspeed-zero" : "pytorch-ddp-notes"});
  out.add("memory.parts.temporary", "t", "ceil(w + g + x + o)",
          {bytes_of("w", t.workspaces, kEstimate, "workspaces of matrix products"), bytes_of("g", t.unit_gradient, kEstimate, "gradient of the unit before it is reduced"),
           bytes_of("x", t.transient, kEstimate, "gradients inside the running layer"), bytes_of("o", t.optimizer_temporaries, kEstimate, "copies the optimizer kernel makes")},
          parts.temporary.value, "bytes", kEstimate, {"wireplan-definition"});
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
  out.add("memory.runtime_bytes", "r", "c + n·q", {bytes_of("c", m.runtime - static_cast<double>(e.communicators) * k.memory.communicator, kBound, "CUDA context and kernels of one process"), count_of("n", e.communicators, "process groups in use"), bytes_of("q", k.memory.communicator, kBound, "buffers of one group")},
          m.runtime.value, "bytes", kBound, {"wireplan-definition"});
}

void explain_phases(const Plan& p, const Estimate& e, const StageMemory& w, Explainer& out) {
  const std::vector<std::string> own = {"wireplan-definition"};
  const bool keeps_gradients = p.parallel.framework != Framework::pytorch;
  const StateBytes& s = w.states;
  const ExplainedValue P = bytes_of("P", s.parameters, kCount, "parameters", "memory.states.parameters"), G = bytes_of("G", s.gradients, kCount, "gradients", "memory.states.gradients"),
                       M = bytes_of("M", s.master_weights, kCount, "master weights", "memory.states.master_weights"), O = bytes_of("O", s.optimizer_states, kCount, "optimizer states", "memory.states.optimizer_states"),
                       B = bytes_of("B", w.terms.buckets, kEstimate, "communication buffers"), W = bytes_of("W", w.terms.workspaces, kEstimate, "workspaces of matrix products"),
                       a = factor_of("a", keeps_gradients ? 1 : 0, kCount, "1 where the framework keeps gradients between steps, else 0");
  const auto phase = [&](const char* key, const char* formula, std::vector<ExplainedValue> values, Bytes result) {
    out.add(std::string("memory.phases.") + key, key, formula, std::move(values), result.value, "bytes", kEstimate, own);
  };
  phase("load", "P + F", {P, bytes_of("F", w.load - s.parameters, kEstimate, "a second copy where every rank loads the whole model")}, w.load);
  phase("initialize", "ceil(P + M + a·G + B)", {P, M, a, G, B}, w.initialize);
  phase("first_step", "ceil(max(A - O_p, P + G + M + O + B + W))", {bytes_of("A", w.parts.total(), kEstimate, "peak of a steady step", "memory.phases.steady"), bytes_of("O_p", w.parts.optimizer_states, kCount, "optimizer states in it: they appear in the first optimizer step"), P, G, M, O, B, W}, w.first_step);
  phase("steady", "A", {bytes_of("A", e.memory.allocated.value, kEstimate, "allocated at the peak", "memory.allocated_bytes")}, e.memory.steady);
  phase("between_steps", "ceil(P + M + O + B + W + a·G)", {P, M, O, B, W, a, G}, w.between_steps);
  phase("save", "S + U", {bytes_of("S", w.between_steps, kEstimate, "between steps", "memory.phases.between_steps"), bytes_of("U", w.save - w.between_steps, kEstimate, "largest unit, gathered for a full checkpoint")}, w.save);
  const StageParameters& stage = e.stages[static_cast<std::size_t>(e.memory.worst_stage)];
  const Bytes layers = stage.layers > 0 ? w.after_forward_layers : Bytes(0);
  out.add("memory.after_forward_bytes", "A_f", "ceil(A_s + E)", {bytes_of("A_s", layers, kEstimate, "what the stage's " + std::to_string(stage.layers) + " layers keep of one micro-batch"), bytes_of("E", w.after_forward_ends, kEstimate, "final norm and what the loss keeps")}, e.memory.after_forward.value, "bytes", kEstimate, own);
  out.add("memory.after_backward_bytes", "A_b", "ceil(P + M + O + B + W + G)", {P, M, O, B, W, G}, e.memory.after_backward.value, "bytes", kEstimate, own);
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
