// From a stated node to its graph, routes on it, and what a ring of GPUs loads.
//
// Notation: n ranks of a group, N nodes it spans, g = n/N of them on a node, S nccl-tests size of a call, V bytes a rank passes on
// (bus factor · S), B bus bandwidth: the rate at which every rank of the group passes on V at the same time.
//
// Rates of links are as the user stated them, else as measured on such machines, else NCCL's planning rates;
// data-sheet rates stand beside them as `nominal`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/count/groups.hpp"
#include "core/count/messages.hpp"
#include "core/describe/cluster.hpp"

namespace wireplan {

namespace nccl { class GroupPlans; }

// What was measured of one operation on one kind of machine, beside the formula.
struct MeasuredTable {
  struct Point { double log2_size, residual; };  // residual: ln(measured / formula)
  int class_row = -1, fabric_row = -1;           // of the formula
  bool by_tree = false;                          // between nodes
  Collective collective = Collective::all_reduce;
  int ranks = 2, nodes = 1;
  double log2_ranks = 1, log2_nodes = 0;
  std::string machine, source;  // machine: id of the node
  std::vector<int> gpus;        // of a profile, sorted; empty: not stated
  std::vector<Point> points;    // sizes ascending
};

// Constants the wiring is judged with (assets/measurements/links.json): data with source and date, read by core/text.
struct LinkConstants {
  static constexpr int kAny = -1;
  // One class of links: what is expected of it by its physics, or as fitted on [published-nccl-tests].
  struct Class {
    std::string name;              // "nvswitch", "mesh", "xgmi", "bridge", "pcie-switch", "pcie-host", "host-memory", "network"
    int generation = kAny;         // of NVLink or PCIe; kAny: what is expected of every generation that has no row of its own
    int points = 0;                // it was fitted on, 0: none
    double launch_cycles = 0;      // L0: time of an empty collective, in cycles of the GPU's boost clock
    Seconds hop;                   // h: per ring step
    double efficiency = 1;         // reached share of the planning rate
    double one_way = 1;            // how much faster where traffic runs in one direction only, from one GPU to another
    BytesPerSecond channel;        // what one channel carries, where NCCL may take too few of them; 0: never the limit
    BytesPerSecond low_latency_channel;  // the same by the LL protocol
    BytesPerSecond copy;           // C: rate at which a rank copies its own block; 0: not counted
    Seconds fill, fill_per_step;   // a0, a1: what filling the pipeline of the bandwidth protocol costs, F = a0 + a1·steps; 0: not counted
    double low_latency_share = 1;  // rho: share of B that the low-latency protocol of small messages reaches
    double all_to_all_efficiency = 1;
    Seconds all_to_all_fill;
    double all_to_all_low_latency_share = 1;
    double nvls_efficiency = 0;    // all-reduce in the switch, in bus bandwidth over the planning rate; 0: the switch cannot
    Seconds nvls_fill;             // of it, on eight GPUs, once V is well past nvls_fill_bytes
  };
  std::vector<Class> classes;
  // NCCL planning rates per link and direction, and data-sheet rates [nccl-topo]: index = generation (NVLink 1..5, PCIe 1..6 at x16).
  std::vector<BytesPerSecond> nvlink_per_link, nvlink_per_link_nominal, pcie_x16, pcie_x16_nominal;
  BytesPerSecond nvlink_ga10x_per_link;  // the slower NVLink 3 of GA102 cards (14 GB/s nominal)
  Seconds launch_per_gpu;                // one process that launches on several GPUs: for every GPU past the second
  double staged_of_pcie = 1;             // without GPUDirect: what a GPU passes to NICs by host memory, of its PCIe link's rate
  double plain_order_hop = 1;              // a ring step where NCCL found no ring, against one of the low-latency protocol
  double ll128_share = 1, ll128_fill = 1;  // the LL128 protocol's share of B, and of what filling the bandwidth protocol costs
  Bytes nvls_fill_bytes;                 // V at which half of nvls_fill is spent
  std::shared_ptr<const nccl::Release> nccl;  // whose decisions groups of NVIDIA GPUs follow; none: nothing decides
  double xgmi_of_nominal = 0.75;         // planned share of an AMD GPU's link
  BytesPerSecond c2c, c2c_nominal;       // Grace to its GPU
  struct Socket {
    std::string nccl_class;
    BytesPerSecond rate, measured{};  // NCCL's planning rate; what copies between GPUs reach, 0: not known
    int measured_from = 0;            // on machines of this PCIe generation and later
  };
  std::vector<Socket> sockets;           // between CPU sockets, by class of CPU
  struct FabricRate {                    // the last row that matches counts
    Fabric fabric = Fabric::infiniband;
    bool gpudirect = true;
    BytesPerSecond node_from, nic_from;  // holds from this sum of a node's NICs, and this rate of one, on
    double efficiency = 0.8;             // reached share of the NICs' rate
    Seconds latency;                     // l: taken (1.6 + log2 N) times
    Seconds fill;                        // An: as F above, for the network
    BytesPerSecond most;                 // of a node, however many NICs it has; 0: no such limit
    Bytes fill_bytes;                    // vn: V at which half of it is spent
    int points = 0;                      // it was fitted on, 0: none
  };
  std::vector<FabricRate> fabrics;
  std::vector<FabricRate> expected_fabrics;  // the same rows before any fit
  // How far off a time may be, by what it rests on, as ln(measured/predicted). The last row that matches counts.
  struct Band {
    std::string basis;  // "profile", "measured", "interpolated", "fitted" (formula), "unknown" (formula of a row that no sweep was fitted on)
    bool several_nodes = false;
    Bytes from;         // size
    double low = 0, high = 0;
  };
  std::vector<Band> bands;
  std::vector<MeasuredTable> tables;
  std::string source;
};

// The graph of a node. Short-hands expand; a graph is taken as it is, its unstated rates filled in from the constants.
// Component order: GPUs by index, cpu0.. (one per socket), then the PCIe groups in turn (switchN, its NICs nicN), the NVSwitch last.
// A link's first end is the one farther from the CPU. `nics` overrides the node's own count (-1: as the node says); they are then
// spread over its PCIe groups. Never fails for a node that validate() accepted.
WiringGraph wiring_graph(const Node& node, const LinkConstants& constants, int nics = -1);

// Whether GPUs i and j of a node may reach each other's memory over PCIe: the node's matrix, its flag, then what the GPU can do
// (consumer cards cannot). Over NVLink peer access is always there.  [nccl-paths]; NCCL's own P2P level is not applied.
bool peers_over_pcie(const Node& node, int i, int j);

// The nearest way two GPUs reach each other, from best to worst. host_memory: no peer access, copies through a buffer in host memory.
enum class PathKind : unsigned char { self, nvlink, nvswitch, pcie_switch, host_bridge, sockets, host_memory, none };

// A node and network made ready for many estimates: graph and all routes between GPUs.
struct PreparedCluster {
  const Cluster* cluster = nullptr;
  const LinkConstants* constants = nullptr;
  WiringGraph graph;
  std::shared_ptr<const WiringGraph> lasting;  // the same, for answers that are kept longer
  struct Step { int link; bool forward; };  // forward: from links[link].a to .b
  struct Route {
    PathKind kind = PathKind::none;
    std::uint32_t first = 0, count = 0;  // into `steps`
    BytesPerSecond rate;                 // planning rate of the slowest link
  };
  std::vector<Route> routes;             // gpus × gpus, row by row
  std::vector<Step> steps;
  int gpus = 0;                          // those of the node up to the last that is used: bounds what route() takes
  const std::string& machine() const { return cluster->node.id; }
  CollectiveSwitches switches;
  std::vector<MeasuredTable> own_tables; // of the cluster's profile
  std::shared_ptr<nccl::GroupPlans> plans;  // what NCCL decides for its groups, kept from one question to the next
  bool switched = false;                 // every pair of used ones meets in the NVSwitch alone: any subset is as good as any other
  const Route& route(int from, int to) const {
    return routes[static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus) + static_cast<std::size_t>(to)];
  }
};
// Keeps pointers to the first two. `plans`: made before, for the same cluster and switches; none: made anew.
PreparedCluster prepare(const Cluster& cluster, const LinkConstants& constants, const CollectiveSwitches& switches = {}, std::shared_ptr<nccl::GroupPlans> plans = {});

