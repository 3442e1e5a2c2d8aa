#include "core/step/compute.hpp"

#include "core/base/math.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {

double matrix_efficiency(const Gpu& gpu, DType type, double power_limit_w, const EfficiencyConstants& k) {
  const double reference = type == DType::nvfp4 ? k.reference_fp4 : is_low_precision(type) ? k.reference_fp8 : k.reference;
  const double reference_watts = is_low_precision(type) ? k.reference_w_per_tflops_fp8 : k.reference_w_per_tflops;
  const double watts = power_limit_w > 0 ? power_limit_w : gpu.tdp_w, peak = matrix_peak(gpu, type).value;
  if (watts <= 0 || peak <= 0) return reference;
  const double clocked = reference * power(watts / (peak / 1e12) / reference_watts, k.power_exponent);
  return (gpu.architecture == "Volta" ? k.volta : 1) * power(power(clocked, -8) + power(k.ceiling, -8), -1.0 / 8);
}

namespace {

// Seconds of work at a rate; a rate that is not known counts as no time (the estimate warns about it).
Seconds time_at(Flops work, FlopsPerSecond rate) { return rate.value > 0 ? work / rate : Seconds(0); }
Seconds time_at(Bytes work, BytesPerSecond rate) { return rate.value > 0 ? work / rate : Seconds(0); }

// Fused kernels of Transformer Engine; code bases with fused kernels of their own state what those move.
bool has_transformer_engine(const Training& t) { return t.kernels == Kernels::fused && t.switches.elementwise_traffic == 0; }

// Width of what a token passes in the MLPs of a layer.
double mlp_width(const Model& m) {
  if (!m.moe) return static_cast<double>(m.intermediate_size);
  return static_cast<double>(m.moe->intermediate_size) * static_cast<double>(m.moe->experts_per_token) + static_cast<double>(m.moe->shared_intermediate_size);
}

double elementwise_factor(const Plan& p, const EfficiencyConstants& k) {
  switch (p.training.kernels) {
    case Kernels::eager: return k.elementwise_eager;
    case Kernels::compiled: return k.elementwise_compiled;
    case Kernels::fused: return has_transformer_engine(p.training) ? k.elementwise_fused : p.training.switches.elementwise_traffic;
  }
  return k.elementwise_eager;
}

// Passes over memory of norms, residuals, rotary and activation of one layer, forward and backward, in bytes at best fusion.
struct LayerTraffic { double forward = 0, backward = 0; };
LayerTraffic layer_traffic(const Plan& p) {
  const Model& m = p.model;
  const double T = tokens_per_micro_batch(p), Tp = tokens_of_stream(p), t = static_cast<double>(p.parallel.tensor);
  const double h = static_cast<double>(m.hidden_size), d = static_cast<double>(m.head_dim);
  const double heads = static_cast<double>(m.num_attention_heads + m.num_key_value_heads);
  const double f = mlp_width(m);
  const double permuted = m.moe ? 7 * 2 * T * static_cast<double>(m.moe->experts_per_token) * h / t : 0;  // gather to experts and back
  const double rotary = 4 * T * heads * d / t;
  const double gated = is_gated(m.mlp) ? 1 : 0;
  return {20 * Tp * h + rotary + 2 * T * f / t * (2 + gated) + permuted, 24 * Tp * h + rotary + 2 * T * f / t * (3 + 2 * gated) + permuted};
}

// Bytes that weights and their products in few bits cost beside the products: casts of inputs and weights to 8 or 4 bits and of
// gradients on the way back (2 bytes read, 1 written, what is kept transposed besides), 4-bit weights unpacked for each use (0.5 read, 2
// written, 2 read), gradients added to those of earlier micro-batches.  W: matrix elements of the stage, `trained` of them with a gradient.
LayerTraffic weight_traffic(const Plan& p, double layers, double W, double trained, const EfficiencyConstants& k) {
  const Model& m = p.model;
  const bool is_pytorch = p.parallel.framework == Framework::pytorch;
  LayerTraffic bytes;
  if (is_low_precision(p.training.parameter_dtype)) {
    const double T = tokens_per_micro_batch(p), t = static_cast<double>(p.parallel.tensor), h = static_cast<double>(m.hidden_size), d = static_cast<double>(m.head_dim);
    const double experts = m.moe ? static_cast<double>(m.moe->experts_per_token) : 1;
    const double f = mlp_width(m);
    const double heads = static_cast<double>(m.num_attention_heads), kv = static_cast<double>(m.num_key_value_heads);
    const double inputs = h * (1 + experts) + (heads * d + f) / t, outputs = ((heads + 2 * kv) * d + (is_gated(m.mlp) ? 2 : 1) * f) / t + h * (1 + experts);
    const double casts = is_pytorch ? k.casts_pytorch : k.casts;
    const double uses = is_pytorch ? 1 : 1 / static_cast<double>(micro_batches(p));  // Transformer Engine keeps them over a step's micro-batches
    bytes.forward += casts * 3 * (inputs * T * layers + W * uses);
    bytes.backward += casts * 4 * outputs * T * layers;
  }
  if (p.training.lora && p.training.lora->base_dtype == DType::nf4) {
    bytes.forward += k.unpacking * 4.5 * W;
    bytes.backward += k.unpacking * 4.5 * W;
  }
  if (!shards_parameters(p.parallel.data_sharding)) bytes.backward += (is_pytorch ? 1 : 2) * element_bytes(p.training.gradient_dtype) * trained;
  return bytes;
}

double loss_bytes(const Plan& p, const EfficiencyConstants& k) {
  switch (p.training.loss) {
    case Loss::logits_fp32: return k.loss_logits_fp32;
    case Loss::fused: return k.loss_fused;
    case Loss::chunked: return k.loss_chunked;
  }
  return k.loss_logits_fp32;
}

// Fused attention, forward and backward. The exponentials of the softmax run on the special function units beside the matrix unit:
//   t_f = F·(1/(fa_e·e·peak) + fa_k·ov/(4d·SFU))·(1 + 256/s),  SFU = 16 per SM and clock, ov < 1 where a kernel overlaps them;  t_b = fa_b·(2.5·matrix + 2·exponential part)
struct AttentionTime { Seconds forward, backward; };
AttentionTime attention_time(const Plan& p, Flops flops, FlopsPerSecond rate, const EfficiencyConstants& k) {
  const Gpu& g = p.cluster.node.gpu;
  const double s = static_cast<double>(p.training.sequence_length);
  const double fill = 1 + 256 / s;
  const double matmul = time_at(flops, rate * k.attention_matmul).value;
  double exponential = 0;
  const double sfu = 16.0 * g.sm_count * g.boost_clock_hz;
  // Transformer Engine's kernels on Hopper and newer work on two tiles by turns: most of the softmax of one hides behind the other's products.
  const bool overlaps = has_transformer_engine(p.training) && (g.architecture == "Hopper" || g.architecture.starts_with("Blackwell"));
  const double d = static_cast<double>(p.model.mla ? p.model.mla->qk_nope_head_dim + p.model.mla->qk_rope_head_dim : p.model.head_dim);
  if (sfu > 0 && d > 0) exponential = flops.value / (4 * d) * k.attention_exponential * (overlaps ? k.attention_overlapped : 1) / sfu;
  return {Seconds((matmul + exponential) * fill), Seconds(k.attention_backward * (2.5 * matmul + 2 * exponential) * fill)};
}

}  // namespace

