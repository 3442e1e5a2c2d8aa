// Where the panels stand, by the width of the page; or one below the other, where others chose which (ViewState::panels).
#pragma once

#include "web/state.hpp"

namespace wireplan {

enum class Columns : unsigned char {
  three,  // from 1280: inputs, results, explanation
  two,    // from 1024: the explanation slides over the results
  strip,  // from 720: the inputs fold into a strip of section names
  flow,   // narrower: panels one below the other in a page that scrolls; the inputs are a form of the frame
  chosen, // inside another page: only the panels that it asked for, one below the other at any width
};
Columns columns_for(float width);
constexpr float kNarrowPanels = 560;  // narrower, the panels that were chosen are drawn for fingers

struct PageLayout {
  Columns columns = Columns::three;
  Rect inputs, strip, centre, drawer;           // width 0: not there
  Rect memory, wiring, wirings, step, timeline, waits, scaling, curves, moments;  // inside the centre, before it is scrolled
  float centre_height = 0;                      // of what stands in it
};
PageLayout page_layout(const AppState& state, float width, float height);

// What the canvas wants to be high where the page scrolls; 0 where it fills the window.
float wanted_height(const AppState& state, float width);

}  // namespace wireplan
