#!/bin/sh
# Every fuzz target for some seconds. Needs clang 19 with libFuzzer.
set -eu
target='extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }'
echo "$target" | clang++-19 -x c++ -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null || exit 77
cmake --workflow --preset fuzz
