#include "web/panels/memory_line.hpp"

#include <algorithm>
#include <cmath>

#include "web/panels/byte_column.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kSays = 24, kLabels = 34, kTicks = 34, kGap = 22, kOptimizer = 16;

// One micro-batch or the optimizer: points [begin, end) between two times.
struct Span {
  std::size_t begin = 0, end = 0;
  double from = 0, to = 0;
  Count micro_batch = 0;
  bool is_optimizer = false, after_gap = false;
  float x0 = 0, x1 = 0, backward = 0;  // where the backward begins, 0: nowhere
  float at(double time) const {
    return to > from ? x0 + (x1 - x0) * static_cast<float>(std::clamp((time - from) / (to - from), 0.0, 1.0)) : x1;
  }
};

std::vector<Span> spans_of(const std::vector<MemoryPoint>& points) {
  std::vector<Span> spans;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Place& place = points[i].place;
    const bool is_optimizer = place.phase == StepPhase::optimizer;
    const Span* last = spans.empty() ? nullptr : &spans.back();
    if (!last || last->is_optimizer != is_optimizer || (!is_optimizer && last->micro_batch != place.micro_batch)) {
      Span s{i, i, points[i - 1].time.value, 0, place.micro_batch, is_optimizer};
      s.after_gap = last && !is_optimizer && place.micro_batch > last->micro_batch + 1;
      // The middle of a first layer and its end: as long again before them it began.
      if (s.after_gap && i + 1 < points.size()) s.from = 2 * points[i].time.value - points[i + 1].time.value;
      spans.push_back(s);
    }
    spans.back().end = i + 1;
    spans.back().to = points[i].time.value;
  }
  return spans;
}

void lay_out(std::vector<Span>& spans, const std::vector<MemoryPoint>& points, float x, float right) {
  float fixed = 0;
  double time = 0;
  for (const Span& s : spans) {
    fixed += (s.is_optimizer ? kOptimizer : 0) + (s.after_gap ? kGap : 0);
    if (!s.is_optimizer) time += s.to - s.from;
  }
  const double per_second = time > 0 ? std::max(0.f, right - x - fixed) / time : 0;
  for (Span& s : spans) {
    s.x0 = x + (s.after_gap ? kGap : 0);
    s.x1 = s.is_optimizer ? right : s.x0 + static_cast<float>((s.to - s.from) * per_second);
    x = s.x1;
    for (std::size_t i = s.begin; i + 1 < s.end && s.backward == 0; ++i)
      if (points[i].place.phase != StepPhase::backward && points[i + 1].place.phase == StepPhase::backward)
        s.backward = s.at(points[i].time.value);
  }
}

struct Picture {
  Ui& ui;
  const std::vector<MemoryPoint>& points;
  Rect plot;
  std::vector<Span> spans;
  double most = 1;
  float height(double bytes) const {
    return plot.bottom() - plot.h * static_cast<float>(std::clamp(bytes / most, 0.0, 1.0));
  }
  float x_of(std::size_t point) const {
    for (const Span& s : spans)
      if (point >= s.begin && point < s.end) return s.at(points[point].time.value);
    return plot.x;
  }
};

// Under the line between two of its points, cut at two heights. Without softened edges, so that neighbours join.
void slice(const Picture& p, ImVec2 a, ImVec2 b, float top, float bottom, ImU32 color) {
  if (top >= bottom) return;
  const auto cut = [&](float y) { return std::clamp(y, top, bottom); };
  if (cut(a.y) >= bottom && cut(b.y) >= bottom) return;
  const ImVec2 corners[] = {{a.x, cut(a.y)}, {b.x, cut(b.y)}, {b.x, bottom}, {a.x, bottom}},
               white = ImGui::GetFontTexUvWhitePixel();
  p.ui.list->PrimReserve(6, 6);
  for (const int i : {0, 1, 2, 0, 2, 3}) p.ui.list->PrimVtx(corners[i], white, color);
}

// The highest point of every few pixels: never more to draw than can be seen, and no peak lost.
std::vector<ImVec2> thinned(const Picture& p, const Span& s, float every) {
  std::vector<ImVec2> line{{s.x0, p.height(p.points[s.begin - 1].allocated.value)}};
  float last = -1;
  for (std::size_t i = s.begin; i < s.end; ++i) {
    const ImVec2 at{s.at(p.points[i].time.value), p.height(p.points[i].allocated.value)};
    const float column = std::floor((at.x - s.x0) / every);
    if (column != last)
      line.push_back(at);
    else if (at.y < line.back().y)
      line.back() = at;
    last = column;
  }
  line.push_back({s.x1, p.height(p.points[s.end - 1].allocated.value)});
  return line;
}

