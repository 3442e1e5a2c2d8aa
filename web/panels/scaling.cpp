#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"
#include "web/panels/byte_column.hpp"
#include "web/panels/panels.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 62, kPlot = 120, kTicks = 20, kText = 52, kTouch = 44;

struct Plot {
  Ui& ui;
  Rect r;
  double x_from = 0, x_to = 1, most = 1;  // log2 of GPUs; tokens/s a GPU
  ImVec2 at(const ScalingPoint& p) const {
    const double x = x_to > x_from ? (log2_of(static_cast<double>(p.gpus)) - x_from) / (x_to - x_from) : 0.5;
    return {r.x + r.w * static_cast<float>(x), r.bottom() - r.h * static_cast<float>(std::clamp(p.step.tokens_per_s_per_gpu / most, 0.0, 1.0))};
  }
};

void draw_scales(const Plot& p, const Scaling& s) {
  Ui& ui = p.ui;
  const double step = tick_step(p.most * 2);
  for (double v = 0; v < p.most; v += step) {
    const float y = p.r.bottom() - p.r.h * static_cast<float>(v / p.most);
    horizontal(ui, p.r.x, p.r.right(), y, ui.colors->grid);
    text(ui, p.r.x - 8, y, format_count(v), tick_style(ui), Align::right);
  }
  float taken = p.r.x - 40;
  for (const ScalingPoint& point : s.points) {
    const std::string n = format_count(static_cast<double>(point.gpus));
    const float half = text_width(ui, n, tick_style(ui)) / 2, x = p.at(point).x;
    if (x - half < taken) continue;
    text(ui, x, p.r.bottom() + 11, n, tick_style(ui), Align::centre);
    taken = x + half + 8;
  }
}

}  // namespace

float scaling_height(bool narrow) { return kHead + kPlot + kTicks + kText + 8 + (narrow ? kTouch + 8 : 0); }

Edit draw_scaling(Ui& ui, const AppState& state, const Rect& area) {
  const Rect inner = area.inset(area.w < 420 ? 16 : 20, 0);
  // Beside the title, or below everything where fingers need the width.
  const std::string_view links = ui.word("links.ask");
  Rect ask{inner.x, area.bottom() - kTouch - 8, inner.w, kTouch};
  if (!ui.touch) {
    const float width = text_width(ui, links, label_style(ui)) + 20;
    ask = {inner.right() - width, area.y + 10, width, 24};
  }
  if (text_button(ui, "links.ask", ask, links)) ui.request = {Request::Kind::ask, "links", {}, {}};
  text(ui, inner.x, area.y + 22, ui.word("scaling.title"), title_style(ui), Align::left, (ui.touch ? inner.right() : ask.x - 8) - inner.x);
  text(ui, inner.x, area.y + 42, ui.word("scaling.sub"), label_style(ui), Align::left, inner.w);
  if (!state.answer.scaling) return {};
  const Scaling& s = *state.answer.scaling;
  const Palette& c = *ui.colors;
  const Rect words{inner.x, area.y + kHead + kPlot + kTicks + 4, inner.w, kText};
  ui.mark("scaling.words", words);
  paragraph(ui, words, scaling_text(*ui.words, s), label_style(ui).in(c.ink), 16);
  if (s.points.size() < 2) return {};
  Plot p{ui, {inner.x + 44, area.y + kHead, inner.w - 56, kPlot}};
  p.x_from = log2_of(static_cast<double>(s.points.front().gpus));
  p.x_to = log2_of(static_cast<double>(s.points.back().gpus));
  p.most = 0;
  for (const ScalingPoint& point : s.points) p.most = std::max(p.most, 1.2 * point.step.tokens_per_s_per_gpu);
  if (p.most <= 0) return {};
  draw_scales(p, s);
  std::vector<ImVec2> line;
  for (const ScalingPoint& point : s.points) line.push_back(p.at(point));
  ui.list->AddPolyline(line.data(), static_cast<int>(line.size()), c.params, 2);
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const ScalingPoint& point = s.points[i];
    const float radius = point.is_plan ? 6.f : 4.f;
    const std::string key = "scaling." + std::to_string(i);
    const Rect spot{line[i].x - 10, line[i].y - 10, 20, 20};
    const Press on = press(ui, key, spot, true, 10);
    ui.list->AddCircleFilled(line[i], radius, point.fits ? c.params : c.bg1, 16);
    ui.list->AddCircle(line[i], radius, point.is_plan ? c.ink : c.params, 16, point.is_plan ? 2.f : 1.5f);
    if (point.is_plan) {
      ui.mark("scaling.plan", spot);
      const float half = text_width(ui, ui.word("scaling.plan"), tick_style(ui)) / 2;
      // On the side that the line does not come from.
      const bool below = i > 0 && line[i - 1].y < line[i].y - 4 && line[i].y < p.r.bottom() - 24;
      text(ui, std::clamp(line[i].x, p.r.x + half, p.r.right() - half + 8), line[i].y + (below ? 15.f : -15.f), ui.word("scaling.plan"), {11, Face::semibold, c.ink}, Align::centre);
    }
    tooltip(ui, on, format_count(static_cast<double>(point.gpus)) + " GPU", format_count(point.step.tokens_per_s_per_gpu) + " tokens/s · " + format_percent(point.efficiency), ui.word(point.fits ? "scaling.fits" : "scaling.over"));
  }
  return {};
}

}  // namespace wireplan
