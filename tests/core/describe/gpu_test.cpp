#include <catch2/catch_test_macros.hpp>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

FlopsPerSecond tera(double n) { return FlopsPerSecond(n * 1e12); }

Gpu a100() {  // NVIDIA A100 data sheet, dense
  Gpu g;
  g.fp32 = tera(19.5);
  g.tf32 = tera(156);
  g.bf16 = g.fp16 = tera(312);
  g.int8 = tera(624);
  return g;
}

}  // namespace

TEST_CASE("matrix_peak is the part's own rate where it has one", "[describe]") {
  const Gpu g = a100();
  CHECK(matrix_peak(g, DType::fp32) == tera(19.5));
  CHECK(matrix_peak(g, DType::bf16) == tera(312));
  CHECK(matrix_peak(g, DType::fp16) == tera(312));
  CHECK(matrix_peak(g, DType::int8) == tera(624));
}

TEST_CASE("a format without units multiplies in the next wider one", "[describe]") {
  const Gpu g = a100();
  for (const DType t : {DType::fp8, DType::mxfp8, DType::nvfp4, DType::nf4}) CHECK(matrix_peak(g, t) == tera(312));
  Gpu h100 = g;
  h100.fp8 = tera(1979);
  CHECK(matrix_peak(h100, DType::fp8) == tera(1979));
  CHECK(matrix_peak(h100, DType::nvfp4) == tera(1979));
  CHECK(matrix_peak(h100, DType::nf4) == tera(312));  // stored in 4 bit, multiplied in 16
  Gpu v100;
  v100.fp32 = tera(15.7);
  v100.fp16 = tera(125);
  CHECK(matrix_peak(v100, DType::bf16) == tera(15.7));  // no bf16 units
  CHECK(matrix_peak(v100, DType::fp16) == tera(125));
  CHECK(matrix_peak(Gpu{}, DType::bf16) == tera(0));
}

TEST_CASE("capacity is what a process sees", "[describe]") {
  Gpu g;
  g.memory = Bytes(85899345920.0);
  CHECK(capacity(g) == g.memory);
  g.reported = Bytes(85197848576.0);
  CHECK(capacity(g) == g.reported);
}

TEST_CASE("a type the part has no units for is multiplied in the faster 16-bit way", "[describe]") {
  Gpu pascal;  // fp16 at 1/64 of fp32, no tensor cores
  pascal.fp32 = FlopsPerSecond(11.758e12);
  pascal.fp16 = FlopsPerSecond(0.184e12);
  CHECK(matrix_peak(pascal, DType::bf16) == pascal.fp32);
  CHECK(matrix_peak(pascal, DType::fp8) == pascal.fp32);
  CHECK(matrix_peak(pascal, DType::nvfp4) == pascal.fp32);
  Gpu volta;  // tensor cores for fp16 only
  volta.fp32 = FlopsPerSecond(15.7e12);
  volta.fp16 = FlopsPerSecond(125e12);
  CHECK(matrix_peak(volta, DType::fp8) == volta.fp16);
}
