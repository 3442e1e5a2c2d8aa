// Numbers as people read them. Everything that prints a number for a person goes through here, so that the page, the
// program and exports show the same text (rules: at most 4 significant digits; bytes >= 10 one decimal, below two).
#pragma once

#include <string>
#include <string_view>

#include "core/base/names.hpp"
#include "core/base/units.hpp"

namespace wireplan {

enum class ByteUnit : unsigned char { GB, GiB };  // 10^9 or 2^30, never mixed in one column
template <>
inline constexpr std::array<std::string_view, 2> kNames<ByteUnit> = {"GB", "GiB"};

std::string format_fixed(double value, int decimals);  // C locale, "-0" never appears
std::string format_exact(double value);  // shortest text that reads back as the same double; integers without point
std::string format_count(double value);  // "262,144": thousands by comma, for prose
std::string format_bytes(Bytes b, ByteUnit unit);            // "86.9" (no unit)
std::string unit_name(ByteUnit unit);                        // "GB", "GiB"
std::string format_bytes_with_unit(Bytes b, ByteUnit unit);  // "86.9 GB"; below 0.1 GB steps down to MB, kB
std::string format_message_size(Bytes b);                    // nccl-tests style, binary: "25 MiB", "1.50 GiB"
std::string format_seconds(Seconds s);                       // "36.6 s", "2.29 s", "766 ms", "5.70 µs"
std::string format_rate(BytesPerSecond r);                   // "14.2 GB/s", "185 GB/s"
std::string format_flops_rate(double tflops);                // "312 TFLOP/s"
std::string format_percent(double fraction);                 // "26 %"
std::string format_parameters(double count);                 // "7.242 B", "405.9 B", "124.4 M"

}  // namespace wireplan
