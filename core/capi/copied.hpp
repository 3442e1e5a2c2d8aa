// Texts that leave the C ABI.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

namespace wireplan {

// A copy that the caller frees with wireplan_free; null when memory runs out.
inline char* copied(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace wireplan
