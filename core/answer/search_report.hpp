// What a search found, in full: the best plans and why they win, what people commonly choose and why that loses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/answer/experiments.hpp"
#include "core/answer/search.hpp"
#include "core/base/format.hpp"

namespace wireplan {

struct FoundPlan {
  Candidate candidate;
  Plan plan;
  Estimate estimate;
  bool is_own = false;  // the plan that was searched from
  std::string label, why;
};

// A layout that people take without searching, at the micro-batch, recomputation and loss that suit it best.
struct PopularChoice {
  std::string name;             // "FSDP", "TP 8 in a node, rest data parallel"
  std::optional<FoundPlan> best;  // that fits; of several the fastest; none: nothing of it fits
  double least_need = 0;        // where nothing fits: bytes, 0: its model states alone are too large
  double slower = 0;            // time over the best plan's, less 1
  std::string text;
};

struct LoserText {
  Losers losers;
  std::optional<FoundPlan> example;
  std::string text;
};

struct SearchReport {
  Plan base;                    // what was searched from
  std::optional<Estimate> own;  // of that plan as it stands, where it is valid
  SearchOptions options;
  SearchCounts counts;
  std::vector<FoundPlan> plans;     // the best, then those of the front that are not among them, then those that a measurement may make the best
  std::size_t top = 0;              // of them the best
  std::vector<std::size_t> front;   // into plans, by time
  bool is_front_exact = false;
  std::vector<LoserText> losers;
  std::vector<PopularChoice> popular;
  Experiments experiments;          // what to measure; `flips` into plans
  std::string text;                 // one sentence
};

// "TP 8, PP 16 interleaved × 2, ZeRO-1, micro-batch 1, full recompute".
std::string layout_label(const Plan& plan);

// Layouts that experiments are looked for among.
inline constexpr std::size_t kMostRivals = 32;
// The front is thinned to this many plans, evenly, its ends kept.
inline constexpr std::size_t kMostFront = 40;

// what: the report of a search that is done, or of one that was stopped: then of what it had seen.
// where: `base` is the plan as stated; where it is valid it is compared with. `searched`: the same on the (largest) cluster of the search; `unit`: of
//   bytes in texts.
// kind: estimate, as each plan's.  test: search_report_test.cpp.
SearchReport search_report(const Search& search, const Plan& base, const Plan& searched, const Constants& constants, ByteUnit unit);

// The sentence alone that tells two plans apart: what of a step `plan` spends less or more of than `other`, the largest first.
std::string difference_text(const Estimate& plan, const Estimate& other);

}  // namespace wireplan
