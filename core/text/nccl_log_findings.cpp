#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/import_nccl_log.hpp"
#include "core/text/log_text.hpp"

namespace wireplan {
namespace {

struct KnownVariable {
  std::string_view name, effect;
};
constexpr KnownVariable kVariables[] = {
    {"NCCL_P2P_DISABLE", "1 forbids GPUs to reach each other's memory: copies go through the host"},
    {"NCCL_P2P_LEVEL", "limits how far apart GPUs may be to reach each other's memory"},
    {"NCCL_SHM_DISABLE", "1 forbids copies through host memory: what has no P2P then goes over the network"},
    {"NCCL_IB_DISABLE", "1 forbids InfiniBand and RoCE: TCP is left"},
    {"NCCL_IB_HCA", "names the NICs that may be used"},
    {"NCCL_NET_GDR_LEVEL", "limits how far a NIC may be to read GPU memory itself"},
    {"NCCL_NET", "names the network to use"},
    {"NCCL_ALGO", "fixes the algorithm, which NCCL otherwise chooses by size"},
    {"NCCL_PROTO", "fixes the protocol, which NCCL otherwise chooses by size"},
    {"NCCL_NVLS_ENABLE", "0 turns reductions in the NVSwitch off"},
    {"NCCL_MAX_NCHANNELS", "limits the channels, and with them the bandwidth"},
    {"NCCL_MIN_NCHANNELS", "asks for more channels than NCCL would take"},
    {"NCCL_MAX_CTAS", "limits the channels, and with them the bandwidth"},
    {"NCCL_CROSS_NIC", "says whether a ring may enter and leave a node by different NICs"},
    {"NCCL_PXN_DISABLE", "1 forbids a GPU to use another GPU's NIC"},
    {"NCCL_TOPO_FILE", "replaces what NCCL sees of the machine by a file"},
    {"NCCL_GRAPH_FILE", "replaces NCCL's search by a file"},
    {"NCCL_CUMEM_ENABLE", "chooses how memory is shared between processes"},
    {"NCCL_BUFFSIZE", "changes the size of a channel's buffer"},
};

std::string pair_text(int from, int to) { return std::to_string(from) + "-" + std::to_string(to); }

// Up to six pairs, each once whatever its direction.
std::string pairs_text(const std::vector<std::pair<int, int>>& pairs) {
  std::vector<std::pair<int, int>> each = pairs;
  for (auto& [a, b] : each)
    if (a > b) std::swap(a, b);
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
  std::string text;
  for (std::size_t i = 0; i < each.size() && i < 6; ++i) text += (i > 0 ? ", " : "") + pair_text(each[i].first, each[i].second);
  return text + (each.size() > 6 ? " and " + std::to_string(each.size() - 6) + " more" : "");
}

class Findings {
 public:
  explicit Findings(const NcclLog& log) : log_(log) {}

  std::vector<Note> all() {
    for (const auto& t : log_.transports) {
      const std::pair pair(t.from, t.to);
      if (t.via.starts_with("SHM")) shm_.push_back(pair);
      if (!t.via.starts_with("NET/")) continue;
      net_.push_back(pair);
      if (t.via.starts_with("NET/Socket")) socket_.push_back(pair);
      else if (!contains(t.via, "GDRDMA")) no_gdr_.push_back(pair);
      if (log_.on_one_host(t.from, t.to)) inside_.push_back(pair);
    }
    network();
    inside_a_host();
    gpudirect();
    nics();
    channels();
    for (const std::string& line : log_.kernel)
      warning("NCCL names the kernel's set-up: \"" + line + "\". Remedy: iommu=pt on the kernel command line or the IOMMU off in the BIOS, ACS off on the PCIe bridges (setpci), NUMA balancing off");
    for (const std::string& line : log_.warnings) warning("NCCL warned: \"" + line + "\"");
    environment();
    for (Note& n : nccl_log_notes(log_)) infos_.push_back(std::move(n));
    for (Note& n : infos_) list_.push_back(std::move(n));
    return std::move(list_);
  }

 private:
  const NcclLog& log_;
  std::vector<Note> list_, infos_;  // warnings, with all that is less behind them at the end
  std::vector<std::pair<int, int>> shm_, net_, socket_, no_gdr_, inside_;

