// The wiring of one node: how it is stated, and the graph it stands for.
//
// Every short-hand (nvswitch, nvlink-mesh, nvlink-pairs, pcie-switch, pcie-host) expands to the same kind of graph that a
// user can write out himself; everything that costs or draws works on the graph alone.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/names.hpp"
#include "core/base/units.hpp"
#include "core/describe/gpu.hpp"

namespace wireplan {

enum class WiringKind : unsigned char { nvswitch, nvlink_mesh, nvlink_pairs, pcie_switch, pcie_host, graph };
template <>
inline constexpr std::array<std::string_view, 6> kNames<WiringKind> = {"nvswitch",    "nvlink-mesh", "nvlink-pairs",
                                                                       "pcie-switch", "pcie-host",   "graph"};

enum class ComponentKind : unsigned char { gpu, nvswitch, pcie_switch, root, cpu, nic, nvme };
template <>
inline constexpr std::array<std::string_view, 7> kNames<ComponentKind> = {"gpu", "nvswitch", "pcie-switch", "root",
                                                                          "cpu", "nic",      "nvme"};

enum class LinkKind : unsigned char { nvlink, pcie, socket, c2c, xgmi, eth, ib };
template <>
inline constexpr std::array<std::string_view, 7> kNames<LinkKind> = {"nvlink", "pcie", "socket", "c2c",
                                                                     "xgmi",   "eth",  "ib"};

struct Component {
  std::string id;  // "gpu0", "cpu1", "switch0", "nic0", "nvswitch"
  ComponentKind kind = ComponentKind::gpu;
  int numa = -1;
  std::string model{};
  BytesPerSecond nic_rate{};  // NICs only
  bool gpudirect = true;      // NICs only
  friend bool operator==(const Component&, const Component&) = default;
};

struct Link {
  int a = 0, b = 0;  // indices of components
  LinkKind kind = LinkKind::pcie;
  int generation = 0, width = 0;  // lanes of PCIe, link count of NVLink and xGMI; 0: not stated
  BytesPerSecond nominal{};       // per direction, data sheet; 0: not known
  BytesPerSecond rate{};      // per direction, what the model calculates with: stated, else measured on such machines, else planned
  BytesPerSecond planning{};  // per direction, what NCCL's search reckons with
  bool stated = false;        // the user gave bytes_per_s
  bool measured = false;      // `rate` was measured on such machines, and is what a flow reaches
  Seconds latency{};
  // What a reader is told: NCCL's planning rate, or what the user stated.
  BytesPerSecond planned() const { return stated || planning.value <= 0 ? rate : planning; }
  friend bool operator==(const Link&, const Link&) = default;
};

struct WiringGraph {
  std::vector<Component> components;  // GPUs first, in order of their index
  std::vector<Link> links;            // each carries both directions
  friend bool operator==(const WiringGraph&, const WiringGraph&) = default;
};

struct PcieGroup {  // GPUs that share a PCIe switch, or each have a root port of their own
  int socket = 0, numa = 0;
  std::vector<int> gpus{};
  int nics = 0;
  bool has_switch = true;
  friend bool operator==(const PcieGroup&, const PcieGroup&) = default;
};

struct Wiring {  // as stated in the node document
  WiringKind kind = WiringKind::pcie_host;
  std::vector<PcieGroup> groups;            // empty: GPUs split evenly over the sockets, in order
  std::vector<std::array<int, 3>> mesh;     // nvlink-mesh: GPU, GPU, links
  std::vector<std::array<int, 2>> pairs;    // nvlink-pairs
  int links_per_pair = 0;                   // nvlink-pairs; 0: all the GPU has
  int pcie_generation = 0, pcie_lanes = 0;  // 0: the GPU's own
  WiringGraph graph;                        // kind graph only
  friend bool operator==(const Wiring&, const Wiring&) = default;
};

// What is wrong with the wiring of a node of `gpus` GPUs and `sockets` CPU sockets. Paths start with `prefix` ("cluster.node.wiring").
// An accepted graph joins all GPUs, and every link has a rate or says enough to look one up.
Errors validate(const Wiring& wiring, int gpus, int sockets, const std::string& prefix);

}  // namespace wireplan
