#include "core/cost/nccl/machine_of_cluster.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "core/base/format.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan::nccl {
namespace {

constexpr int kMostGpus = 128;  // of a host
constexpr int kC2cLink = 44'712;                 // MB/s of one of the links between Grace and its GPU, as NVML tells NCCL

std::size_t at(int i) { return static_cast<std::size_t>(i); }

CpuClass class_of_cpu(const wireplan::Cpu& cpu) {
  if (const auto named = value_named<CpuClass>(cpu.nccl_class)) return *named;
  return cpu.arch == "arm64" ? CpuClass::arm : cpu.arch == "ppc64" ? CpuClass::p9 : cpu.vendor == "amd" ? CpuClass::amd : CpuClass::unknown;
}

// Hosts of the node: one, or the two-socket trays of a rack that wiring_graph() draws as one node.
int trays_of(const wireplan::Node& node, int sockets) { return node.wiring.kind == WiringKind::nvswitch && sockets > 8 ? sockets / 2 : 1; }

class Making {
 public:
  Making(const Cluster& cluster, const std::optional<Network>& usual, const LinkConstants& constants)
      : cluster_(cluster), node_(cluster.node), network_(cluster.network ? cluster.network : usual),
        graph_(wiring_graph(cluster.node, constants, cluster.network ? cluster.network->nics_per_node : -1)) {}

  Result<ClusterMachine> make() {
    if (const auto error = gpu_error()) return *error;
    find_places();
    if (const auto error = choose_hosts()) return *error;
    number_nics();
    if (const auto error = size_error()) return *error;
    add_parts();
    add_nvlinks();
    add_missing_nics();
    allow_p2p();
    return std::move(made_);
  }

 private:
  struct Place { int cpu = -1, above = -1, link = -1; };  // components: the CPU, what it hangs on (itself a CPU: -1); the link upwards

  const Component& component(int i) const { return graph_.components[at(i)]; }
  const Link& link(int i) const { return graph_.links[at(i)]; }
  bool is(int i, ComponentKind kind) const { return component(i).kind == kind; }
  Machine& machine() { return made_.machine; }
  Request& request() { return made_.request; }
  void assume(std::string path, std::string value, std::string why) { made_.assumed.push_back({std::move(path), std::move(value), std::move(why)}); }

  std::optional<Error> gpu_error() const {
    if (compute_capability(node_.gpu) > 0) return std::nullopt;
    const std::string name = node_.gpu.name.empty() ? "the GPU" : node_.gpu.name;
    const bool is_amd = node_.gpu.is_xgmi || node_.gpu.architecture.starts_with("CDNA") || node_.gpu.architecture.starts_with("RDNA");
    return Error{"cluster.node.gpu.architecture", '"' + node_.gpu.architecture.substr(0, 78) + '"', "an architecture of NVIDIA, Pascal to Blackwell",
                 is_amd ? "NCCL runs on NVIDIA GPUs; " + name + " runs RCCL, whose decisions are not worked out. Nearest: a node with NVIDIA GPUs"
                        : "the architecture of " + name + " says no compute capability that NCCL could go by. Nearest: \"Hopper\""};
  }

  // Outwards from the CPUs, over PCIe and C2C: what is nearer to a CPU carries what is farther.
  void find_places() {
    places_.resize(graph_.components.size());
    below_.resize(graph_.components.size());
    std::vector<std::vector<int>> links(graph_.components.size());
    for (std::size_t l = 0; l < graph_.links.size(); ++l)
      if (graph_.links[l].kind == LinkKind::pcie || graph_.links[l].kind == LinkKind::c2c) {
        links[at(graph_.links[l].a)].push_back(static_cast<int>(l));
        links[at(graph_.links[l].b)].push_back(static_cast<int>(l));
      }
    std::vector<int> reached;
    for (int c = 0; c < static_cast<int>(graph_.components.size()); ++c)
      if (is(c, ComponentKind::cpu)) {
        places_[at(c)].cpu = c;
        reached.push_back(c);
      }
    // A PCIe link counts before C2C between the same two, and a root complex is part of its CPU.
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const int from = reached[next];
      if (!is(from, ComponentKind::cpu) && !is(from, ComponentKind::root) && !is(from, ComponentKind::pcie_switch)) continue;
      for (const LinkKind kind : {LinkKind::pcie, LinkKind::c2c})
        for (const int l : links[at(from)]) {
          const int to = link(l).a == from ? link(l).b : link(l).a;
          if (link(l).kind != kind || places_[at(to)].cpu >= 0) continue;
          places_[at(to)] = {places_[at(from)].cpu, from, l};
          reached.push_back(to);
        }
    }
    for (std::size_t l = 0; l < graph_.links.size(); ++l)
      for (const int c : {graph_.links[l].a, graph_.links[l].b})
        if (places_[at(c)].link == static_cast<int>(l)) below_[at(places_[at(c)].above)].push_back(c);
  }

