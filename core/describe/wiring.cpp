#include "core/describe/wiring.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

std::string number_text(int n) { return format_exact(n); }
std::string indexed(std::string_view list, std::size_t i) {
  return std::string(list) + "." + format_exact(static_cast<double>(i));
}

bool is_gpu_index(Checks& check, const std::string& key, int gpu, int gpus) {
  if (gpu >= 0 && gpu < gpus) return true;
  check.fail(key, number_text(gpu), "a GPU index, 0 to " + number_text(gpus - 1),
             "there is no GPU " + number_text(gpu) + " among " + number_text(gpus) +
                 ". Nearest: " + number_text(gpu < 0 ? 0 : gpus - 1));
  return false;
}

void check_groups(Checks& check, const std::vector<PcieGroup>& groups, int gpus, int sockets) {
  if (groups.empty()) return;
  std::vector<bool> seen(static_cast<std::size_t>(gpus));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PcieGroup& group = groups[i];
    const std::string key = indexed("groups", i);
    check.range(key + ".socket", group.socket, 0, std::max(0, sockets - 1));
    check.range(key + ".numa", group.numa, 0, 1023);
    check.range(key + ".nics", group.nics, 0, 1024);
    for (std::size_t j = 0; j < group.gpus.size(); ++j) {
      const std::string place = indexed(key + ".gpus", j);
      if (!is_gpu_index(check, place, group.gpus[j], gpus)) continue;
      if (seen[static_cast<std::size_t>(group.gpus[j])])
        check.fail(place, number_text(group.gpus[j]), "each GPU in one group",
                   "GPU " + number_text(group.gpus[j]) + " stands in two groups. Nearest: leave it in one");
      seen[static_cast<std::size_t>(group.gpus[j])] = true;
    }
  }
  for (int gpu = 0; gpu < gpus; ++gpu)
    if (!seen[static_cast<std::size_t>(gpu)]) {
      check.fail("groups", number_text(gpu), "every GPU in one group",
                 "GPU " + number_text(gpu) + " stands in no group. Nearest: name it in one, or leave groups out");
      return;
    }
}

// Two GPUs that are joined once: no GPU with itself, no pair twice.
template <std::size_t N>
void check_pairs(Checks& check, std::string_view list, const std::vector<std::array<int, N>>& pairs, int gpus) {
  std::vector<std::array<int, 2>> seen;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::string key = indexed(list, i);
    const int a = pairs[i][0], b = pairs[i][1];
    if (!is_gpu_index(check, key, a, gpus) || !is_gpu_index(check, key, b, gpus)) continue;
    const std::string given = "[" + number_text(a) + "," + number_text(b) + "]";
    if (a == b)
      check.fail(key, given, "two different GPUs",
                 "GPU " + number_text(a) + " is linked to itself. Nearest: name another GPU");
    if constexpr (N > 2) check.range(key + ".2", pairs[i][2], 1, 1024);
    seen.push_back({std::min(a, b), std::max(a, b)});
  }
  sort(seen);
  for (std::size_t i = 1; i < seen.size(); ++i)
    if (seen[i] == seen[i - 1]) {
      check.fail(list, "[" + number_text(seen[i][0]) + "," + number_text(seen[i][1]) + "]", "each pair once",
                 "GPUs " + number_text(seen[i][0]) + " and " + number_text(seen[i][1]) +
                     " are listed twice. Nearest: once, with the count of links");
      return;
    }
}

// Routes pass through switches and CPUs: how many they may pass bounds the work of finding them. No machine has nearly as many.
void check_chains(Checks& check, const WiringGraph& graph) {
  constexpr int kMostHosts = 128, kMostSwitches = 32;
  const std::size_t count = graph.components.size();
  int hosts = 0;
  for (const Component& c : graph.components) hosts += c.kind == ComponentKind::cpu || c.kind == ComponentKind::root;
  check.require(hosts <= kMostHosts, "components", number_text(hosts), "at most 128 CPUs and root complexes",
                "components has " + number_text(hosts) + " CPUs and root complexes. Nearest: 128");
  std::vector<std::vector<std::size_t>> next(count);
  for (const Link& l : graph.links) {
    const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
    if (a >= count || b >= count || graph.components[a].kind != ComponentKind::pcie_switch || graph.components[b].kind != ComponentKind::pcie_switch) continue;
    next[a].push_back(b);
    next[b].push_back(a);
  }
  std::vector<bool> seen(count, false);
  for (std::size_t start = 0; start < count; ++start) {
    if (seen[start] || next[start].empty()) continue;
    std::vector<std::size_t> piece{start};
    seen[start] = true;
    for (std::size_t i = 0; i < piece.size(); ++i)
      for (std::size_t n : next[piece[i]])
        if (!seen[n]) {
          seen[n] = true;
          piece.push_back(n);
        }
    const int switches = static_cast<int>(piece.size());
    if (switches <= kMostSwitches) continue;
    check.fail("links", number_text(switches), "at most 32 PCIe switches joined to each other",
               number_text(switches) + " PCIe switches are joined to each other, from " + graph.components[start].id + " on. Nearest: 32");
    return;
  }
}

