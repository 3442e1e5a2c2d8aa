#include "core/text/nccl_machine.hpp"

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
#include "core/text/topology_draft.hpp"

namespace wireplan {
namespace {

using nccl::GBps;
using nccl::Machine;
using nccl::PartKind;

// As Linux writes speeds, and NCCL reads them; 0 for anything else, which counts as PCIe 3.
constexpr int kUnknownGeneration = 3;
int generation_of(std::string_view speed) {
  constexpr std::pair<std::string_view, int> kGenerations[] = {
      {"2.5 GT/s", 1},      {"5 GT/s", 2},        {"8 GT/s", 3},        {"16 GT/s", 4},       {"32 GT/s", 5},      {"2.5 GT/s PCIe", 1},
      {"5.0 GT/s PCIe", 2}, {"8.0 GT/s PCIe", 3}, {"16.0 GT/s PCIe", 4}, {"32.0 GT/s PCIe", 5}, {"64.0 GT/s PCIe", 6}};
  for (const auto& [text, generation] : kGenerations)
    if (text == speed) return generation;
  return 0;
}

constexpr double kMostLatency = 100'000;  // of a NIC, in µs

// What of a file is passed over or replaced: the first lines by number and value, the others by count.
class Places {
 public:
  void add(const XmlElement& e, std::string_view value) {
    if (++count_ <= kMostShown) text_ += (count_ == 1 ? "line " : ", line ") + std::to_string(e.line) + " (" + (value.empty() ? "none" : shown_name(value)) + ')';
  }
  int count() const { return count_; }
  std::string text() const { return count_ > kMostShown ? text_ + " and " + std::to_string(count_ - kMostShown) + " more" : text_; }

 private:
  static constexpr int kMostShown = 8;
  int count_ = 0;
  std::string text_;
};

class Reading {
 public:
  explicit Reading(const XmlDocument& document) : elements_(document.elements) {}

  Result<NcclMachine> read() {
    const XmlElement& root = elements_.front();
    if (root.name != "system") return failure(root, "<system>", "the root of an NCCL topology file is <system>, not <" + shown_name(root.name) + ">");
    for (const int child : root.children)
      if (element(child).name == "cpu") read_cpu(element(child));
    if (errors_.empty()) order_gpus();
    if (errors_.empty()) join();
    if (!errors_.empty()) return errors_;
    return std::move(found_);
  }

 private:
  const XmlElement& element(int i) const { return elements_[static_cast<std::size_t>(i)]; }
  const XmlElement* child_named(const XmlElement& parent, std::string_view name) const {
    for (const int child : parent.children)
      if (element(child).name == name) return &element(child);
    return nullptr;
  }
  Machine& machine() { return found_.machine; }

  void read_cpu(const XmlElement& e) {
    const std::string_view host = e.get("host_hash");
    if (!host_.empty() && !host.empty() && host != host_)
      return fail(e, "the file of one host", "the file holds several hosts (host_hash " + shown_name(host_) + " and " + shown_name(host) + "): keep the <cpu> elements of one of them");
    if (!host.empty()) host_ = host;
    Machine::Cpu cpu;
    cpu.numa = number(e, "numaid", -1, 1 << 20, 0);
    cpu.type = type_of(e);
    const int index = static_cast<int>(machine().cpus.size());
    for (const Machine::Cpu& other : machine().cpus)
      if (other.numa == cpu.numa) return fail(e, "each numaid once", "two <cpu> have the numaid " + std::to_string(cpu.numa));
    machine().cpus.push_back(cpu);
    if (index >= 1024) return fail(e, "at most 1,024 NUMA nodes", "the file has more than 1,024 <cpu>");
    int loose_nic = -1;  // NICs on the CPU itself share one place
    struct Todo { int element, above; };
    std::vector<Todo> todo;
    for (auto child = e.children.rbegin(); child != e.children.rend(); ++child) todo.push_back({*child, -1});
    while (!todo.empty() && errors_.empty()) {
      const Todo now = todo.back();
      todo.pop_back();
      const XmlElement& part = element(now.element);
      if (part.name == "nic" && now.above < 0) {
        if (loose_nic < 0) {
          loose_nic = add(PartKind::nic, index, -1);
          machine().parts.back().rate = nccl::kLocalRate;
        }
        add_nets(part, loose_nic);
      }
      if (part.name != "pci") continue;
      const int added = add_pci(part, index, now.above);
      if (added < 0 || machine().parts[static_cast<std::size_t>(added)].kind != PartKind::pcie_switch) continue;
      for (auto child = part.children.rbegin(); child != part.children.rend(); ++child) todo.push_back({*child, added});
    }
  }

