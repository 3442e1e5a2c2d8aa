// Plan and cluster documents: reading with every default filled in, writing, and single-field edits (--set path=value).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/plan.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// Reads, fills in defaults (recorded in Plan::assumed where they depend on other fields), validates. All errors at once.
Result<Plan> read_plan(const Json& document, const Presets& presets);
// The same without the rules between its parts (validate_between), for what is going to be laid out anew.
Result<Plan> read_plan_parts(const Json& document, const Presets& presets);
Result<Plan> read_plan_text(std::string_view text, const Presets& presets);
Result<Cluster> read_cluster(const Json& document, const Presets& presets, const std::string& path);

// The complete document; read_plan(write_plan(p)) == p (assumptions aside). Presets appear by id, other parts as objects.
Json write_plan(const Plan& plan);

// Sets one dotted path of a plan document to a value given as text: JSON if it parses as JSON, else a string.
// Creates missing objects on the way; a path through a non-object is an error. `model=llama-3-8b` replaces a whole part.
Errors set_path(Json& document, std::string_view path, std::string_view value);

}  // namespace wireplan
