// wireplan measure gemm: what a GPU's matrix products and memory reach, into a profile.
#pragma once

#include "native/options.hpp"

namespace wireplan {

void define_measure_gemm(CLI::App& measure, Options& options);
int run_measure_gemm(const Options& options);

}  // namespace wireplan
