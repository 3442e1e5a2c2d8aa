#include <algorithm>
#include <cmath>
#include <cstdio>

#include "web/panels/byte_column.hpp"
#include "web/panels/panels.hpp"
#include "web/panels/time_lanes.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 42, kNarrowHead = 104, kStrip = 18, kNumbers = 18, kTicks = 18, kNameWidth = 120, kNarrowName = 16, kBetween = 4, kSays = 48, kNarrowSays = 92;
constexpr double kStep = 1.6, kPan = 0.5;  // a press of + or −; a press of an arrow, as a share of what is seen

float lane_height(const StepTimeline& t, const TimeLane& lane) { return lane.is_compute ? (t.stages > 1 ? 18.f : 36.f) : 24.f; }

float lanes_height(const StepTimeline& t, bool narrow) {
  float height = 0;
  for (const TimeLane& lane : t.lanes) height += lane_height(t, lane) + kBetween + (narrow ? kNarrowName : 0);
  return height;
}

struct Picture {
  Ui& ui;
  const AppState& state;
  const StepTimeline& t;
  TimeWindow seen;
  bool narrow;
};

Edit show(const TimeWindow& w) {
  char text[64];
  std::snprintf(text, sizeof text, "%.12g %.12g", w.from, w.to);
  return {"view.time", text};
}

Edit press_place(const TimePlace& at) { return {"view.time.pressed", std::to_string(at.lane) + ' ' + std::to_string(at.block) + (at.is_gap ? " gap" : "")}; }

// "‹ › − + Fit", ends at `right`. Returns where it begins.
Edit draw_buttons(const Picture& p, float right, float middle, float& left) {
  Ui& ui = p.ui;
  const float side = ui.touch ? 44 : 24;
  const std::string_view fit = ui.word("time.fit");
  const float wide = text_width(ui, fit, label_style(ui)) + 20;
  Rect r{right - wide, middle - side / 2, wide, side};
  Edit edit;
  if (text_button(ui, "timeline.fit", r, fit)) edit = show({0, 1});
  const double centre = (p.seen.from + p.seen.to) / 2, by = p.seen.width() * kPan;
  struct Button { const char* key; Icon icon; TimeWindow to; };
  const Button buttons[] = {{"timeline.in", Icon::plus, zoomed(p.t, p.seen, 1 / kStep, centre)},
                            {"timeline.out", Icon::minus, zoomed(p.t, p.seen, kStep, centre)},
                            {"timeline.later", Icon::chevron_right, within_step(p.t, {p.seen.from + by, p.seen.to + by})},
                            {"timeline.earlier", Icon::chevron_left, within_step(p.t, {p.seen.from - by, p.seen.to - by})}};
  for (const Button& b : buttons) {
    r = {r.x - side - 4, r.y, side, side};
    const Press press_on = press(ui, b.key, r);
    fill(ui, r, press_on.hovered ? ui.colors->bg3 : ui.colors->bg2, 4);
    icon(ui, b.icon, {r.middle_x(), r.middle_y()}, 8, ui.colors->ink);
    if (press_on.clicked) edit = show(b.to);
  }
  left = r.x;
  return edit;
}

// The whole step, with a window around what is seen below; a press moves it there.
Edit draw_strip(const Picture& p, const Rect& r) {
  Ui& ui = p.ui;
  const TimeScale scale(p.t, {0, 1}, r);
  draw_lane(ui, p.state.answer.estimate, p.t.lanes[static_cast<std::size_t>(p.t.slowest)], scale, r, false);
  float taken = r.x - 1;
  for (std::size_t i = 0; i < p.t.micro_batches.size(); ++i) {
    const float x = scale.at(p.t.micro_batches[i]), end = i + 1 < p.t.micro_batches.size() ? scale.at(p.t.micro_batches[i + 1]) : r.right();
    const std::string number = std::to_string(i + 1);
    const float w = text_width(ui, number, tick_style(ui)), middle = (x + end) / 2;
    if (middle - w / 2 < taken || p.t.micro_batches.size() == 1) continue;
    text(ui, middle, r.bottom() + 9, number, tick_style(ui), Align::centre);
    taken = middle + w / 2 + 6;
  }
  const float x0 = scale.at(p.seen.from * p.t.total.value), x1 = scale.at(p.seen.to * p.t.total.value);
  const Rect window{std::min(x0, r.right() - 4) - 1, r.y - 2, std::max(x1 - x0, 4.f) + 2, r.h + 4};
  outline(ui, window, ui.colors->ink, 2, 2);
  ui.mark("timeline.window", window);
  const Press whole = press(ui, "timeline.strip", {r.x, r.y - 4, r.w, r.h + (ui.touch ? 22.f : 8.f)}, true, 2);
  if (!whole.held && !whole.clicked) return {};
  const double at = scale.seconds_at(std::clamp(ImGui::GetIO().MousePos.x, r.x, r.right())) / p.t.total.value, half = p.seen.width() / 2;
  return show(within_step(p.t, {at - half, at + half}));
}

