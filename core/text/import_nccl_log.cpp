#include "core/text/import_nccl_log.hpp"

#include <algorithm>
#include <map>

#include "core/base/format.hpp"
#include "core/count/groups.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/log_text.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostCompared = 512;

// NCCL's numbers of patterns.
const char* kind_of(const NcclLog::Graph& g) { return g.pattern == 4 ? "ring" : g.pattern == 5 ? "nvls" : "tree"; }
const char* pattern_of(const NcclLog::Graph& g) { return g.pattern == 1 ? "balanced-tree" : kind_of(g); }

std::string list_text(const std::vector<int>& list) {
  std::string text;
  for (const int n : list) text += (text.empty() ? "" : " ") + std::to_string(n);
  return text;
}

// Kind and rate of the routes a ring takes, in order of these: equal for rings that are as good as each other.
std::vector<std::pair<PathKind, double>> routes_of(const PreparedCluster& cluster, const std::vector<int>& ring) {
  std::vector<std::pair<PathKind, double>> routes;
  for (std::size_t k = 0; k < ring.size(); ++k) {
    const PreparedCluster::Route& r = cluster.route(ring[k], ring[(k + 1) % ring.size()]);
    routes.emplace_back(r.kind, r.rate.value);
  }
  std::sort(routes.begin(), routes.end());
  return routes;
}

// GPU index of each rank of the first rank's host; a rank that is elsewhere has none.
std::map<int, int> gpus_of_host(const NcclLog& log, int gpus) {
  std::map<int, int> gpu;
  if (log.members.empty()) return gpu;
  const std::string& host = log.members.front().host;
  int next = 0;
  bool has_numbers = true;
  for (const auto& m : log.members) {
    if (m.host != host) continue;
    has_numbers = has_numbers && m.nvml_device >= 0 && m.nvml_device < gpus;
    gpu[m.rank] = next++;
  }
  if (has_numbers)
    for (auto& [rank, index] : gpu) index = log.member(rank)->nvml_device;
  std::vector<int> seen;
  for (const auto& [rank, index] : gpu) seen.push_back(index);
  std::sort(seen.begin(), seen.end());
  const bool is_sound = !seen.empty() && seen.back() < gpus && std::adjacent_find(seen.begin(), seen.end()) == seen.end();
  return is_sound ? gpu : std::map<int, int>();
}

struct Expected {
  std::string_view text;
  bool p2p, shm;
};
Expected expected_of(PathKind kind) {
  switch (kind) {
    case PathKind::nvlink: return {"P2P over NVLink", true, false};
    case PathKind::nvswitch: return {"P2P over NVSwitch", true, false};
    case PathKind::pcie_switch: return {"P2P below a PCIe switch", true, false};
    case PathKind::host_bridge: return {"P2P or SHM through the host bridge", true, true};
    case PathKind::sockets: return {"P2P or SHM between sockets", true, true};
    case PathKind::host_memory: return {"SHM (no P2P)", false, true};
    case PathKind::self:
    case PathKind::none: break;
  }
  return {"nothing", false, false};
}

std::string cause_of(const Expected& expected, std::string_view logged) {
  if (logged.starts_with("NET/")) return "usual cause: containers without a common /dev/shm or IPC namespace, or P2P and SHM both disabled";
  if (logged.starts_with("SHM") && expected.p2p) return "usual cause: P2P is off in the driver (nvidia-smi topo -p2p r), by ACS or the IOMMU, by NCCL_P2P_DISABLE or NCCL_P2P_LEVEL";
  if (logged.starts_with("P2P")) return "the GPUs can reach each other, better than the cluster says: state \"p2p\": true for the node";
  return "the cluster's wiring may not be that of the log";
}

void compare_transports(const NcclLog& log, const PreparedCluster& cluster, const std::map<int, int>& gpu, std::vector<NcclComparison>& all) {
  const Network* network = cluster.cluster->network ? &*cluster.cluster->network : nullptr;
  for (const auto& t : log.transports) {
    if (all.size() >= kMostCompared) return;
    const std::string what = std::to_string(t.from) + " -> " + std::to_string(t.to);
    const auto from = gpu.find(t.from), to = gpu.find(t.to);
    if (from != gpu.end() && to != gpu.end() && from != to) {
      const Expected e = expected_of(cluster.route(from->second, to->second).kind);
      const bool agrees = (t.via.starts_with("P2P") && e.p2p) || (t.via.starts_with("SHM") && e.shm);
      all.push_back({what, t.via, std::string(e.text), agrees, agrees ? "" : cause_of(e, t.via)});
    } else if (network != nullptr && t.via.starts_with("NET/") && !log.on_one_host(t.from, t.to)) {
      const bool is_tcp = network->fabric == Fabric::ethernet, is_socket = t.via.starts_with("NET/Socket");
      const bool has_gdr = contains(t.via, "GDRDMA"), agrees = is_tcp == is_socket && (is_tcp || has_gdr == network->gpudirect);
      const std::string predicted = "NET over " + std::string(name_of(network->fabric)) + (is_tcp ? "" : network->gpudirect ? " with GPUDirect" : " without GPUDirect");
      all.push_back({what, t.via, predicted, agrees,
                     agrees ? "" : is_socket ? "usual cause: the NICs or the plugin are not visible to NCCL, which falls back to TCP" : "usual cause: nvidia_peermem is not loaded, or NIC and GPU are too far apart (NCCL_NET_GDR_LEVEL)"});
    }
  }
}

