// Bus bandwidth against size, both on logarithms: what is predicted with its band, other ways, the wires' limit, what was measured.
#pragma once

#include <vector>

#include "web/chart.hpp"
#include "web/nccl_view.hpp"
#include "web/ui.hpp"

namespace wireplan {

void draw_curve_plot(Ui& ui, const CollectiveChart& chart, const std::vector<NcclView::Way>* nccl, const Rect& area);

// "ring Simple": algorithm and protocol of a call.
std::string way_text(const Ui& ui, const CollectiveCall& call);

}  // namespace wireplan
