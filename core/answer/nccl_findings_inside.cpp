#include <algorithm>

#include "core/answer/nccl_finder.hpp"
#include "core/base/format.hpp"

namespace wireplan {
namespace {

using namespace nccl;

// The GPUs of a node in groups within which one reaches the next by paths of `is_joined`.
template <class Joined>
std::vector<std::vector<int>> groups_of(const Node& node, Joined is_joined) {
  const std::size_t n = node.gpus.size();
  std::vector<std::vector<int>> groups;
  std::vector<bool> placed(n, false);
  for (std::size_t first = 0; first < n; ++first) {
    if (placed[first]) continue;
    std::vector<std::size_t> members{first};
    placed[first] = true;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t other = 0; other < n; ++other)
        if (!placed[other] && is_joined(node.pairs[members[i]][other], node.pairs[other][members[i]])) {
          placed[other] = true;
          members.push_back(other);
        }
    groups.emplace_back();
    for (const std::size_t m : members) groups.back().push_back(static_cast<int>(m));
  }
  return groups;
}

const std::vector<int>& largest(const std::vector<std::vector<int>>& groups) {
  return *std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
}

std::vector<int> gpus_at(const Node& node, const std::vector<int>& positions) {
  std::vector<int> gpus;
  for (const int p : positions) gpus.push_back(node.gpus[static_cast<std::size_t>(p)]);
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

// "GPUs 0 and 1, GPUs 2 and 3": four groups at most.
std::string groups_text(const Node& node, const std::vector<std::vector<int>>& groups) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t g = 0; g < groups.size() && g < kMost; ++g) text += (g == 0 ? "" : ", ") + gpus_text(gpus_at(node, groups[g]));
  return text + (groups.size() > kMost ? " and " + std::to_string(groups.size() - kMost) + " more groups" : "");
}

bool is_on_one_host(const Node& node) {
  return std::all_of(node.hosts.begin(), node.hosts.end(), [&](int h) { return h == node.hosts.front(); });
}

std::string in_table(CpuClass type) {
  switch (type) {
    case CpuClass::bdw: return ", NCCL's constant for Intel CPUs before Skylake";
    case CpuClass::skl: return ", NCCL's constant for Intel Skylake to Ice Lake";
    case CpuClass::srp: return ", NCCL's constant for Intel Sapphire Rapids";
    case CpuClass::erp: return ", NCCL's constant for Intel Emerald Rapids and newer";
    case CpuClass::amd: return ", NCCL's constant for AMD CPUs";
    default: return ", NCCL's constant for this CPU";
  }
}

bool is_by_memory(const Node::Pair& pair) { return pair.transport == Transport::shm; }

const Node::Pair& pair_at(const Node& node, const Limit& limit) { return node.pairs[static_cast<std::size_t>(limit.from)][static_cast<std::size_t>(limit.to)]; }

}  // namespace

std::optional<NcclLink> NcclFinder::limiting_link(const Node& node) const {
  const Limit& limit = node.ring_limit;
  if (limit.from < 0 || limit.to < 0 || !is_on_one_host(node)) return std::nullopt;
  if (limit.link == EdgeKind::sys) return link_between_cpus(machine_, release_, node.gpus[static_cast<std::size_t>(limit.from)], node.gpus[static_cast<std::size_t>(limit.to)]);
  return limit.part < 0 ? std::nullopt : std::optional(link_above(machine_, request_.gpus, limit.part));
}

