// Small machines with round constants, so that every expected rate can be worked out by hand.
#pragma once

#include <string>
#include <vector>

#include "core/cost/wiring.hpp"

namespace wireplan::testing {

// NCCL's planning rates, every wire reaching them in full: bandwidths of a test are then plain divisions.
inline LinkConstants ideal_links() {
  LinkConstants k;
  auto gb = [](std::vector<double> v) {
    std::vector<BytesPerSecond> rates;
    for (double x : v) rates.push_back(BytesPerSecond(x * 1e9));
    return rates;
  };
  k.nvlink_per_link = gb({0, 18, 20, 20, 20.6, 40.1});
  k.nvlink_per_link_nominal = gb({0, 20, 25, 25, 25, 50});
  k.pcie_x16 = gb({0, 3, 6, 12, 24, 48, 96});
  k.pcie_x16_nominal = gb({0, 4, 8, 15.75, 31.5, 63, 121});
  k.nvlink_ga10x_per_link = BytesPerSecond(12e9);
  k.c2c = BytesPerSecond(337.5e9);
  k.c2c_nominal = BytesPerSecond(450e9);
  k.sockets = {{"bdw", BytesPerSecond(6e9)}, {"skl", BytesPerSecond(10e9)}, {"srp", BytesPerSecond(22e9)}, {"amd", BytesPerSecond(16e9)}};
  for (const char* name : {"nvswitch", "mesh", "xgmi", "bridge", "pcie-switch", "pcie-host", "host-memory", "network"}) {
    LinkConstants::Class c;
    c.name = name;
    c.launch_cycles = 8500;  // 5 µs at the 1.7 GHz of a GPU whose clock is not known
    c.hop = Seconds(1e-6);
    k.classes.push_back(c);
  }
  LinkConstants::FabricRate ib;
  ib.fabric = Fabric::infiniband;
  ib.efficiency = 1;
  ib.latency = Seconds(7e-6);
  ib.fill = Seconds(80e-6);
  ib.fill_bytes = Bytes(5e5);
  k.fabrics = {ib};
  for (bool several : {false, true}) k.bands.push_back({"unknown", several, {}, 0.2, 0.2});
  return k;
}

inline Gpu a100_sxm() {
  Gpu g;
  g.form = "SXM";
  g.nvlink_generation = 3;
  g.nvlink_links = 12;
  g.nvlink = BytesPerSecond(300e9);
  g.pcie_generation = 4;
  g.p2p_pcie = 1;
  return g;
}
inline Gpu a100_pcie() {
  Gpu g = a100_sxm();
  g.form = "PCIe";
  return g;
}

// Two sockets of an AMD Rome server where nothing else is said.
inline Cluster machine(WiringKind kind, int gpus, Gpu gpu, int sockets = 2) {
  Cluster c;
  c.node.gpu = gpu;
  c.node.gpus = c.gpus_per_node = gpus;
  c.node.wiring.kind = kind;
  c.node.sockets = c.node.numa_nodes = sockets;
  c.node.cpu = {"x86_64", "amd", "amd"};
  return c;
}

// The hybrid cube mesh of eight V100 (links per pair as nvidia-smi lists them).
inline Cluster cube_mesh() {
  Gpu v100 = a100_sxm();
  v100.nvlink_generation = 2;
  v100.nvlink_links = 6;
  v100.nvlink = BytesPerSecond(150e9);
  v100.pcie_generation = 3;
  Cluster c = machine(WiringKind::nvlink_mesh, 8, v100);
  c.node.cpu = {"x86_64", "intel", "bdw"};
  c.node.wiring.mesh = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                        {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  for (int g = 0; g < 4; ++g) c.node.wiring.groups.push_back({g / 2, g / 2, {2 * g, 2 * g + 1}, 1, true});
  return c;
}

// Groups that all lie on one node.
inline GroupShape on_one_node(std::vector<std::vector<int>> groups) {
  GroupShape s;
  s.ranks = s.per_node = static_cast<int>(groups.front().size());
  s.local = std::move(groups);
  return s;
}
// Groups of which each has `groups[i]` on every one of `nodes` nodes.
inline GroupShape on_nodes(int nodes, std::vector<std::vector<int>> groups) {
  GroupShape s = on_one_node(std::move(groups));
  s.nodes = nodes;
  s.ranks = s.per_node * nodes;
  return s;
}

inline double gigabytes(BytesPerSecond r) { return r.value / 1e9; }

}  // namespace wireplan::testing
