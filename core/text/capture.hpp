// Text copied from a terminal, a log or a web page: what terminals and pages add is taken off, lines fall into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wireplan {

// Without escape sequences and byte order marks; a carriage return alone ends a line, no-break spaces and control characters become
// blanks.
std::string plain_capture(std::string_view text);

// True for what no terminal prints: a zero byte, or more than one control character in ten.
bool is_binary(std::string_view text);

std::vector<std::string_view> lines_of(std::string_view text);
std::vector<std::string_view> split_cells(std::string_view line);  // between blanks; also '|', which Markdown puts around cells
std::string_view trimmed(std::string_view text);
std::string lower(std::string_view text);
bool contains(std::string_view text, std::string_view word);
bool has_word(std::string_view text, std::string_view word);  // on its own, not as a part of a longer one

// A whole number of at most nine digits and nothing else; with a leading 0x as hexadecimal.
std::optional<int> small_number(std::string_view text);

// What may be shown of a name a stranger chose: printable ASCII, at most `most` characters.
std::string shown_name(std::string_view text, std::size_t most = 64);

}  // namespace wireplan
