// What NCCL decides for a communicator: paths, graphs, rings, trees, and the cost model that picks algorithm and protocol.
//
// The steps, a file each, in NCCL's own order:
//   system   the machine's graph with the communicator's GPUs alone
//   paths    how every GPU reaches the others and the NICs: P2P, host memory, PXN, GPUDirect
//   search   channels: in which order each visits the GPUs, at which planned speed
//   connect  rings and double binary trees across nodes, channels doubled
//   tune     latency and bandwidth of each algorithm and protocol
//   choose   what is taken at a size, on how many channels
// Rule numbers in comments: [nccl-rules] of assets/references.json.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/names.hpp"
#include "core/cost/nccl/machine.hpp"

namespace wireplan::nccl {

// From near to far, in NCCL's order: comparisons of distance rest on it.
enum class PathType : unsigned char { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };
enum class Transport : unsigned char { self, p2p, shm, net };
enum class Pattern : unsigned char { ring, tree, balanced_tree, nvls };
enum class Algorithm : unsigned char { tree, ring, nvls, nvls_tree, pat };  // in the order in which ties are decided
enum class Protocol : unsigned char { ll, ll128, simple };
enum class Operation : unsigned char { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
constexpr bool is_nvls(Algorithm a) { return a == Algorithm::nvls || a == Algorithm::nvls_tree; }
inline constexpr int kAlgorithms = 5, kProtocols = 3, kOperations = 5;
inline constexpr int kMostChannels = 64, kMostNvlsHeads = 32;

// What the user sets by NCCL_* variables. Defaults: NCCL's own.
struct Environment {
  std::optional<PathType> p2p_level;      // NCCL_P2P_LEVEL, NCCL_P2P_DISABLE
  std::optional<PathType> gpudirect_level;  // NCCL_NET_GDR_LEVEL
  int cross_nic = 2;                      // NCCL_CROSS_NIC
  bool net_disable_intra = false;         // NCCL_NET_DISABLE_INTRA
  bool nvb_disable = false;               // NCCL_NVB_DISABLE
  bool nvls_enable = true;                // NCCL_NVLS_ENABLE
  bool pxn_disable = false;               // NCCL_PXN_DISABLE
  int min_channels = 0, max_channels = 64;  // NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS
  std::array<std::array<bool, kAlgorithms>, kOperations> algorithms{};       // NCCL_ALGO: true: not allowed
  std::array<std::array<signed char, kProtocols>, kOperations> protocols{};  // NCCL_PROTO: 0 as NCCL decides, 1 allowed, -1 not
};

// Taken where nobody says which.
inline constexpr std::string_view kDefaultRelease = "2.28.9";

// Constants of one release (assets/nccl/<version>.json).
struct Release {
  using ByNodes = std::array<double, 3>;  // one node, two, more
  using ByProtocol = std::array<double, kProtocols>;
  std::string version, source;
  // Planning rates of links, GB/s.
  struct NvLinkRate { int compute_capability; bool exactly; GBps rate; };
  std::vector<NvLinkRate> nvlink;               // first that matches; not `exactly`: from that compute capability on
  std::array<GBps, 10> between_cpus{};          // by CpuClass
  // Speeds the search tries, from fast to slow: Blackwell, Hopper, older; inside a node, across nodes.
  struct Speeds { int compute_capability; std::vector<GBps> intra, inter; };
  std::vector<Speeds> speeds;
  int nvls_least_gpus = 2;
  std::array<int, 3> nvls_channels{};           // Hopper, Blackwell in one domain, Blackwell in several
  bool nvls_is_pipelined = true;                // an all-reduce reduces and broadcasts at once; not: a flat share of the graph's rate
  bool nvls_tree_is_corrected = false;          // by the tree's correction, on Blackwell with an x86 CPU
  bool nvls_raises_channels = false;            // rings and trees get as many channels as NVLS has
  double p2p_net_rate_per_channel = 0;          // channels per peer over the network follow the NIC's rate; 0: they follow the ranks
  bool keeps_nets = false;                      // NICs stay in the graph of a communicator of one node
  bool plain_order_needs_net = false;           // where no graph is found, a topology without a NIC fails to initialise
  // Cost model. Latencies in µs, rates in GB/s. Generations: Volta and older, Ampere, Hopper, Blackwell.
  std::array<ByProtocol, kAlgorithms> base_latency{};
  std::array<std::array<ByProtocol, kAlgorithms>, 3> hardware_latency{};  // NVLink, PCIe, network
  std::array<ByNodes, 4> ll_most{}, ring_ll128_most{}, tree_ll128_most{}, tree_most{}, nvls_tree_most{};
  std::array<double, 4> nvls_efficiency{};
  // What a protocol or algorithm leaves of the rate the graph was planned for.
  double ring_ll = 0, ring_ll128 = 0, tree = 0, tree_ll = 0, unbalanced_tree = 0, pat = 0;
  std::array<double, 2> tree_ll128{};           // one node, more
  std::array<ByProtocol, 2> ring_hop_least{};   // AMD, other CPUs: µs of a hop inside a node, where rings cross nodes
  std::array<double, 4> ring_long_latency{};    // by generation: factor for Simple across nodes once a call fills its rings
  double pat_network_share = 0, pat_per_rank = 0;  // of a hop over the network; µs
  // How a call is cut up (rule 18).
  ByProtocol threads{}, bytes_per_thread{};
  double slow_ring_threads = 0, slow_ring = 0;  // Simple on rings of that rate or less, GB/s
  double least_traffic = 0;                     // bytes a channel gets at least
  std::array<std::array<double, 24>, kProtocols> tree_correction{};       // from 64 bytes on, each for twice the size
};

struct Request {
  std::vector<int> gpus;     // of each host, by index; ranks follow this order
  int hosts = 1;
  int rack_hosts = 0;        // hosts that share one NVLink domain, 0: each its own
  std::vector<std::vector<bool>> p2p;  // driver's answer by GPU index; empty: all may
  bool gpudirect = true;     // GPUs and driver can
  Environment environment{};
};

struct Graph {
  Pattern pattern = Pattern::ring;
  int channels = 0;
  GBps intra = 0, inter = 0;
  float latency_us = 0;      // of the NIC
  PathType intra_type = PathType::loc, inter_type = PathType::loc;
  int cross_nic = 0;
  bool same_channels = false;
  std::vector<std::vector<int>> order;       // per channel: GPUs of the node (index in Node::gpus)
  std::vector<std::array<int, 2>> nets;      // per channel: dev of the NIC in, out; empty on one node
  bool is_plain_order = false;               // nothing was found, on one of the nodes at least: rule 14
};

// A link counts as the path type of the same distance.
enum class EdgeKind : unsigned char { loc = 0, nvl = 1, c2c = 3, pci = 4, sys = 9, net = 10 };

// The link that channels fill most, on the way between two GPUs or a GPU and a NIC.
struct Limit {
  int from = -1, to = -1;    // index in Node::gpus; -1: the NIC
  int nic = -1;              // its dev; -1: between GPUs
  int part = -1;             // index in Machine::parts of a PCIe link's lower end
  EdgeKind link = EdgeKind::pci;
  GBps rate = 0;             // of the link, one direction; 0: nothing limits
  int uses = 0;              // channels' hops that share it
  double filled = 0;         // share of the rate the plan takes
};

// What NCCL counts as a node: GPUs that reach each other without the network. One host may fall into several.
struct Node {
  std::vector<int> ranks;                    // in the order of NCCL's graph; `gpus` beside it
  std::vector<int> gpus;                     // index of the GPU in its host
  std::vector<int> hosts;
  struct Pair { PathType type = PathType::dis; GBps rate = 0; Transport transport = Transport::net; };
  std::vector<std::vector<Pair>> pairs;      // from, to; with the NICs in the graph, which NCCL takes out again where it needs none
  struct Nic {
    int dev = 0, host = 0;
    GBps rate = 0;
    std::vector<PathType> types{};           // per GPU: from it
    std::vector<GBps> rates{};
    std::vector<bool> gpudirect_read{}, gpudirect_write{};
  };
  std::vector<Nic> nics;
  GBps most = 0, total = 0;                  // search bounds: fastest path of a GPU, and all a GPU has
  int least_compute_capability = 0, most_compute_capability = 0;
  CpuClass cpu = CpuClass::unknown;
  Graph ring, tree, nvls;                    // nvls.channels 0: none
  int p2p_net_channels = 0;                  // to a peer over the network, by the NICs' rate (releases that go by it)
  Limit ring_limit;
  // How documents count its GPUs: by index in the host, or over the hosts of a rack in turn.
  int gpu_number(int position) const;
};

struct Ring { std::vector<int> channels; std::vector<int> order; };    // ranks
struct Tree {
  std::vector<int> channels;
  std::vector<int> parent;                   // by rank, -1: root
  std::vector<std::array<int, 3>> children;  // by rank, in NCCL's order, -1: none
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  double time_us = 0;
  int most_channels = 1, threads = 0, channels = 1;  // allowed, per channel, really scheduled
  bool is_none = false;      // NCCL_ALGO and NCCL_PROTO leave nothing: NCCL stops with an error; the rest says nothing then
};

struct Decision {
  std::string fails;                         // why this release does not initialise; the rest is what it would have come to
  int ranks = 0;
  std::vector<Node> nodes;                   // one for each kind: hosts alike are worked out once
  std::vector<int> node_kind;                // per NCCL node: index in `nodes`
  std::vector<int> node_of_rank;
  int most_ranks_of_node = 0;
  int channels = 0, nvls_channels = 0, p2p_channels = 0, p2p_channels_per_peer = 0;
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  Graph ring, tree, nvls;                    // as all nodes agree on them: what the cost model sees
  struct Cost { double latency_us = 0; double rate = 0; };  // rate in GB/s, 0: not allowed
  std::array<std::array<std::array<Cost, kProtocols>, kAlgorithms>, kOperations> costs{};
  int least_compute_capability = 0, most_compute_capability = 0;
  CpuClass cpu = CpuClass::unknown;
  Cost& cost(Operation o, Algorithm a, Protocol p) { return costs[static_cast<std::size_t>(o)][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)]; }
  const Cost& cost(Operation o, Algorithm a, Protocol p) const { return costs[static_cast<std::size_t>(o)][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)]; }
  int nccl_nodes() const { return static_cast<int>(node_kind.size()); }
  const Node& kind_of(int node) const { return nodes[static_cast<std::size_t>(node_kind[static_cast<std::size_t>(node)])]; }
  std::vector<int> ranks_of(int node) const;  // beside its kind's `gpus`: nodes of a kind differ by their place in the list of ranks alone
};

