// What was measured on the user's own machine (wireplan.profile/1). Its curves decide the times of the collectives they
// cover (core/cost/collective.hpp); its rates of matrix products and memory and its fits are carried.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/names.hpp"
#include "core/base/units.hpp"
#include "core/describe/collective.hpp"

namespace wireplan {

// Time of one call against size, of one operation on one set of GPUs.
struct MeasuredCurve {
  struct Point {
    Bytes size;  // as nccl-tests counts it
    Seconds time;
    friend bool operator==(const Point&, const Point&) = default;
  };
  Collective collective = Collective::all_reduce;
  int ranks = 2, nodes = 1;
  std::vector<int> gpus;      // GPU indices of the node, {}: not stated
  std::string dtype, launch;  // "": not stated
  std::vector<Point> points;  // sizes strictly ascending
  friend bool operator==(const MeasuredCurve&, const MeasuredCurve&) = default;
};

struct Profile {
  struct Gemm {
    std::string dtype;
    double m = 0, n = 0, k = 0;
    FlopsPerSecond rate;
    friend bool operator==(const Gemm&, const Gemm&) = default;
  };
  struct Fit {
    Collective collective = Collective::all_reduce;
    std::string link_class;
    Seconds latency;
    BytesPerSecond rate;
    friend bool operator==(const Fit&, const Fit&) = default;
  };
  std::string machine, date, software;  // software: as JSON text, "" for null
  std::vector<MeasuredCurve> curves;
  std::vector<Gemm> gemms;
  BytesPerSecond hbm;  // 0: not measured
  std::vector<Fit> fits;
  friend bool operator==(const Profile&, const Profile&) = default;
};

// Limits: 1,000 curves, 2 to 100,000 ranks, 1 to 10,000 points a curve, sizes 1 to 1e15 bytes and rising, times 1e-9 to 1e6 s.
Errors validate(const Profile& profile, const std::string& prefix);

}  // namespace wireplan
