// Any bytes as the header or index of stored weights: read, or refused with errors.
#include "tests/fuzz/hf_config.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return wireplan::testing::fuzz(wireplan::testing::hf_weights_fault, data, size); }
