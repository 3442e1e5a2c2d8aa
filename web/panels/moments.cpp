#include <algorithm>
#include <array>

#include "web/panels/byte_column.hpp"
#include "web/panels/memory_line.hpp"
#include "web/panels/panels.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 42, kNarrowHead = 62, kLine = 218, kNarrowLine = 232, kCaption = 26, kCell = 48,
                kNarrowCell = 56;

// A number that the card has to hold, under its name, over a bar that shows it beside the capacity.
struct Cell {
  const char* path;
  std::string_view name;  // key of its words
  Range<Bytes> bytes;
  bool over = false;
  std::string_view tag = {};  // key of what makes it the one to look at
};

struct Strip {
  Bytes capacity;
  double most = 1;
  int decimals = 1;
};

Edit draw_cell(Ui& ui, const Cell& cell, const Strip& strip, const Rect& r) {
  const Palette& c = *ui.colors;
  const Press p = press(ui, std::string(cell.path) + ".cell", r, true, 3);
  if (p.hovered) fill(ui, r, c.bg2, 3);
  const Rect inner = r.inset(6, 0);
  const auto at = [&](Bytes b) { return inner.x + inner.w * static_cast<float>(b.value / strip.most); };
  text(ui, inner.x, r.y + 10, ui.word(cell.name), tick_style(ui).in(c.ink2), Align::left, inner.w);
  float x = inner.x;
  if (cell.over) {
    icon(ui, Icon::cross, {x + 4, r.y + 26}, 8, c.no, 2);
    x += 14;
  }
  x += text(ui, x, r.y + 26, in_column(cell.bytes.value, ui.unit, strip.decimals),
            (cell.tag.empty() ? body_style(ui) : strong_style(ui)).in(cell.over ? c.no : c.ink));
  if (!cell.tag.empty())
    text(ui, x + 6, r.y + 26, ui.word(cell.tag), tick_style(ui), Align::left, inner.right() - x - 6);
  const Rect bar{inner.x, r.y + 37, inner.w, 5};
  fill(ui, {bar.x, bar.y, at(strip.capacity) - bar.x, bar.h}, c.track);
  fill(ui, {bar.x, bar.y, at(cell.bytes.value) - bar.x, bar.h}, cell.over ? c.no : c.load);
  if (cell.bytes.high > cell.bytes.low) {
    horizontal(ui, at(cell.bytes.low), at(cell.bytes.high), bar.middle_y(), c.ink);
    for (const Bytes end : {cell.bytes.low, cell.bytes.high})
      vertical(ui, at(end) - 0.5f, bar.y - 1, bar.bottom() + 1, c.ink);
  }
  ui.list->AddRectFilled({at(strip.capacity) - 1, bar.y - 3}, {at(strip.capacity) + 1, bar.bottom() + 3}, c.ink);
  const bool is_range = cell.bytes.high > cell.bytes.low;
  const auto said = [&](Bytes b) { return format_bytes_with_unit(b, ui.unit); };
  tooltip(ui, p, ui.word("path." + std::string(cell.path)),
          said(cell.bytes.value) + (is_range ? "  (" + said(cell.bytes.low) + " … " + said(cell.bytes.high) + ")" : ""),
          ui.word("hint.explain"));
  return p.clicked ? Edit{"view.explain", cell.path} : Edit{};
}

template <std::size_t N>
Edit draw_cells(Ui& ui, std::array<Cell, N> cells, Bytes capacity, std::string_view caption, Rect area,
                std::size_t columns) {
  Edit edit;
  text(ui, area.x, area.y + 12, caption, label_style(ui), Align::left, area.w);
  area.cut_top(kCaption);
  Strip strip{capacity, capacity.value};
  std::vector<Bytes> column;
  for (const Cell& c : cells) {
    strip.most = std::max(strip.most, c.bytes.high.value);
    column.push_back(c.bytes.value);
  }
  strip.most *= 1.02;
  strip.decimals = decimals_of(column, ui.unit);
  const float width = (area.w + 12) / static_cast<float>(columns), height = ui.touch ? kNarrowCell : kCell;
  for (std::size_t i = 0; i < N; ++i) {
    const Rect r{area.x - 6 + static_cast<float>(i % columns) * width,
                 area.y + static_cast<float>(i / columns) * height, width, height - 4};
    if (Edit next = draw_cell(ui, cells[i], strip, r)) edit = std::move(next);
  }
  return edit;
}

