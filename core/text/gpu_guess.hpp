// Which GPU preset a machine's GPUs are, by the name the driver gives them or by what the wiring shows.
#pragma once

#include <string>
#include <string_view>

#include "core/text/presets.hpp"

namespace wireplan {

// The preset a driver's name means: "NVIDIA A100-SXM4-80GB" -> "a100-80gb-sxm"; "" when none does. A name that ends in "..." was cut.
// `memory_mib` decides between sizes of one model; 0: not known.
std::string gpu_named(std::string_view name, double memory_mib, const Presets& presets);

// What the wiring itself shows of a GPU.
struct GpuSigns {
  int sm = 0;               // compute capability times ten, 0: not known
  int links = 0;            // NVLinks of one GPU, all of them; 0: none
  int gpus = 1;
  bool has_nvswitch = false;
  bool is_pair = false;     // NVLinks join two and two
  bool has_c2c = false;
  int generation = 0;       // of PCIe, 0: not known
  bool says_nvlink = true;  // false: there may be NVLinks that the capture leaves out
};

// The commonest GPU with these signs, always some preset.
std::string_view gpu_with(const GpuSigns& signs);

}  // namespace wireplan
