#!/bin/bash
# Starts the plan with torchrun.
# 8 hosts, 8 processes each
set -eu

# Megatron-LM refuses tensor or context parallelism without it before Blackwell: one queue keeps kernels in the order in which communication is to overlap them (https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/training/arguments.py)
export CUDA_DEVICE_MAX_CONNECTIONS=1

# the files beside this one
cd "$(dirname "$0")"
# MEGATRON_ARGS
source ./megatron_args.sh
# run on every host with the host of rank 0, and NODE_RANK counting the hosts from 0
: "${MASTER_ADDR:?the host of rank 0}"
: "${NODE_RANK:?0 to 7}"
# each process on the CPUs and, where they fit, in the memory of the NUMA node its GPU hangs on (https://man7.org/linux/man-pages/man8/numactl.8.html)
rank='numa=(0 0 0 0 1 1 1 1); n=${numa[$LOCAL_RANK]}; exec numactl --cpunodebind=$n --preferred=$n python "$@"'

launcher=(
  torchrun
  --nnodes=8
  # with a fixed rank of each host, rank = node rank · processes + local rank, as the plan has it; elastic rendezvous promises no order (https://docs.pytorch.org/docs/stable/elastic/run.html)
  --node-rank="$NODE_RANK"
  --master-addr="$MASTER_ADDR"
  --master-port="${MASTER_PORT:-29500}"
  # one process for each GPU used
  --nproc-per-node=8
  # the program is started by the line above (https://docs.pytorch.org/docs/stable/elastic/run.html)
  --no-python
)
exec "${launcher[@]}" bash -c "$rank" rank "${MEGATRON_LM:-.}/pretrain_gpt.py" "${MEGATRON_ARGS[@]}" "$@"
