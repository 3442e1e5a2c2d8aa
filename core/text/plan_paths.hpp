// The dotted paths a plan document may have.
#pragma once

#include <string_view>

#include "core/text/json.hpp"

namespace wireplan {

// A document in which every key stands that any plan may have; values mean nothing. A null there stands for any document.
Json plan_outline();

// Whether "training.lora.rank" and the like is a path of a plan.
bool is_plan_path(const Json& outline, std::string_view path);

}  // namespace wireplan
