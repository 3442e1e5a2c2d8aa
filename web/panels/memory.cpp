#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/sheet.hpp"
#include "web/panels/byte_column.hpp"
#include "web/panels/panels.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kBar = 18, kRow = 28, kNarrowRow = 56, kHead = 56, kAxis = 22, kLegend = 40, kName = 84;
constexpr std::size_t kNarrowColumns = 3;

struct Part {
  std::string_view name;  // key of its words under "mem.part."
  const char* path;       // of the estimate
  Bytes bytes;
  ImU32 color;
  bool hatched = false;
  const char* sum = nullptr;  // where more than `path` is in it: the number whose explanation lists what
  const char* explained() const { return sum ? sum : path; }
};
using Parts = std::array<Part, 10>;

// In the order they stand in a bar. What the allocator cannot give back and the runtime come last, hatched.
Parts parts_of(const MemoryAnswer& m, const Palette& c) {
  return {{{"parameters", "memory.parts.parameters", m.parts.parameters, c.params},
           {"gradients", "memory.parts.gradients", m.parts.gradients, c.grads},
           {"optimizer", "memory.parts.optimizer_states", m.parts.optimizer_states, c.optim},
           {"master", "memory.parts.master_weights", m.parts.master_weights, c.optim, true},
           {"activations", "memory.parts.activations", m.parts.activations, c.acts},
           {"logits", "memory.parts.logits", m.parts.logits, c.logits},
           {"gathered", "memory.parts.unsharded_parameters", m.parts.unsharded_parameters, c.gath},
           {"buffers", "memory.parts.communication_buffers", m.parts.communication_buffers, c.bufs},
           {"temporary", "memory.parts.temporary", m.parts.temporary, c.bufs, true},
           {"slack", "memory.runtime_bytes", m.need.value - m.allocated.value, c.slack, true, "memory.need_bytes"}}};
}

// From bytes to places on the page; the same for all rows. So are the decimals.
struct Scale {
  float x = 0;
  double per_byte = 0, most = 0;
  int decimals = 1;
  float at(Bytes b) const { return x + static_cast<float>(b.value * per_byte); }
};

Scale scale_of(const AppState& state, float x, float width) {
  double most = 1.3 * state.answer.estimate.memory.capacity.value;
  std::vector<Bytes> column;
  for (const Alternative& a : state.answer.shardings) {
    most = std::max(most, a.estimate.memory.need.high.value);
    column.push_back(a.estimate.memory.need.value);
  }
  return {x, most > 0 ? width / most : 0, most, decimals_of(column, state.view.unit)};
}

void draw_bar(Ui& ui, const MemoryAnswer& m, const Rect& bar, const Scale& scale, ImU32 ground) {
  const float line = scale.at(m.capacity);
  Bytes below;
  for (const Part& p : parts_of(m, *ui.colors)) {
    const float x0 = scale.at(below), x1 = scale.at(below + p.bytes);
    below += p.bytes;
    const float gap = x1 - x0 > 3 ? 1.f : 0.f;
    const Rect whole{x0, bar.y, x1 - x0 - gap, bar.h};
    Rect inside = whole;
    if (inside.right() > line) inside.w = std::max(0.f, line - inside.x);
    fill(ui, inside, p.color);
    if (p.hatched) hatch(ui, inside, faded(ground, 0.55f), 4);
    if (whole.right() > line)
      fill(ui, {std::max(whole.x, line), bar.y, whole.right() - std::max(whole.x, line), bar.h}, faded(p.color, 0.4f));
    const TextStyle style = label_style(ui).in(label_on(p.color));
    const std::string value = ui.bytes(p.bytes);
    const float w = text_width(ui, value, style);
    if (inside.w < 26 || inside.w <= 0.5f * whole.w || w >= inside.w - 4) continue;
    if (p.hatched) fill(ui, {inside.middle_x() - w / 2 - 3, bar.y + 2, w + 6, bar.h - 4}, p.color);
    text(ui, inside.middle_x(), bar.middle_y(), value, style, Align::centre);
  }
  const float end = scale.at(below);
  if (end > line + 1) {
    const Rect over{line, bar.y, end - line, bar.h};
    hatch(ui, over, ui.colors->no, 7, 1.2f);
    outline(ui, over, ui.colors->no, 0, 2);
  }
  whisker(ui, scale.at(m.need.low), scale.at(m.need.high), bar.middle_y(), ground);
}

