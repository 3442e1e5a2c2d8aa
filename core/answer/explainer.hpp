// Collects explanations in the order of the estimate document. Internal to core/answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/answer/explain.hpp"

namespace wireplan {

class Explainer {
 public:
  // Adds one explanation and returns it for refinement (band, further sources).
  Explanation& add(std::string key, std::string symbol, std::string formula, std::vector<ExplainedValue> values, double result,
                   std::string unit, Claim kind, std::vector<std::string> sources) {
    Explanation e;
    e.key = std::move(key);
    e.symbol = std::move(symbol);
    e.formula = std::move(formula);
    e.values = std::move(values);
    e.result = result;
    e.unit = std::move(unit);
    e.kind = kind;
    e.sources = std::move(sources);
    list_.push_back(std::move(e));
    return list_.back();
  }
  std::vector<Explanation>& list() { return list_; }

 private:
  std::vector<Explanation> list_;
};

inline ExplainedValue count_of(std::string symbol, double value, std::string meaning, std::string key = "") {
  return {std::move(symbol), value, "", Claim::count, std::move(meaning), std::move(key)};
}
inline ExplainedValue bytes_of(std::string symbol, Bytes value, Claim kind, std::string meaning, std::string key = "") {
  return {std::move(symbol), value.value, "bytes", kind, std::move(meaning), std::move(key)};
}
inline ExplainedValue seconds_of(std::string symbol, Seconds value, Claim kind, std::string meaning, std::string key = "") {
  return {std::move(symbol), value.value, "s", kind, std::move(meaning), std::move(key)};
}
inline ExplainedValue factor_of(std::string symbol, double value, Claim kind, std::string meaning) {
  return {std::move(symbol), value, "", kind, std::move(meaning), ""};
}

template <class Q>
void set_band(Explanation& e, const Range<Q>& range) {
  e.has_band = true;
  e.band = {Bytes(range.low.value), Bytes(range.value.value), Bytes(range.high.value)};
}

void explain_model(const Plan& plan, const Estimate& estimate, Explainer& out);
void explain_memory(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);
void explain_communication(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);
void explain_step(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);

}  // namespace wireplan
