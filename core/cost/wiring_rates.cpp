#include "core/cost/wiring_rates.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

BytesPerSecond of_generation(const std::vector<BytesPerSecond>& rates, int generation) {
  if (rates.size() < 2) return {};
  return rates[static_cast<std::size_t>(std::clamp(generation, 1, static_cast<int>(rates.size()) - 1))];
}

bool is_amd(const Cpu& cpu) { return cpu.vendor == "amd" || cpu.nccl_class == "amd"; }
bool is_intel(const Cpu& cpu) {
  return cpu.vendor == "intel" || cpu.nccl_class == "bdw" || cpu.nccl_class == "skl" || cpu.nccl_class == "srp" || cpu.nccl_class == "erp";
}

}  // namespace

LinkRates nvlink_rates(const Gpu& gpu, int generation, int links, const LinkConstants& constants) {
  const double count = std::max(1, links);
  const BytesPerSecond own = gpu.nvlink_links > 0 ? gpu.nvlink / gpu.nvlink_links : BytesPerSecond{};
  // RCCL plans with its own figures per architecture; three quarters of the data sheet are 48 of 64 GB/s on the MI300X.
  if (gpu.is_xgmi && own.value > 0) return {own * constants.xgmi_of_nominal * count, own * count};
  if (generation <= 0) generation = gpu.nvlink_generation;
  const BytesPerSecond sheet = of_generation(constants.nvlink_per_link_nominal, generation);
  if (generation <= 0 && own.value > 0) return {own * 0.8 * count, own * count};
  // GA102's links run at 14 GB/s where the A100's of the same generation run at 25; NCCL tells them apart by compute capability.
  if (generation == 3 && own.value > 0 && own < sheet * 0.8) return {constants.nvlink_ga10x_per_link * count, own * count};
  return {of_generation(constants.nvlink_per_link, generation) * count, sheet * count};
}

LinkRates pcie_rates(int generation, int lanes, const LinkConstants& constants) {
  const double share = std::max(1, lanes) / 16.0;
  return {of_generation(constants.pcie_x16, generation) * share, of_generation(constants.pcie_x16_nominal, generation) * share};
}

LinkRates socket_rates(const Cpu& cpu, int pcie_generation, const LinkConstants& constants) {
  BytesPerSecond slowest{};
  for (const LinkConstants::Socket& s : constants.sockets) {
    if (s.nccl_class == cpu.nccl_class) return {s.rate, {}, pcie_generation >= s.measured_from ? s.measured : BytesPerSecond{}};
    if (slowest.value == 0 || s.rate < slowest) slowest = s.rate;
  }
  return {slowest, {}};
}

std::string link_kind_name(const Link& link, const Node& node) {
  switch (link.kind) {
    case LinkKind::nvlink: return "NVLink";
    case LinkKind::xgmi: return "xGMI";
    case LinkKind::c2c: return "NVLink-C2C";
    case LinkKind::eth: return "Ethernet";
    case LinkKind::ib: return "InfiniBand";
    case LinkKind::socket: return is_amd(node.cpu) ? "xGMI" : is_intel(node.cpu) ? "QPI/UPI" : "socket link";
    case LinkKind::pcie: {
      std::string name = "PCIe";
      if (link.generation > 0) name += " " + std::to_string(link.generation);
      if (link.width > 0) name += " ×" + std::to_string(link.width);
      return name;
    }
  }
  return "link";
}

std::string link_name(const WiringGraph& graph, const Link& link, const Node& node) {
  return link_kind_name(link, node) + " " + graph.components[static_cast<std::size_t>(link.a)].id + "–" +
         graph.components[static_cast<std::size_t>(link.b)].id;
}

std::string network_name(const Network& network) {
  static constexpr std::array<std::string_view, 8> kTitles = {"InfiniBand", "RoCE", "EFA", "Ethernet", "Omni-Path", "Slingshot", "TCPX", "TCPXO"};
  return std::to_string(network.nics_per_node) + " × " + format_exact(network.nic_rate.value * 8 / 1e9) + " Gbit/s " +
         std::string(kTitles[static_cast<std::size_t>(network.fabric)]);
}

int generation_of(std::string_view class_name, const Node& node) {
  const bool is_pcie = class_name.starts_with("pcie") || class_name == "host-memory";
  return is_pcie ? pcie_generation_of(node) : node.gpu.nvlink_generation;
}

Seconds launch_of(const LinkConstants::Class& row, const Gpu& gpu) {
  return Seconds(row.launch_cycles / (gpu.boost_clock_hz > 0 ? gpu.boost_clock_hz : 1.7e9));
}

int class_row(const LinkConstants& constants, std::string_view name, int generation) {
  int any = -1;
  for (std::size_t i = 0; i < constants.classes.size(); ++i) {
    const LinkConstants::Class& c = constants.classes[i];
    if (c.name != name) continue;
    if (c.generation == generation) return static_cast<int>(i);
    if (c.generation == LinkConstants::kAny) any = static_cast<int>(i);
  }
  return any;
}

int fabric_row(const LinkConstants& constants, const Network& network) {
  // A fabric without a row for a node that lacks GPUDirect keeps the row it has.
  int row = -1, other = -1;
  const Fabric fabric = network.fabric == Fabric::roce ? Fabric::infiniband : network.fabric;  // the same cards and verbs: one class in the fit
  const BytesPerSecond sum = network.nic_rate * network.nics_per_node;
  for (std::size_t i = 0; i < constants.fabrics.size(); ++i) {
    const LinkConstants::FabricRate& f = constants.fabrics[i];
    if (f.fabric != fabric || sum < f.node_from || network.nic_rate < f.nic_from) continue;
    (f.gpudirect == network.gpudirect ? row : other) = static_cast<int>(i);
  }
  return row >= 0 ? row : other;
}

std::string_view class_of(PathKind kind, const Node& node) {
  switch (kind) {
    case PathKind::nvlink: {
      if (node.gpu.is_xgmi) return "xgmi";
      const bool card = node.gpu.form == "PCIe" || node.gpu.form == "consumer";
      return node.wiring.kind == WiringKind::nvlink_pairs || card ? "bridge" : "mesh";
    }
    case PathKind::nvswitch: return "nvswitch";
    case PathKind::pcie_switch: return "pcie-switch";
    case PathKind::host_bridge: case PathKind::sockets: return "pcie-host";
    case PathKind::self: case PathKind::host_memory: case PathKind::none: break;
  }
  return "host-memory";
}

}  // namespace wireplan