void draw_area(const Picture& p, double floor, double peak, double capacity, bool narrow) {
  Ui& ui = p.ui;
  const Palette& c = *ui.colors;
  const float stays = p.height(floor), line = p.height(capacity), roof = std::min(line, p.height(peak));
  for (const Span& s : p.spans) {
    const std::vector<ImVec2> top = thinned(p, s, narrow ? 3 : 2);
    for (std::size_t i = 0; i + 1 < top.size(); ++i) {
      slice(p, top[i], top[i + 1], stays, p.plot.bottom(), c.optim);
      slice(p, top[i], top[i + 1], line, stays, c.acts);
      slice(p, top[i], top[i + 1], p.plot.y, line, faded(c.no, 0.35f));
    }
    ui.list->AddPolyline(top.data(), static_cast<int>(top.size()), c.ink2, 1.2f);
    if (s.after_gap) hatch(ui, {s.x0 - kGap + 2, roof, kGap - 4, p.plot.bottom() - roof}, c.line2, 6);
  }
  const std::string kept = std::string(ui.word("mem.line.stays")) + " " + format_bytes_with_unit(Bytes(floor), ui.unit);
  const TextStyle style = tick_style(ui).in(label_on(c.optim));
  if (p.plot.bottom() - stays > 15 && text_width(ui, kept, style) < p.plot.w - 12)
    text(ui, p.plot.x + 6, (stays + p.plot.bottom()) / 2, kept, style);
}

void draw_names(const Picture& p, float y, bool is_one) {
  Ui& ui = p.ui;
  const TextStyle style = tick_style(ui);
  const auto name = [&](std::string_view words, float from, float to, float at) {
    if (text_width(ui, words, style) < to - from - 4) text(ui, (from + to) / 2, at, words, style, Align::centre);
  };
  for (const Span& s : p.spans) {
    vertical(ui, s.x0, p.plot.bottom(), y + (s.is_optimizer ? 3 : 28), ui.colors->line2);
    if (s.after_gap) name("…", s.x0 - kGap, s.x0, y + 22);
    if (s.is_optimizer) {
      text(ui, p.plot.right(), y + 8, ui.word("mem.line.optimizer"), style, Align::right);
      text(ui, p.plot.right(), y + 22, format_seconds(p.points.back().time), style, Align::right);
      continue;
    }
    if (s.backward > 0) {
      vertical(ui, s.backward, p.plot.bottom(), y + 14, ui.colors->line2);
      name(ui.word("mem.line.forward"), s.x0, s.backward, y + 8);
      const bool beside = &s + 1 < p.spans.data() + p.spans.size() && (&s + 1)->is_optimizer;
      name(ui.word("mem.line.backward"), s.backward,
           s.x1 - (beside ? text_width(ui, ui.word("mem.line.optimizer"), style) - kOptimizer : 0), y + 8);
    }
    if (is_one) continue;
    const std::string number = std::to_string(s.micro_batch + 1),
                      words = ui.words->fill("mem.line.micro", {{"n", number}});
    name(text_width(ui, words, style) < s.x1 - s.x0 - 50 ? words : number, s.x0, s.x1, y + 22);
  }
}

// The span under the pointer, or the one behind the gap that is.
const Span* span_at(const Picture& p, float x) {
  for (const Span& s : p.spans)
    if (x <= s.x1) return &s;
  return nullptr;
}
// The highest point within two pixels, else the next one.
std::size_t point_at(const Picture& p, const Span& s, float x) {
  std::size_t best = s.end - 1;
  for (std::size_t i = s.end; i-- > s.begin;)
    if (s.at(p.points[i].time.value) >= x - 2) best = i;
  for (std::size_t i = best; i < s.end && s.at(p.points[i].time.value) <= x + 2; ++i)
    if (p.points[i].allocated > p.points[best].allocated) best = i;
  return best;
}

// Words above the line, joined to its point.
Rect say(const Picture& p, float x, float y, const Rect& area, const std::string& words, const TextStyle& style) {
  Ui& ui = p.ui;
  const float w = std::min(text_width(ui, words, style), area.w);
  const Rect box{std::clamp(x - w / 2, area.x, std::max(area.x, area.right() - w)), area.y, w, kSays - 6};
  vertical(ui, x, box.bottom(), y, ui.colors->ink);
  text(ui, box.x, box.middle_y(), words, style, Align::left, w + 1);
  ui.list->AddCircleFilled({std::floor(x) + 0.5f, y}, 4, ui.colors->bg1);
  ui.list->AddCircle({std::floor(x) + 0.5f, y}, 4, ui.colors->ink, 0, 1.5f);
  return box;
}

