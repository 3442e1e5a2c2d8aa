// Rectangles in logical pixels of the canvas.
#pragma once

#include <imgui.h>

namespace wireplan {

struct Rect {
  float x = 0, y = 0, w = 0, h = 0;

  float right() const { return x + w; }
  float bottom() const { return y + h; }
  float middle_x() const { return x + w / 2; }
  float middle_y() const { return y + h / 2; }
  ImVec2 min() const { return {x, y}; }
  ImVec2 max() const { return {x + w, y + h}; }

  Rect inset(float dx, float dy) const { return {x + dx, y + dy, w - 2 * dx, h - 2 * dy}; }
  Rect grown(float d) const { return inset(-d, -d); }

  // Cuts a piece off one side and returns it.
  Rect cut_top(float height) {
    const Rect piece{x, y, w, height};
    y += height;
    h -= height;
    return piece;
  }
  Rect cut_bottom(float height) {
    h -= height;
    return {x, y + h, w, height};
  }
  Rect cut_left(float width) {
    const Rect piece{x, y, width, h};
    x += width;
    w -= width;
    return piece;
  }
  Rect cut_right(float width) {
    w -= width;
    return {x + w, y, width, h};
  }
};

}  // namespace wireplan
