#include "web/panels/time_lanes.hpp"

#include <algorithm>
#include <cmath>

#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kLeast = 2, kBase = 6;  // narrower pieces run together; height of the line under a gap

ImU32 color_of(const Palette& c, TimeTone tone) {
  switch (tone) {
    case TimeTone::forward: return c.forward;
    case TimeTone::backward: return c.backward;
    case TimeTone::optimizer: return c.optimizer;
    case TimeTone::gather: return c.gather;
    case TimeTone::scatter: return c.scatter;
    case TimeTone::other: break;
  }
  return c.bufs;
}

ImU32 mixed(ImU32 a, ImU32 b, float share) {
  const ImVec4 p = ImGui::ColorConvertU32ToFloat4(a), q = ImGui::ColorConvertU32ToFloat4(b);
  return ImGui::ColorConvertFloat4ToU32({p.x + share * (q.x - p.x), p.y + share * (q.y - p.y), p.z + share * (q.z - p.z), 1});
}

// Pieces too narrow to be seen, gathered in columns of kLeast pixels.
struct Column {
  Ui& ui;
  const Rect& r;
  float x = -1, covered = 0;
  ImVec4 sum{0, 0, 0, 0};
  void add(float from, float to, ImU32 color) {
    const float column = std::floor(from / kLeast) * kLeast;
    if (column != x) flush();
    x = column;
    const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
    const float w = std::max(to - from, 0.f);
    sum = {sum.x + w * c.x, sum.y + w * c.y, sum.z + w * c.z, 1};
    covered += w;
  }
  void flush() {
    if (covered > 0) fill(ui, {std::max(x, r.x), r.y, std::min(kLeast, r.right() - x), r.h}, ImGui::ColorConvertFloat4ToU32({sum.x / covered, sum.y / covered, sum.z / covered, std::min(1.f, covered / kLeast)}));
    covered = 0;
    sum = {0, 0, 0, 0};
  }
};

}  // namespace

TimeScale::TimeScale(const StepTimeline& t, const TimeWindow& w, const Rect& r) : from(w.from * t.total.value), x(r.x), right(r.right()) {
  const double seconds = w.width() * t.total.value;
  per_second = seconds > 0 ? r.w / seconds : 1;
}

float TimeScale::at(double seconds) const { return x + static_cast<float>(std::clamp((seconds - from) * per_second, 0.0, static_cast<double>(right - x))); }

void draw_lane(Ui& ui, const Estimate& e, const TimeLane& lane, const TimeScale& scale, const Rect& r, bool labels) {
  if (!ImGui::IsRectVisible(r.min(), r.max())) return;
  const Palette& c = *ui.colors;
  fill(ui, r, c.track);
  const TextStyle style{11, Face::semibold, c.ink};
  const auto label = [&](float x0, float x1, const std::string& words, ImU32 ink) {
    if (labels && x1 - x0 >= 20 && text_width(ui, words, style) < x1 - x0 - 4) text(ui, (x0 + x1) / 2, r.middle_y(), words, style.in(ink), Align::centre);
  };
  Column narrow{ui, r};
  const ImU32 gap = mixed(c.exp_bg, c.exposed, std::min(kBase, r.h / 3) / r.h);
  const double to = scale.to();
  for (std::size_t i = lane.first_after(scale.from); i < lane.blocks.size(); ++i) {
    const TimeBlock& b = lane.blocks[i];
    const double free = i > 0 ? lane.blocks[i - 1].end : 0;
    if (free >= to) break;
    const float g0 = scale.at(free), x0 = scale.at(b.start), x1 = scale.at(b.end);
    if (b.exposed && x0 - g0 >= kLeast) {
      narrow.flush();
      fill(ui, {g0, r.y, x0 - g0, r.h}, c.exp_bg);
      fill(ui, {g0, r.bottom() - std::min(kBase, r.h / 3), x0 - g0, std::min(kBase, r.h / 3)}, c.exposed);
      label(g0, x0, format_seconds(Seconds(b.start - free)), c.exp);
    } else if (b.exposed) {
      narrow.add(g0, x0, gap);
    }
    const ImU32 color = color_of(c, b.tone);
    if (x1 - x0 < kLeast) {
      narrow.add(x0, x1, color);
      continue;
    }
    narrow.flush();
    fill(ui, {x0, r.y, x1 - x0 > 3 ? x1 - x0 - 1 : x1 - x0, r.h}, color);
    if (labels && x1 - x0 >= 20) label(x0, x1, block_label(e, lane.stream.events[i]), label_on(color));
  }
  narrow.flush();
}

Palette without_waiting(const Palette& c) {
  Palette pale = c;
  pale.exposed = c.line2;
  pale.exp_bg = c.track;
  pale.exp = c.ink2;
  return pale;
}

TimePlace place_at(const StepTimeline& t, int lane, double seconds) {
  const TimeLane* l = t.lane_of({lane, 0});
  if (!l) return {};
  const std::size_t i = l->first_after(seconds);
  if (i == l->blocks.size()) return {};
  const bool is_gap = seconds < l->blocks[i].start;
  if (is_gap && !l->blocks[i].waits) return {};
  return {lane, static_cast<int>(i), is_gap};
}

}  // namespace wireplan
