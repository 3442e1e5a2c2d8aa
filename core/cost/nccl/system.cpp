#include "core/cost/nccl/system.hpp"

#include <algorithm>
#include <numeric>

namespace wireplan::nccl {
namespace {

class Builder {
 public:
  Builder(const Machine& machine, const Request& request, const Release& release) : machine_(machine), request_(request), release_(release) {}

  System build(int first, int count) {
    system_.hosts = count;
    for (int h = 0; h < count; ++h) add_host(h, (first + h) * static_cast<int>(request_.gpus.size()));
    for (const Todo& t : nvlinks_) add_nvlinks(t);
    for (const Todo& t : nvlinks_)
      if (t.part->c2c > 0) join(t.vertex, t.cpu, EdgeKind::c2c, t.part->c2c);
    for (std::size_t h = 0; h < vertex_of_.size(); ++h) add_peers(h);
    flatten();
    join_cpus();
    for (const int cpu : system_.cpus) put_upwards_last(cpu, -1);
    return std::move(system_);
  }

 private:
  struct Todo { const Machine::Part* part; int vertex, cpu, host; };

  // Every rank brings the tree above its own GPU and above all NICs; NCCL fuses them rank by rank. So among siblings what leads to a
  // NIC, or to the GPU of the lowest rank, comes first; -1: leads to nothing the communicator uses and is left out.
  std::vector<int> first_rank() const {
    std::vector<int> first(machine_.parts.size(), -1);
    const auto lead = [&](int part, int rank) {
      for (; part >= 0; part = machine_.parts[static_cast<std::size_t>(part)].above) {
        int& f = first[static_cast<std::size_t>(part)];
        if (f < 0 || rank < f) f = rank;
      }
    };
    for (const Machine::Net& net : machine_.nets) lead(net.nic, 0);
    for (std::size_t r = 0; r < request_.gpus.size(); ++r)
      lead(machine_.gpus[static_cast<std::size_t>(request_.gpus[r])], static_cast<int>(r));
    return first;
  }

  void add_host(int host, int first_rank_of_host) {
    const std::vector<int> first = first_rank();
    std::vector<std::vector<int>> below(machine_.parts.size()), on_cpu(machine_.cpus.size());
    std::vector<int> first_of_cpu(machine_.cpus.size(), -1);
    for (std::size_t p = 0; p < machine_.parts.size(); ++p) {
      if (first[p] < 0) continue;
      const Machine::Part& part = machine_.parts[p];
      (part.above < 0 ? on_cpu[static_cast<std::size_t>(part.cpu)] : below[static_cast<std::size_t>(part.above)]).push_back(static_cast<int>(p));
      int& f = first_of_cpu[static_cast<std::size_t>(part.cpu)];
      if (f < 0 || first[p] < f) f = first[p];
    }
    const auto by_rank = [&](std::vector<int>& list, const std::vector<int>& key) {
      std::stable_sort(list.begin(), list.end(), [&](int a, int b) { return key[static_cast<std::size_t>(a)] < key[static_cast<std::size_t>(b)]; });
    };
    for (auto& list : below) by_rank(list, first);
    for (auto& list : on_cpu) by_rank(list, first);
    std::vector<int> cpus(machine_.cpus.size());
    std::iota(cpus.begin(), cpus.end(), 0);
    std::erase_if(cpus, [&](int c) { return first_of_cpu[static_cast<std::size_t>(c)] < 0; });
    by_rank(cpus, first_of_cpu);

    vertex_of_.emplace_back(machine_.parts.size(), -1);
    for (const int c : cpus) {
      const int cpu = add(VertexKind::cpu, host);
      system_.vertex(cpu).cpu = machine_.cpus[static_cast<std::size_t>(c)].type;
      system_.cpus.push_back(cpu);
      add_below(on_cpu[static_cast<std::size_t>(c)], below, cpu, cpu, host, first_rank_of_host);
    }
  }