namespace {

// Seconds the host needs to launch one layer's kernels for a micro-batch: h forward, host_backward·h backward, h again for
// a full recomputation.  Source: [published-runs], least squares on runs small enough to show it. Kind: estimate.
UnitTime launch_times(const Plan& p, const EfficiencyConstants& k, Count index) {
  const bool is_pytorch = p.parallel.framework == Framework::pytorch;
  double per_layer = is_pytorch ? k.host_per_layer_pytorch_s : has_transformer_engine(p.training) ? k.host_per_layer_fused_s : k.host_per_layer_megatron_s;
  if (p.model.moe) {
    const double all = static_cast<double>(p.model.num_layers);
    per_layer += k.host_per_moe_layer_s * (all > 0 ? static_cast<double>(moe_layers_between(p.model, 0, p.model.num_layers)) / all : 0);
  }
  const double again = p.training.recompute.kind == RecomputeKind::selective ? (is_pytorch ? 0.5 : 0.2) : recomputed_share(p.model, p.parallel, p.training.recompute, index);
  const double factor = (p.training.lora ? k.host_adapters : 1) * (p.training.cuda_graphs ? k.host_with_graphs : 1);
  return {{}, {}, Seconds(per_layer * factor), Seconds(per_layer * (k.host_backward + again) * factor)};
}

}  // namespace

SequenceWork sequence_work(const Plan& p) {
  const ForwardFlops forward = forward_flops(p.model, p.training.sequence_length);
  return {forward, recompute_flops(p.model, p.training, p.parallel, forward)};
}

ComputeRates compute_rates(const Plan& p, const EfficiencyConstants& k) {
  const Gpu& g = p.cluster.node.gpu;
  const auto rate = [&](DType type) { return matrix_peak(g, type) * matrix_efficiency(g, type, p.cluster.node.power_limit_w, k); };
  // Linear layers multiply in the dtype of the parameters; attention and head stay 16-bit.
  const DType type = p.training.parameter_dtype, wide = type == DType::fp16 || type == DType::fp32 ? type : DType::bf16;
  const FlopsPerSecond matrix = rate(type);
  return {matrix, wide == type ? matrix : rate(wide), g.hbm * k.memory, optimizer_state_bytes_per_parameter(p)};
}

