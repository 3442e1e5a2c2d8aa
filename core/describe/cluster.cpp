#include "core/describe/cluster.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

constexpr int kMaxNodes = 100'000, kMaxGpusPerNode = 1'024;
constexpr double kMaxRate = 1e14, kMaxGpus = 1e8;

void append(Errors& to, Errors from) { to.insert(to.end(), from.begin(), from.end()); }

void check_p2p_matrix(Checks& check, const Node& node) {
  // "01/10": one row per GPU, one digit per peer.
  const std::string& text = node.p2p_matrix;
  const std::size_t n = static_cast<std::size_t>(node.gpus);
  bool sound = text.size() == n * n + n - 1;
  for (std::size_t i = 0; sound && i < text.size(); ++i)
    sound = i % (n + 1) == n ? text[i] == '/' : text[i] == '0' || text[i] == '1';
  check.require(
      sound, "p2p", quoted(text.substr(0, 80)), "a row of 0 and 1 for each GPU, joined by '/'",
      "p2p is no matrix of " + format_exact(node.gpus) + " rows. Nearest: true, false, or \"01/10\" for two GPUs");
}

void check_gpus(Checks& check, const Cluster& cluster) {
  const std::string last = format_exact(cluster.node.gpus - 1), listed = format_exact(static_cast<double>(cluster.gpus.size()));
  std::vector<bool> seen(static_cast<std::size_t>(std::max(cluster.node.gpus, 0)));
  for (std::size_t i = 0; i < cluster.gpus.size(); ++i) {
    const int gpu = cluster.gpus[i];
    const bool inside = gpu >= 0 && gpu < cluster.node.gpus;
    if (inside && !seen[static_cast<std::size_t>(gpu)]) {
      seen[static_cast<std::size_t>(gpu)] = true;
      continue;
    }
    const std::string place = "gpus." + format_exact(static_cast<double>(i)), given = format_exact(gpu);
    return check.fail(place, given, "each of GPU 0 to " + last + " once at most",
                      "gpus lists GPU " + given + (inside ? " twice" : ", which the node has not") + ". Nearest: null, the first ones");
  }
  if (cluster.gpus_per_node != static_cast<int>(cluster.gpus.size()))
    check.fail("gpus", listed + " GPUs", "as many as gpus_per_node, " + format_exact(cluster.gpus_per_node),
               "gpus lists " + listed + " GPUs, gpus_per_node is " + format_exact(cluster.gpus_per_node) + ". Nearest: gpus_per_node " + listed +
                   ", or leave it out");
}

}  // namespace

std::vector<int> used_gpus(const Cluster& c, int count) {
  std::vector<int> gpus;
  for (int i = 0; i < count; ++i) gpus.push_back(used_gpu(c, i));
  return gpus;
}

bool uses_gpu(const Cluster& c, int gpu) {
  return c.gpus.empty() ? gpu < c.gpus_per_node : std::find(c.gpus.begin(), c.gpus.end(), gpu) != c.gpus.end();
}

Errors validate(const Gpu& g, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  check.range("memory_bytes", g.memory.value, 1e6, 1e14);
  check.range("reported_bytes", g.reported.value, 0, 1e14);
  check.range("hbm_bytes_per_s", g.hbm.value, 1e6, kMaxRate);
  const struct {
    std::string_view key;
    double value;
  } peaks[] = {{"fp32_flops_per_s", g.fp32.value}, {"tf32_flops_per_s", g.tf32.value},
               {"bf16_flops_per_s", g.bf16.value}, {"fp16_flops_per_s", g.fp16.value},
               {"fp8_flops_per_s", g.fp8.value},   {"fp4_flops_per_s", g.fp4.value},
               {"int8_ops_per_s", g.int8.value}};
  for (const auto& peak : peaks) check.range(peak.key, peak.value, 0, 1e18);
  check.range("sm_count", g.sm_count, 0, 1e6);
  check.range("boost_clock_hz", g.boost_clock_hz, 0, 1e11);
  check.range("tdp_w", g.tdp_w, 0, 1e5);
  check.range("nvlink.generation", g.nvlink_generation, 0, 16);
  check.range("nvlink.links", g.nvlink_links, 0, 1024);
  check.range("nvlink.bytes_per_s_per_direction", g.nvlink.value, 0, kMaxRate);
  check.range("pcie.generation", g.pcie_generation, 1, 16);
  check.range("pcie.lanes", g.pcie_lanes, 1, 64);
  return errors;
}

