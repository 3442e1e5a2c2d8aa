#include <algorithm>
#include <bit>

#include "core/cost/nccl/system.hpp"

namespace wireplan::nccl {
namespace {

// How far one link is by itself.
PathType type_of(const Edge& edge, VertexKind one, VertexKind other) {
  if (one == VertexKind::pci && other == VertexKind::pci) return PathType::pxb;
  if (edge.kind == EdgeKind::net) return PathType::loc;
  if (edge.kind == EdgeKind::pci && (one == VertexKind::cpu || other == VertexKind::cpu)) return PathType::phb;
  return static_cast<PathType>(edge.kind);
}

// The same link in the other direction; -1: a file names it at one end only.
int back_of(const System& system, const Edge& edge) {
  for (const int e : system.vertex(edge.to).edges)
    if (system.edge(e).to == edge.from && system.edge(e).kind == edge.kind) return e;
  return -1;
}

// A GPU in the middle passes on one NVLink from one GPU to another (NVB) and nothing else.
bool passes_on(const System& system, const Edge& edge, const Path& path) {
  if (system.vertex(edge.from).kind != VertexKind::gpu) return true;
  return edge.kind == EdgeKind::nvl && system.vertex(edge.to).kind == VertexKind::gpu && path.edges.size() <= 1;
}

// All paths to `base`: fewest hops, and never a slower way to replace one.
void set_paths_to(System& system, int base, bool nvb_disable) {
  std::vector<Path>& to = system.paths[static_cast<std::size_t>(base)];
  to.assign(system.vertices.size(), {});
  to[static_cast<std::size_t>(base)] = {PathType::loc, kLocalRate, {}};
  std::vector<int> reached{base};
  std::vector<bool> waits(system.vertices.size(), false);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const int here = reached[i];
    const VertexKind kind = system.vertex(here).kind;
    const Path& path = to[static_cast<std::size_t>(here)];
    waits[static_cast<std::size_t>(here)] = false;
    for (const int e : system.vertex(here).edges) {
      const Edge& edge = system.edge(e);
      if (here != base && (!passes_on(system, edge, path) || (nvb_disable && kind == VertexKind::gpu))) continue;
      Path& longer = to[static_cast<std::size_t>(edge.to)];
      const GBps rate = std::min(path.rate, edge.rate);
      const bool is_shortest = longer.rate == 0 || longer.edges.size() > path.edges.size();
      const int back = is_shortest && rate > longer.rate ? back_of(system, edge) : -1;
      if (back < 0) continue;
      longer.rate = rate;
      longer.type = std::max(path.type, type_of(edge, kind, system.vertex(edge.to).kind));
      if (kind == VertexKind::gpu && here != base && longer.type == PathType::nvl) longer.type = PathType::nvb;
      longer.edges = {back};
      longer.edges.insert(longer.edges.end(), path.edges.begin(), path.edges.end());
      if (!waits[static_cast<std::size_t>(edge.to)]) reached.push_back(edge.to);
      waits[static_cast<std::size_t>(edge.to)] = true;
    }
  }
}

PathType merged(PathType a, PathType b) {
  if (std::max(a, b) == PathType::phb && std::min(a, b) == PathType::c2c) return PathType::p2c;
  return std::max(a, b);
}

// The way from `from` to `to` now leads by `over`.
void divert(System& system, int over, int from, int to) {
  const Path first = system.path(from, over), second = system.path(over, to);
  Path& path = system.path(from, to);
  path.edges = first.edges;
  path.edges.insert(path.edges.end(), second.edges.begin(), second.edges.end());
  path.type = system.vertex(over).kind == VertexKind::gpu ? PathType::pxn : merged(first.type, second.type);
  path.rate = std::min(first.rate, second.rate);
}

// Whether the driver lets the two at each other's memory.
bool driver_allows(const Request& request, const Vertex& a, const Vertex& b) {
  if (request.p2p.empty()) return true;
  return request.p2p[static_cast<std::size_t>(a.gpu)][static_cast<std::size_t>(b.gpu)] && request.p2p[static_cast<std::size_t>(b.gpu)][static_cast<std::size_t>(a.gpu)];
}

// Rule 3: both reach a NIC, PXB or nearer, faster than each other.
bool network_is_faster(const System& system, const Request& request, int a, int b) {
  if (request.environment.net_disable_intra) return false;
  const GBps direct = system.path(a, b).rate;
  const auto to_net = [&](int gpu) {
    GBps best = 0;
    for (const int net : system.nets) {
      const Path& path = system.path(gpu, net);
      if (path.type <= PathType::pxb) best = std::max(best, path.rate);
    }
    return best;
  };
  return to_net(a) > direct && to_net(b) > direct;
}

// The GPU whose NVLink and NIC a path by PXN uses.
int relay_of(const System& system, int gpu, int net) {
  const Path& path = system.path(gpu, net);
  if (path.type != PathType::pxn) return gpu;
  for (const int e : path.edges)
    if (system.vertex(system.edge(e).to).kind != VertexKind::nvs) return system.edge(e).to;
  return gpu;
}

}  // namespace

