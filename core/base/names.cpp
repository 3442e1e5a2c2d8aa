#include "core/base/names.hpp"

namespace wireplan {

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += " | ";
    text += name;
  }
  return text;
}

}  // namespace wireplan
