# Megatron-Bridge: a recipe with the plan's fields set over its own.
import torch
from megatron.core.transformer.enums import AttnBackend
from megatron.bridge.recipes.llama import llama3_70b_pretrain_config
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.mixed_precision import MixedPrecisionConfig, get_mixed_precision_config
from megatron.bridge.training.pretrain import pretrain

cfg = llama3_70b_pretrain_config()

# How it is split.
cfg.model.tensor_model_parallel_size = 8
cfg.model.sequence_parallel = True
cfg.model.pipeline_model_parallel_size = 4
cfg.model.virtual_pipeline_model_parallel_size = 5
cfg.model.pipeline_dtype = torch.bfloat16
cfg.model.context_parallel_size = 1

# Data parallelism.
cfg.ddp.use_distributed_optimizer = True
cfg.optimizer.use_distributed_optimizer = True
cfg.ddp.use_megatron_fsdp = False
cfg.ddp.overlap_grad_reduce = False
cfg.ddp.overlap_param_gather = False
cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False, overlap_p2p_comm=False)

# A step.
cfg.train.micro_batch_size = 1
cfg.train.global_batch_size = 128
cfg.model.seq_length = 8192
cfg.dataset.sequence_length = 8192
cfg.mixed_precision = get_mixed_precision_config("bf16_mixed")
cfg.mixed_precision.grad_reduce_in_fp32 = True
cfg.optimizer.optimizer = "adam"
cfg.optimizer.use_precision_aware_optimizer = False
cfg.optimizer.exp_avg_dtype = torch.float32
cfg.optimizer.exp_avg_sq_dtype = torch.float32
cfg.optimizer.optimizer_cpu_offload = False
cfg.model.cross_entropy_loss_fusion = False
cfg.model.attention_backend = AttnBackend.auto
cfg.model.hidden_dropout = 0
cfg.model.attention_dropout = 0
cfg.model.cuda_graph_impl = "none"

# Memory for time.
cfg.model.recompute_granularity = None

if __name__ == "__main__":
    pretrain(cfg, forward_step)
