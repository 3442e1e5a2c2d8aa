#include "core/text/trainers/megatron_options.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/text/plan_defaults.hpp"

namespace wireplan {
namespace {

std::string text_of(Count n) { return std::to_string(n); }

class Writing {
 public:
  explicit Writing(const Plan& plan) : m_(plan.model), t_(plan.training), p_(plan.parallel) {}

  MegatronOptions write() {
    model();
    if (m_.moe) experts();
    layout();
    data_parallel();
    training();
    memory();
    return std::move(out_);
  }

 private:
  void add(OptionGroup group, std::string_view name, std::string value = "") { out_.options.push_back({group, name, std::move(value)}); }
  void flag(OptionGroup group, std::string_view name, bool on) {
    if (on) add(group, name);
  }
  void cannot(std::string_view field, const Json& value, std::string text) { out_.inexpressible.push_back({"model." + std::string(field), value_text(value), std::move(text)}); }

  void model() {
    constexpr OptionGroup g = OptionGroup::model;
    add(g, "num-layers", text_of(m_.num_layers));
    add(g, "hidden-size", text_of(m_.hidden_size));
    add(g, "ffn-hidden-size", text_of(m_.intermediate_size > 0 ? m_.intermediate_size : m_.moe ? m_.moe->intermediate_size : 0));
    add(g, "num-attention-heads", text_of(m_.num_attention_heads));
    if (m_.mla) latent_attention();
    else {
      if (m_.num_key_value_heads != m_.num_attention_heads) {
        add(g, "group-query-attention");
        add(g, "num-query-groups", text_of(m_.num_key_value_heads));
      }
      add(g, "kv-channels", text_of(m_.head_dim));
    }
    feed_forward();
    norms();
    biases();
    positions();
    flag(g, "untie-embeddings-and-output-weights", !m_.tie_word_embeddings);
    if (m_.head_bias) cannot("head_bias", true, "Megatron-LM's head has no bias; left out");
    if (m_.embedding_norm) cannot("embedding_norm", true, "Megatron-LM has no norm behind the embedding; left out");
    if (!m_.final_norm) cannot("final_norm", false, "Megatron-LM always has a final norm");
    if (m_.attention_sinks) add(g, "softmax-type", "learnable");
  }

  void latent_attention() {
    constexpr OptionGroup g = OptionGroup::model;
    const LatentAttention& a = *m_.mla;
    add(g, "multi-latent-attention");
    if (a.q_lora_rank > 0) add(g, "q-lora-rank", text_of(a.q_lora_rank));
    add(g, "kv-lora-rank", text_of(a.kv_lora_rank));
    add(g, "qk-head-dim", text_of(a.qk_nope_head_dim));
    add(g, "qk-pos-emb-head-dim", text_of(a.qk_rope_head_dim));
    add(g, "v-head-dim", text_of(a.v_head_dim));
  }

  void feed_forward() {
    constexpr OptionGroup g = OptionGroup::model;
    switch (m_.mlp) {
      case Mlp::swiglu: return add(g, "swiglu");
      case Mlp::geglu:
        out_.notes.push_back({Severity::info, "model.mlp", "--quick-geglu gates with an approximation of GELU; sizes are those of GEGLU"});
        return add(g, "quick-geglu");
      case Mlp::relu2: return add(g, "squared-relu");
      case Mlp::gelu: return;
      case Mlp::relu: return cannot("mlp", "relu", "Megatron-LM has GELU, squared ReLU, SwiGLU and GEGLU; GELU here, of the same size");
    }
  }

  void norms() {
    constexpr OptionGroup g = OptionGroup::model;
    add(g, "normalization", m_.norm == Norm::rmsnorm ? "RMSNorm" : "LayerNorm");
    flag(g, "apply-layernorm-1p", m_.norm == Norm::layernorm1p);
    if (m_.norm == Norm::layernorm_nobias || m_.norm == Norm::layernorm_noparam) cannot("norm", Json(name_of(m_.norm)), "Megatron-LM's LayerNorm has weight and bias");
    if (m_.norms_per_layer != 2) cannot("norms_per_layer", m_.norms_per_layer, "Megatron-LM's layer has two norms");
    flag(g, "qk-layernorm", m_.qk_norm == QkNorm::per_head || m_.mla.has_value());
    flag(g, "qk-l2-norm", m_.qk_norm == QkNorm::l2_no_weight);
    if (m_.qk_norm == QkNorm::full || (m_.qk_norm == QkNorm::per_head && m_.mla)) cannot("qk_norm", Json(name_of(m_.qk_norm)), "Megatron-LM norms queries and keys head by head; left out");
  }

