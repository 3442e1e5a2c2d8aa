#include <algorithm>
#include <cmath>

#include "web/panels/curve_plot.hpp"
#include "web/panels/panels.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 46, kNarrowHead = 100, kPlot = 268, kLegend = 22, kFoot = 26, kTable = 300, kRow = 20, kNarrowRow = 24;
constexpr std::size_t kNarrowRows = 8;

std::string choice_text(const Ui& ui, const ChartChoice& c) {
  const std::string_view key = c.nodes > 1 ? "chart.choice_nodes" : "chart.choice";
  return ui.words->fill(key, {{"c", std::string(name_of(c.collective))},
                              {"n", format_count(c.ranks)},
                              {"m", format_count(c.nodes)},
                              {"s", c.name.empty() ? std::string(ui.word("chart.measured_only")) : std::string(c.name)}});
}

Edit draw_choice(Ui& ui, const AppState& state, const Rect& r) {
  std::vector<Option> options;
  std::string shown;
  for (const ChartChoice& c : chart_choices(state.answer.plan, state.answer.estimate)) {
    options.push_back({c.key, choice_text(ui, c), c.name.empty() ? std::string() : format_message_size(c.size), ""});
    if (c.key == state.answer.chart.key) shown = options.back().label;
  }
  if (std::string picked = dropdown(ui, "curve.choice", r, shown, options, state.answer.chart.key); !picked.empty())
    return {"view.shown", picked};
  return {};
}

// "● your measurements" for the size the plan sends, and what the thin grey line is.
void draw_foot(Ui& ui, const CollectiveChart& chart, Rect area) {
  if (!chart.problem.empty()) {
    text(ui, area.x, area.middle_y(), ui.word(chart.problem), label_style(ui), Align::left, area.w);
    return;
  }
  const std::string basis = basis_text(*ui.words, chart);
  const float w = text(ui, area.x, area.middle_y(), basis, label_style(ui), Align::left, area.w);
  const bool has_unmeasured = !chart.measured.empty() && !chart.predicted.empty();
  const std::string_view rest = has_unmeasured ? ui.word("chart.unmeasured") : std::string_view();
  if (rest.empty() || area.w - w < text_width(ui, rest, tick_style(ui)) + 50) return;
  const float x = area.right() - text_width(ui, rest, tick_style(ui));
  horizontal(ui, x - 24, x - 6, area.middle_y(), ui.colors->ink3);
  text(ui, x, area.middle_y(), rest, tick_style(ui));
}

// Sizes with their times, as many as there is room for, the largest among them.
void draw_measurements(Ui& ui, const CollectiveChart& chart, const Rect& area) {
  const Palette& c = *ui.colors;
  const float pitch = ui.touch ? kNarrowRow : kRow;
  text(ui, area.x, area.y + 10, ui.word("chart.measured.title"), strong_style(ui), Align::left, area.w);
  const float size = area.x + 56, measured = area.x + area.w * 0.44f, predicted = area.x + area.w * 0.68f, error = area.x + area.w * 0.86f;
  const float head = area.y + 31;
  const auto title = [&](float x, const char* key) { text(ui, x, head, ui.word(std::string("chart.measured.") + key), tick_style(ui), Align::right); };
  title(size, "size"), title(measured, "measured"), title(predicted, "predicted"), title(error, "error");
  horizontal(ui, area.x, area.right(), head + 9, c.line);
  const std::size_t all = chart.measured.size();
  const auto room = static_cast<std::size_t>(std::max(1.f, (area.h - 40 - 24) / pitch));
  const std::size_t every = (all + room - 1) / std::max<std::size_t>(room, 1);
  float y = head + 12;
  for (std::size_t i = all == 0 ? 0 : (all - 1) % every; i < all; i += every) {
    const CollectiveChart::Measured& m = chart.measured[i];
    const float middle = y + pitch / 2;
    const TextStyle style = label_style(ui).in(c.ink);
    text(ui, size, middle, format_message_size(m.size), style.in(c.ink2), Align::right);
    text(ui, measured, middle, format_seconds(m.time), style, Align::right);
    y += pitch;
    if (m.predicted.value <= 0) continue;
    const double off = m.predicted / m.time - 1;
    const bool far = std::fabs(off) > 0.1;
    text(ui, predicted, middle, format_seconds(m.predicted), style, Align::right);
    text(ui, error, middle, signed_percent(off), {12, far ? Face::semibold : Face::regular, far ? c.warn : c.ink}, Align::right);
    const Rect bar{error + 6, middle - 4, area.right() - error - 6, 8};
    fill(ui, bar, c.track);
    const float end = bar.middle_x() + bar.w / 2 * static_cast<float>(std::clamp(off / 0.2, -1.0, 1.0));
    fill(ui, {std::min(end, bar.middle_x()), bar.y, std::fabs(end - bar.middle_x()), bar.h}, far ? c.acts : c.load);
    vertical(ui, bar.middle_x(), bar.y - 2, bar.bottom() + 2, c.ink2);
  }
  horizontal(ui, area.x, area.right(), y + 1, c.line);
  if (chart.worst_error > 0) text(ui, area.x, y + 13, errors_text(*ui.words, chart), label_style(ui), Align::left, area.w);
}

