#include "core/text/detect_topology.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/text/capture.hpp"
#include "core/text/json.hpp"
#include "core/text/pci.hpp"
#include "core/text/topology_xml.hpp"

namespace wireplan {
namespace {

constexpr const char* kSpeeds[] = {"", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
constexpr int kMostLanes = 32;          // PCIe has no wider links; sysfs writes 255 for an unknown width
constexpr std::size_t kMostLevels = 32; // switches above one another; a real tree has three
constexpr int kRedirects = 0x0c;        // of ACS control: P2P Request Redirect, P2P Completion Redirect

std::size_t at(int i) { return static_cast<std::size_t>(i); }
std::string text(int n) { return format_exact(n); }
std::string json(std::string_view s) { return dump_json_compact(Json(s)); }

bool is_gpu(const PciFacts& p) { return p.kind.starts_with("0x03") || p.kind.starts_with("0x12"); }
// A driver for graphics alone stands behind AMD's VGA class: the GPUs of its CPUs, and Radeons.
bool is_amd_accelerator(const PciFacts& p) { return p.vendor == "0x1002" && is_gpu(p) && !p.kind.starts_with("0x0300"); }

struct SeenGpu {
  const PciFacts* pci = nullptr;             // at least one of the two
  const DriverGpuFacts* driver = nullptr;
  std::uint64_t bus = 0;
  int row = -1;                              // of MachineFacts::peers
};

// As Linux writes it; the driver's library has a domain of eight digits.
std::string linux_address(const std::string& address) {
  std::string shown = shown_name(lower(address));
  constexpr std::size_t kUsual = 12;  // 0000:07:00.0
  while (shown.size() > kUsual && shown.front() == '0') shown.erase(0, 1);
  return shown;
}
std::string address_of(const SeenGpu& g) { return g.pci != nullptr ? g.pci->address : linux_address(g.driver->address); }

// The GPUs that count, in the order of their indices.
struct Seen {
  std::vector<SeenGpu> gpus;
  bool by_driver = false;        // the driver's; else what sysfs has
  bool is_other_machine = false; // the driver speaks of other GPUs than the tree
};

Seen seen_gpus(const MachineFacts& facts) {
  Seen seen;
  std::map<std::uint64_t, const PciFacts*> nvidia, amd;
  for (const PciFacts& p : facts.pci) {
    const auto bus = bus_number(p.address);
    if (!bus || !is_gpu(p)) continue;
    if (p.vendor == "0x10de") nvidia.emplace(*bus, &p);
    else if (is_amd_accelerator(p)) amd.emplace(*bus, &p);
  }
  bool any_known = false;
  for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
    const DriverGpuFacts& d = facts.gpus[i];
    const auto bus = bus_number(d.address);
    if (!d.fault.empty() || !bus) continue;
    const auto pci = nvidia.find(*bus);
    any_known = any_known || pci != nvidia.end();
    seen.gpus.push_back({pci != nvidia.end() ? pci->second : nullptr, &d, *bus, static_cast<int>(i)});
  }
  seen.is_other_machine = facts.is_elsewhere && !any_known && !seen.gpus.empty() && (!nvidia.empty() || !amd.empty());
  seen.by_driver = !seen.gpus.empty() && !seen.is_other_machine;
  if (seen.by_driver) return seen;
  seen.gpus.clear();
  for (const auto& [bus, pci] : nvidia.empty() ? amd : nvidia) seen.gpus.push_back({pci, nullptr, bus, -1});
  return seen;
}

// --- the machine as NCCL writes it -------------------------------------------------------------------------------------------------------

class NcclFile {
 public:
  NcclFile(const MachineFacts& facts, std::vector<Assumption>& notes) : facts_(facts), notes_(notes), seen_(seen_gpus(facts)), gpus_(seen_.gpus) {
    for (const PciFacts& p : facts.pci) pci_.emplace(p.address, &p);
    for (std::size_t i = 0; i < gpus_.size(); ++i) gpu_at_.emplace(gpus_[i].bus, static_cast<int>(i));
  }

  XmlDocument document() {
    add(-1, "system");
    count_links();
    for (std::size_t i = 0; i < gpus_.size(); ++i) add_gpu(static_cast<int>(i));
    add_nics();
    return std::move(document_);
  }

 private:
  XmlElement& element(int i) { return document_.elements[at(i)]; }