// All routes together may have 2^26 links, which bounds their memory: each of gpus² pairs is at most about
// twice as far apart as the farthest component from the GPU that finds it first.
void check_distances(Checks& check, const WiringGraph& graph, int gpus) {
  constexpr std::size_t kMostSteps = 1u << 26;
  const std::size_t count = graph.components.size();
  std::vector<std::vector<std::size_t>> next(count);
  for (const Link& l : graph.links) {
    const auto a = static_cast<std::size_t>(l.a), b = static_cast<std::size_t>(l.b);
    if (a >= count || b >= count) continue;
    next[a].push_back(b);
    next[b].push_back(a);
  }
  const auto is_gpu = [&](std::size_t i) { return graph.components[i].kind == ComponentKind::gpu; };
  std::vector<std::size_t> links(count), reached;  // no route passes a GPU
  std::vector<bool> seen(count, false);
  std::size_t farthest = 0;
  for (std::size_t gpu = 0; gpu < count; ++gpu) {
    if (!is_gpu(gpu)) continue;
    reached.assign(1, gpu);
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const std::size_t n : next[reached[i]]) {
        if (seen[n] || is_gpu(n)) continue;
        seen[n] = true;
        links[n] = links[reached[i]] + 1;
        farthest = std::max(farthest, links[n]);
        reached.push_back(n);
      }
  }
  const std::size_t pairs = static_cast<std::size_t>(std::max(gpus, 1)) * static_cast<std::size_t>(std::max(gpus, 1)), most = std::max<std::size_t>(kMostSteps / pairs / 2, 2);
  const auto text = [](std::size_t n) { return format_exact(static_cast<double>(n)); };
  check.require(farthest <= most, "links", text(farthest), "at most " + text(most) + " links from a GPU to the farthest component, with " + number_text(gpus) + " GPUs",
                "a component is " + text(farthest) + " links away from a GPU. Nearest: " + text(most));
}

void check_graph(Checks& check, const WiringGraph& graph, int gpus) {
  const std::size_t count = graph.components.size();
  int found = 0;
  std::vector<std::string_view> ids;
  for (std::size_t i = 0; i < count; ++i) {
    const Component& c = graph.components[i];
    if (c.kind == ComponentKind::gpu) ++found;
    check.range(indexed("components", i) + ".numa", c.numa, -1, 1023);
    check.range(indexed("components", i) + ".bytes_per_s", c.nic_rate.value, 0, 1e14);
    ids.push_back(c.id);
  }
  check.require(found == gpus, "components", number_text(found), "as many GPUs as the node has, " + number_text(gpus),
                "components has " + number_text(found) + " GPUs, the node " + number_text(gpus) +
                    ". Nearest: " + number_text(gpus));
  sort(ids);
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end())
    check.fail("components", quoted(*twice), "each id once",
               "component " + std::string(*twice) + " is listed twice. Nearest: another id");

  check_chains(check, graph);
  check_distances(check, graph, gpus);

  // GPUs reach each other over the links: one connected piece holds them all.
  std::vector<int> piece(count);
  for (std::size_t i = 0; i < count; ++i) piece[i] = static_cast<int>(i);
  const auto root = [&](int i) {
    while (piece[static_cast<std::size_t>(i)] != i) {
      piece[static_cast<std::size_t>(i)] = piece[static_cast<std::size_t>(piece[static_cast<std::size_t>(i)])];
      i = piece[static_cast<std::size_t>(i)];
    }
    return i;
  };
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    const Link& link = graph.links[i];
    const std::string key = indexed("links", i);
    const bool known = link.a >= 0 && link.b >= 0 && static_cast<std::size_t>(link.a) < count &&
                       static_cast<std::size_t>(link.b) < count;
    if (!known || link.a == link.b) {
      check.fail(key, "{…}", "two different components",
                 "the link does not join two different components. Nearest: ids of components");
      continue;
    }
    check.range(key + ".generation", link.generation, 0, 16);
    check.range(key + ".lanes", link.width, 0, 1024);
    check.range(key + ".bytes_per_s", link.rate.value, link.stated ? 1e3 : 0, 1e14);
    check.range(key + ".latency_s", link.latency.value, 0, 1);
    const bool rated = link.stated || link.kind == LinkKind::socket || link.kind == LinkKind::c2c ||
                       (link.generation > 0 && link.width > 0) || link.width > 0;
    check.require(rated, key + ".bytes_per_s", "null", "generation with lanes or count, or bytes_per_s",
                  "the link says neither how many lanes it has nor bytes_per_s. Nearest: bytes_per_s");
    piece[static_cast<std::size_t>(root(link.a))] = root(link.b);
  }
  int first = -1;
  for (std::size_t i = 0; i < count; ++i) {
    if (graph.components[i].kind != ComponentKind::gpu) continue;
    if (first < 0) first = static_cast<int>(i);
    if (root(static_cast<int>(i)) == root(first)) continue;
    check.fail("links", quoted(graph.components[i].id), "a path between every two GPUs",
               "no links lead from " + graph.components[static_cast<std::size_t>(first)].id + " to " +
                   graph.components[i].id + ". Nearest: add the link between their sockets");
    return;
  }
}

}  // namespace

Errors validate(const Wiring& wiring, int gpus, int sockets, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  check_groups(check, wiring.groups, gpus, sockets);
  check_pairs(check, "links", wiring.mesh, gpus);
  check_pairs(check, "pairs", wiring.pairs, gpus);
  check.range("links_per_pair", wiring.links_per_pair, 0, 1024);
  check.range("pcie.generation", wiring.pcie_generation, 0, 16);
  check.range("pcie.lanes", wiring.pcie_lanes, 0, 64);
  if (wiring.kind == WiringKind::nvlink_mesh && wiring.mesh.empty() && gpus > 1)
    check.fail("links", "[]", "at least one [GPU, GPU, links]",
               "nvlink-mesh needs links. Nearest: [[0,1,1]], or kind pcie-host");
  if (wiring.kind == WiringKind::nvlink_pairs && wiring.pairs.empty() && gpus > 1)
    check.fail("pairs", "[]", "at least one [GPU, GPU]",
               "nvlink-pairs needs pairs. Nearest: [[0,1]], or kind pcie-host");
  if (wiring.kind == WiringKind::graph) check_graph(check, wiring.graph, gpus);
  return errors;
}

}  // namespace wireplan