  nccl::CpuClass type_of(const XmlElement& e) {
    using nccl::CpuClass;
    const std::string_view arch = e.get("arch"), vendor = e.get("vendor");
    if (arch == "arm64") return CpuClass::arm;
    if (arch == "ppc64") return CpuClass::p9;
    if (arch != "x86_64") {
      fail(e, "x86_64, arm64 or ppc64", "the <cpu> has the arch " + (arch.empty() ? "\"\"" : shown_name(arch)) + ", which NCCL does not know");
      return CpuClass::unknown;
    }
    const int family = number(e, "familyid", 0, 1 << 20, 6), model = number(e, "modelid", 0, 1 << 20, 0);
    if (vendor == "AuthenticAMD") return CpuClass::amd;
    if (vendor == "CentaurHauls" || trimmed(vendor) == "Shanghai") return family == 7 && model == 0x5b ? CpuClass::yongfeng : CpuClass::zhaoxin;
    if (vendor != "GenuineIntel") return CpuClass::unknown;
    return family != 6 || model < 0x55 ? CpuClass::bdw : model < 0x8f ? CpuClass::skl : model < 0xcf ? CpuClass::srp : CpuClass::erp;
  }

  int add(PartKind kind, int cpu, int above) {
    Machine::Part part;
    part.kind = kind;
    part.cpu = cpu;
    part.above = above;
    machine().parts.push_back(std::move(part));
    return static_cast<int>(machine().parts.size()) - 1;
  }

  // The index of the part, -1 where NCCL passes it over.
  int add_pci(const XmlElement& e, int cpu, int above) {
    const XmlElement *gpu = child_named(e, "gpu"), *nic = child_named(e, "nic");
    const auto bus = bus_number(e.get("busid"));
    if (!bus) {
      fail(e, "a bus id such as 0000:07:00.0", "the <pci> has no bus id");
      return -1;
    }
    const std::string_view type = e.get("class");
    const bool is_switch = gpu == nullptr && nic == nullptr && type.substr(0, 6) != "0x0680" && type.substr(0, 4) != "0x03" && type.substr(0, 4) != "0x02";
    if (gpu == nullptr && nic == nullptr && !is_switch) return -1;
    if (nic != nullptr && gpu == nullptr)  // several ports of one card
      for (const auto& [number, part] : nics_)
        if (number == *bus && machine().parts[static_cast<std::size_t>(part)].cpu == cpu) {
          add_nets(*nic, part);
          return -1;
        }
    if (gpu != nullptr || is_switch) {
      const auto [at, is_new] = (gpu != nullptr ? gpu_of_ : switch_of_).emplace(*bus, static_cast<int>(machine().parts.size()));
      if (!is_new) {
        fail(e, "each bus id once", "two " + std::string(gpu != nullptr ? "GPUs" : "PCIe switches") + " have the bus id " + shown_name(e.get("busid")));
        return -1;
      }
    }
    const int index = add(gpu != nullptr ? PartKind::gpu : nic != nullptr ? PartKind::nic : PartKind::pcie_switch, cpu, above);
    element_of_.resize(machine().parts.size(), nullptr);
    element_of_.back() = &e;
    int width = number(e, "link_width", 0, 32, 0);
    if (width == 0) width = 16;
    if ((width & (width - 1)) != 0 && width != 12) refuse(e, "link_width", "1, 2, 4, 8, 12, 16 or 32, or 0 where it is not known");
    const std::string_view speed = e.get("link_speed");
    const int generation = generation_of(speed);
    if (generation == 0 && !e.children.empty()) unknown_speeds_.add(e, speed);  // nothing hangs on the others
    machine().parts.back().rate = nccl::pcie_rate(generation > 0 ? generation : kUnknownGeneration, width);
    machine().parts.back().is_speed_known = generation > 0;
    if (gpu != nullptr) add_gpu(*gpu, e);
    if (gpu == nullptr && nic != nullptr) {
      nics_.emplace_back(*bus, index);
      add_nets(*nic, index);
    }
    if (is_switch)
      for (const char* key : {"vendor", "device", "subsystem_vendor", "subsystem_device"})
        machine().parts.back().device = (machine().parts.back().device << 16) | static_cast<std::uint64_t>(small_number(e.get(key)).value_or(0) & 0xffff);
    return index;
  }

