#include <algorithm>

#include "web/panels/panels.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

struct Column {
  Ui& ui;
  float x, right, y;
  float width() const { return right - x; }

  void rule() {
    horizontal(ui, x, right, y + 9, ui.colors->line);
    y += 20;
  }
  void heading(std::string_view key) {
    text(ui, x, y + 9, ui.word(key), {12, Face::semibold, ui.colors->ink});
    y += 22;
  }
};

// From 0 to the high end: a thick line over the band, a ring at the value.
void draw_band(Column& c, const Explanation& e) {
  Ui& ui = c.ui;
  const double most = e.band.high.value > 0 ? e.band.high.value : 1;
  const auto at = [&](Bytes v) {
    return c.x + static_cast<float>(std::clamp(v.value / most, 0.0, 1.0)) * (c.width() - 8);
  };
  const float y = c.y + 10;
  horizontal(ui, c.x, c.right, y, ui.colors->line2);
  for (const float x : {c.x, c.right - 1}) vertical(ui, x, y - 3, y + 4, ui.colors->line2);
  fill(ui, {at(e.band.low), y - 1, at(e.band.high) - at(e.band.low), 3}, ui.colors->ink);
  ui.list->AddCircleFilled({at(e.band.value), y + 0.5f}, 5, ui.colors->bg1);
  ui.list->AddCircle({at(e.band.value), y + 0.5f}, 5, ui.colors->ink, 0, 1.5f);
  text(ui, c.x, y + 18, "0", tick_style(ui));
  text(ui, c.right, y + 18,
       value_text(e.band.low.value, e.unit, ui.unit) + " … " + value_text(e.band.high.value, e.unit, ui.unit),
       tick_style(ui), Align::right);
  c.y += 38;
}

void draw_formula(Column& c, const Explanation& e) {
  Ui& ui = c.ui;
  const std::string lines[] = {e.symbol + " = " + e.formula, "= " + with_values(e, ui.unit),
                               "= " + value_text(e.result, e.unit, ui.unit)};
  const float inner = c.width() - 20;
  float height = 14;
  for (const std::string& l : lines) height += paragraph_height(ui, inner, l, mono_style(ui), 18);
  fill(ui, {c.x, c.y, c.width(), height}, ui.colors->bg0, 4);
  float y = c.y + 7;
  for (std::size_t i = 0; i < 3; ++i)
    y += paragraph(ui, {c.x + 10, y, inner, 0}, lines[i], mono_style(ui).in(i == 1 ? ui.colors->ink2 : ui.colors->ink),
                   18);
  c.y += height + 4;
}

Edit draw_values(Column& c, const Explanation& e) {
  Edit edit;
  Ui& ui = c.ui;
  float symbols = 0, numbers = 0;  // as wide as the widest, so that the words get the rest
  for (const ExplainedValue& v : e.values) {
    symbols = std::max(symbols, text_width(ui, v.symbol, mono_style(ui)));
    numbers = std::max(numbers, text_width(ui, value_text(v.value, v.unit, ui.unit), label_style(ui)));
  }
  const float value_right = c.x + std::min(symbols + numbers + 14, c.width() / 2), sign_x = value_right + 10,
              words_x = sign_x + 18;
  for (const ExplainedValue& v : e.values) {
    text(ui, c.x, c.y + 9, v.symbol, mono_style(ui));
    text(ui, value_right, c.y + 9, value_text(v.value, v.unit, ui.unit), label_style(ui).in(ui.colors->ink),
         Align::right);
    text(ui, sign_x, c.y + 9, claim_sign(name_of(v.kind)), tick_style(ui));
    const float height = paragraph(ui, {words_x, c.y, c.right - words_x, 0}, v.meaning, label_style(ui), 17);
    if (!v.key.empty()) {
      const Press p = press(ui, "explain." + v.key, {words_x - 2, c.y, c.right - words_x + 2, height}, true, 3);
      dotted_underline(ui, words_x, std::min(c.right, words_x + text_width(ui, v.meaning, label_style(ui))),
                       c.y + height, p.hovered ? ui.colors->ink : ui.colors->line2);
      if (p.clicked) edit = {"view.explain", v.key};
    }
    c.y += height + 4;
  }
  return edit;
}

void draw_sources(Column& c, const AppState& state, const Explanation& e) {
  Ui& ui = c.ui;
  for (std::size_t i = 0; i < e.sources.size(); ++i) {
    text(ui, c.x, c.y + 9, "[" + std::to_string(i + 1) + "]", tick_style(ui));
    const auto title = state.catalogue.sources.find(e.sources[i]);
    c.y += paragraph(ui, {c.x + 22, c.y, c.width() - 22, 0},
                     title == state.catalogue.sources.end() ? e.sources[i] : title->second, label_style(ui), 17) +
           2;
  }
}

}  // namespace

Edit draw_explanation(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const ImVec2 start = begin_scroll(ui, "explanation", area, ui.colors->bg1);
  Column c{ui, area.x + 20, area.right() - 20, start.y + 10};
  vertical(ui, area.x, area.y, area.bottom(), ui.colors->line);
  ui.mark("explain", area);
  text(ui, c.x, c.y + 10, ui.word("explain.title"), label_style(ui));
  const Rect close{c.right - 20, c.y - 2, 24, 24};
  const Press leave = press(ui, "explain.close", close);
  if (leave.hovered) fill(ui, close, ui.colors->bg2, 4);
  icon(ui, Icon::cross, {close.middle_x(), close.middle_y()}, 9, ui.colors->ink);
  if (leave.clicked || (ImGui::IsKeyPressed(ImGuiKey_Escape) && !ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup)))
    edit = {"view.explain", ""};
  c.y += 28;
  if (!state.answer.explanation) {
    paragraph(ui, {c.x, c.y, c.width(), 0}, ui.word("explain.none"), label_style(ui), 18);
    end_scroll(ui, start, 80);
    return edit;
  }
  const Explanation& e = *state.answer.explanation;
  c.y += paragraph(ui, {c.x, c.y, c.width(), 0}, name_of_path(state, e.key), title_style(ui), 20) + 6;
  text(ui, c.x, c.y + 16, value_text(e.result, e.unit, ui.unit), big_style(ui), Align::left, c.width() - 90);
  claim_tag(ui, c.right, c.y + 18, name_of(e.kind));
  c.y += 36;
  if (e.has_band) draw_band(c, e);
  if (e.kind == Claim::estimate) {
    if (text_link(ui, "accuracy.ask", c.x, c.y + 8, ui.word("accuracy.ask"), label_style(ui), c.width())) ui.request = {Request::Kind::ask, "accuracy", {}, {}};
    c.y += 22;
  }
  c.rule();
  c.heading("explain.formula");
  draw_formula(c, e);
  if (!e.values.empty()) {
    c.rule();
    c.heading("explain.where");
    if (Edit next = draw_values(c, e)) edit = std::move(next);
  }
  if (!e.sources.empty()) {
    c.rule();
    c.heading("explain.sources");
    draw_sources(c, state, e);
  }
  c.y += 8;
  text(ui, c.x, c.y + 9, e.key, mono_style(ui).in(ui.colors->ink3), Align::left, c.width());
  end_scroll(ui, start, c.y + 24 - start.y);
  return edit;
}

}  // namespace wireplan