// "✓ 34.2 free", "✕ 31.6 over"; ends at `right` when that is given, begins at `left` else.
void draw_verdict(Ui& ui, const MemoryAnswer& m, int decimals, float left, float middle, bool from_right) {
  const ImU32 color = m.fits ? ui.colors->fit : ui.colors->no;
  const Bytes rest = m.fits ? m.capacity - m.need.value : m.need.value - m.capacity;
  const std::string words =
      ui.words->fill(m.fits ? "mem.free" : "mem.over", {{"n", in_column(rest, ui.unit, decimals)}});
  const TextStyle style = label_style(ui).in(color);
  if (from_right) left -= text_width(ui, words, style) + 16;
  icon(ui, m.fits ? Icon::check : Icon::cross, {left + 5, middle}, m.fits ? 9.f : 8.f, color, 2);
  text(ui, left + 16, middle, words, style);
}

// Parts of the chosen plan under the pointer, one after the other, to be looked up.
Edit press_parts(Ui& ui, const MemoryAnswer& m, const Rect& bar, const Scale& scale) {
  Edit edit;
  Bytes below;
  for (const Part& p : parts_of(m, *ui.colors)) {
    const Rect r{scale.at(below), bar.y, scale.at(below + p.bytes) - scale.at(below), bar.h};
    below += p.bytes;
    if (r.w < 2) continue;
    const Press part = press(ui, std::string(p.path) + ".bar", r, true, 0);
    tooltip(ui, part, ui.word("mem.part." + std::string(p.name)), format_bytes_with_unit(p.bytes, ui.unit),
            ui.word("hint.explain"));
    if (part.clicked) edit = {"view.explain", p.explained()};
  }
  return edit;
}

Edit draw_row(Ui& ui, const Alternative& a, const Rect& row, const Scale& scale, bool narrow) {
  Edit edit;
  const MemoryAnswer& m = a.estimate.memory;
  const std::string key = "strategy." + a.key;
  const Rect bar =
      narrow ? Rect{row.x, row.y + 28, row.w, kBar} : Rect{scale.x, row.middle_y() - kBar / 2, row.w, kBar};
  const ImU32 ground = a.chosen ? ui.colors->bg2 : ui.colors->bg1;
  Press whole;
  if (a.chosen)
    ui.mark(key, row);
  else
    whole = press(ui, key, row);
  if (a.chosen || whole.hovered) fill(ui, row, ui.colors->bg2);
  if (a.chosen) fill(ui, {row.x, row.y, 3, row.h}, ui.colors->ink);

  const float middle = narrow ? row.y + 15 : row.middle_y(), left = row.x + 8;
  text(ui, left, middle, a.label, a.chosen ? strong_style(ui) : body_style(ui), Align::left, narrow ? 0 : kName - 12);
  if (narrow) {
    const float w = text(ui, row.right() - 8, middle, in_column(m.need.value, ui.unit, scale.decimals),
                         strong_style(ui), Align::right);
    draw_verdict(ui, m, scale.decimals, row.right() - 8 - std::max(w, 40.f) - 12, middle, true);
  } else {
    text(ui, row.right() - 102, middle, in_column(m.need.value, ui.unit, scale.decimals), strong_style(ui),
         Align::right);
    draw_verdict(ui, m, scale.decimals, row.right() - 90, middle, false);
  }
  draw_bar(ui, m, bar, scale, whole.hovered ? ui.colors->bg2 : ground);
  if (!a.chosen) {
    tooltip(ui, whole, a.label, a.implemented_by, ui.word("hint.choose"));
    return whole.clicked ? Edit{key, ""} : Edit{};
  }
  const Press total =
      press(ui, "memory.need_bytes",
            narrow ? Rect{row.right() - 56, row.y + 4, 52, 22} : Rect{row.right() - 150, row.y + 3, 52, row.h - 6});
  if (total.clicked) edit = {"view.explain", "memory.need_bytes"};
  tooltip(ui, total, ui.word("path.memory.need_bytes"), format_bytes_with_unit(m.need.value, ui.unit),
          ui.word("hint.explain"));
  if (Edit part = press_parts(ui, m, bar, scale)) edit = std::move(part);
  return edit;
}

