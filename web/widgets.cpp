#include "web/widgets.hpp"

#include <algorithm>

namespace wireplan {

namespace {

constexpr float kRow = 28, kTouchRow = 44;

// One row of an open list.
bool option_row(Ui& ui, const std::string& key, const Rect& rect, const Option& option, bool chosen) {
  const Press row = press(ui, key, rect, option.enabled, 0);
  if (chosen || row.hovered) fill(ui, rect, ui.colors->bg2);
  const TextStyle name =
      (chosen ? strong_style(ui) : body_style(ui)).in(option.enabled ? ui.colors->ink : ui.colors->ink3);
  float room = rect.w - 20;
  if (!option.extra.empty()) {
    text(ui, rect.right() - 10, rect.middle_y(), option.extra, label_style(ui).in(ui.colors->ink3), Align::right);
    room -= std::max(128.f, text_width(ui, option.extra, label_style(ui)) + 16);
  }
  if (!option.detail.empty()) {
    text(ui, rect.x + 10 + room, rect.middle_y(), option.detail, label_style(ui), Align::right);
    room -= text_width(ui, option.detail, label_style(ui)) + 12;
  }
  text(ui, rect.x + 10, rect.middle_y(), option.label, name, Align::left, room);
  return row.clicked && option.enabled;
}

// The field that a list hangs from.
Press list_field(Ui& ui, std::string_view key, const Rect& rect, std::string_view shown, bool searched) {
  const Press field = press(ui, key, rect);
  fill(ui, rect, field.hovered ? ui.colors->bg3 : searched ? ui.colors->bg1 : ui.colors->bg2, 4);
  if (searched) outline(ui, rect, ui.colors->line2, 4);
  float x = rect.x + 8;
  if (searched) {
    icon(ui, Icon::search, {x + 6, rect.middle_y()}, 11, ui.colors->ink2, 1.3f);
    x += 20;
  }
  text(ui, x, rect.middle_y(), shown, body_style(ui), Align::left, rect.right() - 18 - x);
  icon(ui, Icon::chevron_down, {rect.right() - 10, rect.middle_y()}, 6, ui.colors->ink2);
  return field;
}

}  // namespace

Press press(Ui& ui, std::string_view key, const Rect& rect, bool enabled, float rounding) {
  ui.mark(key, rect);
  if (rect.w < 1 || rect.h < 1) return {};
  ImGui::SetCursorScreenPos(rect.min());
  ImGui::PushID(key.data(), key.data() + key.size());
  ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, rounding);
  const bool clicked = ImGui::InvisibleButton("##press", {rect.w, rect.h}, enabled ? ImGuiButtonFlags_EnableNav : 0);
  ImGui::PopStyleVar();
  ImGui::PopID();
  const bool hovered = ImGui::IsItemHovered();
  if (hovered && enabled) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  return {hovered, ImGui::IsItemActive(), clicked && enabled};
}

bool text_button(Ui& ui, std::string_view key, const Rect& rect, std::string_view label) {
  const Press button = press(ui, key, rect);
  fill(ui, rect, button.held ? ui.colors->bg3 : button.hovered ? ui.colors->bg2 : ui.colors->bg1, 4);
  outline(ui, rect, ui.colors->line2, 4);
  text(ui, rect.middle_x(), rect.middle_y(), label, label_style(ui).in(ui.colors->ink), Align::centre, rect.w - 8);
  return button.clicked;
}

bool text_link(Ui& ui, std::string_view key, float x, float middle, std::string_view label, const TextStyle& style,
               float room) {
  float width = text_width(ui, label, style);
  if (room > 0) width = std::min(width, room);
  const Press link = press(ui, key, {x, middle - 9, width, 18}, true, 3);
  text(ui, x, middle, label, style, Align::left, room);
  dotted_underline(ui, x, x + width, middle + 8, link.hovered ? ui.colors->ink : ui.colors->line2);
  return link.clicked;
}

