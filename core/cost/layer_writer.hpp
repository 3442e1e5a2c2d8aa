// Writes operations of PyTorch's eager modules onto a tape: casts, linear layers with their adapters, norms, rotations, attention.
// Inside core/cost only. Notation: core/cost/layer_tape.hpp.
#pragma once

#include "core/cost/layer_tape.hpp"

namespace wireplan {

class LayerWriter {
 public:
  LayerWriter(const Plan& plan, Tape& tape);

  const Plan& plan;
  const Model& model;
  const Switches& how;
  Tape& tape;
  double T = 0, stream_tokens = 0, t = 1;
  double e = 2;              // compute_bytes
  bool casts = false;        // casts_weights
  bool casts_inputs = false;  // autocast over 16-bit weights: norms and powers still run in fp32
  bool is_frozen = false;    // adapters are trained, the base is not
  bool is_selective = false;  // per-operator checkpointing keeps attention and every second matrix product
  bool gathers = false;      // tensor with sequence parallel: whole tokens are gathered before the linear layers

  // The value that enters, `width` elements of `bytes` each per token of the stream.
  Ref enter(double tokens, double width, double bytes, bool needs_gradient);
  double element(Ref value) const { return element_[std::size_t(value)]; }

  // An operation whose result has `elements` of `bytes` each.
  Ref add(const Operation& operation, std::string_view result, double elements, double bytes);
  Ref elementwise(std::string_view name, std::string_view result, Ref x, double elements, bool keeps_input = false);
  Ref cast(Ref x, double elements, double bytes);
  Ref product(std::string_view name, std::string_view result, Ref x, Ref y, double elements);  // keeps each if the other needs a gradient
  Ref sum(Ref x, Ref y, double elements);
  Ref dropout(Ref x, double elements, double probability);

  // y = x·W (+ bias) for `tokens` rows; the adapter when the recipe puts one on this target.
  Ref linear(std::string_view result, Ref x, double tokens, double in, double out, bool bias, signed char target, bool is_trained);
  Ref norm(std::string_view result, Ref x, double tokens, double width);
  Ref rotate(Ref x, double elements);
  Ref repeat_heads(std::string_view result, Ref x, double from, double to, bool is_view);  // of a single head: a view
  // Attention of a·d queries over k heads: result T·a·d_v.
  Ref attend(Ref q, Ref k, Ref v, double heads, double kv_heads, double qk_dim, double v_dim, double tables = 0);
  // Joins what tensor parallelism divides: whole tokens in, the rank's tokens out.
  Ref gather_tokens(Ref x, double width);
  Ref scatter_tokens(Ref x, double width);

 private:
  Ref spelled_norm(std::string_view result, Ref x, double tokens, double width, bool trained);
  Ref spelled_attention(Ref q, Ref k, Ref v, double heads, double v_dim);
  Ref adapter(Ref x, Ref base, double tokens, double in, double out);
  std::vector<double> element_;
  int products_ = 0;
};

inline constexpr signed char kNoTarget = -1;

}  // namespace wireplan
