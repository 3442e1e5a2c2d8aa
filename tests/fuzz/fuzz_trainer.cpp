#include "tests/fuzz/target.hpp"
#include "tests/fuzz/trainer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return wireplan::testing::fuzz(wireplan::testing::trainer_fault, data, size); }
