// Any bytes as a config.json: read, or refused with errors; what is read is a sound model that reads back the same.
#include "tests/fuzz/hf_config.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return wireplan::testing::fuzz(wireplan::testing::hf_config_fault, data, size); }
