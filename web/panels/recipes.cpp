#include "web/panels/byte_column.hpp"
#include "web/panels/panels.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 22, kRow = 50;  // of a narrow page: the recipes stand one below the other

Edit draw_recipe(Ui& ui, const Alternative& a, const Rect& r, int decimals) {
  const Press p = press(ui, "recipe." + a.key, r);
  fill(ui, r, p.hovered && !a.chosen ? ui.colors->bg2 : ui.colors->bg1, 4);
  outline(ui, r, a.chosen ? ui.colors->ink : ui.colors->line2, 4, a.chosen ? 2.f : 1.f);
  const std::string states = in_column(a.estimate.memory.states.total(), ui.unit, decimals);
  const TextStyle number = a.chosen ? strong_style(ui) : body_style(ui);
  const TextStyle name = label_style(ui).in(a.chosen ? ui.colors->ink : ui.colors->ink2);
  const float w = text(ui, r.right() - 8, r.middle_y(), states, number, Align::right);
  const std::string key = "mem.recipe." + a.key;
  text(ui, r.x + 8, r.middle_y(), ui.words->has(key) ? ui.word(key) : std::string_view(a.label), name, Align::left,
       r.w - w - 22);
  tooltip(ui, p, a.label, ui.words->fill("mem.recipe.hint", {{"n", states}, {"u", unit_name(ui.unit)}}),
          a.chosen ? std::string_view() : ui.word("hint.choose"));
  return p.clicked && !a.chosen ? Edit{"recipe." + a.key, ""} : Edit{};
}

}  // namespace

float recipes_height(const AppState& state, bool narrow) {
  const float count = static_cast<float>(state.answer.recipes.size());
  return count == 0 ? 0 : narrow ? kHead + kRow * count : 34;
}

Edit draw_recipes(Ui& ui, const AppState& state, const Rect& area, bool narrow) {
  Edit edit;
  const auto& recipes = state.answer.recipes;
  if (recipes.empty()) return edit;
  std::vector<Bytes> column;
  for (const Alternative& a : recipes) column.push_back(a.estimate.memory.states.total());
  const int decimals = decimals_of(column, ui.unit);
  const std::string_view head = ui.word("mem.recipes");
  const float label = narrow ? 0 : text_width(ui, head, label_style(ui)) + 14;
  text(ui, area.x, area.y + (narrow ? 9.f : 17.f), head, label_style(ui));
  const float gap = 8, n = static_cast<float>(recipes.size()), wide = (area.w - label - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < recipes.size(); ++i) {
    const float at = static_cast<float>(i);
    const Rect r = narrow ? Rect{area.x, area.y + kHead + at * kRow, area.w, kRow - 6}
                          : Rect{area.x + label + at * (wide + gap), area.y + 4, wide, 26};
    if (Edit next = draw_recipe(ui, recipes[i], r, decimals)) edit = std::move(next);
  }
  return edit;
}

}  // namespace wireplan