  void info(std::string text) { infos_.push_back({Severity::info, "", std::move(text)}); }
  void warning(std::string text) { list_.push_back({Severity::warning, "", std::move(text)}); }

  std::string variable(std::string_view name) const { return std::string(log_.variable(name)); }
  bool is_set(std::string_view name) const { return variable(name) == "1"; }

  bool crosses_hosts() const { return log_.nodes > 1 || net_.size() > inside_.size(); }

  void network() {
    if (!(crosses_hosts() && (!socket_.empty() || log_.network == "Socket"))) return;
    std::string why = " Remedy: check that the NICs are visible in the container (ibv_devinfo), that the network plugin is installed (libnccl-net.so) and NCCL_IB_HCA fits";
    if (is_set("NCCL_IB_DISABLE")) why = ", since NCCL_IB_DISABLE=1 is set. Remedy: unset it";
    else if (log_.has_no_ib) why = ": it found no InfiniBand or RoCE device. Remedy: pass /dev/infiniband and the NIC's user-space driver into the container, then ibv_devinfo must list it; clouds need their plugin";
    else why = "." + why;
    warning("NCCL fell back to NET/Socket (TCP through the CPU) between nodes" + why);
  }

  void inside_a_host() {
    if (!shm_.empty()) {
      std::string why;
      if (is_set("NCCL_P2P_DISABLE")) why = ", since NCCL_P2P_DISABLE=1 is set. Remedy: unset it";
      else if (!variable("NCCL_P2P_LEVEL").empty()) why = "; NCCL_P2P_LEVEL is " + variable("NCCL_P2P_LEVEL") + ". Remedy: a wider one, NCCL_P2P_LEVEL=SYS";
      else if (!log_.p2p_disabled.empty()) why = ", since the driver does not let them reach each other. Remedy: check nvidia-smi topo -p2p r; GeForce cards and many virtual machines never allow it, ACS and the IOMMU can forbid it";
      else why = ". Remedy: check nvidia-smi topo -p2p r; where that says OK, try NCCL_P2P_LEVEL=SYS";
      warning("ranks " + pairs_text(shm_) + " exchange through host memory (SHM)" + why);
    } else if (is_set("NCCL_P2P_DISABLE")) {
      warning("NCCL_P2P_DISABLE=1 is set: GPUs may not reach each other's memory. Remedy: unset it");
    }
    for (const std::string& line : log_.p2p_disabled)
      if (contains(line, "NVLINK")) warning("P2P is off between GPUs that NVLink joins (\"" + line + "\"): a fault of the hardware or its set-up. Remedy: nvidia-smi nvlink -s, nvidia-smi topo -p2p r, fabric manager, reboot");
      else if (shm_.empty()) warning("\"" + line + "\". Remedy: check nvidia-smi topo -p2p r, ACS and the IOMMU");
    if (!inside_.empty())
      warning("ranks " + pairs_text(inside_) + " are on one host and exchange over the network. Cause: neither P2P nor shared memory is allowed (containers without a common /dev/shm or IPC namespace, NCCL_SHM_DISABLE=1), or NICs are nearer than the GPUs to each other. Remedy: --ipc=host or --shm-size, NCCL_NET_DISABLE_INTRA=1");
  }

  void gpudirect() {
    if (!no_gdr_.empty())
      warning("GPUDirect RDMA is off between ranks " + pairs_text(no_gdr_) + ": NICs copy through host memory. " + (log_.no_gpudirect.empty() ? "" : "NCCL says \"" + log_.no_gpudirect[0] + "\". ") +
              "Remedy: modprobe nvidia_peermem or a kernel with DMA-BUF, NIC and GPU below one PCIe switch or NCCL_NET_GDR_LEVEL=SYS, ACS off");
    else if (!log_.no_gpudirect.empty() && !log_.has_gpudirect && log_.nodes > 1 && log_.network != "Socket")
      warning("\"" + log_.no_gpudirect[0] + "\": NICs copy through host memory. Remedy: modprobe nvidia_peermem or a kernel with DMA-BUF");
  }