Json write_graph(const NcclLog::Graph& g) {
  Json j = Json::object();
  put(j, "kind", kind_of(g));
  put(j, "pattern", pattern_of(g));
  put(j, "channels", g.channels);
  put(j, "intra_bytes_per_s", g.intra * 1e9);
  put(j, "inter_bytes_per_s", g.inter * 1e9);
  put(j, "intra_type", g.intra_type);
  put(j, "inter_type", g.inter_type);
  put(j, "cross_nic", g.cross_nic);
  put(j, "same_channels", g.same_channels);
  return j;
}

// One entry for each operation with its points; an older log does not say the operation.
Json write_choices(const std::vector<NcclLog::Choice>& choices) {
  Json all = Json::array();
  std::optional<Collective> last;
  for (const auto& c : choices) {
    if (all.empty() || c.collective != last) {
      Json one = Json::object();
      put(one, "op", nullptr);
      if (c.collective) put(one, "op", name_of(*c.collective));
      put(one, "points", Json::array());
      all.push_back(std::move(one));
      last = c.collective;
    }
    Json point = Json::array({number(c.size), name_of(c.algorithm), name_of(c.protocol), nullptr, nullptr, nullptr, nullptr});
    if (c.time > 0) point[3] = number(c.time);
    if (c.channels > 0) point[6] = c.channels;
    all.back()["points"].push_back(std::move(point));
  }
  return all;
}

}  // namespace

std::vector<NcclComparison> compare_with_cluster(const NcclLog& log, const PreparedCluster& cluster) {
  std::vector<NcclComparison> all;
  const std::map<int, int> gpu = gpus_of_host(log, cluster.gpus);
  if (gpu.size() < 2) return all;
  std::vector<int> members;
  for (const auto& [rank, index] : gpu) members.push_back(index);
  if (!log.rings.empty()) {
    std::vector<int> logged;
    for (const int rank : log.rings.front().order)
      if (const auto found = gpu.find(rank); found != gpu.end()) logged.push_back(found->second);
    const std::vector<int> predicted = ring_on_wiring(cluster, single_group(static_cast<int>(members.size()), 1, members)).order;
    const bool agrees = cluster.switched || logged == predicted || routes_of(cluster, logged) == routes_of(cluster, predicted);
    all.push_back({"ring", list_text(logged), cluster.switched ? "any order: every pair meets in the NVSwitch" : list_text(predicted), agrees,
                   agrees ? "" : "usual cause: NCCL sees another topology (virtual machine, NCCL_TOPO_FILE, missing NVLinks), so its ring takes other links"});
  }
  compare_transports(log, cluster, gpu, all);
  return all;
}

