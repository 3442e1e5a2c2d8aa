#include "core/cost/megatron_layer.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "core/cost/layer_writer.hpp"
#include "core/count/parameters.hpp"
#include "core/count/tensors.hpp"

namespace wireplan {
namespace {

using Targets = std::initializer_list<LoraTarget>;

class MegatronWriter {
 public:
  MegatronWriter(const Plan& plan, Tape& tape) : w_(plan, tape), m_(plan.model), training_(plan.training), parallel_(plan.parallel) {
    gathers_ = parallel_.sequence_parallel && parallel_.tensor > 1;
    const DType type = training_.parameter_dtype;
    is_narrow_ = type == DType::fp8 || type == DType::mxfp8 || type == DType::nvfp4;
  }

  Ref enter(bool needs_gradient) { return w_.enter(tokens(), hidden(), w_.e, needs_gradient); }

  // A norm keeps its input; its output is what the products after it need.
  Ref norm(Ref x, double rows, double width, bool has_weight = true) {
    const bool is_rms = m_.norm == Norm::rmsnorm;
    Operation o{.name = is_rms ? "1/rms" : "mean and 1/σ", .inputs = {Input{x, Flow::fresh, true}}, .keeps = whole_blocks(4 * rows) * (is_rms ? 1 : 2)};
    const double vectors = is_rms || m_.norm == Norm::layernorm_nobias ? 1 : 2;
    if (has_weight && m_.norm != Norm::layernorm_noparam && !w_.is_frozen) o.weight = {width * vectors, vectors, w_.e * width, 0, 0};
    return w_.add(o, "norm output", rows * width, w_.e);
  }

  // Output features are divided: whole tokens in, gathered again in backward for the gradient of the weight.
  Ref column_linear(std::string_view name, Ref x, double in, double out, Targets targets = {}, bool is_head = false) {
    Operation o = product(x, tokens() * in, in, out, targets);
    const double whole = w_.e * w_.T * in;
    if (gathers_) {
      o.forward_scratch = is_head ? 0 : whole;  // the head's gathered input is a buffer that stays
      o.backward_scratch = is_head ? whole : 2 * whole;
    }
    return w_.add(o, name, w_.T * out, w_.e);
  }
  // Input features are divided: partial sums out, reduced to the stream.
  Ref row_linear(std::string_view name, Ref x, double in, double out, Targets targets = {}) {
    Operation o = product(x, w_.T * in, in, out, targets);
    if (gathers_) o.forward_scratch = o.backward_scratch = w_.e * w_.T * out;
    return w_.add(o, name, tokens() * out, w_.e);
  }
  // Replicated over t.
  Ref plain_linear(std::string_view name, Ref x, double in, double out) {
    return w_.add(product(x, tokens() * in, in, out, {}), name, tokens() * out, w_.e);
  }

  // Bias, dropout and residual sum as one kernel: the mask alone stays.
  Ref add_to_stream(Ref y, Ref residual) {
    const double n = tokens() * hidden();
    const bool drops = training_.hidden_dropout > 0;
    Operation o{.name = drops ? "dropout mask" : "residual sum",
                .inputs = {Input{y, drops ? Flow::fresh : Flow::through, false}, Input{residual, Flow::through, false}},
                .keeps = drops ? n : 0};
    return w_.add(o, "residual stream", n, w_.e);
  }

  Ref attention(Ref x) { return m_.mla ? latent_attention(x) : grouped_attention(x); }

  Ref mlp(Ref x, double f) {
    const double branches = is_gated(m_.mlp) ? 2 : 1;
    const Ref fc1 = column_linear("fc1 output", x, hidden(), branches * f, {LoraTarget::gate, LoraTarget::up});
    const Ref y = w_.add({.name = "activation", .inputs = {Input{fc1, Flow::fresh, true}}}, "fc2 input", w_.T * f, w_.e);
    return row_linear("fc2 output", y, f, hidden(), {LoraTarget::down});
  }

  Ref experts(Ref x);

  double tokens() const { return w_.stream_tokens; }
  double hidden() const { return double(m_.hidden_size); }
  double t() const { return w_.t; }

 private:
  // The input is kept in the type of the product; the gradient of the weight is a tensor unless the product adds to the buffer.
  // A frozen weight needs no input, an adapter beside it does, and the r columns between its two matrices.
  Operation product(Ref x, double in_elements, double in, double out, Targets targets, double copies = 1) const {
    if (w_.is_frozen) {
      const std::vector<LoraTarget>& chosen = training_.lora->targets;
      const bool has_adapter = std::any_of(targets.begin(), targets.end(), [&](LoraTarget t) { return std::find(chosen.begin(), chosen.end(), t) != chosen.end(); });
      Operation o{.name = "linear", .inputs = {Input{x, Flow::fresh, has_adapter}}};
      if (!has_adapter) return o;
      const double r = double(training_.lora->rank), weights = r * (in + out);
      o.keeps = w_.e * r * in_elements / in;
      o.weight = {weights, 2, w_.e * weights, 0, 0};
      return o;
    }
    const double weights = copies * in * out;
    Operation o{.name = "linear", .inputs = {Input{x, Flow::fresh, !is_narrow_}}, .keeps = is_narrow_ ? in_elements : 0};
    o.weight = {weights, 1, training_.switches.fused_weight_gradients ? 0 : w_.e * weights, 0, 0};
    return o;
  }

