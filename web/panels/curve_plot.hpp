// Bus bandwidth against size, both on logarithms: what is predicted with its band, other ways, the wires' limit, what was measured.
#pragma once

#include "web/chart.hpp"
#include "web/ui.hpp"

namespace wireplan {

void draw_curve_plot(Ui& ui, const CollectiveChart& chart, const Rect& area);

// "ring Simple": algorithm and protocol of a call.
std::string way_text(const Ui& ui, const CollectiveCall& call);

}  // namespace wireplan