  void add_gpu(const XmlElement& gpu, const XmlElement& pci) {
    Machine::Part& part = machine().parts.back();
    if (gpu.has("gcn"))
      return fail(gpu, "a file of NCCL", "the file describes AMD GPUs (RCCL, gcn " + shown_name(gpu.get("gcn")) + "): only NVIDIA's NCCL files are read");
    part.dev = number(gpu, "dev", -1, 4095, -1);
    if (!gpu.has("sm")) return fail(gpu, "sm, such as 90", "the GPU " + shown_name(pci.get("busid")) + " does not say its compute capability (sm)");
    part.compute_capability = number(gpu, "sm", 30, 999, 0);
    for (const int child : gpu.children)
      if (element(child).name == "c2c") {
        const int count = number(element(child), "count", 1, 1024, 1), rate = number(element(child), "bw", 1, 10'000'000, 0);
        part.c2c += static_cast<GBps>(static_cast<double>(rate) * count / 1000);
      }
    machine().gpus.push_back(static_cast<int>(machine().parts.size()) - 1);
    if (machine().gpus.size() > static_cast<std::size_t>(kMostCapturedGpus)) fail(pci, "at most 128 GPUs", "the file has more than 128 GPUs; one machine has not so many");
  }

  void add_nets(const XmlElement& nic, int part) {
    for (const int child : nic.children) {
      const XmlElement& e = element(child);
      if (e.name != "net" || !e.has("dev")) continue;
      Machine::Net net;
      net.nic = part;
      net.dev = number(e, "dev", 0, 1 << 20, 0);
      const auto guid = bus_number(e.get("guid").substr(0, 2) == "0x" ? e.get("guid").substr(2) : e.get("guid"));
      net.asic = guid.value_or(static_cast<std::uint64_t>(net.dev));
      net.port = number(e, "port", 0, 1 << 20, 0);
      int mbit = number(e, "speed", -1, 100'000'000, 0);
      if (mbit <= 0) {
        mbit = 10000;
        assume("nets." + std::to_string(net.dev) + ".speed", "10000", "the file gives no speed for the NIC " + shown_name(e.get("name")) + ": 10 Gbit/s, as NCCL takes it");
      }
      net.rate = static_cast<GBps>(mbit / 8000.0);
      net.latency_us = latency_of(e);
      net.gpudirect = number(e, "gdr", 0, 1, 0) != 0;
      for (const Machine::Net& other : machine().nets)
        if (other.dev == net.dev) return fail(e, "each dev once", "two <net> have the dev " + std::to_string(net.dev));
      machine().nets.push_back(net);
      static_assert(nccl::kMostNics == 128, "as the error says");
      if (machine().nets.size() > static_cast<std::size_t>(nccl::kMostNics)) return fail(e, "at most 128 NICs", "the file has more than 128 NICs; one machine has not so many");
    }
  }

  // By `dev` where every GPU has one; else by bus id, as CUDA numbers equal ones.
  void order_gpus() {
    if (machine().gpus.empty()) return fail(elements_.front(), "a file with GPUs", "the file names no GPU: no <pci> with a <gpu>");
    std::vector<int> devs;
    for (const int g : machine().gpus) devs.push_back(machine().parts[static_cast<std::size_t>(g)].dev);
    sort(devs);
    const bool by_dev = devs.front() >= 0 && std::adjacent_find(devs.begin(), devs.end()) == devs.end();
    struct Gpu { std::uint64_t place, bus; int part; };
    std::vector<Gpu> gpus;
    for (const auto& [bus, part] : gpu_of_) gpus.push_back({by_dev ? static_cast<std::uint64_t>(machine().parts[static_cast<std::size_t>(part)].dev) : bus, bus, part});
    sort(gpus, [](const Gpu& a, const Gpu& b) { return a.place < b.place; });
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      machine().gpus[i] = gpus[i].part;
      found_.buses.push_back(gpus[i].bus);
    }
    if (by_dev) return;
    assume("gpus", std::to_string(devs.size()), "the file does not number the GPUs: taken in the order of their bus ids, as CUDA does for equal ones");
    for (std::size_t i = 0; i < machine().gpus.size(); ++i) machine().parts[static_cast<std::size_t>(machine().gpus[i])].dev = static_cast<int>(i);
  }

  void join() {
    for (std::size_t p = 0; p < element_of_.size() && errors_.empty(); ++p) {
      if (element_of_[p] == nullptr) continue;
      Machine::Part& part = machine().parts[p];
      if (part.kind == PartKind::gpu)
        for (const int child : child_named(*element_of_[p], "gpu")->children)
          if (element(child).name == "nvlink") add_nvlink(element(child), part);
      if (part.kind == PartKind::pcie_switch)
        for (const int child : element_of_[p]->children)
          if (element(child).name == "pcilink") {
            const auto bus = bus_number(element(child).get("target"));
            const auto target = bus ? switch_of_.find(*bus) : switch_of_.end();
            if (target != switch_of_.end() && target->second != static_cast<int>(p) && part.peers.size() < 64) part.peers.push_back(target->second);
          }
    }
    check_nvlinks();
    if (unknown_speeds_.count() > 0)
      assume("link_speed", "\"8.0 GT/s PCIe\"", "the file gives no PCIe speed NCCL knows in " + unknown_speeds_.text() + ": PCIe 3, as NCCL takes it");
    if (lost_links_.count() > 0)
      assume("nvlink", std::to_string(lost_links_.count()), "the file has no such GPU as its NVLinks lead to in " + lost_links_.text() + ": left out, as NCCL does");
  }