  Ref grouped_attention(Ref x) {
    const double d = double(m_.head_dim), a = std::ceil(double(m_.num_attention_heads) / t()), k = double(kv_heads_on_rank(m_, Count(t())));
    Ref qkv = column_linear("q, k and v", x, hidden(), (a + 2 * k) * d, {LoraTarget::q, LoraTarget::k, LoraTarget::v});
    if (m_.qk_norm != QkNorm::none) qkv = norm(qkv, w_.T, (a + 2 * k) * d, false);
    if (m_.position == Position::rope) qkv = w_.add({.name = "rotation", .inputs = {Input{qkv}}}, "q, k and v", w_.T * (a + 2 * k) * d, w_.e);
    return row_linear("attention result", core_attention(qkv, a, d), a * d, hidden(), {LoraTarget::o});
  }

  // Low-rank projections with a norm each; q and k joined from their two parts.
  Ref latent_attention(Ref x) {
    const LatentAttention& l = *m_.mla;
    const double a = std::ceil(double(m_.num_attention_heads) / t()), nope = double(l.qk_nope_head_dim), rope = double(l.qk_rope_head_dim);
    const double dv = double(l.v_head_dim), r = double(l.kv_lora_rank), qr = double(l.q_lora_rank), qk = nope + rope;
    Ref q = x;
    if (qr > 0) q = norm(plain_linear("query latent", x, hidden(), qr), tokens(), qr);
    q = column_linear("queries", q, qr > 0 ? qr : hidden(), a * qk, {LoraTarget::q});
    const Ref latent = plain_linear("latent", x, hidden(), r + rope);
    const Ref kv = column_linear("keys and values", norm(latent, tokens(), r), r, a * (nope + dv), {LoraTarget::v});
    const Ref joined = w_.add({.name = "join", .inputs = {Input{q}, Input{kv}, Input{latent, Flow::fresh, false, w_.e * tokens() * rope}}}, "q, k and v",
                              w_.T * a * (2 * qk + dv), w_.e);
    return row_linear("attention result", core_attention(joined, a, dv), a * dv, hidden(), {LoraTarget::o});
  }

  // T·a·d_v of result for a heads; q, k and v as one value.
  Ref core_attention(Ref qkv, double a, double dv) {
    const double n = w_.T * a * dv;
    if (training_.attention == Attention::eager) return spelled_attention(qkv, a, n);
    const bool is_ring = parallel_.context > 1;
    // The result before it is copied to its place by the last exchange of a ring.
    Operation o{.name = "log-sum-exp", .inputs = {Input{qkv, Flow::fresh, true}}, .keeps = whole_blocks(4 * w_.T * a) + (is_ring ? whole_blocks(w_.e * n) : 0)};
    // FlashAttention-2 and rings put the batch first; their result is transposed to a copy.
    const bool copies = (is_ring || training_.switches.attention_kernel == AttentionKernel::flash) && training_.micro_batch_size > 1;
    o.keeps_result = copies || !is_ring;
    const Ref result = w_.add(o, "attention output", n, w_.e);
    return copies ? w_.add({.name = "transpose", .inputs = {Input{result, Flow::fresh, false}}}, "attention output, sequence first", n, w_.e) : result;
  }

  Ref spelled_attention(Ref qkv, double a, double n) {
    const double b = double(training_.micro_batch_size), s = double(training_.sequence_length), scores = b * a * s * (s / double(parallel_.context));
    const bool drops = training_.attention_dropout > 0;
    if (training_.recompute.kind == RecomputeKind::selective) {
      const double again = w_.e * scores * (drops ? 3 : 2) + (drops ? scores : 0);
      return w_.add({.name = "attention, run again", .inputs = {Input{qkv, Flow::fresh, true}}, .forward_scratch = again, .backward_scratch = again + w_.e * scores},
                    "attention output", n, w_.e);
    }
    const double part = w_.tape.bytes(qkv);
    const Ref raw = w_.add({.name = "q·k", .inputs = {Input{qkv, Flow::fresh, true, part * 2 / 3}}}, "scores", scores, w_.e);
    Ref p = w_.add({.name = "softmax", .inputs = {Input{raw, Flow::through, false}}, .keeps_result = true}, "probabilities", scores, w_.e);
    p = w_.dropout(p, scores, training_.attention_dropout);
    const Ref by_head = w_.add({.name = "scores·v", .inputs = {Input{p, Flow::fresh, true}, Input{qkv, Flow::part, true, part / 3}}}, "attention, by head", n, w_.e);
    return w_.elementwise("transpose", "attention output", by_head, n);
  }

