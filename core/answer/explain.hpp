// Where a number of the estimate comes from: symbol, formula, the values put in, sources. One per number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/base/error.hpp"

namespace wireplan {

enum class Claim : unsigned char { count, bound, estimate, measured };
template <> inline constexpr std::array<std::string_view, 4> kNames<Claim> = {"count", "bound", "estimate", "measured"};

struct ExplainedValue {
  std::string symbol;
  double value = 0;
  std::string unit;      // "" for counts, "bytes", "s", "bytes/s", "FLOP/s", "FLOP"
  Claim kind = Claim::count;
  std::string meaning;
  std::string key;       // path of the estimate or plan this value can itself be looked up at, "" when there is none
};

struct Explanation {
  std::string key, symbol;
  std::string formula;   // over the symbols below; operators + - · / ^ and max min ceil floor sqrt; evaluating it gives `result`
  std::vector<ExplainedValue> values;
  double result = 0;
  std::string unit;
  Claim kind = Claim::estimate;
  bool has_band = false;
  Range<Bytes> band;     // in `unit`, whatever it is
  std::vector<std::string> sources;  // keys of assets/references.json
};

// Explanation of one number. `path` as in the estimate document, "memory.states.parameters"; ranges by the range itself
// ("memory.allocated_bytes") or a member; rows of communication as "communication.0.time_s" or by name.
// Unknown path: an error that lists what is near.
Result<Explanation> explain(const Plan& plan, const Constants& constants, const Estimate& estimate, std::string_view path);

// All explanations, in order of the document.
std::vector<Explanation> all_explanations(const Plan& plan, const Constants& constants, const Estimate& estimate);

// Every path that has an explanation, in order of the document: exactly the numbers of the estimate.
std::vector<std::string> explained_paths(const Plan& plan, const Constants& constants, const Estimate& estimate);

}  // namespace wireplan
