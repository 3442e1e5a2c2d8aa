// The `parallel` part of a plan as a document.
#pragma once

#include "core/describe/parallel.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// What the document says of the fields whose default depends on other fields.
struct ParallelStated {
  bool data = false, data_sharding = false, gradient_sync = false, moe_dispatcher = false;
  bool gradient_reduce = false, parameter_gather = false, tensor = false, pipeline = false;  // of overlap
};

Parallel read_parallel(Reader& reader, ParallelStated& stated);
Json write_parallel(const Parallel& parallel);

}  // namespace wireplan