std::string_view segments(Ui& ui, std::string_view key, const Rect& rect, const std::vector<Segment>& choices,
                          std::string_view chosen, const TextStyle& style) {
  fill(ui, rect, ui.colors->bg2, 4);
  // Each as wide as its word, the rest shared out evenly.
  float words = 0;
  for (const Segment& s : choices) words += text_width(ui, s.label, style);
  const float spare = (rect.w - words) / static_cast<float>(choices.size());
  std::string_view pressed;
  float x = rect.x;
  for (const Segment& s : choices) {
    const Rect cell{x, rect.y, text_width(ui, s.label, style) + spare, rect.h};
    x += cell.w;
    const Press segment = press(ui, std::string(key) + "." + std::string(s.value), cell, s.enabled);
    const bool on = s.value == chosen;
    if (on) {
      fill(ui, cell, ui.colors->bg1, 4);
      outline(ui, cell, ui.colors->ink3, 4);
    }
    const ImU32 ink = on || segment.hovered ? ui.colors->ink : s.enabled ? ui.colors->ink2 : ui.colors->line2;
    text(ui, cell.middle_x(), cell.middle_y(), s.label, style.in(ink), Align::centre, cell.w - 2);
    if (segment.clicked && !on) pressed = s.value;
  }
  return pressed;
}

std::string number_field(Ui& ui, std::string_view key, const Rect& rect, const Steps& steps) {
  const std::string name(key);
  const float side = std::min(ui.touch ? 48.f : 26.f, rect.w / 4);
  const Rect minus{rect.x, rect.y, side, rect.h}, plus{rect.right() - side, rect.y, side, rect.h};
  const Rect value{rect.x + side, rect.y, rect.w - 2 * side, rect.h};
  std::string result;

  fill(ui, rect, ui.colors->bg2, 4);
  const Press less = press(ui, name + ".minus", minus, !steps.less.empty());
  const Press open = press(ui, name, value);
  const Press more = press(ui, name + ".plus", plus, !steps.more.empty());
  for (const auto& [one, area] : {std::pair{less, minus}, std::pair{more, plus}, std::pair{open, value}})
    if (one.hovered) fill(ui, area, ui.colors->bg3, 4);
  vertical(ui, minus.right(), rect.y + 5, rect.bottom() - 5, ui.colors->bg3);
  vertical(ui, plus.x, rect.y + 5, rect.bottom() - 5, ui.colors->bg3);
  const auto sign = [&](Icon which, const Rect& area, bool legal) {
    icon(ui, which, {area.middle_x(), area.middle_y()}, 7, legal ? ui.colors->ink : ui.colors->line2);
  };
  sign(Icon::minus, minus, !steps.less.empty());
  sign(Icon::plus, plus, !steps.more.empty());
  text(ui, value.middle_x(), value.middle_y(), steps.value, body_style(ui), Align::centre, value.w - 4);
  if (!steps.unit.empty()) text(ui, value.right() - 6, value.middle_y(), steps.unit, tick_style(ui), Align::right);
  if (steps.wrong) outline(ui, rect, ui.colors->no, 4, 1.5f);

  if (less.clicked) result = steps.less;
  if (more.clicked) result = steps.more;
  if (open.clicked) ui.request = {Request::Kind::edit_text, name, rect, std::string(steps.value)};
  return result;
}

void search_field(Ui& ui, std::string_view key, const Rect& rect, std::string_view shown) {
  if (list_field(ui, key, rect, shown, true).clicked) ui.request = {Request::Kind::pick, std::string(key), rect, {}};
}

