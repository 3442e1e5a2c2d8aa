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

// What runs at a moment of the step, as the estimate's `peak_at` says it: "backward of layer 31, micro-batch 2".
std::string place_text(const AppState& state, const Place& place);

// The memory over time that is drawn: of the stage chosen, of the fullest when none is; nullptr when there is none.
const MemoryLine* shown_line(const AppState& state);
// Where its peak lies.
Place peak_place(const AppState& state, const MemoryLine& line);
// Index of its highest point.
std::size_t peak_of(const MemoryLine& line);
// The drawn line in a sentence: where it starts, its peak, where it ends.
std::string line_text(const AppState& state);

// Of the chart of collectives: what the shown size rests on, with its sign; how far measurements are off; the curve in a sentence.
std::string basis_text(const Language& words, const CollectiveChart& chart);
std::string errors_text(const Language& words, const CollectiveChart& chart);
std::string curve_text(const AppState& state);
// "Ranks placed otherwise: …": what the best mapping gains.
std::string mapping_text(const Language& words, const PlacementAnswer& mapping);
// How far a GPU keeps its speed on more of them.
std::string scaling_text(const Language& words, const Scaling& scaling);
std::string signed_percent(double fraction);  // "+0.7 %", "−8.4 %"

// "A100 SXM4 80 GB = 85.2 GB".
std::string capacity_text(const AppState& state);

// What the card must have for so much allocated: with the fragmentation and the runtime that `need_bytes` counts.
Bytes needed(const AppState& state, Bytes allocated);

// Every number of the estimate that a table shows: all that can be explained but the ends of bands. And those that are words:
// the place of the peak, the drawn line, what the step waits for, the curve of a collective with its measurements.
struct Row {
  std::string group, path, label, text, unit;
  std::string_view claim;
  double value = 0;
  bool is_words = false;
};
std::vector<Row> result_rows(const AppState& state);

}  // namespace wireplan
