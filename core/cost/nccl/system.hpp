// The graph NCCL searches: the communicator's GPUs of the hosts one rank sees, all their NICs, and what joins them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cost/nccl/decision.hpp"

namespace wireplan::nccl {

enum class VertexKind : unsigned char { gpu, pci, nvs, cpu, nic, net };
struct Edge {
  EdgeKind kind = EdgeKind::pci;
  GBps rate = 0;  // the search takes from it and gives back
  int from = 0, to = 0;
};

struct Vertex {
  VertexKind kind = VertexKind::cpu;
  int host = 0;
  std::vector<int> edges{};  // indices in System::edges, the order NCCL walks them in: by rate, PCIe upwards last
  const Machine::Part* part = nullptr;  // GPU, switch
  int part_index = -1;                  // of it in Machine::parts
  const Machine::Net* net = nullptr;
  CpuClass cpu = CpuClass::unknown;
  std::uint64_t device = 0;  // switch
  int gpu = -1, rank = -1;   // index in the host, rank of the communicator
};

struct Path {
  PathType type = PathType::dis;
  GBps rate = 0;
  std::vector<int> edges{};
  bool is_charged = false;  // PHB, past an Intel CPU, from a GPU (rule 4)
};

struct System {
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
  std::vector<int> gpus, nets, cpus, switches;  // vertices, in NCCL's order
  int nvswitch = -1;
  int hosts = 1;
  bool crosses = false;                         // channels lead over NICs to other nodes
  std::vector<std::vector<Path>> paths;         // [to][from], where `to` is a GPU, CPU, NIC port or the NVSwitch
  GBps most = 0, total = 0;

  Vertex& vertex(int v) { return vertices[static_cast<std::size_t>(v)]; }
  const Vertex& vertex(int v) const { return vertices[static_cast<std::size_t>(v)]; }
  Edge& edge(int e) { return edges[static_cast<std::size_t>(e)]; }
  const Edge& edge(int e) const { return edges[static_cast<std::size_t>(e)]; }
  Path& path(int from, int to) { return paths[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)]; }
  const Path& path(int from, int to) const { return paths[static_cast<std::size_t>(to)][static_cast<std::size_t>(from)]; }
  int least_compute_capability() const;
  int most_compute_capability() const;
};

// Planning rate of one NVLink.
GBps nvlink_rate(const Release& release, int compute_capability);

// Hosts [first, first + count), each with the request's GPUs; ranks count from first · gpus per host.
System system_of(const Machine& machine, const Request& request, const Release& release, int first, int count);

// Paths between everything that matters, then without what P2P, GPUDirect and PXN rule out (rules 1 to 3, 6).
void find_paths(System& system, const Request& request);
// Only the GPUs that `rank` reaches without the network stay (rule 3).
void keep_reachable(System& system, int rank);
void remove_nets(System& system);
// Search bounds (rule 8).
void set_bounds(System& system);

// The NUMA node nearest to a GPU.
int local_cpu(const System& system, int gpu);
bool may_use_p2p(const System& system, const Request& request, int from, int to);
Transport transport_of(const System& system, const Request& request, int from, int to);
bool may_use_gpudirect(const System& system, const Request& request, int gpu, int net, bool read);
// The NICs NCCL gives a GPU: channel c takes the one at c modulo their number. The GPU it gives a NIC, -1: none. Rule 12.
std::vector<int> local_nets(const System& system, int gpu);
int local_gpu(const System& system, int net);
// The NICs (GPUs) that `of` reaches at the highest rate and, of these, by the nearest path.
std::vector<int> nearest(const System& system, int of, const std::vector<int>& among, PathType* type = nullptr);

}  // namespace wireplan::nccl
