#include "core/text/topology_node.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/text/gpu_guess.hpp"
#include "core/text/read_node.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::string text(int n) { return format_exact(n); }
std::string json(std::string_view s) { return dump_json_compact(Json(s)); }

// What the NVLinks of a draft amount to.
struct NvlinkShape {
  bool all_pairs = false, even = false;  // every two GPUs are joined; all by the same count
  int per_pair = 0;                      // that count, or the largest
  int per_gpu = 0;                       // most links of one GPU, switches included
  bool disjoint = true;                  // no GPU in two pairs
};

NvlinkShape shape_of(const TopologyDraft& draft) {
  NvlinkShape s;
  const std::size_t n = draft.gpus.size();
  std::vector<int> sum(n), partners(n);
  s.even = true;
  for (const auto& [a, b, links] : draft.nvlinks) {
    s.even = s.even && (s.per_pair == 0 || s.per_pair == links);
    s.per_pair = std::max(s.per_pair, links);
    for (int gpu : {a, b}) {
      sum[at(gpu)] += links;
      s.disjoint = s.disjoint && ++partners[at(gpu)] == 1;
    }
  }
  s.all_pairs = n > 1 && draft.nvlinks.size() == n * (n - 1) / 2;
  for (std::size_t i = 0; i < n; ++i) s.per_gpu = std::max(s.per_gpu, sum[i] + draft.gpus[i].switch_links);
  return s;
}

class Assembly {
 public:
  Assembly(TopologyDraft draft, const TopologyHints& hints, const Presets& presets) : draft_(std::move(draft)), hints_(hints), presets_(presets), gpus_(static_cast<int>(draft_.gpus.size())) {}

  Result<Cluster> cluster() {
    tie_nics();
    drop_empty_domains();
    shape_ = shape_of(draft_);
    if (Errors errors = choose_gpu(); !errors.empty()) return errors;
    choose_nvlink();
    choose_cpu();
    choose_wiring();
    choose_peers();
    if (Errors errors = choose_network(); !errors.empty()) return errors;
    cluster_.gpus_per_node = node().gpus = gpus_;
    cluster_.assumed.insert(cluster_.assumed.end(), draft_.assumed.begin(), draft_.assumed.end());
    if (Errors errors = validate(cluster_, "cluster"); !errors.empty()) return errors;
    return std::move(cluster_);
  }

 private:
  Node& node() { return cluster_.node; }
  std::string of_capture() const { return draft_.is_matrix ? "nvidia-smi topo -m" : draft_.is_machine ? "the machine" : "the file"; }
  // What else a reader could paste; on the machine itself there is nothing more to paste.
  std::string advice(const char* to_paste, const char* to_state = "") const { return draft_.is_machine ? to_state : to_paste; }
  void assume(std::string path, std::string value, std::string why) { cluster_.assumed.push_back({std::move(path), std::move(value), std::move(why)}); }

  // --- NUMA nodes ----------------------------------------------------------------------------------------------------------------

  // A NIC that is SYS to every GPU hangs on a NUMA node without GPUs: a second one where there is but one, else any serves.
  void tie_nics() {
    std::string names;
    for (const TopologyDraft::Nic& nic : draft_.nics)
      if (nic.is_untied) names += (names.empty() ? "" : ", ") + nic.name;
    if (names.empty()) return;
    int domain = 0;
    if (draft_.domains.size() == 1) {
      domain = 1;
      draft_.domains.push_back({draft_.domains[0].numa == 0 ? 1 : draft_.domains[0].numa > 0 ? 0 : -1});
    }
    for (TopologyDraft::Nic& nic : draft_.nics)
      if (nic.is_untied) nic.domain = domain;
    if (names.size() > 300) names = names.substr(0, 300) + "...";
    assume("node.wiring", json(names), "NICs that are near to no GPU: the capture does not say where they hang. Drawn on the CPU of " + std::string(domain == 0 ? "the first NUMA node" : "a NUMA node without GPUs"));
  }

