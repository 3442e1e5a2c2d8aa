// From which link speed on another sharding is faster, and what link speed a plan needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/answer/alternatives.hpp"
#include "core/answer/link_classes.hpp"

namespace wireplan {

// Factors on the bandwidth that are looked at, and how near to a sign change is near enough.
inline constexpr double kSlowestLinks = 1.0 / 64, kFastestLinks = 64, kCrossingWidth = 1.01;
inline constexpr int kLinkSpeeds = 25;  // half octaves from the slowest to the fastest
double link_speed(int i);               // the i-th of them as a factor; that in the middle is 1
inline constexpr double kDefaultExposed = 0.05;  // below 3 % the wiring keeps up, from 10 % on it does not (estimate.hpp)

// A speed of the asked link.
struct LinkNeed {
  double factor = 1;
  BytesPerSecond rate;     // factor · the link's rate
  std::string class_name;  // link_class_name()
  int nics = 0;            // NICs of today's rate that carry as much; 0 inside a node
};

struct ShardingTimes {
  DataSharding sharding{};
  std::string label;
  bool fits = false, chosen = false;
  std::vector<Seconds> times;  // the step at each link_speed()
  Seconds slowest() const { return times.front(); }
  Seconds now() const { return times[kLinkSpeeds / 2]; }
  Seconds fastest() const { return times.back(); }
};

// Two shardings, `less` before `more` in the order of the framework's list.
struct ShardingPair {
  std::size_t less = 0, more = 0;  // into Crossover::shardings
  struct Crossing { LinkNeed at; std::size_t faster_above = 0; };
  std::vector<Crossing> crossings;  // slow to fast; empty: never within the factors
  int faster = -1;                  // without a crossing the one that is faster all along; -1: equally fast
  double largest_difference = 0;    // of their times at any of the speeds, over the time of `more`
  std::string text;
};

// The fastest of the shardings that fit, over a stretch of link speeds.
struct FastestRange {
  std::size_t sharding = 0;
  bool from_slowest = true;
  LinkNeed from;  // of the later ones
};

enum class ExposedAnswer : unsigned char { always, from, never };  // within the factors
template <> inline constexpr std::array<std::string_view, 3> kNames<ExposedAnswer> = {"always", "from", "never"};

struct ExposedNeed {
  AskedLink link;  // of the message that shows most, data-parallel or not
  double limit = kDefaultExposed, now = 0, at_fastest = 0;  // shares of the step: asked for, at 1, at kFastestLinks
  ExposedAnswer answer = ExposedAnswer::always;
  LinkNeed need;  // for `from`
  std::string text;
};

struct Crossover {
  AskedLink link;
  std::vector<ShardingTimes> shardings;
  std::vector<ShardingPair> pairs;
  std::vector<FastestRange> fastest;
  ExposedNeed exposed;
  double bound_from = 0;    // factor from which on something else than the link binds in the plan itself, StepOnLinks::kNeverBound: nothing
  std::string text, basis;  // the ranges in a sentence; what was scaled and what was held
};

// what: where the step times of the plan's framework's shardings cross as one place's links get faster, and from which speed on at most
// `limit` of the plan's own step is exposed communication.
// formula: sign changes of t_a(x) - t_b(x) and of exposed(x)/t(x) - limit over 1/64 <= x <= 64, looked for in half octaves and bisected to
// 1 %; t as in link_speed.hpp.
// where: the link is that of the data-parallel message that shows most (none: of the longest; nothing data-parallel: of any), and for
// `exposed` that of any message that shows most; `place` the side of the wiring that binds it unless given. Shardings that do not fit are timed, and left out of `fastest`.
// valid: validate(plan) passed, 0 < limit < 1. An error where no group uses the links that are asked for.
// kind: estimate; at x = 1 the estimates of sharding_alternatives().  test: crossover_test.cpp.
Result<Crossover> crossover(const Plan& plan, const Constants& constants, std::optional<LinkPlace> place = {}, double limit = kDefaultExposed);

}  // namespace wireplan
