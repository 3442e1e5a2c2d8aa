#include <algorithm>

#include "web/panels/panels.hpp"
#include "web/panels/wiring_sketch.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kPad = 20, kRowHeight = 24, kRowPitch = 26, kGridPitch = 22, kLabelWidth = 128, kShortLabel = 84,
                kGridLabel = 72;

// Where drawing stands: rows are taken from the top.
struct Column {
  Ui& ui;
  float x, right, y;
  float width() const { return right - x; }
};

void draw_error(Column& c, const std::string& error) {
  if (error.empty()) return;
  c.y += paragraph(c.ui, {c.x, c.y, c.width(), 0}, error, tick_style(c.ui).in(c.ui.colors->no), 15) + 5;
}

std::string draw_choice(Ui& ui, const Field& f, const Rect& r) {
  if (f.look == Look::segments) {
    std::vector<Segment> cells;
    for (const Choice& c : f.choices) cells.push_back({c.value, c.label, c.state == Choice::State::legal});
    return std::string(segments(ui, f.path, r, cells, f.value, label_style(ui)));
  }
  if (f.kind == FieldKind::preset) return search_field(ui, f.path, r, f.text), std::string();
  std::vector<Option> options;
  for (const Choice& c : f.choices)
    options.push_back({c.value, c.label, c.detail, c.extra, c.state == Choice::State::legal});
  return dropdown(ui, f.path, r, f.text, options, f.value);
}

std::string draw_field(Ui& ui, const Field& f, const Rect& r) {
  if (f.kind == FieldKind::number) return number_field(ui, f.path, r, {f.value, f.less, f.more, {}, !f.error.empty()});
  std::string value = draw_choice(ui, f, r);
  if (!f.error.empty()) outline(ui, r, ui.colors->no, 4, 1.5f);
  return value;
}

// One line: a label, its field, and the fields that are joined to it.
Edit draw_row(Column& c, const std::vector<Field>& form, std::size_t first, std::size_t count) {
  Edit edit;
  const Field& f = form[first];
  const bool wide =
      (f.look == Look::segments && f.choices.size() > 2) || (count > 1 && (f.section != "training" || c.width() < 250));
  const float words = text_width(c.ui, f.label, label_style(c.ui)) + 8;
  const float label = f.kind == FieldKind::preset ? 0
                      : wide                      ? std::max(kShortLabel, words)
                                                  : std::min(kLabelWidth, c.width() * 0.5f);
  if (label > 0) text(c.ui, c.x, c.y + kRowHeight / 2, f.label, label_style(c.ui), Align::left, label - 4);
  // Fields that share a line get room for what stands in them.
  const float gap = 6, height = f.kind == FieldKind::preset ? 28 : kRowHeight;
  float wanted = 0;
  for (std::size_t i = 0; i < count; ++i) wanted += text_width(c.ui, form[first + i].text, body_style(c.ui));
  const float spare = c.width() - label - gap * static_cast<float>(count - 1) - wanted;
  float x = c.x + label;
  for (std::size_t i = 0; i < count; ++i) {
    const Rect r{x, c.y, text_width(c.ui, form[first + i].text, body_style(c.ui)) + spare / static_cast<float>(count),
                 height};
    if (std::string value = draw_field(c.ui, form[first + i], r); !value.empty()) edit = {form[first + i].path, value};
    x += r.w + gap;
  }
  c.y += height + (kRowPitch - kRowHeight);
  if (!f.hint.empty() && f.error.empty()) {
    text(c.ui, c.right, c.y + 6, f.hint, tick_style(c.ui), Align::right, c.width());
    c.y += 17;
  }
  for (std::size_t i = 0; i < count; ++i) draw_error(c, form[first + i].error);
  return edit;
}