  int add(int parent, std::string name) {
    const int index = static_cast<int>(document_.elements.size());
    XmlElement e;
    e.name = std::move(name);
    e.parent = parent;
    document_.elements.push_back(std::move(e));
    if (parent >= 0) element(parent).children.push_back(index);
    return index;
  }
  void set(int index, const char* key, std::string value) { element(index).attributes.emplace_back(key, std::move(value)); }
  void note(std::string path, std::string value, std::string why) { notes_.push_back({std::move(path), std::move(value), std::move(why)}); }

  const PciFacts* find(const std::string& address) const {
    const auto found = pci_.find(address);
    return found == pci_.end() ? nullptr : found->second;
  }

  // --- places --------------------------------------------------------------------------------------------------------------------------

  int numa_of(const PciFacts* p) const {
    if (p != nullptr && p->numa >= 0) return p->numa;
    if (facts_.numa.size() == 1) return facts_.numa.front().number;
    if (p != nullptr && !p->cpus.empty())
      for (const NumaFacts& n : facts_.numa)
        if (n.cpus == p->cpus) return n.number;
    return -1;
  }

  int cpu(int numa) {
    for (const int child : document_.elements.front().children)
      if (element(child).get("numaid") == text(numa)) return child;
    const int index = add(0, "cpu");
    set(index, "numaid", text(numa));
    for (const auto& [key, value] : {std::pair("arch", &facts_.cpu_arch), std::pair("vendor", &facts_.cpu_vendor), std::pair("familyid", &facts_.cpu_family), std::pair("modelid", &facts_.cpu_model)})
      if (!value->empty()) set(index, key, *value);
    return index;
  }

  // The switch above: its upstream port, two bridges up. Above a root port there is none.
  const PciFacts* switch_above(const PciFacts& p) const {
    const PciFacts* port = find(p.above);
    return port != nullptr ? find(port->above) : nullptr;
  }

  int place(const PciFacts& device) {
    std::vector<const PciFacts*> chain;
    int above = -1;
    for (const PciFacts* p = &device; above < 0;) {
      if (const auto known = element_of_.find(p->address); known != element_of_.end()) {
        above = known->second;
        break;
      }
      chain.push_back(p);
      const PciFacts* next = switch_above(*p);
      if (next == nullptr || chain.size() >= kMostLevels || std::find(chain.begin(), chain.end(), next) != chain.end()) above = cpu(numa_of(p) >= 0 ? numa_of(p) : numa_of(&device));
      else p = next;
    }
    for (auto p = chain.rbegin(); p != chain.rend(); ++p) above = add_pci(above, **p);
    return above;
  }

  // In the order of addresses among its like, as NCCL keeps them.
  int add_pci(int above, const PciFacts& p) {
    const int index = add(above, "pci");
    std::vector<int>& children = element(above).children;
    for (std::size_t k = 0; k + 1 < children.size(); ++k)
      if (element(children[k]).name == "pci" && p.address < element(children[k]).get("busid")) {
        std::rotate(children.begin() + static_cast<std::ptrdiff_t>(k), children.end() - 1, children.end());
        break;
      }
    element_of_.emplace(p.address, index);
    set(index, "busid", p.address);
    set(index, "class", p.kind);
    for (const auto& [key, value] : {std::pair("vendor", &p.vendor), std::pair("device", &p.device), std::pair("subsystem_vendor", &p.subsystem_vendor), std::pair("subsystem_device", &p.subsystem_device)})
      if (!value->empty()) set(index, key, *value);
    const SeenGpu* gpu = gpu_of(p);
    set_link(index, p, gpu != nullptr ? gpu->driver : nullptr);
    return index;
  }

  const SeenGpu* gpu_of(const PciFacts& p) const {
    for (const SeenGpu& g : gpus_)
      if (g.pci == &p) return &g;
    return nullptr;
  }

  static int lanes(int width) { return width > 0 && width <= kMostLanes ? width : 0; }
  static int lesser(int a, int b) { return a > 0 && (b <= 0 || a < b) ? a : b; }  // of those that are known

