// Releases of NCCL and the machines of tests/data/nccl, read by the product's own readers.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "core/text/nccl_machine.hpp"
#include "core/text/presets.hpp"
#include "tests/support/files.hpp"

namespace wireplan::testing {

inline nccl::Release release(std::string_view version = nccl::kDefaultRelease) {
  const Presets presets;
  Result<nccl::Release> found = presets.nccl_release(version);
  REQUIRE(found);
  return found.value();
}

inline nccl::Machine machine_of(const std::string& file) {
  const Result<XmlDocument> xml = parse_xml(file_text("tests/data/nccl/" + file));
  REQUIRE(xml);
  Result<NcclMachine> machine = nccl_machine_of(xml.value());
  REQUIRE(machine);
  return machine.value().machine;
}

}  // namespace wireplan::testing