  int tray_of(int c) const { return trays_ == 1 || places_[at(c)].cpu < 0 ? 0 : std::min(socket_[at(places_[at(c)].cpu)] / 2, trays_ - 1); }

  std::optional<Error> choose_hosts() {
    const int count = static_cast<int>(graph_.components.size());
    int sockets = 0;
    socket_.resize(at(count), -1);
    for (int c = 0; c < count; ++c)
      if (is(c, ComponentKind::cpu)) socket_[at(c)] = sockets++;
    trays_ = trays_of(node_, sockets);

    std::vector<std::vector<int>> gpus(at(trays_)), ranks;  // of each tray; of those used in turn, as indices in it
    for (int c = 0; c < count; ++c)
      if (is(c, ComponentKind::gpu)) gpus[at(tray_of(c))].push_back(c);
    const std::vector<int> used = used_gpus(cluster_, cluster_.gpus_per_node > 0 ? cluster_.gpus_per_node : node_.gpus);  // 0: not filled in, all
    const int first = tray_of(used.front());
    for (int tray = -1; const int gpu : used) {
      if (tray != tray_of(gpu)) ranks.emplace_back();
      tray = tray_of(gpu);
      ranks.back().push_back(static_cast<int>(std::find(gpus[at(tray)].begin(), gpus[at(tray)].end(), gpu) - gpus[at(tray)].begin()));
    }
    const int hosts = static_cast<int>(ranks.size());
    if (hosts > trays_ || std::any_of(ranks.begin(), ranks.end(), [&](const std::vector<int>& r) { return r != ranks.front(); }))
      return Error{"cluster.gpus_per_node", format_exact(cluster_.gpus_per_node), "the same GPUs of every tray",
                   node_.name + " is " + format_exact(trays_) + " hosts to NCCL, and the GPUs used are not the same on each of them. Nearest: gpus_per_node " +
                       format_exact(static_cast<double>(gpus.front().size()))};
    request().gpus = ranks.front();
    request().hosts = cluster_.nodes * hosts;
    request().rack_hosts = trays_ > 1 ? hosts * std::max(1, cluster_.rack_nodes) : cluster_.rack_nodes;
    request().gpudirect = !network_ || network_->gpudirect;
    gpus_ = gpus[at(first)];
    for (int c = 0; c < count; ++c)
      if (is(c, ComponentKind::cpu) && tray_of(c) == first) cpus_.push_back(c);
    part_of_.resize(at(count), -1);
    return std::nullopt;
  }

  // A graph names its NICs in their order. In a short-hand they count as the GPUs beside them do, for both are numbered by bus.
  void number_nics() {
    int all = 0;
    bool all_beside = node_.wiring.kind != WiringKind::graph;
    std::vector<int> beside(graph_.components.size(), -1);
    for (int c = 0; c < static_cast<int>(graph_.components.size()); ++c) {
      if (!is(c, ComponentKind::nic)) continue;
      ++all;
      has_own_rates_ = has_own_rates_ || component(c).nic_rate.value > 0;
      if (std::find(cpus_.begin(), cpus_.end(), places_[at(c)].cpu) == cpus_.end()) continue;
      nics_.push_back(c);
      if (!all_beside || nics_.size() > static_cast<std::size_t>(kMostNics)) continue;
      for (const int other : below_[at(places_[at(c)].above)])
        if (is(other, ComponentKind::gpu) && (beside[at(c)] < 0 || other < beside[at(c)])) beside[at(c)] = other;
      all_beside = all_beside && beside[at(c)] >= 0;
    }
    if (cluster_.network && all == cluster_.network->nics_per_node) has_own_rates_ = false;
    for (const int c : nics_)
      if (!network_ && component(c).nic_rate.value <= 0) {
        assume("cluster.network", "null",
               "no rate of the NICs is stated: " + format_exact(slot_rate(c).value * 8 / 1e9) + " Gbit/s, as cards for such a slot have. It matters where NICs beat the link between the sockets");
        break;
      }
    if (all_beside) std::stable_sort(nics_.begin(), nics_.end(), [&](int a, int b) { return beside[at(a)] < beside[at(b)]; });
  }

