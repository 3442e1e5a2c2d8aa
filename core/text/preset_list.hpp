// Presets as lists: what there is, its key facts, how far it was checked and where it comes from.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// {"kinds":[{"kind","count","what"}]}
Json preset_kinds(const Presets& presets);
// {"kind","presets":[{"id","name", key facts…, "verified","source"}]}; an unknown kind is an error that lists all kinds.
Result<Json> preset_list(const Presets& presets, std::string_view kind);
// One preset as it is written; an unknown id is an error that lists near ones.
Result<Json> preset_document(const Presets& presets, std::string_view kind, std::string_view id);

// What preset_kinds or preset_list gave, for people.
std::string render_preset_list(const Json& list, RenderFormat format);

}  // namespace wireplan