  // What both ends can, and less where the link has less now.
  void set_link(int index, const PciFacts& p, const DriverGpuFacts* driver) {
    const PciFacts* port = find(p.above);
    int generation = lesser(pcie_generation(p.max_speed), port != nullptr ? pcie_generation(port->max_speed) : 0);
    int width = lesser(lanes(p.max_width), port != nullptr ? lanes(port->max_width) : 0), now = lanes(p.width);
    if (driver != nullptr) {
      if (generation == 0 && driver->generation < static_cast<int>(std::size(kSpeeds))) generation = std::max(0, driver->generation);
      if (width == 0) width = lanes(driver->lanes);
      if (now == 0) now = lanes(driver->lanes_now);
    }
    // GPUs and what is above them slow their links down while idle; a NIC does not.
    if (const int speed = pcie_generation(p.speed); p.kind.starts_with("0x02") && speed > 0 && speed < generation) {
      note("node.wiring.pcie", text(speed), shown_of(p) + " runs at PCIe " + text(speed) + " now though it could at PCIe " + text(generation) + ": what it has now counts");
      generation = speed;
    }
    if (now > 0 && now < width) {
      note("node.wiring.pcie", text(now), shown_of(p) + " runs on " + text(now) + " PCIe lanes now though it could use " + text(width) + ": what it has now counts. A slot, a riser or a seat is to blame");
      width = now;
    }
    set(index, "link_speed", kSpeeds[at(generation)]);
    set(index, "link_width", text(width));
  }

  std::string shown_of(const PciFacts& p) const {
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      if (gpus_[i].pci == &p) return "GPU" + text(static_cast<int>(i)) + " (" + p.address + ")";
    return (p.kind.starts_with("0x02") ? "the NIC " : "the switch ") + p.address;
  }

  // --- GPUs ----------------------------------------------------------------------------------------------------------------------------

  void add_gpu(int i) {
    const SeenGpu& g = gpus_[at(i)];
    int pci = -1;
    if (g.pci != nullptr) {
      pci = place(*g.pci);
    } else {
      pci = add(cpu(numa_of(nullptr)), "pci");
      set(pci, "busid", address_of(g));
      set(pci, "class", "0x030200");
      set_link(pci, PciFacts{}, g.driver);
      note("node.wiring.groups", json(address_of(g)), "GPU" + text(i) + " (" + address_of(g) + ") is not in " + facts_.where + ": drawn on a port of its own, as NCCL draws it");
    }
    const bool is_amd = g.pci != nullptr && g.pci->vendor == "0x1002";
    if (g.driver == nullptr && !(is_amd && facts_.lists_xgmi)) return;  // without <gpu> NVLinks are unsaid
    const int gpu = add(pci, "gpu");
    set(gpu, "dev", text(i));
    if (g.driver != nullptr) {
      if (g.driver->sm > 0) set(gpu, "sm", text(g.driver->sm));
      if (g.driver->c2c_links > 0) set(add(gpu, "c2c"), "count", text(g.driver->c2c_links));
    }
    for (std::size_t j = 0; j < gpus_.size(); ++j)
      if (links(i, static_cast<int>(j)) > 0) add_nvlink(gpu, address_of(gpus_[j]), links(i, static_cast<int>(j)), "0x030200");
    if (switched_[at(i)] > 0) add_nvlink(gpu, "ffff:ff:00.0", switched_[at(i)], "0x068000");
  }

  void add_nvlink(int gpu, std::string target, int count, const char* kind) {
    const int link = add(gpu, "nvlink");
    set(link, "target", std::move(target));
    set(link, "count", text(count));
    set(link, "tclass", kind);
  }

  int& links(int a, int b) { return links_[at(a) * gpus_.size() + at(b)]; }

  void count_links() {
    const int n = static_cast<int>(gpus_.size());
    links_.assign(at(n) * at(n), 0);
    switched_.assign(at(n), 0);
    std::vector<int> unseen(at(n)), untold(at(n));
    for (int i = 0; i < n; ++i) {
      if (gpus_[at(i)].driver == nullptr) continue;
      for (const NvlinkFacts& link : gpus_[at(i)].driver->nvlinks) {
        if (!link.is_up || !link.carries_peers || link.end == NvlinkFacts::End::cpu) continue;
        const auto bus = bus_number(link.remote);
        const auto peer = bus ? gpu_at_.find(*bus) : gpu_at_.end();
        if (link.end == NvlinkFacts::End::nvswitch) ++switched_[at(i)];
        else if (peer != gpu_at_.end() && peer->second != i) ++links(i, peer->second);
        else if (link.end == NvlinkFacts::End::gpu || is_hidden_gpu(link.remote)) ++unseen[at(i)];
        else {
          ++switched_[at(i)];
          untold[at(i)] += !is_nvswitch(link.remote);
        }
      }
    }
    for (const auto& [from, to] : facts_.xgmi) {
      const auto a = bus_number(from), b = bus_number(to);
      const auto i = a ? gpu_at_.find(*a) : gpu_at_.end(), j = b ? gpu_at_.find(*b) : gpu_at_.end();
      if (i != gpu_at_.end() && j != gpu_at_.end() && i->second != j->second) ++links(i->second, j->second);
    }
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) agree(i, j);
    for (int i = 0; i < n; ++i) {
      if (unseen[at(i)] > 0) note("node.wiring", text(unseen[at(i)]), "GPU" + text(i) + " has " + text(unseen[at(i)]) + " NVLinks to GPUs that the driver does not show here: left out");
      if (untold[at(i)] > 0) note("node.wiring", text(untold[at(i)]), "the driver does not say where " + text(untold[at(i)]) + " NVLinks of GPU" + text(i) + " lead: taken as to an NVSwitch, as NCCL takes them");
    }
  }

