#include "tests/fuzz/megatron.hpp"

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return wireplan::testing::fuzz(wireplan::testing::megatron_fault, data, size); }
