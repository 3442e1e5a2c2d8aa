#include "core/text/trainers/megatron_fields.hpp"

#include <algorithm>
#include <utility>

namespace wireplan {
namespace {

constexpr std::string_view kNothing = "decides no byte and no time of a step";
constexpr std::string_view kRecipe = "the recipe of narrow formats; the plan says the format alone";
constexpr std::string_view kStages = "wireplan splits stages evenly";
constexpr std::string_view kDecay = "a number of the optimizer or its schedule";
constexpr std::string_view kData = "data, or what is read of it";
constexpr std::string_view kLogs = "what is logged, saved or evaluated";
constexpr std::string_view kKernel = "a kernel that wireplan takes as Megatron-Core's usual one";

constexpr KeyNote kNotes[] = {
    {"lr", KeyEffect::none, kDecay}, {"min_lr", KeyEffect::none, kDecay}, {"lr_decay_style", KeyEffect::none, kDecay}, {"lr_decay_iters", KeyEffect::none, kDecay}, {"lr_decay_samples", KeyEffect::none, kDecay},
    {"lr_warmup_fraction", KeyEffect::none, kDecay}, {"lr_warmup_iters", KeyEffect::none, kDecay}, {"lr_warmup_samples", KeyEffect::none, kDecay}, {"lr_warmup_init", KeyEffect::none, kDecay}, {"lr_wsd_decay_style", KeyEffect::none, kDecay},
    {"lr_wsd_decay_iters", KeyEffect::none, kDecay}, {"lr_wsd_decay_samples", KeyEffect::none, kDecay}, {"decoupled_lr", KeyEffect::none, kDecay}, {"decoupled_min_lr", KeyEffect::none, kDecay}, {"weight_decay", KeyEffect::none, kDecay},
    {"adam_beta1", KeyEffect::none, kDecay}, {"adam_beta2", KeyEffect::none, kDecay}, {"adam_eps", KeyEffect::none, kDecay}, {"loss_scale", KeyEffect::none, kDecay}, {"initial_loss_scale", KeyEffect::none, kDecay}, {"min_loss_scale", KeyEffect::none, kDecay},
    {"loss_scale_window", KeyEffect::none, kDecay}, {"hysteresis", KeyEffect::none, kDecay}, {"init_method_std", KeyEffect::none, kNothing}, {"embedding_init_method_std", KeyEffect::none, kNothing}, {"seed", KeyEffect::none, kNothing},
    {"norm_epsilon", KeyEffect::none, kNothing}, {"rotary_base", KeyEffect::none, kNothing}, {"rotary_percent", KeyEffect::none, kNothing}, {"rotary_scaling_factor", KeyEffect::none, kNothing}, {"use_rope_scaling", KeyEffect::none, kNothing},
    {"rope_scaling_factor", KeyEffect::none, kNothing}, {"rotary_seq_len_interpolation_factor", KeyEffect::none, kNothing}, {"mscale", KeyEffect::none, kNothing}, {"mscale_all_dim", KeyEffect::none, kNothing}, {"rope_type", KeyEffect::none, kNothing},
    {"train_iters", KeyEffect::none, "the length of the run; wireplan estimate --tokens"}, {"train_samples", KeyEffect::none, "the length of the run; wireplan estimate --tokens"}, {"exit_duration_in_mins", KeyEffect::none, kLogs}, {"exit_interval", KeyEffect::none, kLogs},
    {"data_path", KeyEffect::none, kData}, {"train_data_path", KeyEffect::none, kData}, {"valid_data_path", KeyEffect::none, kData}, {"test_data_path", KeyEffect::none, kData}, {"data_args_path", KeyEffect::none, kData}, {"data_cache_path", KeyEffect::none, kData},
    {"mock_data", KeyEffect::none, kData}, {"split", KeyEffect::none, kData}, {"num_workers", KeyEffect::none, kData}, {"dataloader_type", KeyEffect::none, kData}, {"no_mmap_bin_files", KeyEffect::none, kData}, {"num_dataset_builder_threads", KeyEffect::none, kData},
    {"tokenizer_model", KeyEffect::none, kData}, {"vocab_file", KeyEffect::none, kData}, {"merge_file", KeyEffect::none, kData}, {"tiktoken_pattern", KeyEffect::none, kData}, {"tiktoken_num_special_tokens", KeyEffect::none, kData},
    {"create_attention_mask_in_dataloader", KeyEffect::changes, "without it a batch brings no mask; the plan's implementation decides"}, {"reset_position_ids", KeyEffect::none, kData}, {"reset_attention_mask", KeyEffect::changes, "packed documents attend to themselves alone: less work than the plan counts"}, {"eod_mask_loss", KeyEffect::none, kData},
    {"save", KeyEffect::none, kLogs}, {"load", KeyEffect::none, kLogs}, {"save_interval", KeyEffect::none, kLogs}, {"eval_iters", KeyEffect::none, kLogs}, {"eval_interval", KeyEffect::none, kLogs}, {"log_interval", KeyEffect::none, kLogs},
    {"log_throughput", KeyEffect::none, kLogs}, {"log_progress", KeyEffect::none, kLogs}, {"log_params_norm", KeyEffect::none, kLogs}, {"log_num_zeros_in_grad", KeyEffect::none, kLogs}, {"log_timers_to_tensorboard", KeyEffect::none, kLogs},
    {"log_validation_ppl_to_tensorboard", KeyEffect::none, kLogs}, {"log_memory_to_tensorboard", KeyEffect::none, kLogs}, {"log_world_size_to_tensorboard", KeyEffect::none, kLogs}, {"logging_level", KeyEffect::none, kLogs}, {"timing_log_level", KeyEffect::none, kLogs},
    {"timing_log_option", KeyEffect::none, kLogs}, {"tensorboard_dir", KeyEffect::none, kLogs}, {"tensorboard_log_interval", KeyEffect::none, kLogs}, {"tensorboard_queue_size", KeyEffect::none, kLogs}, {"wandb_project", KeyEffect::none, kLogs}, {"wandb_exp_name", KeyEffect::none, kLogs},
    {"wandb_entity", KeyEffect::none, kLogs}, {"wandb_save_dir", KeyEffect::none, kLogs}, {"profile", KeyEffect::none, kLogs}, {"profile_step_start", KeyEffect::none, kLogs}, {"profile_step_end", KeyEffect::none, kLogs}, {"profile_ranks", KeyEffect::none, kLogs},
    {"use_pytorch_profiler", KeyEffect::none, kLogs}, {"no_load_optim", KeyEffect::none, kLogs}, {"no_load_rng", KeyEffect::none, kLogs}, {"no_save_optim", KeyEffect::none, kLogs}, {"no_save_rng", KeyEffect::none, kLogs}, {"finetune", KeyEffect::none, kLogs}, {"async_save", KeyEffect::none, kLogs},
    {"use_dist_ckpt", KeyEffect::none, kLogs}, {"dist_ckpt_format", KeyEffect::none, kLogs}, {"ckpt_fully_parallel_load", KeyEffect::none, kLogs}, {"ckpt_fully_parallel_save", KeyEffect::none, kLogs}, {"auto_detect_ckpt_format", KeyEffect::none, kLogs},
    {"use_checkpoint_args", KeyEffect::changes, "model arguments come from the checkpoint, which is not in this text"}, {"distributed_backend", KeyEffect::none, kNothing}, {"distributed_timeout_minutes", KeyEffect::none, kNothing}, {"use_mcore_models", KeyEffect::none, "the only layers there are now"},
    {"no_check_for_nan_in_loss_and_grad", KeyEffect::none, kNothing}, {"check_for_nan_in_loss_and_grad", KeyEffect::none, kNothing}, {"calculate_per_token_loss", KeyEffect::none, kNothing}, {"apply_query_key_layer_scaling", KeyEffect::none, kNothing},
    {"attention_softmax_in_fp32", KeyEffect::none, "fused attention computes so anyway"}, {"no_persist_layer_norm", KeyEffect::none, kKernel}, {"no_async_tensor_model_parallel_allreduce", KeyEffect::none, "ignored by Megatron-LM"}, {"use_cpu_initialization", KeyEffect::none, "where weights are made, before the first step"},
    {"rerun_mode", KeyEffect::none, kNothing}, {"no_one_logger", KeyEffect::none, kLogs}, {"moe_aux_loss_coeff", KeyEffect::none, kNothing}, {"moe_z_loss_coeff", KeyEffect::none, kNothing}, {"moe_router_load_balancing_type", KeyEffect::none, kNothing},
    {"moe_router_score_function", KeyEffect::none, kNothing}, {"moe_router_pre_softmax", KeyEffect::none, kNothing}, {"moe_router_topk_scaling_factor", KeyEffect::none, kNothing}, {"moe_router_bias_update_rate", KeyEffect::none, kNothing}, {"moe_router_dtype", KeyEffect::none, "a small part of the step"},
    {"moe_router_num_groups", KeyEffect::changes, "which experts a token may choose limits what it sends; wireplan spreads tokens over all"}, {"moe_router_group_topk", KeyEffect::changes, "which experts a token may choose limits what it sends; wireplan spreads tokens over all"},
    {"moe_router_force_load_balancing", KeyEffect::none, "wireplan takes loads as balanced"}, {"moe_per_layer_logging", KeyEffect::none, kLogs}, {"moe_grouped_gemm", KeyEffect::none, "wireplan takes experts' products as grouped"}, {"moe_permute_fusion", KeyEffect::changes, kKernel},
    {"moe_router_fusion", KeyEffect::changes, kKernel}, {"moe_enable_deepep", KeyEffect::none, "part of the flex dispatcher"}, {"moe_deepep_num_sms", KeyEffect::changes, "how many of the GPU's parts the dispatch takes"}, {"moe_flex_dispatcher_backend", KeyEffect::changes, "how the flex dispatcher sends"},
    {"moe_shared_expert_overlap", KeyEffect::changes, "shared experts beside the dispatch: time that wireplan counts in full"}, {"moe_expert_capacity_factor", KeyEffect::changes, "dropped and padded tokens; wireplan counts all, unpadded"}, {"moe_pad_expert_input_to_capacity", KeyEffect::changes, "padded tokens are not counted"},
    {"overlap_moe_expert_parallel_comm", KeyEffect::changes, "dispatch beside the other half of a batch is not modelled"}, {"delay_wgrad_compute", KeyEffect::changes, "delayed weight gradients are not modelled"}, {"moe_layer_recompute", KeyEffect::changes, "recomputing experts alone is not modelled"},
    {"rampup_batch_size", KeyEffect::changes, "the plan is the run at its full batch"}, {"decrease_batch_size_if_needed", KeyEffect::none, kNothing}, {"decoder_first_pipeline_num_layers", KeyEffect::changes, kStages}, {"decoder_last_pipeline_num_layers", KeyEffect::changes, kStages},
    {"pipeline_model_parallel_layout", KeyEffect::changes, kStages}, {"microbatch_group_size_per_vp_stage", KeyEffect::changes, "how many micro-batches of a stage run in a row"}, {"mtp_num_layers", KeyEffect::changes, "multi-token prediction is not modelled; its layers count no parameters here"}, {"mtp_loss_scaling_factor", KeyEffect::none, kNothing},
    {"fp8_param_gather", KeyEffect::changes, "wireplan gathers parameters in 16 bit"}, {"fp4_param", KeyEffect::changes, "wireplan gathers parameters in 16 bit"}, {"fp8_margin", KeyEffect::none, kRecipe}, {"fp8_interval", KeyEffect::none, kRecipe}, {"fp8_amax_history_len", KeyEffect::none, kRecipe}, {"fp8_amax_compute_algo", KeyEffect::none, kRecipe},
    {"fp4_recipe", KeyEffect::none, kRecipe}, {"first_last_layers_bf16", KeyEffect::changes, "layers in 16 bit among those in fewer"}, {"num_layers_at_start_in_bf16", KeyEffect::changes, "layers in 16 bit among those in fewer"}, {"num_layers_at_end_in_bf16", KeyEffect::changes, "layers in 16 bit among those in fewer"},
    {"reuse_grad_buf_for_mxfp8_param_ag", KeyEffect::changes, "a buffer less, which wireplan counts"}, {"fp32_residual_connection", KeyEffect::changes, "residuals in fp32 are not modelled"}, {"distribute_saved_activations", KeyEffect::changes, "inputs of recomputed layers spread over the tensor group are not modelled; sequence parallelism is"},
    {"optimizer_offload_fraction", KeyEffect::changes, "wireplan offloads all of the optimizer"}, {"overlap_cpu_optimizer_d2h_h2d", KeyEffect::changes, "wireplan does not overlap the offloaded step"}, {"use_torch_optimizer_for_cpu_offload", KeyEffect::changes, kKernel},
    {"ddp_bucket_size", KeyEffect::changes, "wireplan takes Megatron-LM's own size of buckets"}, {"ddp_num_buckets", KeyEffect::changes, "wireplan takes Megatron-LM's own size of buckets"}, {"ddp_average_in_collective", KeyEffect::none, kNothing}, {"use_nccl_ub", KeyEffect::changes, "registered buffers are not modelled"}, {"nccl_ub", KeyEffect::changes, "registered buffers are not modelled"},
    {"use_sharp", KeyEffect::changes, "reduction in the network's switches is not modelled"}, {"overlap_param_gather_with_optimizer_step", KeyEffect::changes, "wireplan gathers behind the forward pass"}, {"no_align_grad_reduce", KeyEffect::none, kNothing}, {"tp_comm_overlap_cfg", KeyEffect::changes, "which products overlap"},
    {"tp_comm_overlap_rs_dgrad", KeyEffect::changes, "which products overlap"}, {"disable_tp_comm_overlap_ag", KeyEffect::changes, "which products overlap"}, {"disable_tp_comm_overlap_rs", KeyEffect::changes, "which products overlap"}, {"disable_tp_comm_bulk_dgrad", KeyEffect::changes, "which products overlap"}, {"disable_tp_comm_bulk_wgrad", KeyEffect::changes, "which products overlap"}, {"tp_comm_bootstrap_backend", KeyEffect::none, kNothing},
    {"cp_comm_type", KeyEffect::changes, "wireplan counts the ring of keys and values"}, {"hierarchical_context_parallel_sizes", KeyEffect::changes, "wireplan counts one ring of keys and values"}, {"cuda_graph_scope", KeyEffect::changes, "what is captured; wireplan takes whole layers"}, {"cuda_graph_warmup_steps", KeyEffect::none, kNothing},
    {"gradient_accumulation_fusion", KeyEffect::changes, "whether products add to the gradient buffer; the plan's implementation decides"}, {"masked_softmax_fusion", KeyEffect::changes, kKernel}, {"no_masked_softmax_fusion", KeyEffect::changes, kKernel}, {"no_bias_gelu_fusion", KeyEffect::changes, kKernel}, {"no_bias_swiglu_fusion", KeyEffect::changes, kKernel},
    {"no_bias_dropout_fusion", KeyEffect::changes, kKernel}, {"no_rope_fusion", KeyEffect::changes, kKernel}, {"deterministic_mode", KeyEffect::changes, "deterministic kernels are slower"}, {"manual_gc", KeyEffect::changes, "keeps the ranks' pauses together; wireplan counts none"}, {"manual_gc_interval", KeyEffect::none, kNothing}, {"empty_unused_memory_level", KeyEffect::changes, "the cache is emptied in every step, which takes time"},
    {"spec", KeyEffect::changes, "layers of another kind than the arguments say"}, {"heterogeneous_layers_config_path", KeyEffect::changes, "layers of other sizes, in a file that is not here"}, {"use_legacy_models", KeyEffect::changes, "layers before Megatron-Core; wireplan takes those of Megatron-Core"}, {"is_hybrid_model", KeyEffect::changes, "state-space layers are not modelled"}, {"hybrid_override_pattern", KeyEffect::changes, "state-space layers are not modelled"},
    {"no_rope_freq", KeyEffect::none, "rotation is a small part of a layer"}, {"torch_fsdp2_reshard_after_forward", KeyEffect::changes, "wireplan gathers again for the backward pass"}, {"init_model_with_meta_device", KeyEffect::none, "where weights are made, before the first step"}, {"suggested_communication_unit_size", KeyEffect::changes, "how much is gathered at once"}, {"fsdp_double_buffer", KeyEffect::changes, "a buffer more, which is not counted"},
    {"node_rank", KeyEffect::none, "of the launch"}, {"master_addr", KeyEffect::none, "of the launch"}, {"master_port", KeyEffect::none, "of the launch"}, {"rdzv_backend", KeyEffect::none, "of the launch"}, {"rdzv_endpoint", KeyEffect::none, "of the launch"}, {"rdzv_id", KeyEffect::none, "of the launch"}, {"tee", KeyEffect::none, "of the launch"}, {"log_dir", KeyEffect::none, "of the launch"},
    {"partition", KeyEffect::none, "of the job"}, {"account", KeyEffect::none, "of the job"}, {"time", KeyEffect::none, "of the job"}, {"job_name", KeyEffect::none, "of the job"}, {"output", KeyEffect::none, "of the job"}, {"error", KeyEffect::none, "of the job"}, {"exclusive", KeyEffect::none, "of the job"}, {"mem", KeyEffect::none, "of the job"}, {"cpus_per_task", KeyEffect::none, "of the job"},
};

constexpr Word kDispatchers[] = {{"alltoall", "alltoall"}, {"allgather", "allgather"}, {"flex", "flex"}, {"alltoall_seq", "alltoall"}};

class Fields {
 public:
  Fields(ConfigReader& r, const MegatronSettings& settings) : r_(r), settings_(settings) {}