  // A link has two ends: one that is up at one of them only carries nothing.
  void agree(int i, int j) {
    int &there = links(i, j), &back = links(j, i);
    if (there == back) return;
    const auto says = [&](int g) { return gpus_[at(g)].driver == nullptr || gpus_[at(g)].driver->says_nvlinks; };
    const int kept = says(i) && says(j) ? std::min(there, back) : std::max(there, back);
    note("node.wiring", text(kept), "GPU" + text(i) + " has " + text(there) + " NVLinks to GPU" + text(j) + ", which has " + text(back) + " back: " + (kept > 0 ? text(kept) + " count" : "none counts"));
    there = back = kept;
  }

  bool is_nvswitch(const std::string& address) const {
    const PciFacts* p = by_bus(address);
    return p != nullptr && p->kind.starts_with("0x0680");
  }
  bool is_hidden_gpu(const std::string& address) const {
    const PciFacts* p = by_bus(address);
    return p != nullptr && is_gpu(*p);
  }
  const PciFacts* by_bus(const std::string& address) const {
    const auto bus = bus_number(address);
    for (const PciFacts& p : facts_.pci)
      if (bus && bus_number(p.address) == bus) return &p;
    return nullptr;
  }

  // --- NICs ----------------------------------------------------------------------------------------------------------------------------

  // As NCCL: RDMA ports where any is up, else interfaces; of these the fastest alone.
  void add_nics() {
    std::vector<const NetFacts*> taken;
    std::string left_out;
    double fastest = 0;
    const bool any_rdma = std::any_of(facts_.nets.begin(), facts_.nets.end(), [](const NetFacts& n) { return n.is_rdma && n.is_up; });
    for (const NetFacts& n : facts_.nets)
      if (!n.is_rdma && n.is_up) fastest = std::max(fastest, n.rate.value);
    for (const NetFacts& n : facts_.nets) {
      if (n.is_rdma && !n.is_up) left_out += (left_out.empty() ? "" : ", ") + shown_name(n.name) + " (down)";
      if (!n.is_up || n.is_rdma != any_rdma) continue;
      if (!any_rdma && n.rate.value < fastest) left_out += (left_out.empty() ? "" : ", ") + shown_name(n.name) + " (slower)";
      else taken.push_back(&n);
    }
    if (left_out.size() > 300) left_out = left_out.substr(0, 300) + "...";
    if (!left_out.empty()) note("network", json(left_out), "NICs that are left out: " + left_out);
    int dev = 0;
    for (const NetFacts* n : taken) {
      const int nic = nic_at(n->address);
      const int net = add(nic, "net");
      set(net, "name", n->name);
      set(net, "dev", text(dev++));
      set(net, "speed", format_exact(static_cast<double>(static_cast<std::int64_t>(n->rate.value * 8 / 1e6 + 0.5))));
      set(net, "port", text(n->port));
      if (!n->is_rdma) set(net, "gdr", "0");
      else if (facts_.has_peermem) set(net, "gdr", "1");
    }
  }

  // Ports of one card are one device to NCCL: that of function 0.
  int nic_at(const std::string& address) {
    const PciFacts* own = find(address);
    if (own != nullptr && !address.empty())
      if (const PciFacts* first = find(address.substr(0, address.size() - 1) + "0"); first != nullptr && first->kind == own->kind) own = first;
    const int above = own != nullptr ? place(*own) : cpu(numa_of(nullptr));
    for (const int child : element(above).children)
      if (element(child).name == "nic") return child;
    return add(above, "nic");
  }