// Load of one direction of one link while a collective runs: what it carries is flows × bus bandwidth.
struct LinkLoad {
  int link = 0;
  bool forward = true;   // a -> b
  double flows = 0;      // ring edges that cross it in that direction; fractions where several rings share the traffic
};

// How the rings of a group kind lie on the graph.
struct RingOnWiring {
  BytesPerSecond bus_bandwidth;   // what each rank can pass around: min over links of efficiency · rate / flows
  std::string_view link_class;    // names the row of LinkConstants that bounds it: "network" or the class of the slowest path inside the node
  int bottleneck_link = -1;       // index into graph.links, -1: none, or not a single one
  int bottleneck_component = -1;  // what binds where it is no link alone: a GPU all of whose direct links are in use
  std::string bottleneck;         // for people: "xGMI cpu0–cpu1", "PCIe 4 ×16 gpu0–switch0", "8 × 400 Gbit/s InfiniBand"
  BytesPerSecond bottleneck_rate;     // planning rate of that link, one direction, or as stated
  BytesPerSecond bottleneck_nominal;  // its data-sheet rate, 0 when not known
  std::vector<LinkLoad> loads;    // every link the groups use (node 0)
  std::vector<int> order;         // GPU indices on node 0 in the order the ring of the first group visits them
  bool uses_host_memory = false;  // copies go through a buffer in host memory: no peer access, or NCCL does not use it so far apart
  std::shared_ptr<const nccl::Decision> plan;  // what NCCL decides for the first group, without rings and trees; none: not known
  bool is_plain_order = false;    // NCCL's search found no ring: rank order, and Simple instead of the LL protocols