  void add_parts() {
    for (const NumaNode& node : numa_nodes()) add_numa_node(node);
    // A graph of NVLinks alone: NCCL has a CPU all the same.
    for (const int gpu : gpus_)
      if (part_of_[at(gpu)] < 0) {
        if (machine().cpus.empty()) machine().cpus.push_back({0, class_of_cpu(node_.cpu)});
        add_part(gpu, 0, -1);
      }
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const int part = part_of_[at(gpus_[i])];
      machine().parts[at(part)].dev = static_cast<int>(i);
      machine().gpus.push_back(part);
    }
  }

  // To NCCL a NUMA node is a CPU: one for each that the parts of a socket name. Groups of a short-hand are in the order of the machine,
  // whatever socket they are on.
  struct NumaNode { int socket, numa; std::vector<int> parts{}; };
  std::vector<NumaNode> numa_nodes() const {
    std::vector<NumaNode> nodes;
    for (const int cpu : cpus_)
      for (std::vector<int> todo(below_[at(cpu)].rbegin(), below_[at(cpu)].rend()); !todo.empty();) {
        const int c = todo.back();
        todo.pop_back();
        if (is(c, ComponentKind::root)) {
          todo.insert(todo.end(), below_[at(c)].rbegin(), below_[at(c)].rend());
          continue;
        }
        const int numa = component(c).numa >= 0 ? component(c).numa : component(cpu).numa;
        auto node = std::find_if(nodes.begin(), nodes.end(), [&](const NumaNode& n) { return n.socket == cpu && n.numa == numa; });
        if (node == nodes.end()) node = nodes.insert(node, {cpu, numa});
        node->parts.push_back(c);
      }
    if (node_.wiring.kind != WiringKind::graph)
      std::stable_sort(nodes.begin(), nodes.end(), [&](const NumaNode& a, const NumaNode& b) { return places_[at(a.parts.front())].link < places_[at(b.parts.front())].link; });
    return nodes;
  }

  void add_numa_node(const NumaNode& node) {
    const int index = static_cast<int>(machine().cpus.size());
    machine().cpus.push_back({std::max(0, node.numa), class_of_cpu(node_.cpu)});
    struct Todo { int component, above; };
    std::vector<Todo> todo;
    const auto push = [&](const std::vector<int>& list, int above) {
      for (auto c = list.rbegin(); c != list.rend(); ++c) todo.push_back({*c, above});
    };
    push(node.parts, -1);
    while (!todo.empty()) {
      const Todo now = todo.back();
      todo.pop_back();
      const int part = add_part(now.component, index, now.above);
      if (part >= 0 && is(now.component, ComponentKind::pcie_switch)) push(below_[at(now.component)], part);
    }
  }

  int add_part(int c, int cpu, int above) {
    if (!is(c, ComponentKind::gpu) && !is(c, ComponentKind::nic) && !is(c, ComponentKind::pcie_switch)) return -1;
    const int index = static_cast<int>(machine().parts.size());
    part_of_[at(c)] = index;
    Machine::Part part;
    part.kind = is(c, ComponentKind::gpu) ? PartKind::gpu : is(c, ComponentKind::nic) ? PartKind::nic : PartKind::pcie_switch;
    part.cpu = cpu;
    part.above = above;
    part.rate = rate_upwards(c);
    if (part.kind == PartKind::gpu) part.compute_capability = compute_capability(node_.gpu);
    machine().parts.push_back(std::move(part));
    if (is(c, ComponentKind::nic)) add_net(c, index);
    return index;
  }

  GBps rate_upwards(int c) const {
    const int lanes = is(c, ComponentKind::gpu) ? (node_.wiring.pcie_lanes > 0 ? node_.wiring.pcie_lanes : node_.gpu.pcie_lanes) : 16;
    const int l = places_[at(c)].link;
    if (l < 0 || link(l).kind != LinkKind::pcie) return pcie_rate(pcie_generation_of(node_), lanes);
    if (link(l).stated && link(l).generation == 0) return static_cast<GBps>(link(l).rate.value / 1e9);
    return pcie_rate(link(l).generation > 0 ? link(l).generation : pcie_generation_of(node_), link(l).width > 0 ? link(l).width : 16);
  }

  // The cluster's network is all NICs of the node, unless the graph draws another number of them and knows them one by one. A card of
  // which nothing is said has the rate that its slot is made for.
  BytesPerSecond rate_of(int nic) const {
    const BytesPerSecond own = component(nic).nic_rate, network = network_ ? network_->nic_rate : BytesPerSecond{};
    if (cluster_.network && !has_own_rates_) return network;
    return own.value > 0 ? own : network.value > 0 ? network : slot_rate(nic);
  }
  BytesPerSecond slot_rate(int nic) const { return BytesPerSecond(rate_upwards(nic) / 24.0 * 25e9); }

  void add_net(int c, int part) {
    const int dev = static_cast<int>(std::find(nics_.begin(), nics_.end(), c) - nics_.begin());
    put_net(part, dev, rate_of(c), component(c).gpudirect);
  }

  void put_net(int part, int dev, BytesPerSecond rate, bool gpudirect) {
    Machine::Net net;
    net.nic = part;
    net.dev = dev;
    net.asic = static_cast<std::uint64_t>(dev);
    net.port = 1;
    const double mbit = std::clamp(rate.value * 8 / 1e6, 1.0, 1e8);
    net.rate = static_cast<GBps>(static_cast<int>(mbit + 0.5) / 8000.0);
    net.gpudirect = gpudirect && (!network_ || network_->gpudirect);
    machine().nets.push_back(net);
  }

  void add_nvlinks() {
    for (int l = 0; l < static_cast<int>(graph_.links.size()); ++l) {
      const Link& k = link(l);
      if (k.kind != LinkKind::nvlink && k.kind != LinkKind::c2c) continue;
      for (const auto& [from, to] : {std::pair{k.a, k.b}, std::pair{k.b, k.a}}) {
        const int part = part_of_[at(from)];
        if (part < 0 || !is(from, ComponentKind::gpu)) continue;
        if (k.kind == LinkKind::c2c) {
          if (is(to, ComponentKind::cpu)) machine().parts[at(part)].c2c = c2c_rate(k);
          continue;
        }
        Machine::NvLink nvlink;
        nvlink.count = k.width > 0 ? k.width : std::max(1, node_.gpu.nvlink_links);
        nvlink.to = is(to, ComponentKind::cpu) ? Machine::NvLink::To::cpu : is(to, ComponentKind::gpu) ? Machine::NvLink::To::gpu : Machine::NvLink::To::nvswitch;
        if (nvlink.to == Machine::NvLink::To::gpu && (nvlink.gpu = part_of_[at(to)]) < 0) continue;
        machine().parts[at(part)].nvlinks.push_back(nvlink);
      }
    }
    // As NVML lists them: by the GPU they lead to.
    for (Machine::Part& part : machine().parts)
      std::stable_sort(part.nvlinks.begin(), part.nvlinks.end(), [&](const Machine::NvLink& a, const Machine::NvLink& b) {
        return dev_of(a) < dev_of(b);
      });
    if (node_.gpu.form == "superchip" && node_.wiring.kind != WiringKind::graph)
      for (const int gpu : machine().gpus) machine().parts[at(gpu)].c2c = c2c_rate({});
    for (const Link& k : graph_.links) {
      const int a = part_of_[at(k.a)], b = part_of_[at(k.b)];
      if (k.kind != LinkKind::pcie || a < 0 || b < 0 || !is(k.a, ComponentKind::pcie_switch) || !is(k.b, ComponentKind::pcie_switch)) continue;
      if (places_[at(k.a)].above == k.b || places_[at(k.b)].above == k.a) continue;
      machine().parts[at(a)].peers.push_back(b);
      machine().parts[at(b)].peers.push_back(a);
    }
  }

  int dev_of(const Machine::NvLink& link) const { return link.gpu < 0 ? -1 : made_.machine.parts[at(link.gpu)].dev; }

  // Two Blackwell GPUs share what a Hopper GPU has for itself. Five links: as dumps of GB200 and GB300 show; ten: by the data sheets'
  // 450 GB/s.
  GBps c2c_rate(const Link& link) const {
    if (link.stated) return static_cast<GBps>(link.rate.value / 1e9);
    const int links = link.width > 0 ? link.width : node_.gpu.architecture.starts_with("Blackwell") ? 5 : 10;
    return static_cast<GBps>(kC2cLink * links / 1000.0);
  }

  // A graph in which no NIC hangs on a CPU, of a machine that has a network all the same.
  int missing_nics() const { return cluster_.network && nics_.empty() ? std::max(1, cluster_.network->nics_per_node / trays_) : 0; }
  void add_missing_nics() {
    const int nics = missing_nics();
    if (nics == 0) return;
    const int cpus = static_cast<int>(machine().cpus.size());
    for (int i = 0; i < nics; ++i) {
      Machine::Part part;
      part.kind = PartKind::nic;
      part.cpu = i * cpus / nics;
      part.rate = pcie_rate(pcie_generation_of(node_), 16);
      machine().parts.push_back(part);
      put_net(static_cast<int>(machine().parts.size()) - 1, i, cluster_.network->nic_rate, true);
    }
    assume("cluster.node.wiring.components", format_exact(nics) + " NICs", "the graph draws no NICs on CPUs or switches: those of the network hang on the CPUs, spread evenly");
  }

  std::optional<Error> size_error() const {
    const int gpus = static_cast<int>(gpus_.size());
    const int nics = std::max(static_cast<int>(nics_.size()), missing_nics());
    const auto too_many = [](std::string path, int count, int most, const std::string& what) {
      const std::string limit = format_exact(most);
      return Error{std::move(path), format_exact(count), "at most " + limit + " " + what,
                   "a host of " + format_exact(count) + " " + what + ": NCCL's decision is worked out for " + limit + " at most. Nearest: " + limit};
    };
    if (gpus > kMostGpus) return too_many("cluster.node.gpus", gpus, kMostGpus, "GPUs");
    if (nics > kMostNics) return too_many("cluster.network.nics_per_node", nics, kMostNics, "NICs");
    return std::nullopt;
  }

  // A matrix is the driver's own answer; else peer access over PCIe as the node and the GPU allow it, and over NVLink always.
  void allow_p2p() {
    const std::size_t n = gpus_.size();
    std::vector<std::vector<bool>> p2p(n, std::vector<bool>(n, true));
    bool all = true;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        p2p[i][j] = i == j || peers_over_pcie(node_, gpus_[i], gpus_[j]) || (node_.p2p_matrix.empty() && joined_by_nvlink(i, j));
        all = all && p2p[i][j];
      }
    if (!all) request().p2p = std::move(p2p);
  }

  bool joined_by_nvlink(std::size_t i, std::size_t j) const {
    const Machine& m = made_.machine;
    const auto leads = [&](int from, Machine::NvLink::To to, int gpu) {
      const auto& list = m.parts[at(from)].nvlinks;
      return std::any_of(list.begin(), list.end(), [&](const Machine::NvLink& k) { return k.to == to && k.gpu == gpu; });
    };
    using To = Machine::NvLink::To;
    return leads(m.gpus[i], To::gpu, m.gpus[j]) || (leads(m.gpus[i], To::nvswitch, -1) && leads(m.gpus[j], To::nvswitch, -1));
  }

  const Cluster& cluster_;
  const wireplan::Node& node_;
  std::optional<Network> network_;
  WiringGraph graph_;
  std::vector<Place> places_;            // by component
  std::vector<std::vector<int>> below_;  // by component, in order of links
  std::vector<int> socket_;              // by component: of a CPU, its number
  int trays_ = 1;
  std::vector<int> gpus_, cpus_;         // components of the host
  std::vector<int> part_of_;             // by component, -1: none
  std::vector<int> nics_;                // of the host, by NCCL's number
  bool has_own_rates_ = false;           // and they count beside the network's
  ClusterMachine made_;
};

}  // namespace

int compute_capability(const Gpu& gpu) {
  const auto is = [&](std::string_view name) { return gpu.architecture.starts_with(name); };
  if (gpu.is_xgmi) return 0;
  // GA100's NVLinks run at 25 GB/s; GA10x has slower ones or none. GP100 has HBM.
  if (is("Pascal")) return gpu.hbm > BytesPerSecond(548e9) ? 60 : 61;
  if (is("Volta")) return 70;
  if (is("Turing")) return 75;
  if (is("Ampere")) return gpu.nvlink_links > 0 && gpu.nvlink / gpu.nvlink_links > BytesPerSecond(20e9) ? 80 : 86;
  if (is("Ada")) return 89;
  if (is("Hopper")) return 90;
  if (is("Blackwell Ultra")) return 103;
  if (is("Blackwell")) return gpu.nvlink_links > 0 ? 100 : 120;
  return 0;
}

Result<ClusterMachine> machine_of(const Cluster& cluster, const std::optional<Network>& usual, const LinkConstants& constants) {
  return Making(cluster, usual, constants).make();
}

}  // namespace wireplan::nccl
