#include "web/panels/curve_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/math.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

using Point = CollectiveChart::Point;

constexpr float kLeft = 38, kBottom = 22, kTop = 20;

struct Plot {
  Ui& ui;
  Rect r;
  double x_from = 10, x_to = 33;  // log2 of bytes
  double y_from = 0, y_to = 1;    // log2 of bytes/s
  float x(Bytes size) const { return r.x + r.w * static_cast<float>((log2_of(size.value) - x_from) / (x_to - x_from)); }
  float y(BytesPerSecond rate) const {
    const double at = rate.value > 0 ? (log2_of(rate.value) - y_from) / (y_to - y_from) : 0;
    return r.bottom() - r.h * static_cast<float>(std::clamp(at, 0.0, 1.0));
  }
  ImVec2 at(Bytes size, BytesPerSecond rate) const { return {x(size), y(rate)}; }
};

bool is_within(Bytes size) { return size.value >= kLeastChartBytes && size.value <= kMostChartBytes; }

// Both ends of the scale, so that all that is drawn lies within.
void scale(Plot& p, const CollectiveChart& c) {
  double least = c.wire_limit.value > 0 ? c.wire_limit.value : 1e9, most = least;
  const auto take = [&](double v) {
    if (v <= 0) return;
    least = std::min(least, v);
    most = std::max(most, v);
  };
  for (const auto& piece : c.predicted)
    for (const Point& q : piece) take(q.low.value), take(q.high.value);
  for (const CollectiveChart::Measured& m : c.measured)
    if (is_within(m.size)) take(m.bus.value);
  p.y_from = log2_of(std::max(least, most * 1e-6)) - 0.2;
  p.y_to = std::max(log2_of(most) + 0.5, p.y_from + 2);
}

// 1, 2 and 5 of every decade; 1 alone where these would stand too close.
void draw_grid(const Plot& p) {
  Ui& ui = p.ui;
  const float octave = p.r.h / static_cast<float>(p.y_to - p.y_from);
  for (int decade = 3; decade < 15; ++decade)
    for (const int step : {1, 2, 5}) {
      if (step > 1 && octave < 15) continue;
      const BytesPerSecond rate(step * power(10, decade));
      const double at = log2_of(rate.value);
      if (at < p.y_from || at > p.y_to) continue;
      const float y = p.y(rate);
      horizontal(ui, p.r.x, p.r.right(), y, ui.colors->grid);
      if (y > p.r.y + 4) text(ui, p.r.x - 6, y, format_exact(rate.value / 1e9), tick_style(ui), Align::right);
    }
  const int every = p.r.w < 420 ? 6 : p.r.w < 700 ? 4 : 2;
  for (int i = 10; i <= 33; ++i) {
    const Bytes size(power(2, i));
    if ((i - 10) % 2 == 0) vertical(ui, p.x(size), p.r.y, p.r.bottom(), ui.colors->grid);
    if ((i - 10) % every == 0 && p.x(size) < p.r.right() - 18)
      text(ui, p.x(size), p.r.bottom() + 12, format_message_size(size), tick_style(ui), i == 10 ? Align::left : Align::centre);
  }
  horizontal(ui, p.r.x, p.r.right(), p.r.bottom(), ui.colors->line2);
}

void draw_limit(const Plot& p, const CollectiveChart& c) {
  if (c.wire_limit.value <= 0) return;
  const float y = p.y(c.wire_limit);
  dashed_line(p.ui, {p.r.x, y}, {p.r.right(), y}, p.ui.colors->ink3, 2, 3);
  text(p.ui, p.r.x + 6, y < p.r.y + 16 ? y + 9 : y - 8, p.ui.words->fill("chart.limit", {{"l", c.wire}, {"r", format_rate(c.wire_limit)}}), tick_style(p.ui),
       Align::left, p.r.w * 0.6f);
}

