// Commands as documents: a request in JSON, an answer in JSON. The C ABI, and through it the module, is nothing but this; the
// program shares what a plan may be stated as.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/base/format.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// What a plan was stated as, not read yet.
struct StatedDocument {
  Json document;
  std::vector<Note> notes;
  ByteUnit unit = ByteUnit::GiB;
};

struct StatedPlan {
  Plan plan;
  std::vector<Note> notes;          // what a link said that this version does not know
  ByteUnit unit = ByteUnit::GiB;    // the unit its scenario or link asks for
};

// A plan as any door may state it: a plan document, a scenario id, a link, or {"plan": one of these, "set": [["path", value], …]}.
// A value of "set" that is a string is read as --set reads it: as JSON where it is JSON, else as text.
Result<StatedPlan> stated_plan(const Json& stated, const Presets& presets);
Result<StatedDocument> stated_document(const Json& stated, const Presets& presets);

// The estimate of a stated plan, with the notes of its link in front.
Estimate estimate(const StatedPlan& stated, const Constants& constants);

// Runs one command (core/capi/wireplan.h lists them) and returns its document, or what is wrong with the request.
Result<Json> answer(std::string_view command, const Json& request, const Presets& presets);

// The error of a command that stands in the design but is not there yet.
Error not_built_yet(std::string_view command);

}  // namespace wireplan
