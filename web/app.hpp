// The page as a whole: its state, its table of inputs, its frame.
#pragma once

#include <vector>

#include "web/form.hpp"
#include "web/layout.hpp"
#include "web/state.hpp"
#include "web/ui.hpp"

namespace wireplan {

struct App {
  AppState state;
  std::vector<Field> form;
  Palette palette = kLightPalette;
  Ui ui;
  PageLayout layout;
  float width = 1280, height = 720;
  bool has_pictures = false;
  bool is_text_only = false;  // pictures were asked for, and there is nothing to draw on: no frame comes after which nothing waits
  int frames = 0;  // drawn so far
  int wanted = 0;  // still to be drawn
};

// The one page of this program.
App& app();

// Fonts and ImGui; then the platform. False: everything works, nothing is drawn.
bool open_pictures(App& app);
void resize(App& app, int width, int height);
// Asks for frames.
void wake(App& app, int frames);
// After the state changed: the table of inputs, colours, a few frames, a word to the page around.
void follow_change(App& app);

}  // namespace wireplan