void draw_ticks(const Picture& p, const TimeScale& scale, const Rect& r, float bottom) {
  Ui& ui = p.ui;
  const double seconds = p.seen.width() * p.t.total.value, unit = seconds >= 0.5 ? 1 : seconds >= 5e-4 ? 1e-3 : 1e-6;
  const double step = tick_step(seconds / unit * (p.narrow ? 2.2 : 1));
  const int decimals = step >= 1 ? 0 : step >= 0.1 ? 1 : step >= 0.01 ? 2 : 3;
  const char* name = unit == 1 ? " s" : unit == 1e-3 ? " ms" : " µs";
  for (double v = std::ceil(scale.from / unit / step) * step; v * unit <= scale.to(); v += step) {
    const float x = scale.at(v * unit);
    vertical(ui, x, r.bottom() - 3, bottom, ui.colors->grid);
    const std::string label = format_fixed(v, decimals) + name;
    const float half = text_width(ui, label, tick_style(ui)) / 2;
    if (x - half >= r.x - 4 && x + half <= r.right() + 8) text(ui, x, r.y + 8, label, tick_style(ui), Align::centre);
  }
}

Rect place_rect(const TimeScale& scale, const StepTimeline& t, const TimePlace& at, const Rect& lane) {
  const TimeWindow span = t.span_of(at);
  const float x0 = scale.at(span.from), x1 = scale.at(span.to);
  return {x0, lane.y, std::max(x1 - x0, 3.f), lane.h};
}

// The next block of the lane, gaps that have a reason among them.
TimePlace beside(const StepTimeline& t, TimePlace at, bool forwards) {
  const auto waits = [&] { const TimeBlock* b = t.block_of(at); return b && b->waits; };
  if (forwards) {
    if (at.is_gap) return {at.lane, at.block, false};
    ++at.block;
    at.is_gap = waits();
  } else {
    if (!at.is_gap && waits()) return {at.lane, at.block, true};
    --at.block;
    at.is_gap = false;
  }
  return t.block_of(at) ? at : TimePlace{};
}

Edit draw_lanes(const Picture& p, const Rect& area, const Rect& ticks, TimePlace& pointed) {
  Ui& ui = p.ui;
  const StepTimeline& t = p.t;
  const Rect field{ticks.x, area.y, ticks.w, area.h};
  const TimeScale scale(t, p.seen, field);
  draw_ticks(p, scale, ticks, area.bottom());
  const Press whole = press(ui, "timeline.lanes", field, true, 2);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool on_it = whole.hovered && mouse.x >= field.x && mouse.x < field.right() && mouse.y >= field.y && mouse.y < field.bottom();
  const TimePlace pressed = p.state.answer.pressed;
  float y = area.y;
  for (std::size_t i = 0; i < t.lanes.size(); ++i) {
    const TimeLane& lane = t.lanes[i];
    const float h = lane_height(t, lane);
    const TextStyle name{11, lane.is_compute && lane.is_slowest ? Face::semibold : Face::regular, ui.colors->ink2};
    const std::string words = lane_name(ui.words ? *ui.words : p.state.words, t, lane);
    if (p.narrow) y += kNarrowName;
    const Rect r{field.x, y, field.w, h};
    text(ui, area.x, p.narrow ? y - 7 : r.middle_y(), words, name, Align::left, p.narrow ? area.w : kNameWidth - 8);
    ui.mark("timeline.lane." + std::to_string(i), r);
    draw_lane(ui, p.state.answer.estimate, lane, scale, r, true);
    if (on_it && mouse.y >= r.y && mouse.y < r.bottom()) pointed = place_at(t, static_cast<int>(i), scale.seconds_at(mouse.x));
    if (pressed && pressed.lane == static_cast<int>(i) && t.block_of(pressed)) {
      const Rect box = place_rect(scale, t, pressed, r).grown(2);
      outline(ui, box, ui.colors->ink, 2, 2);
      ui.mark("timeline.pressed", box);
    }
    y += h + kBetween;
  }
  if (!whole.hovered) return {};
  ui.zooms |= on_it && !ui.touch;
  if (on_it && ui.zoom != 0) return show(zoomed(t, p.seen, ui.zoom > 0 ? 1 / (1 + 0.25 * ui.zoom) : 1 - 0.25 * ui.zoom, scale.seconds_at(mouse.x) / t.total.value));
  // Arrows to the side step through blocks; up and down leave.
  for (const bool forwards : {false, true}) {
    const ImGuiKey key = forwards ? ImGuiKey_RightArrow : ImGuiKey_LeftArrow;
    ImGui::SetItemKeyOwner(key);
    if (!ImGui::IsKeyPressed(key)) continue;
    if (!t.block_of(pressed)) {
      pointed = place_at(t, t.slowest, scale.from);
      return press_place(pointed ? pointed : TimePlace{t.slowest, 0});
    }
    if (const TimePlace next = beside(t, pressed, forwards)) return press_place(next);
  }
  constexpr float kStill = 3;  // pixels that a press may move and still be one
  const bool dragged = ImGui::GetIO().MouseDragMaxDistanceSqr[0] > kStill * kStill;
  if (whole.held && dragged && ImGui::GetIO().MouseDelta.x != 0) {
    const double by = -ImGui::GetIO().MouseDelta.x / scale.per_second / t.total.value;
    return show(within_step(t, {p.seen.from + by, p.seen.to + by}));
  }
  if (whole.clicked && on_it && !dragged) return press_place(pointed);
  return {};
}

