// Names that a user chose (components of a graph, GPUs) made fit to print: on a terminal, in Markdown, in XML.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wireplan {

// Control characters, bidirectional overrides and what is not UTF-8 become '?', backticks apostrophes; cut at `most` characters.
std::string plain_text(std::string_view text, std::size_t most);

// The same with the five characters escaped that mean something in XML.
std::string xml_text(std::string_view text, std::size_t most);

// The same with the characters escaped that mean something in Markdown and in the HTML it may hold.
std::string markdown_text(std::string_view text, std::size_t most);

}  // namespace wireplan