// Filled: chosen. Outlined: legal. Struck: needs more GPUs. Dot: never.
Edit draw_grid_row(Column& c, const Field& f) {
  Edit edit;
  Ui& ui = c.ui;
  const float middle = c.y + 10,
              cell = (c.width() - kGridLabel) / static_cast<float>(std::max<std::size_t>(f.choices.size(), 1));
  const bool is_alone = std::count_if(f.choices.begin(), f.choices.end(),
                                      [](const Choice& x) { return x.state == Choice::State::legal; }) < 2;
  text(ui, c.x, middle, f.label, label_style(ui).in(is_alone ? ui.colors->ink3 : ui.colors->ink2), Align::left,
       kGridLabel - 4);
  for (std::size_t i = 0; i < f.choices.size(); ++i) {
    const Choice& choice = f.choices[i];
    const Rect r{c.x + kGridLabel + static_cast<float>(i) * cell, c.y + 1, std::min(cell - 6, 28.f), 18};
    const bool chosen = choice.value == f.value, legal = choice.state == Choice::State::legal;
    const Press p = press(ui, f.path + "." + choice.value, r, legal, 3);
    const TextStyle style = label_style(ui);
    if (chosen) {
      fill(ui, r, ui.colors->sel, 3);
      text(ui, r.middle_x(), middle, choice.label, style.in(ui.colors->on_sel), Align::centre);
    } else if (legal) {
      fill(ui, r, p.hovered ? ui.colors->bg2 : ui.colors->bg1, 3);
      outline(ui, r, ui.colors->line2, 3);
      text(ui, r.middle_x(), middle, choice.label, style.in(ui.colors->ink), Align::centre);
    } else if (choice.state == Choice::State::needs_more) {
      const float w = text(ui, r.middle_x(), middle, choice.label, style.in(ui.colors->ink3), Align::centre);
      horizontal(ui, r.middle_x() - w / 2 - 2, r.middle_x() + w / 2 + 2, middle, ui.colors->ink3);
    } else {
      fill(ui, {r.middle_x() - 1, middle - 1, 2.5f, 2.5f}, ui.colors->ink3, 1.2f);
    }
    if (!choice.why.empty()) tooltip(ui, p, f.label + " " + choice.label, {}, choice.why);
    if (p.clicked && !chosen) edit = {f.path, choice.value};
  }
  if (!f.error.empty()) outline(ui, {c.x - 4, c.y - 1, c.width() + 8, 22}, ui.colors->no, 4, 1.5f);
  c.y += kGridPitch;
  draw_error(c, f.error);
  return edit;
}

// The kinds of wiring as small drawings.
Edit draw_tiles(Column& c, const Field& f) {
  Edit edit;
  Ui& ui = c.ui;
  const float gap = f.choices.size() > 4 ? 4.f : 6.f, n = static_cast<float>(f.choices.size()),
              wide = (c.width() - gap * (n - 1)) / n;
  for (std::size_t i = 0; i < f.choices.size(); ++i) {
    const Choice& choice = f.choices[i];
    const Rect r{c.x + static_cast<float>(i) * (wide + gap), c.y + 2, wide, 50};
    const bool chosen = choice.value == f.value;
    const Press p = press(ui, "cluster.wiring." + choice.value, r);
    fill(ui, r, p.hovered && !chosen ? ui.colors->bg2 : ui.colors->bg1, 4);
    outline(ui, r, chosen ? ui.colors->ink : ui.colors->line2, 4, chosen ? 2.f : 1.f);
    draw_wiring_sketch(ui, choice.value, {r.middle_x() - 21, r.y + 8, 42, 20},
                       chosen ? ui.colors->ink : ui.colors->ink2);
    text(ui, r.middle_x(), r.bottom() - 11, choice.label, tick_style(ui).in(chosen ? ui.colors->ink : ui.colors->ink2),
         Align::centre, r.w + 2);
    if (p.clicked && !chosen) edit = {"wiring." + choice.value, ""};
  }
  c.y += 54;
  return edit;
}

// What stands at the right of a section's name, or under its fields.
void draw_product(Column& c, const AppState& state) {
  Ui& ui = c.ui;
  const Parallel& p = state.answer.plan.parallel;
  const auto n = [](Count v) { return format_exact(static_cast<double>(v)); };
  const Cluster& cluster = state.answer.plan.cluster;
  const bool all = cluster.gpus_per_node == cluster.node.gpus;
  const std::string product = state.words.fill(all ? "in.product_all" : "in.product",
                                               {{"d", n(p.data)},
                                                {"t", n(p.tensor)},
                                                {"p", n(p.pipeline)},
                                                {"c", n(p.context)},
                                                {"n", n(total_gpus(cluster))},
                                                {"g", n(static_cast<Count>(cluster.node.gpus) * cluster.nodes)}});
  const float w = text(ui, c.right, c.y + 12, product, label_style(ui), Align::right, c.width() - 64);
  const bool wrong = std::any_of(state.errors.begin(), state.errors.end(),
                                 [](const Error& e) { return e.path.starts_with("parallel."); });
  icon(ui, wrong ? Icon::warn : Icon::check, {c.right - w - 12, c.y + 12}, wrong ? 10.f : 8.f,
       wrong ? ui.colors->no : ui.colors->fit);
}

Edit draw_model_facts(Column& c, const AppState& state) {
  Ui& ui = c.ui;
  const Model& m = state.answer.plan.model;
  const auto n = [](Count v) { return format_exact(static_cast<double>(v)); };
  const Estimate& e = state.answer.estimate;
  const std::string size =
      ui.words->fill(e.active_parameters < e.parameters ? "in.active" : "in.parameters",
                     {{"n", format_parameters(e.parameters)}, {"a", format_parameters(e.active_parameters)}});
  const bool asked = text_link(ui, "model.parameters", c.x, c.y + 10, size, body_style(ui), c.width() - 80);
  claim_tag(ui, c.right, c.y + 10, "count");
  if (!m.opaque)
    text(ui, c.x, c.y + 28,
         ui.words->fill("in.shape", {{"l", n(m.num_layers)},
                                     {"h", n(m.hidden_size)},
                                     {"a", n(m.num_attention_heads)},
                                     {"k", n(m.num_key_value_heads)}}),
         label_style(ui).in(ui.colors->ink3), Align::left, c.width());
  c.y += 38;
  return asked ? Edit{"view.explain", "model.parameters"} : Edit{};
}

