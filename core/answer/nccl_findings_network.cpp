#include <algorithm>

#include "core/answer/nccl_finder.hpp"

namespace wireplan {
namespace {

using namespace nccl;

// NICs of a host that rings enter or leave by; a host may hold several nodes.
std::vector<int> used_nics(const Decision& decision) {
  std::vector<int> used;
  for (const Node& node : decision.nodes)
    for (const auto& nets : node.ring.nets) used.insert(used.end(), nets.begin(), nets.end());
  return used;
}

bool is_in(const std::vector<int>& list, int n) { return std::find(list.begin(), list.end(), n) != list.end(); }

// Of one host of the node.
std::vector<const Node::Nic*> nics_of_a_host(const Node& node) {
  std::vector<const Node::Nic*> nics;
  for (const Node::Nic& nic : node.nics)
    if (nic.host == node.nics.front().host) nics.push_back(&nic);
  return nics;
}

int gpus_of_a_host(const Node& node) { return static_cast<int>(std::count(node.hosts.begin(), node.hosts.end(), node.hosts.front())); }

std::string distance_text(PathType type) {
  switch (type) {
    case PathType::sys: return "SYS (across the link between NUMA nodes)";
    case PathType::phb: return "PHB (through the CPU)";
    case PathType::pxb: return "PXB (over several PCIe switches)";
    case PathType::pix: return "PIX (below one PCIe switch)";
    default: return std::string(name_of(type));
  }
}

}  // namespace

// Rule 3.
void NcclFinder::find_several_nodes() {
  const std::size_t per_host = request_.gpus.size();
  std::vector<int> nodes;
  for (std::size_t r = 0; r < per_host; ++r)
    if (std::find(nodes.begin(), nodes.end(), decision_.node_of_rank[r]) == nodes.end()) nodes.push_back(decision_.node_of_rank[r]);
  if (nodes.size() < 2) return;
  std::string parts;
  double nic = 0;
  for (std::size_t n = 0; n < nodes.size() && n < 4; ++n) {
    std::vector<int> gpus;
    for (std::size_t r = 0; r < per_host; ++r)
      if (decision_.node_of_rank[r] == nodes[n]) gpus.push_back(request_.gpus[r]);
    parts += (n == 0 ? "" : n + 1 == nodes.size() ? " and " : ", ") + gpus_text(gpus);
  }
  for (const Node::Nic& one : decision_.nodes.front().nics)
    for (std::size_t g = 0; g < one.rates.size(); ++g)
      nic = std::max(nic, static_cast<double>(one.types[g] <= PathType::pxb ? one.rates[g] : 0));
  if (nic == 0)  // near, but diverted: no GPUDirect
    for (const Node::Nic& one : decision_.nodes.front().nics) nic = std::max(nic, static_cast<double>(one.rate));

  Request together = request_;
  together.environment.net_disable_intra = true;
  const auto d = decided(together);
  std::string inside, remedy = "none that changes it";
  if (d) {
    // The fastest path between the parts once they are together.
    double rate = 0;
    for (const Node& node : d->nodes)
      for (std::size_t a = 0; a < node.gpus.size(); ++a)
        for (std::size_t b = 0; b < node.gpus.size(); ++b)
          if (node.ranks[a] < static_cast<int>(per_host) && node.ranks[b] < static_cast<int>(per_host) &&
              decision_.node_of_rank[static_cast<std::size_t>(node.ranks[a])] != decision_.node_of_rank[static_cast<std::size_t>(node.ranks[b])])
            rate = std::max(rate, static_cast<double>(node.pairs[a][b].rate));
    if (rate > 0) inside = " (" + rate_text(nic) + " against " + rate_text(rate) + ")";
    const std::string plans = "it plans " + plan_text(*d) + " where it now plans " + plan_text(decision_);
    if (planned_rate(*d) > kWorthIt * planned_rate(decision_)) remedy = "NCCL_NET_DISABLE_INTRA=1 keeps them together: " + plans;
    else if (planned_rate(*d) * kWorthIt < planned_rate(decision_)) remedy = "none by the plan: NCCL_NET_DISABLE_INTRA=1 keeps them together, but then " + plans + ". See that the host's NICs reach each other through the network";
    else remedy = "NCCL_NET_DISABLE_INTRA=1 keeps them together and the host's traffic off the network, but does not raise the plan (" + plan_text(*d) + ")";
  }
  add("several-nodes", Severity::warning,
      "NCCL takes one host for " + std::to_string(nodes.size()) + " nodes, " + parts + (nodes.size() > 4 ? " and more" : "") + ": their NICs are planned faster than the way between them inside the host" + inside + ", so what they exchange leaves by the network",
      remedy);
}

// Rule 12.
void NcclFinder::find_crossed_rails() {
  const Node& node = decision_.nodes.front();
  if (is_inside() || decision_.ring.cross_nic == 0 || request_.environment.cross_nic == 1) return;
  const auto crossing = std::find_if(node.ring.nets.begin(), node.ring.nets.end(), [](const auto& n) { return n[0] != n[1]; });
  if (crossing == node.ring.nets.end()) return;
  Request straight = request_;
  straight.environment.cross_nic = 0;
  const auto d = decided(straight);
  std::string remedy = "where each rail has a switch of its own, measure with NCCL_CROSS_NIC=0";
  if (d) remedy += ": NCCL then plans " + plan_text(*d) + " where it now plans " + plan_text(decision_);
  remedy += ". With one switch for all NICs nothing is to be done";
  add("crossed-rails", Severity::info,
      "Rings cross rails: they enter a node by one NIC and leave by another (" + std::to_string((*crossing)[0]) + " and " + std::to_string((*crossing)[1]) +
          ")" + (d && planned_rate(*d) < planned_rate(decision_) ? ", since NCCL plans more that way than with every ring on its own NIC" + std::string(request_.environment.pxn_disable ? "" : ", reached over NVLink where need be (PXN)") : "") +
          ". On a network with a switch for each rail this traffic climbs to the spine",
      remedy);
}

void NcclFinder::find_no_gpudirect() {
  if (is_inside()) return;
  for (const Node& node : decision_.nodes) {
    std::vector<int> staged, nics;
    PathType farthest = PathType::loc;
    bool has_device = true, has_nearer = true, is_too_old = true;
    // Each ring's first GPU takes from the NIC it enters by, its last gives to the one it leaves by.
    for (std::size_t c = 0; c < node.ring.nets.size(); ++c)
      for (const bool out : {false, true}) {
        const std::size_t at = static_cast<std::size_t>(out ? node.ring.order[c].back() : node.ring.order[c].front());
        for (const Node::Nic& nic : node.nics) {
          if (nic.dev != node.ring.nets[c][out ? 1 : 0] || nic.host != node.hosts[at]) continue;
          if (out ? nic.gpudirect_read[at] : nic.gpudirect_write[at]) continue;
          staged.push_back(node.gpus[at]);
          nics.push_back(nic.dev);
          farthest = std::max(farthest, nic.types[at]);
          is_too_old = is_too_old && out && nic.gpudirect_write[at] && machine_.parts[static_cast<std::size_t>(machine_.gpus[static_cast<std::size_t>(node.gpus[at])])].compute_capability < 80;
          has_nearer = has_nearer && std::any_of(node.nics.begin(), node.nics.end(), [&](const Node::Nic& other) { return other.gpudirect_read[at] && other.gpudirect_write[at]; });
          for (const Machine::Net& net : machine_.nets)
            if (net.dev == nic.dev) has_device = has_device && net.gpudirect;
        }
      }
    if (staged.empty()) continue;
    const std::string who = "Between " + gpus_text(staged) + " and " + nics_text(nics) + " data goes through host memory, not directly (no GPUDirect RDMA): ";
    if (!has_device) {
      add("no-gpudirect", Severity::info, who + "the network does not offer it, as with TCP sockets", "a network and plug-in that offer it (InfiniBand, RoCE, a cloud's own); no variable of NCCL turns it on");
      return;
    }
    if (is_too_old) {  // rule 6
      add("no-gpudirect", Severity::info, who + "before Ampere NICs read GPU memory only where NVLink joins the GPUs, or where there is one GPU", "none by variables");
      return;
    }
    Request with = request_;
    with.gpudirect = true;
    if (request_.gpudirect && has_nearer) with.environment.cross_nic = 1;
    else if (request_.gpudirect) with.environment.gpudirect_level = PathType::sys;
    const auto d = decided(with);
    const bool helps = d && planned_rate(*d) > kWorthIt * planned_rate(decision_);
    const std::string plans = d ? "NCCL plans " + plan_text(*d) + " with it, " + plan_text(decision_) + " without" : "";
    if (!request_.gpudirect) {
      add("no-gpudirect", Severity::warning, who + "it is off", "modprobe nvidia_peermem, or a kernel and driver with DMA-BUF, and ACS off" + (d ? ". " + plans : ""));
      return;
    }
    const auto level = request_.environment.gpudirect_level;
    const std::string allowed = level ? "NCCL_NET_GDR_LEVEL allows it up to " + distance_text(*level) : "NCCL allows it up to " + distance_text(PathType::pxb);
    std::string remedy;
    if (helps) remedy = std::string(has_nearer ? "NCCL_CROSS_NIC=1, so that rings leave by another NIC than they enter: " : "NCCL_NET_GDR_LEVEL=SYS: ") + plans;
    else remedy = std::string(has_nearer ? "" : "a NIC below the same PCIe switch as the GPUs. ") + "NCCL_NET_GDR_LEVEL=SYS allows it at any distance, but does not raise the plan (" + plan_text(decision_) + "), and many CPUs carry it slowly: measure both";
    add("no-gpudirect", Severity::warning, who + allowed + ", and their distance is " + distance_text(farthest), remedy);
    return;
  }
}

// One NIC for many GPUs.
void NcclFinder::find_shared_nics() {
  const Node& node = decision_.nodes.front();
  if (request_.hosts < 2 || is_inside() || node.nics.empty() || is_found("slow-network")) return;
  const auto nics = nics_of_a_host(node);
  const int gpus = gpus_of_a_host(node);
  if (static_cast<int>(nics.size()) * 4 > gpus) return;
  double sum = 0;
  for (const Node::Nic* nic : nics) sum += static_cast<double>(nic->rate);
  add("shared-nic", Severity::info,
      std::to_string(gpus) + " GPUs of a host share " + (nics.size() == 1 ? "one NIC" : std::to_string(nics.size()) + " NICs") + " of " + rate_text(sum) + (nics.size() == 1 ? "" : " together") + ": rings pass between hosts at " + plan_text(decision_) +
          ", whatever the GPUs could do inside",
      "none by variables: more NICs, or a layout that keeps what is talked about most inside a host");
}

void NcclFinder::find_idle_nics() {
  if (request_.hosts < 2 || is_inside()) return;
  const Node& node = decision_.nodes.front();
  const std::vector<int> used = used_nics(decision_);
  if (used.empty()) return;
  std::vector<int> idle;
  int in_all = 0;
  for (const Node::Nic* nic : nics_of_a_host(node)) {
    ++in_all;
    if (!is_in(used, nic->dev)) idle.push_back(nic->dev);
  }
  if (idle.empty() || node.ring.is_plain_order) return;
  std::string remedy = "none by variables";
  if (request_.gpus.size() < machine_.gpus.size()) {
    std::vector<int> all;
    for (std::size_t g = 0; g < machine_.gpus.size(); ++g) all.push_back(static_cast<int>(g));
    if (const auto d = decided_for(all); d && planned_rate(*d) > kWorthIt * planned_rate(decision_))
      remedy = "jobs that take whole hosts: with all " + std::to_string(all.size()) + " GPUs NCCL plans " + plan_text(*d) + " where it now plans " + plan_text(decision_);
  }
  if (remedy == "none by variables") remedy = "see that NIC's row in the table of NICs: its rate, its distance and whether GPUs reach it directly decide" + std::string(is_found("no-gpudirect") ? "; the finding on GPUDirect may bring it back" : "");
  add("idle-nic", Severity::info, nics_text(idle) + " of " + std::to_string(in_all) + " carr" + (idle.size() == 1 ? "ies" : "y") + " no ring: NCCL starts rings at " + nics_text(used) + " and plans " + plan_text(decision_), remedy);
}

// NICs whose PCIe link carries less than their ports.
void NcclFinder::find_narrow_nics() {
  if (is_inside()) return;
  std::vector<int> narrow;
  Machine wider = machine_;
  double least = 0, port = 0;
  for (const Machine::Net& net : machine_.nets) {
    if (net.nic < 0) continue;
    Machine::Part& part = wider.parts[static_cast<std::size_t>(net.nic)];
    if (!part.is_speed_known || part.kind != PartKind::nic || part.rate >= 0.8f * net.rate) continue;
    if (narrow.empty() || static_cast<double>(part.rate) < least) {
      least = static_cast<double>(part.rate);
      port = static_cast<double>(net.rate);
    }
    narrow.push_back(net.dev);
  }
  if (narrow.empty()) return;
  for (const Machine::Net& net : machine_.nets)
    if (net.nic >= 0) wider.parts[static_cast<std::size_t>(net.nic)].rate = std::max(wider.parts[static_cast<std::size_t>(net.nic)].rate, net.rate);
  const auto d = decided(wider, request_);
  if (!d || planned_rate(*d) < kWorthIt * planned_rate(decision_)) return;
  add("narrow-nic", Severity::warning,
      nics_text(narrow) + (narrow.size() == 1 ? " sits" : " sit") + " on a PCIe link of " + rate_text(least) + ", less than the " + rate_text(port) + (narrow.size() == 1 ? " of its port: NCCL plans " : " of a port: NCCL plans ") + plan_text(decision_) + " where the ports would allow " + plan_text(*d),
      "a slot with more or faster lanes; see what it runs at with lspci -vv (LnkSta)");
}

void NcclFinder::find_slow_network() {
  const Node& node = decision_.nodes.front();
  if (request_.hosts < 2 || is_inside() || node.nics.empty()) return;
  double best = 0;
  for (const Node::Nic& nic : node.nics) best = std::max(best, static_cast<double>(nic.rate));
  if (best > 3.2) return;
  add("slow-network", Severity::warning,
      "The fastest NIC has " + rate_text(best) + (best > 1.2 && best < 1.3 ? " (10 Gbit/s, which NCCL also takes where a NIC does not say its speed)" : "") + ": all traffic between hosts is planned at " + plan_text(decision_),
      "none by variables; see that NCCL uses the right interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA) and that its speed is stated (ethtool)");
}

}  // namespace wireplan
