// The step in time as it is drawn: lanes of blocks, what stands still and for what. Made when the plan changes, never while drawing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/step/streams.hpp"
#include "web/language.hpp"

namespace wireplan {

enum class TimeTone : unsigned char { forward, backward, optimizer, gather, scatter, other };

// What the picture needs of an event of a stream.
struct TimeBlock {
  double start = 0, end = 0;  // seconds
  TimeTone tone = TimeTone::forward;
  bool waits = false;    // its stream stood still before it, and that has a reason
  bool exposed = false;  // that reason is communication
};

struct TimeLane {
  StepStream stream;
  std::vector<TimeBlock> blocks;  // of each event
  bool is_compute = false, is_slowest = false;

  // Index of the first block that ends after a time; blocks.size(): none.
  std::size_t first_after(double time) const;
};

// Part of a step that is looked at, as shares of its time.
struct TimeWindow {
  double from = 0, to = 1;
  double width() const { return to - from; }
};

// A block of a lane, or the gap before it.
struct TimePlace {
  int lane = -1, block = -1;
  bool is_gap = false;
  explicit operator bool() const { return lane >= 0 && block >= 0; }
  bool operator==(const TimePlace&) const = default;
};

struct StepTimeline {
  Seconds total;
  std::vector<TimeLane> lanes;  // compute by stage, at most kMostTimeLanes around the slowest; then the other streams of the slowest
  struct Wait : StepWait { bool exposed = false; };  // exposed: for communication
  std::vector<Wait> waits;      // of the slowest stage, longest first
  std::vector<double> micro_batches;  // where each begins; empty in a pipeline, where they overlap
  int slowest = 0;             // its compute lane
  Count stages = 1;
  TimeWindow first;            // what is shown until the reader looks elsewhere: one micro-batch, in a pipeline the step

  const TimeLane* lane_of(const TimePlace& at) const;
  const TimeBlock* block_of(const TimePlace& at) const;
  // Start and end in seconds of a block or a gap.
  TimeWindow span_of(const TimePlace& at) const;
};

inline constexpr std::size_t kMostTimeLanes = 16;

StepTimeline step_timeline(const Plan& plan, const Estimate& estimate, const EfficiencyConstants& efficiency);

// Within the step, and never narrower than a tenth of a millisecond.
TimeWindow within_step(const StepTimeline& t, TimeWindow w);
// `factor` < 1 shows less; the share `at` of the step stays where it is.
TimeWindow zoomed(const StepTimeline& t, const TimeWindow& w, double factor, double at);

// "F 12", "AG": what fits into a block.
std::string block_label(const Estimate& e, const StepEvent& event);
// "forward of layer 12, micro-batch 3"
std::string block_name(const Language& words, const StepTimeline& t, const StepEvent& event);
// "compute, stage 3"
std::string lane_name(const Language& words, const StepTimeline& t, const TimeLane& lane);
// "compute works 21.3 s of 36.6 s, stands still 15.3 s: 13.8 s of that for communication"
std::string timeline_text(const Language& words, const StepTimeline& t);
// "16 ×, 93.0 ms"
std::string wait_text(const StepWait& wait);
// What a place is, in a line: what, from when, how long; and in another why it waits, or what travels.
struct PlaceText {
  std::string what, why;
};
PlaceText time_place_text(const Language& words, const StepTimeline& t, const Estimate& e, const TimePlace& at);

}  // namespace wireplan
