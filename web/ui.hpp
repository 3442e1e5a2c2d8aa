// What one frame is drawn with: colours, faces, words, and the list of where everything stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "core/base/format.hpp"
#include "web/geometry.hpp"
#include "web/language.hpp"
#include "web/palette.hpp"

namespace wireplan {

struct Fonts {
  ImFont* regular = nullptr;
  ImFont* semibold = nullptr;
  ImFont* mono = nullptr;
};

// One change that a widget asks for: a path of the plan document ("training.micro_batch_size"), an alternative
// ("strategy.fsdp", "wiring.pcie-host", "recipe.…") or something about the view ("view.explain"), with its value as text.
struct Edit {
  std::string path, value;
  explicit operator bool() const { return !path.empty(); }
};

// A widget or a drawn number by its key, for tests, for the mirror and for what points at it.
struct KeyedRect {
  std::string key;
  Rect rect;
};

// Text is typed in real inputs, which the page around the canvas puts over a rectangle; `ask`: for a dialog of the page, by its name.
struct Request {
  enum class Kind : unsigned char { none, edit_text, pick, ask } kind = Kind::none;
  std::string path;
  Rect rect;
  std::string value;
};

struct Ui {
  const Palette* colors = &kLightPalette;
  Fonts fonts;
  const Language* words = nullptr;
  ByteUnit unit = ByteUnit::GB;
  bool touch = false;

  ImDrawList* list = nullptr;  // of the window that is being drawn into
  Rect canvas;
  std::vector<KeyedRect> keys;   // filled while drawing
  Request request;               // what this frame asks of the frame around the canvas
  std::vector<std::string> cut;  // texts that did not fit and lost their end
  bool more_frames = false;      // something waits for time to pass (a tooltip)
  bool scrolls = false;          // the pointer is over something that the wheel moves
  bool zooms = false;            // and over something that Ctrl with the wheel zooms
  float zoom = 0;                // steps of the wheel that it has not heard of

  std::string_view word(std::string_view key) const { return (*words)[key]; }
  void mark(std::string_view key, const Rect& rect) { keys.push_back({std::string(key), rect}); }
  std::string bytes(Bytes b) const { return format_bytes(b, unit); }
};

}  // namespace wireplan
