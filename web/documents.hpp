// What the page tells the frame around the canvas, as JSON (web/README.md).
#pragma once

#include "core/text/json.hpp"
#include "web/app.hpp"

namespace wireplan {

Json state_document(const App& app);
Json form_document(const std::vector<Field>& form);
// What to change first, or the nearest plans that fit; and all plans that stand beside the answer.
Json alternatives_document(const AppState& state);
Json scenarios_document(const AppState& state);
std::string export_text(const AppState& state, std::string_view format);

}  // namespace wireplan
