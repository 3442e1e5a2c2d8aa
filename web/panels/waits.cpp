#include <algorithm>

#include "web/panels/panels.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 44, kRow = 24, kNarrowRow = 60;
constexpr std::size_t kMost = 8;

struct WaitRow {
  std::string reason, times;
  Seconds total;
  bool exposed = false;
};

// The longest, and the others as one.
std::vector<WaitRow> rows_of(const AppState& state) {
  const std::vector<StepTimeline::Wait>& waits = state.answer.timeline.waits;
  std::vector<WaitRow> rows;
  WaitRow others{{}, {}, {}};
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits.size() > kMost && i + 1 >= kMost)
      others.total += waits[i].total;
    else
      rows.push_back({state.words.said("wait.", waits[i].reason), format_count(waits[i].times) + " ×", waits[i].total, waits[i].exposed});
  }
  if (waits.size() <= kMost) return rows;
  others.reason = state.words.fill("time.others", {{"n", std::to_string(waits.size() - kMost + 1)}});
  rows.push_back(std::move(others));
  return rows;
}

}  // namespace

float waits_height(const AppState& state, bool narrow) {
  const float rows = static_cast<float>(std::clamp<std::size_t>(state.answer.timeline.waits.size(), 1, kMost));
  return kHead + rows * (narrow ? kNarrowRow : kRow) + 16;
}

Edit draw_waits(Ui& ui, const AppState& state, const Rect& area) {
  const bool narrow = area.w < 560;
  const Palette& c = *ui.colors;
  const Rect inner = area.inset(narrow ? 16 : 20, 0);
  text(ui, inner.x, area.y + 22, ui.word("time.waits"), title_style(ui), Align::left, inner.w);
  const std::vector<WaitRow> rows = rows_of(state);
  const double step = state.answer.timeline.total.value;
  const float pitch = narrow ? kNarrowRow : kRow, share = narrow ? 44.f : 48.f, times = 56, total = 64;
  float y = area.y + kHead;
  if (rows.empty()) text(ui, inner.x, y + 10, ui.word("time.nothing"), label_style(ui), Align::left, inner.w);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const WaitRow& row = rows[i];
    const Rect line{inner.x - 6, y, inner.w + 12, pitch};
    const std::string key = "waits." + std::to_string(i);
    ui.mark(key, line);
    horizontal(ui, inner.x, inner.right(), y, c.line);
    const double part = step > 0 ? row.total.value / step : 0;
    // The share of the step, also as a bar on the rule below.
    const float middle = y + (narrow ? 47.f : pitch / 2), right = inner.right();
    text(ui, right, middle, format_percent(part), label_style(ui), Align::right);
    text(ui, right - share, middle, format_seconds(row.total), strong_style(ui), Align::right);
    text(ui, right - share - total, middle, row.times, label_style(ui), Align::right);
    const float room = narrow ? inner.w : inner.w - share - total - times;
    const Press p = press(ui, key + ".reason", {inner.x, y, room, narrow ? 36.f : pitch}, true, 2);
    if (narrow)
      paragraph(ui, {inner.x, y + 3, room, 0}, row.reason, label_style(ui).in(c.ink), 16);
    else
      text(ui, inner.x, middle, row.reason, label_style(ui).in(c.ink), Align::left, room - 4);
    tooltip(ui, p, row.reason, row.times.empty() ? format_seconds(row.total) : row.times + " " + format_seconds(row.total), {});
    fill(ui, {inner.x, y + pitch - 1, inner.w * static_cast<float>(std::min(part, 1.0)), 2}, row.exposed && state.answer.estimate.memory.fits ? c.exposed : c.load);
    y += pitch;
  }
  return {};
}

}  // namespace wireplan
