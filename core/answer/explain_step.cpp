#include <algorithm>
#include <cmath>

#include "core/answer/explainer.hpp"
#include "core/base/format.hpp"
#include "core/cost/memory.hpp"
#include "core/step/host_optimizer.hpp"

namespace wireplan {

namespace {

constexpr Claim kCount = Claim::count, kEstimate = Claim::estimate;

// What the elements of one call are, by the kind of message its name stands for.
std::string_view carried(const Message& m) {
  struct Kind { std::string_view prefix, what; };
  static constexpr Kind kKinds[] = {
      {"ddp-expert-bucket", "gradients of one bucket of expert parameters"}, {"ddp-bucket", "gradients of one bucket"},
      {"fsdp-expert-all-gather", "expert parameters of one unit"}, {"fsdp-expert-reduce-scatter", "expert gradients of one unit"},
      {"fsdp-all-gather", "parameters of one unit"}, {"fsdp-reduce-scatter", "gradients of one unit"}, {"hsdp-all-reduce", "gradients of one unit's shard"},
      {"zero3-all-gather", "parameters gathered at once"}, {"zero3-reduce-scatter", "gradients of one bucket"},
      {"zero-all-gather", "updated parameters of one bucket"}, {"zero-expert-all-gather", "updated expert parameters"}, {"zero-reduce-scatter", "gradients of one bucket"},
      {"zero-expert-reduce-scatter", "gradients of expert parameters"}, {"zero-all-reduce", "gradients of one bucket"}, {"zero1-broadcast", "updated parameters of one rank's share"},
      {"context-ring", "keys and values of one block of the sequence"}, {"expert-dispatch", "hidden states of routed tokens"}, {"expert-combine", "expert outputs of routed tokens"},
      {"expert-all-to-all", "hidden states of routed tokens"}, {"expert-tensor", "hidden states of routed tokens"}, {"pipeline", "hidden states of a micro-batch at a stage border"},
      {"tensor-norm-gradients", "gradients of norm weights"}, {"tensor", "hidden states of a micro-batch"}, {"tied-embedding", "gradients of the embedding table"},
      {"vocabulary-loss", "per-token sums of the loss"}, {"vocabulary-gather", "logits of a micro-batch"}, {"gradient-norm", "norms"}, {"overflow-flag", "flags"}};
  for (const Kind& k : kKinds)
    if (m.name.substr(0, k.prefix.size()) == k.prefix) return k.what;
  return "elements of one call";
}

// Times per step a message's calls repeat: once per micro-batch, or once.
double repeats(const Plan& p, const Message& m) {
  const double micro = static_cast<double>(micro_batches(p));
  const bool is_model_group = m.group == GroupKind::tensor || m.group == GroupKind::pipeline || m.group == GroupKind::context || m.group == GroupKind::expert;
  const bool is_per_micro_batch = is_model_group || m.phase == Phase::forward || p.parallel.gradient_sync == GradientSync::every;
  const double each = m.calls / micro;
  return is_per_micro_batch && each == std::floor(each) ? micro : 1;
}

// "ring ll128 on 24 channels, as NCCL decides (its own model expects 51.2 µs and 102 µs on the wire)"; where that is not known: "ring simple".
std::string chosen_text(const CollectiveCall& call) {
  const std::string names = std::string(name_of(call.algorithm)) + " " + std::string(name_of(call.protocol));
  if (call.nccl.channels == 0) return names;
  return names + " on " + format_exact(call.nccl.channels) + (call.nccl.channels == 1 ? " channel" : " channels") + ", as NCCL decides (its own model expects " + format_seconds(call.nccl.latency) + " and " + format_seconds(call.nccl.wire) + " on the wire)";
}

void explain_row(const Plan& p, const Estimate& e, std::size_t i, Explainer& out) {
  const CommunicationRow& row = e.communication[i];
  const MessageCost& c = e.cost.messages[i];
  const std::string path = "communication." + std::to_string(i) + ".";
  const Message& m = c.message;
  const std::string group(name_of(m.group));
  const double element = bytes_of(m.element), times = repeats(p, m);
  out.add(path + "ranks", "n", "n", {count_of("n", row.ranks, "ranks of one " + group + " group")}, row.ranks, "", kCount, {"wireplan-definition"});
  out.add(path + "bytes", "S", "b·s",
          {factor_of("b", element, kCount, "bytes of an element"), count_of("s", m.bytes.value / element, std::string(carried(m)))}, row.bytes.value, "bytes", kCount, {"nccl-tests-perf"});
  out.add(path + "calls", "k", "k_m·m", {factor_of("k_m", row.calls / times, kCount, "calls each time"), count_of("m", times, times > 1 ? "micro-batches" : "once per step")}, row.calls, "", kCount, {"nccl-tests-perf"});

  const ExplainedValue time = seconds_of("t", c.call.time.value, kEstimate, "one call");
  const double factor = bus_factor(m.collective, c.ranks);
  out.add(path + "bus_bandwidth_bytes_per_s", "B", "F·S/t", {factor_of("F", factor, kCount, "bus factor: bytes a rank sends as a multiple of S"), bytes_of("S", m.bytes, kCount, "size of one call", path + "bytes"), time}, row.bus_bandwidth.value, "bytes/s", kEstimate, {"nccl-tests-perf"});

  const bool is_own = c.call.basis == Basis::profile;
  const char* correction = is_own ? "what the cluster's profile, measured by you, says over the formula" : "what measured tables of such machines say over the formula; 1 where there are none";
  const auto total = [&](const char* suffix, Seconds result, double band, const char* meaning) {
    std::vector<std::string> sources = {"nccl-tests-perf", "nccl-topo"};
    if (!is_own) sources.push_back("published-nccl-tests");
    return &out.add(path + "time_s" + suffix, "T", "w·k·q·s·(L + N + F·S/B + C + Q)",
                    {factor_of("w", 1 + band, kEstimate, meaning), count_of("k", row.calls, "calls per step", path + "calls"), factor_of("q", c.call.correction, kEstimate, correction), factor_of("s", c.sharing, kEstimate, "longer beside what the layers send over the same links"), seconds_of("L", c.call.parts.start, kEstimate, "start: launch and one hop per ring step"),
                     seconds_of("N", c.call.parts.network, kEstimate, "latency of the network"), factor_of("F", factor, kCount, "bus factor of " + std::string(name_of(m.collective)) + " over " + std::to_string(c.ranks) + " ranks"),
                     bytes_of("S", m.bytes, kCount, "size of one call", path + "bytes"), {"B", c.bandwidth.value, "bytes/s", kEstimate, "what the call carries by " + chosen_text(c.call) + ": the NCCL planning rate of " + (row.bottleneck.empty() ? "its slowest link" : row.bottleneck) + ", shared by the flows on it, at the share such links and protocols reach", ""},
                     seconds_of("C", c.call.parts.copy, kEstimate, "copy of the rank's own block"), seconds_of("Q", c.call.parts.fill, kEstimate, "filling the pipeline of the bandwidth protocol")},
                    result.value, "s", kEstimate, std::move(sources));
  };
  const Range<Seconds>& call = c.call.time;
  const double value = call.value.value;
  const double low = value > 0 ? call.low.value / value - 1 : 0, high = value > 0 ? call.high.value / value - 1 : 0;
  set_band(*total("", row.time.value, 0, "1: the value itself"), row.time);
  total(".low", row.time.low, low, "low end of the band: how far off figures with the same basis were");
  total(".high", row.time.high, high, "high end of the band: how far off figures with the same basis were");
  out.add(path + "exposed_s", "X", "U + a·(T - U)",
          {seconds_of("U", c.unavoidable, kEstimate, "what nothing can hide: the first gather or the last reduction of a synchronisation"), factor_of("a", c.share, kEstimate, "share of the rest that finds no compute to run beside"),
           seconds_of("T", row.time.value, kEstimate, "all calls of the step", path + "time_s")},
          row.exposed.value, "s", kEstimate, {p.parallel.framework == Framework::pytorch ? (shards_parameters(p.parallel.data_sharding) ? "pytorch-fsdp-notes" : "pytorch-ddp-notes") : p.parallel.framework == Framework::megatron ? "megatron-lm" : "deepspeed-zero"});
}

void explain_host_optimizer(const Plan& p, const Constants& k, const Estimate& e, Explainer& out) {
  const HostOptimizer o = host_optimizer(p, optimizer_state_bytes_per_parameter(p), k.efficiency);
  double updated = 0;
  for (const ComputeCost& stage : e.cost.stages) updated = std::max(updated, stage.updated);
  out.add("step.optimizer_s", "o", "(a·b + c)·N·g/(s·R)",
          {factor_of("a", o.passes, kEstimate, o.passes == 1 ? "one kernel passes once over weights, states and gradients" : "one operation after another with temporaries, against one kernel that passes once"),
           bytes_of("b", Bytes(o.bytes), kCount, "read and written for a parameter: master weight and states both, gradient and 16-bit weight once"), bytes_of("c", Bytes(o.clipping), kCount, "for scaling and clipping its gradient first"),
           count_of("N", updated, "parameters a rank updates"), count_of("g", o.ranks, "ranks of a node, which share its memory"), count_of("s", o.sockets, "sockets of a node"),
           {"R", o.rate.value, "bytes/s", kEstimate, "what a vectorised Adam reached of the memory of a socket, by the class of the CPU", ""}},
          e.step.optimizer.value, "s", kEstimate, {"zero-offload21"});
}

void explain_times(const Plan& p, const Constants& k, const Estimate& e, Explainer& out) {
  const StepAnswer& s = e.step;
  const StepCost& c = e.cost;
  const std::vector<std::string> own = {"wireplan-definition"}, fitted = {"published-runs"};
  const double m = static_cast<double>(micro_batches(p));
  const auto term = [&](const char* symbol, Seconds v, const char* meaning, const char* key) { return seconds_of(symbol, v, kEstimate, meaning, std::string("step.") + key); };
  const std::vector<ExplainedValue> parts = {term("C", s.compute, "compute", "compute_s"), term("X", s.exposed_communication, "communication nobody hides", "exposed_communication_s"), term("b", s.bubble, "pipeline bubble", "bubble_s"),
                                             term("o", s.optimizer, "optimizer", "optimizer_s"), term("h", s.host, "launch work of the host", "host_s"), term("f", s.offload, "offload copies", "offload_s"), term("z", s.straggler, "waiting for the slowest rank", "straggler_s")};
  set_band(out.add("step.time_s", "T", "C + X + b + o + h + f + z", parts, s.time.value.value, "s", kEstimate, own), s.time);
  const double band = p.model.moe ? k.efficiency.band_moe : k.efficiency.band;
  Seconds exposed_low, exposed_high;
  for (const MessageCost& message : c.messages) {
    const Range<Seconds>& call = message.call.time;
    exposed_low += (call.value.value > 0 ? call.low / call.value : 1) * message.exposed;
    exposed_high += (call.value.value > 0 ? call.high / call.value : 1) * message.exposed;
  }
  const auto end = [&](const char* suffix, Seconds result, double w, Seconds exposed, const char* which) {
    out.add(std::string("step.time_s") + suffix, "T", "w·(T_v - X) + X_e",
            {factor_of("w", w, kEstimate, std::string(which) + " of everything but communication"), seconds_of("T_v", s.time.value, kEstimate, "step time", "step.time_s"), term("X", s.exposed_communication, "exposed communication", "exposed_communication_s"),
             seconds_of("X_e", exposed, kEstimate, std::string(which) + " of exposed communication, each collective by its own band")},
            result.value, "s", kEstimate, own);
  };
  end(".low", s.time.low, 1 - band, exposed_low, "low end");
  end(".high", s.time.high, 1 + band, exposed_high, "high end");

  out.add("step.compute_s", "C", "m·(F + B)", {count_of("m", m, "micro-batches per step"), seconds_of("F", c.forward, kEstimate, "forward of one on the slowest stage: matrix products by their shapes, attention, passes over memory"), seconds_of("B", c.backward, kEstimate, "backward of one, recomputation included")}, s.compute.value, "s", kEstimate, fitted);
  std::vector<ExplainedValue> exposed;
  std::string formula;
  for (std::size_t i = 0; i < e.communication.size(); ++i) {
    const std::string symbol = "X_" + std::to_string(i);
    formula += (i ? " + " : "") + symbol;
    exposed.push_back(seconds_of(symbol, e.communication[i].exposed, kEstimate, std::string(e.communication[i].name), "communication." + std::to_string(i) + ".exposed_s"));
  }
  out.add("step.exposed_communication_s", "X", formula.empty() ? "0" : formula, std::move(exposed), s.exposed_communication.value, "s", kEstimate, own);
  const ComputeCost& stage = c.stages[c.slowest];
  const PassPace& pace = c.paces[c.slowest];
  if (c.stages.size() == 1) out.add("step.bubble_s", "b", "0", {}, 0, "s", kCount, {"megatron21"});
  else
    out.add("step.bubble_s", "b", "E + D - X - w - m·(F_l + B_l)",
            {seconds_of("E", c.schedule, kEstimate, "the schedule simulated pass by pass, from the first to the last on any stage"), seconds_of("D", c.once, kEstimate, "communication before and after it, once per step"), term("X", s.exposed_communication, "all that shows of the rank's own communication", "exposed_communication_s"), seconds_of("w", c.waits_for_copies, kEstimate, "what passes wait for copies from the host"),
             count_of("m", m, "micro-batches per step"), seconds_of("F_l", pace.forward, kEstimate, "forward of one on the slowest stage with the host, no communication"), seconds_of("B_l", pace.backward, kEstimate, "its backward")},
            s.bubble.value, "s", kEstimate, {"megatron21", "zerobubble24"});
  if (runs_optimizer_on_host(p)) explain_host_optimizer(p, k, e, out);
  else out.add("step.optimizer_s", "o", "o", {seconds_of("o", s.optimizer, kEstimate, "reads and writes of states, gradients and weights at the reached memory bandwidth")}, s.optimizer.value, "s", kEstimate, fitted);
  const double graphs = p.training.cuda_graphs ? k.efficiency.host_with_graphs : 1;
  out.add("step.host_s", "h", "h_s + m·(h_m + (F_l + B_l) - (F + B))",
          {seconds_of("h_s", Seconds(k.efficiency.host_per_step_s), kEstimate, "per step"), count_of("m", m, "micro-batches per step"), seconds_of("h_m", Seconds(k.efficiency.host_per_micro_batch_s * graphs), kEstimate, "per micro-batch"),
           seconds_of("F_l", pace.forward, kEstimate, "forward of one on the slowest stage where the host launches a layer in " + format_seconds(stage.layer.launch_forward)), seconds_of("B_l", pace.backward, kEstimate, "backward where it launches a layer in " + format_seconds(stage.layer.launch_backward)),
           seconds_of("F", c.forward, kEstimate, "forward with a host that never is late"), seconds_of("B", c.backward, kEstimate, "backward with such a host")},
          s.host.value, "s", kEstimate, fitted);
  out.add("step.offload_s", "f", "D/R + w", {bytes_of("D", c.offload_bytes, kEstimate, "copied over PCIe per rank and step while nothing computes"), {"R", k.efficiency.host_link_bytes_per_s, "bytes/s", kEstimate, "rate of pinned copies", ""}, seconds_of("w", c.waits_for_copies, kEstimate, "what passes wait for copies of sharded parameters, which run ahead of the gathers")}, s.offload.value, "s", kEstimate, fitted);
  out.add("step.straggler_s", "z", "q·(C + X + b + o + h + f)", [&] { std::vector<ExplainedValue> v(parts.begin(), parts.end() - 1); v.push_back(factor_of("q", c.straggler_factor, kEstimate, "expected excess of the slowest of so many ranks")); return v; }(), s.straggler.value, "s", kEstimate, fitted);
  out.add("step.on_ideal_wiring_s", "T_0", "(1 + q)·(C + b_0 + o + h + f)", {factor_of("q", c.straggler_factor, kEstimate, "expected excess of the slowest rank"), parts[0], seconds_of("b_0", c.ideal_bubble, kEstimate, "bubble of the schedule on infinitely fast links"), parts[3], parts[4], parts[5]}, s.on_ideal_wiring.value, "s", kEstimate, own);
  const ExplainedValue ideal = term("T_0", s.on_ideal_wiring, "the same step on infinitely fast links", "on_ideal_wiring_s"), whole = seconds_of("T_v", s.time.value, kEstimate, "step time", "step.time_s"),
                       latency = factor_of("a", latency_share(c), kEstimate, "share of exposed communication that is start, hops, network latency and filling of pipelines, by the parts of each call");
  out.add("step.wiring_bandwidth_s", "W_b", "(1 - a)·(T_v - T_0)", {latency, whole, ideal}, s.wiring_bandwidth.value, "s", kEstimate, own);
  out.add("step.wiring_latency_s", "W_l", "a·(T_v - T_0)", {latency, whole, ideal}, s.wiring_latency.value, "s", kEstimate, own);
}

void explain_rates(const Plan& p, const Estimate& e, Explainer& out) {
  const StepAnswer& s = e.step;
  const std::vector<std::string> own = {"wireplan-definition"}, palm = {"palm22"};
  const ExplainedValue T = seconds_of("T", s.time.value, kEstimate, "step time", "step.time_s"), n = count_of("n", static_cast<double>(total_gpus(p.cluster)), "GPUs"),
                       g = count_of("g", static_cast<double>(p.training.global_batch_size), "sequences per step"), l = count_of("l", static_cast<double>(p.training.sequence_length), "tokens in a sequence");
  out.add("step.tokens_per_s", "r", "g·l/T", {g, l, T}, s.tokens_per_s, "tokens/s", kEstimate, own);
  out.add("step.tokens_per_s_per_gpu", "r_n", "g·l/(T·n)", {g, l, T, n}, s.tokens_per_s_per_gpu, "tokens/s", kEstimate, own);
  const ExplainedValue F = {"F", e.flops.full_square.value, "FLOP", kCount, "model operations of one sequence, forward and backward, attention over the full square (PaLM convention)", ""};
  const ExplainedValue R = {"R", e.recompute.value, "FLOP", kCount, "operations repeated by recomputation", ""};
  out.add("step.model_tflops_per_gpu", "M", "F·g/(T·n)/1e12", {F, g, T, n}, s.model_tflops_per_gpu, "TFLOP/s", kEstimate, palm);
  out.add("step.hardware_tflops_per_gpu", "H", "(F + R)·g/(T·n)/1e12", {F, R, g, T, n}, s.hardware_tflops_per_gpu, "TFLOP/s", kEstimate, palm);
  const double peak = matrix_peak(p.cluster.node.gpu, p.training.parameter_dtype).value / 1e12;
  const ExplainedValue P = {"P", peak, "TFLOP/s", kCount, "dense peak of the GPU for " + std::string(name_of(p.training.parameter_dtype)), ""};
  if (peak > 0) {
    out.add("step.mfu", "MFU", "M/P", {{"M", s.model_tflops_per_gpu, "TFLOP/s", kEstimate, "model operations per GPU", "step.model_tflops_per_gpu"}, P}, s.mfu, "", kEstimate, {"palm22", "facts-gpus"});
    out.add("step.hfu", "HFU", "H/P", {{"H", s.hardware_tflops_per_gpu, "TFLOP/s", kEstimate, "hardware operations per GPU", "step.hardware_tflops_per_gpu"}, P}, s.hfu, "", kEstimate, {"palm22", "facts-gpus"});
  } else {
    out.add("step.mfu", "MFU", "0", {}, 0, "", kEstimate, {"palm22"});
    out.add("step.hfu", "HFU", "0", {}, 0, "", kEstimate, {"palm22"});
  }
}

}  // namespace

void explain_model(const Plan& p, const Estimate& e, Explainer& out) {
  if (p.model.opaque) {
    out.add("model.parameters", "P", "P", {count_of("P", e.parameters, "parameters as stated")}, e.parameters, "", kCount, {"wireplan-definition"});
    out.add("model.active_parameters", "P_a", "P", {count_of("P", e.parameters, "parameters as stated", "model.parameters")}, e.active_parameters, "", kCount, {"wireplan-definition"});
  } else {
    const ModelParameters c = count_parameters(p.model);
    std::vector<ExplainedValue> values = {count_of("E", c.embedding, "embedding: vocabulary × hidden size, learned positions"), count_of("L_d", static_cast<double>(c.dense_layers), "dense layers"),
                                          count_of("P_d", c.dense_layer.total(), "parameters of one: attention, MLP, norms")};
    std::string formula = "E + L_d·P_d";
    if (c.moe_layers > 0) {
      formula += " + L_m·P_m";
      values.push_back(count_of("L_m", static_cast<double>(c.moe_layers), "mixture-of-experts layers"));
      values.push_back(count_of("P_m", c.moe_layer.total(), "parameters of one: attention, all experts, router, norms"));
    }
    values.push_back(count_of("F", c.final_norm, "final norm"));
    values.push_back(count_of("H", c.head, p.model.tie_word_embeddings ? "output head: tied to the embedding" : "output head"));
    out.add("model.parameters", "P", formula + " + F + H", std::move(values), e.parameters, "", kCount, {"facts-models"});
    out.add("model.active_parameters", "P_a", "P - I", {count_of("P", e.parameters, "all parameters", "model.parameters"), count_of("I", e.parameters - e.active_parameters, "parameters of experts a token does not meet")}, e.active_parameters, "", kCount, {"facts-models"});
  }
  out.add("model.flops_per_token", "F_t", "F/l", {{"F", e.flops.full_square.value, "FLOP", kCount, "model operations of one sequence, forward and backward", ""}, count_of("l", static_cast<double>(p.training.sequence_length), "tokens in a sequence")}, e.flops_per_token, "FLOP", kCount, {"palm22", "megatron-lm"});
}

void explain_communication(const Plan& p, const Constants&, const Estimate& e, Explainer& out) {
  for (std::size_t i = 0; i < e.communication.size(); ++i) explain_row(p, e, i, out);
}

void explain_step(const Plan& p, const Constants& k, const Estimate& e, Explainer& out) {
  explain_times(p, k, e, out);
  explain_rates(p, e, out);
}

}  // namespace wireplan