  void read() {
    if (!read_megatron_model(r_)) r_.out.missing.push_back("model");
    read_layout();
    read_pipeline();
    read_sharding();
    read_batch();
    read_formats();
    read_recompute();
    read_kernels();
    read_cluster();
  }

 private:
  bool is_open(std::string_view key) const { return std::find(settings_.unresolved.begin(), settings_.unresolved.end(), key) != settings_.unresolved.end(); }
  bool decides(std::string_view key) { return r_.has(key) || settings_.has_defaults; }

  // States the field where the key is there, or its default holds; what comes from outside the text is missing.
  void give(std::string_view path, Json value, std::string_view key) {
    if (is_open(key)) {
      r_.out.missing.emplace_back(path);
      return;
    }
    if (r_.has(key)) r_.give(path, std::move(value), key);
    else if (settings_.has_defaults) r_.give(path, std::move(value), "default of Megatron-LM: " + std::string(key));
  }
  Count count(std::string_view path, std::string_view key, Count otherwise, Count least = 1) {
    const Count n = r_.count(key, otherwise, least);
    give(path, n, key);
    return n;
  }
  bool flag(std::string_view path, std::string_view key) {
    const bool on = r_.flag(key, false);
    give(path, on, key);
    return on;
  }

  void read_layout() {
    r_.give("parallel.framework", "megatron", "the trainer");
    tensor_ = count("parallel.tensor", "tensor_model_parallel_size", 1);
    pipeline_ = count("parallel.pipeline", "pipeline_model_parallel_size", 1);
    context_ = count("parallel.context", "context_parallel_size", 1);
    const bool has_experts = r_.count("num_experts", 0, 0) > 0 || (!settings_.has_defaults && r_.has("moe_token_dispatcher_type"));
    if (has_experts || r_.count("expert_model_parallel_size", 1) > 1) {
      count("parallel.expert", "expert_model_parallel_size", 1);
      const Count experts_tensor = r_.count("expert_tensor_parallel_size", tensor_);
      if (!r_.has("expert_tensor_parallel_size") && !is_open("tensor_model_parallel_size") && decides("tensor_model_parallel_size"))
        r_.give("parallel.expert_tensor", experts_tensor, "default of Megatron-LM: tensor_model_parallel_size");
      else give("parallel.expert_tensor", experts_tensor, "expert_tensor_parallel_size");
      const std::string dispatcher = r_.text("moe_token_dispatcher_type", "allgather");
      if (const std::string_view ours = our_word(kDispatchers, dispatcher); !ours.empty()) give("parallel.moe_dispatcher", ours, "moe_token_dispatcher_type");
      else r_.fail("moe_token_dispatcher_type", "allgather | alltoall | flex", "moe_token_dispatcher_type must be allgather, alltoall or flex, not " + value_text(Json(dispatcher)));
    }
    const bool sequence = r_.flag("sequence_parallel", false);
    if (sequence && tensor_ == 1 && !is_open("tensor_model_parallel_size") && decides("tensor_model_parallel_size")) {
      r_.note(Severity::info, "parallel.sequence_parallel", "Megatron-LM turns sequence_parallel off where tensor_model_parallel_size is 1");
      r_.give("parallel.sequence_parallel", false, "sequence_parallel");
    } else give("parallel.sequence_parallel", sequence, "sequence_parallel");
    if (r_.flag("use_tp_pp_dp_mapping", false)) give("parallel.order", "tp-cp-ep-pp-dp", "use_tp_pp_dp_mapping");
    give("parallel.overlap.tensor", r_.flag("tp_comm_overlap", false), "tp_comm_overlap");
  }

