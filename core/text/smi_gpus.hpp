// What other outputs of nvidia-smi say of each GPU: `--query-gpu=... --format=csv`, `-L`, and the usual table.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wireplan {

struct SmiGpu {
  std::string name;          // "NVIDIA A100-SXM4-80GB", "" where it is not said; "..." at the end where the table cut it
  double memory_mib = 0;     // 0: not said
  int generation = 0, lanes = 0;  // of its PCIe link, the most that GPU and board can do; 0: not said
  int lanes_now = 0;
};

// By index of the GPU; what is said first counts.
std::map<int, SmiGpu> read_smi_gpus(const std::vector<std::string_view>& lines);

// True where a GPU is cut into slices (MIG).
bool mentions_mig(const std::vector<std::string_view>& lines);

}  // namespace wireplan
