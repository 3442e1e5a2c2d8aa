// The page without a browser: frames are drawn to nowhere, the pointer is moved by hand.
#pragma once

#include <string>
#include <string_view>

#include "web/app.hpp"
#include "web/page_api.hpp"

namespace wireplan::test {

// What the page said to the frame around it, and whether it wants another frame.
struct Said {
  int changes = 0;
  bool wants_frame = false;
  std::string edit_text, pick, asked;
};
Said& said();

// The page, opened at the story once for all tests, at a size.
App& page_at(int width, int height);
// Draws until no further frame is wanted; at most 50.
int draw_until_still();
// Presses and releases the left button in the middle of a widget. False when it is not drawn.
bool press_on(std::string_view key);
bool is_drawn(const App& page, std::string_view key);
// Where a widget is drawn; the test fails where it is not.
Rect rect_of(const App& page, std::string_view key);
// Text of a row of the page's state by its path, "" when there is none.
std::string row_text(const std::string& path);

}  // namespace wireplan::test
