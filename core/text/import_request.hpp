// Requests that read logs (core/text/request.hpp).
#pragma once

#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// {"text", "op"?} -> {"profile","gpus","notes"}
Result<Json> answer_import_nccl_tests(const Json& request);
// {"text", "cluster"?} -> wireplan.nccl/1; with a cluster also what differs from the prediction
Result<Json> answer_import_nccl_log(const Json& request, const Presets& presets);

}  // namespace wireplan
