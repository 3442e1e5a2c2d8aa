// Embedded presets: every document under assets/, compiled into the library.
//
// The build runs tools/pack_presets.py, which parses each file strictly,
// removes white space outside strings and writes one C++ source with the table
// declared here. So neither the program nor the page needs a file system to
// know its presets, and both carry exactly the same bytes.
//
//   kind   the folder, e.g. "models", "gpus", "nodes", "scenarios";
//          assets/references.json has kind and id "references"
//   id     the file name without ".json"
//   json   the minified document; key order and numbers as written
//
// Rows are sorted by kind, then id (byte order).
#pragma once

#include <cstddef>
#include <string_view>

namespace wireplan {

struct EmbeddedPreset {
  std::string_view kind;
  std::string_view id;
  std::string_view json;
};

extern const EmbeddedPreset kEmbeddedPresets[];
extern const std::size_t kEmbeddedPresetCount;

}  // namespace wireplan
