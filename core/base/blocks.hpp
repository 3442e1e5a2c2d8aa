// Bytes as PyTorch's caching allocator counts them: whole blocks of 512.  [pytorch-allocator]
#pragma once

#include <cstdint>

namespace wireplan {

inline constexpr double kBlock = 512;  // bytes

// In integers, as std::ceil is a call on many targets; 2^53 bytes and more (absurd settings) are left as they are.
constexpr double whole_blocks(double bytes) {
  if (!(bytes < 9007199254740992.0)) return bytes;
  const std::int64_t whole = static_cast<std::int64_t>(bytes);
  return static_cast<double>((whole + (static_cast<double>(whole) < bytes) + 511) / 512 * 512);
}
static_assert(whole_blocks(0) == 0 && whole_blocks(0.5) == 512 && whole_blocks(512) == 512 &&
              whole_blocks(512.5) == 1024);

}  // namespace wireplan
