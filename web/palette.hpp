// The colours of the page by what they mean. Panels ask for names, never for numbers.
//
// Teal says "fits", vermilion "does not fit", violet "communication nobody hides"; nothing else uses those three.
// Text reaches a contrast of 4.5 on every ground it may stand on, outlines of controls 3.0; the parts of a bar differ
// under deuteranopia, protanopia and tritanopia (tests/page checks both).
#pragma once

#include <imgui.h>

namespace wireplan {

struct Palette {
  // text
  ImU32 ink, ink2, ink3, fit, no, exp, warn, focus, line2;
  // surfaces
  ImU32 bg0, bg1, bg2, bg3, line, track, grid, fit_bg, no_bg, exp_bg, warn_bg, sel, on_sel;
  // memory
  ImU32 params, grads, optim, acts, logits, gath, bufs, slack;
  // time and wires
  ImU32 forward, backward, optimizer, gather, scatter, exposed, load;
};

extern const Palette kLightPalette, kDarkPalette;

// The theme; with more contrast all grounds and inks are white and black.
Palette palette_for(bool is_dark, bool more_contrast);

// White or near-black, whichever contrasts more with a fill.
ImU32 label_on(ImU32 fill);
// The same colour at a share of its opacity.
ImU32 faded(ImU32 color, float alpha);

}  // namespace wireplan
