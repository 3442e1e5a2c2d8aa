#!/bin/sh
# Every fuzz target for some seconds. Needs clang 19 with libFuzzer.
set -eu
command -v clang++-19 >/dev/null || exit 77
cmake --workflow --preset fuzz