// Rule 14.
void NcclFinder::find_no_graph() {
  for (const Node& node : decision_.nodes) {
    if (!node.ring.is_plain_order) continue;
    const bool has_nets = !is_inside() && !node.nics.empty();
    const auto list = std::find_if(release_.speeds.begin(), release_.speeds.end(), [&](const Release::Speeds& s) { return node.least_compute_capability >= s.compute_capability; });
    if (list == release_.speeds.end()) return;
    const GBps least = has_nets ? list->inter.back() : list->intra.back();
    const auto groups = groups_of(node, [&](const Node::Pair& there, const Node::Pair& back) { return there.rate >= least && back.rate >= least; });
    std::string why = "some link would have to carry the ring twice";
    bool is_slot = false, is_uplink = false;
    if (groups.size() > 1 && is_on_one_host(node)) {
      const std::size_t a = static_cast<std::size_t>(groups[0].back()), b = static_cast<std::size_t>(groups[1].front());
      const NcclLink link = slowest_link(machine_, release_, request_.gpus, node.gpus[a], node.gpus[b], is_by_memory(node.pairs[a][b]));
      is_slot = link.kind == NcclLink::Kind::slot;
      is_uplink = link.kind == NcclLink::Kind::uplink;
      why = link.name + " has " + rate_text(static_cast<double>(link.rate)) + (link.kind == NcclLink::Kind::cpus ? in_table(node.cpu) : "");
    } else if (const std::optional<NcclLink> link = limiting_link(node)) {
      is_slot = link->kind == NcclLink::Kind::slot;
      is_uplink = link->kind == NcclLink::Kind::uplink;
      why = link->name + " has " + rate_text(static_cast<double>(link->rate)) + " for all that crosses it";
      if (is_intel(node.cpu) && pair_at(node, node.ring_limit).type == PathType::phb) why += ", less a sixth that NCCL takes off on Intel";
    }
    double simple = 0;
    for (double size = 512; size <= kLargeMessage && simple == 0; size *= 2)
      if (const Choice c = choice_at(decision_, release_, Operation::all_reduce, size); !c.is_none && c.protocol == Protocol::simple) simple = size;
    std::string text = "NCCL finds no ring at the lowest speed its search knows for these GPUs, " + rate_text(static_cast<double>(least)) + ": " + why +
                       ". It then joins the ranks in their order and plans 0.1 GB/s on one channel (in the end " + std::to_string(decision_.channels) + " run)";
    if (simple > 0) text += ", and takes the protocol Simple, made for large messages, from " + format_message_size(Bytes(simple)) + " on, so small all_reduce calls are slow too";

    std::string remedy;
    std::vector<int> fewer = groups.size() > 1 ? gpus_at(node, largest(groups)) : largest_on_one_cpu(machine_, request_.gpus);
    if (fewer.size() > 1 && fewer.size() < request_.gpus.size())
      if (const auto d = decided_for(fewer); d && planned_rate(*d) > kWorthIt * planned_rate(decision_)) remedy = "jobs on " + gpus_text(fewer) + " alone, for which it plans " + plan_text(*d) + "; ";
    if (request_.environment.min_channels == 0) {
      Request more = request_;
      more.environment.min_channels = 8;
      if (const auto d = decided(more); d && d->channels > decision_.channels)
        remedy += "NCCL_MIN_NCHANNELS=8, which leaves the plan as it is but runs " + std::to_string(d->channels) + " channels instead of " + std::to_string(decision_.channels) + "; ";
    }
    add("no-graph", Severity::warning, text, remedy + "a graph file (NCCL_GRAPH_FILE) that states the rings and their speed; " + (loses_nvlink() ? "P2P, which NVLink needs" : is_slot ? "slots with more lanes" : is_uplink ? "more lanes between that switch and the CPU" : "cards in slots below one PCIe switch or one socket"));
    return;
  }
}

// Rule 7.
void NcclFinder::find_unknown_speeds() {
  if (is_inside() && decision_.ring.intra_type <= PathType::nvb) return;  // PCIe plays no part
  const auto is_unknown = [&](int p) {
    for (; p >= 0; p = machine_.parts[static_cast<std::size_t>(p)].above)
      if (!machine_.parts[static_cast<std::size_t>(p)].is_speed_known) return true;
    return false;
  };
  std::vector<int> unknown, nics;
  for (const int g : request_.gpus)
    if (is_unknown(machine_.gpus[static_cast<std::size_t>(g)])) unknown.push_back(g);
  for (const Machine::Net& net : machine_.nets)
    if (!is_inside() && is_unknown(net.nic)) nics.push_back(net.dev);
  if (unknown.empty() && nics.empty()) return;
  const std::string who = unknown.empty() ? nics_text(nics) : nics.empty() ? gpus_text(unknown) : gpus_text(unknown) + " and " + nics_text(nics);
  Machine faster = machine_;
  for (Machine::Part& part : faster.parts)
    if (!part.is_speed_known) part.rate *= 2;
  const auto d = decided(faster, request_);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;
  add("unknown-speed", Severity::warning,
      "The PCIe speed at " + who + " is not known to NCCL, as in many virtual machines: NCCL takes PCIe 3 (12 GB/s at 16 lanes) and plans " + plan_text(decision_),
      "a topology file with link_speed and link_width filled in (NCCL_TOPO_FILE); were the links PCIe 4, NCCL would plan " + plan_text(*d));
}

