// Numbers of the answer as text, by their unit; and all of them as a list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/state.hpp"

namespace wireplan {

// "57.9 GB", "1.43 s", "185 GB/s", "7,241,732,096", "0.647".
std::string value_text(double value, std::string_view unit, ByteUnit bytes);

// The formula with the values in place of their symbols.
std::string with_values(const Explanation& e, ByteUnit bytes);

// What a number is called: the text "path.…" where there is one, else its path. Rows of communication by their name.
std::string name_of_path(const AppState& state, std::string_view path);

// Every number of the estimate that a table shows: all that can be explained but the ends of bands.
struct Row {
  std::string group, path, label, text, unit;
  std::string_view claim;
  double value = 0;
};
std::vector<Row> result_rows(const AppState& state);

}  // namespace wireplan
