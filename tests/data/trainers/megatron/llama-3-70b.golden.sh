#!/bin/bash
# Arguments of Megatron-LM (pretrain_gpt.py): source this, then pass "${MEGATRON_ARGS[@]}".

# The model.
MODEL_ARGS=(
  --num-layers 80
  --hidden-size 8192
  --ffn-hidden-size 28672
  --num-attention-heads 64
  --group-query-attention
  --num-query-groups 8
  --kv-channels 128
  --swiglu
  --normalization RMSNorm
  --disable-bias-linear
  --position-embedding-type rope
  --max-position-embeddings 8192
  --untie-embeddings-and-output-weights
)

# How it is split: tensor, pipeline, context.
PARALLEL_ARGS=(
  --tensor-model-parallel-size 8
  --sequence-parallel
  --pipeline-model-parallel-size 4
  --num-virtual-stages-per-pipeline-rank 5
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
  --global-batch-size 128
  --seq-length 8192
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
  --vocab-size 128255
  --train-iters 100
  --lr 1e-4
  --log-interval 1
  --eval-iters 0
)

MEGATRON_ARGS=(
  "${MODEL_ARGS[@]}"
  "${PARALLEL_ARGS[@]}"
  "${DATA_PARALLEL_ARGS[@]}"
  "${TRAINING_ARGS[@]}"
  "${MEMORY_ARGS[@]}"
  "${RUN_ARGS[@]}"
)
