#include "core/answer/explain.hpp"

#include <algorithm>

#include "core/answer/explainer.hpp"
#include "core/answer/utilization.hpp"

namespace wireplan {

std::vector<Explanation> all_explanations(const Plan& plan, const Constants& constants, const Estimate& estimate) {
  Explainer out;
  explain_model(plan, estimate, out);
  explain_memory(plan, constants, estimate, out);
  explain_communication(plan, constants, estimate, out);
  explain_wiring(plan, constants, estimate, out);
  explain_step(plan, constants, estimate, out);
  explain_utilization(plan, estimate, out);
  return std::move(out.list());
}

namespace {

// "communication.<name>.x" → "communication.<index of the first row of that name>.x", the same for "wiring.groups.<dimension>.x" and
// "step.conventions.<name>.x", and
// ".value" of a range → the range.
std::string canonical(const Estimate& estimate, std::string_view path) {
  std::string key(path);
  constexpr std::string_view kRows = "communication.";
  if (key.rfind(kRows, 0) == 0) {
    const std::size_t end = key.find('.', kRows.size());
    const std::string row = key.substr(kRows.size(), end == std::string::npos ? end : end - kRows.size());
    const auto named = std::find_if(estimate.communication.begin(), estimate.communication.end(), [&](const CommunicationRow& r) { return r.name == row; });
    if (named != estimate.communication.end()) key.replace(kRows.size(), row.size(), std::to_string(named - estimate.communication.begin()));
  }
  constexpr std::string_view kGroups = "wiring.groups.";
  if (key.rfind(kGroups, 0) == 0) {
    const std::string row = key.substr(kGroups.size(), std::min(key.find('.', kGroups.size()), key.size()) - kGroups.size());
    for (std::size_t i = 0; i < estimate.wiring.size(); ++i)
      if (name_of(estimate.wiring[i].dimension) == row) {
        key.replace(kGroups.size(), row.size(), std::to_string(i));
        break;
      }
  }
  constexpr std::string_view kConventions = "step.conventions.";
  if (key.rfind(kConventions, 0) == 0) {
    const std::string row = key.substr(kConventions.size(), std::min(key.find('.', kConventions.size()), key.size()) - kConventions.size());
    if (const auto named = value_named<FlopConvention>(row)) key.replace(kConventions.size(), row.size(), std::to_string(static_cast<int>(*named)));
  }
  constexpr std::string_view kValue = ".value";
  if (key.size() > kValue.size() && key.compare(key.size() - kValue.size(), kValue.size(), kValue) == 0) key.resize(key.size() - kValue.size());
  return key;
}

// How many characters two paths share at their beginning: the nearest are offered for a path that does not exist.
std::size_t shared_prefix(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

ExplainedValue value_of(std::string_view symbol, double value, std::string_view unit, Claim kind, std::string_view meaning, std::string_view key) {
  return {std::string(symbol), value, std::string(unit), kind, std::string(meaning), std::string(key)};
}

}  // namespace

Explanation& Explainer::add(std::string_view key, std::string_view symbol, std::string_view formula,
                            std::vector<ExplainedValue> values, double result, std::string_view unit, Claim kind,
                            std::vector<std::string> sources) {
  Explanation& e = list_.emplace_back();
  e.key = key;
  e.symbol = symbol;
  e.formula = formula;
  e.values = std::move(values);
  e.result = result;
  e.unit = unit;
  e.kind = kind;
  e.sources = std::move(sources);
  return e;
}

ExplainedValue count_of(std::string_view symbol, double value, std::string_view meaning, std::string_view key) {
  return value_of(symbol, value, "", Claim::count, meaning, key);
}
ExplainedValue bytes_of(std::string_view symbol, Bytes value, Claim kind, std::string_view meaning, std::string_view key) {
  return value_of(symbol, value.value, "bytes", kind, meaning, key);
}
ExplainedValue seconds_of(std::string_view symbol, Seconds value, Claim kind, std::string_view meaning, std::string_view key) {
  return value_of(symbol, value.value, "s", kind, meaning, key);
}
ExplainedValue factor_of(std::string_view symbol, double value, Claim kind, std::string_view meaning) {
  return value_of(symbol, value, "", kind, meaning, "");
}

Result<Explanation> explain(const Plan& plan, const Constants& constants, const Estimate& estimate, std::string_view path) {
  const std::string key = canonical(estimate, path);
  std::vector<Explanation> all = all_explanations(plan, constants, estimate);
  for (Explanation& e : all)
    if (e.key == key) return std::move(e);
  std::string near;
  for (int i = 0; i < 4 && !all.empty(); ++i) {
    const auto nearest = std::max_element(all.begin(), all.end(), [&](const Explanation& a, const Explanation& b) { return shared_prefix(a.key, key) < shared_prefix(b.key, key); });
    near += (i ? ", " : "") + nearest->key;
    all.erase(nearest);
  }
  std::string given(path.substr(0, 80));
  return Error{"path", given, "a number of the estimate", "no number of the estimate stands at '" + given + "'. Nearest: " + near};
}

std::vector<std::string> explained_paths(const Plan& plan, const Constants& constants, const Estimate& estimate) {
  std::vector<std::string> paths;
  for (Explanation& e : all_explanations(plan, constants, estimate)) paths.push_back(std::move(e.key));
  return paths;
}

}  // namespace wireplan