  void biases() {
    constexpr OptionGroup g = OptionGroup::model;
    flag(g, "disable-bias-linear", !m_.mlp_bias);
    flag(g, "add-qkv-bias", m_.qkv_bias && !m_.mlp_bias);
    if (m_.o_bias != m_.mlp_bias) cannot("o_bias", m_.o_bias, "Megatron-LM's attention output and MLP have biases together");
    if (m_.mlp_bias && !m_.qkv_bias) cannot("qkv_bias", false, "Megatron-LM's layers with biases have one on queries, keys and values as well");
  }

  void positions() {
    constexpr OptionGroup g = OptionGroup::model;
    add(g, "position-embedding-type", m_.position == Position::learned ? "learned_absolute" : m_.position == Position::rope ? "rope" : "none");
    if (m_.position == Position::alibi) cannot("position", "alibi", "Megatron-LM has no ALiBi; no positions here");
    add(g, "max-position-embeddings", text_of(m_.max_position_embeddings > t_.sequence_length ? m_.max_position_embeddings : t_.sequence_length));
    if (m_.position == Position::learned && m_.max_position_embeddings < t_.sequence_length)
      cannot("max_position_embeddings", m_.max_position_embeddings, "Megatron-LM takes no sequence beyond it; raised to sequence_length");
    if (m_.extra_position_rows > 0) cannot("extra_position_rows", m_.extra_position_rows, "Megatron-LM's table has no rows besides positions");
    if (m_.sliding_window > 0) add(g, "window-size", "\"(" + text_of(m_.sliding_window) + ",0)\"");
    if (m_.sliding_window > 0 && m_.sliding_window_global_every > 0) add(g, "window-attn-skip-freq", text_of(m_.sliding_window_global_every));
  }

  void experts() {
    constexpr OptionGroup g = OptionGroup::experts;
    const MixtureOfExperts& e = *m_.moe;
    add(g, "num-experts", text_of(e.num_experts));
    add(g, "moe-router-topk", text_of(e.experts_per_token));
    add(g, "moe-ffn-hidden-size", text_of(e.intermediate_size));
    if (e.shared_intermediate_size > 0) add(g, "moe-shared-expert-intermediate-size", text_of(e.shared_intermediate_size));
    if (e.shared_gate && e.shared_intermediate_size > 0) {
      add(g, "moe-shared-expert-gate");
      out_.notes.push_back({Severity::info, "model.moe.shared_gate", "--moe-shared-expert-gate is an argument of releases after autumn 2025; before, the gate is a field of Megatron-Core's configuration alone"});
    }
    if (e.router_bias && e.router_bias_is_correction) {
      add(g, "moe-router-enable-expert-bias");
      add(g, "moe-router-score-function", "sigmoid");  // which the bias takes
    }
    if (e.router_bias && !e.router_bias_is_correction) cannot("moe.router_bias", "trained", "Megatron-LM's router has no trained bias; left out");
    if (e.expert_bias != m_.mlp_bias) cannot("moe.expert_bias", e.expert_bias, "Megatron-LM's experts have biases where other layers have");
    if (e.first_dense_layers > 0) add(g, "moe-layer-freq", "\"([0]*" + text_of(e.first_dense_layers) + "+[1]*" + text_of(m_.num_layers - e.first_dense_layers) + ")\"");
    if (e.every > 1) {
      if (e.first_dense_layers > 0) cannot("moe.every", e.every, "with leading dense layers all others have experts here");
      else {
        const Count whole = m_.num_layers / e.every, rest = m_.num_layers % e.every;
        add(g, "moe-layer-freq", "\"([0]*" + text_of(e.every - 1) + "+[1]*1)*" + text_of(whole) + (rest > 0 ? "+[0]*" + text_of(rest) : "") + "\"");
      }
    }
    const bool half = t_.parameter_dtype != DType::fp32 && t_.parameter_dtype != DType::fp16;
    flag(g, "moe-grouped-gemm", half);  // bf16 alone
    if (t_.parameter_dtype == DType::fp16 && p_.expert > 1) out_.notes.push_back({Severity::warning, "training.parameter_dtype", "Megatron-LM refuses expert parallelism in fp16: set training.parameter_dtype to bf16"});
    add(g, "moe-token-dispatcher-type", std::string(name_of(p_.moe_dispatcher)));
    flag(g, "moe-enable-deepep", p_.moe_dispatcher == MoeDispatcher::flex);
    add(g, "expert-model-parallel-size", text_of(p_.expert));
    add(g, "expert-tensor-parallel-size", text_of(p_.expert_tensor));
  }

