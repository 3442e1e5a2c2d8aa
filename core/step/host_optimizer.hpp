// The optimizer of an offloaded plan: it updates weights in host memory, where it is bound by that memory's bandwidth.
#pragma once

#include "core/describe/plan.hpp"
#include "core/step/compute.hpp"

namespace wireplan {

// Whether the optimizer runs on the host. With FSDP it does so where parameters are offloaded too: it updates the shards where they lie.
// DeepSpeed without ZeRO offloads nothing.  Source: [pytorch-fsdp-notes], CPUOffload; [deepspeed-zero].
bool runs_optimizer_on_host(const Plan& plan);

// What: one update of a rank's share while the other ranks of its node update theirs:
//   o = (ψ·b + c)·N·g/(s·R)
// b: bytes a parameter costs a kernel that passes once over master weight and states (read, written) and gradient (read); DeepSpeed's also writes
//    16-bit weights. On the host gradients of DeepSpeed and Megatron are fp32.
// ψ: 1 where one such kernel does it (DeepSpeedCPUAdam; PyTorch's fused one, which Megatron's HybridDeviceOptimizer asks for); PyTorch's default
//    on CPUs is a dozen operations with temporaries (EfficiencyConstants::host_optimizer_plain).
// c: bytes of scaling and clipping gradients first, where that happens on the host.
// N parameters the rank updates, g ranks of a node, s sockets, R what vectorised Adam reached of the memory of one socket of such a node.
// Source: [zero-offload21] §5.1, table 4; [megatron-lm] optimizer/__init__.py.  Kind: estimate; threads are taken to be as many as the ranks can share.
// Valid: after validate(plan) passed.  Test: tests/core/step/host_optimizer_test.cpp.
struct HostOptimizer {
  double bytes = 0, passes = 1, clipping = 0;
  double ranks = 1, sockets = 1;
  BytesPerSecond rate;  // of a socket
  Seconds time(double parameters) const;
};
HostOptimizer host_optimizer(const Plan& plan, double state_bytes, const EfficiencyConstants& k);

// R of a node: the last row that fits its CPU and the PCIe generation of its GPUs, else the constant for others.
BytesPerSecond host_memory_rate(const Node& node, const EfficiencyConstants& k);

}  // namespace wireplan
