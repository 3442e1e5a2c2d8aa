// Dear ImGui dressed in the page's faces and colours.
#pragma once

#include "web/palette.hpp"
#include "web/ui.hpp"

namespace wireplan {

Fonts load_fonts();
void apply_style(const Palette& colors);

}  // namespace wireplan
