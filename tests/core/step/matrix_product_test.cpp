#include "core/step/matrix_product.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tests/support/plans.hpp"

using namespace wireplan;

namespace {

// A GPU of 100 units at 1e14 operations a second, memory never in the way, nothing to fill or start.
MatrixUnits ideal() { return {FlopsPerSecond(1e14), BytesPerSecond(0), 100, false, 0, Seconds(0), 2}; }

double relative(const MatrixProduct& p, const MatrixUnits& gpu) { return matrix_product_time(p, gpu) / (flops_of(p) / gpu.rate); }

}  // namespace

TEST_CASE("a product without units or start takes its operations over the rate") {
  MatrixUnits gpu = ideal();
  gpu.units = 0;
  CHECK(matrix_product_time({300, 500, 700, 3}, gpu) == flops_of({300, 500, 700, 3}) / gpu.rate);
  gpu.rate = {};
  CHECK(matrix_product_time({300, 500, 700}, gpu).value == 0);
  CHECK(matrix_product_time({0, 500, 700}, ideal()).value == 0);
}

TEST_CASE("whole waves of whole tiles run at the full rate, one tile more costs at most a wave or a split of the depth") {
  const MatrixProduct full{2560, 1280, 8192};  // 10·10 tiles of 256×128
  CHECK(std::fabs(relative(full, ideal()) - 1) < 1e-12);
  const double above = relative({2561, 1280, 8192}, ideal());
  CHECK(above > 1.05);
  CHECK(above < 1.5);
  // Many waves: the last one does not matter.
  CHECK(relative({25601, 12800, 8192}, ideal()) < 1.02);
}

TEST_CASE("a narrow result leaves units idle, in either orientation") {
  const double narrow = relative({64, 8192, 8192}, ideal());
  CHECK(narrow > 1.3);
  CHECK(std::fabs(relative({8192, 64, 8192}, ideal()) / narrow - 1) < 1e-12);
}

TEST_CASE("filling counts as depth, so shallow products pay more of it") {
  MatrixUnits gpu = ideal();
  gpu.fill = 100;
  CHECK(std::fabs(relative({2560, 1280, 100}, gpu) - 2) < 1e-12);
  CHECK(std::fabs(relative({2560, 1280, 10000}, gpu) - 1.01) < 1e-12);
}

TEST_CASE("thin products wait for memory, and every call starts") {
  MatrixUnits gpu = ideal();
  gpu.memory = BytesPerSecond(1e12);
  gpu.start = Seconds(3e-6);
  const double bytes = 2.0 * (8 * 4096 + 4096 * 4096 + 8 * 4096);
  CHECK(std::fabs(matrix_product_time({8, 4096, 4096}, gpu).value / (bytes / 1e12 + 3e-6) - 1) < 1e-12);
}

TEST_CASE("pairs of multiprocessors: datacentre Blackwell only") {
  const auto pairs = [](const char* gpu) { return pairs_multiprocessors(testing::presets().gpu(gpu).value()); };
  CHECK(pairs("b200-180gb-sxm"));
  CHECK(pairs("gb300-288gb"));
  CHECK_FALSE(pairs("h100-80gb-sxm"));
  CHECK_FALSE(pairs("rtx-5090-32gb"));
  MatrixUnits gpu = ideal();
  gpu.has_pairs = true;
  CHECK(std::fabs(relative({2560, 1280, 8192}, gpu) - 1) < 1e-12);  // 10·5 tiles of 256×256
}
