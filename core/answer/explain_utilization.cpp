#include "core/answer/explainer.hpp"
#include "core/answer/utilization.hpp"

namespace wireplan {

void explain_utilization(const Plan& p, const Estimate& e, Explainer& out) {
  constexpr Claim kCount = Claim::count, kEstimate = Claim::estimate;
  const ConventionTerms t = convention_terms(p, e);
  const ExplainedValue s = count_of("s", static_cast<double>(p.training.sequence_length), "tokens in a sequence"), g = count_of("g", static_cast<double>(p.training.global_batch_size), "sequences per step"),
                       n = count_of("n", static_cast<double>(total_gpus(p.cluster)), "GPUs"), T = seconds_of("T", e.step.time.value, kEstimate, "step time", "step.time_s");
  const auto flops = [](const char* symbol, Flops value, const char* meaning) { return ExplainedValue{symbol, value.value, "FLOP", kCount, meaning, ""}; };
  const ExplainedValue linear = flops("M", t.linear, "forward of one sequence through the matrices of the layers, without the router"), attention = flops("A", t.attention, "forward of its attention over the full square"),
                       head = flops("H", t.head, "forward of the head, the vocabulary padded as Megatron pads it"), N = count_of("N", t.active, "parameters one token meets", "model.active_parameters");
  struct Row { const char* formula; std::vector<ExplainedValue> values; std::vector<std::string> sources; };
  const auto row = [&](FlopConvention c) -> Row {
    switch (c) {
      case FlopConvention::palm: return {"F/s", {flops("F", t.palm, "model operations of one sequence, forward and backward, attention over the full square"), s}, {"palm22"}};
      case FlopConvention::palm_causal: return {"F/s", {flops("F", t.palm_causal, "model operations of one sequence, forward and backward, attention as a causal kernel computes it"), s}, {"palm22"}};
      case FlopConvention::megatron_paper: return {"3·(M + A + H)/s", {linear, attention, head, s}, {"megatron21", "korthikanti22"}};
      case FlopConvention::megatron_hardware:
        return {"(3·(M + A + H) + R)/s", {linear, attention, head, flops("R", t.recomputed, "what recomputation repeats, attention over the full square"), s}, {"megatron21", "korthikanti22"}};
      case FlopConvention::megatron_lm: return {"3·(M + A/2 + H)/s", {linear, attention, head, s}, {"megatron-lm"}};
      case FlopConvention::torchtitan:
        return {"6·(N - N_e) + A_t", {N, count_of("N_e", t.embedding, "of the embedding tables, unless the head is tied to them"), {"A_t", t.attention_per_token, "FLOP", kCount, "attention of one token, forward and backward: the full square, or the whole window", ""}}, {"torchtitan"}};
      case FlopConvention::six_n: break;
    }
    return {"6·N", {N}, {"chinchilla22"}};
  };
  const double peak = matrix_peak(p.cluster.node.gpu, p.training.parameter_dtype).value / 1e12;
  const std::vector<Utilization> all = utilization(p, e);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string path = "step.conventions." + std::to_string(i) + ".";
    const Row r = row(all[i].convention);
    out.add(path + "flops_per_token", "F_t", r.formula, r.values, all[i].flops_per_token, "FLOP", kCount, r.sources);
    out.add(path + "tflops_per_gpu", "R", "F_t·s·g/(T·n)/1e12", {{"F_t", all[i].flops_per_token, "FLOP", kCount, "of one token by this convention", path + "flops_per_token"}, s, g, T, n}, all[i].tflops_per_gpu, "TFLOP/s", kEstimate, r.sources);
    std::vector<ExplainedValue> values;
    if (peak > 0) values = {{"R", all[i].tflops_per_gpu, "TFLOP/s", kEstimate, "operations per GPU by this convention", path + "tflops_per_gpu"}, {"P", peak, "TFLOP/s", kCount, "dense peak of the GPU for " + std::string(name_of(p.training.parameter_dtype)), ""}};
    out.add(path + "mfu", "MFU", peak > 0 ? "R/P" : "0", std::move(values), all[i].mfu, "", kEstimate, r.sources);
  }
}

}  // namespace wireplan
