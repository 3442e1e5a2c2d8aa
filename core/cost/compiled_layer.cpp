#include "core/cost/compiled_layer.hpp"

#include <algorithm>
#include <cmath>

#include "core/cost/layer_writer.hpp"
#include "core/count/tensors.hpp"

namespace wireplan {
namespace {

// Sizes both kinds need.
struct Sizes {
  explicit Sizes(const LayerWriter& w)
      : h(double(w.model.hidden_size)), d(double(w.model.head_dim)), a(std::ceil(double(w.model.num_attention_heads) / w.t)),
        k(double(kv_heads_on_rank(w.model, Count(w.t)))), f(std::ceil(double(w.model.intermediate_size) / w.t)), T(w.T), n(w.stream_tokens * h) {}
  double h, d, a, k, f, T, n;
};

class Compiled {
 public:
  Compiled(const Plan& plan, Tape& tape) : w_(plan, tape), s_(w_) {}

  void write(const LayerKind& kind) {
    const Ref x = w_.enter(w_.stream_tokens, s_.h, stream_bytes(w_.plan), kind.entered_needs_gradient);
    const Ref normed = norm(x);
    const double q = s_.T * s_.a * s_.d, kv = s_.T * s_.k * s_.d;
    const Ref queries = linear("queries", normed, s_.h, s_.a * s_.d, true), keys = repeated(linear("keys", normed, s_.h, s_.k * s_.d, false));
    const Ref values = repeated(linear("values", normed, s_.h, s_.k * s_.d, true));
    Operation attention{.name = "log-sum-exp",
                        .inputs = {Input{queries, Flow::fresh, true}, Input{keys, Flow::fresh, true}, Input{values, Flow::fresh, true}},
                        .keeps = whole_blocks(4 * s_.T * s_.a)};
    attention.keeps_result = true;
    attention.is_cached = w_.is_selective;
    attention.backward_scratch = 2 * (q + 2 * kv) / 3;
    const Ref context = w_.add(attention, "attention output", q, w_.e);
    const Ref middle = sum(linear("projection output", context, s_.a * s_.d, s_.h, false), x, true);
    const Ref normed2 = norm(middle);
    Ref y;
    if (is_gated(w_.model.mlp)) {
      const Ref gate = linear("gate", normed2, s_.h, s_.f, true), up = linear("up", normed2, s_.h, s_.f, false);
      y = w_.add({.name = "activation", .inputs = {Input{gate, Flow::fresh, true}, Input{up, Flow::fresh, true}}}, "product", s_.T * s_.f, w_.e);
    } else {
      y = w_.add({.name = "activation", .inputs = {Input{linear("up", normed2, s_.h, s_.f, true), Flow::fresh, true}}}, "activated", s_.T * s_.f, w_.e);
    }
    w_.tape.leave(sum(linear("down", y, s_.f, s_.h, false), middle, false));
  }

 private:
  Ref repeated(Ref x) {
    return w_.how.repeat_kv && s_.k < s_.a ? w_.add({.name = "repeat heads", .inputs = {Input{x}}}, "keys or values, repeated", s_.T * s_.a * s_.d, w_.e) : x;
  }
  Ref linear(std::string_view name, Ref x, double in, double out, bool is_cached) {
    Operation o{.name = "linear", .inputs = {Input{x, Flow::fresh, true}}, .weight = {in * out, 1, w_.e * in * out, w_.casts ? 4 * in * out : 0, w_.casts ? 2 * in * out : 0}};
    o.is_cached = is_cached && w_.is_selective;
    return w_.add(o, name, s_.T * out, w_.e);
  }
  Ref norm(Ref x) {
    return w_.add({.name = "1/rms", .inputs = {Input{x, Flow::fresh, true}}, .keeps = whole_blocks(4 * s_.T), .weight = {s_.h, 1, w_.e * s_.h, 0, 0}},
                  "norm output", s_.n, w_.e);
  }
  Ref sum(Ref y, Ref x, bool keeps) {
    return w_.add({.name = "add", .inputs = {Input{y, Flow::through, keeps}, Input{x, Flow::through, false}}}, "residual stream", s_.n, w_.element(x));
  }

  LayerWriter w_;
  Sizes s_;
};

constexpr signed char of(LoraTarget target) { return static_cast<signed char>(target); }

class Litgpt {
 public:
  Litgpt(const Plan& plan, Tape& tape) : w_(plan, tape), s_(w_), m_(plan.model) {}

  void write(const LayerKind& kind) {
    const Ref x = w_.enter(w_.stream_tokens, s_.h, stream_bytes(w_.plan), kind.entered_needs_gradient);
    // Its families with LayerNorm and a plain MLP add attention and MLP to one stream.
    const bool is_parallel = m_.norm != Norm::rmsnorm && !is_gated(m_.mlp) && m_.position == Position::rope;
    const Ref normed = w_.norm("norm output", x, w_.stream_tokens, s_.h);
    Ref y = attention(normed);
    if (is_parallel) {
      const Ref z = mlp(m_.norms_per_layer > 1 ? w_.norm("norm output", x, w_.stream_tokens, s_.h) : normed);
      w_.tape.leave(w_.sum(x, w_.sum(y, z, s_.n), s_.n));
      return;
    }
    const Ref middle = w_.sum(x, y, s_.n);
    w_.tape.leave(w_.sum(middle, mlp(w_.norm("norm output", middle, w_.stream_tokens, s_.h)), s_.n));
  }

