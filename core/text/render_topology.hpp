// An imported machine as text for people.
#pragma once

#include <string>

#include "core/cost/wiring.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// What the machine is, what hangs where, its links with their rates, then all that was assumed and how to state it. CSV: a line for each link.
std::string render_imported(const Cluster& cluster, const LinkConstants& constants, RenderFormat format);

}  // namespace wireplan