// A GPU with fewer NVLinks to the switch than others: each ring passes it.
void NcclFinder::find_missing_nvlinks() {
  const auto links_of = [](const Machine::Part& gpu) {
    int count = 0;
    for (const Machine::NvLink& l : gpu.nvlinks) count += l.to == Machine::NvLink::To::nvswitch ? l.count : 0;
    return count;
  };
  Machine whole = machine_;
  std::vector<int> fewer;
  int most = 0, least = 0;
  for (const int g : request_.gpus) most = std::max(most, links_of(machine_.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(g)])]));
  for (const int g : request_.gpus) {
    Machine::Part& gpu = whole.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(g)])];
    const int count = links_of(gpu);
    if (count == most || count == 0) continue;
    least = fewer.empty() ? count : std::min(least, count);
    fewer.push_back(g);
    for (Machine::NvLink& l : gpu.nvlinks)
      if (l.to == Machine::NvLink::To::nvswitch) {
        l.count += most - count;
        break;
      }
  }
  if (fewer.empty()) return;
  const auto d = decided(whole, request_);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;
  add("missing-nvlinks", Severity::warning,
      gpus_text(fewer) + (fewer.size() == 1 ? " has " : " have ") + std::to_string(least) + " NVLinks to the switch where others have " + std::to_string(most) + ". A ring passes every GPU, so NCCL plans " + plan_text(decision_) + " and not " + plan_text(*d),
      "nvidia-smi nvlink -s shows which links are down; a reset or the fabric manager brings them back, else it is the hardware");
}

void NcclFinder::find_narrow_slots() {
  const bool by_nvlink = decision_.ring.intra_type <= PathType::nvb;
  if (is_inside() && by_nvlink) return;
  GBps best = 0;
  for (const int g : request_.gpus) best = std::max(best, machine_.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(g)])].rate);
  std::vector<int> narrow;
  Machine wider = machine_;
  GBps least = best;
  for (const int g : request_.gpus) {
    Machine::Part& part = wider.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(g)])];
    // Less than others have, or than eight lanes of PCIe 3.
    const GBps wide = std::max(best, pcie_rate(3, 8));
    if (part.rate >= 0.6f * wide) continue;
    narrow.push_back(g);
    least = std::min(least, part.rate);
    part.rate = wide;
  }
  if (narrow.empty()) return;
  const bool are_all = narrow.size() == request_.gpus.size();
  if (are_all && is_found("no-graph")) return;
  const auto d = decided(wider, request_);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;
  std::string remedy = (are_all ? "with eight lanes of PCIe 3 NCCL plans " : "with the same slot as the others NCCL plans ") + plan_text(*d);
  std::vector<int> fewer = request_.gpus;
  std::erase_if(fewer, [&](int g) { return std::find(narrow.begin(), narrow.end(), g) != narrow.end(); });
  if (fewer.size() > 1)
    if (const auto without = decided_for(fewer); without && planned_rate(*without) > kWorthIt * planned_rate(decision_)) remedy += "; on " + gpus_text(fewer) + " alone " + plan_text(*without);
  add("narrow-slot", Severity::warning,
      gpus_text(narrow) + (narrow.size() == 1 ? " has" : " have") + " a PCIe link of " + rate_text(static_cast<double>(least)) + (are_all ? ", less than eight lanes of PCIe 3 carry" : " where others have " + rate_text(static_cast<double>(best))) +
          (by_nvlink ? ", so NICs are reached no faster from there: NCCL plans " : ". A ring passes every GPU, so that is the rate of all: NCCL plans ") + plan_text(decision_),
      remedy + ". See what the slots run at with nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv");
}

bool NcclFinder::loses_nvlink() const {
  const auto nvlinks = [&](int g) -> const std::vector<Machine::NvLink>& { return machine_.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(g)])].nvlinks; };
  const auto joins = [&](int a, int b) {
    const auto leads = [&](const std::vector<Machine::NvLink>& links, Machine::NvLink::To to, int gpu) {
      return std::any_of(links.begin(), links.end(), [&](const Machine::NvLink& l) { return l.to == to && (to == Machine::NvLink::To::nvswitch || l.gpu == machine_.gpus[static_cast<std::size_t>(gpu)]); });
    };
    return leads(nvlinks(a), Machine::NvLink::To::gpu, b) || (leads(nvlinks(a), Machine::NvLink::To::nvswitch, -1) && leads(nvlinks(b), Machine::NvLink::To::nvswitch, -1));
  };
  for (const int a : request_.gpus)
    for (const int b : request_.gpus) {
      const std::size_t i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
      if (a != b && joins(a, b) && (request_.environment.p2p_level == PathType::loc || (!request_.p2p.empty() && !(request_.p2p[i][j] && request_.p2p[j][i])))) return true;
    }
  return false;
}