  LayerWriter w_;
  const Model& m_;
  const Training& training_;
  const Parallel& parallel_;
  bool gathers_ = false, is_narrow_ = false;
};

// Router, dispatch to the ranks that hold the experts, two products, and back. n = T'·K rows, times e_t where experts are divided.
Ref MegatronWriter::experts(Ref x) {
  const MixtureOfExperts& moe = *m_.moe;
  const double h = hidden(), e_t = double(parallel_.expert_tensor), f = double(moe.intermediate_size) / e_t, E = double(moe.num_experts);
  const double sent = tokens() * double(moe.experts_per_token), n = sent * (gathers_ ? e_t : 1), local = E / double(parallel_.expert);
  const double branches = is_gated(m_.mlp) ? 2 : 1, wide = w_.T * h * double(parallel_.expert);  // tokens of all expert ranks
  const bool all_gathers = parallel_.moe_dispatcher == MoeDispatcher::allgather;
  // Logits, probabilities, masks and the maps of the permutation.
  Operation router{.name = "router, maps", .inputs = {Input{x, Flow::fresh, true}}, .keeps = 4 * 4 * tokens() * E};
  if (!w_.is_frozen) router.weight = {E * h, 1, 4 * E * h, 0, 0};
  const Ref probabilities = w_.add(router, "probabilities", sent, 4);
  Ref rows;
  if (all_gathers) {
    rows = w_.add({.name = "gather and sort", .inputs = {Input{x}}, .backward_scratch = w_.e * wide}, "tokens of experts", n * h, w_.e);
  } else {
    rows = w_.add({.name = "permute", .inputs = {Input{x}}}, "permuted tokens", sent * h, w_.e);
    if (parallel_.expert * parallel_.expert_tensor > 1) {
      rows = w_.add({.name = "exchange", .inputs = {Input{rows}}}, "received tokens", n * h, w_.e);
      rows = w_.add({.name = "sort", .inputs = {Input{rows}}}, "tokens of experts", n * h, w_.e);
    }
  }
  const auto grouped = [&](std::string_view name, Ref in, double from, double to) {
    return w_.add(product(in, n * from, from, to, {}, local), name, n * to, w_.e);
  };
  const Ref fc1 = grouped("fc1 output of experts", rows, h, branches * f);
  Ref y = w_.add({.name = "activation", .inputs = {Input{fc1, Flow::fresh, true}}}, "fc2 input of experts", n * f, w_.e);
  // A gated activation multiplies by the probability inside its kernel; others in a step of their own.
  if (branches == 1) y = w_.add({.name = "weigh", .inputs = {Input{y, Flow::fresh, true}, Input{probabilities, Flow::fresh, true}}}, "weighted input of experts", n * f, w_.e);
  y = grouped("fc2 output of experts", y, f, h);
  if (all_gathers) {
    y = w_.add({.name = "sort back and reduce", .inputs = {Input{y}}, .forward_scratch = w_.e * wide, .backward_scratch = w_.e * wide}, "expert output", tokens() * h, w_.e);
  } else {
    if (parallel_.expert * parallel_.expert_tensor > 1) {
      y = w_.add({.name = "sort back", .inputs = {Input{y}}}, "rows to return", n * h, w_.e);
      y = w_.add({.name = "exchange", .inputs = {Input{y}}}, "returned rows", sent * h, w_.e);
    }
    y = w_.add({.name = "sum by token", .inputs = {Input{y}}}, "expert output", tokens() * h, w_.e);
  }
  if (moe.shared_intermediate_size > 0) y = w_.sum(y, mlp(x, double(moe.shared_intermediate_size) / t()), tokens() * h);
  return y;
}

}  // namespace

Tape megatron_layer_tape(const Plan& plan, const LayerKind& kind) {
  Tape tape;
  MegatronWriter w(plan, tape);
  const Model& m = plan.model;
  const Ref x = w.enter(kind.entered_needs_gradient);
  const bool four_norms = m.norms_per_layer >= 4;
  Ref y = w.attention(m.norms_per_layer >= 1 ? w.norm(x, w.tokens(), w.hidden()) : x);
  if (four_norms) y = w.norm(y, w.tokens(), w.hidden());
  const Ref middle = w.add_to_stream(y, x);
  const Ref normed = m.norms_per_layer >= 2 ? w.norm(middle, w.tokens(), w.hidden()) : middle;
  y = kind.is_moe ? w.experts(normed) : w.mlp(normed, std::ceil(double(m.intermediate_size) / w.t()));
  if (four_norms) y = w.norm(y, w.tokens(), w.hidden());
  tape.leave(w.add_to_stream(y, middle));
  return tape;
}

Tape megatron_head_tape(const Plan& plan) {
  Tape tape;
  MegatronWriter w(plan, tape);
  Ref x = w.enter(true);
  if (plan.model.final_norm) x = w.norm(x, w.tokens(), w.hidden());
  const double V = double(padded_vocabulary(plan.model, plan.parallel.framework, plan.parallel.tensor));
  tape.leave(w.column_linear("logits", x, w.hidden(), V / w.t(), {}, true));
  return tape;
}

}  // namespace wireplan
