// The one measurement that would change a plan: which uncertain input, within its band, makes another layout the fastest, and what knowing it saves.
//
// Notation: t(i|x) time of plan i where an input is x, 0 the plan that is chosen today.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/base/format.hpp"

namespace wireplan {

// collectives: what layouts call on one set of GPUs, whose wires decide them all; matrix_products: the rate long ones reach; host_optimizer: the rate of an optimizer in host memory;
// memory: whether a plan fits. Stragglers are no input: nothing but the run itself measures them.
enum class Uncertain : unsigned char { collectives, matrix_products, host_optimizer, memory };
template <>
inline constexpr std::array<std::string_view, 4> kNames<Uncertain> = {"collectives", "matrix-products", "host-optimizer", "memory"};

struct Experiment {
  Uncertain kind{};
  std::string input;                 // "all_gather, reduce_scatter of 2 ranks, GPUs 0,2, 436 MiB"
  double low = 1, high = 1;          // its band, over what is expected: of a time; memory: of the need
  std::vector<MeasuredCurve> sweep;  // collectives: the sizes to run of each operation, with the times that are expected
  std::optional<std::size_t> flips;  // the rival that wins at the end of the band where the choice costs most; memory: that wins if it fits
  Seconds regret;                    // what the choice costs there, a step
  Seconds saved;                     // expected, a step
  Seconds duration;                  // of the measurement
  std::string command;               // "": wireplan has none
  std::string text;
};

struct Experiments {
  std::vector<Experiment> list;       // most saved per second of measuring first
  std::vector<std::vector<MeasuredCurve>> sweeps;  // of every set of GPUs that rivals communicate on, as in `list`, whether it matters or not
  Seconds time, regret;               // of the choice; what it is expected to cost over the best, all inputs off at the same time
  std::string text;                   // a sentence
};

// What: what is worth measuring before one of `rivals` is taken: layouts of one training on one cluster. Of those whose verdict is `worst` or better the
//   fastest is the choice; the others may turn out to fit.
// formula: saved = E_x[t(0|x) - min_i t(i|x)] over outcomes x of the measurement; five points of a normal ln x whose 10 % and 90 % points are the band.
//   The estimate after an outcome is that of a profile with the outcome in it (core/cost/measured_tables.hpp): what is near moves with it.
//   memory: saved = P·(t(0) - t(i)), P of the need's band that lies below the capacity, half of it on each side of the value.
//   regret now: the same mean over draws of all inputs; those on one class of wires share half of their variance.
// where: bands of collectives LinkConstants::bands; of products EfficiencyConstants::band, which is all that is known of compute; of host memory kHostBand.
// source: value of information [howard66].  kind: estimate, as good as the bands.  valid: plans that validate() accepted.
//   Deterministic. Nothing is listed that saves less than kWorthwhile of a step.  test: experiments_test.cpp; proof: docs/experiments.md.
Experiments experiments(const std::vector<Plan>& rivals, Verdict worst, const Constants& constants, ByteUnit unit = ByteUnit::GB);

// Whether a profile has all sizes of a curve, of that operation on those GPUs.
bool covers(const Profile& profile, const MeasuredCurve& curve);

inline constexpr double kWorthwhile = 1e-4;
// ln: of the rate of Adam in host memory. What published runs reached of a socket's nominal bandwidth is 0.17 to 0.45 (assets/measurements/efficiency.json,
// host_memory): e^±0.49 about their middle.
inline constexpr double kHostBand = 0.49;
// What starting takes before anything is measured: processes, communicator, buffers; a trainer until its first steps. Choices.
inline constexpr Seconds kMeasureStart{5}, kGemmTime{20}, kTrainerStart{120};

}  // namespace wireplan
