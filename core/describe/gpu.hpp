// A GPU: capacity, dense peaks, memory and link rates, with where each figure comes from (assets/gpus).
#pragma once

#include <string>

#include "core/base/units.hpp"
#include "core/describe/dtype.hpp"

namespace wireplan {

struct Gpu {
  std::string id, name, architecture, form;
  Bytes memory, reported;  // nominal; what a CUDA process sees (0: not known)
  BytesPerSecond hbm;
  // Dense peaks; 0: the part has no such rate or it is not known.
  FlopsPerSecond fp32, tf32, bf16, fp16, fp8, fp4, int8;
  int sm_count = 0;
  double boost_clock_hz = 0, tdp_w = 0;
  int nvlink_generation = 0, nvlink_links = 0;
  BytesPerSecond nvlink;  // per GPU, one direction, all links; 0: none
  bool is_xgmi = false;   // AMD: the links above are Infinity Fabric
  int pcie_generation = 4, pcie_lanes = 16;
  int p2p_pcie = -1;  // 1 yes, 0 no, -1 not known: may peers be reached over PCIe
  std::string source, verified, note;
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// What a CUDA process sees: the reported size where it was seen, else the nominal one.
constexpr Bytes capacity(const Gpu& g) { return g.reported.value > 0 ? g.reported : g.memory; }

// Dense matrix-product peak for inputs of type `t`; falls back to the next wider type the part has (a GPU without fp8 units
// multiplies in bf16 or fp16). 0 only when the preset states no rate at all.
FlopsPerSecond matrix_peak(const Gpu& g, DType t);

}  // namespace wireplan
