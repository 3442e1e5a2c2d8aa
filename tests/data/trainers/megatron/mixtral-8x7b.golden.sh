#!/bin/bash
# Arguments of Megatron-LM (pretrain_gpt.py): source this, then pass "${MEGATRON_ARGS[@]}".

# The model.
MODEL_ARGS=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --group-query-attention
  --num-query-groups 8
  --kv-channels 128
  --swiglu
  --normalization RMSNorm
  --disable-bias-linear
  --position-embedding-type rope
  --max-position-embeddings 32768
  --untie-embeddings-and-output-weights
)

# Its experts.
MOE_ARGS=(
  --num-experts 8
  --moe-router-topk 2
  --moe-ffn-hidden-size 14336
  --moe-grouped-gemm
  --moe-token-dispatcher-type alltoall
  --expert-model-parallel-size 8
  --expert-tensor-parallel-size 1
)

# How it is split: tensor, pipeline, context.
PARALLEL_ARGS=(
  --tensor-model-parallel-size 1
  --pipeline-model-parallel-size 4
  --num-virtual-stages-per-pipeline-rank 8
  --no-overlap-p2p-communication
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
  --global-batch-size 256
  --seq-length 4096
  --bf16
  --optimizer adam
  --hidden-dropout 0
  --attention-dropout 0
)

# Memory for time.
MEMORY_ARGS=(
)

# Not part of a plan, and yours to choose: data, tokenizer, length, learning rate. With these it runs on made-up data.
RUN_ARGS=(
  --mock-data
  --tokenizer-type NullTokenizer
  --vocab-size 31999
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