  void read_pipeline() {
    Count stages = r_.count("num_virtual_stages_per_pipeline_rank", r_.count("virtual_pipeline_model_parallel_size", 1));
    std::string_view key = r_.has("num_virtual_stages_per_pipeline_rank") ? "num_virtual_stages_per_pipeline_rank" : "virtual_pipeline_model_parallel_size";
    if (const Count each = r_.count("num_layers_per_virtual_pipeline_stage", 0); each > 0 && stages == 1) {
      key = "num_layers_per_virtual_pipeline_stage";
      const Count ends = (r_.flag("account_for_embedding_in_pipeline_split", false) ? 1 : 0) + (r_.flag("account_for_loss_in_pipeline_split", false) ? 1 : 0);
      const Count layers = r_.count("num_layers", 0) + ends;
      if (layers == ends) r_.leave(key, KeyEffect::changes, "it takes num_layers to know the stages, which is not stated");
      else if (layers % (pipeline_ * each) != 0)
        r_.fail(key, "a divisor of the layers of a stage", std::to_string(layers) + " layers over " + std::to_string(pipeline_) + " stages do not fall into pieces of " + std::to_string(each));
      else stages = layers / (pipeline_ * each);
    }
    const bool both_ends = r_.flag("account_for_embedding_in_pipeline_split", false) && r_.flag("account_for_loss_in_pipeline_split", false);
    const Count layers = r_.count("num_layers", 0);
    // Both ends as a layer each is what wireplan does by itself where the layers alone do not divide.
    if (!both_ends || (layers > 0 && layers % (pipeline_ * stages) == 0))
      for (const char* k : {"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"})
        if (r_.flag(k, false)) r_.leave(k, KeyEffect::changes, kStages);
    const bool overlaps = r_.flag("overlap_p2p_comm", true) && stages > 1;
    if (pipeline_ == 1 && !is_open("pipeline_model_parallel_size")) {
      if (decides("pipeline_model_parallel_size")) {
        r_.give("parallel.pipeline_schedule", "1f1b", "default of Megatron-LM: no pipeline");
        r_.give("parallel.virtual_stages", 1, "default of Megatron-LM: no pipeline");
      }
      return;
    }
    if (stages > 1 || decides("num_layers_per_virtual_pipeline_stage")) {
      r_.give("parallel.pipeline_schedule", stages > 1 ? "interleaved" : "1f1b", stages > 1 ? std::string(key) : "default of Megatron-LM: no virtual stages");
      r_.give("parallel.virtual_stages", stages, stages > 1 ? std::string(key) : "default of Megatron-LM: no virtual stages");
    }
    give("parallel.overlap.pipeline", overlaps, "overlap_p2p_comm");
  }