// Rule 2: below a common switch, what goes by host memory goes up the switch's link and down again.
void NcclFinder::find_no_p2p() {
  if (request_.p2p.empty() && request_.environment.p2p_level != PathType::loc) return;
  std::vector<int> detour;
  for (const Node& node : decision_.nodes)
    for (std::size_t a = 0; a < node.gpus.size(); ++a)
      for (std::size_t b = 0; b < node.gpus.size(); ++b)
        if (a != b && node.hosts[a] == node.hosts[b] && is_by_memory(node.pairs[a][b]) && common_switch(machine_, node.gpus[a], node.gpus[b]) >= 0) detour.push_back(node.gpus[a]);
  const bool is_by_nvlink = loses_nvlink();
  if (detour.empty() && !is_by_nvlink) return;
  Request with = request_;
  with.p2p.clear();
  with.environment.p2p_level.reset();
  const auto d = decided(with);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;
  const bool by_variable = request_.environment.p2p_level == PathType::loc;
  const std::string unset = "unset NCCL_P2P_DISABLE (or NCCL_P2P_LEVEL=LOC)";
  if (is_by_nvlink)
    return add("no-p2p", Severity::warning, "GPUs with NVLink between them may not reach each other's memory (P2P), so NVLink is not used: NCCL plans " + plan_text(decision_) + " instead of " + plan_text(*d),
               by_variable ? unset : "nvidia-smi topo -p2p r must say OK: driver, fabric manager and virtual machine have to allow P2P");
  add("uplink-twice", Severity::warning,
      gpus_text(detour) + " stand below PCIe switches but may not reach each other's memory (P2P), so what they exchange goes up to the CPU and down again: the links above the switches carry it twice, and NCCL plans " +
          plan_text(decision_) + " instead of " + plan_text(*d),
      std::string(by_variable ? unset : "P2P where card and driver have it (GeForce cards mostly do not): nvidia-smi topo -p2p r must say OK") +
          ", ACS off on the PCIe bridges, IOMMU off or in pass-through; else the cards spread over more switches or in slots of the CPU");
}

void NcclFinder::find_islands() {
  if (!is_inside() || decision_.ring.intra_type <= PathType::nvb) return;
  const Node& node = decision_.nodes.front();
  if (node.gpus.size() < 3 || !is_on_one_host(node)) return;
  auto islands = groups_of(node, [](const Node::Pair& there, const Node::Pair& back) { return there.type == PathType::nvl && back.type == PathType::nvl; });
  std::erase_if(islands, [](const auto& g) { return g.size() < 2; });
  if (islands.empty()) return;
  const std::vector<int> island = gpus_at(node, largest(islands));
  const bool is_whole = island.size() == node.gpus.size();
  std::string text = "NVLink joins " + groups_text(node, islands) + (is_whole ? ", but not into a ring" : ", but does not lead round all " + std::to_string(node.gpus.size()) + " GPUs") + ": the ring has to take PCIe or the link between CPUs and is planned at " + plan_text(decision_);
  if (is_whole) return add("nvlink-islands", Severity::info, text, "none by variables: NVLink from each to the next all the way round would be needed");
  const auto d = decided_for(island);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;  // the island alone has no more
  add("nvlink-islands", Severity::warning, text, "groups that talk most (tensor parallel) inside an island: for " + gpus_text(island) + " alone NCCL plans " + plan_text(*d));
}

// The ring leaves the GPUs' own CPU.
void NcclFinder::find_far_cpus() {
  if (!is_inside() || decision_.ring.is_plain_order || decision_.ring.intra_type != PathType::sys || is_found("nvlink-islands")) return;
  const Node& node = decision_.nodes.front();
  if (!is_on_one_host(node) || node.gpus.size() < 3) return;
  const std::vector<int> near = largest_on_one_cpu(machine_, request_.gpus);
  if (near.size() < 2 || near.size() == request_.gpus.size()) return;
  const std::optional<NcclLink> link = limiting_link(node);
  if (!link || link->kind != NcclLink::Kind::cpus) return;
  const auto d = decided_for(near);
  if (!d || planned_rate(*d) < 1.5 * planned_rate(decision_)) return;
  add("between-cpus", Severity::info,
      "All rings cross " + link->name + ", for which NCCL plans " + rate_text(static_cast<double>(link->rate)) + in_table(node.cpu) + " and no measurement: that makes " + plan_text(decision_) + " for all " + std::to_string(node.gpus.size()) + " GPUs",
      "groups that talk most on one NUMA node: for " + gpus_text(near) + " alone NCCL plans " + plan_text(*d));
}

