#include "core/cost/layer_writer.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/parameter_store.hpp"

namespace wireplan {

LayerWriter::LayerWriter(const Plan& p, Tape& tape_)
    : plan(p), model(p.model), how(p.training.switches), tape(tape_), T(tokens_per_micro_batch(p)), stream_tokens(tokens_of_stream(p)),
      t(double(p.parallel.tensor)), e(compute_bytes(p)), casts(casts_weights(p)), is_frozen(p.training.lora.has_value()) {
  const bool is_fsdp1_of_accelerate = how.modules == ModuleCode::huggingface && how.fsdp_version == 1 && e < 4 &&
                                      shards_parameters(p.parallel.data_sharding) && p.parallel.framework == Framework::pytorch &&
                                      p.training.master_weights_dtype.has_value();
  casts_inputs = !casts && e < 4 && (how.autocast || is_fsdp1_of_accelerate);
  is_selective = p.training.recompute.kind == RecomputeKind::selective && p.parallel.framework == Framework::pytorch;
  gathers = p.parallel.tensor > 1 && p.parallel.sequence_parallel;
  element_.reserve(96);
}

Ref LayerWriter::enter(double tokens, double width, double bytes, bool needs_gradient) {
  element_.push_back(bytes);
  return tape.enter("residual stream", tokens * width * bytes, needs_gradient);
}

Ref LayerWriter::add(const Operation& operation, std::string_view result, double elements, double bytes) {
  element_.push_back(bytes);
  return tape.add(operation, result, elements * bytes);
}

Ref LayerWriter::elementwise(std::string_view name, std::string_view result, Ref x, double elements, bool keeps_input) {
  return add({.name = name, .inputs = {Input{x, Flow::fresh, keeps_input && tape.needs_gradient(x)}}}, result, elements, element(x));
}

Ref LayerWriter::cast(Ref x, double elements, double bytes) {
  if (element(x) == bytes) return x;
  return add({.name = "cast", .inputs = {Input{x}}}, bytes > 2 ? "fp32 copy" : "16-bit copy", elements, bytes);
}

Ref LayerWriter::product(std::string_view name, std::string_view result, Ref x, Ref y, double elements) {
  return add({.name = name, .inputs = {Input{x, Flow::fresh, tape.needs_gradient(y)}, Input{y, Flow::fresh, tape.needs_gradient(x)}}}, result, elements,
             std::max(element(x), element(y)));
}

Ref LayerWriter::sum(Ref x, Ref y, double elements) {
  const double bytes = std::max(element(x), element(y));
  const auto flow = [&](Ref v) { return element(v) == bytes ? Flow::through : Flow::fresh; };
  return add({.name = "add", .inputs = {Input{x, flow(x), false}, Input{y, flow(y), false}}}, "residual stream", elements, bytes);
}

Ref LayerWriter::dropout(Ref x, double elements, double probability) {
  if (probability <= 0) return x;
  return add({.name = "dropout mask", .inputs = {Input{x}}, .keeps = elements}, "dropped", elements, element(x));
}

Ref LayerWriter::adapter(Ref x, Ref base, double tokens, double in, double out) {
  // Gathered by FSDP they come in the type of the arithmetic.
  const bool is_gathered = sharding_of(plan).shards_parameters && e < 4;
  const double r = double(plan.training.lora->rank), bytes = how.adapter_dtype == DType::fp32 && !is_gathered ? 4.0 : e < 4 ? 2.0 : 4.0;
  const bool in_fp32 = bytes == 4;
  const bool runs_autocast = how.autocast && e < 4;
  Ref y = in_fp32 ? cast(x, tokens * in, 4) : x;
  y = dropout(y, tokens * in, how.lora_dropout);
  double type = bytes;
  if (in_fp32 && runs_autocast) {
    y = cast(y, tokens * in, 2);
    type = 2;
  }
  const double copy = type < bytes ? type : 0;
  const auto matrix = [&](std::string_view name, Ref z, double from, double to) {
    const double n = from * to;
    return add({.name = "adapter", .inputs = {Input{z, Flow::fresh, true}}, .weight = {n, 1, type * n, copy > 0 ? bytes * n : 0, copy * n}}, name,
               tokens * to, type);
  };
  y = matrix("adapter columns", y, in, r);
  y = matrix("adapter result", y, r, out);
  y = elementwise("scale", "scaled adapter", y, tokens * out);
  return cast(sum(base, y, tokens * out), tokens * out, element(base));
}

Ref LayerWriter::linear(std::string_view result, Ref x, double tokens, double in, double out, bool bias, signed char target, bool is_trained) {
  const bool trained = is_trained && !is_frozen;
  const Ref input = casts || casts_inputs ? cast(x, tokens * in, 2) : x;
  const double n = in * out + (bias ? out : 0);
  Operation o{.name = "linear", .inputs = {Input{input, Flow::fresh, trained}}};
  if (trained) o.weight = {n, bias ? 2.0 : 1.0, e * n, casts ? 4 * n : 0, 0};
  if (plan.training.lora && element_bytes(plan.training.lora->base_dtype) < 2 && is_trained && result != "logits") {  // made whole for the product
    o.forward_scratch = o.backward_scratch = e * in * out;
    o.inputs[0].kept = o.inputs[0].kept || how.keeps_quantised_inputs;
  }
  if (casts) o.weight.cast_bytes = 2 * in * out;  // that of a bias only autocast holds, to the end of forward: left out
  o.is_cached = is_selective && !bias && ++products_ % 2 == 1;  // of a product and a bias in one the policy does not know
  const Ref y = add(o, result, tokens * out, e);
  if (!plan.training.lora || target == kNoTarget) return y;
  for (const LoraTarget each : plan.training.lora->targets)
    if (target == static_cast<signed char>(each)) return adapter(x, y, tokens, in, out);
  return y;
}

// Root mean square, or mean and variance, spelled out in fp32 and multiplied by the weight in the type of the stream.
Ref LayerWriter::spelled_norm(std::string_view result, Ref x, double tokens, double width, bool trained) {
  const double n = tokens * width, bytes = element(x);
  const bool is_gemma = model.mlp == Mlp::geglu && how.modules == ModuleCode::huggingface;  // multiplies by 1 + weight in fp32
  const Ref wide = cast(x, n, 4);
  const Ref squares = add({.name = "square", .inputs = {Input{wide, Flow::fresh, tape.needs_gradient(wide)}}, .backward_scratch = 4 * n}, "squares", n, 4);
  const Ref scale = add({.name = "scale of a norm", .inputs = {Input{squares}}, .keeps_result = true}, "1/rms", tokens, 4);
  Ref y = add({.name = "normalise", .inputs = {Input{wide, Flow::fresh, tape.needs_gradient(wide)}, Input{scale, Flow::fresh, tape.needs_gradient(wide)}},
               .backward_scratch = 4 * n},
              "normalised", n, 4);
  const double weight_type = casts ? 4 : e;
  if (!is_gemma) y = cast(y, n, std::min(bytes, weight_type) < 4 ? 2 : 4);
  Operation o{.name = "norm weight", .inputs = {Input{y, Flow::fresh, trained}}, .backward_scratch = element(y) * n};
  if (trained) o.weight = {width, 1, element(y) * width, 0, 0};
  if (is_gemma) o.keeps = 4 * width;
  y = add(o, result, n, element(y));
  return is_gemma ? cast(y, n, bytes) : y;
}

Ref LayerWriter::norm(std::string_view result, Ref x, double tokens, double width) {
  const bool has_weight = model.norm != Norm::layernorm_noparam, trained = has_weight && !is_frozen;
  const double n = tokens * width;
  if (model.norm == Norm::rmsnorm && how.norm_kernel == NormKernel::eager) return spelled_norm(result, x, tokens, width, trained);
  const bool is_rms = model.norm == Norm::rmsnorm;
  const Ref input = casts_inputs && !is_rms ? cast(x, n, 4) : x;
  const double vectors = is_rms || model.norm == Norm::layernorm_nobias ? 1 : 2, bytes = casts ? 4 : e;
  Operation o{.name = is_rms ? "1/rms" : "mean and 1/σ", .inputs = {Input{input, Flow::fresh, tape.needs_gradient(x) || trained}},
              .keeps = whole_blocks(4 * tokens) * (is_rms ? 1 : 2)};
  if (trained) o.weight = {vectors * width, vectors, vectors * bytes * width, 0, 0};
  return add(o, result, n, element(input));
}

Ref LayerWriter::rotate(Ref x, double elements) {
  if (model.position != Position::rope) return x;
  if (how.modules == ModuleCode::torchtitan) {
    const Ref wide = cast(x, elements, 4);
    const Ref turned = elementwise("rotation", "rotated, fp32", wide, elements);
    return cast(turned, elements, element(x));
  }
  // x·cos + rotate_half(x)·sin, in the type of the tables: fp32 where the stream is.
  const double bytes = casts ? 4 : element(x);
  const auto times_table = [&](Ref v, std::string_view name) { return add({.name = "rotation", .inputs = {Input{v}}}, name, elements, bytes); };
  const Ref cosine = times_table(x, "x·cos");
  const Ref half = add({.name = "rotate half", .inputs = {Input{x}}, .forward_scratch = element(x) * elements / 2, .backward_scratch = element(x) * elements},
                       "half turned", elements, element(x));
  const Ref sine = times_table(half, "turned·sin");
  return add({.name = "rotation", .inputs = {Input{cosine, Flow::through, false}, Input{sine, Flow::through, false}}}, "rotated", elements, bytes);
}

Ref LayerWriter::repeat_heads(std::string_view result, Ref x, double from, double to, bool is_view) {
  if (from == to) return x;
  const Operation repeat{.name = "repeat heads", .inputs = {Input{x}}};
  return is_view ? add(repeat, result, 0, element(x)) : add(repeat, result, to, element(x));
}

// Scores as matrices: q·k, scale, softmax in fp32 (GPT-2: in the type of the arithmetic), its copy, dropout, ·v.
Ref LayerWriter::spelled_attention(Ref q, Ref k, Ref v, double heads, double v_dim) {
  const double b = double(plan.training.micro_batch_size), s = double(plan.training.sequence_length);
  const double scores = b * heads * (s / double(plan.parallel.context)) * s;
  const bool is_gpt = model.position == Position::learned;
  const bool has_cap = has_soft_caps(model);
  const bool grads = tape.needs_gradient(q) || tape.needs_gradient(k) || tape.needs_gradient(v);
  const bool is_joined = q == k;  // views of one storage
  const double k_bytes = is_joined ? T * heads * v_dim * element(k) : tape.bytes(k), v_bytes = is_joined ? k_bytes : tape.bytes(v);
  Ref w = add({.name = "q·k", .inputs = {Input{q, is_joined ? Flow::part : Flow::fresh, grads, T * heads * v_dim * element(q)}, Input{k, is_joined ? Flow::part : Flow::fresh, grads, k_bytes}}}, "scores", scores, element(q));
  w = elementwise("scale", "scaled scores", w, scores);
  if (has_cap) {
    w = add({.name = "tanh", .inputs = {Input{w}}, .keeps_result = true}, "capped scores", scores, element(w));
    w = elementwise("scale", "scaled scores", w, scores);
  }
  w = add({.name = "mask", .inputs = {Input{w, Flow::through, false}}}, "masked scores", scores, element(w));
  const double soft = is_gpt && !casts ? element(w) : 4;
  if (soft == 4) w = cast(w, scores, 4);
  w = add({.name = "softmax", .inputs = {Input{w}}, .keeps_result = true}, "probabilities", scores, soft);
  w = cast(w, scores, element(v));
  w = dropout(w, scores, plan.training.attention_dropout);
  const double width = T * heads * v_dim;
  const Ref out = add({.name = "scores·v", .inputs = {Input{w, Flow::fresh, grads}, Input{v, is_joined ? Flow::part : Flow::fresh, grads, v_bytes}}}, "attention, by head", width, element(v));
  return elementwise("transpose", "attention output", out, width);
}

Ref LayerWriter::attend(Ref q, Ref k, Ref v, double heads, double kv_heads, double qk_dim, double v_dim, double tables) {
  const double per_head = T * qk_dim, b = double(plan.training.micro_batch_size), s = double(plan.training.sequence_length);
  const bool is_hf = how.modules == ModuleCode::huggingface;
  const bool is_spelled = plan.training.attention == Attention::eager;
  // A mask on SDPA: another kernel, repeated heads, a 16-bit copy of the mask a layer.
  const bool is_masked = !is_spelled && is_hf && !model.mla && masks_attention(plan);
  if (is_spelled || is_masked || how.repeat_kv) {
    k = repeat_heads("keys, repeated", k, kv_heads * per_head, heads * per_head, kv_heads == 1);
    v = repeat_heads("values, repeated", v, kv_heads * T * v_dim, heads * T * v_dim, kv_heads == 1);
  }
  const bool is_joined = q == k;  // views of one storage
  if (casts && !is_joined) {
    q = cast(q, heads * per_head, 2);
    k = cast(k, tape.bytes(k) / element(k), 2);
    v = cast(v, tape.bytes(v) / element(v), 2);
  }
  if (is_spelled) return spelled_attention(q, k, v, heads, v_dim);
  const bool grads = tape.needs_gradient(q) || tape.needs_gradient(k) || tape.needs_gradient(v);
  const double heads_of_values = how.repeat_kv || is_masked ? heads : kv_heads;
  const double rows = how.attention_kernel == AttentionKernel::memory_efficient ? b * std::ceil(s / 32) * 32 : T;
  const Flow flow = is_joined ? Flow::part : Flow::fresh;
  Operation o{.name = "log-sum-exp and random state", 
              .inputs = {Input{q, flow, grads, heads * per_head * element(q)}, Input{k, flow, grads, heads_of_values * per_head * element(k)},
                         Input{v, is_joined || model.mla ? Flow::part : flow, grads, T * heads_of_values * v_dim * element(v)}},
              .keeps = whole_blocks(4 * heads * rows) + 1024 + tables + (is_masked ? whole_blocks(2 * b * s * s) : 0)};
  o.keeps_result = true;
  o.is_cached = is_selective && how.attention_kernel != AttentionKernel::memory_efficient;
  return add(o, "attention output", T * heads * v_dim, element(v));
}

Ref LayerWriter::gather_tokens(Ref x, double width) {
  if (!gathers) return x;
  return add({.name = "gather of tokens", .inputs = {Input{x}}}, "tokens of all ranks", T * width, element(x));
}

Ref LayerWriter::scatter_tokens(Ref x, double width) {
  if (!gathers) return x;
  return add({.name = "scatter of tokens", .inputs = {Input{x}}, .is_cached = is_selective}, "tokens of this rank", stream_tokens * width, element(x));
}

}  // namespace wireplan
