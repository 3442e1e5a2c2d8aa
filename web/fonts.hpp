// The faces of the page, subset at build time and embedded as TrueType data.
//
// tools/subset_fonts.py cuts them from Debian's Inter and JetBrains Mono;
// tools/pack_fonts.py writes the translation unit that defines these arrays.
// The canvas hands them to Dear ImGui; the DOM around it reads the same bytes
// out of the wasm memory through page_font(), so a face is downloaded once.
#pragma once

#include <cstddef>

namespace wireplan {

struct EmbeddedFont {
  const unsigned char* data;
  std::size_t size;
};

extern const EmbeddedFont kInterRegular;
extern const EmbeddedFont kInterSemiBold;
extern const EmbeddedFont kJetBrainsMono;

}  // namespace wireplan
