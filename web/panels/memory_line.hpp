// Allocated bytes over one step, as a picture. The step is not drawn to scale where nothing new happens: micro-batches that
// are like the one before fold into a gap, and the optimizer is wide enough to be pointed at.
#pragma once

#include "web/state.hpp"
#include "web/ui.hpp"

namespace wireplan {

// Draws the line of the stage that is shown; returns what a press on it or on its peak asks for.
Edit draw_memory_line(Ui& ui, const AppState& state, const Rect& area, bool narrow);

}  // namespace wireplan
