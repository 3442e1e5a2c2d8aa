// One lane of the time line: blocks of a stream between two times, as rectangles.
#pragma once

#include "web/state.hpp"
#include "web/ui.hpp"

namespace wireplan {

// Which seconds stand at which pixels.
struct TimeScale {
  double from = 0, per_second = 1;
  float x = 0, right = 1;
  TimeScale(const StepTimeline& t, const TimeWindow& w, const Rect& r);
  float at(double seconds) const;
  double seconds_at(float px) const { return from + (px - x) / per_second; }
  double to() const { return seconds_at(right); }
};

// Only what lies between the two times; what is narrower than two pixels is drawn as one piece of the mean colour. Labels where they fit.
void draw_lane(Ui& ui, const Estimate& e, const TimeLane& lane, const TimeScale& scale, const Rect& r, bool labels);

// For a plan that does not fit: what it would wait for is nobody's concern yet, so without the accent of communication nobody hides.
Palette without_waiting(const Palette& c);

// What stands at a time in a lane: a block, the gap before one that waits, or nothing.
TimePlace place_at(const StepTimeline& t, int lane, double seconds);

}  // namespace wireplan