  void drop_empty_domains() {
    std::vector<int> used(draft_.domains.size(), 0);
    const auto each = [&](auto&& visit) {
      for (auto& s : draft_.switches) visit(s.domain);
      for (auto& g : draft_.gpus) visit(g.domain);
      for (auto& n : draft_.nics) visit(n.domain);
    };
    each([&](int& domain) { used[at(domain)] = 1; });
    std::vector<int> index(used.size(), 0);
    std::vector<TopologyDraft::Domain> kept;
    for (std::size_t i = 0; i < used.size(); ++i) {
      index[i] = static_cast<int>(kept.size());
      if (used[i] != 0) kept.push_back(draft_.domains[i]);
    }
    each([&](int& domain) { domain = index[at(domain)]; });
    draft_.domains = std::move(kept);
    // Numbers where the capture has none; two with one number (NCCL writes -1 for unknown ones) are told apart.
    std::vector<int> numbers;
    for (TopologyDraft::Domain& d : draft_.domains) {
      while (d.numa < 0 || std::find(numbers.begin(), numbers.end(), d.numa) != numbers.end()) ++d.numa;
      numbers.push_back(d.numa);
    }
  }

  int domains() const { return static_cast<int>(draft_.domains.size()); }

  // Place of a NUMA node in the order of their numbers.
  int rank_of(int domain) const {
    int rank = 0;
    for (const TopologyDraft::Domain& d : draft_.domains) rank += d.numa < draft_.domains[at(domain)].numa;
    return rank;
  }
  bool says_sockets() const {
    for (const TopologyDraft::Domain& d : draft_.domains)
      if (d.socket < 0) return false;
    return true;
  }
  int socket_of(int domain) const {
    if (says_sockets()) return draft_.domains[at(domain)].socket;
    return domains() <= 2 ? rank_of(domain) : rank_of(domain) * 2 / domains();
  }

  // --- the GPU -------------------------------------------------------------------------------------------------------------------

  Errors choose_gpu() {
    if (!hints_.gpu.empty()) {
      if (presets_.text("gpus", hints_.gpu).empty()) return {unknown_preset("gpu", "gpus", hints_.gpu, presets_)};
      Result<Gpu> gpu = presets_.gpu(hints_.gpu);
      if (!gpu) return gpu.errors();
      node().gpu = std::move(gpu.value());
      if (shape_.per_gpu > 0 && node().gpu.nvlink.value <= 0)
        return {{"gpu", json(hints_.gpu), "a GPU with NVLink", "the capture shows NVLinks, and " + node().gpu.name + " has none. Nearest: " + std::string(gpu_with(signs()))}};
      return {};
    }
    if (choose_by_name()) return {};
    const std::string id(gpu_with(signs()));
    Result<Gpu> gpu = presets_.gpu(id);
    if (!gpu) return gpu.errors();
    node().gpu = std::move(gpu.value());
    const bool any_sign = shape_.per_gpu > 0 || draft_.gpus.front().sm > 0;
    std::string sign = draft_.gpus.front().sm > 0 ? "compute capability " + format_fixed(draft_.gpus.front().sm / 10.0, 1) : "";
    if (shape_.per_gpu > 0) sign += (sign.empty() ? "" : " and ") + (draft_.is_matrix ? "NV" + text(shape_.per_pair) : text(shape_.per_gpu) + " NVLinks");
    assume("node.gpu", json(id),
           unnamed_ + (any_sign ? sign + " fits the " + node().gpu.name : "nothing in it tells: the " + node().gpu.name + " stands in") +
               ". State it by --gpu ID" + advice(", or paste the output of nvidia-smi -L with it"));
    return {};
  }

