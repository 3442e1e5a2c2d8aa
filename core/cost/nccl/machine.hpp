// One host as NCCL reads it: the tree of NUMA nodes, PCIe switches, GPUs and NICs, with the NVLinks beside it.
//
// NCCL searches in the order in which it meets things, so the order of `parts` is part of the machine: that of the topology
// file (NCCL_TOPO_DUMP_FILE), parents before what hangs on them. Rates are NCCL's planning rates in GB/s and, as there, floats:
// its search adds and takes away such floats, and the same rounding gives the same answer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/names.hpp"

namespace wireplan::nccl {

using GBps = float;  // 1e9 bytes/s

inline constexpr GBps kLocalRate = 5000;  // inside a part, or between parts of one card: never what limits

inline constexpr int kMostNics = 128;  // ports of a host: the search looks at each at every step

// Of a PCIe link, generations 1 to 6; NCCL counts lanes in units of 12.5 MB/s.
inline GBps pcie_rate(int generation, int lanes) {
  constexpr int kLane[] = {15, 30, 60, 120, 240, 480};
  return static_cast<GBps>(lanes * kLane[std::clamp(generation, 1, 6) - 1] / 80.0);
}

enum class CpuClass : unsigned char { unknown, bdw, skl, srp, erp, amd, arm, p9, zhaoxin, yongfeng };
constexpr bool is_intel(CpuClass c) { return c >= CpuClass::bdw && c <= CpuClass::erp; }
constexpr bool is_x86(CpuClass c) { return c != CpuClass::arm && c != CpuClass::p9 && c != CpuClass::unknown; }
enum class PartKind : unsigned char { pcie_switch, gpu, nic };

struct Machine {
  struct Cpu {  // a NUMA node
    int numa = 0;
    CpuClass type = CpuClass::unknown;
  };
  struct NvLink {
    enum class To : unsigned char { gpu, nvswitch, cpu };
    To to = To::nvswitch;
    int gpu = -1;  // index in `parts`, where it leads to a GPU
    int count = 1;
  };
  struct Part {
    PartKind kind = PartKind::pcie_switch;
    int cpu = 0;            // index in `cpus`
    int above = -1;         // index in `parts` of the switch it hangs on; -1: on the CPU itself
    GBps rate = 0;          // of its link upwards
    bool is_speed_known = true;  // false: NCCL's guess, PCIe 3
    // GPUs
    int dev = 0;            // NVML's number
    int compute_capability = 0;  // times ten
    std::vector<NvLink> nvlinks{};
    GBps c2c = 0;           // to its CPU, 0: none
    // PCIe switches
    std::uint64_t device = 0;     // vendor, device, subsystem's vendor and device, sixteen bits each
    std::vector<int> peers{};     // switches it is joined to beside the tree, indices in `parts`
  };
  struct Net {              // one port or device of the network plug-in
    int nic = 0;            // index in `parts`
    int dev = 0;            // the plug-in's number
    std::uint64_t asic = 0; // ports of one card share it
    int port = 0;
    GBps rate = 0;
    float latency_us = 0;
    bool gpudirect = false;
  };
  std::vector<Cpu> cpus;
  std::vector<Part> parts;
  std::vector<Net> nets;    // in order of `parts`
  std::vector<int> gpus;    // indices in `parts`, by dev
};

}  // namespace wireplan::nccl

namespace wireplan {
template <>
inline constexpr std::array<std::string_view, 10> kNames<nccl::CpuClass> = {"", "bdw", "skl", "srp", "erp", "amd", "arm", "p9", "zhaoxin", "yongfeng"};
}  // namespace wireplan
