// What NVIDIA's driver knows of the machine's GPUs, by its library NVML.
#pragma once

#include "core/text/machine_facts.hpp"

namespace wireplan {

// The variable that names another library in place of libnvidia-ml.so.1.
inline constexpr const char* kNvmlVariable = "WIREPLAN_NVML";

// Loads the library, asks it and lets it go; nothing is changed on the machine. Without library or driver `library_fault` says why. A GPU
// that does not answer has a fault, a question that is refused is listed with its GPU; what a GPU simply does not have is left out.
void ask_driver(MachineFacts& facts);

}  // namespace wireplan
