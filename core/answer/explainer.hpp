// Collects explanations in the order of the estimate document. Internal to core/answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/explain.hpp"

namespace wireplan {

class Explainer {
 public:
  // Adds one explanation and returns it for refinement (band, further sources).
  Explanation& add(std::string_view key, std::string_view symbol, std::string_view formula,
                   std::vector<ExplainedValue> values, double result, std::string_view unit, Claim kind,
                   std::vector<std::string> sources);
  std::vector<Explanation>& list() { return list_; }

 private:
  std::vector<Explanation> list_;
};

ExplainedValue count_of(std::string_view symbol, double value, std::string_view meaning, std::string_view key = {});
ExplainedValue bytes_of(std::string_view symbol, Bytes value, Claim kind, std::string_view meaning, std::string_view key = {});
ExplainedValue seconds_of(std::string_view symbol, Seconds value, Claim kind, std::string_view meaning, std::string_view key = {});
ExplainedValue factor_of(std::string_view symbol, double value, Claim kind, std::string_view meaning);

template <class Q>
void set_band(Explanation& e, const Range<Q>& range) {
  e.has_band = true;
  e.band = {Bytes(range.low.value), Bytes(range.value.value), Bytes(range.high.value)};
}

void explain_model(const Plan& plan, const Estimate& estimate, Explainer& out);
void explain_memory(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);
void explain_communication(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);
void explain_wiring(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);
void explain_utilization(const Plan& plan, const Estimate& estimate, Explainer& out);
void explain_step(const Plan& plan, const Constants& constants, const Estimate& estimate, Explainer& out);

}  // namespace wireplan