  void layout() {
    constexpr OptionGroup g = OptionGroup::parallel;
    add(g, "tensor-model-parallel-size", text_of(p_.tensor));
    flag(g, "sequence-parallel", p_.sequence_parallel && p_.tensor > 1);
    flag(g, "tp-comm-overlap", p_.overlap.tensor && p_.sequence_parallel && p_.tensor > 1);
    add(g, "pipeline-model-parallel-size", text_of(p_.pipeline));
    if (p_.pipeline > 1) {
      const bool interleaves = p_.pipeline_schedule == PipelineSchedule::interleaved && p_.virtual_stages > 1;
      if (interleaves) add(g, "num-virtual-stages-per-pipeline-rank", text_of(p_.virtual_stages));
      flag(g, "no-overlap-p2p-communication", interleaves && !p_.overlap.pipeline);
      const Count pieces = p_.pipeline * (interleaves ? p_.virtual_stages : 1);
      // Both ends count as a layer each where the layers alone do not divide, as wireplan splits.
      if (m_.num_layers % pieces != 0) {
        add(g, "account-for-embedding-in-pipeline-split");
        add(g, "account-for-loss-in-pipeline-split");
      }
      if (interleaves && p_.pipeline == 2 && !p_.overlap.pipeline)
        out_.notes.push_back({Severity::warning, "parallel.overlap.pipeline", "Megatron-LM refuses two interleaved stages without overlapped communication: set parallel.overlap.pipeline or use 1f1b"});
    }
    add(g, "context-parallel-size", text_of(p_.context));
    if (p_.context > 1 && t_.sequence_length % (2 * p_.context) != 0)
      out_.notes.push_back({Severity::warning, "training.sequence_length", "Megatron-LM takes a sequence of a multiple of 2 × context-parallel-size"});
    flag(g, "use-tp-pp-dp-mapping", p_.order == "tp-cp-ep-pp-dp");
  }

  void data_parallel() {
    constexpr OptionGroup g = OptionGroup::data_parallel;
    const bool fsdp = shards_parameters(p_.data_sharding);
    flag(g, "use-distributed-optimizer", p_.data_sharding != DataSharding::ddp);
    if (fsdp) {
      add(g, "use-megatron-fsdp");
      add(g, "data-parallel-sharding-strategy", "optim_grads_params");
      add(g, "no-gradient-accumulation-fusion");
      add(g, "ckpt-format", "fsdp_dtensor");  // the only one it has
    }
    const Count ranks = p_.data * p_.context;
    if (p_.data_sharding != DataSharding::ddp && p_.shard_group > 0 && p_.shard_group < ranks) add(g, "num-distributed-optimizer-instances", text_of(ranks / p_.shard_group));
    flag(g, "overlap-grad-reduce", p_.overlap.gradient_reduce);
    // It takes a distributed optimizer and overlapped reduction.
    flag(g, "overlap-param-gather", p_.overlap.parameter_gather && p_.overlap.gradient_reduce && p_.data_sharding != DataSharding::ddp);
    flag(g, "grad-reduce-in-bf16", t_.gradient_dtype == DType::bf16 && t_.parameter_dtype != DType::fp32);
    flag(g, "accumulate-allreduce-grads-in-fp32", t_.gradient_dtype == DType::fp32 && t_.parameter_dtype != DType::fp32);
  }