  // What collective_formula() needs besides.
  BytesPerSecond pair_bandwidth;        // of send_recv between neighbouring ranks, all groups at once
  BytesPerSecond all_to_all_bandwidth;  // V of all_to_all over its time, inside the node
  BytesPerSecond node_bandwidth;        // what the ring could pass around inside the node (NVLink domain) alone
  int pair_link = -1, all_to_all_link = -1;          // what binds those inside the node, -1: nothing there, or as the ring
  double pair_flows = 1, all_to_all_flows = 1;       // that share it
  BytesPerSecond network_bandwidth;     // a group's share of the NICs of a node (of an NVLink domain), 0 on one node
  int per_node = 1;                     // ranks in an NVLink domain or node
  int nodes = 1;                        // NVLink domains or nodes
  int class_row = -1;                   // into LinkConstants::classes: the part inside the node
  int fabric_row = -1;                  // into LinkConstants::fabrics, -1: no network
};

// The rings over groups of `shape`, all groups of the kind at once. ranks < 2: bus_bandwidth 0 and no loads.
//   B = min over links of efficiency · rate / flows;  several nodes: min(B, NICs · rate · efficiency · share / groups)
// Rings are searched like NCCL does ([nccl-search]: widest, then nearest), each half of the traffic runs round in each direction, and
// rings over direct NVLinks use all parallel links at once. Kind: estimate; how far off
// a time may be: LinkConstants::bands.
// Past a host bridge copies go through host memory, unless the group has two GPUs of an AMD host on the node ([nccl-paths], P2P level);
// there B <= NCCL's channels · what one carries. The order of GPUs is this search's own, without NCCL's discrete speeds.
// Test: tests/core/cost/wiring_ring_test.cpp.
RingOnWiring ring_on_wiring(const PreparedCluster& cluster, const GroupShape& shape);
// The same by the wiring alone, where many groups are compared: without `plan` and what hangs on it.
RingOnWiring unplanned_ring(const PreparedCluster& cluster, const GroupShape& shape);

// The bandwidth of `ring` that holds for a collective.
BytesPerSecond bandwidth_of(const RingOnWiring& ring, Collective collective);

// What binds a collective on `ring`: the ring's own bottleneck, or for send_recv and all_to_all that of their traffic.
struct Bottleneck {
  std::string name;              // for people, as RingOnWiring::bottleneck
  int link = -1;                 // into graph.links; -1: not a single one
  BytesPerSecond rate, nominal;  // as RingOnWiring::bottleneck_rate and bottleneck_nominal
  double flows = 1;              // that share it; on the network 1
  bool is_network = false;
};
Bottleneck bottleneck_of(const WiringGraph& graph, const Cluster& cluster, const RingOnWiring& ring, Collective collective);

}  // namespace wireplan
