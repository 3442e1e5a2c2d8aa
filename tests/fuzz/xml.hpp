// What must hold of any text given to the reader of XML, and of what NCCL decides on it.
#pragma once

#include <string>
#include <string_view>

#include "core/text/nccl_machine.hpp"
#include "core/text/presets.hpp"
#include "core/text/xml.hpp"
#include "tests/support/nccl_fault.hpp"

namespace wireplan::testing {

// The same of what NCCL decides on a file: refused with a reason, or decided soundly, on one host and, where there are NICs, on two.
inline std::string nccl_fault(const XmlDocument& document) {
  static const nccl::Release release = Presets().nccl_release("2.28.9").value();
  const Result<NcclMachine> read = nccl_machine_of(document);
  if (!read) return read.errors()[0].text.find("line ") == 0 && read.errors()[0].value.size() <= 80 ? "" : "refused without naming the line";
  const nccl::Machine& machine = read.value().machine;
  nccl::Request request;
  for (std::size_t g = 0; g < machine.gpus.size() && g < 16; ++g) request.gpus.push_back(static_cast<int>(g));
  for (const int hosts : {1, 2}) {
    request.hosts = hosts;
    if (hosts * request.gpus.size() < 2 || (hosts > 1 && machine.nets.empty())) continue;
    if (std::string fault = decision_fault(nccl::decide(machine, request, release), release); !fault.empty()) return fault;
  }
  return "";
}

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
  return nccl_fault(document.value());
}

}  // namespace wireplan::testing
