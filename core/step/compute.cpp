#include "core/step/compute.hpp"

#include <algorithm>

#include "core/base/math.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/count/parameters.hpp"
#include "core/count/tensors.hpp"
#include "core/step/host_optimizer.hpp"

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
double mlp_width(const Model& m, bool is_moe) {
  if (!is_moe) return static_cast<double>(m.intermediate_size);
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

// Bytes moved beside products and attention, forward and backward.
struct Traffic { double forward = 0, backward = 0; };

// Norms, residuals, rotary and activation of one layer at best fusion; an MoE layer also orders its rows by expert and back: plain dispatchers in 7 passes
// forward and 8 backward, those whose kernel orders while it sends in 4 and 4.
Traffic layer_traffic(const Plan& p, bool is_moe) {
  const Model& m = p.model;
  const double T = tokens_per_micro_batch(p), Tp = tokens_of_stream(p), t = static_cast<double>(p.parallel.tensor);
  const double h = static_cast<double>(m.hidden_size), d = static_cast<double>(m.head_dim);
  const double heads = static_cast<double>(m.num_attention_heads + m.num_key_value_heads);
  const double activated = 2 * T * mlp_width(m, is_moe) / t, rotary = 4 * T * heads * d / t;
  const double gated = is_gated(m.mlp) ? 1 : 0;
  Traffic bytes{20 * Tp * h + rotary + activated * (2 + gated), 24 * Tp * h + rotary + activated * (3 + 2 * gated)};
  if (is_moe) {
    const double rows = 2 * T * static_cast<double>(m.moe->experts_per_token) * h / t;
    const bool is_fused = p.parallel.moe_dispatcher == MoeDispatcher::flex;
    bytes.forward += (is_fused ? 4 : 7) * rows;
    bytes.backward += (is_fused ? 4 : 8) * rows;
  }
  return bytes;
}

// Bytes that products in few bits cost beside the products: casts of inputs and weights to 8 or 4 bits and of gradients on the way back (2 bytes read, 1
// written, what is kept transposed besides), 4-bit weights unpacked for each use (0.5 read, 2 written, 2 read).  W: matrix elements of the layer.
Traffic cast_traffic(const Plan& p, bool is_moe, double W, const EfficiencyConstants& k) {
  const Model& m = p.model;
  const bool is_pytorch = p.parallel.framework == Framework::pytorch;
  Traffic bytes;
  if (is_low_precision(p.training.parameter_dtype)) {
    const double T = tokens_per_micro_batch(p), t = static_cast<double>(p.parallel.tensor), h = static_cast<double>(m.hidden_size), d = static_cast<double>(m.head_dim);
    const double experts = is_moe ? static_cast<double>(m.moe->experts_per_token) : 1;
    const double f = mlp_width(m, is_moe);
    const double heads = static_cast<double>(m.num_attention_heads), kv = static_cast<double>(m.num_key_value_heads);
    const double inputs = h * (1 + experts) + (heads * d + f) / t, outputs = ((heads + 2 * kv) * d + (is_gated(m.mlp) ? 2 : 1) * f) / t + h * (1 + experts);
    const double casts = is_pytorch ? k.casts_pytorch : k.casts;
    const double uses = is_pytorch ? 1 : 1 / static_cast<double>(micro_batches(p));  // Transformer Engine keeps them over a step's micro-batches
    bytes.forward += casts * 3 * (inputs * T + W * uses);
    bytes.backward += casts * 4 * outputs * T;
  }
  if (p.training.lora && p.training.lora->base_dtype == DType::nf4) {
    bytes.forward += k.unpacking * 4.5 * W;
    bytes.backward += k.unpacking * 4.5 * W;
  }
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

// Adds a linear layer out×in on T rows: forward, for the gradient of its input, for that of its weight if it is trained.
void add_linear(LayerTime& time, const MatrixUnits& gpu, bool is_trained, double T, double out, double in, double batch = 1) {
  time.products += matrix_product_time({T, out, in, batch}, gpu);
  time.input_gradients += matrix_product_time({T, in, out, batch}, gpu);
  if (is_trained) time.weight_gradients += matrix_product_time({out, in, T, batch}, gpu);
}

// An adapter in×r, r×out beside a linear layer: two thin products, and what surrounds them as kernels of their own. Forward: dropout of the input (read, written,
// a byte of mask), scaling of the output, its sum with the layer's. Backward: scaling, dropout, the sum of both gradients of the input. Compilers join scaling
// and sum.  Source: [lora21] §4.1; adapter layers of the Hugging Face library. Kind: count of kernels, checked on runs of fsdp_qlora.
void add_adapter(LayerTime& time, const Plan& p, const ComputeRates& rates, double T, double out, double in) {
  const double r = static_cast<double>(p.training.lora->rank);
  add_linear(time, rates.matrix16, true, T, r, in);
  add_linear(time, rates.matrix16, true, T, out, r);
  const double dropout = p.training.switches.lora_dropout > 0 ? 5 : 0, scaling = p.training.kernels == Kernels::eager ? 4 : 0;
  time.elementwise_forward += time_at(Bytes(T * (dropout * in + (scaling + 6) * out)), rates.memory);
  time.elementwise_backward += time_at(Bytes(T * ((dropout + 6) * in + scaling * out)), rates.memory);
}

// The matrix products of one layer of a kind as a rank runs it: visit(tensor, rows, out, in, batch). Routed tokens spread evenly: a rank gets T/t·K·e_t rows for
// its E/e experts.
template <class Visit>
void visit_products(const Plan& p, bool is_moe, Visit visit) {
  const Model& m = p.model;
  const double T = tokens_per_micro_batch(p), Tp = tokens_of_stream(p);
  const double t = static_cast<double>(p.parallel.tensor), e_t = static_cast<double>(p.parallel.expert_tensor), h = static_cast<double>(m.hidden_size);
  for (const Tensor& x : on_rank(layer_tensors(m, is_moe, storage_of(m, p.parallel.framework)), m, p.parallel)) {
    if (x.columns <= 1 || x.part == Part::norm) continue;
    if (x.part == Part::expert) {
      const double experts = static_cast<double>(m.moe->num_experts) / static_cast<double>(p.parallel.expert), f = static_cast<double>(m.moe->intermediate_size) / e_t;
      const double rows = T / t * static_cast<double>(m.moe->experts_per_token) * e_t / experts;
      if (x.target == static_cast<signed char>(LoraTarget::up)) visit(x, rows, (is_gated(m.mlp) ? 2 : 1) * f, h, experts);
      if (x.target == static_cast<signed char>(LoraTarget::down)) visit(x, rows, h, f, experts);
    } else {
      visit(x, x.cut == Cut::whole ? Tp : T, x.rows, x.columns, 1.0);
    }
  }
}

LayerTime layer_time(const Plan& p, bool is_moe, const ComputeRates& rates, const EfficiencyConstants& k) {
  const bool is_trained = !p.training.lora;  // frozen weights need the gradient of their input only
  LayerTime time;
  double elements = 0;
  // Nothing in backward needs what the down-projection made. An MoE layer's combination by the router's weights does.
  const bool stops_early = !is_moe && p.training.switches.modules != ModuleCode::megatron && !p.training.switches.reentrant_checkpoint && p.training.kernels == Kernels::eager;
  visit_products(p, is_moe, [&](const Tensor& x, double rows, double out, double in, double batch) {
    const Seconds before = time.products;
    add_linear(time, x.part == Part::router ? rates.matrix16 : rates.matrix, is_trained, rows, out, in, batch);
    elements += out * in * batch;
    if (p.training.lora && x.part != Part::expert)
      for (const LoraTarget target : p.training.lora->targets)
        if (x.target == static_cast<signed char>(target)) add_adapter(time, p, rates, rows, out, in);
    if (stops_early && x.part != Part::expert && x.target == static_cast<signed char>(LoraTarget::down)) time.last_product = time.products - before;
  });
  const double phi = elementwise_factor(p, k);
  const Traffic passes = layer_traffic(p, is_moe), casts = cast_traffic(p, is_moe, elements, k);
  time.elementwise_forward += time_at(Bytes(phi * passes.forward + casts.forward), rates.memory);
  time.elementwise_backward += time_at(Bytes(phi * passes.backward + casts.backward), rates.memory);
  return time;
}

// Final norm, output projection, loss.
LayerTime head_time(const Plan& p, const ComputeRates& rates, const EfficiencyConstants& k) {
  const double T = tokens_per_micro_batch(p), Tp = tokens_of_stream(p), h = static_cast<double>(p.model.hidden_size);
  const double vocabulary = static_cast<double>(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor)) / static_cast<double>(p.parallel.tensor);
  LayerTime time;
  add_linear(time, rates.matrix16, !p.training.lora, T, vocabulary, h);
  const double norm = elementwise_factor(p, k) * 2 * Tp * h, loss = 0.5 * loss_bytes(p, k) * T * vocabulary;
  time.elementwise_forward = time_at(Bytes(2 * norm + loss), rates.memory);
  time.elementwise_backward = time_at(Bytes(3 * norm + loss), rates.memory);
  return time;
}

struct AttentionTime { Seconds forward, backward; };

// Hopper's and datacentre Blackwell's matrix units work by themselves on operands in shared memory (wgmma, tcgen05).
bool is_asynchronous(const Gpu& g) { return g.architecture == "Hopper" || pairs_multiprocessors(g); }

// Kernels of Transformer Engine and cuDNN use that, and hide most of the softmax of one tile behind the products of another; FlashAttention-2, written for
// Ampere, does not.  Source: [flash3-24] §3.
bool has_asynchronous_attention(const Plan& p) {
  return is_asynchronous(p.cluster.node.gpu) && (has_transformer_engine(p.training) || p.training.switches.attention_kernel == AttentionKernel::cudnn);
}

// Fused attention of one layer. The exponentials of the softmax run on the special function units beside the matrix unit:
//   t_f = F·(1/(fa_e·fa_s·e·peak) + fa_k·ov/(2·(d_qk + d_v)·SFU))·(1 + 256/s),  SFU = 16 per SM and clock, twice that on Blackwell Ultra, ov < 1 where a kernel overlaps them, fa_s < 1 where an asynchronous unit is
//   fed by synchronous instructions;
//   t_b = fa_b·(2.5·matrix + 2·exponential part)
AttentionTime fused_attention_time(const Plan& p, Flops flops, FlopsPerSecond rate, const EfficiencyConstants& k) {
  const Gpu& g = p.cluster.node.gpu;
  const double s = static_cast<double>(p.training.sequence_length);
  const bool is_first = p.training.switches.first_flash_attention || p.training.switches.attention_kernel == AttentionKernel::memory_efficient;
  const double fill = (1 + 256 / s) * (is_first ? k.attention_first : 1);
  const bool overlaps = has_asynchronous_attention(p);
  const bool is_foreign = !overlaps && is_asynchronous(g);
  // Blackwell's asynchronous unit is twice as fast a clock as Hopper's; synchronous instructions are not.
  const double synchronous = is_foreign ? k.attention_synchronous / (g.architecture == "Hopper" ? 1 : 2) : 1;
  const double matmul = time_at(flops, rate * k.attention_matmul * synchronous).value;
  double exponential = 0;
  const double sfu = (g.architecture == "Blackwell Ultra" ? 32.0 : 16.0) * g.sm_count * g.boost_clock_hz;
  const double per_pair = p.model.mla ? 2 * static_cast<double>(p.model.mla->qk_nope_head_dim + p.model.mla->qk_rope_head_dim + p.model.mla->v_head_dim) : 4 * static_cast<double>(p.model.head_dim);
  if (sfu > 0 && per_pair > 0) exponential = flops.value / per_pair * k.attention_exponential * (overlaps ? k.attention_overlapped : 1) / sfu;
  return {Seconds((matmul + exponential) * fill), Seconds(k.attention_backward * (2.5 * matmul + 2 * exponential) * fill)};
}

// Stored scores of one layer: two products a head forward and four backward over the full square, and about 5 and 7 passes over the scores. Rows of heads
// whose size is not a multiple of 8 start at addresses the matrix units cannot load from: their products run beside them, at the rate of fp32.
// Source: NVIDIA's guide of matrix multiplication, "requirements to use tensor cores"; heads of 108 in [published-runs].
AttentionTime stored_attention_time(const Plan& p, const ComputeRates& rates) {
  const Model& m = p.model;
  const double s = static_cast<double>(p.training.sequence_length), rows = s / static_cast<double>(p.parallel.context);
  const double heads = static_cast<double>(p.training.micro_batch_size) * static_cast<double>(m.num_attention_heads) / static_cast<double>(p.parallel.tensor);
  const double qk = static_cast<double>(m.mla ? m.mla->qk_nope_head_dim + m.mla->qk_rope_head_dim : m.head_dim), v = static_cast<double>(m.mla ? m.mla->v_head_dim : m.head_dim);
  MatrixUnits gpu = rates.matrix16;
  if (m.head_dim % 8 != 0 && !m.mla && p.cluster.node.gpu.fp32.value > 0) gpu.rate = std::min(gpu.rate, p.cluster.node.gpu.fp32);
  const auto time = [&](double rows_out, double columns_out, double depth) { return matrix_product_time({rows_out, columns_out, depth, heads}, gpu); };
  const Seconds pass = time_at(Bytes(2 * heads * rows * s), rates.memory);
  return {time(rows, s, qk) + time(rows, v, s) + 5.0 * pass, time(rows, s, v) + time(s, v, rows) + time(rows, qk, s) + time(s, qk, rows) + 7.0 * pass};
}

// Launching the kernels of one layer's forward.  Source: [published-runs], least squares on runs small enough to show it. Kind: estimate.
double launch_per_layer(const Plan& p, const EfficiencyConstants& k, double moe_share) {
  const double dense = p.parallel.framework == Framework::pytorch ? k.host_per_layer_pytorch_s : has_transformer_engine(p.training) ? k.host_per_layer_fused_s : k.host_per_layer_megatron_s;
  const double factor = (p.training.lora ? k.host_adapters : 1) * (p.training.cuda_graphs ? k.host_with_graphs : 1);
  return (dense + moe_share * k.host_per_moe_layer_s) * factor;
}

// Bytes a parameter costs beside products and collectives: each time it is gathered, and for its gradient if it is trained.
//   Kept on the rank: gradients are added to those of earlier micro-batches, read and written; in PyTorch by a kernel that leaves one of the two to the product.
//   Sharded: FSDP version 2 and DeepSpeed copy what was gathered into tensors of its own, and gradients into the buffer that is reduced; version 1 computes on
//   views of one flat buffer and copies only where the reduction has another type.
// Source: [pytorch-fsdp-notes], foreach_all_gather_copy_out, foreach_reduce_scatter_copy_in and FlatParamHandle of its code; [deepspeed-zero].  Kind: count.
struct ParameterTraffic { double gathered = 0, gradient = 0; };
ParameterTraffic parameter_traffic(const Plan& p) {
  const bool is_pytorch = p.parallel.framework == Framework::pytorch;
  const double gradient = element_bytes(p.training.gradient_dtype);
  if (!shards_parameters(p.parallel.data_sharding)) return {0, (is_pytorch ? 1 : 2) * gradient};
  const bool is_flat = is_pytorch && p.training.switches.fsdp_version == 1;
  const double stored = compute_bytes(p), reduced = is_pytorch ? element_bytes(p.training.switches.reduce_dtype) : gradient;
  return {is_flat ? 0 : 2 * stored, is_flat && reduced == stored ? 0 : stored + reduced};
}

// Parameters of `trained` that a rank's optimizer updates.
double updated_parameters(const Plan& p, double trained) { return shards_optimizer(p.parallel.data_sharding) ? trained / static_cast<double>(shard_ranks(p)) : trained; }

// Once per step: reads and writes master weights and states of the rank's share, writes 16-bit weights, reads gradients.
Seconds optimizer_time(const Plan& p, const ComputeRates& rates, double trained, const EfficiencyConstants& k) {
  const double shares = shards_optimizer(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1;
  const double states = rates.state_bytes, gradient = element_bytes(p.training.gradient_dtype);
  const double master = p.training.master_weights_dtype ? 4 : 0;
  const double stored = p.training.parameter_dtype == DType::fp32 ? 4 : 2;
  const double norm_share = shards_gradients(p.parallel.data_sharding) ? shares : 1;
  return time_at(Bytes(k.optimizer * (trained / shares * (2 * master + 2 * states + gradient + (master > 0 ? stored : 2 * stored)) + 2 * gradient * trained / norm_share)), rates.memory);
}

// What a unit's parameters add to its time: when gathered, and for their gradients.
struct ParameterTime { Seconds gathers, gradients; };

// The layers of a stage: products, attention, passes over memory and over parameters, recomputation.
void add_layers(ComputeCost& cost, const Plan& p, const SequenceWork& work, const ComputeRates& rates, Count index, double moe_share, const ParameterTime& parameters, const EfficiencyConstants& k) {
  const double share = static_cast<double>(p.training.micro_batch_size) / (static_cast<double>(p.model.num_layers) * static_cast<double>(p.parallel.tensor * p.parallel.context));
  const AttentionTime attention = p.training.attention == Attention::flash ? fused_attention_time(p, work.forward.attention * share, rates.matrix16.rate, k) : stored_attention_time(p, rates);
  const auto average = [&](Seconds LayerTime::*of) { return (1 - moe_share) * rates.dense.*of + moe_share * rates.moe.*of; };
  const Seconds weights = average(&LayerTime::weight_gradients);
  cost.attention_s = cost.layers * attention.forward;
  cost.weight_gradient += cost.layers * (weights + parameters.gradients);
  const Seconds forward = average(&LayerTime::products) + average(&LayerTime::elementwise_forward) + attention.forward;
  cost.layer.forward = forward + parameters.gathers;
  cost.layer.backward = average(&LayerTime::input_gradients) + weights + average(&LayerTime::elementwise_backward) + attention.backward + parameters.gathers + parameters.gradients;
  const Recompute& r = p.training.recompute;
  const double launch = cost.layer.launch_forward.value;
  if (r.kind == RecomputeKind::selective) {
    // PyTorch's per-operator policy repeats every second product and the element-wise rest, the others the attention core.
    const bool is_pytorch = p.parallel.framework == Framework::pytorch;
    cost.layer.backward += is_pytorch ? 0.5 * average(&LayerTime::products) + average(&LayerTime::elementwise_forward) : attention.forward;
    cost.layer.launch_backward += Seconds((is_pytorch ? 0.5 : 0.2) * launch);
  } else if (r.kind != RecomputeKind::none) {
    const double again = recomputed_share(p.model, p.parallel, r, index);
    cost.layer.backward += again * (forward - average(&LayerTime::last_product));
    cost.layer.launch_backward += Seconds(again * launch);
  }
}

}  // namespace

std::vector<MatrixProduct> layer_products(const Plan& p, bool is_moe) {
  std::vector<MatrixProduct> products;
  if (!p.model.opaque) visit_products(p, is_moe, [&](const Tensor&, double rows, double out, double in, double batch) { products.push_back({rows, out, in, batch}); });
  return products;
}

MatrixProduct head_product(const Plan& p) {
  const double vocabulary = static_cast<double>(padded_vocabulary(p.model, p.parallel.framework, p.parallel.tensor)) / static_cast<double>(p.parallel.tensor);
  return {tokens_per_micro_batch(p), vocabulary, static_cast<double>(p.model.hidden_size)};
}

double host_bytes_per_parameter(const Plan& p) { return p.training.lora ? std::min(2.0, element_bytes(p.training.lora->base_dtype)) : 2; }

bool copies_ahead(const Plan& p) { return p.training.offload.parameters && shards_parameters(p.parallel.data_sharding); }

SequenceWork sequence_work(const Plan& p) {
  const ForwardFlops forward = forward_flops(p.model, p.training.sequence_length);
  return {forward, recompute_flops(p.model, p.training, p.parallel, forward)};
}

ComputeRates compute_rates(const Plan& p, const EfficiencyConstants& k) {
  const Gpu& g = p.cluster.node.gpu;
  const auto units = [&](DType type) {
    const bool is_narrow = is_low_precision(type);
    return MatrixUnits{matrix_peak(g, type) * matrix_efficiency(g, type, p.cluster.node.power_limit_w, k), g.hbm * k.memory, static_cast<double>(g.sm_count), pairs_multiprocessors(g),
                       (is_narrow ? 2 : 1) * k.product_fill, Seconds(k.kernel_s), type == DType::fp32 ? 4.0 : is_narrow ? 1.0 : 2.0};
  };
  // Linear layers multiply in the dtype of the parameters; attention and head stay 16-bit.
  const DType type = p.training.parameter_dtype, wide = type == DType::fp16 || type == DType::fp32 ? type : DType::bf16;
  ComputeRates rates;
  rates.matrix = units(type);
  rates.matrix16 = wide == type ? rates.matrix : units(wide);
  rates.memory = g.hbm * k.memory;
  rates.state_bytes = optimizer_state_bytes_per_parameter(p);
  if (p.model.opaque) return rates;
  const bool has_moe = p.model.moe.has_value();
  if (has_moe) rates.moe = layer_time(p, true, rates, k);
  if (!has_moe || moe_layers_between(p.model, 0, p.model.num_layers) < p.model.num_layers) rates.dense = layer_time(p, false, rates, k);
  rates.head = head_time(p, rates, k);
  return rates;
}

ComputeCost stage_compute(const Plan& p, const SequenceWork& work, const ComputeRates& rates, Count index, const StageParameters& stage, double trained, bool is_last,
                          const EfficiencyConstants& k) {
  ComputeCost cost;
  cost.layers = layers_per_micro_batch(p.parallel, stage.layers);
  double moe_share = 0;
  if (p.model.moe && stage.layers > 0) moe_share = static_cast<double>(stage_layers(p.model, p.parallel, index).moe) / static_cast<double>(stage.layers);
  const double launch = launch_per_layer(p, k, moe_share);
  cost.layer.launch_forward = Seconds(launch);
  cost.layer.launch_backward = Seconds(k.host_backward * launch);
  if (p.model.opaque) {
    const double share = static_cast<double>(p.training.micro_batch_size) / (static_cast<double>(p.model.opaque->units) * static_cast<double>(p.parallel.tensor * p.parallel.context));
    cost.layer.forward = time_at(Flops(p.model.opaque->flops_per_sample / 3 * share), rates.matrix.rate);
    const double again = p.training.recompute.kind == RecomputeKind::selective ? 0 : recomputed_share(p.model, p.parallel, p.training.recompute, index);
    cost.layer.backward = (2 + again) * cost.layer.forward;
    cost.layer.launch_backward += Seconds(again * launch);
    cost.weight_gradient = cost.layers * cost.layer.forward;
  } else {
    const ParameterTraffic bytes = parameter_traffic(p);
    const bool is_frozen = p.training.lora.has_value();
    const double used = stage.layers > 0 ? cost.layers / static_cast<double>(stage.layers) : 1;  // of two copies a micro-batch passes one
    const double per_layer = cost.layers > 0 ? 1 / cost.layers : 0;
    const auto parameter_time = [&](double held, double with_gradient) {
      return ParameterTime{time_at(Bytes(bytes.gathered * held * used), rates.memory), time_at(Bytes(bytes.gradient * with_gradient * used), rates.memory)};
    };
    const double ends = stage.embedding + stage.head;
    // Of a byte of parameters that live on the host.
    const Seconds copied = copies_ahead(p) ? Bytes(used / static_cast<double>(shard_ranks(p))) / BytesPerSecond(k.host_link_bytes_per_s) : Seconds(0);
    cost.layer.copy = copied * ((stage.total() - ends) * per_layer * host_bytes_per_parameter(p));
    add_layers(cost, p, work, rates, index, moe_share, parameter_time((stage.total() - ends) * per_layer, (is_frozen ? trained : trained - ends) * per_layer), k);
    if (stage.embedding > 0) {
      // Rows read and written; their gradients likewise.
      const Seconds rows = time_at(Bytes(elementwise_factor(p, k) * 4 * tokens_of_stream(p) * static_cast<double>(p.model.hidden_size)), rates.memory);
      const ParameterTime table = parameter_time(stage.embedding, is_frozen ? 0 : stage.embedding);
      cost.first_end = {rows + table.gathers, rows + table.gathers + table.gradients, {}, {}, copied * stage.embedding * 2.0};
    }
    if (is_last) {
      const ParameterTime matrix = parameter_time(stage.head, is_frozen ? 0 : stage.head);
      const Seconds weights = rates.head.weight_gradients + matrix.gradients;
      cost.last_end = {rates.head.products + rates.head.elementwise_forward + matrix.gathers, rates.head.input_gradients + weights + rates.head.elementwise_backward + matrix.gathers, {}, {}, copied * stage.head * 2.0};
      cost.weight_gradient += weights;
    }
  }
  cost.forward = cost.layers * cost.layer.forward + cost.first_end.forward + cost.last_end.forward;
  cost.backward = cost.layers * cost.layer.backward + cost.first_end.backward + cost.last_end.backward;
  cost.launch = cost.layers * (cost.layer.launch_forward + cost.layer.launch_backward);
  cost.updated = updated_parameters(p, trained);
  cost.optimizer = runs_optimizer_on_host(p) ? host_optimizer(p, rates.state_bytes, k).time(cost.updated) : optimizer_time(p, rates, trained, k);
  return cost;
}

}  // namespace wireplan
