// What every fuzz target does: a fault stops the run, with its sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace wireplan::testing {

inline int fuzz(std::string (*fault)(std::string_view), const std::uint8_t* data, std::size_t size) {
  const std::string found = fault(std::string_view(reinterpret_cast<const char*>(data), size));
  if (found.empty()) return 0;
  std::fprintf(stderr, "fault: %s\n", found.c_str());
  std::abort();
}

}  // namespace wireplan::testing