// The size the plan sends, in ink; the others it sends among these GPUs, fainter.
void draw_sent(const Plot& p, const CollectiveChart& c) {
  Ui& ui = p.ui;
  for (const CollectiveChart::Sent& s : c.sent) {
    if (!is_within(s.size)) continue;
    const float x = std::floor(p.x(s.size)) + 0.5f;
    dashed_line(ui, {x, p.r.y}, {x, p.r.bottom()}, s.is_shown ? ui.colors->ink : faded(ui.colors->ink, 0.35f), 4, 3);
    if (!s.is_shown) continue;
    const std::string label = std::string(s.name) + ", " + format_message_size(s.size);
    const bool left = x > p.r.middle_x();
    text(ui, left ? x - 6 : x + 6, p.r.y - 9, label, {11, Face::semibold, ui.colors->ink}, left ? Align::right : Align::left,
         left ? x - p.r.x : p.r.right() - x);
  }
}

void draw_line(const Plot& p, const std::vector<Point>& points, ImU32 color, float thickness) {
  std::vector<ImVec2> way;
  for (const Point& q : points) way.push_back(p.at(q.size, q.bus));
  p.ui.list->AddPolyline(way.data(), static_cast<int>(way.size()), color, thickness);
}

void draw_band(const Plot& p, const std::vector<Point>& points, ImU32 color) {
  const ImVec2 white = ImGui::GetFontTexUvWhitePixel();
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Point &a = points[i], &b = points[i + 1];
    const ImVec2 corners[] = {p.at(a.size, a.high), p.at(b.size, b.high), p.at(b.size, b.low), p.at(a.size, a.low)};
    p.ui.list->PrimReserve(6, 6);
    for (const int k : {0, 1, 2, 0, 2, 3}) p.ui.list->PrimVtx(corners[k], white, color);
  }
}

// Where algorithm or protocol switches: a dotted joint, and between two joints what is taken there, on the lower side of the line.
void draw_joints(const Plot& p, const CollectiveChart& c) {
  Ui& ui = p.ui;
  float taken = p.r.x - 1;
  for (std::size_t i = 0; i < c.predicted.size(); ++i) {
    const std::vector<Point>& piece = c.predicted[i];
    if (i > 0) {
      const ImVec2 a = p.at(c.predicted[i - 1].back().size, c.predicted[i - 1].back().bus), b = p.at(piece.front().size, piece.front().bus);
      dashed_line(ui, {b.x, std::min(a.y, b.y) - 12}, {b.x, std::max(a.y, b.y) + 12}, ui.colors->ink3, 2, 3);
    }
    const Point& middle = piece[piece.size() / 2];
    const std::string name = way_text(ui, middle.call);
    const float w = text_width(ui, name, tick_style(ui)), x = std::clamp(p.x(middle.size) + 12, p.r.x + 4, p.r.right() - w - 4);
    const float y = std::min(p.y(middle.low) + 15, p.r.bottom() - 8);
    if (x < taken) continue;
    text(ui, x, y, name, tick_style(ui).in(ui.colors->ink2));
    taken = x + w + 8;
  }
}

// Where NCCL itself switches, by its own cost model: a line and what changes, below the curve or, where that is low, above.
void draw_switches(const Plot& p, const CollectiveChart& c, const std::vector<NcclView::Way>& ways) {
  constexpr std::size_t kRows = 3;
  constexpr float kPitch = 14;
  Ui& ui = p.ui;
  std::array<float, 2 * kRows> taken;
  taken.fill(p.r.x);
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const Bytes size(ways[i].size);
    if (!is_within(size)) continue;
    const float x = std::floor(p.x(size)) + 0.5f;
    dashed_line(ui, {x, p.r.y}, {x, p.r.bottom()}, ui.colors->focus, 2, 3);
    ui.mark("curve.switch." + std::to_string(i), {x - 1, p.r.y, 3, p.r.h});
    const std::string label = nccl_switch_text(ways[i - 1], ways[i]);
    const float w = text_width(ui, label, tick_style(ui)), left = x + w + 8 > p.r.right() ? x - w - 5 : x + 5;
    const CollectiveChart::Point* under = c.at(size);
    const bool below = under && p.y(under->low) < p.r.bottom() - kPitch * (kRows + 1);
    for (std::size_t row = 0; row < kRows; ++row) {
      float& end = taken[below ? row : kRows + row];
      if (left < end) continue;
      text(ui, left, below ? p.r.bottom() - 10 - kPitch * static_cast<float>(row) : p.r.y + 26 + kPitch * static_cast<float>(row), label, tick_style(ui).in(ui.colors->focus));
      end = left + w + 8;
      break;
    }
  }
}