 private:
  bool is_target(LoraTarget t) const {
    const std::optional<Lora>& lora = w_.plan.training.lora;
    return lora && std::find(lora->targets.begin(), lora->targets.end(), t) != lora->targets.end();
  }

  // One adapter for those of q, k and v that are targets; its result is padded to all three.
  Ref fused_product(Ref x) {
    const double width = (s_.a + 2 * s_.k) * s_.d;
    const Ref base = w_.linear("q, k and v", x, s_.T, s_.h, width, m_.qkv_bias, kNoTarget, true);
    const double parts = double(is_target(LoraTarget::q)) + double(is_target(LoraTarget::k)) + double(is_target(LoraTarget::v));
    if (parts <= 0) return base;
    const double out = s_.d * (s_.a * double(is_target(LoraTarget::q)) + s_.k * double(is_target(LoraTarget::k)) + s_.k * double(is_target(LoraTarget::v)));
    const double r = double(w_.plan.training.lora->rank) * parts, rows = r / parts;
    const Ref dropped = w_.dropout(x, s_.T * s_.h, w_.how.lora_dropout);
    const Ref columns = w_.add({.name = "adapter", .inputs = {Input{dropped, Flow::fresh, true}}, .weight = {r * s_.h, 1, w_.e * r * s_.h, 0, 0}}, "adapter columns", s_.T * r, w_.e);
    const Ref result = w_.add({.name = "adapter", .inputs = {Input{columns, Flow::fresh, true}}, .weight = {rows * out, 1, w_.e * rows * out, 0, 0}}, "adapter result", s_.T * out, w_.e);
    const Ref padded = w_.add({.name = "pad", .inputs = {Input{result, Flow::fresh, true}}}, "padded adapter", s_.T * width, w_.e);
    return w_.sum(base, w_.elementwise("scale", "scaled adapter", padded, s_.T * width), s_.T * width);
  }

  Ref attention(Ref x) {
    const Ref qkv = fused_product(x);
    const double kv = s_.T * s_.k * s_.d;
    const Ref values = w_.add({.name = "split", .inputs = {Input{qkv}}}, "values", 0, w_.element(qkv));
    const Ref turned = w_.add({.name = "rotation", .inputs = {Input{values, Flow::part, false, w_.e * s_.T * (s_.a + s_.k) * s_.d}}}, "q and k, rotated", s_.T * (s_.a + s_.k) * s_.d, w_.e);
    Operation o{.name = "log-sum-exp", .inputs = {Input{turned, Flow::fresh, true}, Input{values, Flow::part, true, w_.e * kv}}, .keeps = whole_blocks(4 * s_.T * s_.a)};
    o.keeps_result = true;
    const Ref context = w_.add(o, "attention output", s_.T * s_.a * s_.d, w_.e);
    return w_.linear("output projection", context, s_.T, s_.a * s_.d, s_.h, m_.o_bias, of(LoraTarget::o), true);
  }

  Ref mlp(Ref x) {
    const double n = s_.T * s_.f;
    Ref y;
    if (is_gated(m_.mlp)) {
      const Ref gate = w_.linear("gate", x, s_.T, s_.h, s_.f, m_.mlp_bias, of(LoraTarget::gate), true);
      const Ref up = w_.linear("up", x, s_.T, s_.h, s_.f, m_.mlp_bias, of(LoraTarget::up), true);
      y = w_.product("mul", "product", w_.elementwise("activation", "activated gate", gate, n, true), up, n);
    } else {
      y = w_.elementwise("activation", "activated", w_.linear("up", x, s_.T, s_.h, s_.f, m_.mlp_bias, of(LoraTarget::up), true), n, true);
    }
    return w_.linear("down", y, s_.T, s_.f, s_.h, m_.mlp_bias, of(LoraTarget::down), true);
  }

  LayerWriter w_;
  Sizes s_;
  const Model& m_;
};

}  // namespace

bool is_compiled_block(const Plan& plan, const LayerKind& kind) {
  const Training& t = plan.training;
  const bool is_plain = !t.lora && !plan.model.mla && !kind.is_moe && !plan.model.opaque && plan.model.norms_per_layer == 2 && t.attention == Attention::flash;
  return t.kernels == Kernels::compiled && is_plain && plan.parallel.framework == Framework::pytorch && plan.parallel.tensor == 1 &&
         (t.switches.modules == ModuleCode::huggingface || t.switches.modules == ModuleCode::torchtitan);
}

Tape compiled_layer_tape(const Plan& plan, const LayerKind& kind) {
  Tape tape;
  Compiled(plan, tape).write(kind);
  return tape;
}

Tape litgpt_layer_tape(const Plan& plan, const LayerKind& kind) {
  Tape tape;
  Litgpt(plan, tape).write(kind);
  return tape;
}

}  // namespace wireplan