  void read_sharding() {
    const bool fsdp = r_.flag("use_megatron_fsdp", false) || r_.flag("use_custom_fsdp", false), torch = r_.flag("use_torch_fsdp2", false);
    const bool distributed = r_.flag("use_distributed_optimizer", false);
    std::string strategy = r_.text("data_parallel_sharding_strategy", "no_shard");
    std::string_view key = "use_distributed_optimizer";
    std::string_view sharding = distributed ? "zero1" : "ddp";
    if (torch) {
      sharding = "fsdp";
      key = "use_torch_fsdp2";
      r_.note(Severity::info, "parallel.data_sharding", "PyTorch's FSDP2 inside Megatron-LM is taken as Megatron's own");
    } else if (fsdp) {
      key = "use_megatron_fsdp";
      if (strategy == "optim_grads_params") sharding = "fsdp";
      else if (strategy == "no_shard") sharding = "ddp";
      else sharding = "zero1";
      if (strategy == "optim_grads") r_.leave("data_parallel_sharding_strategy", KeyEffect::changes, "sharded gradients without sharded parameters are not modelled for Megatron; taken as zero1");
    } else if (strategy != "no_shard") {
      r_.leave("data_parallel_sharding_strategy", KeyEffect::none, "it holds with use_megatron_fsdp alone");
    }
    if (decides("use_distributed_optimizer") || fsdp || torch) r_.give("parallel.data_sharding", sharding, fsdp || torch || distributed ? std::string(key) : "default of Megatron-LM: use_distributed_optimizer");
    if (const Count copies = r_.count("num_distributed_optimizer_instances", 1); copies > 1) {
      if (sharding == "ddp") r_.leave("num_distributed_optimizer_instances", KeyEffect::none, "nothing is sharded");
      else r_.out.open.replicas = copies;
    }
    flag("parallel.overlap.gradient_reduce", "overlap_grad_reduce");
    flag("parallel.overlap.parameter_gather", "overlap_param_gather");
  }

