#include <algorithm>

#include "web/panels/panels.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kRow = 44, kHead = 34;

// The collective that takes longest tells what the wires give.
BytesPerSecond busiest_bandwidth(const Estimate& e) {
  const CommunicationRow* longest = nullptr;
  for (const CommunicationRow& row : e.communication)
    if (!longest || row.time.value > longest->time.value) longest = &row;
  return longest ? longest->bus_bandwidth : BytesPerSecond{};
}

Edit draw_row(Ui& ui, const Alternative& a, const Rect& row, double per_second, bool pale) {
  const std::string key = "wiring." + a.key;
  const StepAnswer& step = a.estimate.step;
  Press p;
  if (a.chosen)
    ui.mark(key, row);
  else
    p = press(ui, key, row);
  const bool marked = a.chosen || p.hovered;
  if (marked) fill(ui, row, ui.colors->bg2, 2);
  const Rect inner = row.inset(8, 0);
  const std::string name_key = "wire.kind." + a.key;
  const BytesPerSecond rate = busiest_bandwidth(a.estimate);
  float right = 0;
  if (rate.value > 0)
    right = text(ui, inner.right(), row.y + 11, std::string(claim_sign("estimate")) + " " + format_rate(rate),
                 tick_style(ui), Align::right);
  text(ui, inner.x, row.y + 11, ui.words->has(name_key) ? ui.word(name_key) : std::string_view(a.label),
       a.chosen ? TextStyle{12, Face::semibold, ui.colors->ink} : label_style(ui).in(ui.colors->ink), Align::left,
       inner.w - right - 10);

  const Rect bar{inner.x, row.y + 23, inner.w - 62, 11};
  const auto x_of = [&](Seconds s) { return bar.x + static_cast<float>(s.value * per_second); };
  const Seconds waiting = step.exposed_communication, busy = step.time.value - waiting;
  fill(ui, {bar.x, bar.y, x_of(busy) - bar.x, bar.h}, pale ? ui.colors->track : ui.colors->backward);
  const Rect wait{x_of(busy), bar.y, x_of(step.time.value) - x_of(busy), bar.h};
  fill(ui, wait, pale ? ui.colors->track : ui.colors->exposed);
  hatch(ui, wait, pale ? ui.colors->line2 : faded(marked ? ui.colors->bg2 : ui.colors->bg1, 0.3f), 6);
  whisker(ui, x_of(step.time.low), std::min(x_of(step.time.high), bar.right()), bar.middle_y(),
          marked ? ui.colors->bg2 : ui.colors->bg1);
  text(ui, inner.right(), bar.middle_y(), format_seconds(step.time.value),
       strong_style(ui).in(pale ? ui.colors->ink3 : ui.colors->ink), Align::right);
  tooltip(ui, p, a.label,
          ui.words->fill("wire.wait_of", {{"e", format_seconds(waiting)}, {"t", format_seconds(step.time.value)}}),
          ui.word("hint.choose"));
  return p.clicked ? Edit{key, ""} : Edit{};
}

}  // namespace

float wirings_height(const AppState& state) {
  return kHead + kRow * static_cast<float>(std::max<std::size_t>(state.answer.wirings.size(), 1)) + 8;
}

Edit draw_wirings(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const auto& list = state.answer.wirings;
  text(ui, area.x + 8, area.y + 20, ui.words->fill("wire.same_step", {{"n", std::to_string(list.size())}}),
       strong_style(ui), Align::left, area.w - 16);
  if (list.empty()) {
    text(ui, area.x + 8, area.y + 46, ui.word("wire.one_gpu"), label_style(ui), Align::left, area.w - 16);
    return edit;
  }
  double most = 0;
  for (const Alternative& a : list) most = std::max(most, a.estimate.step.time.high.value);
  const double per_second = most > 0 ? (area.w - 16 - 62) / most : 0;
  // No taller than there is room for: more rows stand closer.
  const float pitch = std::min(kRow, (area.h - kHead) / static_cast<float>(list.size()));
  float y = area.y + kHead;
  for (const Alternative& a : list) {
    if (Edit next = draw_row(ui, a, {area.x, y, area.w, pitch}, per_second, !state.answer.estimate.memory.fits))
      edit = std::move(next);
    y += pitch;
  }
  return edit;
}

}  // namespace wireplan
