// Node, network and cluster (cluster document; node and network presets).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/gpu.hpp"
#include "core/describe/model.hpp"
#include "core/describe/profile.hpp"
#include "core/describe/wiring.hpp"

namespace wireplan {

enum class Fabric : unsigned char { infiniband, roce, efa, ethernet, omnipath, slingshot, tcpx, tcpxo };
template <>
inline constexpr std::array<std::string_view, 8> kNames<Fabric> = {"infiniband", "roce",      "efa",  "ethernet",
                                                                   "omnipath",   "slingshot", "tcpx", "tcpxo"};

struct Network {
  Fabric fabric = Fabric::infiniband;
  int nics_per_node = 1;
  BytesPerSecond nic_rate{};
  Seconds latency{};
  bool rail_optimized = false;
  double oversubscription = 1;
  bool gpudirect = true;
  std::string shorthand{};  // "infiniband-8x400", or "" when given as an object
  friend bool operator==(const Network&, const Network&) = default;
};

struct Cpu {
  std::string arch, vendor, nccl_class;  // nccl_class: bdw skl srp erp amd arm p9
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

struct Node {
  std::string id, name;  // id "" when given as an object
  Gpu gpu;
  int gpus = 1;
  Wiring wiring;
  int p2p = -1;            // 1 yes, 0 no, -1 null: as the GPU and the wiring allow
  std::string p2p_matrix;  // "01/10": a row per GPU, "" when not given
  int sockets = 1, numa_nodes = 1;
  Cpu cpu;
  Bytes host_memory;         // 0: not known
  double power_limit_w = 0;  // 0: the GPU's own
  std::string launch = "process-per-gpu";
  std::string usual_network;  // short-hand of the network such nodes come with, "" when not known
  std::string source, verified, note;
  std::vector<Assumption> assumed;
  friend bool operator==(const Node&, const Node&) = default;
};

struct Cluster {
  int nodes = 1;
  Node node;
  std::optional<Network> network;
  int gpus_per_node = 0;  // GPUs used of each node; filled in by reading (default all)
  std::vector<int> gpus;  // which ones, in the order in which GPU indices count them (as CUDA_VISIBLE_DEVICES); empty: null, the first ones
  int rack_nodes = 0;     // hosts per NVLink domain, 0: null
  std::optional<Profile> profile;  // the user's own measurements of this cluster
  std::vector<Assumption> assumed;
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

inline Count total_gpus(const Cluster& c) { return static_cast<Count>(c.nodes) * c.gpus_per_node; }

// The GPU of a node that its i-th used one is, 0 <= i < gpus_per_node.
inline int used_gpu(const Cluster& c, int i) {
  const std::size_t at = static_cast<std::size_t>(i);
  return at < c.gpus.size() ? c.gpus[at] : i;
}
bool uses_gpu(const Cluster& c, int gpu);
// The used ones in order; the first `count` of them.
std::vector<int> used_gpus(const Cluster& c, int count);
inline std::vector<int> used_gpus(const Cluster& c) { return used_gpus(c, c.gpus_per_node); }

// What is wrong with one part on its own.
Errors validate(const Gpu& gpu, const std::string& prefix);
Errors validate(const Node& node, const std::string& prefix);
Errors validate(const Network& network, const std::string& prefix);

// Range and consistency errors of a cluster; paths start with `prefix` ("cluster").
// Limits: 1 to 100,000 nodes, 1 to 1,024 GPUs a node, rates positive and below 1e14 bytes/s.
Errors validate(const Cluster& cluster, const std::string& prefix);

}  // namespace wireplan