  GpuSigns signs() const {
    GpuSigns s;
    s.sm = draft_.gpus.front().sm;
    s.gpus = gpus_;
    s.has_c2c = draft_.gpus.front().has_c2c;
    s.says_nvlink = draft_.says_nvlink;
    for (const TopologyDraft::Gpu& g : draft_.gpus) {
      s.has_nvswitch = s.has_nvswitch || g.switch_links > 0;
      s.generation = std::max(s.generation, g.slot.generation);
    }
    s.has_nvswitch = s.has_nvswitch || looks_switched(0);
    s.links = draft_.is_matrix && s.has_nvswitch ? shape_.per_pair : shape_.per_gpu;
    s.is_pair = !s.has_nvswitch && shape_.disjoint;
    return s;
  }

  // nvidia-smi shows NVSwitches only in that every pair has all the links of a GPU. `links`: of one GPU, 0 where that is not known.
  bool looks_switched(int links) const {
    if (!draft_.is_matrix || !shape_.all_pairs || !shape_.even) return false;
    constexpr int kMostLinks = 18;
    if (gpus_ == 2) return links > 0 ? node().gpu.form == "SXM" && shape_.per_pair == links : shape_.per_pair >= kMostLinks;
    if (links > 0) return shape_.per_pair * (gpus_ - 1) > links;
    return shape_.per_pair * (gpus_ - 1) > kMostLinks || shape_.per_pair == 8 || shape_.per_pair == 12;
  }
  const Node& node() const { return cluster_.node; }