void draw_capacity(Ui& ui, const AppState& state, const Scale& scale, float top, float bottom, bool narrow) {
  const Bytes capacity = state.answer.estimate.memory.capacity;
  const float x = std::floor(scale.at(capacity));
  ui.list->AddRectFilled({x - 1, top}, {x + 1, bottom}, ui.colors->ink);
  if (narrow) return;
  ui.list->AddTriangleFilled({x - 5, top - 1}, {x + 5, top - 1}, {x, top + 5}, ui.colors->ink);
  const std::string label = capacity_text(state);
  // Left of the line where there is room, else right of it.
  const TextStyle bold{11, Face::semibold, ui.colors->ink};
  const float width = text_width(ui, label, bold), left = x - scale.x - 8, right = scale.at(Bytes(scale.most)) - x - 8;
  const bool on_left = width <= left || left >= right;
  const float shown = std::min(width, on_left ? left : right);
  text(ui, on_left ? x - 8 : x + 8, top + 1, label, bold, on_left ? Align::right : Align::left, shown + 1);
  ui.mark("memory.capacity_bytes", {on_left ? x - 8 - shown : x + 8, top - 7, shown, 16});
}

void draw_axis(Ui& ui, const Scale& scale, float top, float bottom) {
  const double unit = unit_bytes(ui.unit), step = tick_step(scale.most / unit);
  for (double v = 0; v * unit <= scale.most * 1.0001; v += step) {
    const float x = scale.at(Bytes(v * unit));
    vertical(ui, x, top, bottom, ui.colors->grid);
    text(ui, x, bottom + 11, format_fixed(v, step < 1 ? 1 : 0), tick_style(ui), Align::centre);
  }
}

std::string_view word_of(const AppState& state, const Part& p) {
  return state.words["mem.part." + std::string(p.name)];
}

// The parts that are told by number: those of which a plan may have none only where it has some.
std::vector<Part> legend_parts(const AppState& state, const Palette& c) {
  const MemoryAnswer& m = state.answer.estimate.memory;
  const double unit = unit_bytes(state.view.unit), least = m.need.value.value < 10 * unit ? 0.005 : 0.05;
  std::vector<Part> shown;
  for (const Part& p : parts_of(m, c)) {
    const bool is_optional = p.name == "master" || p.name == "buffers" || p.name == "temporary";
    if (!is_optional || p.bytes.value >= least * unit) shown.push_back(p);
  }
  return shown;
}

// How many stand side by side. By the letters of the words, so that the height is known before there is a face to measure with.
std::size_t legend_columns(const AppState& state, const std::vector<Part>& shown, float width) {
  if (width < 480) return kNarrowColumns;
  constexpr float kLetter = 6, kRoom = 24;
  float words = 0;
  for (const Part& p : shown)
    words += kRoom + kLetter * static_cast<float>(std::count_if(word_of(state, p).begin(), word_of(state, p).end(),
                                                                [](char c) { return (c & 0xC0) != 0x80; }));
  return words > width ? (shown.size() + 1) / 2 : shown.size();
}

float legend_height(const AppState& state, float width) {
  const std::vector<Part> shown = legend_parts(state, kLightPalette);
  const std::size_t columns = legend_columns(state, shown, width);
  return static_cast<float>((shown.size() + columns - 1) / columns) * kLegend + 4;
}