void draw_words(const Picture& p, const Rect& r, const TimePlace& pointed) {
  Ui& ui = p.ui;
  const TimePlace at = pointed ? pointed : p.state.answer.pressed;
  const PlaceText said = time_place_text(*ui.words, p.t, p.state.answer.estimate, at);
  ui.mark("timeline.words", r);
  if (said.what.empty()) {
    paragraph(ui, {r.x, r.y + 4, r.w, r.h}, ui.word(ui.touch ? "time.hint_touch" : "time.hint"), tick_style(ui), 16);
    return;
  }
  const TimeBlock* b = p.t.block_of(at);
  const float below = paragraph(ui, {r.x, r.y + 3, r.w, r.h}, said.what, strong_style(ui), 18);
  paragraph(ui, {r.x, r.y + 3 + below, r.w, r.h}, said.why, label_style(ui).in(at.is_gap && b && b->exposed ? ui.colors->exp : ui.colors->ink2), 16);
}

}  // namespace

float timeline_height(const AppState& state, bool narrow) {
  return (narrow ? kNarrowHead : kHead) + kStrip + kNumbers + kTicks + lanes_height(state.answer.timeline, narrow) + (narrow ? kNarrowSays : kSays) + 8;
}

Edit draw_timeline(Ui& ui, const AppState& state, const Rect& area) {
  const StepTimeline& t = state.answer.timeline;
  const bool narrow = area.w < 560;
  Picture p{ui, state, t, shown_time(state), narrow};
  const Rect inner = area.inset(narrow ? 16 : 20, 0);
  const float title = text(ui, inner.x, area.y + 22, ui.word("time.title"), title_style(ui));
  if (t.lanes.empty() || t.total.value <= 0) return {};
  const Palette *usual = ui.colors, pale = without_waiting(*usual);
  if (!state.answer.estimate.memory.fits) ui.colors = &pale;
  Edit edit;
  const auto take = [&](Edit next) {
    if (next) edit = std::move(next);
  };
  float left = inner.right();
  take(draw_buttons(p, inner.right(), area.y + (narrow ? 76.f : 22.f), left));
  std::string sub = ui.words->fill(t.stages > 1 ? "time.sub_stages" : t.micro_batches.size() > 1 ? "time.sub" : "time.sub_one", {{"m", std::to_string(t.micro_batches.size())}, {"p", std::to_string(t.stages)}, {"t", format_seconds(t.total)}});
  if (!state.answer.estimate.memory.fits) sub = std::string(ui.word("if_it_fitted")) + " · " + sub;
  if (narrow)
    text(ui, inner.x, area.y + 43, sub, label_style(ui), Align::left, inner.w);
  else
    text(ui, inner.x + title + 12, area.y + 22, sub, label_style(ui), Align::left, left - inner.x - title - 24);
  Rect rest = inner;
  rest.cut_top(narrow ? kNarrowHead : kHead);
  const float names = narrow ? 0 : kNameWidth;
  const auto right_of = [&](Rect r) { return Rect{r.x + names, r.y, r.w - names, r.h}; };
  const Rect strip = rest.cut_top(kStrip);
  if (!narrow) text(ui, strip.x, strip.middle_y(), ui.word("time.step"), {11, Face::semibold, ui.colors->ink2}, Align::left, kNameWidth - 8);
  take(draw_strip(p, right_of(strip)));
  rest.cut_top(kNumbers);
  const Rect ticks = right_of(rest.cut_top(kTicks));
  TimePlace pointed;
  take(draw_lanes(p, rest.cut_top(lanes_height(t, narrow)), ticks, pointed));
  draw_words(p, rest, pointed);
  ui.colors = usual;
  return edit;
}

}  // namespace wireplan
