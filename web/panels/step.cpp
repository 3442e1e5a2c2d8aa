#include <algorithm>
#include <array>

#include "web/panels/panels.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kHead = 42, kSplit = 58, kRow = 19, kNarrowRow = 36;

struct Piece {
  std::string_view name;
  const char* path;
  Seconds seconds;
  ImU32 color;
  bool hatched = false;
  const char* sum = nullptr;  // where more than `path` is in it: the number whose explanation lists what
};

// Exclusive parts of the step, in the order they stand in the bar. They add up to its time.
std::array<Piece, 5> pieces_of(const StepAnswer& s, const Palette& c, bool pale) {
  return {{{"compute", "step.compute_s", s.compute, pale ? c.track : c.backward},
           {"waiting", "step.exposed_communication_s", s.exposed_communication, pale ? c.track : c.exposed, true},
           {"bubble", "step.bubble_s", s.bubble, c.track},
           {"optimizer", "step.optimizer_s", s.optimizer, pale ? c.track : c.optimizer},
           {"other", "step.host_s", s.host + s.offload + s.straggler, c.bufs, false, "step.time_s"}}};
}

Seconds hidden_communication(const Estimate& e) {
  Seconds hidden;
  for (const CommunicationRow& row : e.communication)
    if (row.time.value > row.exposed) hidden += row.time.value - row.exposed;
  return hidden;
}

Edit draw_split(Ui& ui, const Estimate& e, const Rect& area) {
  Edit edit;
  const bool pale = !e.memory.fits;
  const StepAnswer& s = e.step;
  const Rect bar{area.x, area.y, area.w, 22};
  const double per_second = s.time.value.value > 0 ? bar.w / s.time.value.value : 0;
  double at = 0;
  for (const Piece& p : pieces_of(s, *ui.colors, pale)) {
    const Rect r{bar.x + static_cast<float>(at * per_second), bar.y, static_cast<float>(p.seconds.value * per_second),
                 bar.h};
    at += p.seconds.value;
    if (r.w < 0.5f) {
      ui.mark(p.path, r);
      continue;
    }
    const Rect drawn{r.x, r.y, r.w > 3 ? r.w - 1 : r.w, r.h};
    fill(ui, drawn, p.color);
    const ImU32 lines = pale ? ui.colors->line2 : label_on(p.color);
    if (p.hatched) hatch(ui, drawn, faded(lines, pale ? 0.5f : 0.22f), 6);
    const std::string name(ui.word("step.part." + std::string(p.name))), value = format_seconds(p.seconds);
    const TextStyle style{12, Face::semibold, pale ? ui.colors->ink2 : label_on(p.color)};
    const std::string label = text_width(ui, name + "  " + value, style) < r.w - 20 ? name + "  " + value : value;
    if (const float w = text_width(ui, label, style); w < r.w - 12) {
      if (p.hatched) fill(ui, {r.x + 6, r.y + 3, w + 6, r.h - 6}, p.color);
      text(ui, r.x + 9, r.middle_y(), label, style);
    }
    const Press part = press(ui, p.path, r, true, 0);
    tooltip(ui, part, name, value, ui.word("hint.explain"));
    if (part.clicked) edit = {"view.explain", p.sum ? p.sum : p.path};
  }
  // Communication that compute hides, from the left. It may be longer than the step where several streams run.
  const Seconds hidden = hidden_communication(e);
  const float length = std::min(bar.w, static_cast<float>(hidden.value * per_second));
  fill(ui, {bar.x, bar.bottom() + 2, length, 5}, pale ? ui.colors->track : ui.colors->scatter);
  const float y = bar.bottom() + 18;
  const float w = text(ui, bar.x, y, ui.words->fill("step.hidden", {{"t", format_seconds(hidden)}}), label_style(ui),
                       Align::left, bar.w);
  if (ui.touch) return edit;
  const std::string rest =
      ui.words->fill("step.rest", {{"o", format_seconds(s.optimizer)}, {"i", format_seconds(s.on_ideal_wiring)}});
  text(ui, bar.right(), y, rest, label_style(ui).in(ui.colors->ink3), Align::right, bar.w - w - 16);
  return edit;
}

struct ColumnOfTable {
  const char* title;
  float right;
};