  void read_batch() {
    if (const Count n = r_.count("seq_length", 0); n > 0) give("training.sequence_length", n, "seq_length");
    else if (settings_.has_defaults) r_.out.missing.push_back("training.sequence_length");
    const Count micro = r_.count("micro_batch_size", 0), global = r_.count("global_batch_size", 0);
    if (micro > 0) give("training.micro_batch_size", micro, "micro_batch_size");
    else if (settings_.has_defaults) r_.out.missing.push_back("training.micro_batch_size");
    if (global > 0) give("training.global_batch_size", global, "global_batch_size");
    else if (is_open("global_batch_size")) r_.out.missing.push_back("training.global_batch_size");
    else if (micro > 0 && settings_.has_defaults) r_.out.open.rank_batch = micro;
  }

  // What a GPU stores, moves and computes in.
  void read_formats() {
    const bool bf16 = r_.flag("bf16", false), fp16 = r_.flag("fp16", false);
    if (bf16 && fp16) r_.fail("fp16", "bf16 or fp16", "bf16 and fp16 exclude each other. Nearest: bf16");
    const std::string fp8 = r_.text("fp8", ""), fp4 = r_.text("fp4", ""), recipe = r_.text("fp8_recipe", "delayed");
    std::string_view format = bf16 ? "bf16" : fp16 ? "fp16" : "fp32", key = fp16 ? "fp16" : "bf16";
    if (!fp8.empty() && fp8 != "false") {
      format = recipe == "mxfp8" ? "mxfp8" : "fp8";
      key = "fp8";
      if (recipe != "mxfp8" && r_.has("fp8_recipe")) r_.leave("fp8_recipe", KeyEffect::none, kRecipe);
    } else if (!fp4.empty() && fp4 != "false") {
      format = "nvfp4";
      key = "fp4";
    }
    give("training.parameter_dtype", format, key);
    const bool aware = r_.flag("use_precision_aware_optimizer", false);
    const bool half = bf16 || fp16;
    const std::string main_grads = r_.text("main_grads_dtype", "fp32");
    const bool narrow_sum = r_.flag("grad_reduce_in_bf16", false), wide_sum = r_.flag("accumulate_allreduce_grads_in_fp32", false);
    // bf16 gradients are summed in fp32 unless it is said otherwise; those of fp16 in fp16.
    const std::string_view gradients = !half ? "fp32" : narrow_sum || (bf16 && main_grads == "bf16") ? "bf16" : fp16 && !wide_sum ? "fp16" : "fp32";
    if (decides(key)) r_.give("training.gradient_dtype", gradients, narrow_sum ? "grad_reduce_in_bf16" : wide_sum ? "accumulate_allreduce_grads_in_fp32" : "default of Megatron-LM: accumulate_allreduce_grads_in_fp32");
    give("training.master_weights_dtype", half ? Json("fp32") : Json(nullptr), key);
    if (r_.text("main_params_dtype", "fp32") != "fp32") r_.leave("main_params_dtype", KeyEffect::changes, "the plan's master weights are fp32");
    read_optimizer(aware);
  }

