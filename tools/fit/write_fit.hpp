// The document of fitted constants and tables, assets/measurements/link_fit.json.
#pragma once

#include "core/cost/wiring.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// Constants to four digits, residuals to a thousandth; read_link_fit() reads it.
Json write_link_fit(const LinkConstants& fitted);

}  // namespace wireplan
