// Things that can be pressed. Each is an invisible button first and a drawing second, so that keyboard focus, the list of
// rectangles and the hit test share one rectangle.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/draw.hpp"

namespace wireplan {

struct Press {
  bool hovered = false, held = false, clicked = false;
};
// The button itself, without a look of its own beyond the ring of keyboard focus.
Press press(Ui& ui, std::string_view key, const Rect& rect, bool enabled = true, float rounding = 4);

// A box with a text, for actions.
bool text_button(Ui& ui, std::string_view key, const Rect& rect, std::string_view label);
// A text with a dotted underline that can be pressed; height as of its line.
bool text_link(Ui& ui, std::string_view key, float x, float middle, std::string_view label, const TextStyle& style,
               float room = 0);

struct Segment {
  std::string_view value, label;
  bool enabled = true;
};
// One of a few, side by side. Returns the value pressed, empty when none.
std::string_view segments(Ui& ui, std::string_view key, const Rect& rect, const std::vector<Segment>& choices,
                          std::string_view chosen, const TextStyle& style);

// "[−  4096  +]". `less` and `more` are the neighbouring legal values, empty at a limit.
struct Steps {
  std::string_view value, less, more, unit;
  bool wrong = false;
};
// Returns the new value as text, empty when nothing changed. Pressing the value asks the frame for an input to type into.
std::string number_field(Ui& ui, std::string_view key, const Rect& rect, const Steps& steps);

struct Option {
  std::string value, label, detail, extra;  // detail and extra stand to the right, smaller
  bool enabled = true;
};
// A field that opens a list. Returns the value picked, empty when none.
std::string dropdown(Ui& ui, std::string_view key, const Rect& rect, std::string_view shown,
                     const std::vector<Option>& options, std::string_view chosen);
// A field whose list is long and searched by typing: the frame around the canvas opens it.
void search_field(Ui& ui, std::string_view key, const Rect& rect, std::string_view shown);

// What a number is worth: "= count", "≈ estimate"; ends at x_right. Sign alone: claim_sign().
void claim_tag(Ui& ui, float x_right, float middle, std::string_view claim);
std::string_view claim_sign(std::string_view claim);

// After a short rest of the pointer on the last pressed rectangle: a name, its value, one more line.
void tooltip(Ui& ui, const Press& press, std::string_view name, std::string_view value, std::string_view note);

// A part of the page that scrolls on its own when it is too high. Draw between the two calls, from the place returned.
ImVec2 begin_scroll(Ui& ui, const char* name, const Rect& rect, ImU32 ground);
void end_scroll(Ui& ui, ImVec2 start, float content_height);

}  // namespace wireplan