Edit draw_phases(Ui& ui, const AppState& state, const Rect& area, std::size_t columns) {
  const MemoryAnswer& m = state.answer.estimate.memory;
  std::array<Cell, 6> cells{
      {{"memory.phases.load", "mem.phase.load", {m.load, m.load, m.load}},
       {"memory.phases.initialize", "mem.phase.initialize", {m.initialize, m.initialize, m.initialize}},
       {"memory.phases.first_step", "mem.phase.first_step", {m.first_step, m.first_step, m.first_step}},
       {"memory.phases.steady", "mem.phase.steady", {m.steady, m.steady, m.steady}},
       {"memory.phases.between_steps", "mem.phase.between_steps", {m.between_steps, m.between_steps, m.between_steps}},
       {"memory.phases.save", "mem.phase.save", {m.save, m.save, m.save}}}};
  std::max_element(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return a.bytes.value < b.bytes.value;
  })->tag = "mem.highest";
  for (Cell& c : cells) c.over = needed(state, c.bytes.value) > m.capacity;
  return draw_cells(ui, cells, m.capacity, ui.word("mem.phases"), area, columns);
}

Edit draw_totals(Ui& ui, const AppState& state, const Rect& area, std::size_t columns) {
  const MemoryAnswer& m = state.answer.estimate.memory;
  std::array<Cell, 4> cells{{{"memory.allocated_bytes", "mem.total.allocated", m.allocated},
                             {"memory.reserved_bytes", "mem.total.reserved", m.reserved},
                             {"memory.device_bytes", "mem.total.device", m.device},
                             {"memory.need_bytes", "mem.total.need", m.need}}};
  cells.back().tag = "mem.decides";
  for (Cell& c : cells) c.over = c.bytes.value > m.capacity;
  return draw_cells(ui, cells, m.capacity, ui.word("mem.verdict." + std::string(name_of(m.verdict))), area, columns);
}

// "< stage 3 of 16 >", ends at `right`.
Edit draw_stages(Ui& ui, int stage, int stages, float right, float middle) {
  Edit edit;
  const float side = ui.touch ? 44 : 24;
  const std::string words =
      ui.words->fill("mem.line.stage", {{"n", std::to_string(stage)}, {"m", std::to_string(stages - 1)}});
  const float w = text_width(ui, words, label_style(ui)) + 12;
  const Rect less{right - w - 2 * side, middle - side / 2, side, side},
      more{right - side, middle - side / 2, side, side};
  text(ui, less.right() + w / 2, middle, words, label_style(ui).in(ui.colors->ink), Align::centre);
  for (const auto& [rect, key, which, to] : {std::tuple{less, "memory.stage.less", Icon::chevron_left, stage - 1},
                                             std::tuple{more, "memory.stage.more", Icon::chevron_right, stage + 1}}) {
    const bool can = to >= 0 && to < stages;
    const Press p = press(ui, key, rect, can);
    fill(ui, rect, p.hovered && can ? ui.colors->bg3 : ui.colors->bg2, 4);
    icon(ui, which, {rect.middle_x(), rect.middle_y()}, 8, can ? ui.colors->ink : ui.colors->line2);
    if (p.clicked) edit = {"view.stage", std::to_string(to)};
  }
  return edit;
}

}  // namespace

float moments_height(const AppState&, bool narrow) {
  return narrow ? kNarrowHead + kNarrowLine + 2 * kCaption + 4 * kNarrowCell + 12
                : kHead + kLine + 2 * (kCaption + kCell) + 14;
}

Edit draw_moments(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const auto take = [&](Edit next) {
    if (next) edit = std::move(next);
  };
  const bool narrow = area.w < 560;
  Rect rest = area.inset(narrow ? 16 : 20, 0);
  const Rect head = rest.cut_top(narrow ? kNarrowHead : kHead);
  const float title = text(ui, head.x, area.y + 22, ui.word("mem.moments.title"), title_style(ui));
  const int stages = static_cast<int>(state.answer.lines.size());
  const float chooser = stages > 1 ? (ui.touch ? 190.f : 150.f) : 0;
  const std::string sub = ui.words->fill("mem.moments.sub", {{"u", unit_name(ui.unit)}});
  if (narrow)
    text(ui, head.x, area.y + 43, sub, label_style(ui), Align::left, head.w - chooser);
  else
    text(ui, head.x + title + 12, area.y + 22, sub, label_style(ui), Align::left, head.w - title - 12 - chooser);
  if (const MemoryLine* line = shown_line(state); line && stages > 1)
    take(draw_stages(ui, line->stage, stages, head.right(), area.y + (ui.touch ? 30.f : 22.f)));
  take(draw_memory_line(ui, state, rest.cut_top(narrow ? kNarrowLine : kLine), narrow));
  take(draw_phases(ui, state, rest.cut_top(kCaption + (narrow ? 2 * kNarrowCell : kCell)), narrow ? 3 : 6));
  take(draw_totals(ui, state, rest, narrow ? 2 : 4));
  return edit;
}

}  // namespace wireplan
