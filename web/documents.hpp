// What the page tells the frame around the canvas, as JSON (web/README.md).
#pragma once

#include <string>

#include "web/adopt.hpp"
#include "web/app.hpp"

namespace wireplan {

std::string state_document(const App& app);
std::string form_document(const std::vector<Field>& form);
// What to change first, or the nearest plans that fit; and all plans that stand beside the answer.
std::string alternatives_document(const AppState& state);
std::string scenarios_document(const AppState& state);
std::string adopted_document(const Adopted& adopted);
std::string export_text(const AppState& state, std::string_view format);

}  // namespace wireplan
