#include "core/text/nccl_log_causes.hpp"

#include <algorithm>
#include <vector>

#include "core/text/log_text.hpp"

namespace wireplan {
namespace {

using enum LogSubject;

// Plug-ins that bring topology, network and often a tuner of their own.
bool is_plugin(std::string_view network) { return !network.empty() && network != "IB" && network != "Socket" && !network.starts_with("IBext"); }

bool warns_of(const NcclLog& log, std::string_view part) {
  return std::any_of(log.warnings.begin(), log.warnings.end(), [&](const std::string& w) { return contains(w, part); });
}

bool is_of(LogSubject subject, std::initializer_list<LogSubject> list) { return std::find(list.begin(), list.end(), subject) != list.end(); }

constexpr std::initializer_list<LogSubject> kOfSearch = {nodes, graph, order, channels, p2p_channels, nvls};

// What the log names beside its release. At most two: the first are the likely ones.
std::vector<std::string> named_causes(LogSubject s, const NcclLog& log, const NcclAnswer& a) {
  std::vector<std::string> causes;
  const bool of_search = is_of(s, kOfSearch);
  const auto set = [&](std::string_view name, const char* effect) {
    if (const std::string_view value = log.variable(name); !value.empty()) causes.push_back(std::string(name) + "=" + std::string(value) + " " + effect);
  };
  if (of_search) set("NCCL_GRAPH_FILE", "takes the place of the search");
  if (of_search || is_of(s, {to_shm, to_p2p, gpudirect})) set("NCCL_TOPO_FILE", "takes the place of what NCCL finds of the machine: compare with that file");
  if (is_of(s, {to_shm, p2p})) {
    set("NCCL_P2P_DISABLE", "forbids P2P");
    set("NCCL_P2P_LEVEL", "limits P2P");
  }
  if (is_of(s, {inside_by_net})) set("NCCL_SHM_DISABLE", "forbids host memory");
  if (is_of(s, {network, gpudirect})) {
    set("NCCL_IB_DISABLE", "forbids InfiniBand and RoCE");
    set("NCCL_NET", "names the network");
    set("NCCL_IB_HCA", "names the NICs");
    if (log.has_no_ib) causes.push_back("NCCL found no InfiniBand or RoCE device: pass /dev/infiniband and the NIC's user-space driver into the container");
  }
  if (is_of(s, {channels, choice})) {
    set("NCCL_MAX_CTAS", "limits channels");
    set("NCCL_MIN_CTAS", "asks for channels");
    set("NCCL_NTHREADS", "sets the threads of a channel");
  }
  if (s == nvls && (warns_of(log, "NVLS") || warns_of(log, "multicast"))) causes.push_back("NVLS memory could not be bound, as NCCL warns: check the fabric manager, and that no other job holds multicast memory");
  else if (s == nvls && log.lacks_multicast) causes.push_back("no multicast, as the log says: the fabric manager is not running, or the driver or the virtual machine does not allow it");
  if (s == nvls && log.nvls == 0 && log.is_before(28) && a.decision.most_ranks_of_node == 2) causes.push_back("releases before 2.28 take NVLS for more than two GPUs of a node only");
  if (is_of(s, {graph, order, to_shm}) && !log.p2p_disabled.empty() && a.request.p2p.empty()) causes.push_back("the driver does not allow P2P, as the log says (--p2p none decides for that)");
  if (is_of(s, {choice}) && !log.tuner.empty()) causes.push_back("the tuner plug-in " + log.tuner + " decides in place of NCCL's cost model");
  if ((of_search || is_of(s, {choice, network})) && is_plugin(log.network)) causes.push_back("the network plug-in " + log.network + " brings NICs, topology or tuning of its own");
  if (s == nodes && log.has_mnnvl && a.request.rack_hosts <= 1) causes.push_back("the hosts share one NVLink domain (MNNVL): --rack-nodes");
  if (causes.size() > 2) causes.resize(2);
  return causes;
}

const char* common_cause(LogSubject s) {
  switch (s) {
    case nodes: return "containers that do not look like one host, or NICs that reach GPUs faster than these reach each other";
    case graph: return "a topology that is not the machine's: virtual machine, missing NVLinks, links at another speed, or another release's constants";
    case order: return "another order of GPUs (CUDA_VISIBLE_DEVICES), a subset of them, or a NIC that is missing";
    case channels: return "another graph, or NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, CTAs asked for by the program";
    case nvls: return "the fabric manager, the driver or the virtual machine does not offer multicast, or memory could not be bound";
    case p2p_channels: return "NVLinks that are missing, or NCCL_NCHANNELS_PER_NET_PEER";
    case to_shm: return "P2P is off in the driver (nvidia-smi topo -p2p r), by ACS or the IOMMU, by NCCL_P2P_DISABLE or NCCL_P2P_LEVEL, or processes in containers apart";
    case to_p2p: return "the driver allows P2P where it is not expected, or NCCL_P2P_LEVEL is wider";
    case inside_by_net: return "containers without a common /dev/shm or IPC namespace, NCCL_SHM_DISABLE, or P2P and host memory both refused";
    case network: return "NICs or their plug-in are not visible to NCCL, which falls back to TCP";
    case gpudirect: return "nvidia_peermem is not loaded and the kernel has no DMA-BUF, or NIC and GPU are too far apart (NCCL_NET_GDR_LEVEL), or ACS";
    case p2p: return "GeForce cards and virtual machines, ACS or the IOMMU; nvidia-smi topo -p2p r says it";
    case choice: return "a tuner plug-in, NCCL_ALGO or NCCL_PROTO, another type of data than float32, or calls that NCCL puts together";
    case none: break;
  }
  return "";
}

}  // namespace

std::string usual_cause(LogSubject subject, const NcclLog& log, const NcclAnswer& answer) {
  std::vector<std::string> causes = named_causes(subject, log, answer);
  if (causes.size() < 2 && !log.version.empty() && log.version != answer.release.version && (subject == choice || is_of(subject, kOfSearch)))
    causes.push_back("the log is of NCCL " + log.version + ", the decision of " + answer.release.version);
  std::string text;
  for (const std::string& cause : causes) text += (text.empty() ? "" : "; ") + cause;
  return text.empty() ? std::string("usual cause: ") + common_cause(subject) : "cause: " + text;
}

bool are_channels_explained(const NcclLog& log, const NcclAnswer& answer) { return !named_causes(order, log, answer).empty() || !named_causes(channels, log, answer).empty(); }

}  // namespace wireplan