int local_cpu(const System& system, int gpu) {
  int local = system.cpus.front();
  std::size_t hops = 0;
  for (const int cpu : system.cpus) {
    const std::size_t h = system.path(gpu, cpu).edges.size();
    if (h > 0 && (hops == 0 || h < hops)) {
      local = cpu;
      hops = h;
    }
  }
  return local;
}

bool may_use_p2p(const System& system, const Request& request, int from, int to) {
  if (from == to) return true;
  const Vertex &a = system.vertex(from), &b = system.vertex(to);
  const Path& path = system.path(from, to);
  PathType level = PathType::pxb;
  if (system.vertex(system.cpus.front()).cpu == CpuClass::amd && system.gpus.size() <= 2) level = PathType::sys;
  level = request.environment.p2p_level.value_or(level);
  if (path.type > level) return false;
  if (a.host != b.host) return true;  // of one rack
  const int middle = path.edges.size() == 2 ? system.edge(path.edges.front()).to : -1;
  if (middle >= 0 && system.vertex(middle).kind == VertexKind::gpu)
    return driver_allows(request, a, system.vertex(middle)) && driver_allows(request, system.vertex(middle), b);
  return driver_allows(request, a, b);
}

Transport transport_of(const System& system, const Request& request, int from, int to) {
  if (from == to) return Transport::self;
  const bool net = network_is_faster(system, request, from, to);
  if (may_use_p2p(system, request, from, to) && !net) return Transport::p2p;
  return net || system.vertex(from).host != system.vertex(to).host ? Transport::net : Transport::shm;
}

bool may_use_gpudirect(const System& system, const Request& request, int gpu, int net, bool read) {
  if (!system.vertex(net).net->gpudirect || !request.gpudirect) return false;
  if (read && system.vertex(gpu).part->compute_capability < 80 && system.gpus.size() > 1 &&
      std::none_of(system.gpus.begin(), system.gpus.end(), [&](int other) { return other != gpu && system.path(gpu, other).type == PathType::nvl; }))
    return false;
  PathType distance = system.path(relay_of(system, gpu, net), net).type;
  if (distance == PathType::p2c) distance = PathType::c2c;
  return distance <= request.environment.gpudirect_level.value_or(PathType::pxb);
}

std::vector<int> nearest(const System& system, int of, const std::vector<int>& among, PathType* type) {
  std::vector<int> found;
  PathType least = PathType::dis;
  GBps best = 0;
  for (const int other : among) {
    const Path& path = system.path(of, other);
    if (path.rate > best || (path.rate == best && path.type < least)) {
      best = path.rate;
      least = path.type;
      found.clear();
    }
    if (path.rate == best && path.type == least) found.push_back(other);
  }
  if (type != nullptr) *type = least;
  return found;
}

