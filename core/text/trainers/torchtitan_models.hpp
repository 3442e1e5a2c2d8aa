// The models that torchtitan names in its configurations, and the presets they are.
#pragma once

#include <string_view>

#include "core/base/units.hpp"
#include "core/describe/model.hpp"

namespace wireplan {

struct TorchtitanModel {
  std::string_view name, flavor, preset;
  Count layers;
};

// source: torchtitan/models/*/__init__.py of v0.2, compared with the presets by torchtitan_test.cpp
inline constexpr TorchtitanModel kTorchtitanModels[] = {
    {"llama3", "8B", "llama-3.1-8b", 32},           {"llama3", "70B", "llama-3.1-70b", 80},
    {"llama3", "405B", "llama-3.1-405b", 126},      {"llama3", "8B", "llama-3-8b", 32},
    {"llama3", "70B", "llama-3-70b", 80},           {"llama4", "17bx16e", "llama-4-scout", 48},
    {"llama4", "17bx128e", "llama-4-maverick", 48}, {"deepseek_v3", "16B", "deepseek-v2-lite", 27},
    {"deepseek_v3", "671B", "deepseek-v3", 61},     {"qwen3", "0.6B", "qwen3-0.6b", 28},
    {"qwen3", "1.7B", "qwen3-1.7b", 28},            {"qwen3", "4B", "qwen3-4b", 36},
    {"qwen3", "8B", "qwen3-8b", 36},                {"qwen3", "14B", "qwen3-14b", 40},
    {"qwen3", "32B", "qwen3-32b", 64},              {"qwen3", "30B-A3B", "qwen3-30b-a3b", 48},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b", 94},
};

}  // namespace wireplan
