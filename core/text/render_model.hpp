// An imported model as text for people.
#pragma once

#include <string>

#include "core/text/hf_config.hpp"
#include "core/text/hf_weights.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// What was read from which key, how many parameters that makes, and whether the stored weights agree.
std::string render_imported_model(const ImportedModel& imported, const WeightsCheck* weights, RenderFormat format);

}  // namespace wireplan
