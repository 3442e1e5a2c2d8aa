// exp, log and pow from one source, so that native and wasm builds give the same bits.
//
// C libraries differ in the last place (seen between glibc and Emscripten's musl). Only operations that IEEE 754 rounds
// exactly (+ - * / sqrt, scaling by powers of two) are used, and contraction into FMA is off in the whole core.
// Accuracy: relative error below 1e-14 on the ranges stated; tests/core/base/math_test.cpp checks against the C library.
#pragma once

namespace wireplan {

double exponential(double x);                // e^x; 0 below -745, the largest double above 709.7
double natural_log(double x);                // ln x for finite x > 0; for other x the lowest double
double power(double base, double exponent);  // base^exponent for base > 0, 0 for base <= 0
double log2_of(double x);                    // log2 x; exact for powers of two

}  // namespace wireplan
