// Files of weights: their headers only.
#pragma once

#include <string>

#include "core/text/hf_weights.hpp"

namespace wireplan {

// A .safetensors file, the index of several, or a folder with either. The files of an index are read where they lie beside it; where one is
// missing the index alone counts. A file that ends before its header says is an error.
Result<StoredWeights> read_weights(const std::string& path);

}  // namespace wireplan
