// What the compute stream of a step waits for, as text.
#pragma once

#include "core/step/streams.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

void render_waits(Sheet& sheet, const StepCost& cost, const std::vector<StepStream>& streams);

}  // namespace wireplan
