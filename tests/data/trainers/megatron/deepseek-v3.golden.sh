#!/bin/bash
# Arguments of Megatron-LM (pretrain_gpt.py): source this, then pass "${MEGATRON_ARGS[@]}".

# The model.
MODEL_ARGS=(
  --num-layers 62
  --hidden-size 7168
  --ffn-hidden-size 18432
  --num-attention-heads 128
  --multi-latent-attention
  --q-lora-rank 1536
  --kv-lora-rank 512
  --qk-head-dim 128
  --qk-pos-emb-head-dim 64
  --v-head-dim 128
  --swiglu
  --normalization RMSNorm
  --qk-layernorm
  --disable-bias-linear
  --position-embedding-type rope
  --max-position-embeddings 163840
  --untie-embeddings-and-output-weights
)

# Its experts.
MOE_ARGS=(
  --num-experts 256
  --moe-router-topk 8
  --moe-ffn-hidden-size 2048
  --moe-shared-expert-intermediate-size 2048
  --moe-router-enable-expert-bias
  --moe-router-score-function sigmoid
  --moe-layer-freq "([0]*3+[1]*59)"
  --moe-grouped-gemm
  --moe-token-dispatcher-type alltoall
  --expert-model-parallel-size 64
  --expert-tensor-parallel-size 1
)

# How it is split: tensor, pipeline, context.
PARALLEL_ARGS=(
  --tensor-model-parallel-size 1
  --pipeline-model-parallel-size 16
  --account-for-embedding-in-pipeline-split
  --account-for-loss-in-pipeline-split
  --context-parallel-size 1
)

# Data parallelism: who keeps and sends what.
DATA_PARALLEL_ARGS=(
  --use-distributed-optimizer
  --accumulate-allreduce-grads-in-fp32
)

# A step: batch, formats, optimizer, kernels.
TRAINING_ARGS=(
  --micro-batch-size 1
  --global-batch-size 15360
  --seq-length 4096
  --bf16
  --fp8-format hybrid
  --optimizer adam
  --use-precision-aware-optimizer
  --exp-avg-dtype bf16
  --exp-avg-sq-dtype bf16
  --hidden-dropout 0
  --attention-dropout 0
)

# Memory for time.
MEMORY_ARGS=(
  --recompute-granularity selective
)

# Not part of a plan, and yours to choose: data, tokenizer, length, learning rate. With these it runs on made-up data.
RUN_ARGS=(
  --mock-data
  --tokenizer-type NullTokenizer
  --vocab-size 129279
  --train-iters 100
  --lr 1e-4
  --log-interval 1
  --eval-iters 0
)

MEGATRON_ARGS=(
  "${MODEL_ARGS[@]}"
  "${MOE_ARGS[@]}"
  "${PARALLEL_ARGS[@]}"
  "${DATA_PARALLEL_ARGS[@]}"
  "${TRAINING_ARGS[@]}"
  "${MEMORY_ARGS[@]}"
  "${RUN_ARGS[@]}"
)
