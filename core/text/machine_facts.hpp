// What a machine says of itself: gathered where the program runs (native/detect), judged by detected_cluster(). Nothing here is worked
// out. "", 0 and -1 stand for what is not said; text is as the machine has it and may hold anything.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.hpp"

namespace wireplan {

// --- from sysfs ------------------------------------------------------------------------------------------------------------------------

struct PciFacts {
  std::string address{};  // "0000:07:00.0"
  std::string above{};    // the bridge it hangs below, "" on a root complex
  std::string kind{}, vendor{}, device{}, subsystem_vendor{}, subsystem_device{};  // "0x030200", "0x10de", ...
  std::string max_speed{}, speed{};  // the most, and now: "16.0 GT/s PCIe"
  int max_width = 0, width = 0;  // lanes it can have, lanes it has now
  int numa = -1;
  std::string cpus{};     // those near to it, "0-31,64-95"
  std::string name{};     // of a GPU, from the list of PCI ids or its driver
  double memory_bytes = 0;  // where its driver puts it into sysfs (amdgpu)
  std::string iommu{};    // what its group does with addresses: "DMA", "DMA-FQ", "identity"
  int acs = -1;           // control bits of Access Control Services; -1: not readable, or none
};

struct NumaFacts {
  int number = 0;
  std::string cpus{};  // "0-31,64-95"
  int package = -1;    // the socket of its first CPU, as numbered by the machine
};

struct NetFacts {
  std::string name{};     // "mlx5_0", "eno1"
  std::string address{};  // its PCI device
  bool is_rdma = false;   // a port of /sys/class/infiniband, else an interface of /sys/class/net
  std::string layer{}, driver{};  // "InfiniBand" or "Ethernet"; "mlx5_core"
  int port = 0;
  BytesPerSecond rate{};
  bool is_up = false;
};

// --- from the driver's library ----------------------------------------------------------------------------------------------------------

struct NvlinkFacts {
  enum class End : unsigned char { gpu, cpu, nvswitch, unknown };
  int link = 0;
  bool is_up = false, carries_peers = true;
  int generation = 0;
  End end = End::unknown;
  std::string remote{};  // address
};

struct DriverGpuFacts {
  int index = 0;
  std::string address{}, name{};
  std::string fault{};    // why nothing more is known of it
  std::vector<std::string> unanswered{};  // "power limit: Insufficient Permissions"
  double memory_bytes = 0, power_limit_w = 0;
  int sm = 0;             // compute capability times ten
  int generation = 0, lanes = 0, lanes_now = 0;  // PCIe: the most it can have here, and lanes now
  bool says_nvlinks = false;
  std::vector<NvlinkFacts> nvlinks{};
  int c2c_links = 0;
  bool is_sliced = false;  // MIG
  bool is_share = false;   // a vGPU
};

enum class PeerAnswer : unsigned char { unknown, yes, no };

struct MachineFacts {
  std::string where = "/sys";     // the tree that was read, for sentences
  bool is_elsewhere = false;      // not the machine's own /sys
  std::vector<PciFacts> pci;      // GPUs, NICs, NVSwitches and the bridges above them
  std::vector<NumaFacts> numa;
  std::vector<NetFacts> nets;
  std::vector<std::array<std::string, 2>> xgmi;  // addresses of two GPUs, once for each direction
  bool lists_xgmi = false;        // amdkfd was there to ask
  bool has_peermem = false;       // a module that lets NICs at GPU memory (nvidia_peermem)
  std::string cpu_arch, cpu_vendor, cpu_family, cpu_model;  // "x86_64", "GenuineIntel", "6", "143"
  double memory_bytes = 0;        // of the host

  std::string library_fault;      // why NVML did not answer, "" where it did
  std::string driver_version;
  std::vector<DriverGpuFacts> gpus;
  std::vector<PeerAnswer> peers;  // row by row, of `gpus`

  std::vector<std::string> faults;  // sentences: what could not be read
};

}  // namespace wireplan
