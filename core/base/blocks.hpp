// Bytes as PyTorch's caching allocator counts them: whole blocks of 512.  [pytorch-allocator]
#pragma once

#include <cmath>

namespace wireplan {

inline double whole_blocks(double bytes) { return std::ceil(bytes / 512) * 512; }

}  // namespace wireplan