  void nics() {
    if (log_.nics.size() < 2) return;
    std::vector<long long> used;
    for (const auto& t : log_.transports) {
      if (!t.via.starts_with("NET/") || t.via.starts_with("NET/Socket")) continue;
      const std::size_t slash = t.via.find('/', 4);
      if (const auto nic = slash == std::string::npos ? std::nullopt : number_at(t.via, slash + 1)) used.push_back(*nic);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    if (used.empty() || used.size() * 2 > log_.nics.size()) return;
    warning(std::to_string(used.size()) + " of " + std::to_string(log_.nics.size()) + " NICs carry the traffic. Cause: few GPUs of the node take part, NICs far from the GPUs in use, or NCCL_IB_HCA" +
            (variable("NCCL_IB_HCA").empty() ? "" : " (" + variable("NCCL_IB_HCA") + ")") + ". Remedy: nvidia-smi topo -m, one NIC for each GPU or pair below the same switch");
  }

  void channels() {
    if (log_.coll == 1) warning("NCCL uses a single channel: one block of a GPU's processors drives all traffic. Cause: no route faster than the search's lowest rate was found, or NCCL_MAX_NCHANNELS. Remedy: NCCL_MIN_NCHANNELS=8 as a trial, check the topology NCCL sees with NCCL_DEBUG_SUBSYS=GRAPH");
    // Inside a host 3 GB/s is the least that sound cards are planned with (V100 and older across sockets), and between hosts 25 Gbit/s.
    const bool crosses = log_.hosts > 1 || crosses_hosts();
    for (const auto& g : log_.graphs) {
      // NCCL prints two rates always; the second says something of the network only where there is one.
      const double rate = crosses && g.inter > 0 ? std::min(g.intra, g.inter) : g.intra;
      if (g.pattern != 4 || rate <= 0 || rate >= 2.9) continue;
      if (rate < (crosses ? 0.2 : 1)) warning("NCCL's search found no ring and took the order of ranks at its lowest rate. Remedy: NCCL_MIN_NCHANNELS=8, or a graph file");
      else
        warning("NCCL plans its rings at " + format_exact(rate) + " GB/s a channel: no more than 20 Gbit/s Ethernet or one lane of PCIe carries. Cause: a slow network, an interface that does not say its speed (NCCL takes 10 Gbit/s), a card on a riser or a link that trained down. "
                "Remedy: ethtool or ibstat for the rate, NCCL_SOCKET_IFNAME and NCCL_IB_HCA for the NICs meant, nvidia-smi -q -d PCIE for width and generation");
    }
    if (log_.nvls == 0 && log_.has_multicast) warning(std::string("NVLS is off though the GPUs can do it") + (variable("NCCL_NVLS_ENABLE") == "0" ? std::string(", since NCCL_NVLS_ENABLE=0 is set. Remedy: unset it") : std::string(". Cause: ") + (log_.is_before(28) ? "fewer than three ranks on the node, or " : "") + "memory could not be bound. Remedy: fabric manager, NCCL_NVLS_ENABLE=1"));
    else if (log_.lacks_multicast && !log_.has_multicast && log_.nvls == 0) info("NVLS is not available here: it needs an NVSwitch and Hopper or newer, and the fabric manager running");
  }

  void environment() {
    for (const auto& [name, value] : log_.environment) {
      const auto known = std::find_if(std::begin(kVariables), std::end(kVariables), [&](const KnownVariable& v) { return v.name == name; });
      if (known != std::end(kVariables)) info(name + "=" + value + " is set (" + std::string(known->effect) + ")");
    }
  }
};

}  // namespace

std::vector<Note> nccl_log_notes(const NcclLog& log) {
  std::vector<Note> notes;
  const auto add = [&](std::string text) { notes.push_back({Severity::info, "", std::move(text)}); };
  if (log.communicators > 1)
    add("the log holds " + std::to_string(log.communicators) + " communicators, of one job or of several runs: read is one with the most ranks, " + std::to_string(log.ranks) + (log.comm_id.empty() ? "" : " (commId " + log.comm_id + ")") +
        "; the others are left out");
  if (log.is_ambiguous) add("its rings contradict each other, as of several communicators that are not named: the first of each channel is shown");
  if (log.is_cut) add("the log has more than is read: the rest is left out");
  return notes;
}

std::vector<Note> nccl_log_findings(const NcclLog& log) { return Findings(log).all(); }

}  // namespace wireplan
