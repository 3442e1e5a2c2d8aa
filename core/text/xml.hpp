// XML in: the small strict part of it that topology files use. No document types, no entities of their own, no namespaces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace wireplan {

// Limits of any document besides those of JSON (4 MB, 64 levels).
inline constexpr std::size_t kMaxXmlElements = 100'000;

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  int parent = -1;
  std::vector<int> children{};  // in order
  int line = 1;                 // where it begins

  bool has(std::string_view attribute) const;
  std::string_view get(std::string_view attribute) const;  // "" where it has none
};

struct XmlDocument {
  std::vector<XmlElement> elements;  // in order of their start; the root comes first
};

// Elements, attributes, comments, an XML declaration, the five named entities and numbered ones; text between elements is passed over.
// Errors (path "", with the line) for everything else: not closed, closed in the wrong order, an attribute given twice, a document
// type or entity declaration, a processing instruction, too long, too deep, too many elements. Never recurses.
Result<XmlDocument> parse_xml(std::string_view text);

}  // namespace wireplan