  void read_optimizer(bool aware) {
    const std::string name = r_.text("optimizer", "adam");
    const double momentum = [&] {
      const Json* m = r_.find("sgd_momentum");
      return m != nullptr && m->is_number() ? m->get<double>() : 0.9;
    }();
    const char* ours = name == "adam" ? "adamw" : name == "sgd" ? (momentum > 0 ? "sgd-momentum" : "sgd") : name == "muon" || name == "dist_muon" ? "muon" : name == "lion" ? "lion" : nullptr;
    if (ours != nullptr) give("training.optimizer", ours, "optimizer");
    else r_.leave("optimizer", KeyEffect::changes, "an optimizer that wireplan does not model; taken as AdamW");
    const std::string first = r_.text("exp_avg_dtype", "fp32"), second = r_.text("exp_avg_sq_dtype", "fp32");
    const std::string& wider = first == "fp32" || second == "fp32" ? (first == "fp32" ? first : second) : first;
    if (aware && wider != "fp8") give("training.optimizer_state_dtype", wider, first == wider ? "exp_avg_dtype" : "exp_avg_sq_dtype");
    else give("training.optimizer_state_dtype", "fp32", "exp_avg_dtype");
    if (aware && (first != second || wider == "fp8"))
      for (const char* k : {"exp_avg_dtype", "exp_avg_sq_dtype"})
        if (r_.has(k) && (wider == "fp8" || r_.text(k, "") != wider)) r_.leave(k, KeyEffect::changes, "the plan has one format for both moments, of 32 or 16 bit");
    if (r_.has("clip_grad")) {
      const Json* clip = r_.find("clip_grad");
      give("training.details.gradient_clipping", clip->is_number() && clip->get<double>() > 0, "clip_grad");
    }
    flag("training.offload.optimizer", "optimizer_cpu_offload");
    if (r_.count("cpu_offloading_num_layers", 0, 0) > 0) {
      give("training.offload.activations", true, "cpu_offloading_num_layers");
      r_.note(Severity::info, "training.offload.activations", "the plan offloads the activations of all layers");
    }
  }