  const MachineFacts& facts_;
  std::vector<Assumption>& notes_;
  const Seen seen_;
  const std::vector<SeenGpu>& gpus_;
  std::map<std::string, const PciFacts*> pci_;
  std::map<std::string, int> element_of_;
  std::map<std::uint64_t, int> gpu_at_;
  std::vector<int> links_, switched_;
  XmlDocument document_;
};

// --- what a reader should know of the machine ----------------------------------------------------------------------------------------------

class Detection {
 public:
  Detection(const MachineFacts& facts, const XmlDocument* dump, const TopologyHints& hints, const Presets& presets)
      : facts_(facts), dump_(dump), hints_(hints), presets_(presets), seen_(seen_gpus(facts)) {}

  Result<Cluster> cluster() {
    if (seen_.gpus.size() > static_cast<std::size_t>(kMostCapturedGpus))
      return Error{"", count(), "at most 128 GPUs", facts_.where + " lists " + count() + " GPUs; one machine has 128 at most"};
    note_source();
    XmlDocument own;
    if (dump_ == nullptr) own = nccl_document(facts_, notes_);
    Result<TopologyDraft> draft = draft_of(dump_ != nullptr ? *dump_ : own);
    if (!draft) return draft.errors();
    tell(draft.value());
    note_gpus();
    note_ways();
    for (Assumption& a : draft.value().assumed)
      if (dump_ == nullptr && a.why.starts_with("the file ")) a.why = facts_.where + a.why.substr(8);
    draft.value().assumed.insert(draft.value().assumed.end(), notes_.begin(), notes_.end());
    Result<Cluster> cluster = cluster_of(std::move(draft.value()), hints_, presets_);
    if (!cluster) return cluster.errors();
    finish(cluster.value());
    return cluster;
  }

 private:
  void note(std::string path, std::string value, std::string why) { notes_.push_back({std::move(path), std::move(value), std::move(why)}); }

  // By its index here where it counts, else by the driver's.
  std::string named(const DriverGpuFacts& g) const {
    int index = g.index;
    for (std::size_t i = 0; i < seen_.gpus.size(); ++i)
      if (seen_.gpus[i].driver == &g) index = static_cast<int>(i);
    const std::string address = linux_address(g.address);
    return "GPU" + text(index) + (address.empty() ? "" : " (" + address + ")");
  }
  std::string count() const { return text(static_cast<int>(seen_.gpus.size())); }

  // --- who was asked ---------------------------------------------------------------------------------------------------------------------

  void note_source() {
    if (dump_ != nullptr && !facts_.library_fault.empty())
      note("node", json(facts_.where), "no NVIDIA driver here (" + facts_.library_fault + "): the file of NCCL alone, which has neither names of GPUs nor peer access");
    else if (dump_ != nullptr && !seen_.by_driver)
      note("node", json(facts_.where), "the NVIDIA driver " + shown_name(facts_.driver_version) + " shows no GPU: the file of NCCL alone");
    else if (seen_.is_other_machine)
      note("node", json(facts_.where), "the NVIDIA driver here knows none of the GPUs in " + facts_.where + ", which is of another machine then: what it says is left out");
    else if (!seen_.by_driver && facts_.library_fault.empty())
      note("node", json(facts_.where), "the NVIDIA driver " + shown_name(facts_.driver_version) + " shows none of the GPUs that " + facts_.where + " lists: taken from there, without NVLinks, memory and peer access");
    else if (!seen_.by_driver && !is_amd())
      note("node", json(facts_.where), "no NVIDIA driver here (" + facts_.library_fault + "): from " + facts_.where + " alone, which knows neither NVLinks nor peer access" + std::string(is_named() ? "" : ", and no list of PCI ids (pci.ids, which lspci brings) tells the names"));
    if (dump_ == nullptr && is_amd() && !facts_.lists_xgmi)
      note("node.wiring", json(facts_.where), "no amdkfd in " + facts_.where + ": it does not tell how the GPUs are joined directly, and none are drawn so");
    if (seen_.by_driver) note_unused();
    std::vector<std::string> faults = facts_.faults;
    constexpr std::size_t kMost = 8;
    const std::size_t more = faults.size() > kMost ? faults.size() - kMost : 0;
    faults.resize(faults.size() - more);
    for (std::string& fault : faults) note("node", json(facts_.where), std::move(fault));
    if (more > 0) note("node", json(facts_.where), "and " + text(static_cast<int>(more)) + " more that could not be read");
  }

