// The presets to choose from, with what tells them apart.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/text/presets.hpp"

namespace wireplan {

// One thing that a field can be set to.
struct Choice {
  enum class State : unsigned char { legal, needs_more, never } state = State::legal;
  std::string value = {}, label = {};
  std::string why = {};                 // of a choice that cannot be taken
  std::string detail = {}, extra = {};  // of presets: size, shape
};

struct Catalogue {
  std::vector<Choice> models, nodes, implementations;
  std::map<std::string, std::string, std::less<>> sources;  // titles of assets/references.json by key
};
Catalogue read_catalogue(const Presets& presets);

}  // namespace wireplan
