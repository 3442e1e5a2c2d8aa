#include "web/values.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/answer/explain.hpp"

namespace wireplan {

namespace {

std::string significant(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

bool is_letter(unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; }

// "·", "−" and the like are several bytes long and no letters.
std::size_t symbol_length(std::string_view formula) {
  std::size_t n = 0;
  while (n < formula.size()) {
    if (formula.substr(n, 2) == "·" || formula.substr(n, 2) == "×" || formula.substr(n, 3) == "−") break;
    if (!(n == 0 ? is_letter(static_cast<unsigned char>(formula[n]))
                 : is_letter(static_cast<unsigned char>(formula[n])) ||
                       std::isdigit(static_cast<unsigned char>(formula[n]))))
      break;
    ++n;
  }
  return n;
}

}  // namespace

std::string value_text(double value, std::string_view unit, ByteUnit bytes) {
  if (unit == "bytes") return format_bytes_with_unit(Bytes(value), bytes);
  if (unit == "s") return format_seconds(Seconds(value));
  if (unit == "bytes/s") return format_rate(BytesPerSecond(value));
  if (unit == "FLOP/s") return format_flops_rate(value / 1e12);
  if (unit == "TFLOP/s") return format_flops_rate(value);
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  const std::string plain = is_whole                      ? format_count(value)
                            : value >= 1e4 && value < 1e9 ? format_count(std::round(value))
                                                          : significant(value);
  return unit.empty() ? plain : plain + " " + std::string(unit);
}

std::string with_values(const Explanation& e, ByteUnit bytes) {
  std::string text;
  std::string_view rest = e.formula;
  while (!rest.empty()) {
    const std::size_t n = symbol_length(rest);
    if (n == 0) {
      text += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view symbol = rest.substr(0, n);
    const auto value =
        std::find_if(e.values.begin(), e.values.end(), [&](const ExplainedValue& v) { return v.symbol == symbol; });
    text += value == e.values.end() ? std::string(symbol) : value_text(value->value, value->unit, bytes);
    rest.remove_prefix(n);
  }
  return text;
}

std::string name_of_path(const AppState& state, std::string_view path) {
  const std::string key = "path." + std::string(path);
  if (state.words.has(key)) return std::string(state.words[key]);
  // "communication.<row>.<field>", "memory.ranks.<stage>.<field>"
  constexpr std::string_view kRows = "communication.", kRanks = "memory.ranks.";
  const bool is_row = path.starts_with(kRows);
  if (!is_row && !path.starts_with(kRanks)) return std::string(path);
  const std::string_view rest = path.substr(is_row ? kRows.size() : kRanks.size());
  const std::size_t dot = std::min(rest.find('.'), rest.size());
  const std::string number(rest.substr(0, dot)), field(rest.substr(std::min(dot + 1, rest.size())));
  if (!is_row) return state.words.fill("path.memory.ranks." + field, {{"n", number}});
  const auto row = static_cast<std::size_t>(std::atoi(number.c_str()));
  if (row >= state.answer.estimate.communication.size()) return std::string(path);
  const std::string name(state.answer.estimate.communication[row].name);
  return field.empty() ? name : name + ": " + std::string(state.words["comm.field." + field]);
}

std::vector<Row> result_rows(const AppState& state) {
  const Answer& a = state.answer;
  std::vector<Row> rows;
  for (const Explanation& e : all_explanations(a.plan, state.constants, a.estimate)) {
    if (e.key.ends_with(".low") || e.key.ends_with(".high")) continue;
    rows.push_back({e.key.substr(0, e.key.find('.')), e.key, name_of_path(state, e.key),
                    value_text(e.result, e.unit, state.view.unit), e.unit, name_of(e.kind), e.result});
  }
  return rows;
}

}  // namespace wireplan
