#include "web/draw.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/math.hpp"

namespace wireplan {

namespace {

ImFont* font_of(const Ui& ui, Face face) {
  return face == Face::regular ? ui.fonts.regular : face == Face::semibold ? ui.fonts.semibold : ui.fonts.mono;
}

float pixel(float v) { return std::floor(v + 0.5f); }

// End of the longest prefix that fits `room`, on a border between characters.
std::size_t fitting_prefix(const Ui& ui, std::string_view words, const TextStyle& style, float room) {
  const char* end = nullptr;
  font_of(ui, style.face)->CalcTextSizeA(style.size, room, 0, words.data(), words.data() + words.size(), &end);
  return end ? static_cast<std::size_t>(end - words.data()) : 0;
}

}  // namespace

TextStyle title_style(const Ui& ui) { return {15, Face::semibold, ui.colors->ink}; }
TextStyle body_style(const Ui& ui) { return {13, Face::regular, ui.colors->ink}; }
TextStyle strong_style(const Ui& ui) { return {13, Face::semibold, ui.colors->ink}; }
TextStyle label_style(const Ui& ui) { return {12, Face::regular, ui.colors->ink2}; }
TextStyle tick_style(const Ui& ui) { return {11, Face::regular, ui.colors->ink3}; }
TextStyle big_style(const Ui& ui) { return {26, Face::semibold, ui.colors->ink}; }
TextStyle mono_style(const Ui& ui) { return {12, Face::mono, ui.colors->ink}; }

float text_width(const Ui& ui, std::string_view words, const TextStyle& style) {
  return font_of(ui, style.face)->CalcTextSizeA(style.size, 1e9f, 0, words.data(), words.data() + words.size()).x;
}

float text(Ui& ui, float x, float middle, std::string_view words, const TextStyle& style, Align align, float room) {
  ImFont* font = font_of(ui, style.face);
  std::string cut;
  float width = text_width(ui, words, style);
  if (room > 0 && width > room + 0.5f) {
    ui.cut.emplace_back(words);
    cut = std::string(words.substr(0, fitting_prefix(ui, words, style, room - text_width(ui, "…", style))));
    while (!cut.empty() && cut.back() == ' ') cut.pop_back();
    words = cut += "…";
    width = text_width(ui, words, style);
  }
  const float left = align == Align::left ? x : align == Align::right ? x - width : x - width / 2;
  // Capitals of both faces are 0.73 em high; the baseline lands on a whole pixel.
  const float baseline = pixel(middle + 0.364f * style.size);
  const float top = baseline - pixel(font->GetFontBaked(style.size)->Ascent);
  ui.list->AddText(font, style.size, {pixel(left), top}, style.color, words.data(), words.data() + words.size());
  return width;
}

float paragraph(Ui& ui, const Rect& area, std::string_view words, const TextStyle& style, float line_height) {
  float y = area.y;
  while (!words.empty()) {
    std::size_t end = std::min(words.find('\n'), words.size());
    if (const std::size_t fits = fitting_prefix(ui, words.substr(0, end), style, area.w); fits < end) {
      const std::size_t space = words.substr(0, fits + 1).rfind(' ');
      end = space != words.npos && space > 0 ? space : std::max<std::size_t>(fits, 1);
    }
    if (ui.list) text(ui, area.x, y + line_height / 2, words.substr(0, end), style);
    y += line_height;
    words.remove_prefix(end);
    if (!words.empty() && (words.front() == ' ' || words.front() == '\n')) words.remove_prefix(1);
  }
  return y - area.y;
}

float paragraph_height(const Ui& ui, float width, std::string_view words, const TextStyle& style, float line_height) {
  Ui dry;
  dry.fonts = ui.fonts;
  return paragraph(dry, {0, 0, width, 0}, words, style, line_height);
}

void fill(Ui& ui, const Rect& r, ImU32 color, float rounding) {
  if (r.w > 0 && r.h > 0) ui.list->AddRectFilled(r.min(), r.max(), color, rounding);
}

void outline(Ui& ui, const Rect& r, ImU32 color, float rounding, float thickness) {
  ui.list->AddRect(r.min(), r.max(), color, rounding, thickness);  // the stroke stays inside
}

void horizontal(Ui& ui, float x0, float x1, float y, ImU32 color) {
  ui.list->AddRectFilled({x0, pixel(y)}, {x1, pixel(y) + 1}, color);
}

void vertical(Ui& ui, float x, float y0, float y1, ImU32 color) {
  ui.list->AddRectFilled({pixel(x), y0}, {pixel(x) + 1, y1}, color);
}

void line(Ui& ui, ImVec2 a, ImVec2 b, ImU32 color, float thickness) { ui.list->AddLine(a, b, color, thickness); }

void dashed_line(Ui& ui, ImVec2 a, ImVec2 b, ImU32 color, float dash, float gap, float thickness) {
  const ImVec2 way{b.x - a.x, b.y - a.y};
  const float length = std::sqrt(way.x * way.x + way.y * way.y);
  if (length <= 0) return;
  for (float at = 0; at < length; at += dash + gap) {
    const float from = at / length, to = std::min(at + dash, length) / length;
    ui.list->AddLine({a.x + way.x * from, a.y + way.y * from}, {a.x + way.x * to, a.y + way.y * to}, color, thickness);
  }
}

void dashed_outline(Ui& ui, const Rect& r, ImU32 color) {
  const Rect o = r.inset(0.5f, 0.5f);
  dashed_line(ui, {o.x, o.y}, {o.right(), o.y}, color);
  dashed_line(ui, {o.right(), o.y}, {o.right(), o.bottom()}, color);
  dashed_line(ui, {o.right(), o.bottom()}, {o.x, o.bottom()}, color);
  dashed_line(ui, {o.x, o.bottom()}, {o.x, o.y}, color);
}

void dotted_underline(Ui& ui, float x0, float x1, float y, ImU32 color) {
  dashed_line(ui, {x0, pixel(y) + 0.5f}, {x1, pixel(y) + 0.5f}, color, 2, 2);
}

void hatch(Ui& ui, const Rect& r, ImU32 color, float gap, float thickness) {
  if (r.w < 1 || r.h < 1) return;
  ui.list->PushClipRect(r.min(), r.max(), true);
  // Starting on a multiple of the gap keeps the pattern still when a bar grows.
  const float step = gap * 1.4142f, start = std::floor((r.x - r.h) / step) * step;
  for (float x = start; x < r.right(); x += step) ui.list->AddLine({x, r.bottom()}, {x + r.h, r.y}, color, thickness);
  ui.list->PopClipRect();
}

void icon(Ui& ui, Icon which, ImVec2 c, float size, ImU32 color, float thickness) {
  const float s = size / 2;
  const auto path = [&](std::initializer_list<ImVec2> points, bool closed = false) {
    for (const ImVec2& p : points) ui.list->PathLineTo({c.x + p.x * s, c.y + p.y * s});
    ui.list->PathStroke(color, thickness, closed ? ImDrawFlags_Closed : 0);
  };
  switch (which) {
    case Icon::check:
      path({{-1, 0.05f}, {-0.3f, 0.75f}, {1, -0.7f}});
      break;
    case Icon::cross:
      path({{-0.8f, -0.8f}, {0.8f, 0.8f}});
      path({{-0.8f, 0.8f}, {0.8f, -0.8f}});
      break;
    case Icon::chevron_down:
      path({{-0.8f, -0.4f}, {0, 0.4f}, {0.8f, -0.4f}});
      break;
    case Icon::chevron_up:
      path({{-0.8f, 0.4f}, {0, -0.4f}, {0.8f, 0.4f}});
      break;
    case Icon::chevron_right:
      path({{-0.4f, -0.8f}, {0.4f, 0}, {-0.4f, 0.8f}});
      break;
    case Icon::chevron_left:
      path({{0.4f, -0.8f}, {-0.4f, 0}, {0.4f, 0.8f}});
      break;
    case Icon::plus:
      path({{-0.9f, 0}, {0.9f, 0}});
      path({{0, -0.9f}, {0, 0.9f}});
      break;
    case Icon::minus:
      path({{-0.9f, 0}, {0.9f, 0}});
      break;
    case Icon::search:
      ui.list->AddCircle({c.x - 0.25f * s, c.y - 0.25f * s}, 0.6f * s, color, 0, thickness);
      path({{0.2f, 0.2f}, {0.9f, 0.9f}});
      break;
    case Icon::warn:
      path({{0, -0.9f}, {1, 0.85f}, {-1, 0.85f}}, true);
      path({{0, -0.25f}, {0, 0.3f}});
      ui.list->AddRectFilled({c.x - 0.7f, c.y + 0.48f * s}, {c.x + 0.7f, c.y + 0.48f * s + 1.4f}, color);
      break;
  }
}

void whisker(Ui& ui, float x_low, float x_high, float middle, ImU32 ground) {
  const ImU32 ink = ui.colors->ink;
  const float y = pixel(middle);
  if (x_high - x_low < 3) x_high = x_low + 3;
  ui.list->AddRectFilled({x_low - 1.5f, y - 5.5f}, {x_low + 3, y + 5.5f}, ground);
  ui.list->AddRectFilled({x_low, y - 2}, {x_high, y + 2}, ground);
  ui.list->AddRectFilled({x_high - 3, y - 5.5f}, {x_high + 1.5f, y + 5.5f}, ground);
  ui.list->AddRectFilled({x_low, y - 0.75f}, {x_high, y + 0.75f}, ink);
  ui.list->AddRectFilled({x_low, y - 4}, {x_low + 1.5f, y + 4}, ink);
  ui.list->AddRectFilled({x_high - 1.5f, y - 4}, {x_high, y + 4}, ink);
}

void pipe(Ui& ui, ImVec2 a, ImVec2 b, float width, float load_forward, float load_backward, ImU32 track, ImU32 color) {
  constexpr float kBetween = 1.5f;
  const bool upright = a.x == b.x;
  const float lane = (width - kBetween) / 2;
  // Traffic keeps to the right of its own direction, as on a road.
  const bool downwards = upright ? b.y > a.y : b.x > a.x;
  const std::array<float, 2> load =
      upright == downwards ? std::array{load_forward, load_backward} : std::array{load_backward, load_forward};
  for (std::size_t side = 0; side < 2; ++side) {
    const float from = side == 0 ? -width / 2 : kBetween / 2;
    const float filled = lane * std::clamp(load[side], 0.f, 1.f);
    // The load fills a lane from the middle of the pipe outwards.
    const float start = side == 0 ? from + lane - filled : from;
    if (upright) {
      fill(ui, {a.x + from, std::min(a.y, b.y), lane, std::abs(b.y - a.y)}, track);
      fill(ui, {a.x + start, std::min(a.y, b.y), filled, std::abs(b.y - a.y)}, color);
    } else {
      fill(ui, {std::min(a.x, b.x), a.y + from, std::abs(b.x - a.x), lane}, track);
      fill(ui, {std::min(a.x, b.x), a.y + start, std::abs(b.x - a.x), filled}, color);
    }
  }
}

float pipe_width(double bytes_per_s) {
  const double gigabytes = std::max(bytes_per_s / 1e9, 1.0);
  return std::clamp(static_cast<float>(1.7 * log2_of(gigabytes)), 4.f, 14.f);
}

}  // namespace wireplan