  // True where the names decide.
  bool choose_by_name() {
    struct Kind { std::string name; double memory; int count; };
    std::vector<Kind> kinds;
    for (const TopologyDraft::Gpu& g : draft_.gpus) {
      if (g.name.empty()) continue;
      const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == g.name && k.memory == g.memory_mib; });
      if (same != kinds.end()) ++same->count;
      else if (kinds.size() < 8) kinds.push_back({g.name, g.memory_mib, 1});
    }
    unnamed_ = of_capture() + " does not name the GPU; ";
    std::string chosen, unknown;
    std::vector<std::string> ids;
    for (const Kind& k : kinds) {
      const std::string id = gpu_named(k.name, k.memory, presets_);
      if (id.empty()) unknown += (unknown.empty() ? "" : ", ") + k.name;
      else if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    if (ids.empty()) {
      if (!unknown.empty()) unnamed_ = "there is no preset for \"" + unknown + "\"; ";
      return false;
    }
    Gpu least;
    for (const std::string& id : ids) {
      Result<Gpu> gpu = presets_.gpu(id);
      if (gpu && (least.id.empty() || gpu.value().memory < least.memory)) least = std::move(gpu.value());
    }
    if (shape_.per_gpu > 0 && least.nvlink.value <= 0) {
      unnamed_ = "the capture shows NVLinks, which the " + least.name + " does not have; ";
      return false;
    }
    node().gpu = std::move(least);
    if (ids.size() > 1 || !unknown.empty()) {
      std::string listed;
      for (const Kind& k : kinds) listed += (listed.empty() ? "" : ", ") + text(k.count) + " x " + k.name;
      assume("node.gpu", json(node().gpu.id), "the GPUs are of different kinds (" + listed + "), and a node has one: the one with the least memory stands for all");
    }
    return true;
  }

  // --- NVLink --------------------------------------------------------------------------------------------------------------------

  void choose_nvlink() {
    const Gpu& gpu = node().gpu;
    for (const TopologyDraft::Gpu& g : draft_.gpus) nvswitch_links_ = std::max(nvswitch_links_, g.switch_links);
    if (looks_switched(gpu.nvlink_links)) {
      nvswitch_links_ = shape_.per_pair;
      draft_.nvlinks.clear();
    }
    if (draft_.says_nvlink || shape_.per_gpu > 0 || gpu.nvlink_links == 0 || gpus_ < 2) return;
    // A vendor's file without <gpu>: NCCL would ask the driver for the NVLinks.
    if (gpu.form != "SXM" && gpu.form != "superchip") return;
    const std::string unsaid = draft_.is_machine ? "no driver tells of NVLinks" : "the file leaves NVLinks to the driver";
    const bool may_be_switched = gpu.nvlink_generation >= 3 && gpus_ != 4;
    if (may_be_switched || gpu.form == "superchip") {
      nvswitch_links_ = gpu.nvlink_links;
      assume("node.wiring.kind", json("nvswitch"), unsaid + ": " + text(gpus_) + " " + gpu.name + " usually sit on NVSwitches");
    } else if (gpu.nvlink_generation >= 3) {
      for (int a = 0; a < gpus_; ++a)
        for (int b = a + 1; b < gpus_; ++b) draft_.nvlinks.push_back({a, b, gpu.nvlink_links / (gpus_ - 1)});
      assume("node.wiring.kind", json("nvlink-mesh"), "the file leaves NVLinks to the driver: four " + gpu.name + " on one board are usually joined directly, each to each");
    } else {
      assume("node.wiring.kind", json("pcie-host"), unsaid + ", and boards of " + gpu.name + " differ: none is drawn" + advice(". Paste nvidia-smi topo -m instead, or NCCL's own dump (NCCL_TOPO_DUMP_FILE)"));
    }
    shape_ = shape_of(draft_);
  }

  bool all_over_nvlink() const {
    if (nvswitch_links_ == 0) return shape_of(draft_).all_pairs;
    return draft_.is_matrix || std::all_of(draft_.gpus.begin(), draft_.gpus.end(), [](const TopologyDraft::Gpu& g) { return g.switch_links > 0; }) || !draft_.says_nvlink;
  }

  // --- CPU -----------------------------------------------------------------------------------------------------------------------

  void choose_cpu() {
    node().cpu = draft_.cpu;
    int sockets = std::min(2, domains());
    const bool is_said = says_sockets();
    if (is_said)
      for (int d = sockets = 0; d < domains(); ++d) sockets = std::max(sockets, socket_of(d) + 1);
    node().sockets = sockets;
    node().numa_nodes = domains();
    for (const TopologyDraft::Domain& d : draft_.domains) node().numa_nodes = std::max(node().numa_nodes, d.numa + 1);
    if (!is_said && domains() > 2)
      assume("node.sockets", "2", of_capture() + " has " + text(domains()) + " NUMA nodes and does not say which share a socket: taken as two sockets, the lower half of the numbers on the first");
    else if (!is_said && domains() == 2 && !has_assumed("node.sockets"))
      assume("node.sockets", "2", of_capture() + " has two NUMA nodes: taken as two sockets, though one CPU can be split in two");
    if (!node().cpu.nccl_class.empty()) return;
    const std::string& made = node().gpu.architecture;
    const int cores = draft_.cores_per_domain * std::max(1, domains() / sockets);
    Cpu& cpu = node().cpu;
    std::string why = of_capture() + " does not name the CPU; ";
    const bool is_amd = cpu.vendor != "intel" && (domains() > 2 || cores >= 64);
    if (node().gpu.form == "superchip") {
      cpu = {"arm64", "", "arm"};
      why += "the " + node().gpu.name + " sits beside an ARM CPU";
    } else if (is_amd) {
      cpu = {"x86_64", "amd", "amd"};
      why += domains() > 2 ? "more than two NUMA nodes are an AMD habit" : "sockets of " + text(cores) + " cores are AMD's as a rule";
    } else {
      const bool is_old = made == "Pascal" || made == "Volta" || made == "Turing" || made == "Ampere" || made == "Ada";
      cpu = {"x86_64", "intel", is_old ? "skl" : made == "Hopper" ? "srp" : "erp"};
      why += "an Intel CPU of the years of the " + made + " GPUs is taken";
    }
    assume("node.cpu", dump_json_compact(Json{{"vendor", cpu.vendor.empty() ? Json(nullptr) : Json(cpu.vendor)}, {"nccl_class", cpu.nccl_class}}),
           why + ". It decides how fast two sockets talk; change node.cpu in the document");
  }

  bool has_assumed(std::string_view path) const {
    return std::any_of(draft_.assumed.begin(), draft_.assumed.end(), [&](const Assumption& a) { return a.path == path; });
  }

  // --- wiring --------------------------------------------------------------------------------------------------------------------

  // The slot of every GPU; generation 0 where they differ.
  TopologyDraft::Slot common_slot() const {
    const Gpu& gpu = node().gpu;
    const auto filled = [&](TopologyDraft::Slot s) { return TopologyDraft::Slot{s.generation > 0 ? s.generation : gpu.pcie_generation, s.lanes > 0 ? s.lanes : gpu.pcie_lanes}; };
    const TopologyDraft::Slot first = filled(draft_.gpus.front().slot);
    for (const TopologyDraft::Gpu& g : draft_.gpus)
      if (!(filled(g.slot) == first)) return {};
    return first;
  }

  bool fits_groups(const TopologyDraft::Slot& slot) const {
    if (slot.generation == 0 || !draft_.switch_peers.empty()) return false;
    if (domains() > 2 && !all_over_nvlink()) return false;
    const auto is_usual = [&](const TopologyDraft::Place& p) {
      return (p.slot.generation == 0 || p.slot.generation == slot.generation) && (p.slot.lanes == 0 || p.slot.lanes == 16);
    };
    for (const TopologyDraft::Switch& s : draft_.switches)
      if (s.above >= 0 || !is_usual(s)) return false;
    for (const TopologyDraft::Nic& n : draft_.nics)
      if (!is_usual(n) || !(n.rate == draft_.nics.front().rate) || n.gpudirect != draft_.nics.front().gpudirect) return false;
    const bool is_superchip = node().gpu.form == "superchip";
    for (const TopologyDraft::Gpu& g : draft_.gpus) {
      if (draft_.says_nvlink && !draft_.is_matrix && g.has_c2c != (is_superchip && g.above < 0)) return false;
      if (nvswitch_links_ > 0 && g.switch_links > 0 && g.switch_links != nvswitch_links_) return false;
    }
    if (nvswitch_links_ > 0) return nvswitch_links_ == node().gpu.nvlink_links && draft_.nvlinks.empty() && all_over_nvlink();
    return true;
  }

  void choose_wiring() {
    note_pcie();
    const TopologyDraft::Slot slot = common_slot();
    Wiring& w = node().wiring;
    if (!fits_groups(slot)) {
      w.kind = WiringKind::graph;
      w.graph = graph_of(draft_, node().gpu, nvswitch_links_);
      return;
    }
    add_groups();
    if (slot.generation != node().gpu.pcie_generation) w.pcie_generation = slot.generation;
    if (slot.lanes != node().gpu.pcie_lanes) w.pcie_lanes = slot.lanes;
    const NvlinkShape shape = shape_of(draft_);
    if (nvswitch_links_ > 0) {
      w.kind = WiringKind::nvswitch;
    } else if (draft_.nvlinks.empty()) {
      w.kind = draft_.switches.empty() ? WiringKind::pcie_host : WiringKind::pcie_switch;
    } else if (shape.disjoint && shape.even) {
      w.kind = WiringKind::nvlink_pairs;
      w.links_per_pair = shape.per_pair;
      for (const auto& [a, b, links] : draft_.nvlinks) w.pairs.push_back({a, b});
    } else {
      w.kind = WiringKind::nvlink_mesh;
      w.mesh = draft_.nvlinks;
    }
  }

  // A group for each switch, and one for what hangs on a CPU itself; in the order of their GPUs, those without GPUs last. A file's order
  // of NUMA nodes stays, for NCCL goes by it.
  void add_groups() {
    const std::size_t switches = draft_.switches.size();
    std::vector<PcieGroup> groups(switches + draft_.domains.size());
    const auto group_of = [&](const TopologyDraft::Place& p) -> PcieGroup& { return groups[p.above >= 0 ? at(p.above) : switches + at(p.domain)]; };
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const int domain = i < switches ? draft_.switches[i].domain : static_cast<int>(i - switches);
      groups[i].socket = socket_of(domain);
      groups[i].numa = draft_.domains[at(domain)].numa;
      groups[i].has_switch = i < switches;
    }
    for (int gpu = 0; gpu < gpus_; ++gpu) group_of(draft_.gpus[at(gpu)]).gpus.push_back(gpu);
    for (const TopologyDraft::Nic& nic : draft_.nics) ++group_of(nic).nics;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      if (const PcieGroup& g = group_of(draft_.gpus[at(gpu)]); g.gpus.front() == gpu) node().wiring.groups.push_back(g);
    const auto place = [&](const PcieGroup& g) { return std::find_if(draft_.domains.begin(), draft_.domains.end(), [&](const TopologyDraft::Domain& d) { return d.numa == g.numa; }); };
    if (!draft_.is_matrix)
      std::stable_sort(node().wiring.groups.begin(), node().wiring.groups.end(), [&](const PcieGroup& a, const PcieGroup& b) { return place(a) < place(b); });
    for (const PcieGroup& g : groups)
      if (g.gpus.empty() && g.nics > 0) node().wiring.groups.push_back(g);
  }

  void note_pcie() {
    const Gpu& gpu = node().gpu;
    const bool says_generation = std::all_of(draft_.gpus.begin(), draft_.gpus.end(), [](const TopologyDraft::Gpu& g) { return g.slot.generation > 0; });
    const bool says_lanes = std::all_of(draft_.gpus.begin(), draft_.gpus.end(), [](const TopologyDraft::Gpu& g) { return g.slot.lanes > 0; });
    if (!says_generation || !says_lanes)
      assume("node.wiring.pcie", "{\"generation\":" + text(gpu.pcie_generation) + ",\"lanes\":" + text(gpu.pcie_lanes) + "}",
             of_capture() + " does not say " + (says_generation ? "how wide" : says_lanes ? "of which generation" : "of which generation and how wide") +
                 " the PCIe links are: taken as the " + gpu.name + " can" + advice(". Paste nvidia-smi --query-gpu=name,pcie.link.gen.max,pcie.link.width.max --format=csv with it"));
    if (draft_.is_matrix && draft_.hides_pcie)
      assume("node.wiring.groups", "null", "nvidia-smi prints NV# in place of the PCIe path: where no NIC tells that GPUs share a switch, each is drawn on a port of its own. An NCCL dump (NCCL_TOPO_DUMP_FILE) says it");
  }

  // --- peers, network --------------------------------------------------------------------------------------------------------------

  void choose_peers() {
    if (!draft_.p2p_matrix.empty()) {
      const auto yes = std::count(draft_.p2p_matrix.begin(), draft_.p2p_matrix.end(), '1');
      if (yes == 0 && gpus_ > 1) node().p2p = 0;
      else if (yes == static_cast<std::ptrdiff_t>(gpus_) * (gpus_ - 1)) node().p2p = gpus_ > 1 ? 1 : -1;
      else node().p2p_matrix = draft_.p2p_matrix;
      return;
    }
    if (gpus_ < 2 || all_over_nvlink()) return;
    const Gpu& gpu = node().gpu;
    const int usual = gpu.p2p_pcie >= 0 ? gpu.p2p_pcie : gpu.form != "consumer";
    assume("node.p2p", "null", of_capture() + " does not say whether GPUs reach each other's memory over PCIe: taken as usual for the " + gpu.name + ", which is " + (usual == 1 ? "yes" : "no") + advice(". Paste nvidia-smi topo -p2p r with it, or set node.p2p", ". Set node.p2p where it is otherwise"));
  }

  Errors choose_network() {
    const int nics = static_cast<int>(draft_.nics.size());
    if (!hints_.network.empty()) {
      Result<Network> network = parse_network(hints_.network, presets_, "network");
      if (!network) return network.errors();
      cluster_.network = std::move(network.value());
      const int stated = cluster_.network->nics_per_node;
      if (stated != nics)
        assume("network.nics_per_node", text(stated), of_capture() + " shows " + (nics == 0 ? "no NIC" : nics == 1 ? "one NIC" : text(nics) + " NICs") + ", the network you named " + text(stated) +
               " per node: the network's count is taken");
      return {};
    }
    if (nics == 0) return {};
    std::map<double, int> rates;
    for (const TopologyDraft::Nic& nic : draft_.nics)
      if (nic.rate.value > 0) ++rates[nic.rate.value];
    if (rates.empty()) {
      assume("network", "null", of_capture() + " does not say how fast the " + (nics == 1 ? std::string("NIC is") : text(nics) + " NICs are") + ", nor on what fabric. State it by --network, such as infiniband-" + text(nics) + "x200");
      return {};
    }
    double rate = 0;
    for (const auto& [value, count] : rates)
      if (rate == 0 || count >= rates[rate]) rate = value;
    const TopologyDraft::Nic& one = *std::find_if(draft_.nics.begin(), draft_.nics.end(), [&](const TopologyDraft::Nic& n) { return n.rate.value == rate; });
    const Fabric fabric = one.fabric ? *one.fabric : fabric_of(one);
    std::string shorthand = std::string(name_of(fabric)) + "-" + text(nics) + "x" + format_exact(rate * 8 / 1e9);
    Result<Network> network = parse_network(shorthand, presets_, "network");
    if (!network) return {};  // a rate no fabric has: the NICs keep it
    cluster_.network = std::move(network.value());
    if (one.gpudirect >= 0 && cluster_.network->gpudirect != (one.gpudirect == 1)) {
      cluster_.network->gpudirect = one.gpudirect == 1;
      cluster_.network->shorthand.clear();
    }
    if (!one.fabric) assume("network.fabric", json(name_of(fabric)), "the file gives the speed of the NICs, not their fabric: guessed from the name " + json(one.name) + ". State it by --network, such as roce-" + text(nics) + "x" + format_exact(rate * 8 / 1e9));
    if (rates.size() > 1) assume("network.nic_bytes_per_s", format_exact(rate), "the NICs differ in speed: the commonest counts for the network");
    return {};
  }

  static Fabric fabric_of(const TopologyDraft::Nic& nic) {
    const auto begins = [&](std::string_view with) { return nic.name.substr(0, with.size()) == with; };
    if (begins("rdmap") || begins("efa")) return Fabric::efa;
    if (begins("hsn") || begins("cxi")) return Fabric::slingshot;
    if (begins("hfi")) return Fabric::omnipath;
    if (begins("roce") || begins("bnxt") || begins("irdma")) return Fabric::roce;
    if (begins("eth") || begins("en") || begins("bond") || begins("Socket")) return Fabric::ethernet;
    return nic.gpudirect == 0 && !begins("mlx") && !begins("ib") ? Fabric::ethernet : Fabric::infiniband;
  }

  TopologyDraft draft_;
  const TopologyHints& hints_;
  const Presets& presets_;
  int gpus_ = 0;
  NvlinkShape shape_;
  int nvswitch_links_ = 0;  // of each GPU, 0: no NVSwitch
  std::string unnamed_;     // why the name of the GPU did not decide
  Cluster cluster_;
};

}  // namespace

Result<Cluster> cluster_of(TopologyDraft draft, const TopologyHints& hints, const Presets& presets) { return Assembly(std::move(draft), hints, presets).cluster(); }

}  // namespace wireplan
