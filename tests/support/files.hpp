// Files of tests/data, read whole.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace wireplan::testing {

// "" where there is no such file.
inline std::string file_text(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string text;
  char piece[4096];
  for (std::size_t read = 1; file && read > 0;) {
    read = std::fread(piece, 1, sizeof piece, file.get());
    text.append(piece, read);
  }
  return text;
}

}  // namespace wireplan::testing
