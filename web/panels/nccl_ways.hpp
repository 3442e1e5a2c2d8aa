// The rings, trees and heads that NCCL builds, drawn on the wiring; and what it found, below.
#pragma once

#include "web/panels/panels.hpp"
#include "web/panels/wiring_picture.hpp"

namespace wireplan {

// The graph and the picture of it that are shown; nullptr while nothing is known.
const NcclView::Graph* shown_graph(const AppState& state);
const NcclView::Picture* shown_picture(const AppState& state);

// Ring, tree or NVLS; which channels.
Edit draw_nccl_choice(Ui& ui, const AppState& state, Rect area);
float nccl_choice_height(float width, bool touch);

// Ways out of the node lie under the chips, those inside over them.
void draw_ways_out(Ui& ui, const AppState& state, const WiringPicture& picture, const Rect& network);
void draw_ways(Ui& ui, const AppState& state, const WiringPicture& picture);

// What limits the rings, what else is found, the graphs as a table.
void draw_nccl_facts(Ui& ui, const AppState& state, Rect area);
float nccl_facts_height(const AppState& state, float width);

}  // namespace wireplan
