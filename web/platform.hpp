// What the page needs of the machine it runs on. One implementation for each: platform_web.cpp knows the browser, the frame
// test has one that draws nowhere.
#pragma once

#include <string>

#include "web/geometry.hpp"

namespace wireplan::platform {

// Makes a picture appear: window, WebGL, ImGui's backends. Needs an ImGui context. False: there is nothing to draw on.
bool open();
// The canvas' size in CSS pixels.
void resize(int width, int height);
void begin_frame();
void end_frame(ImVec4 ground);
// Calls draw_frame() at the next turn of the screen, once however often it is asked.
void request_frame();
// The drawing context was lost and came back.
void restore();

// Messages to the page around the canvas.
void say_changed();
void say_edit_text(const std::string& path, Rect rect, const std::string& value);
void say_pick(const std::string& path, Rect rect);
void say_ask(const std::string& dialog);
void show_cursor(bool is_hand);

}  // namespace wireplan::platform

namespace wireplan {

// The page's side: draws one frame and asks for the next one while something still moves.
void draw_frame();
// Whether the wheel over the canvas moves something in it.
bool takes_wheel();
// Turns of the wheel with Ctrl. False: nothing under the pointer zooms.
bool take_zoom(float steps);

}  // namespace wireplan