// Rules 1 and 2: what the driver lets use P2P and NCCL does not. On AMD two GPUs of a communicator may at any distance, more of them, as
// on other CPUs, only below a common switch.
void NcclFinder::find_host_memory() {
  const bool has_level = request_.environment.p2p_level.has_value();  // NCCL's own limit plays no part
  if (request_.environment.p2p_level == PathType::loc || is_found("uplink-twice") || is_found("no-p2p")) return;
  for (const Node& node : decision_.nodes) {
    int count = 0, all = 0, refused = 0, from = -1, to = -1;
    for (std::size_t a = 0; a < node.gpus.size(); ++a)
      for (std::size_t b = a + 1; b < node.gpus.size(); ++b) {
        if (node.hosts[a] != node.hosts[b] || node.hosts[a] != node.hosts.front()) continue;
        ++all;
        if (!is_by_memory(node.pairs[a][b])) continue;
        const std::size_t i = static_cast<std::size_t>(node.gpus[a]), j = static_cast<std::size_t>(node.gpus[b]);
        if (!request_.p2p.empty() && !(request_.p2p[i][j] && request_.p2p[j][i])) ++refused;
        else if (!has_level && count++ == 0) from = node.gpus[a], to = node.gpus[b];
      }
    const auto pairs = [&](int some) { return some == all ? (all == 1 ? std::string("the only pair") : "all " + std::to_string(all) + " pairs") : std::to_string(some) + " of " + std::to_string(all) + " pairs"; };
    if (count == 0 && refused > 0)
      return add("host-memory", Severity::info, (refused == all ? "The driver lets no pair" : "The driver does not let " + pairs(refused)) + " of GPUs reach each other's memory (P2P): what they exchange is written to the host's memory and read from there again, and NCCL plans " + plan_text(decision_),
                 "P2P where card and driver have it (GeForce cards mostly do not): nvidia-smi topo -p2p r must say OK");
    if (count == 0) continue;
    Request wider = request_;
    wider.environment.p2p_level = PathType::sys;
    const auto d = decided(wider);
    if (!d) return;
    const double before = planned_rate(decision_), after = planned_rate(*d);
    std::string remedy;
    if (after > kWorthIt * before) remedy = "NCCL_P2P_LEVEL=SYS, with which NCCL plans " + plan_text(*d) + " instead of " + plan_text(decision_);
    else if (after * kWorthIt < before) remedy = "none: with NCCL_P2P_LEVEL=SYS NCCL would plan " + plan_text(*d) + " instead of " + plan_text(decision_);
    else remedy = "NCCL_P2P_LEVEL=SYS lets them copy directly, but the plan stays at " + plan_text(decision_) + ", since NCCL does not count the detour: only a measurement shows whether it helps";
    if (after * kWorthIt >= before) remedy += ". Before that ACS off and the IOMMU off or in pass-through: else P2P between far GPUs hangs or corrupts data";
    const bool is_amd = node.cpu == CpuClass::amd;
    return add(is_amd ? "p2p-of-pairs" : "host-memory", Severity::info,
               (is_amd ? "On AMD CPUs NCCL lets two GPUs alone reach each other's memory at any distance, but a group of " + std::to_string(node.gpus.size()) + " only below a common PCIe switch or over NVLink: "
                       : "NCCL lets GPUs reach each other's memory directly (P2P) only below a common PCIe switch or over NVLink: ") +
                   pairs(count) + " of GPUs (" + (all == 1 ? "" : "such as ") + std::to_string(from) + " and " + std::to_string(to) + ") go" + (count == 1 ? "es" : "") + " through host memory" + (is_amd ? " though each pair alone would not" : "") +
                   (refused > 0 ? ", besides " + std::to_string(refused) + " that the driver refuses" : ""),
               remedy);
  }
}

}  // namespace wireplan
