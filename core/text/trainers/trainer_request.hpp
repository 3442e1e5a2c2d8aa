// Requests about trainers' configurations (core/text/request.hpp), and what the program shows of them.
#pragma once

#include "core/text/presets.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {

// {"plan", "set"?, "trainer"?} -> wireplan.export/1; without a trainer the usual one of the plan. With "round_trip": what the files,
// read again, make of the plan.
Result<Json> answer_export(const Json& request, const Presets& presets);
// {"text", "trainer"?, "onto"?} -> wireplan.import/1; with "onto", a plan as it may be stated, also "document": that plan with what the
// configuration states over it, and "problems": what is wrong with it.
Result<Json> answer_import_trainer(const Json& request, const Presets& presets);

// The exported text of a plan for people: files, then what they do not say.
std::string render_export(const Json& exported);
std::string render_imported(const Json& imported);

}  // namespace wireplan