  // Depth is that of PCIe switches, which reading bounds.
  void add_below(const std::vector<int>& list, const std::vector<std::vector<int>>& below, int above, int cpu, int host, int first_rank_of_host) {
    for (const int p : list) {
      const Machine::Part& part = machine_.parts[static_cast<std::size_t>(p)];
      const VertexKind kind = part.kind == PartKind::gpu ? VertexKind::gpu : part.kind == PartKind::nic ? VertexKind::nic : VertexKind::pci;
      const int v = add(kind, host);
      system_.vertex(v).part = &part;
      system_.vertex(v).part_index = p;
      system_.vertex(v).device = part.device;
      vertex_of_.back()[static_cast<std::size_t>(p)] = v;
      if (kind == VertexKind::gpu) {
        const auto at = std::find(request_.gpus.begin(), request_.gpus.end(), gpu_index(p));
        system_.vertex(v).gpu = *at;
        system_.vertex(v).rank = first_rank_of_host + static_cast<int>(at - request_.gpus.begin());
        system_.gpus.push_back(v);
        nvlinks_.push_back({&part, v, cpu, host});
      }
      if (kind == VertexKind::pci) {
        system_.switches.push_back(v);
        add_below(below[static_cast<std::size_t>(p)], below, v, cpu, host, first_rank_of_host);
      }
      if (kind == VertexKind::nic)
        for (const Machine::Net& net : machine_.nets)
          if (net.nic == p) {
            const int n = add(VertexKind::net, host);
            system_.vertex(n).net = &net;
            system_.nets.push_back(n);
            join(v, n, EdgeKind::net, net.rate);
          }
      join(v, above, EdgeKind::pci, part.rate);
    }
  }

  int gpu_index(int part) const {
    return static_cast<int>(std::find(machine_.gpus.begin(), machine_.gpus.end(), part) - machine_.gpus.begin());
  }

  void add_nvlinks(const Todo& t) {
    const GBps rate = nvlink_rate(release_, t.part->compute_capability);
    for (const Machine::NvLink& link : t.part->nvlinks) {
      const GBps all = static_cast<GBps>(link.count) * rate;
      if (link.to == Machine::NvLink::To::gpu) {
        const int other = vertex_of_[static_cast<std::size_t>(t.host)][static_cast<std::size_t>(link.gpu)];
        if (other >= 0) join_one_way(t.vertex, other, EdgeKind::nvl, all);
      } else if (link.to == Machine::NvLink::To::cpu) {
        join(t.vertex, t.cpu, EdgeKind::nvl, all);
      } else {
        if (system_.nvswitch < 0) system_.nvswitch = add(VertexKind::nvs, 0);
        join(t.vertex, system_.nvswitch, EdgeKind::nvl, all);
      }
    }
  }

  void add_peers(std::size_t host) {
    for (std::size_t p = 0; p < machine_.parts.size(); ++p)
      for (const int peer : machine_.parts[p].peers) {
        const int a = vertex_of_[host][p], b = vertex_of_[host][static_cast<std::size_t>(peer)];
        if (a >= 0 && b >= 0) join_one_way(a, b, EdgeKind::loc, kLocalRate);
      }
  }

  // Rule 5: Broadcom's switches of PCIe 4 and 5 show themselves as two levels although every port has the full rate.
  static int broadcom(std::uint64_t device, bool is_lower) {
    const std::uint64_t kind = device & ~std::uint64_t{0xfff};
    if (kind == 0x1000c0101000a000) return 4;
    if (kind == (is_lower ? 0x1000c03010001000 : 0x1000c03010000000)) return 5;
    return 0;
  }
  void flatten() {
    for (std::size_t s = 0; s < system_.switches.size(); ++s) {
      const int top = system_.switches[s];
      const int kind = broadcom(system_.vertex(top).device, false);
      if (kind == 0) continue;
      std::vector<int> lower;
      std::erase_if(system_.vertex(top).edges, [&](int e) {
        const Vertex& v = system_.vertex(system_.edge(e).to);
        if (v.kind != VertexKind::pci || broadcom(v.device, true) != kind) return false;
        lower.push_back(system_.edge(e).to);
        return true;
      });
      for (const int low : lower) {
        for (const int e : system_.vertex(low).edges) {
          if (system_.edge(e).to == top) continue;
          const int below = system_.edge(e).to;
          system_.edge(e).from = top;
          system_.vertex(top).edges.push_back(e);
          for (const int back : system_.vertex(below).edges)
            if (system_.edge(back).to == low) {
              system_.edge(back).to = top;
              break;
            }
        }
        system_.vertex(low).edges.clear();
        std::erase(system_.switches, low);
      }
      system_.vertex(top).device |= 0xffff;
      if (!lower.empty()) s = static_cast<std::size_t>(-1);
    }
  }

  // Rule 4: all NUMA nodes of a host with each other, each at the constant of its own kind of CPU.
  void join_cpus() {
    for (const int a : system_.cpus)
      for (const int b : system_.cpus)
        if (a != b && system_.vertex(a).host == system_.vertex(b).host)
          join_one_way(a, b, EdgeKind::sys, release_.between_cpus[static_cast<std::size_t>(system_.vertex(a).cpu)]);
  }