ComputeCost stage_compute(const Plan& p, const SequenceWork& work, const ComputeRates& rates, Count index, const StageParameters& stage, double trained, bool is_last,
                          const EfficiencyConstants& k) {
  ComputeCost cost;
  const double b = static_cast<double>(p.training.micro_batch_size);
  const double t = static_cast<double>(p.parallel.tensor), c = static_cast<double>(p.parallel.context);
  const BytesPerSecond memory = rates.memory;
  const FlopsPerSecond rate = rates.matrix, rate16 = rates.matrix16;

  const double layers = layers_per_micro_batch(p.parallel, stage.layers);
  cost.layers = layers;
  cost.layer = launch_times(p, k, index);
  cost.launch = layers * (cost.layer.launch_forward + cost.layer.launch_backward);
  if (p.model.opaque) {
    cost.linear = Flops(p.model.opaque->flops_per_sample / 3 * b * layers / static_cast<double>(p.model.opaque->units) / (t * c));
    cost.linear_s = time_at(cost.linear, rate);
    cost.forward = cost.linear_s;
    cost.backward = 2.0 * cost.linear_s;
  } else {
    const ForwardFlops& f = work.forward;
    const double share = layers / static_cast<double>(p.model.num_layers) * b / (t * c);
    cost.linear = f.linear * share;
    cost.attention = (p.training.attention == Attention::flash ? f.attention : f.attention_full) * share;
    if (is_last) cost.head = f.head * (b / (t * c));
    cost.linear_s = time_at(cost.linear, rate);
    cost.head_s = time_at(cost.head, rate16);
    AttentionTime attention = attention_time(p, cost.attention, rate16, k);
    if (p.training.attention == Attention::eager) {
      // Stored scores: matrix products over the full square plus about 5 passes forward and 7 backward over them.
      const double s = static_cast<double>(p.training.sequence_length);
      const Bytes scores(2 * b * static_cast<double>(p.model.num_attention_heads) * s * s / (t * c) * layers);
      attention.forward = time_at(cost.attention, rate16) + time_at(5.0 * scores, memory);
      attention.backward = 2.0 * time_at(cost.attention, rate16) + time_at(7.0 * scores, memory);
    }
    cost.attention_s = attention.forward;
    const LayerTraffic traffic = layer_traffic(p);
    const double phi = elementwise_factor(p, k) * layers;
    cost.elementwise_s = time_at(Bytes(phi * traffic.forward), memory);
    const double used = stage.layers > 0 ? layers / static_cast<double>(stage.layers) : 1;  // of two copies a micro-batch passes one
    const LayerTraffic weights = weight_traffic(p, layers, (stage.total() - stage.embedding) * used, trained * used, k);
    const Seconds weights_forward = time_at(Bytes(weights.forward), memory);
    const Seconds elementwise_backward = time_at(Bytes(phi * traffic.backward + weights.backward), memory);
    if (is_last) {
      const double T = tokens_per_micro_batch(p);
      cost.loss_s = time_at(Bytes(loss_bytes(p, k) * T * static_cast<double>(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor)) / t), memory);
    }
    // Frozen weights need the gradient of their input only.
    const double linear_backward = p.training.lora ? 1 : 2;
    cost.forward = cost.linear_s + cost.head_s + cost.attention_s + cost.elementwise_s + weights_forward + 0.5 * cost.loss_s;
    cost.backward = linear_backward * (cost.linear_s + cost.head_s) + attention.backward + elementwise_backward + 0.5 * cost.loss_s;
    // Recomputation repeats forward work inside backward.
    const Flops extra = work.recomputed * share;
    if (extra.value > 0 && (f.linear + f.attention).value > 0)
      cost.backward += (cost.linear_s + cost.attention_s + cost.elementwise_s + weights_forward) * (extra.value / ((f.linear + f.attention) * share).value);
    cost.last_end.forward = cost.head_s + 0.5 * cost.loss_s;
    cost.last_end.backward = linear_backward * cost.head_s + 0.5 * cost.loss_s;
    if (!p.training.lora) cost.weight_gradient = cost.linear_s + cost.head_s;
  }
  if (layers > 0) {
    cost.layer.forward = (cost.forward - cost.last_end.forward) / layers;
    cost.layer.backward = (cost.backward - cost.last_end.backward) / layers;
  }

  // Optimizer: reads and writes master weights and states of the rank's share once, writes 16-bit weights, reads gradients.
  const double shares = shards_optimizer(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1;
  const double states = rates.state_bytes, gradient = element_bytes(p.training.gradient_dtype);
  const double master = p.training.master_weights_dtype ? 4 : 0;
  const double stored = p.training.parameter_dtype == DType::fp32 ? 4 : 2;
  const double norm_share = shards_gradients(p.parallel.data_sharding) ? shares : 1;
  const Bytes moved(k.optimizer * (trained / shares * (2 * master + 2 * states + gradient + (master > 0 ? stored : 2 * stored)) + 2 * gradient * trained / norm_share));
  cost.optimizer = time_at(moved, memory);
  if (p.training.offload.optimizer) cost.optimizer = Seconds(0);  // runs on the host: see offload
  return cost;
}

}  // namespace wireplan
