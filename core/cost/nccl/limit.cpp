#include "core/cost/nccl/limit.hpp"

#include <algorithm>

namespace wireplan::nccl {
namespace {

struct Hop { int from, to; };  // vertices

// The hops of one channel, in order: from the NIC over the GPUs back to it, or round.
std::vector<Hop> hops_of(const System& system, const Graph& graph, std::size_t channel) {
  std::vector<int> way;
  for (const int position : graph.order[channel]) way.push_back(system.gpus[static_cast<std::size_t>(position)]);
  std::vector<Hop> hops;
  const auto net = [&](int dev) {
    for (const int n : system.nets)
      if (system.vertex(n).net->dev == dev) return n;
    return -1;
  };
  for (std::size_t i = 0; i + 1 < way.size(); ++i) hops.push_back({way[i], way[i + 1]});
  if (!graph.nets.empty()) {
    const int in = net(graph.nets[channel][0]), out = net(graph.nets[channel][1]);
    if (in >= 0) hops.push_back({in, way.front()});
    if (out >= 0) hops.push_back({graph.pattern == Pattern::ring ? way.back() : way.front(), out});
  } else if (graph.pattern == Pattern::ring && way.size() > 1) {
    hops.push_back({way.back(), way.front()});
  }
  return hops;
}

// The end of a PCIe link that is farther from the CPU; -1: it joins no parts that are GPUs or switches.
int lower_part(const System& system, const Edge& edge) {
  const Vertex &a = system.vertex(edge.from), &b = system.vertex(edge.to);
  if (edge.kind != EdgeKind::pci) return -1;
  return b.kind == VertexKind::cpu || a.kind == VertexKind::gpu || (a.part != nullptr && a.part->above == b.part_index) ? a.part_index : b.part_index;
}

}  // namespace

Limit limit_of(const System& system, const Graph& graph) {
  std::vector<double> load(system.edges.size(), 0);
  std::vector<int> uses(system.edges.size(), 0);
  for (std::size_t c = 0; c < graph.order.size(); ++c)
    for (const Hop& hop : hops_of(system, graph, c)) {
      const bool intra = system.vertex(hop.from).kind == VertexKind::gpu && system.vertex(hop.to).kind == VertexKind::gpu;
      for (const int e : system.path(hop.from, hop.to).edges) {
        load[static_cast<std::size_t>(e)] += static_cast<double>(intra ? graph.intra : graph.inter);
        ++uses[static_cast<std::size_t>(e)];
      }
    }
  Limit limit;
  double most = 0;
  for (std::size_t c = 0; c < graph.order.size(); ++c)
    for (const Hop& hop : hops_of(system, graph, c))
      for (const int e : system.path(hop.from, hop.to).edges) {
        const double filled = load[static_cast<std::size_t>(e)] / static_cast<double>(system.edge(e).rate);
        if (filled <= most * (1 + 1e-6)) continue;
        most = filled;
        const auto gpu = [&](int v) { return static_cast<int>(std::find(system.gpus.begin(), system.gpus.end(), v) - system.gpus.begin()); };
        const Vertex &from = system.vertex(hop.from), &to = system.vertex(hop.to);
        limit.from = from.kind == VertexKind::gpu ? gpu(hop.from) : -1;
        limit.to = to.kind == VertexKind::gpu ? gpu(hop.to) : -1;
        limit.nic = from.kind == VertexKind::net ? from.net->dev : to.kind == VertexKind::net ? to.net->dev : -1;
        limit.part = lower_part(system, system.edge(e));
        limit.link = system.edge(e).kind;
        limit.rate = system.edge(e).rate;
        limit.uses = uses[static_cast<std::size_t>(e)];
        limit.filled = filled;
      }
  return limit;
}

}  // namespace wireplan::nccl
