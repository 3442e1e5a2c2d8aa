// What a capture says of one machine, before it becomes a node: the tree of PCIe, the NVLinks, the names of the parts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/cluster.hpp"

namespace wireplan {

// Beyond what any one host has; a capture with more is none.
inline constexpr int kMostCapturedGpus = 128, kMostCapturedNics = 256;

struct TopologyDraft {
  struct Slot {  // 0: not said
    int generation = 0, lanes = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  struct Domain {
    int numa = -1;    // number of the NUMA node, -1: not said
    int socket = -1;  // the socket it is part of, counted from 0 without gaps; -1: not said
  };
  struct Place {
    int domain = 0;
    int above = -1;  // index of the switch it hangs on, -1: on the CPU itself
    Slot slot{};
  };
  struct Switch : Place {};
  struct Gpu : Place {
    std::string name{};          // as the driver gives it, "" where it is not said
    double memory_mib = 0;       // the same, 0
    int sm = 0;                  // compute capability times ten, 0: not said
    int switch_links = 0;        // NVLinks to NVSwitches
    bool has_c2c = false;
    std::uint64_t bus = 0;       // bus_number() of its bus id, 0: not said
  };
  struct Nic : Place {
    std::string name{};
    BytesPerSecond rate{};       // 0: not said
    int gpudirect = -1;          // 1, 0, -1: not said
    std::optional<Fabric> fabric{};  // where it is said
    bool is_untied = false;      // the capture does not say where it hangs
  };

  std::vector<Domain> domains;
  std::vector<Switch> switches;
  std::vector<Gpu> gpus;                          // in order of their index
  std::vector<Nic> nics;
  std::vector<std::array<int, 3>> nvlinks;        // GPU, GPU, links; each pair once, the lower index first
  std::vector<std::array<int, 2>> switch_peers;   // PCIe switches joined to each other
  bool says_nvlink = false;                       // a file that lists no NVLinks may leave them out, a matrix never does
  bool hides_pcie = false;                        // of pairs with NVLink the capture does not say how they meet on PCIe
  bool is_matrix = false;                         // from nvidia-smi, else from XML
  bool is_machine = false;                        // read on the machine itself, which nobody can paste more of
  Cpu cpu;                                        // empty: not said
  int cores_per_domain = 0;                       // 0: not said
  std::string p2p_matrix;                         // "01/10", "" where it is not said
  std::vector<Assumption> assumed;                // what reading itself had to guess
};

}  // namespace wireplan
