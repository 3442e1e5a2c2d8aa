// Which ranks call a collective together.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace wireplan {

using Groups = std::vector<std::vector<int>>;

// "0,2,3": one group of these ranks, in this order. Errors name --group: at least two ranks below `ranks`, each once; or "0", one by itself.
Result<Groups> listed_group(const std::string& text, int ranks);

// "tp=4": all groups of four neighbouring ranks; "dp=4": of four ranks each ranks/4 apart. They call at the same time. Errors name --groups:
// tp, cp, ep (neighbours), dp, pp (apart), a divisor of `ranks`, at least 2.
Result<Groups> named_groups(const std::string& text, int ranks);

// Every two ranks. 2 to 1,024 of them.
Groups pairs_of(int ranks);

}  // namespace wireplan