// Opens the dialog that reads a machine's own outputs; below it what is known of this one by measurements.
void draw_paste(Column& c, const AppState& state) {
  Ui& ui = c.ui;
  if (text_button(ui, "in.paste", {c.x, c.y + 2, c.width(), kRowHeight}, ui.word("in.paste"))) ui.request = {Request::Kind::ask, "paste", {}, {}};
  c.y += kRowPitch + 4;
  const std::optional<Profile>& profile = state.answer.plan.cluster.profile;
  if (!profile) return;
  text(ui, c.x, c.y + 6, ui.words->fill("in.profile", {{"n", format_count(static_cast<double>(profile->curves.size()))}}), tick_style(ui),
       Align::left, c.width());
  c.y += 17;
}

Edit draw_section(Column& c, const AppState& state, const std::vector<Field>& form, std::string_view section) {
  Edit edit;
  Ui& ui = c.ui;
  text(ui, c.x, c.y + 12, ui.word("in.section." + std::string(section)), strong_style(ui));
  if (section == "layout") draw_product(c, state);
  c.y += 24;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i].section != section) continue;
    std::size_t count = 1;
    while (i + count < form.size() && form[i + count].joined) ++count;
    Edit next = form[i].look == Look::grid    ? draw_grid_row(c, form[i])
                : form[i].look == Look::tiles ? draw_tiles(c, form[i])
                                              : draw_row(c, form, i, count);
    if (next) edit = std::move(next);
    i += count - 1;
    if (form[i].look == Look::grid && i + 1 < form.size() && form[i + 1].look != Look::grid) c.y += 4;
  }
  if (section == "model")
    if (Edit next = draw_model_facts(c, state)) edit = std::move(next);
  if (section == "cluster") draw_paste(c, state);
  return edit;
}

void draw_other_errors(Column& c, const AppState& state, const std::vector<Field>& form) {
  for (const Error& e : errors_elsewhere(state, form)) {
    const float height = paragraph_height(c.ui, c.width() - 44, e.text, label_style(c.ui), 17) + 14;
    fill(c.ui, {c.x - 8, c.y, c.width() + 16, height}, c.ui.colors->no_bg, 4);
    icon(c.ui, Icon::warn, {c.x + 8, c.y + 16}, 13, c.ui.colors->no);
    paragraph(c.ui, {c.x + 26, c.y + 7, c.width() - 44, 0}, e.text, label_style(c.ui).in(c.ui.colors->ink), 17);
    c.y += height + 8;
  }
}

}  // namespace

Edit draw_inputs(Ui& ui, const AppState& state, const std::vector<Field>& form, const Rect& area,
                 std::string_view section) {
  Edit edit;
  const ImVec2 start = begin_scroll(ui, "inputs", area, ui.colors->bg0);
  vertical(ui, area.right() - 1, area.y, area.bottom(), ui.colors->line);
  Column c{ui, area.x + kPad, area.right() - kPad, start.y + 8};
  draw_other_errors(c, state, form);
  bool is_first = true;
  for (const std::string_view name : {"model", "training", "layout", "cluster", "more"}) {
    if (!section.empty() && name != section) continue;
    if (!is_first) {
      horizontal(ui, c.x, c.right, c.y + 8, ui.colors->line);
      c.y += 13;
    }
    is_first = false;
    if (Edit next = draw_section(c, state, form, name)) edit = std::move(next);
  }
  end_scroll(ui, start, c.y + 12 - start.y);
  return edit;
}

Edit draw_input_strip(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  fill(ui, area, ui.colors->bg0);
  vertical(ui, area.right() - 1, area.y, area.bottom(), ui.colors->line);
  Rect rest = area;
  rest.cut_top(8);
  for (const std::string_view name : {"model", "training", "layout", "cluster", "more"}) {
    const std::string section(name);
    const Rect cell = rest.cut_top(64);
    const Press p = press(ui, "section." + section, cell.inset(2, 2));
    const bool open = state.view.section == name;
    if (open || p.hovered) fill(ui, cell.inset(2, 2), open ? ui.colors->bg3 : ui.colors->bg2, 4);
    // Names are wider than the strip: the first letters, and the whole name beside the pointer.
    icon(ui, open ? Icon::chevron_left : Icon::chevron_right, {cell.middle_x(), cell.middle_y() - 10}, 8,
         ui.colors->ink2);
    text(ui, cell.middle_x(), cell.middle_y() + 10, ui.word("in.section." + section), tick_style(ui).in(ui.colors->ink),
         Align::centre, cell.w - 2);
    tooltip(ui, p, ui.word("in.section." + section), {}, {});
    if (p.clicked) edit = {"view.section", section};
  }
  return edit;
}

}  // namespace wireplan