// One line for each kind of message: how much travels, how often, how fast, how long, and what of it is waited for.
Edit draw_table(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const Estimate& e = state.answer.estimate;
  const bool roomy = area.w >= 700;
  const auto at = [&](float share) { return area.x + area.w * share; };
  const ColumnOfTable columns[] = {{"ranks", at(0.3f)}, {"calls", at(0.37f)}, {"size", at(0.48f)},
                                   {"bus", at(0.61f)},  {"time", at(0.7f)},   {"exposed", at(0.8f)}};
  const TextStyle head = tick_style(ui);
  text(ui, area.x, area.y + 8, ui.word("comm.name"), head);
  for (const ColumnOfTable& c : columns)
    text(ui, c.right, area.y + 8, ui.word(std::string("comm.") + c.title), head, Align::right);
  text(ui, at(0.82f), area.y + 8, ui.word(roomy ? "comm.at" : "comm.basis"), head, Align::left,
       area.right() - at(0.82f));
  horizontal(ui, area.x, area.right(), area.y + 17, ui.colors->line);
  float y = area.y + 19;
  if (e.communication.empty()) text(ui, area.x, y + kRow / 2, ui.word("comm.none"), label_style(ui));
  for (std::size_t i = 0; i < e.communication.size(); ++i) {
    const CommunicationRow& row = e.communication[i];
    const std::string path = "communication." + std::to_string(i);
    const Rect line{area.x - 6, y, area.w + 12, kRow};
    const Press p = press(ui, path + ".time_s", line, true, 2);
    if (p.hovered) fill(ui, line, ui.colors->bg2, 2);
    const bool waits = e.memory.fits && row.exposed.value > 0.01 * e.step.time.value.value;
    const TextStyle plain = label_style(ui).in(ui.colors->ink);
    const float middle = line.middle_y();
    text(ui, area.x, middle, row.name, plain, Align::left, columns[0].right - 40 - area.x);
    text(ui, columns[0].right, middle, std::to_string(row.ranks), plain, Align::right);
    text(ui, columns[1].right, middle, format_count(row.calls), plain, Align::right);
    text(ui, columns[2].right, middle, format_message_size(row.bytes), plain, Align::right);
    text(ui, columns[3].right, middle, "≈ " + format_rate(row.bus_bandwidth), plain, Align::right);
    text(ui, columns[4].right, middle, format_seconds(row.time.value), plain, Align::right);
    text(ui, columns[5].right, middle, format_seconds(row.exposed),
         {12, waits ? Face::semibold : Face::regular, waits ? ui.colors->exp : ui.colors->ink}, Align::right);
    text(ui, at(0.82f), middle, row.bottleneck, tick_style(ui), Align::left, area.right() - at(0.82f));
    ui.mark(path, line);
    tooltip(ui, p, std::string(name_of(row.collective)) + " · " + std::string(name_of(row.dimension)), row.bottleneck,
            ui.words->fill(
                "comm.how",
                {{"a", std::string(row.algorithm)}, {"p", std::string(row.protocol)}, {"b", std::string(ui.word("basis." + std::string(row.basis)))}}));
    if (p.clicked) edit = {"view.explain", path + ".time_s"};
    y += kRow;
  }
  return edit;
}

// On a narrow page two lines for each: name and time, size and calls.
void draw_list(Ui& ui, const Estimate& e, const Rect& area) {
  float y = area.y;
  for (std::size_t i = 0; i < e.communication.size(); ++i) {
    const CommunicationRow& row = e.communication[i];
    ui.mark("communication." + std::to_string(i), {area.x, y, area.w, kNarrowRow});
    horizontal(ui, area.x, area.right(), y, ui.colors->line);
    const float w = text(ui, area.right(), y + 11, format_seconds(row.time.value), strong_style(ui), Align::right);
    text(ui, area.x, y + 11, row.name, label_style(ui).in(ui.colors->ink), Align::left, area.w - w - 10);
    text(ui, area.x, y + 26,
         format_count(row.calls) + " × " + format_message_size(row.bytes) + " · ≈ " + format_rate(row.bus_bandwidth),
         tick_style(ui), Align::left, area.w * 0.66f);
    const bool waits = e.memory.fits && row.exposed.value > 0;
    text(ui, area.right(), y + 26, ui.words->fill("comm.waits", {{"t", format_seconds(row.exposed)}}),
         tick_style(ui).in(waits ? ui.colors->exp : ui.colors->ink3), Align::right, area.w * 0.32f);
    y += kNarrowRow;
  }
}

}  // namespace

float step_height(const AppState& state, bool narrow) {
  const float rows = static_cast<float>(std::max<std::size_t>(state.answer.estimate.communication.size(), 1));
  return narrow ? 60 + kSplit + rows * kNarrowRow + 16 : kHead + kSplit + 20 + rows * kRow + 12;
}

Edit draw_step(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const Estimate& e = state.answer.estimate;
  const Plan& plan = state.answer.plan;
  const bool narrow = area.w < 560;
  const Rect inner = area.inset(narrow ? 16 : 20, 0);
  const float title = text(ui, inner.x, area.y + 22, ui.word("step.title"), title_style(ui));
  const double tokens =
      static_cast<double>(plan.training.global_batch_size) * static_cast<double>(plan.training.sequence_length);
  std::string sub = ui.words->fill("step.sub", {{"t", format_seconds(e.step.time.value)},
                                                {"k", format_count(tokens)},
                                                {"r", format_count(e.step.tokens_per_s)},
                                                {"m", format_percent(e.step.mfu)}});
  if (!e.memory.fits) sub = std::string(ui.word("if_it_fitted")) + " · " + sub;
  const Rect place = narrow ? Rect{inner.x, area.y + 34, inner.w, 20}
                            : Rect{inner.x + title + 12, area.y + 12, inner.w - title - 12, 20};
  text(ui, place.x, place.middle_y(), sub, label_style(ui), Align::left, place.w);
  const Press time = press(
      ui, "step.time_s", {place.x, place.y, std::min(place.w, text_width(ui, sub, label_style(ui))), place.h}, true, 3);
  if (time.clicked) edit = {"view.explain", "step.time_s"};
  Rect rest = inner;
  rest.cut_top(narrow ? 60 : kHead);
  if (Edit next = draw_split(ui, e, rest.cut_top(kSplit))) edit = std::move(next);
  if (narrow)
    draw_list(ui, e, rest);
  else if (Edit next = draw_table(ui, state, rest))
    edit = std::move(next);
  return edit;
}

}  // namespace wireplan