  void training() {
    constexpr OptionGroup g = OptionGroup::training;
    add(g, "micro-batch-size", text_of(t_.micro_batch_size));
    add(g, "global-batch-size", text_of(t_.global_batch_size));
    add(g, "seq-length", text_of(t_.sequence_length));
    if (t_.parameter_dtype == DType::fp16) add(g, "fp16");
    else if (t_.parameter_dtype != DType::fp32) add(g, "bf16");
    if (t_.parameter_dtype == DType::fp8) add(g, "fp8-format", "hybrid");
    if (t_.parameter_dtype == DType::mxfp8) {
      add(g, "fp8-format", "e4m3");
      add(g, "fp8-recipe", "mxfp8");
    }
    if (t_.parameter_dtype == DType::nvfp4) add(g, "fp4-format", "e2m1");
    optimizer();
    add(g, "hidden-dropout", format_exact(t_.hidden_dropout));
    add(g, "attention-dropout", format_exact(t_.attention_dropout));
    const AttentionKernel kernel = t_.details && t_.details->attention_kernel ? *t_.details->attention_kernel : AttentionKernel::math;
    if (t_.attention == Attention::eager) add(g, "attention-backend", "unfused");
    else if (kernel == AttentionKernel::flash) add(g, "attention-backend", "flash");
    else if (kernel == AttentionKernel::cudnn) add(g, "attention-backend", "fused");
    flag(g, "cross-entropy-loss-fusion", t_.loss != Loss::logits_fp32);
    if (implementation_id(t_.implementation) == "megatron-local") {
      add(g, "transformer-impl", "local");
      flag(g, "use-flash-attn", t_.attention == Attention::flash);
    }
    if (t_.cuda_graphs) {
      add(g, "cuda-graph-impl", "transformer_engine");
      if (t_.recompute.kind != RecomputeKind::none && t_.recompute.kind != RecomputeKind::selective)
        out_.notes.push_back({Severity::warning, "training.cuda_graphs", "Megatron-LM refuses CUDA graphs with recomputed layers: set training.cuda_graphs or training.recompute otherwise"});
    }
    if (t_.details && t_.details->gradient_clipping) add(g, "clip-grad", *t_.details->gradient_clipping ? "1.0" : "0.0");
    if (t_.checkpoint == Checkpoint::full && !shards_parameters(p_.data_sharding)) add(g, "ckpt-format", "torch");
  }

  void optimizer() {
    constexpr OptionGroup g = OptionGroup::training;
    const bool is_sgd = t_.optimizer == Optimizer::sgd || t_.optimizer == Optimizer::sgd_momentum;
    const bool shards = p_.data_sharding != DataSharding::ddp;
    if (t_.optimizer == Optimizer::muon) {
      add(g, "optimizer", "muon");
      if (shards) out_.notes.push_back({Severity::warning, "training.optimizer", "Megatron-LM's muon takes no distributed optimizer: set parallel.data_sharding to ddp"});
    } else if (is_sgd) {
      add(g, "optimizer", "sgd");
      add(g, "sgd-momentum", t_.optimizer == Optimizer::sgd ? "0.0" : "0.9");
    } else add(g, "optimizer", "adam");
    const bool narrow = (t_.optimizer_state_dtype == DType::bf16 || t_.optimizer_state_dtype == DType::fp16) && shards && !is_sgd;
    flag(g, "use-precision-aware-optimizer", narrow || t_.offload.optimizer);
    if (narrow) {
      add(g, "exp-avg-dtype", std::string(name_of(t_.optimizer_state_dtype)));
      add(g, "exp-avg-sq-dtype", std::string(name_of(t_.optimizer_state_dtype)));
    }
    flag(g, "optimizer-cpu-offload", t_.offload.optimizer);
  }

  void memory() {
    constexpr OptionGroup g = OptionGroup::memory;
    switch (t_.recompute.kind) {
      case RecomputeKind::none: break;
      case RecomputeKind::selective: add(g, "recompute-granularity", "selective"); break;
      case RecomputeKind::full:
      case RecomputeKind::every:
      case RecomputeKind::full_layers:
        add(g, "recompute-granularity", "full");
        add(g, "recompute-method", t_.recompute.kind == RecomputeKind::full_layers ? "block" : "uniform");
        add(g, "recompute-num-layers", text_of(t_.recompute.kind == RecomputeKind::full ? 1 : t_.recompute.n));
    }
    // All but one of the layers, the most it takes, where it takes any.
    if (t_.offload.activations && p_.pipeline == 1 && t_.recompute.kind == RecomputeKind::none && m_.num_layers > 1) add(g, "cpu-offloading-num-layers", text_of(m_.num_layers - 1));
  }

  const Model& m_;
  const Training& t_;
  const Parallel& p_;
  MegatronOptions out_;
};

}  // namespace

MegatronOptions megatron_options(const Plan& plan) { return Writing(plan).write(); }

}  // namespace wireplan