  bool is_named() const { return std::all_of(seen_.gpus.begin(), seen_.gpus.end(), [](const SeenGpu& g) { return g.pci == nullptr || !g.pci->name.empty(); }); }
  bool is_amd() const { return !seen_.gpus.empty() && seen_.gpus.front().pci != nullptr && seen_.gpus.front().pci->vendor == "0x1002"; }

  // GPUs in sysfs that the driver does not mention at all. A lost one may have no address to tell it by.
  void note_unused() {
    std::string listed;
    int unused = 0;
    const auto nameless = std::count_if(facts_.gpus.begin(), facts_.gpus.end(), [](const DriverGpuFacts& g) { return !g.fault.empty() && g.address.empty(); });
    for (const PciFacts& p : facts_.pci) {
      if (p.vendor != "0x10de" || !is_gpu(p)) continue;
      const auto bus = bus_number(p.address);
      const bool is_told = std::any_of(facts_.gpus.begin(), facts_.gpus.end(), [&](const DriverGpuFacts& g) { return bus_number(g.address) == bus; });
      if (!is_told && ++unused <= 16) listed += (listed.empty() ? "" : ", ") + p.address;
    }
    if (unused > nameless)
      note("node.gpus", count(), facts_.where + " lists " + (unused == 1 ? "a GPU" : text(unused) + " GPUs") + " that the driver does not show (" + listed + (unused > 16 ? ", ..." : "") +
           "): left out. A container, or another driver, may hold " + (unused == 1 ? "it" : "them"));
  }

  // --- names, sockets, peers, NICs -------------------------------------------------------------------------------------------------------

  void tell(TopologyDraft& draft) {
    draft.is_machine = dump_ == nullptr;
    place_.assign(draft.gpus.size(), nullptr);
    bool any = false;
    for (std::size_t i = 0; i < draft.gpus.size(); ++i)
      for (const SeenGpu& g : seen_.gpus) {
        if (g.bus != draft.gpus[i].bus) continue;
        any = true;
        place_[i] = &g;
        draft.gpus[i].name = shown_name(g.driver != nullptr && !g.driver->name.empty() ? g.driver->name : g.pci != nullptr ? g.pci->name : "");
        const double bytes = g.driver != nullptr ? g.driver->memory_bytes : g.pci->memory_bytes;
        draft.gpus[i].memory_mib = static_cast<double>(static_cast<std::int64_t>(bytes / (1024.0 * 1024.0)));
      }
    if (dump_ != nullptr && !any && !seen_.gpus.empty()) note("node.gpus", text(static_cast<int>(draft.gpus.size())), "the file of NCCL has none of the GPUs that are here: read as it is");
    tell_sockets(draft);
    for (TopologyDraft::Nic& nic : draft.nics)
      for (const NetFacts& n : facts_.nets)
        if (shown_name(n.name) == nic.name) nic.fabric = fabric_of(n);
    tell_peers(draft);
  }

  // Packages may have any numbers; those with something on them count.
  void tell_sockets(TopologyDraft& draft) {
    std::vector<int> packages(draft.domains.size(), -1), used;
    const auto use = [&](const TopologyDraft::Place& place) {
      for (const NumaFacts& n : facts_.numa)
        if (n.number == draft.domains[at(place.domain)].numa) packages[at(place.domain)] = n.package;
      if (const int package = packages[at(place.domain)]; package >= 0 && std::find(used.begin(), used.end(), package) == used.end()) used.push_back(package);
    };
    for (const TopologyDraft::Gpu& g : draft.gpus) use(g);
    for (const TopologyDraft::Nic& n : draft.nics) use(n);
    for (std::size_t d = 0; d < packages.size(); ++d)
      if (packages[d] >= 0) draft.domains[d].socket = static_cast<int>(std::count_if(used.begin(), used.end(), [&](int package) { return package < packages[d]; }));
  }

  static std::optional<Fabric> fabric_of(const NetFacts& n) {
    if (!n.is_rdma) return n.driver.starts_with("cxi") ? Fabric::slingshot : Fabric::ethernet;
    if (n.driver == "efa") return Fabric::efa;
    if (n.driver.starts_with("hfi1")) return Fabric::omnipath;
    if (n.layer == "InfiniBand") return Fabric::infiniband;
    if (n.layer == "Ethernet") return Fabric::roce;
    return std::nullopt;
  }