void draw_others(const Plot& p, const CollectiveChart& c) {
  Ui& ui = p.ui;
  const std::array<ImU32, 3> colors = {ui.colors->params, ui.colors->acts, ui.colors->load};
  for (std::size_t i = 0; i < c.others.size(); ++i) {
    const CollectiveChart::Line& line = c.others[i];
    const ImU32 color = line.name.empty() ? ui.colors->ink3 : colors[i % colors.size()];
    draw_line(p, line.points, color, 1.2f);
    if (line.name.empty()) continue;  // named below the plot
    const Point& q = line.points.back();
    text(ui, p.x(q.size) - 4, p.y(q.bus) + 11, ui.words->fill("chart.instead", {{"a", line.name}}), tick_style(ui).in(color), Align::right);
  }
}

void draw_measured(const Plot& p, const CollectiveChart& c) {
  for (const CollectiveChart::Measured& m : c.measured) {
    if (!is_within(m.size)) continue;
    const ImVec2 at = p.at(m.size, m.bus);
    p.ui.list->AddCircleFilled(at, 4, p.ui.colors->bg1, 16);
    p.ui.list->AddCircle(at, 4, p.ui.colors->params, 16, 1.6f);
  }
}

// What stands under the pointer, in words on top of the plot.
void draw_reading(const Plot& p, const CollectiveChart& c) {
  Ui& ui = p.ui;
  const Press over = press(ui, "curve.plot", p.r, true, 0);
  if (!over.hovered || c.predicted.empty() || ui.touch) return;
  const double share = (ImGui::GetIO().MousePos.x - p.r.x) / p.r.w;
  const Point* q = c.at(Bytes(power(2, p.x_from + share * (p.x_to - p.x_from))));
  if (!q) return;
  vertical(ui, p.x(q->size), p.r.y, p.r.bottom(), ui.colors->ink3);
  ui.list->AddCircleFilled(p.at(q->size, q->bus), 3.5f, ui.colors->ink, 16);
  const std::string said =
      ui.words->fill("chart.at", {{"s", format_message_size(q->size)},
                                  {"b", format_rate(q->bus)},
                                  {"l", format_rate(q->low)},
                                  {"h", format_rate(q->high)},
                                  {"w", way_text(ui, q->call)}});
  const std::string basis(ui.word("basis." + std::string(name_of(q->call.basis))));
  const float w = std::max(text_width(ui, said, label_style(ui)), text_width(ui, basis, tick_style(ui))) + 16;
  const bool left = p.x(q->size) < p.r.middle_x();
  const Rect box{left ? p.r.right() - w - 8 : p.r.x + 8, p.r.bottom() - 50, w, 40};
  fill(ui, box, ui.colors->bg1, 4);
  outline(ui, box, ui.colors->ink3, 4);
  text(ui, box.x + 8, box.y + 13, said, label_style(ui).in(ui.colors->ink));
  text(ui, box.x + 8, box.y + 28, basis, tick_style(ui));
}

}  // namespace

std::string way_text(const Ui& ui, const CollectiveCall& call) {
  constexpr const char* kProtocols[] = {"LL", "LL128", "Simple"};
  return ui.words->fill("chart.way", {{"a", std::string(name_of(call.algorithm))},
                                      {"p", kProtocols[static_cast<std::size_t>(call.protocol)]}});
}

void draw_curve_plot(Ui& ui, const CollectiveChart& chart, const std::vector<NcclView::Way>* nccl, const Rect& area) {
  Plot p{ui, area};
  p.r.cut_left(kLeft);
  p.r.cut_top(kTop);
  p.r.cut_bottom(kBottom);
  scale(p, chart);
  draw_grid(p);
  draw_limit(p, chart);
  for (const auto& piece : chart.predicted) draw_band(p, piece, faded(ui.colors->exposed, 0.14f));
  draw_others(p, chart);
  for (const auto& piece : chart.predicted) draw_line(p, piece, ui.colors->exposed, 3);
  if (nccl)
    draw_switches(p, chart, *nccl);
  else
    draw_joints(p, chart);
  draw_sent(p, chart);
  draw_measured(p, chart);
  draw_reading(p, chart);
}

}  // namespace wireplan