  void read_recompute() {
    std::string granularity = r_.text("recompute_granularity", r_.flag("recompute_activations", false) ? "selective" : "none");
    const std::string_view key = r_.has("recompute_granularity") ? "recompute_granularity" : "recompute_activations";
    const std::string method = r_.text("recompute_method", "");
    const Count n = r_.count("recompute_num_layers", 1);
    if (granularity == "full") {
      if (method == "block") return give("training.recompute", Json{{"full_layers", n}}, "recompute_num_layers");
      if (method == "uniform") return give("training.recompute", n == 1 ? Json("full") : Json{{"every", n}}, "recompute_method");
      return r_.fail("recompute_method", "uniform | block", "recompute_granularity full takes a recompute_method, uniform or block. Nearest: uniform with recompute_num_layers 1");
    }
    if (granularity == "selective") {
      const Json* modules = r_.find("recompute_modules");
      bool attention = modules == nullptr, others = false;
      const auto look = [&](const Json& m) { (m == "core_attn" ? attention : others) = true; };
      if (modules != nullptr && modules->is_array())
        for (const Json& m : *modules) look(m);
      else if (modules != nullptr) look(*modules);
      if (others) r_.leave("recompute_modules", KeyEffect::changes, attention ? "the plan recomputes attention alone" : "the plan recomputes attention, which is not among these, or whole layers; taken as none");
      return give("training.recompute", attention ? "selective" : "none", key);
    }
    if (granularity != "none" && granularity != "false") return r_.fail("recompute_granularity", "full | selective", "recompute_granularity must be full or selective, not " + value_text(Json(granularity)));
    give("training.recompute", "none", key);
  }

