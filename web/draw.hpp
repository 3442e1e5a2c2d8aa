// Shapes and text, nothing that can be pressed. Every shape is a rectangle, a line, a polygon or unkerned text.
#pragma once

#include <string_view>

#include "web/ui.hpp"

namespace wireplan {

enum class Face : unsigned char { regular, semibold, mono };
enum class Align : unsigned char { left, centre, right };

struct TextStyle {
  float size = 13;
  Face face = Face::regular;
  ImU32 color = 0;
  TextStyle in(ImU32 c) const { return {size, face, c}; }
};
// The type scale. Sizes are those of CSS (the em, not the height of the line).
TextStyle title_style(const Ui& ui);   // 15 semibold, ink
TextStyle body_style(const Ui& ui);    // 13 regular, ink
TextStyle strong_style(const Ui& ui);  // 13 semibold, ink
TextStyle label_style(const Ui& ui);   // 12 regular, ink2
TextStyle tick_style(const Ui& ui);    // 11 regular, ink3
TextStyle big_style(const Ui& ui);     // 26 semibold, ink
TextStyle mono_style(const Ui& ui);    // 12 mono, ink

// One line of text whose capitals are centred on `middle`. Cut with "…" where it is wider than `room` (0: never).
// Returns the width drawn.
float text(Ui& ui, float x, float middle, std::string_view words, const TextStyle& style, Align align = Align::left,
           float room = 0);
float text_width(const Ui& ui, std::string_view words, const TextStyle& style);
// Several lines, broken at spaces; returns the height. `lines` at most (0: all).
float paragraph(Ui& ui, const Rect& area, std::string_view words, const TextStyle& style, float line_height);
float paragraph_height(const Ui& ui, float width, std::string_view words, const TextStyle& style, float line_height);

void fill(Ui& ui, const Rect& r, ImU32 color, float rounding = 0);
void outline(Ui& ui, const Rect& r, ImU32 color, float rounding = 0, float thickness = 1);
void horizontal(Ui& ui, float x0, float x1, float y, ImU32 color);  // one pixel, on a pixel
void vertical(Ui& ui, float x, float y0, float y1, ImU32 color);
void line(Ui& ui, ImVec2 a, ImVec2 b, ImU32 color, float thickness = 1);
void dashed_line(Ui& ui, ImVec2 a, ImVec2 b, ImU32 color, float dash = 4, float gap = 3, float thickness = 1);
void dashed_outline(Ui& ui, const Rect& r, ImU32 color);
void dotted_underline(Ui& ui, float x0, float x1, float y, ImU32 color);
// 45° lines across a rectangle, `gap` apart.
void hatch(Ui& ui, const Rect& r, ImU32 color, float gap, float thickness = 1);

enum class Icon : unsigned char {
  check,
  cross,
  chevron_down,
  chevron_right,
  chevron_up,
  chevron_left,
  plus,
  minus,
  search,
  warn
};
void icon(Ui& ui, Icon which, ImVec2 centre, float size, ImU32 color, float thickness = 1.5f);

// The band a value lies in: a line with caps from low to high, on a halo of the ground.
void whisker(Ui& ui, float x_low, float x_high, float middle, ImU32 ground);
// A link: two lanes, one for each direction, as wide as its capacity, filled as far as it is loaded.
// a and b differ in one coordinate only. Loads from a to b and from b to a, as shares 0..1.
void pipe(Ui& ui, ImVec2 a, ImVec2 b, float width, float load_forward, float load_backward, ImU32 track, ImU32 color);
// Width of a link's pipe by its rate, so that NVLink, PCIe and a network card can be told apart.
float pipe_width(double bytes_per_s);

}  // namespace wireplan