void draw_scale(const Picture& p) {
  Ui& ui = p.ui;
  const double unit = unit_bytes(ui.unit), step = tick_step(p.most / unit / 0.6);
  for (double v = 0; v * unit <= p.most; v += step) {
    const float y = p.height(v * unit);
    horizontal(ui, p.plot.x, p.plot.right(), y, ui.colors->grid);
    text(ui, p.plot.x - 6, y, format_fixed(v, step < 1 ? 1 : 0), tick_style(ui), Align::right);
  }
}

}  // namespace

Edit draw_memory_line(Ui& ui, const AppState& state, const Rect& area, bool narrow) {
  const MemoryLine* line = shown_line(state);
  if (!line || line->points.size() < 2) return {};
  const MemoryAnswer& m = state.answer.estimate.memory;
  const std::vector<MemoryPoint>& points = line->points;
  const std::size_t highest = peak_of(*line);
  Picture p{ui, points, {area.x + kTicks, area.y + kSays, area.w - kTicks, area.h - kSays - kLabels}, spans_of(points)};
  p.most = std::max(1.14 * m.capacity.value, 1.06 * points[highest].allocated.value);
  lay_out(p.spans, points, p.plot.x, p.plot.right());

  draw_scale(p);
  draw_area(p, points.front().allocated.value, points[highest].allocated.value, m.capacity.value, narrow);
  draw_names(p, p.plot.bottom(), micro_batches(state.answer.plan) == 1);
  const float limit = std::floor(p.height(m.capacity.value));
  ui.list->AddRectFilled({p.plot.x, limit - 1}, {p.plot.right(), limit + 1}, ui.colors->ink);
  ui.mark("memory.timeline.capacity", {p.plot.x, limit - 1, p.plot.w, 2});
  text(ui, p.plot.right(), limit - 8, capacity_text(state), {11, Face::semibold, ui.colors->ink}, Align::right);

  const std::string path = line->stage == m.worst_stage
                               ? "memory.allocated_bytes"
                               : "memory.ranks." + std::to_string(line->stage) + ".allocated_bytes";
  const Press whole = press(ui, "memory.timeline", p.plot, true, 0);
  const float x = ImGui::GetIO().MousePos.x;
  // Reached by keyboard it is hovered, too, wherever the pointer is.
  const bool is_pointed = whole.hovered && x >= p.plot.x && x <= p.plot.right();
  const Span* span = is_pointed ? span_at(p, x) : nullptr;
  const bool is_folded = span && x < span->x0;
  const std::size_t shown = !span ? highest : is_folded ? span->begin - 1 : point_at(p, *span, x);
  const MemoryPoint& point = points[shown];
  const std::string bytes = format_bytes_with_unit(point.allocated, ui.unit);
  // The moment of the peak lies inside what its point is the end of.
  const std::string when = place_text(state, shown == highest ? peak_place(state, *line) : point.place);
  std::string words = ui.words->fill("mem.line.peak", {{"n", bytes}, {"when", when}});
  if (is_folded) {
    const std::string from = std::to_string(point.place.micro_batch + 2), to = std::to_string(span->micro_batch);
    words = ui.words->fill("mem.line.alike", {{"n", from == to ? from : from + "–" + to}});
  } else if (span) {
    words = format_seconds(point.time) + " · " + bytes + " · " + when;
  }
  const float point_x = is_folded ? span->x0 - kGap / 2 : p.x_of(shown), point_y = p.height(point.allocated.value);
  const Rect said = say(p, point_x, point_y, area, words, {narrow ? 11.f : 12.f, Face::semibold, ui.colors->ink});
  ui.mark("memory.timeline.point", {point_x - 4, point_y - 4, 8, 8});
  const Press peak = press(ui, "memory.timeline.peak", said, true, 3);
  if (!span)
    dotted_underline(ui, said.x, said.right(), said.bottom() - 1, peak.hovered ? ui.colors->ink : ui.colors->line2);
  tooltip(ui, peak, ui.word("path.memory.allocated_bytes"), bytes, ui.word("hint.explain"));
  // A finger points before it asks.
  return peak.clicked || (whole.clicked && !ui.touch) ? Edit{"view.explain", path} : Edit{};
}

}  // namespace wireplan