  void read_kernels() {
    const std::string backend = r_.text("attention_backend", "auto");
    const bool local = r_.text("transformer_impl", "transformer_engine") == "local";
    const bool eager = backend == "unfused" || backend == "local" || (local && !r_.flag("use_flash_attn", false));
    give("training.attention", eager ? "eager" : "flash", "attention_backend");
    if (backend == "flash") give("training.details.attention_kernel", "flash", "attention_backend");
    if (backend == "fused") give("training.details.attention_kernel", "cudnn", "attention_backend");
    if (local) give("training.implementation", "megatron-local", "transformer_impl");
    give("training.kernels", "fused", "transformer_impl");  // whichever it is
    give("training.loss", r_.flag("cross_entropy_loss_fusion", false) ? "fused" : "logits-fp32", "cross_entropy_loss_fusion");
    if (r_.text("cross_entropy_fusion_impl", "native") == "te") r_.leave("cross_entropy_fusion_impl", KeyEffect::changes, "Transformer Engine's loss takes 2 bytes a logit, the native one 10; the plan's implementation decides, as megatron-core@2025-09");
    const std::string graphs = r_.text("cuda_graph_impl", "none");
    const bool old = r_.flag("enable_cuda_graph", false) || r_.flag("external_cuda_graph", false);
    give("training.cuda_graphs", old || graphs != "none", old ? (r_.has("enable_cuda_graph") ? "enable_cuda_graph" : "external_cuda_graph") : "cuda_graph_impl");
    for (const char* kind : {"hidden_dropout", "attention_dropout"}) {
      const Json* p = r_.find(kind);
      const double value = p == nullptr ? 0.1 : p->is_number() ? p->get<double>() : -1;
      if (!(value >= 0 && value <= 1)) r_.fail(kind, "0 to 1", std::string(kind) + " must be a number from 0 to 1, not " + (p == nullptr ? "" : value_text(*p)));
      else give(std::string("training.") + kind, number(value), kind);
    }
    if (r_.text("ckpt_format", "torch_dist") == "torch") give("training.checkpoint", "full", "ckpt_format");
  }

  // GPUs by the launch, data parallelism by GPUs.
  void read_cluster() {
    const Count nodes = r_.count("nnodes", r_.count("nodes", 0)), launched = r_.count("nproc_per_node", 0);
    Count each = launched > 0 ? launched : r_.count("ntasks_per_node", 0);
    if (each <= 1)
      if (const Count gpus = r_.has("gpus_per_node") && r_.find("gpus_per_node")->is_number() ? r_.count("gpus_per_node", 0) : 0; gpus > 0) each = std::max(each, gpus);
    const double product = static_cast<double>(tensor_) * static_cast<double>(pipeline_) * static_cast<double>(context_);
    const Count split = product <= 1e15 ? tensor_ * pipeline_ * context_ : 1'000'000'000'000'000;  // more than any launch starts
    const bool is_whole = !is_open("tensor_model_parallel_size") && !is_open("pipeline_model_parallel_size") && !is_open("context_parallel_size");
    const Count world = nodes > 0 && each > 0 ? nodes * each : r_.count("world_size", 0);
    if (const Count data = r_.count("data_parallel_size", 0); data > 0) r_.give("parallel.data", data, "data_parallel_size");
    else if (world > 0 && is_whole && settings_.has_defaults && world % split == 0) r_.give("parallel.data", world / split, nodes > 0 && each > 0 ? "nnodes × nproc_per_node" : "world_size");
    const bool fits = world > 0 && (!is_whole || world % split == 0);
    if (nodes > 0 && each > 0 && fits) {
      r_.give("cluster.nodes", nodes, r_.has("nnodes") ? "nnodes" : "nodes");
      r_.give("cluster.gpus_per_node", each, launched > 0 ? "nproc_per_node" : "ntasks_per_node");
      r_.out.missing.push_back("cluster.node");
      return;
    }
    if (world > 0 && !fits)
      r_.note(Severity::warning, "cluster", "the launch starts " + std::to_string(world) + " processes, which tensor " + std::to_string(tensor_) + " × pipeline " + std::to_string(pipeline_) + " × context " + std::to_string(context_) + " = " + std::to_string(split) + " does not divide: nodes and GPUs are left out");
    r_.out.missing.push_back("cluster");
  }

  ConfigReader& r_;
  const MegatronSettings& settings_;
  Count tensor_ = 1, pipeline_ = 1, context_ = 1;
};

}  // namespace

std::span<const KeyNote> megatron_key_notes() { return kNotes; }

void read_megatron_fields(ConfigReader& r, const MegatronSettings& settings) { Fields(r, settings).read(); }

}  // namespace wireplan
