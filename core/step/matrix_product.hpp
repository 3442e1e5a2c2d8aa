// Time of one matrix product on a GPU: tiles, waves, filling, memory.
//
// Notation: m×n×k, g of them in one call; tile t_m×t_n; U units that work on a tile each.
#pragma once

#include "core/base/units.hpp"
#include "core/describe/dtype.hpp"
#include "core/describe/gpu.hpp"

namespace wireplan {

struct MatrixProduct { double m = 0, n = 0, k = 0, batch = 1; };

constexpr Flops flops_of(const MatrixProduct& p) { return Flops(2 * p.m * p.n * p.k * p.batch); }

// What products run at: the rate that long ones reach, the GPU's memory.
struct MatrixUnits {
  FlopsPerSecond rate;
  BytesPerSecond memory;
  double units = 0;         // U: multiprocessors; 0: not known
  bool has_pairs = false;   // two of them share the operands of a tile twice as large
  double fill = 0;          // k0
  Seconds start;
  double input_bytes = 2;
};

// Datacentre Blackwell multiplies on pairs of multiprocessors (tcgen05, cta_group::2); the parts without NVLink do not.
bool pairs_multiprocessors(const Gpu& gpu);

// what: seconds of g products m×n×k in one call.
// formula: max(min over tiles(⌈⌈m/t_m⌉·⌈n/t_n⌉·g/U⌉·2·t_m·t_n·(k + k0)/(r·R/U), 2·m·n·(k + k0)·g/(0.75·R) + 2 µs), bytes/memory) + start;
//   the second of the inner two splits k over units that would idle in the last wave.
// where: R rate; r what a tile's shape reaches of the rate of the largest: it reads its operands from shared memory more often; k0 what filling and
//   emptying the pipeline of a tile costs, as depth; start: launch and tail of a kernel on the GPU.
// source: [published-runs]; tile shapes of CUTLASS's and cuBLAS's kernels.  kind: estimate.  valid: any sizes; a rate that is not known counts as no time,
//   unknown units as work without waves.  test: tests/core/step/matrix_product_test.cpp.
Seconds matrix_product_time(const MatrixProduct& product, const MatrixUnits& gpu);

}  // namespace wireplan
