#include "core/text/topology_xml.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/sort.hpp"
#include "core/text/capture.hpp"
#include "core/text/json.hpp"
#include "core/text/pci.hpp"

namespace wireplan {
namespace {

// Vendor, device and both numbers of the subsystem in one, the lowest four digits aside.
std::uint64_t switch_kind(const XmlElement& pci) {
  std::uint64_t id = 0;
  for (const char* key : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
    id = (id << 16) | static_cast<std::uint64_t>(small_number(pci.get(key)).value_or(0) & 0xffff);
  return id & ~std::uint64_t{0xfff};
}

// Broadcom's switches of PCIe 4 and 5 show themselves as two levels although every port has the full rate; 0: another switch.
int broadcom_generation(const XmlElement& pci, bool is_lower) {
  const std::uint64_t kind = switch_kind(pci);
  if (kind == 0x1000c0101000a000) return 4;
  if (kind == (is_lower ? 0x1000c03010001000 : 0x1000c03010000000)) return 5;
  return 0;
}

enum class PciKind : unsigned char { bridge, gpu, nic, nvswitch, other };

class NcclXml {
 public:
  explicit NcclXml(const XmlDocument& document) : elements_(document.elements) {}

  Result<TopologyDraft> draft() {
    const XmlElement& root = elements_.front();
    if (root.name != "system") return error(shown_name(root.name), "<system>", "the root of an NCCL topology file is <system>, not <" + shown_name(root.name) + ">");
    std::string host;
    for (const int child : root.children) {
      const XmlElement& cpu = element(child);
      if (cpu.name != "cpu") continue;
      const std::string_view own = cpu.get("host_hash");
      if (!own.empty() && !host.empty() && host != own)
        return error("host_hash", "the file of one host", "the file holds several hosts (host_hash " + shown_name(host) + " and " + shown_name(own) + "): keep the <cpu> elements of one of them");
      if (!own.empty()) host = own;
      read_cpu(cpu);
      if (errors_.empty() && (gpus_.size() > static_cast<std::size_t>(kMostCapturedGpus) || draft_.nics.size() > static_cast<std::size_t>(kMostCapturedNics)))
        return error("", "at most 128 GPUs and 256 NICs", "the file has more GPUs or NICs than one machine has");
      if (!errors_.empty()) return errors_;
    }
    if (gpus_.empty()) return error("", "a file with GPUs", "the file names no GPU: no <pci> of class 0x03 and no <gpu>");
    order_gpus();
    if (!errors_.empty() || !read_nvlinks()) return errors_;
    join_switches();
    drop_empty_switches();
    return std::move(draft_);
  }

 private:
  struct Found {
    int element = -1, gpu_element = -1;
    std::uint64_t bus = 0;
    int dev = -1;
    TopologyDraft::Gpu gpu{};
  };

  const XmlElement& element(int i) const { return elements_[static_cast<std::size_t>(i)]; }

  int child_named(const XmlElement& parent, std::string_view name) const {
    for (const int child : parent.children)
      if (element(child).name == name) return child;
    return -1;
  }

  // --- the tree ----------------------------------------------------------------------------------------------------------------

  void read_cpu(const XmlElement& cpu) {
    TopologyDraft::Domain domain;
    std::string_view numa = cpu.get("numaid");
    if (const auto number = small_number(numa); number && *number < 1024) domain.numa = *number;
    const int index = static_cast<int>(draft_.domains.size());
    draft_.domains.push_back(domain);
    if (index == 0) draft_.cpu = cpu_of(cpu);
    if (index > 1024) return fail("", "at most 1,024 NUMA nodes", "the file has more than 1,024 <cpu>");
    // Depth first by hand: a file may be deep.
    struct Todo { int element, above, broadcom; };
    std::vector<Todo> todo;
    for (auto child = cpu.children.rbegin(); child != cpu.children.rend(); ++child) todo.push_back({*child, -1, 0});
    while (!todo.empty() && errors_.empty()) {
      const Todo now = todo.back();
      todo.pop_back();
      const XmlElement& e = element(now.element);
      if (e.name == "nic") add_nics(e, {index, now.above, {}});
      if (e.name != "pci") continue;
      const TopologyDraft::Place place{index, now.above, slot_of(e)};
      const PciKind kind = kind_of(e);
      if (kind == PciKind::gpu) add_gpu(now.element, place);
      if (kind == PciKind::nic) {
        const int nic = child_named(e, "nic");
        if (nic >= 0) add_nics(element(nic), place);
        else add_nic(place, nullptr);
      }
      if (kind != PciKind::bridge || e.children.empty()) continue;
      const bool is_flat = now.broadcom != 0 && broadcom_generation(e, true) == now.broadcom;
      const int above = is_flat ? now.above : add_switch(e, place);
      const int broadcom = is_flat ? 0 : broadcom_generation(e, false);
      for (auto child = e.children.rbegin(); child != e.children.rend(); ++child) todo.push_back({*child, above, broadcom});
    }
  }

  static Cpu cpu_of(const XmlElement& e) {
    Cpu cpu;
    const std::string_view arch = e.get("arch"), vendor = e.get("vendor");
    if (arch == "x86_64" || arch == "arm64" || arch == "ppc64") cpu.arch = arch;
    if (arch == "arm64") cpu.nccl_class = "arm";
    if (arch == "ppc64") cpu.nccl_class = "p9";
    if (vendor == "AuthenticAMD") cpu.vendor = cpu.nccl_class = "amd";
    if (vendor == "GenuineIntel") {
      // By model number: Broadwell and older, Skylake to Ice Lake, Sapphire Rapids, Emerald Rapids and newer [nccl-topo].
      const int family = small_number(e.get("familyid")).value_or(6), model = small_number(e.get("modelid")).value_or(0);
      cpu.vendor = "intel";
      cpu.nccl_class = family != 6 || model < 0x55 ? "bdw" : model < 0x8f ? "skl" : model < 0xcf ? "srp" : "erp";
      if (e.get("modelid").empty()) cpu.nccl_class.clear();
    }
    return cpu;
  }

  PciKind kind_of(const XmlElement& pci) const {
    if (child_named(pci, "gpu") >= 0) return PciKind::gpu;
    if (child_named(pci, "nic") >= 0) return PciKind::nic;
    const std::string_view text = pci.get("class");
    if (text.substr(0, 4) == "0x03") return PciKind::gpu;
    if (text.substr(0, 4) == "0x02") return PciKind::nic;
    if (text.substr(0, 6) == "0x0680") return PciKind::nvswitch;
    if (text.substr(0, 4) == "0x06" || text.empty() || !pci.children.empty()) return PciKind::bridge;
    return PciKind::other;
  }

  TopologyDraft::Slot slot_of(const XmlElement& pci) {
    TopologyDraft::Slot slot;
    slot.generation = pcie_generation(pci.get("link_speed"));
    slot.lanes = small_number(pci.get("link_width")).value_or(0);
    if (slot.lanes > 64) slot.lanes = 0;
    if (slot.generation == 0) {
      slot.generation = 3;
      if (!noted_speed_ && (kind_of(pci) == PciKind::gpu || kind_of(pci) == PciKind::bridge)) {
        noted_speed_ = true;
        assume("node.wiring.pcie", "3", "the file gives no PCIe speed for " + shown_name(pci.get("busid")) + ": taken as PCIe 3, as NCCL takes it");
      }
    }
    if (slot.lanes == 0) slot.lanes = 16;
    return slot;
  }

  int add_switch(const XmlElement& e, const TopologyDraft::Place& place) {
    TopologyDraft::Switch s;
    static_cast<TopologyDraft::Place&>(s) = place;
    const int index = static_cast<int>(draft_.switches.size());
    draft_.switches.push_back(s);
    if (const auto bus = bus_number(e.get("busid"))) switch_of_.emplace(*bus, index);
    for (const int child : e.children)
      if (element(child).name == "pcilink") links_.emplace_back(index, child);
    return index;
  }

  void add_gpu(int index, const TopologyDraft::Place& place) {
    const XmlElement& pci = element(index);
    Found found;
    found.element = index;
    found.gpu_element = child_named(pci, "gpu");
    static_cast<TopologyDraft::Place&>(found.gpu) = place;
    const auto bus = bus_number(pci.get("busid"));
    if (!bus) return fail(shown_name(pci.get("busid")), "a bus id such as 0000:07:00.0", "line " + std::to_string(pci.line) + ": the GPU has no bus id");
    found.bus = found.gpu.bus = *bus;
    for (const Found& other : gpus_)
      if (other.bus == *bus)
        return fail(shown_name(pci.get("busid")), "each bus id once", "two GPUs have the bus id " + shown_name(pci.get("busid")) + " (lines " + std::to_string(element(other.element).line) + " and " + std::to_string(pci.line) + ")");
    if (found.gpu_element >= 0) {
      const XmlElement& gpu = element(found.gpu_element);
      found.dev = small_number(gpu.get("dev")).value_or(-1);
      found.gpu.sm = small_number(gpu.get("sm")).value_or(0);
      found.gpu.has_c2c = child_named(gpu, "c2c") >= 0;
      if (gpu.has("gcn"))
        return fail(shown_name(gpu.get("gcn")), "a file of NCCL", "the file describes AMD GPUs (RCCL, gcn " + shown_name(gpu.get("gcn")) + "): only NVIDIA's NCCL files are read. Presets such as mi300x-8x stand for such machines");
    }
    gpus_.push_back(std::move(found));
    if (gpus_.size() > static_cast<std::size_t>(kMostCapturedGpus)) fail("", "at most 128 GPUs", "the file has more than 128 GPUs; one machine has not so many");
  }

  void add_nics(const XmlElement& nic, const TopologyDraft::Place& place) {
    bool any = false;
    for (const int child : nic.children)
      if (element(child).name == "net") {
        add_nic(place, &element(child));
        any = true;
      }
    if (!any && place.slot.generation > 0) add_nic(place, nullptr);
  }

  void add_nic(const TopologyDraft::Place& place, const XmlElement* net) {
    TopologyDraft::Nic nic;
    static_cast<TopologyDraft::Place&>(nic) = place;
    if (net != nullptr) {
      nic.name = shown_name(net->get("name"));
      nic.rate = BytesPerSecond(small_number(net->get("speed")).value_or(0) * 1e6 / 8);
      if (net->has("gdr")) nic.gpudirect = net->get("gdr") != "0";
    }
    draft_.nics.push_back(std::move(nic));
    if (draft_.nics.size() > static_cast<std::size_t>(kMostCapturedNics)) fail("", "at most 256 NICs", "the file has more than 256 NICs; one machine has not so many");
  }

  // --- GPUs and their links ------------------------------------------------------------------------------------------------------

  // By `dev` where every GPU has one; else by bus id, which is how CUDA numbers equal GPUs.
  void order_gpus() {
    std::vector<int> devs;
    for (const Found& f : gpus_) devs.push_back(f.dev);
    sort(devs);
    const bool by_dev = devs.front() >= 0 && std::adjacent_find(devs.begin(), devs.end()) == devs.end();
    const auto before = [&](const Found& a, const Found& b) { return by_dev ? a.dev < b.dev : a.bus < b.bus; };
    if (!by_dev && !std::is_sorted(gpus_.begin(), gpus_.end(), before))
      assume("node.gpus", std::to_string(gpus_.size()), "the file does not number the GPUs: taken in the order of their bus ids, as CUDA does for equal ones");
    sort(gpus_, before);
    for (Found& f : gpus_) draft_.gpus.push_back(f.gpu);
  }

  bool read_nvlinks() {
    const std::size_t n = gpus_.size();
    std::map<std::uint64_t, std::size_t> gpu_of;
    for (std::size_t i = 0; i < n; ++i) gpu_of.emplace(gpus_[i].bus, i);
    std::vector<int> count(n * n, 0);
    std::vector<bool> lists(n, false);
    for (std::size_t i = 0; i < n; ++i) {
      if (gpus_[i].gpu_element < 0) continue;
      draft_.says_nvlink = true;
      for (const int child : element(gpus_[i].gpu_element).children) {
        const XmlElement& link = element(child);
        if (link.name != "nvlink") continue;
        const int links = std::min(small_number(link.get("count")).value_or(1), 1024);
        if (links < 1) continue;
        lists[i] = true;
        const std::string_view kind = link.get("tclass");
        const auto bus = bus_number(link.get("target"));
        const auto target = bus ? gpu_of.find(*bus) : gpu_of.end();
        if (kind == "0x068000") draft_.gpus[i].switch_links = std::min(draft_.gpus[i].switch_links + links, 1024);
        else if (target != gpu_of.end() && target->second != i) count[i * n + target->second] = std::min(count[i * n + target->second] + links, 1024);
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j) {
        const int there = count[i * n + j], back = count[j * n + i];
        if (there != back && lists[i] && lists[j]) {
          fail(std::to_string(there) + " and " + std::to_string(back), "the same count at both ends",
               "the file contradicts itself on GPU " + std::to_string(i) + " and GPU " + std::to_string(j) + ": " + std::to_string(there) + " NVLinks at one end, " + std::to_string(back) + " at the other");
          return false;
        }
        if (std::max(there, back) > 0) draft_.nvlinks.push_back({static_cast<int>(i), static_cast<int>(j), std::max(there, back)});
      }
    return true;
  }

  void join_switches() {
    for (const auto& [from, link] : links_) {
      const auto bus = bus_number(element(link).get("target"));
      const auto target = bus ? switch_of_.find(*bus) : switch_of_.end();
      if (target == switch_of_.end() || target->second == from) continue;
      const std::array<int, 2> pair{std::min(from, target->second), std::max(from, target->second)};
      if (std::find(draft_.switch_peers.begin(), draft_.switch_peers.end(), pair) == draft_.switch_peers.end() && draft_.switch_peers.size() < 1024) draft_.switch_peers.push_back(pair);
    }
  }

  // Bridges that lead to disks and the like.
  void drop_empty_switches() {
    std::vector<bool> used(draft_.switches.size(), false);
    const auto use = [&](int s) {
      for (; s >= 0 && !used[static_cast<std::size_t>(s)]; s = draft_.switches[static_cast<std::size_t>(s)].above) used[static_cast<std::size_t>(s)] = true;
    };
    for (const auto& g : draft_.gpus) use(g.above);
    for (const auto& n : draft_.nics) use(n.above);
    std::vector<int> index(draft_.switches.size(), -1);
    std::vector<TopologyDraft::Switch> kept;
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (!used[s]) continue;
      index[s] = static_cast<int>(kept.size());
      kept.push_back(draft_.switches[s]);
    }
    const auto renumber = [&](int& s) { s = s < 0 ? -1 : index[static_cast<std::size_t>(s)]; };
    for (auto& s : kept) renumber(s.above);
    for (auto& g : draft_.gpus) renumber(g.above);
    for (auto& n : draft_.nics) renumber(n.above);
    std::vector<std::array<int, 2>> peers;
    for (auto [a, b] : draft_.switch_peers) {
      renumber(a);
      renumber(b);
      if (a >= 0 && b >= 0) peers.push_back({a, b});
    }
    draft_.switch_peers = std::move(peers);
    draft_.switches = std::move(kept);
  }

  void assume(std::string path, std::string value, std::string why) { draft_.assumed.push_back({std::move(path), std::move(value), std::move(why)}); }
  void fail(const std::string& value, std::string limit, std::string text) {
    if (errors_.empty()) errors_.push_back(error(value, std::move(limit), std::move(text)));
  }
  static Error error(const std::string& value, std::string limit, std::string text) {
    return {"", value.empty() ? "" : value_text(Json(value)), std::move(limit), std::move(text)};
  }

  const std::vector<XmlElement>& elements_;
  std::vector<Found> gpus_;
  std::map<std::uint64_t, int> switch_of_;
  std::vector<std::pair<int, int>> links_;  // a switch, its <pcilink>
  bool noted_speed_ = false;
  TopologyDraft draft_;
  Errors errors_;
};

}  // namespace

int pcie_generation(std::string_view speed) {
  const std::string_view number = speed.substr(0, speed.find_first_of(" G"));
  constexpr std::pair<std::string_view, int> kSpeeds[] = {{"2.5", 1}, {"5", 2}, {"5.0", 2}, {"8", 3}, {"8.0", 3}, {"16", 4}, {"16.0", 4}, {"32", 5}, {"32.0", 5}, {"64", 6}, {"64.0", 6}};
  for (const auto& [text, generation] : kSpeeds)
    if (text == number && contains(speed, "GT/s")) return generation;
  return 0;
}

Result<TopologyDraft> draft_of(const XmlDocument& document) { return NcclXml(document).draft(); }

}  // namespace wireplan