// NCCL's own choices, where it was asked about the group that is shown: all GPUs of the cluster.
const std::vector<NcclView::Way>* nccl_ways(const AppState& state) {
  const NcclView* nccl = state.known_nccl();
  return nccl && nccl->ranks == state.answer.chart.ranks ? nccl->ways_of(name_of(state.answer.chart.collective)) : nullptr;
}

bool is_wide(const Rect& area) { return area.w >= 720; }

float table_height(const CollectiveChart& chart, bool touch) {
  if (chart.measured.empty()) return 0;
  return 76 + (touch ? kNarrowRow : kRow) * static_cast<float>(std::min(chart.measured.size(), kNarrowRows));
}

}  // namespace

float curves_height(const AppState& state, float width, bool narrow) {
  const CollectiveChart& chart = state.answer.chart;
  if (chart.key.empty()) return kHead + 40;
  const bool below = width < 760;
  return (narrow ? kNarrowHead : kHead) + kPlot + kLegend + kFoot + (below ? table_height(chart, narrow) : 0);
}

Edit draw_curves(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const CollectiveChart& chart = state.answer.chart;
  const bool narrow = area.w < 560;
  Rect rest = area.inset(narrow ? 16 : 20, 0);
  const Rect head = rest.cut_top(narrow ? kNarrowHead : kHead);
  const float title = text(ui, head.x, area.y + 22, ui.word("chart.title"), title_style(ui), Align::left, narrow ? head.w : 0);
  if (chart.key.empty()) {
    text(ui, rest.x, rest.y + 12, ui.word("chart.none"), label_style(ui), Align::left, rest.w);
    return edit;
  }
  const float choice = narrow ? head.w : std::min(300.f, head.w - title - 20);
  if (Edit next = draw_choice(ui, state, {head.right() - choice, narrow ? area.y + 50 : area.y + 10, choice, narrow ? 44.f : 24.f})) edit = std::move(next);
  std::string sub(ui.word("chart.sub"));
  if (chart.groups > 1) sub = ui.words->fill("chart.groups", {{"n", format_count(chart.groups)}}) + " · " + sub;
  if (narrow)
    text(ui, head.x, area.y + 40, sub, tick_style(ui), Align::left, head.w);
  else if (head.w - title - choice > 120)
    text(ui, head.x + title + 12, area.y + 22, sub, label_style(ui), Align::left, head.w - title - choice - 32);

  const bool beside = !chart.measured.empty() && is_wide(rest);
  const Rect table = beside ? rest.cut_right(kTable) : Rect{};
  if (beside) rest.cut_right(24);
  draw_curve_plot(ui, chart, nccl_ways(state), rest.cut_top(kPlot));
  draw_foot(ui, chart, rest.cut_top(kLegend));
  if (beside)
    draw_measurements(ui, chart, table);
  else if (!chart.measured.empty())
    draw_measurements(ui, chart, {rest.x, rest.y + 8, rest.w, table_height(chart, ui.touch)});
  else
    text(ui, rest.x, rest.y + 10, ui.word("chart.empty"), tick_style(ui), Align::left, rest.w);
  return edit;
}

}  // namespace wireplan
