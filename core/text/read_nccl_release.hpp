// Constants of one NCCL release (assets/nccl).
#pragma once

#include "core/cost/nccl/decision.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// Lists must have the lengths the model has; numbers 0 to 1e5.
nccl::Release read_nccl_release(Reader& reader);

}  // namespace wireplan