  void add_nvlink(const XmlElement& e, Machine::Part& part) {
    Machine::NvLink link;
    link.count = number(e, "count", 1, 1024, 1);
    const std::string_view type = e.get("tclass");
    if (type.substr(0, 4) == "0x03") {
      const auto bus = bus_number(e.get("target"));
      const auto target = bus ? gpu_of_.find(*bus) : gpu_of_.end();
      if (target == gpu_of_.end()) return lost_links_.add(e, e.get("target"));
      link.to = Machine::NvLink::To::gpu;
      link.gpu = target->second;
      if (&machine().parts[static_cast<std::size_t>(link.gpu)] == &part) return fail(e, "another GPU", "the NVLink leads to its own GPU, " + shown_name(e.get("target")));
    } else {
      link.to = type == "0x068001" ? Machine::NvLink::To::cpu : Machine::NvLink::To::nvswitch;
    }
    part.nvlinks.push_back(link);
  }

  void check_nvlinks() {
    const auto count = [&](int from, int to) {
      int links = 0;
      for (const Machine::NvLink& link : machine().parts[static_cast<std::size_t>(from)].nvlinks)
        if (link.gpu == to) links += link.count;
      return links;
    };
    for (const int a : machine().gpus)
      for (const int b : machine().gpus)
        if (a < b && count(a, b) != count(b, a))
          return fail(*element_of_[static_cast<std::size_t>(a)], "the same count at both ends",
                      "the file contradicts itself on the GPUs " + shown_name(element_of_[static_cast<std::size_t>(a)]->get("busid")) + " and " +
                          shown_name(element_of_[static_cast<std::size_t>(b)]->get("busid")) + ": " + std::to_string(count(a, b)) + " NVLinks at one end, " + std::to_string(count(b, a)) + " at the other");
  }

  int number(const XmlElement& e, std::string_view key, int least, int most, int otherwise) {
    const std::string_view text = e.get(key);
    if (text.empty()) return otherwise;
    const bool is_negative = text.front() == '-';
    const auto value = small_number(is_negative ? text.substr(1) : text);
    const int signed_value = value ? (is_negative ? -*value : *value) : 0;
    if (value && signed_value >= least && signed_value <= most) return signed_value;
    refuse(e, key, std::to_string(least) + " to " + std::to_string(most));
    return otherwise;
  }
  float latency_of(const XmlElement& e) {
    if (e.get("latency").empty()) return 0;
    const Result<Json> value = parse_json(e.get("latency"));
    const double us = value && value.value().is_number() ? value.value().get<double>() : -1;
    if (us >= 0 && us <= kMostLatency) return static_cast<float>(us);
    refuse(e, "latency", "0 to 100000 (µs)");
    return 0;
  }
  void refuse(const XmlElement& e, std::string_view key, const std::string& limit) {
    const std::string_view text = e.get(key);
    fail(e, limit, "<" + shown_name(e.name) + "> has " + std::string(key) + "=\"" + shown_name(text) + "\": must be " + limit, value_text(Json(text)));
  }

  void assume(std::string path, std::string value, std::string why) { found_.assumed.push_back({std::move(path), std::move(value), std::move(why)}); }
  static Error failure(const XmlElement& e, std::string limit, const std::string& text, std::string value = {}) {
    if (value.empty()) value = value_text(Json(shown_name(e.name)));
    return {"", std::move(value), std::move(limit), "line " + std::to_string(e.line) + ": " + text};
  }
  void fail(const XmlElement& e, std::string limit, const std::string& text, std::string value = {}) {
    if (errors_.empty()) errors_.push_back(failure(e, std::move(limit), text, std::move(value)));
  }

  const std::vector<XmlElement>& elements_;
  NcclMachine found_;
  std::vector<const XmlElement*> element_of_;  // by part
  std::map<std::uint64_t, int> gpu_of_, switch_of_;  // parts by bus
  std::vector<std::pair<std::uint64_t, int>> nics_;
  std::string_view host_;
  Places unknown_speeds_, lost_links_;
  Errors errors_;
};

}  // namespace

Result<NcclMachine> nccl_machine_of(const XmlDocument& document) { return Reading(document).read(); }

}  // namespace wireplan