std::vector<int> local_nets(const System& system, int gpu) {
  const std::vector<int> near = nearest(system, gpu, system.nets);
  if (near.empty()) return {};
  const std::size_t sharing = std::max<std::size_t>(nearest(system, near.front(), system.gpus).size(), 1);
  const std::size_t count = near.size();
  // Neighbours start far apart: the lowest digit decides on the half, the next on the quarter of it.
  std::size_t index = static_cast<std::size_t>(system.vertex(gpu).part->dev);
  if (std::has_single_bit(count)) {
    std::size_t spread = 0;
    for (std::size_t part = count, digits = index; part > 1; digits /= 2) spread += (digits % 2) * (part /= 2);
    index = spread;
  }
  std::vector<int> nets;
  for (std::size_t c = 0; c < (count + sharing - 1) / sharing; ++c) nets.push_back(near[(index + c) % count]);
  return nets;
}

int local_gpu(const System& system, int net) {
  int found = -1;
  std::ptrdiff_t least = kMostChannels;  // the first channel that one of its GPUs gives it; of equal ones the first GPU
  for (const int gpu : nearest(system, net, system.gpus)) {
    const std::vector<int> nets = local_nets(system, gpu);
    const std::ptrdiff_t channel = std::find(nets.begin(), nets.end(), net) - nets.begin();
    if (channel == std::ssize(nets) || channel >= least) continue;
    least = channel;
    found = gpu;
  }
  return found;
}

void find_paths(System& system, const Request& request) {
  const bool nvb_disable = request.environment.nvb_disable;
  system.paths.assign(system.vertices.size(), {});
  for (const auto* list : {&system.cpus, &system.gpus, &system.nets})
    for (const int v : *list) set_paths_to(system, v, nvb_disable);
  if (system.nvswitch >= 0) set_paths_to(system, system.nvswitch, nvb_disable);

  // Rule 2: without P2P, by the CPU of the GPU it leads to.
  for (const int to : system.gpus) {
    for (const int from : system.gpus)
      if (!may_use_p2p(system, request, from, to)) divert(system, local_cpu(system, to), from, to);
    for (const int from : system.gpus)
      if (transport_of(system, request, from, to) == Transport::net) system.path(from, to).type = PathType::net;
  }
  // A NIC on the CPU of a GPU that has C2C.
  for (const int net : system.nets)
    for (const int gpu : system.gpus) {
      const int cpu = local_cpu(system, gpu);
      if (merged(system.path(gpu, cpu).type, system.path(net, cpu).type) != PathType::p2c) continue;
      for (Path* path : {&system.path(gpu, net), &system.path(net, gpu)}) path->type = std::min(PathType::p2c, path->type);
    }
  // Rule 6. Each path that changes may change which GPU is the NIC's own.
  for (const int net : system.nets) {
    int relay = -1;
    const auto find_relay = [&] { relay = request.environment.pxn_disable ? -1 : local_gpu(system, net); };
    find_relay();
    for (const int gpu : system.gpus) {
      if (relay >= 0 && relay != gpu) {
        const Path &there = system.path(relay, net), &own = system.path(gpu, net);
        if (there.type <= PathType::pxb && system.path(relay, gpu).type <= PathType::nvl && system.vertex(relay).host == system.vertex(gpu).host &&
            (there.rate > own.rate || own.type > PathType::pxn)) {
          divert(system, relay, gpu, net);
          find_relay();
        }
      }
      if (system.path(gpu, net).type < PathType::phb && !may_use_gpudirect(system, request, gpu, net, false)) {
        const int cpu = local_cpu(system, gpu);
        divert(system, cpu, net, gpu);
        divert(system, cpu, gpu, net);
        find_relay();
      }
    }
  }
  for (auto& to : system.paths)
    for (const int gpu : system.gpus)
      if (!to.empty()) {
        Path& path = to[static_cast<std::size_t>(gpu)];
        path.is_charged = path.type == PathType::phb && std::any_of(path.edges.begin(), path.edges.end(), [&](int e) {
                            const Vertex& v = system.vertex(system.edge(e).to);
                            return v.kind == VertexKind::cpu && is_intel(v.cpu);
                          });
      }
}

}  // namespace wireplan::nccl
