#include "native/detect/sysfs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "core/text/capture.hpp"
#include "core/text/json.hpp"
#include "core/text/topology_draft.hpp"
#include "native/files.hpp"

namespace wireplan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = 4096;          // of an attribute: a page, which is all that sysfs gives
constexpr std::size_t kMostProcBytes = 65'536;    // of /proc/cpuinfo: the first CPU is enough
constexpr std::size_t kMostListBytes = 4'000'000; // of the list of PCI names: 1.5 MB in 2025
constexpr std::size_t kMostEntries = 20'000;      // of a folder; servers have some hundred PCI devices, thousands with virtual functions
constexpr std::size_t kMostLevels = 64;           // bridges above one another
constexpr std::size_t kMostNets = 1024;           // ports and interfaces; the reader of the facts has a lower limit of its own

bool is_hex(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// "0000:07:00.0"; domains of some controllers have more than four digits.
bool is_address(std::string_view s) {
  const std::size_t colon = s.find(':');
  return s.size() >= 12 && s.size() <= 16 && colon == s.size() - 8 && s[s.size() - 5] == ':' && s[s.size() - 2] == '.' && is_hex(s.substr(0, colon)) &&
         is_hex(s.substr(colon + 1, 2)) && is_hex(s.substr(colon + 4, 2)) && is_hex(s.substr(colon + 7));
}

// Digits at the start of a text; nothing where it begins with none, or with too many.
std::optional<std::int64_t> leading(std::string_view s) {
  std::size_t end = 0;
  while (end < s.size() && s[end] >= '0' && s[end] <= '9') ++end;
  if (end == 0 || end > 15) return std::nullopt;
  return std::strtoll(std::string(s.substr(0, end)).c_str(), nullptr, 10);
}

std::string first_line(std::string_view s) { return std::string(trimmed(s.substr(0, s.find('\n')))); }

class Tree {
 public:
  Tree(fs::path root, MachineFacts& facts) : root_(std::move(root)), facts_(facts) {}

  Errors read() {
    std::error_code error;
    real_ = fs::canonical(root_, error).native();
    read_numa();
    read_cpu();
    if (Errors errors = read_pci(); !errors.empty()) return errors;
    read_nets();
    read_amd_links();
    facts_.has_peermem = is_folder(root_ / "module/nvidia_peermem") || is_folder(root_ / "module/nv_peer_mem");
    name_gpus();
    return {};
  }

 private:
  // --- files -----------------------------------------------------------------------------------------------------------------------------

  static bool is_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(path, error);
  }

  // What a plain file holds, "" for anything else: pipes and devices are not waited for.
  static std::string content(const fs::path& path, std::size_t most = kMostBytes) {
    const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return {};
    std::string text;
    struct stat status {};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
      text.resize(most);
      std::size_t size = 0;
      for (ssize_t got = 1; got > 0 && size < most;) {
        got = ::read(file, text.data() + size, most - size);
        if (got > 0) size += static_cast<std::size_t>(got);
      }
      text.resize(size);
    }
    close(file);
    return text;
  }

  static std::string line(const fs::path& path) { return first_line(content(path)); }
  static int number(const fs::path& path, std::int64_t most, int otherwise = 0) {
    const auto value = leading(line(path));
    return value && *value <= most ? static_cast<int>(*value) : otherwise;
  }

  // The same, where too many are left out as a whole.
  std::vector<std::string> listed(const fs::path& folder) {
    auto found = names(folder);
    if (!found) facts_.faults.push_back(shown(folder) + " lists more than 20,000 entries: left out");
    return found ? std::move(*found) : std::vector<std::string>{};
  }

  // Names in a folder, sorted; nothing beyond the limit.
  static std::optional<std::vector<std::string>> names(const fs::path& folder) {
    std::vector<std::string> found;
    std::error_code error;
    for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
      found.push_back(i->path().filename().native());
      if (found.size() > kMostEntries) return std::nullopt;
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Where a link leads, inside the tree; "" otherwise.
  std::string real_path(const fs::path& link) const {
    std::error_code error;
    const std::string path = fs::canonical(link, error).native();
    return !error && (path == real_ || path.starts_with(real_ + (real_ == "/" ? "" : "/"))) ? path : "";
  }

  std::string shown(const fs::path& path) const { return shown_name(facts_.where + path.native().substr(std::min(root_.native().size(), path.native().size())), 160); }

  Error too_many(const std::string& what) const {
    return {"--sysfs", value_text(Json(facts_.where)), "at most 20,000 entries in a folder", facts_.where + "/" + what + " lists more than 20,000 entries; no machine has so many"};
  }

  // --- CPU and memory ----------------------------------------------------------------------------------------------------------------------

  void read_numa() {
    const fs::path nodes = root_ / "devices/system/node";
    for (const std::string& name : listed(nodes)) {
      const auto number_of = name.starts_with("node") ? leading(std::string_view(name).substr(4)) : std::nullopt;
      if (!number_of || *number_of > 1023 || name != "node" + std::to_string(*number_of)) continue;
      NumaFacts n;
      n.number = static_cast<int>(*number_of);
      n.cpus = line(nodes / name / "cpulist");
      if (const auto cpu = leading(n.cpus)) n.package = number(root_ / "devices/system/cpu" / ("cpu" + std::to_string(*cpu)) / "topology/physical_package_id", 1'000'000, -1);
      facts_.numa.push_back(std::move(n));
    }
    std::sort(facts_.numa.begin(), facts_.numa.end(), [](const NumaFacts& a, const NumaFacts& b) { return a.number < b.number; });
  }

  void read_cpu() {
    const fs::path proc = root_ / "../proc";
    const std::string info = content(proc / "cpuinfo", kMostProcBytes);
    for (const std::string_view l : lines_of(info)) {
      const std::size_t colon = l.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string key(trimmed(l.substr(0, colon))), value = shown_name(trimmed(l.substr(colon + 1)));
      const auto keep = [&](std::string& to) { to = to.empty() ? value : to; };
      if (key == "vendor_id") keep(facts_.cpu_vendor);
      if (key == "vendor_id") facts_.cpu_arch = "x86_64";
      else if (key == "cpu family") keep(facts_.cpu_family);
      else if (key == "model") keep(facts_.cpu_model);
      else if (key == "CPU implementer") facts_.cpu_arch = "arm64";
      else if (key == "cpu" && value.starts_with("POWER")) facts_.cpu_arch = "ppc64";
    }
    const std::string memory = content(proc / "meminfo");
    for (const std::string_view l : lines_of(memory))
      if (l.starts_with("MemTotal:"))
        if (const auto kib = leading(trimmed(l.substr(9))); kib && *kib < std::int64_t{1'000'000'000'000}) facts_.memory_bytes = static_cast<double>(*kib) * 1024;
  }

  // --- PCI ---------------------------------------------------------------------------------------------------------------------------------

  Errors read_pci() {
    const fs::path devices = root_ / "bus/pci/devices";
    const auto found = names(devices);
    if (!found) return {too_many("bus/pci/devices")};
    for (const std::string& address : *found) {
      if (!is_address(address)) continue;
      const std::string path = real_path(devices / address);
      if (path.empty()) {
        facts_.faults.push_back(shown(devices / address) + " does not lead to a device: left out");
        continue;
      }
      const std::string kind = line(fs::path(path) / "class");
      const bool is_part = kind.starts_with("0x03") || kind.starts_with("0x12") || kind.starts_with("0x0680");
      if (is_part && fs::path(path).filename().native() == address && !is_virtual_function(path)) add(path);
    }
    return {};
  }

  // A slice of a device that its host hands to a virtual machine.
  static bool is_virtual_function(const fs::path& device) {
    std::error_code error;
    return fs::exists(fs::symlink_status(device / "physfn", error));
  }

  // The device at this place, with all bridges above it.
  void add(const fs::path& path) {
    fs::path p = path;
    for (std::size_t level = 0; level < kMostLevels; ++level, p = p.parent_path()) {
      const std::string address = p.filename().native();
      if (!is_address(address) || !known_.emplace(address, 0).second) return;
      PciFacts d;
      d.address = address;
      if (const std::string above = p.parent_path().filename().native(); is_address(above)) d.above = above;
      d.kind = line(p / "class");
      d.vendor = line(p / "vendor");
      d.device = line(p / "device");
      d.subsystem_vendor = line(p / "subsystem_vendor");
      d.subsystem_device = line(p / "subsystem_device");
      for (std::string* id : {&d.kind, &d.vendor, &d.device, &d.subsystem_vendor, &d.subsystem_device}) *id = shown_name(*id, 16);
      d.max_speed = line(p / "max_link_speed");
      d.speed = line(p / "current_link_speed");
      d.max_width = number(p / "max_link_width", 255);
      d.width = number(p / "current_link_width", 255);
      d.numa = number(p / "numa_node", 1023, -1);
      d.cpus = line(p / "local_cpulist");
      const std::string group = real_path(p / "iommu_group");
      if (!group.empty()) d.iommu = line(fs::path(group) / "type");
      d.acs = acs_control(content(p / "config"));
      facts_.pci.push_back(std::move(d));
    }
  }

  // The control word of Access Control Services out of a device's configuration space (PCI Express Base 7.7.11: extended capability 0x000d,
  // control at 6); only root reads beyond the first 64 bytes.
  static int acs_control(const std::string& config) {
    const auto word = [&](std::size_t at) { return static_cast<unsigned char>(config[at]) | static_cast<unsigned char>(config[at + 1]) << 8; };
    constexpr int kLongestList = 960;  // capabilities of four bytes that fit
    std::size_t at = 0x100;
    for (int i = 0; i < kLongestList && at >= 0x100 && at + 8 <= config.size(); ++i) {
      if (word(at) == 0x000d) return word(at + 6);
      at = static_cast<std::size_t>(word(at + 2) >> 4);
    }
    return -1;
  }

  // --- NICs --------------------------------------------------------------------------------------------------------------------------------

  // Address of the PCI device that a class device belongs to, through whatever bus stands between; "" where there is none.
  std::string pci_of(const fs::path& link) {
    fs::path p = real_path(link);
    for (std::size_t level = 0; level < kMostLevels && p.has_relative_path(); ++level, p = p.parent_path())
      if (const std::string address = p.filename().native(); is_address(address)) {
        if (is_virtual_function(p)) return {};
        add(p);
        return address;
      }
    return {};
  }

  std::string driver_of(const fs::path& device) const { return shown_name(fs::path(real_path(device / "driver")).filename().native()); }

  void read_nets() {
    const fs::path rdma = root_ / "class/infiniband", plain = root_ / "class/net";
    for (const std::string& name : listed(rdma)) {
      const std::string address = pci_of(rdma / name / "device");
      if (address.empty()) continue;  // a virtual function, or a device of software
      for (const std::string& port : listed(rdma / name / "ports")) {
        const fs::path p = rdma / name / "ports" / port;
        NetFacts n;
        n.name = name;
        n.address = address;
        n.is_rdma = true;
        n.layer = shown_name(line(p / "link_layer"));
        n.driver = driver_of(rdma / name / "device");
        n.port = static_cast<int>(std::min<std::int64_t>(leading(port).value_or(0), 255));
        n.rate = BytesPerSecond(gigabits(line(p / "rate")) * 1e9 / 8);
        n.is_up = leading(line(p / "state")) == 4;  // "4: ACTIVE"
        facts_.nets.push_back(std::move(n));
        if (facts_.nets.size() >= kMostNets) return;
      }
    }
    for (const std::string& name : listed(plain)) {
      const std::string address = pci_of(plain / name / "device");
      if (address.empty()) continue;
      NetFacts n;
      n.name = name;
      n.address = address;
      n.driver = driver_of(plain / name / "device");
      // In Mbit/s; -1 while the link is down.
      if (const auto mbit = leading(line(plain / name / "speed")); mbit && *mbit < 100'000'000) n.rate = BytesPerSecond(static_cast<double>(*mbit) * 1e6 / 8);
      n.is_up = line(plain / name / "operstate") == "up" && n.rate.value > 0;
      facts_.nets.push_back(std::move(n));
      if (facts_.nets.size() >= kMostNets) return;
    }
  }

  // "200 Gb/sec (4X HDR)", "2.5 Gb/sec (1X SDR)"
  static double gigabits(const std::string& rate) {
    if (rate.find("Gb/sec") == std::string::npos) return 0;
    const auto whole = leading(rate);
    if (!whole || *whole > 100'000) return 0;
    const std::size_t point = rate.find('.');
    const double tenth = point != std::string::npos && point + 1 < rate.size() && rate[point + 1] >= '0' && rate[point + 1] <= '9' ? (rate[point + 1] - '0') / 10.0 : 0;
    return static_cast<double>(*whole) + tenth;
  }

  // --- AMD ---------------------------------------------------------------------------------------------------------------------------------

  // Direct links as amdkfd lists them: nodes with a place on PCI, each with its links; type 11 is xGMI (CRAT_IOLINK_TYPE_XGMI).
  void read_amd_links() {
    const fs::path nodes = root_ / "class/kfd/kfd/topology/nodes";
    const std::vector<std::string> all = listed(nodes);
    std::map<std::int64_t, std::string> address_of;
    for (const std::string& node : all) {
      const auto values = properties(nodes / node / "properties");
      const auto place = values.find("location_id"), simds = values.find("simd_count"), domain = values.find("domain");
      if (place == values.end() || simds == values.end() || simds->second == 0) continue;  // a CPU
      const unsigned at = static_cast<unsigned>(place->second) & 0xffff, segment = domain == values.end() ? 0 : static_cast<unsigned>(domain->second) & 0xffff;
      char address[32];
      std::snprintf(address, sizeof(address), "%04x:%02x:%02x.%x", segment, at >> 8, (at >> 3) & 0x1f, at & 7);
      if (const auto number_of = leading(node)) address_of.emplace(*number_of, address);
      if (address_of.size() > static_cast<std::size_t>(kMostCapturedGpus)) return;
    }
    facts_.lists_xgmi = !address_of.empty();
    for (const auto& [number_of, from] : address_of) {
      std::vector<std::string> links = listed(nodes / std::to_string(number_of) / "io_links");
      if (links.size() > 2 * static_cast<std::size_t>(kMostCapturedGpus)) links.clear();  // one to each other GPU and to the CPUs
      for (const std::string& link : links) {
        const auto values = properties(nodes / std::to_string(number_of) / "io_links" / link / "properties");
        const auto type = values.find("type"), to = values.find("node_to");
        if (type == values.end() || type->second != 11 || to == values.end()) continue;
        if (const auto peer = address_of.find(to->second); peer != address_of.end()) facts_.xgmi.push_back({from, peer->second});
      }
    }
  }

  static std::map<std::string, std::int64_t> properties(const fs::path& path) {
    std::map<std::string, std::int64_t> values;
    const std::string text = content(path);
    for (const std::string_view l : lines_of(text))
      if (const std::size_t blank = l.find(' '); blank != std::string_view::npos)
        if (const auto value = leading(l.substr(blank + 1))) values.emplace(l.substr(0, blank), *value);
    return values;
  }

  // --- names ---------------------------------------------------------------------------------------------------------------------------------

  // Of GPUs: what the kernel's part of the driver says, else what lspci would print, "GA100 [A100 SXM4 80GB]": the part in brackets.
  void name_gpus() {
    const fs::path devices = root_ / "bus/pci/devices";
    std::string list;
    for (PciFacts& d : facts_.pci) {
      if (!d.kind.starts_with("0x03") && !d.kind.starts_with("0x12")) continue;
      d.name = shown_name(line(devices / d.address / "product_name"));  // amdgpu
      if (const auto bytes = leading(line(devices / d.address / "mem_info_vram_total"))) d.memory_bytes = static_cast<double>(*bytes);
      const std::string information = content(root_ / "../proc/driver/nvidia/gpus" / d.address / "information");
      for (const std::string_view l : lines_of(information))
        if (l.starts_with("Model:") && d.name.empty()) d.name = shown_name(trimmed(l.substr(6)));
      if (!d.name.empty()) continue;
      for (const char* place : {"../usr/share/hwdata/pci.ids", "../usr/share/misc/pci.ids"})
        if (list.empty()) list = content(root_ / place, kMostListBytes);
      d.name = listed_name(list, d.vendor, d.device);
    }
  }

  // Lines of vendors begin with four digits, those of their devices with a tab.
  static std::string listed_name(std::string_view list, std::string_view vendor, std::string_view device) {
    if (vendor.size() != 6 || device.size() != 6) return {};
    const std::string head = "\n" + std::string(vendor.substr(2)) + "  ", own = "\n\t" + std::string(device.substr(2)) + "  ";
    std::size_t begin = list.find(head);
    if (begin == std::string_view::npos) return {};
    std::string_view part = list.substr(begin + 1);
    for (std::size_t line_end = part.find('\n'); line_end != std::string_view::npos; line_end = part.find('\n', line_end + 1))
      if (line_end + 1 >= part.size() || (part[line_end + 1] != '\t' && part[line_end + 1] != '#')) {
        part = part.substr(0, line_end);
        break;
      }
    begin = part.find(own);
    if (begin == std::string_view::npos) return {};
    std::string name = first_line(part.substr(begin + own.size()));
    const std::size_t open = name.find('['), close = name.rfind(']');
    if (open != std::string::npos && close != std::string::npos && open < close) name = name.substr(open + 1, close - open - 1);
    return shown_name(name);
  }

  fs::path root_;
  std::string real_;
  MachineFacts& facts_;
  std::map<std::string, int> known_;
};

}  // namespace

Errors read_sysfs(const std::string& sys, bool is_stated, MachineFacts& facts) {
  facts.where = is_stated ? shown_name(sys, 200) : sys;
  facts.is_elsewhere = is_stated;
  if (Errors errors = folder_errors("--sysfs", sys); !errors.empty()) return is_stated ? errors : Errors{};
  return Tree(sys, facts).read();
}

}  // namespace wireplan