  void tell_peers(TopologyDraft& draft) {
    const std::size_t n = draft.gpus.size(), rows = facts_.gpus.size();
    if (n < 2 || facts_.peers.size() != rows * rows) return;
    std::string matrix;
    int unknown = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) matrix += '/';
      for (std::size_t j = 0; j < n; ++j) {
        PeerAnswer answer = PeerAnswer::unknown;
        if (i != j && place_[i] != nullptr && place_[j] != nullptr && place_[i]->row >= 0 && place_[j]->row >= 0)
          answer = facts_.peers[at(place_[i]->row) * rows + at(place_[j]->row)];
        unknown += i != j && answer == PeerAnswer::unknown;
        matrix += answer == PeerAnswer::yes ? '1' : '0';
      }
    }
    if (unknown == 0) draft.p2p_matrix = std::move(matrix);
    else if (seen_.by_driver)
      note("node.p2p", "null", "the driver does not say of " + text(unknown) + " of " + text(static_cast<int>(n * (n - 1))) + " ways whether GPUs reach each other's memory: what it says of the others is left out, too");
  }

  // --- notes on GPUs ---------------------------------------------------------------------------------------------------------------------

  void note_gpus() {
    std::vector<std::pair<std::string, std::string>> unanswered;  // the same of several GPUs is said once
    int most = 0;
    for (const DriverGpuFacts& g : facts_.gpus) most = std::max(most, up(g));
    for (const DriverGpuFacts& g : facts_.gpus) {
      if (seen_.is_other_machine) break;
      if (!g.fault.empty()) {
        note("node.gpus", count(), "the driver's " + named(g) + " is left out, for it cannot be used (" + shown_name(g.fault) + "); those after it are counted on without it");
        continue;
      }
      if (g.is_sliced)
        note("node.gpus", count(), named(g) + " is cut into slices (MIG): slices reach each other neither by NVLink nor peer to peer, and NCCL does not join them. The whole GPU stands here; turn MIG off to use it so");
      if (g.is_share)
        note("node.gpus", count(), named(g) + " is a share of a GPU (vGPU): others may use the rest of it, and the PCIe links are those of the virtual machine");
      if (up(g) < most && g.says_nvlinks)
        note("node.wiring", text(up(g)), named(g) + " has " + text(up(g)) + " NVLinks up, another GPU " + text(most) + ": a link, a bridge or a seat may be to blame (nvidia-smi nvlink -s)");
      for (const std::string& what : g.unanswered) {
        const std::string shown = shown_name(what, 120);
        const auto same = std::find_if(unanswered.begin(), unanswered.end(), [&](const auto& u) { return u.first == shown; });
        if (same == unanswered.end()) unanswered.emplace_back(shown, named(g));
        else if (same->second.size() < 300) same->second += ", " + named(g);
      }
    }
    for (const auto& [what, gpus] : unanswered) note("node.gpus", count(), "the driver does not tell " + what + ": " + gpus);
  }

  static int up(const DriverGpuFacts& g) {
    return static_cast<int>(std::count_if(g.nvlinks.begin(), g.nvlinks.end(), [](const NvlinkFacts& l) { return l.is_up; }));
  }

  // What peer-to-peer traffic over PCIe meets besides wires.
  void note_ways() {
    if (seen_.gpus.size() < 2) return;
    std::map<std::string, const PciFacts*> pci;
    for (const PciFacts& p : facts_.pci) pci.emplace(p.address, &p);
    std::string translated, redirected;
    for (std::size_t i = 0; i < seen_.gpus.size(); ++i) {
      const PciFacts* p = seen_.gpus[i].pci;
      if (p == nullptr) continue;
      const std::string name = "GPU" + text(static_cast<int>(i));
      if (p->iommu.starts_with("DMA")) translated += (translated.empty() ? "" : ", ") + name;
      const auto port = pci.find(p->above);
      // Under a root port there is no shorter way that ACS could close.
      if (port != pci.end() && !port->second->above.empty() && port->second->acs > 0 && (port->second->acs & kRedirects) != 0) redirected += (redirected.empty() ? "" : ", ") + name;
    }
    if (!translated.empty())
      note("node.wiring.pcie", json(translated), "the IOMMU translates the addresses of " + translated + ": peer-to-peer over PCIe then goes through the CPU, or fails. iommu=pt on the kernel's command line lets it pass; not counted here");
    if (!redirected.empty())
      note("node.wiring.pcie", json(redirected), "ACS of the switch ports above " + redirected + " sends peer-to-peer traffic up to the CPU and back (P2P Request Redirect). Switch it off in the BIOS, or by setpci; not counted here");
  }

  // --- what only a chosen GPU tells --------------------------------------------------------------------------------------------------------

  void finish(Cluster& c) {
    c.node.host_memory = Bytes(facts_.memory_bytes);
    double least = 0, most = 0;
    int up_links = 0, generation = 0;
    for (const SeenGpu* g : place_) {
      if (g == nullptr || g->driver == nullptr) continue;
      const double watts = g->driver->power_limit_w;
      if (watts >= 10 && watts <= 1e5) {
        least = least == 0 ? watts : std::min(least, watts);
        most = std::max(most, watts);
      }
      up_links += up(*g->driver);
      for (const NvlinkFacts& l : g->driver->nvlinks)
        if (l.is_up) generation = std::max(generation, l.generation);
    }
    const Gpu& gpu = c.node.gpu;
    const auto assume = [&](std::string path, std::string value, std::string why) { c.assumed.push_back({std::move(path), std::move(value), std::move(why)}); };
    if (least > 0 && (least < gpu.tdp_w - 1 || least > gpu.tdp_w + 1)) c.node.power_limit_w = least;
    if (most > least)
      assume("node.power_limit_w", format_exact(least), "the GPUs have power limits from " + format_exact(least) + " W to " + format_exact(most) + " W: the lowest counts for all");
    const bool is_module = gpu.form == "SXM" || gpu.form == "superchip";
    if (seen_.by_driver && is_module && c.node.gpus > 1 && gpu.nvlink_links > 0 && up_links == 0)
      assume("node.wiring", "0", "no NVLink of any GPU is up, though the " + gpu.name + " has " + text(gpu.nvlink_links) + ": NVSwitches need the fabric manager (nvidia-fabricmanager) to run");
    if (seen_.by_driver && gpu.form == "superchip" && up_links > 0)
      assume("rack_nodes", "null", "the driver does not say how many hosts share the NVLinks' switches: taken as this one alone. Set rack_nodes, such as 18 in an NVL72");
    if (generation > 0 && gpu.nvlink_generation > 0 && generation != gpu.nvlink_generation)
      assume("node.gpu", json(gpu.id), "the driver speaks of NVLink " + text(generation) + ", the " + gpu.name + " has NVLink " + text(gpu.nvlink_generation) + ": is it that GPU? State it by --gpu ID");
  }

  const MachineFacts& facts_;
  const XmlDocument* dump_;
  const TopologyHints& hints_;
  const Presets& presets_;
  const Seen seen_;
  std::vector<const SeenGpu*> place_;  // by GPU of the draft
  std::vector<Assumption> notes_;
};

}  // namespace

