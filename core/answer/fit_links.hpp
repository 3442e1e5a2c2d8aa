// The constants of LinkConstants fitted on measured sweeps.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/cost/collective_run.hpp"

namespace wireplan {

// Least squares on ln(predicted/measured) with a robust loss; every constant is held near `start` by a weak prior, so that what no
// sweep decides stays where it was. Sources weigh with the root of their number of points. Classes first, each on sweeps inside one
// node, then fabrics on sweeps over several.
// Returns `start` with the constants of every class and fabric that has sweeps replaced, and the tables of all sweeps.
LinkConstants fit_links(const LinkConstants& start, const std::vector<CollectiveRun>& runs);

}  // namespace wireplan
