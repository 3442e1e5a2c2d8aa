// The `training` part of a plan as a document.
#pragma once

#include "core/describe/training.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// What the document says of the fields whose default depends on other fields.
struct TrainingStated {
  bool global_batch_size = false, implementation = false, kernels = false, cuda_graphs = false, offload_optimizer = false,
       offload_parameters = false;
};

Training read_training(Reader& reader, TrainingStated& stated);
Details read_details(ReadLog& log, const Json& json, std::string path);
Json write_training(const Training& training);

}  // namespace wireplan
