#!/usr/bin/env bash
# Compiles native/measure/nccl_kernels.cu to the PTX text that the build embeds (clang 19; no CUDA toolkit):
#
#   tools/nccl_kernels.sh           writes native/measure/nccl_kernels.ptx
#   tools/nccl_kernels.sh FILE      writes FILE
#
# sm_70 is the oldest GPU that NCCL 2.18 and later still serve; the driver compiles the text for what is there.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-native/measure/nccl_kernels.ptx}
"${CLANG:-clang++-19}" -x cuda -std=c++20 -O2 -Wall -Wextra -Wno-unknown-cuda-version -Wno-builtin-macro-redefined \
  --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -ffp-contract=off --cuda-path=/nonexistent -I. -S native/measure/nccl_kernels.cu -o "$out"