std::string dropdown(Ui& ui, std::string_view key, const Rect& rect, std::string_view shown,
                     const std::vector<Option>& options, std::string_view chosen) {
  const std::string name(key), id = name + "##list";
  if (list_field(ui, key, rect, shown, false).clicked) ImGui::OpenPopup(id.c_str());
  const float row = ui.touch ? kTouchRow : kRow;
  float wide = rect.w;
  for (const Option& o : options)
    wide = std::max(wide, text_width(ui, o.label, strong_style(ui)) +
                              (o.detail.empty() ? 0 : text_width(ui, o.detail, label_style(ui)) + 20) + 24);
  // Downwards where there is room, else upwards.
  const float wanted = row * static_cast<float>(options.size()) + 8;
  const float below = ui.canvas.bottom() - rect.bottom() - 8, above = rect.y - ui.canvas.y - 8;
  const bool upwards = wanted > below && above > below;
  const float tall = std::min(wanted, std::min(upwards ? above : below, 420.f));
  ImGui::SetNextWindowPos(
      {std::min(rect.x, ui.canvas.right() - wide - 4), upwards ? rect.y - tall - 2 : rect.bottom() + 2});
  ImGui::SetNextWindowSize({wide, tall});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  std::string picked;
  if (ImGui::BeginPopup(id.c_str(), ImGuiWindowFlags_NoMove)) {
    ImDrawList* outer = ui.list;
    const Rect area = Rect{ImGui::GetWindowPos().x, ImGui::GetWindowPos().y, wide, tall}.inset(1, 3);
    ui.list = ImGui::GetWindowDrawList();
    const ImVec2 start = begin_scroll(ui, "rows", area, ui.colors->bg1);
    float y = start.y;
    for (const Option& option : options) {
      if (option_row(ui, name + "." + option.value, {area.x, y, area.w, row}, option, option.value == chosen))
        picked = option.value;
      y += row;
    }
    end_scroll(ui, start, y - start.y);
    if (!picked.empty() || ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
    ui.list = outer;
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
  return picked == chosen ? std::string() : picked;
}

std::string_view claim_sign(std::string_view claim) {
  return claim == "count" ? "=" : claim == "bound" ? "≤" : claim == "measured" ? "●" : "≈";
}

void claim_tag(Ui& ui, float x_right, float middle, std::string_view claim) {
  const std::string_view word = ui.word("claim." + std::string(claim));
  const TextStyle style = tick_style(ui).in(ui.colors->ink2);
  const float width = text_width(ui, word, style) + 24;
  const Rect box{x_right - width, middle - 8, width, 16};
  outline(ui, box, ui.colors->line2, 3);
  text(ui, box.x + 6, middle, claim_sign(claim), style);
  text(ui, box.x + 18, middle, word, style);
}

void tooltip(Ui& ui, const Press& over, std::string_view name, std::string_view value, std::string_view note) {
  if (!over.hovered || ui.touch) return;
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal | ImGuiHoveredFlags_NoSharedDelay)) {
    ui.more_frames = true;
    return;
  }
  ImGui::PushStyleColor(ImGuiCol_Border, ui.colors->ink3);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {12, 8});
  if (ImGui::BeginTooltip()) {
    ui.more_frames |= ImGui::IsWindowAppearing();  // its size is known one frame later
    const auto say = [&](ImFont* font, float size, ImU32 color, std::string_view words) {
      if (words.empty()) return;
      ImGui::PushFont(font, size);
      ImGui::PushStyleColor(ImGuiCol_Text, color);
      ImGui::PushTextWrapPos(296);
      ImGui::TextUnformatted(words.data(), words.data() + words.size());
      ImGui::PopTextWrapPos();
      ImGui::PopStyleColor();
      ImGui::PopFont();
    };
    say(ui.fonts.semibold, 13, ui.colors->ink, name);
    say(ui.fonts.regular, 13, ui.colors->ink, value);
    say(ui.fonts.regular, 11, ui.colors->ink3, note);
    ImGui::EndTooltip();
  }
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

ImVec2 begin_scroll(Ui& ui, const char* name, const Rect& rect, ImU32 ground) {
  ImGui::SetCursorScreenPos(rect.min());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild(name, {rect.w, rect.h}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  ui.list = ImGui::GetWindowDrawList();
  fill(ui, rect, ground);
  return {rect.x, rect.y - ImGui::GetScrollY()};
}

void end_scroll(Ui& ui, ImVec2 start, float content_height) {
  ImGui::SetCursorScreenPos({start.x, start.y + content_height - 1});
  ImGui::Dummy({1, 1});
  ui.scrolls |= ImGui::GetScrollMaxY() > 0 && ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows);
  ImGui::EndChild();
  ui.list = ImGui::GetWindowDrawList();
}

}  // namespace wireplan
