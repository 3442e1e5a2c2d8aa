#include "core/text/topology_node.hpp"

namespace wireplan {
namespace {

class Drawing {
 public:
  Drawing(const TopologyDraft& draft, const Gpu& gpu) : draft_(draft), gpu_(gpu) {}

  WiringGraph draw(int nvswitch_links) {
    for (std::size_t i = 0; i < draft_.gpus.size(); ++i) add("gpu" + std::to_string(i), ComponentKind::gpu, numa(draft_.gpus[i]));
    first_cpu_ = count();
    for (std::size_t i = 0; i < draft_.domains.size(); ++i) add("cpu" + std::to_string(i), ComponentKind::cpu, draft_.domains[i].numa);
    first_switch_ = count();
    for (std::size_t i = 0; i < draft_.switches.size(); ++i) add("switch" + std::to_string(i), ComponentKind::pcie_switch, numa(draft_.switches[i]));
    for (std::size_t i = 0; i < draft_.switches.size(); ++i) hang(first_switch_ + static_cast<int>(i), draft_.switches[i], 16);
    for (std::size_t i = 0; i < draft_.gpus.size(); ++i) {
      const TopologyDraft::Gpu& g = draft_.gpus[i];
      if (g.has_c2c && g.above < 0) connect(static_cast<int>(i), first_cpu_ + g.domain, LinkKind::c2c, 0, 0);
      else hang(static_cast<int>(i), g, gpu_.pcie_lanes);
    }
    for (std::size_t i = 0; i < draft_.nics.size(); ++i) {
      const TopologyDraft::Nic& nic = draft_.nics[i];
      const int index = add("nic" + std::to_string(i), ComponentKind::nic, numa(nic));
      graph_.components.back().model = nic.name;
      graph_.components.back().nic_rate = nic.rate;
      graph_.components.back().gpudirect = nic.gpudirect != 0;
      hang(index, nic, 16);
    }
    for (const auto& [a, b] : draft_.switch_peers) connect(first_switch_ + a, first_switch_ + b, LinkKind::pcie, gpu_.pcie_generation, 16);
    for (std::size_t a = 0; a < draft_.domains.size(); ++a)
      for (std::size_t b = a + 1; b < draft_.domains.size(); ++b) connect(first_cpu_ + static_cast<int>(a), first_cpu_ + static_cast<int>(b), LinkKind::socket, 0, 0);
    const LinkKind direct = gpu_.is_xgmi ? LinkKind::xgmi : LinkKind::nvlink;
    for (const auto& [a, b, links] : draft_.nvlinks) connect(a, b, direct, gpu_.nvlink_generation, links);
    if (nvswitch_links > 0) {
      const int nvswitch = add("nvswitch", ComponentKind::nvswitch, -1);
      for (std::size_t i = 0; i < draft_.gpus.size(); ++i) {
        const int own = draft_.gpus[i].switch_links;
        connect(static_cast<int>(i), nvswitch, direct, gpu_.nvlink_generation, own > 0 ? own : nvswitch_links);
      }
    }
    return std::move(graph_);
  }

 private:
  int count() const { return static_cast<int>(graph_.components.size()); }
  int numa(const TopologyDraft::Place& place) const { return draft_.domains[static_cast<std::size_t>(place.domain)].numa; }

  int add(std::string id, ComponentKind kind, int numa) {
    Component c;
    c.id = std::move(id);
    c.kind = kind;
    c.numa = numa;
    graph_.components.push_back(std::move(c));
    return count() - 1;
  }

  void connect(int a, int b, LinkKind kind, int generation, int width) {
    Link l;
    l.a = a;
    l.b = b;
    l.kind = kind;
    l.generation = generation;
    l.width = width;
    graph_.links.push_back(l);
  }

  void hang(int component, const TopologyDraft::Place& place, int usual_lanes) {
    connect(component, place.above >= 0 ? first_switch_ + place.above : first_cpu_ + place.domain, LinkKind::pcie,
            place.slot.generation > 0 ? place.slot.generation : gpu_.pcie_generation, place.slot.lanes > 0 ? place.slot.lanes : usual_lanes);
  }

  const TopologyDraft& draft_;
  const Gpu& gpu_;
  int first_cpu_ = 0, first_switch_ = 0;
  WiringGraph graph_;
};

}  // namespace

WiringGraph graph_of(const TopologyDraft& draft, const Gpu& gpu, int nvswitch_links) { return Drawing(draft, gpu).draw(nvswitch_links); }

}  // namespace wireplan