// Works the decision out. `request.gpus`: indices of Machine::gpus, no twins (the caller has checked). Deterministic; the search gives up
// after the number of steps NCCL gives itself.
Decision decide(const Machine& machine, const Request& request, const Release& release);

// The same without rings and trees, which no choice hangs on: work of one node's search, however many nodes there are.
Decision decide_costs(const Machine& machine, const Request& request, const Release& release);

// What NCCL takes for one call of `size` bytes (as nccl-tests counts them), float32, sum. Decision with two ranks or more.
// `only`: the one algorithm that NCCL_ALGO leaves, where it can do the operation.
Choice choice_at(const Decision& decision, const Release& release, Operation operation, double size, std::optional<Algorithm> only = {});

}  // namespace wireplan::nccl

namespace wireplan {
template <>
inline constexpr std::array<std::string_view, 12> kNames<nccl::PathType> = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
template <>
inline constexpr std::array<std::string_view, 11> kNames<nccl::EdgeKind> = {"local", "nvlink", "", "c2c", "pcie", "", "", "", "", "socket", "nic"};
template <>
inline constexpr std::array<std::string_view, 4> kNames<nccl::Transport> = {"-", "P2P", "SHM", "NET"};
template <>
inline constexpr std::array<std::string_view, 4> kNames<nccl::Pattern> = {"ring", "tree", "balanced-tree", "nvls"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<nccl::Algorithm> = {"tree", "ring", "nvls", "nvls-tree", "pat"};
template <>
inline constexpr std::array<std::string_view, 3> kNames<nccl::Protocol> = {"ll", "ll128", "simple"};
template <>
inline constexpr std::array<std::string_view, 5> kNames<nccl::Operation> = {"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"};
}  // namespace wireplan
