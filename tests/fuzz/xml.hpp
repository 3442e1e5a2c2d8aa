// What must hold of any text given to the reader of XML.
#pragma once

#include <string>
#include <string_view>

#include "core/text/xml.hpp"

namespace wireplan::testing {

// What is wrong, "" where all holds.
inline std::string xml_fault(std::string_view text) {
  const Result<XmlDocument> document = parse_xml(text);
  if (!document) return document.errors().empty() || document.errors()[0].text.empty() || document.errors()[0].value.size() > 80 ? "refused without saying why" : "";
  const auto& elements = document.value().elements;
  if (elements.empty() || elements.size() > kMaxXmlElements) return "no elements, or too many";
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].name.empty()) return "an element has no name";
    if ((elements[i].parent < 0) != (i == 0) || elements[i].parent >= static_cast<int>(i)) return "parents come first";
    for (const int child : elements[i].children)
      if (elements[static_cast<std::size_t>(child)].parent != static_cast<int>(i)) return "a child has another parent";
  }
  return "";
}

}  // namespace wireplan::testing
