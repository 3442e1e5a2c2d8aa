// GPUs as documents: presets under assets/gpus, and the `gpu` of a node when it is given as an object.
#pragma once

#include "core/describe/gpu.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// A preset must also name its source.
Gpu read_gpu(Reader& reader, bool is_preset);

// The object that reads back as the same GPU; what is not known is left out.
Json write_gpu(const Gpu& gpu);

}  // namespace wireplan
