// Runs the program brings along (wireplan.runs/1): what accuracy looks at when it is given no file.
#pragma once

#include <string_view>

namespace wireplan {

std::string_view reference_runs();
std::string_view published_sweeps();  // of collectives, what their constants were fitted on

}  // namespace wireplan