  void put_upwards_last(int v, int above) {
    std::vector<int>& list = system_.vertex(v).edges;
    if (above >= 0) {
      const auto up = std::find_if(list.begin(), list.end(), [&](int e) { return system_.edge(e).to == above; });
      if (up != list.end()) std::rotate(up, up + 1, list.end());
    }
    for (std::size_t i = 0; i < system_.vertex(v).edges.size(); ++i) {
      const Edge& edge = system_.edge(system_.vertex(v).edges[i]);
      if (edge.kind == EdgeKind::pci && edge.to != above) put_upwards_last(edge.to, v);
    }
  }

  int add(VertexKind kind, int host) {
    Vertex v;
    v.kind = kind;
    v.host = host;
    system_.vertices.push_back(std::move(v));
    return static_cast<int>(system_.vertices.size()) - 1;
  }
  void join(int a, int b, EdgeKind kind, GBps rate) {
    join_one_way(a, b, kind, rate);
    join_one_way(b, a, kind, rate);
  }
  // Links of one kind between the same two add up. The list stays sorted by rate; of equal ones the older comes first.
  void join_one_way(int a, int b, EdgeKind kind, GBps rate) {
    std::vector<int>& list = system_.vertex(a).edges;
    auto at = std::find_if(list.begin(), list.end(), [&](int e) { return system_.edge(e).to == b && system_.edge(e).kind == kind; });
    if (at == list.end()) {
      system_.edges.push_back({kind, 0, a, b});
      list.push_back(static_cast<int>(system_.edges.size()) - 1);
      at = list.end() - 1;
    }
    system_.edge(*at).rate += rate;
    while (at != list.begin() && system_.edge(*(at - 1)).rate < system_.edge(*at).rate) {
      std::iter_swap(at - 1, at);
      --at;
    }
  }

  const Machine& machine_;
  const Request& request_;
  const Release& release_;
  System system_;
  std::vector<std::vector<int>> vertex_of_;  // per host, by part
  std::vector<Todo> nvlinks_;
};

}  // namespace

GBps nvlink_rate(const Release& release, int compute_capability) {
  for (const Release::NvLinkRate& row : release.nvlink)
    if (row.exactly ? compute_capability == row.compute_capability : compute_capability >= row.compute_capability) return row.rate;
  return 0;
}

int System::least_compute_capability() const {
  int lowest = vertex(gpus.front()).part->compute_capability;
  for (const int g : gpus) lowest = std::min(lowest, vertex(g).part->compute_capability);
  return lowest;
}
int System::most_compute_capability() const {
  int highest = 0;
  for (const int g : gpus) highest = std::max(highest, vertex(g).part->compute_capability);
  return highest;
}

System system_of(const Machine& machine, const Request& request, const Release& release, int first, int count) {
  return Builder(machine, request, release).build(first, count);
}

namespace {

void remove(System& system, int gone) {
  for (Vertex& v : system.vertices) std::erase_if(v.edges, [&](int e) { return system.edge(e).to == gone; });
  system.vertex(gone).edges.clear();
}

}  // namespace

void keep_reachable(System& system, int rank) {
  const std::vector<int> before = system.gpus;
  std::vector<std::size_t> domain(before.size());
  std::size_t own = 0;
  for (std::size_t g = 0; g < before.size(); ++g) {
    domain[g] = g;
    for (std::size_t p = 0; p < g; ++p)
      if (system.path(before[g], before[p]).type < PathType::net) domain[g] = std::min(domain[g], domain[p]);
    if (system.vertex(before[g]).rank == rank) own = domain[g];
  }
  for (std::size_t g = 0; g < before.size(); ++g)
    if (domain[g] != own) {
      remove(system, before[g]);
      std::erase(system.gpus, before[g]);
    }
}

void remove_nets(System& system) {
  for (const int net : system.nets) remove(system, net);
  system.nets.clear();
}

void set_bounds(System& system) {
  system.most = system.total = 0;
  if (!system.crosses && system.gpus.size() == 1) {
    system.most = system.total = kLocalRate;
    return;
  }
  for (const int g : system.gpus) {
    for (const int to : system.crosses ? system.nets : system.gpus) {
      const Path& path = system.path(g, to);
      if (!path.edges.empty()) system.most = std::max(system.most, path.rate);
    }
    GBps nvlink = 0, pcie = 0;
    for (const int e : system.vertex(g).edges) {
      if (system.edge(e).kind == EdgeKind::nvl) nvlink += system.edge(e).rate;
      if (system.edge(e).kind == EdgeKind::pci) pcie = system.edge(e).rate;
    }
    system.total = std::max(system.total, std::max(nvlink, pcie));
  }
}

}  // namespace wireplan::nccl