Errors validate(const Node& node, const std::string& prefix) {
  Errors errors = validate(node.gpu, joined_path(prefix, "gpu"));
  Checks check(errors, prefix);
  const bool counted = check.range("gpus", node.gpus, 1, kMaxGpusPerNode);
  const bool socketed = check.range("sockets", node.sockets, 1, 64);
  check.range("numa_nodes", node.numa_nodes, 1, 1024);
  check.range("host_memory_bytes", node.host_memory.value, 0, 1e15);
  if (node.power_limit_w != 0) check.range("power_limit_w", node.power_limit_w, 10, 1e5);  // 0 stands for null
  if (counted && socketed)
    append(errors, validate(node.wiring, node.gpus, node.sockets, joined_path(prefix, "wiring")));
  if (counted && !node.p2p_matrix.empty()) check_p2p_matrix(check, node);
  const bool has_links = node.gpu.nvlink.value > 0 || node.gpus == 1;
  const WiringKind kind = node.wiring.kind;
  if (!has_links &&
      (kind == WiringKind::nvswitch || kind == WiringKind::nvlink_mesh || kind == WiringKind::nvlink_pairs))
    check.fail("wiring.kind", quoted(name_of(kind)), "pcie-switch | pcie-host | graph for a GPU without NVLink",
               (node.gpu.name.empty() ? "the GPU" : node.gpu.name) + " has no NVLink, so its wiring cannot be " +
                   std::string(name_of(kind)) + ". Nearest: pcie-host");
  return errors;
}

Errors validate(const Network& network, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  check.range("nics_per_node", network.nics_per_node, 1, 1024);
  check.range("nic_bytes_per_s", network.nic_rate.value, 1e6, kMaxRate);
  check.range("latency_s", network.latency.value, 0, 1);
  check.range("oversubscription", network.oversubscription, 1, 1e4);
  return errors;
}

Errors validate(const Cluster& cluster, const std::string& prefix) {
  Errors errors = validate(cluster.node, joined_path(prefix, "node"));
  Checks check(errors, prefix);
  const bool counted = check.range("nodes", cluster.nodes, 1, kMaxNodes);
  if (cluster.network) append(errors, validate(*cluster.network, joined_path(prefix, "network")));
  const int gpus = cluster.node.gpus;
  if (gpus >= 1 && (cluster.gpus_per_node < 1 || cluster.gpus_per_node > gpus))
    check.fail("gpus_per_node", format_exact(cluster.gpus_per_node), "1 to " + format_exact(gpus),
               "gpus_per_node " + format_exact(cluster.gpus_per_node) + ", the node has " + format_exact(gpus) +
                   " GPUs. Nearest: " + format_exact(cluster.gpus_per_node < 1 ? 1 : gpus));
  if (const double all = static_cast<double>(cluster.nodes) * cluster.gpus_per_node; counted && all > kMaxGpus)
    check.fail("nodes", format_exact(cluster.nodes), "at most " + format_exact(kMaxGpus) + " GPUs in all",
               format_exact(cluster.nodes) + " nodes of " + format_exact(cluster.gpus_per_node) + " GPUs are " + format_exact(all) +
                   ". Nearest: " + format_exact(std::floor(kMaxGpus / cluster.gpus_per_node)) + " nodes");
  if (!cluster.gpus.empty() && gpus >= 1 && gpus <= kMaxGpusPerNode) check_gpus(check, cluster);
  check.range("rack_nodes", cluster.rack_nodes, 0, kMaxNodes);
  if (cluster.profile) append(errors, validate(*cluster.profile, joined_path(prefix, "profile")));
  if (counted && cluster.nodes > 1 && !cluster.network)
    check.fail(
        "network", "null", "<fabric>-<NICs per node>x<Gbit/s>, or an object",
        format_exact(cluster.nodes) +
            " nodes need a network, and none is known for such nodes. Nearest: \"infiniband-8x400\", or nodes 1");
  return errors;
}

}  // namespace wireplan
