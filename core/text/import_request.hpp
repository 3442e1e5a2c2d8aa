// Requests that read logs (core/text/request.hpp).
#pragma once

#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// {"text", "op"?} -> {"profile","gpus","notes"}
Result<Json> answer_import_nccl_tests(const Json& request);
// {"text", "cluster" or "xml"?} -> wireplan.nccl/1; with a machine also what differs from the decision
Result<Json> answer_import_nccl_log(const Json& request, const Presets& presets);

// {"text", "weights"?, "model_type"?, "set"?: [["model.mlp", "swiglu"], …]} -> wireplan.model/1
Result<Json> answer_import_config(const Json& request, const Presets& presets);

}  // namespace wireplan
