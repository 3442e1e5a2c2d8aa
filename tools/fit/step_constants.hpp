// Which constants of a step's time are fitted, and what is known of each before any run is looked at.
#pragma once

#include <string_view>
#include <vector>

#include "core/step/compute.hpp"
#include "core/text/json.hpp"

namespace wireplan {

struct StepConstant {
  std::string_view name;  // its key in assets/measurements/efficiency.json
  double EfficiencyConstants::* member;
  double prior;   // what data sheets and literature say; 0: the value in the file
  double spread;  // of the logarithm of the prior; 0: fixed
};

// In the order of the file.
const std::vector<StepConstant>& step_constants();

// The document with the constants of `fitted` in it, to three significant digits, in its own order.
Json write_step_constants(Json document, const EfficiencyConstants& fitted,
                          const std::vector<const StepConstant*>& changed);

// The value as write_step_constants() writes it.
double three_digits(double value);

}  // namespace wireplan
