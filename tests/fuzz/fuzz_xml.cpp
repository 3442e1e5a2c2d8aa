#include "tests/fuzz/xml.hpp"

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return wireplan::testing::fuzz(wireplan::testing::xml_fault, data, size); }
