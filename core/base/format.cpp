#include "core/base/format.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wireplan {
namespace {

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

// snprintf and strtod follow the locale of the process; a document never does. Anything that is neither digit, sign nor
// exponent is the locale's decimal point.
std::string with_point(const char* text) {
  std::string result;
  bool in_point = false;
  for (; *text != 0; ++text) {
    const char c = *text;
    const bool plain = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
    if (plain)
      result += c;
    else if (!in_point)
      result += '.';
    in_point = !plain;
  }
  return result;
}

std::string printed(const char* form, int precision, double value) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, form, precision, value);
  return buffer;
}

// "1e+22" -> "1e22", "1e-05" -> "1e-5"
std::string with_short_exponent(std::string text) {
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::size_t digits = e + 1;
  const bool negative = text[digits] == '-';
  if (negative || text[digits] == '+') ++digits;
  while (digits + 1 < text.size() && text[digits] == '0') ++digits;
  return text.substr(0, e + 1) + (negative ? "-" : "") + text.substr(digits);
}

// Screen texts show U+2212, exports and fields the ASCII sign.
std::string with_minus_sign(std::string text) { return text.starts_with('-') ? "\u2212" + text.substr(1) : text; }

// A value >= 0 with at most four digits: whole from `whole_from` on, one decimal from 10 on, two below.
std::string short_decimal(double value, double whole_from) {
  int decimals = value >= whole_from ? 0 : value >= 10 ? 1 : 2;
  // 9.996 rounds to 10.0, not to 10.00.
  if (decimals == 2 && value >= 9.995) decimals = 1;
  if (decimals == 1 && value >= whole_from - 0.05) decimals = 0;
  return format_fixed(value, decimals);
}

std::string signed_decimal(double value, double whole_from) {
  if (value == 0 || !std::isfinite(value)) return "0";
  const std::string text = short_decimal(std::fabs(value), whole_from);
  return value < 0 ? "\u2212" + text : text;
}

struct Step {
  double size;
  const char* name;
};

constexpr Step kDecimalBytes[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}};
constexpr Step kBinaryBytes[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"}};

// Three digits: 766, 76.6, 7.66.
std::string three_digits(double value) { return short_decimal(value, 100); }

}  // namespace

std::string format_fixed(double value, int decimals) {
  if (!std::isfinite(value)) value = 0;
  std::string text = with_point(printed("%.*f", decimals, value).c_str());
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string format_exact(double value) {
  if (!std::isfinite(value)) value = 0;
  if (std::fabs(value) < kExactIntegers && value == std::floor(value)) return format_fixed(value, 0);
  // Every decimal of 15 digits survives the way through a double; below the normal range fewer are needed.
  for (int digits = std::fabs(value) < 2.2250738585072014e-308 ? 1 : 15;; ++digits) {
    const std::string text = printed("%.*g", digits, value);
    if (digits >= 17 || std::strtod(text.c_str(), nullptr) == value)
      return with_short_exponent(with_point(text.c_str()));
  }
}

std::string format_count(double value) {
  std::string text = format_fixed(value, 0);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3; i -= 3) text.insert(i - 3, ",");
  return with_minus_sign(text);
}

std::string unit_name(ByteUnit unit) { return unit == ByteUnit::GB ? "GB" : "GiB"; }

std::string format_bytes(Bytes b, ByteUnit unit) {
  return signed_decimal(b.value / (unit == ByteUnit::GB ? 1e9 : 0x1p30), 1000);
}

std::string format_bytes_with_unit(Bytes b, ByteUnit unit) {
  const Step* steps = unit == ByteUnit::GB ? kDecimalBytes : kBinaryBytes;
  const double size = std::fabs(b.value);
  if (!(size > 0)) return "0 " + unit_name(unit);
  if (size >= 10 * steps[0].size) return signed_decimal(b.value / steps[0].size, 1000) + " " + steps[0].name;
  int i = 1;
  while (i < 4 && size < 0.1 * steps[i].size) ++i;
  if (i == 4) return with_minus_sign(format_fixed(b.value, 0)) + " B";
  return signed_decimal(b.value / steps[i].size, 1000) + " " + steps[i].name;
}

std::string format_message_size(Bytes b) {
  if (!(b.value > 0) || !std::isfinite(b.value)) return "0 B";
  int i = 0;
  while (i < 4 && b.value < kBinaryBytes[i].size) ++i;
  const double value = b.value / kBinaryBytes[i].size;
  const std::string number = value == std::floor(value) || i == 4 ? format_fixed(value, 0) : short_decimal(value, 1000);
  return number + " " + kBinaryBytes[i].name;
}

std::string format_seconds(Seconds s) {
  const double size = std::fabs(s.value);
  const std::string sign = s.value < 0 ? "\u2212" : "";
  if (!(size > 0) || !std::isfinite(size)) return "0 s";
  if (size >= 0.9995) return sign + short_decimal(size, 1000) + " s";
  if (size >= 0.9995e-3) return sign + three_digits(size * 1e3) + " ms";
  if (size >= 0.9995e-6) return sign + three_digits(size * 1e6) + " µs";
  return sign + three_digits(size * 1e9) + " ns";
}

std::string format_rate(BytesPerSecond r) {
  constexpr Step kRates[] = {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
  if (!(r.value > 0) || !std::isfinite(r.value)) return "0 GB/s";
  int i = r.value >= 1e13 ? 0 : 1;
  while (i < 4 && r.value < 0.1 * kRates[i].size) ++i;
  const double value = r.value / kRates[i].size;
  return format_fixed(value, value >= 99.95 ? 0 : 1) + " " + kRates[i].name;
}

std::string format_flops_rate(double tflops) {
  if (!(tflops > 0) || !std::isfinite(tflops)) return "0 TFLOP/s";
  const bool peta = tflops >= 1e4;
  const double value = peta ? tflops / 1e3 : tflops;
  return format_fixed(value, value >= 99.95 ? 0 : 1) + (peta ? " PFLOP/s" : " TFLOP/s");
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) fraction = 0;
  const double percent = fraction * 100;
  if (percent > 0 && percent < 0.5) return "<1 %";  // not nothing
  return with_minus_sign(format_fixed(percent, 0)) + " %";
}

std::string format_parameters(double count) {
  constexpr Step kSteps[] = {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}};
  if (!(count > 0) || !std::isfinite(count)) return "0";
  for (const Step& step : kSteps) {
    // Four digits: what rounds up to the next unit is written in it.
    if (count < step.size * 0.99995) continue;
    const double value = count / step.size;
    const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
    return format_fixed(value, decimals) + step.name;
  }
  return format_fixed(count, 0);
}

}  // namespace wireplan
