// NCCL_* variables a user sets.
#pragma once

#include <vector>

#include "core/base/error.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/text/json.hpp"

namespace wireplan {

struct NcclEnvironment {
  nccl::Environment environment;
  std::vector<Note> notes;  // variables that are not part of the model
};

// {"NCCL_ALGO": "Ring", …}: values as NCCL reads them. Errors name the variable, its value and what it may be; a variable the model
// does not know is a note.
Result<NcclEnvironment> read_nccl_environment(const Json& variables, const std::string& path);

}  // namespace wireplan
