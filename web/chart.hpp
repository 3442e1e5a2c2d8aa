// What the chart of collectives shows: one operation on one group of GPUs, time against size as predicted, as measured, as the plan
// sends it. Made when the plan or the group changes, never while drawing.
#pragma once

#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/cost/collective.hpp"

namespace wireplan {

struct CollectiveChart {
  struct Point {
    Bytes size;
    BytesPerSecond low, bus, high;  // bus bandwidth with its band
    CollectiveCall call;
  };
  struct Line {  // what another algorithm would give, or this one without the user's measurements
    std::string name;
    std::vector<Point> points;
  };
  struct Measured {
    Bytes size;
    Seconds time, predicted;  // predicted without these measurements; 0: this cluster cannot run it
    BytesPerSecond bus;
  };
  struct Sent {
    Bytes size;
    std::string_view name;
    bool is_shown = false;
  };

  std::string key;  // "row.2": a row of communication; "curve.0": of the profile
  Collective collective{};
  int ranks = 0, nodes = 1, groups = 1;       // groups: at the same time
  std::vector<std::vector<Point>> predicted;  // a piece for each algorithm and protocol, by size; they join where it switches
  std::vector<Line> others;
  std::vector<Measured> measured;
  std::vector<Sent> sent;
  std::string wire;           // the link that bounds a ring
  BytesPerSecond wire_limit;  // bus bandwidth it allows by its planning rate; 0: not known
  double median_error = 0, worst_error = 0;  // |predicted / measured - 1|
  std::string problem;                       // why nothing is predicted

  // The predicted point nearest to a size; nullptr: nothing is predicted.
  const Point* at(Bytes size) const;
};

inline constexpr double kLeastChartBytes = 1024, kMostChartBytes = 8589934592.0;  // 1 KiB to 8 GiB

// Rows of communication and curves of the profile that can be shown, by key.
struct ChartChoice {
  std::string key;
  Collective collective{};
  int ranks = 0, nodes = 1;
  std::string_view name;  // of a row of communication, empty: measured only
  Bytes size;             // of one of its calls
};
std::vector<ChartChoice> chart_choices(const Plan& plan, const Estimate& estimate);

// Empty where no choice has the key.
CollectiveChart collective_chart(const Plan& plan, const Estimate& estimate, const LinkConstants& constants, std::string_view key);

}  // namespace wireplan
