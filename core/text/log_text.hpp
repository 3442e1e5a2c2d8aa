// What importers of logs share: lines as people paste them, words, numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/capture.hpp"

namespace wireplan {

// The next line of `text`, which it is taken from; nothing at the end. Escape sequences of terminals are left out, control
// characters become blanks. What goes beyond 4,096 characters is cut: no line of interest is longer, but hostile ones are.
std::optional<std::string> next_line(std::string_view& text);

// Parts between blanks, at most 512.
std::vector<std::string_view> words_of(std::string_view line);

// A decimal number, the whole text of it, times 10^shift, as the double nearest to what the digits say (for up to 15 of them).
// Nothing for anything else, for more than 40 characters and for exponents beyond ±99.
std::optional<double> decimal(std::string_view text, int shift = 0);

// Digits alone, below 1e15.
std::optional<long long> whole_number(std::string_view text);

// The whole number that begins at text[at], blanks before it skipped; nothing where there is none.
std::optional<long long> number_at(std::string_view text, std::size_t at);
// The same behind the first `key`.
std::optional<long long> number_behind(std::string_view text, std::string_view key);

// Where in the line NCCL's own message begins ("host:12:13 [0] NCCL INFO …", host included); npos where there is none.
std::size_t message_start(std::string_view line);

}  // namespace wireplan
