// Numbers of PCI devices as Linux writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wireplan {

// Digits of a bus id as one number, as NCCL compares them: "0000:07:00.0" -> 0x7000; nothing for what is none.
inline std::optional<std::uint64_t> bus_number(std::string_view text) {
  std::uint64_t number = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == ':' || c == '.') continue;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0 || ++digits > 16) return std::nullopt;
    number = number * 16 + static_cast<std::uint64_t>(digit);
  }
  if (digits == 0) return std::nullopt;
  return number;
}

}  // namespace wireplan
