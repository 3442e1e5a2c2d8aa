// The answer to "which rank on which GPU" as a document and as text.
#pragma once

#include "core/answer/placement.hpp"
#include "core/text/json.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

Json write_placement(const PlacementAnswer& answer);  // wireplan.placement/1
void render_placement(Sheet& sheet, const PlacementAnswer& answer);

}  // namespace wireplan