std::string why_no_gpus(const MachineFacts& facts) {
  if (!seen_gpus(facts).gpus.empty()) return {};
  std::string why;
  if (!facts.library_fault.empty()) {
    why = "no NVIDIA driver here (" + facts.library_fault + ")";
  } else {
    why = "the NVIDIA driver " + shown_name(facts.driver_version) + " is here and shows no GPU it can use";
    for (const DriverGpuFacts& g : facts.gpus)
      if (!g.fault.empty()) why += "; GPU" + text(g.index) + ": " + shown_name(g.fault);
  }
  const bool has_radeon = std::any_of(facts.pci.begin(), facts.pci.end(), [](const PciFacts& p) { return p.vendor == "0x1002" && is_gpu(p); });
  return why + ", and " + facts.where + "/bus/pci/devices lists " + (has_radeon ? "no GPU but AMD's graphics, which Wireplan does not plan with" : "no GPU of NVIDIA or AMD");
}

XmlDocument nccl_document(const MachineFacts& facts, std::vector<Assumption>& notes) { return NcclFile(facts, notes).document(); }

Result<Cluster> detected_cluster(const MachineFacts& facts, const XmlDocument* dump, const TopologyHints& hints, const Presets& presets) {
  return Detection(facts, dump, hints, presets).cluster();
}

}  // namespace wireplan
