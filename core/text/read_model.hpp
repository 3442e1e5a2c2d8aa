// Models as documents: presets under assets/models, and the `model` of a plan when it is given as an object.
#pragma once

#include "core/describe/model.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// Reads a model object. A preset must also name its source, and carries counts and provenance that a plan may not state.
// Heads and their size may be left out of a plan (recorded as assumed); what else is left out stands in formats of the document.
Model read_model(Reader& reader, bool is_preset);

// The object that reads back as the same model; every field written.
Json write_model(const Model& model);

}  // namespace wireplan
