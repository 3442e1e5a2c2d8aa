// Which sizes a dimension of the layout can take: now, with more GPUs, or never.
#pragma once

#include <string_view>
#include <vector>

#include "web/form.hpp"

namespace wireplan {

// Six sizes around the present one, each judged by the core's own rules on a copy of the plan.
// `dimension`: "data", "tensor", "pipeline", "context", "expert".
std::vector<Choice> layout_choices(const AppState& state, std::string_view dimension);

// The legal micro-batch sizes next to the present one, "" where there is none.
struct Neighbours {
  std::string less, more;
};
Neighbours micro_batch_neighbours(const Plan& plan);
Neighbours doubling_neighbours(Count value, Count least, Count most);

}  // namespace wireplan
