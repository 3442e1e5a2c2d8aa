// What lies between two plans, as edits of a plan document; and what an edited plan takes from presets.
#pragma once

#include <string>
#include <vector>

#include "core/answer/advice.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// Fills in what follows from the presets, for plans that are edits of one.
class PresetFilling final : public PlanFilling {
 public:
  PresetFilling(const Plan& plan, const Presets& presets);
  void fill(Plan& plan) const override;
  GradientSync gradient_sync(const Plan& plan) const override;
  std::optional<Network> network(const Node& node) const override;

 private:
  const Presets& presets_;
  Implementation implementation_;
};

struct PlanEdit { std::string path; Json value; };

// what: the edits that turn any document of `before` into one that reads as `after`. Fields that the document of `before` may have left
// out, and that would then be filled in otherwise than `after` has them, are stated.
// valid: `after` is an edit of `before`, which read_plan() made; same implementation.  test: plan_edits_test.cpp.
std::vector<PlanEdit> edits_between(const Plan& before, const Plan& after, const PlanFilling& filling);

Json edits_json(const std::vector<PlanEdit>& edits);                // [{"path", "value"}]
std::string set_arguments(const std::vector<PlanEdit>& edits);  // "--set parallel.tensor=2 --set 'parallel.overlap={…}'", for a shell

}  // namespace wireplan
