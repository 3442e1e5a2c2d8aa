// Kinds of wiring as drawings the size of an icon.
#pragma once

#include <string_view>

#include "web/draw.hpp"

namespace wireplan {

// `kind` as in Alternative::key: "nvswitch", "nvlink-pairs", "pcie-switch", "pcie-host", "no-p2p"; others as a plain box.
void draw_wiring_sketch(Ui& ui, std::string_view kind, const Rect& area, ImU32 ink);

}  // namespace wireplan