Edit draw_legend(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const std::vector<Part> shown = legend_parts(state, *ui.colors);
  std::vector<double> values;
  for (const Part& p : shown) values.push_back(p.bytes.value / unit_bytes(ui.unit));
  const double total = state.answer.estimate.memory.need.value.value / unit_bytes(ui.unit);
  const std::vector<std::string> texts = parts_that_add_up(values, total, total < 10 ? 2 : 1);
  // Each as wide as its words, so that long names get the room; the rest shared out evenly.
  float words = 0;
  std::vector<float> widths;
  for (const Part& p : shown) words += widths.emplace_back(text_width(ui, word_of(state, p), tick_style(ui)) + 13);
  const std::size_t per_line = legend_columns(state, shown, area.w);
  const bool folded = per_line < shown.size();
  float x = area.x;
  const float gap = folded ? 0 : (area.w - words) / static_cast<float>(std::max<std::size_t>(shown.size() - 1, 1));
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Part& p = shown[i];
    const float width = folded ? area.w / static_cast<float>(per_line) : widths[i];
    const float y = area.y + static_cast<float>(i / per_line) * kLegend;
    if (folded) x = area.x + static_cast<float>(i % per_line) * width;
    const Press item = press(ui, p.path, {x - 3, y, width - (folded ? 4.f : 0.f), 36}, true, 3);
    const Rect swatch{x, y + 5, 9, 9};
    fill(ui, swatch, p.color);
    if (p.hatched) hatch(ui, swatch, faded(ui.colors->bg1, 0.55f), 4);
    text(ui, x + 13, y + 10, word_of(state, p), tick_style(ui).in(item.hovered ? ui.colors->ink : ui.colors->ink2),
         Align::left, width - (folded ? 18.f : 12.f));
    text(ui, x + 13, y + 26, values[i] > 0 ? texts[i] : "0", body_style(ui));
    if (item.clicked) edit = {"view.explain", p.explained()};
    x += width + gap;
  }
  return edit;
}

}  // namespace

float memory_height(const AppState& state, float width, bool narrow) {
  const float rows = static_cast<float>(state.answer.shardings.size());
  const float legend = legend_height(state, width - (narrow ? 32 : 40));
  if (narrow) return 44 + rows * kNarrowRow + 28 + legend + 4 + recipes_height(state, true) + 12;
  return kHead + rows * kRow + kAxis + legend + recipes_height(state, false) + 8;
}

Edit draw_memory(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const auto take = [&](Edit next) {
    if (next) edit = std::move(next);
  };
  const bool narrow = area.w < 560;
  const MemoryAnswer& m = state.answer.estimate.memory;
  const float side = narrow ? 16 : 20;
  const Rect inner = area.inset(side, 0);
  const float title = text(ui, inner.x, area.y + 22, ui.word("mem.title"), title_style(ui));
  const std::string unit_now = unit_name(ui.unit);
  if (narrow) {
    text(ui, inner.right(), area.y + 22, ui.words->fill("mem.sub_short", {{"u", unit_now}}), label_style(ui),
         Align::right, inner.w - title - 12);
  } else {
    const Rect units{inner.right() - 76, area.y + 11, 76, 23};
    const std::string_view unit =
        segments(ui, "unit", units, {{"GB", "GB"}, {"GiB", "GiB"}}, unit_now, label_style(ui));
    if (!unit.empty()) take({"view.unit", std::string(unit)});
    text(ui, inner.x + title + 12, area.y + 22,
         ui.words->fill(
             "mem.sub",
             {{"u", unit_now},
              {"when",
               place_text(state, state.answer.estimate.stage_memory[static_cast<std::size_t>(m.worst_stage)].place)}}),
         label_style(ui), Align::left, units.x - inner.x - title - 24);
  }

  const float rows = static_cast<float>(state.answer.shardings.size());
  const float top = area.y + (narrow ? 44 : kHead), pitch = narrow ? kNarrowRow : kRow, bottom = top + rows * pitch;
  const Scale scale =
      narrow ? scale_of(state, inner.x, inner.w) : scale_of(state, inner.x + kName, inner.w - kName - 168);
  if (!narrow) draw_axis(ui, scale, top - 4, bottom + 2);
  float y = top;
  for (const Alternative& a : state.answer.shardings) {
    take(draw_row(ui, a, {inner.x - 8, y, inner.w + 16, pitch}, scale, narrow));
    if (narrow) draw_capacity(ui, state, scale, y + 24, y + 28 + kBar + 4, true);
    y += pitch;
  }
  if (!narrow)
    draw_capacity(ui, state, scale, top - 13, bottom + 4, false);
  else
    text(ui, std::min(scale.at(m.capacity), inner.right() - 60), bottom + 10,
         format_bytes_with_unit(m.capacity, ui.unit), {11, Face::semibold, ui.colors->ink}, Align::centre);
  const float below = bottom + (narrow ? 28.f : kAxis + 6);
  const float legend = legend_height(state, inner.w);
  take(draw_legend(ui, state, {inner.x, below, inner.w, legend}));
  take(draw_recipes(ui, state, {inner.x, below + legend + (narrow ? 4.f : -4.f), inner.w, 0}, narrow));
  return edit;
}

}  // namespace wireplan