Json write_nccl_log(const NcclLog& log, const std::vector<NcclComparison>& comparison) {
  Json j = Json::object(), members = Json::array(), graphs = Json::array(), rings = Json::array(), trees = Json::array(), transports = Json::array(), findings = Json::array(),
       environment = Json::object(), channels = Json::object();
  for (const auto& m : log.members) {
    Json one = Json::object();
    put(one, "rank", m.rank);
    put(one, "host", m.host);
    put(one, "bus_id", m.bus_id);
    put(one, "device", nullptr);
    if (m.nvml_device >= 0 || m.device >= 0) put(one, "device", m.nvml_device >= 0 ? m.nvml_device : m.device);
    members.push_back(std::move(one));
  }
  for (const auto& g : log.graphs) graphs.push_back(write_graph(g));
  for (const auto& r : log.rings) {
    Json one = Json::object();
    put(one, "channels", Json(r.channels));
    put(one, "order", Json(r.order));
    rings.push_back(std::move(one));
  }
  for (const auto& t : log.trees) {
    Json one = Json::object(), parent = Json::array();
    for (const int p : t.parent) parent.push_back(p == -2 ? Json(nullptr) : Json(p));
    put(one, "channels", Json(t.channels));
    put(one, "parent", std::move(parent));
    trees.push_back(std::move(one));
  }
  for (const auto& t : log.transports) {
    Json one = Json::object();
    put(one, "from", t.from);
    put(one, "to", t.to);
    put(one, "via", t.via);
    put(one, "channels", Json(t.channels));
    transports.push_back(std::move(one));
  }
  const std::pair<const char*, int> counts[] = {{"coll", log.coll}, {"nvls", log.nvls}, {"p2p", log.p2p}, {"p2p_per_peer", log.p2p_per_peer}};
  for (const auto& [key, n] : counts)
    if (n >= 0) put(channels, key, n);
    else put(channels, key, nullptr);
  for (const auto& [name, value] : log.environment) put(environment, name.c_str(), value);
  for (const Note& n : nccl_log_findings(log)) {
    Json one = write_note(n);
    one.erase("path");
    findings.push_back(std::move(one));
  }
  put(j, "schema", "wireplan.nccl/1");
  put(j, "nccl", nullptr);
  if (!log.version.empty()) put(j, "nccl", log.version);
  put(j, "ranks", log.ranks);
  put(j, "nccl_nodes", nullptr);
  if (log.nodes > 0) put(j, "nccl_nodes", log.nodes);
  put(j, "network", nullptr);
  if (!log.network.empty()) put(j, "network", log.network);
  put(j, "nics", Json(log.nics));
  put(j, "members", std::move(members));
  put(j, "graphs", std::move(graphs));
  put(j, "channels", std::move(channels));
  put(j, "rings", std::move(rings));
  put(j, "trees", std::move(trees));
  put(j, "choices", write_choices(log.choices));
  put(j, "transports", std::move(transports));
  put(j, "env", std::move(environment));
  put(j, "findings", std::move(findings));
  if (comparison.empty()) return j;
  Json compared = Json::array();
  for (const NcclComparison& c : comparison) {
    Json one = Json::object();
    put(one, "what", c.what);
    put(one, "logged", c.logged);
    put(one, "predicted", c.predicted);
    put(one, "agrees", c.agrees);
    put(one, "text", c.text);
    compared.push_back(std::move(one));
  }
  put(j, "comparison", std::move(compared));
  return j;
}

std::string render_nccl_log(const NcclLog& log, const std::vector<NcclComparison>& comparison) {
  Sheet sheet(false);
  sheet.heading("NCCL " + (log.version.empty() ? std::string("(version not in the log)") : log.version) + ", " + std::to_string(log.ranks) + " ranks" +
                (log.nodes > 0 ? " on " + std::to_string(log.nodes) + (log.nodes == 1 ? " node" : " nodes") : ""));
  std::vector<std::string> facts;
  if (!log.network.empty()) facts.push_back("network: " + log.network);
  if (log.coll >= 0)
    facts.push_back("channels: " + std::to_string(log.coll) + " for collectives" + (log.nvls >= 0 ? ", " + std::to_string(log.nvls) + " NVLS" : "") +
                    (log.p2p >= 0 ? ", " + std::to_string(log.p2p) + " point-to-point" : ""));
  for (const auto& g : log.graphs)
    facts.push_back(std::string(pattern_of(g)) + ": " + std::to_string(g.channels) + " channels at " + format_exact(g.intra) + " GB/s by " + g.intra_type +
                    (g.inter_type.empty() ? "" : ", to the network " + format_exact(g.inter) + " GB/s by " + g.inter_type));
  for (std::size_t i = 0; i < log.rings.size() && i < 8; ++i) facts.push_back("ring of channels " + list_text(log.rings[i].channels) + ": " + list_text(log.rings[i].order));
  sheet.list(facts);
  if (!log.transports.empty()) {
    Table table{{{"from", true}, {"to", true}, {"via"}, {"channels", true}}, {}, {}};
    for (std::size_t i = 0; i < log.transports.size() && i < 64; ++i) {
      const auto& t = log.transports[i];
      table.rows.push_back({std::to_string(t.from), std::to_string(t.to), t.via, std::to_string(t.channels.size())});
    }
    sheet.heading("How ranks are joined");
    sheet.table(table);
    if (log.transports.size() > 64) sheet.paragraph(std::to_string(log.transports.size() - 64) + " more pairs are in the JSON document.");
  }
  const std::vector<Note> findings = nccl_log_findings(log);
  sheet.heading("Findings");
  std::vector<std::string> items;
  for (const Note& n : findings) items.push_back((n.severity == Severity::info ? "" : "Warning: ") + n.text);
  const bool is_empty = log.ranks == 0 && log.transports.empty();
  if (items.empty()) sheet.paragraph(is_empty ? "The log does not say what NCCL set up: run once more with NCCL_DEBUG=INFO." : "Nothing unusual.");
  sheet.list(items);
  if (comparison.empty()) return sheet.text();
  sheet.heading("Beside what is predicted");
  std::size_t agreeing = 0;
  std::vector<std::string> differing;
  for (const NcclComparison& c : comparison) {
    agreeing += c.agrees;
    if (!c.agrees) differing.push_back(c.what + ": " + c.logged + ", predicted " + c.predicted + "; " + c.text);
  }
  sheet.paragraph(std::to_string(agreeing) + " of " + std::to_string(comparison.size()) + " agree.");
  sheet.list(differing);
  return sheet.text();
}

}  // namespace wireplan
