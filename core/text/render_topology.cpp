#include "core/text/render_topology.hpp"

#include <utility>
#include <vector>

#include "core/cost/wiring_rates.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

const Component& component(const WiringGraph& graph, int i) { return graph.components[static_cast<std::size_t>(i)]; }

std::string title(const Cluster& cluster) {
  std::string kind(name_of(cluster.node.wiring.kind));
  if (cluster.node.gpus > 1) kind = ", wiring " + (cluster.node.wiring.kind == WiringKind::graph ? "drawn out as a graph" : kind);
  else kind.clear();
  std::string text = format_exact(cluster.node.gpus) + " × " + cluster.node.gpu.name + kind;
  if (cluster.network) text += ", " + network_name(*cluster.network);
  return text;
}

// "0, 1, 4": the numbers of components of one kind that hang directly below `above`.
std::string hanging(const WiringGraph& graph, int above, ComponentKind kind) {
  std::string text;
  for (const Link& l : graph.links) {
    if (l.b != above || component(graph, l.a).kind != kind || (l.kind != LinkKind::pcie && l.kind != LinkKind::c2c)) continue;
    const std::string& id = component(graph, l.a).id;
    text += (text.empty() ? "" : ", ") + id.substr(std::min(id.size(), id.find_first_of("0123456789")));
  }
  return text;
}

void add_places(const WiringGraph& graph, Sheet& sheet) {
  Table table{{{"on"}, {"below"}, {"NUMA node", true}, {"GPUs"}, {"NICs"}}, {}, {}};
  for (int i = 0; i < static_cast<int>(graph.components.size()); ++i) {
    const Component& c = component(graph, i);
    if (c.kind != ComponentKind::cpu && c.kind != ComponentKind::pcie_switch) continue;
    std::string below;
    for (const Link& l : graph.links)
      if (l.a == i && l.kind == LinkKind::pcie) below = component(graph, l.b).id;
    table.rows.push_back({c.id, below, c.numa < 0 ? "" : format_exact(c.numa), hanging(graph, i, ComponentKind::gpu), hanging(graph, i, ComponentKind::nic)});
  }
  sheet.table(table);
}

std::string ends(const WiringGraph& graph, const Link& l) {
  return std::string(name_of(component(graph, l.a).kind)) + "–" + std::string(name_of(component(graph, l.b).kind));
}

// Links that are alike in one row.
void add_links(const WiringGraph& graph, const Node& node, Sheet& sheet) {
  struct Row { const Link* link; int count; };
  std::vector<Row> rows;
  for (const Link& l : graph.links) {
    bool found = false;
    for (Row& r : rows) {
      if (r.link->kind != l.kind || r.link->generation != l.generation || r.link->width != l.width || !(r.link->rate == l.rate) || ends(graph, *r.link) != ends(graph, l)) continue;
      ++r.count;
      found = true;
      break;
    }
    if (!found) rows.push_back({&l, 1});
  }
  Table table{{{"links"}, {"between"}, {"count", true}, {"NCCL planning rate", true}, {"nominal", true}}, {}, {}};
  for (const Row& r : rows) {
    std::string name = link_kind_name(*r.link, node);
    if (r.link->kind == LinkKind::nvlink && r.link->width > 0) name += " ×" + format_exact(r.link->width);
    table.rows.push_back({name, ends(graph, *r.link), format_exact(r.count), format_rate(r.link->planned()), r.link->nominal.value > 0 ? format_rate(r.link->nominal) : ""});
  }
  sheet.table(table);
}

std::string csv(const WiringGraph& graph) {
  std::string text = csv_line({"a", "b", "kind", "generation", "width", "planning_bytes_per_s", "nominal_bytes_per_s"});
  for (const Link& l : graph.links)
    text += csv_line({component(graph, l.a).id, component(graph, l.b).id, std::string(name_of(l.kind)), format_exact(l.generation), format_exact(l.width), format_exact(l.planned().value), format_exact(l.nominal.value)});
  return text;
}

}  // namespace

std::string render_imported(const Cluster& cluster, const LinkConstants& constants, RenderFormat format) {
  const WiringGraph graph = wiring_graph(cluster.node, constants);
  if (format == RenderFormat::csv) return csv(graph);
  Sheet sheet(format == RenderFormat::markdown);
  sheet.strong(title(cluster));
  add_places(graph, sheet);
  if (!graph.links.empty()) add_links(graph, cluster.node, sheet);
  if (!cluster.node.p2p_matrix.empty()) sheet.paragraph("Peer access over PCIe, a row for each GPU: " + sheet.code(cluster.node.p2p_matrix));
  else if (cluster.node.p2p >= 0) sheet.paragraph(cluster.node.p2p == 1 ? "GPUs reach each other's memory over PCIe." : "GPUs do not reach each other's memory over PCIe: copies go through the host.");
  if (cluster.assumed.empty()) return sheet.text();
  sheet.heading("Assumed");
  std::vector<std::string> assumed;
  for (const Assumption& a : cluster.assumed) assumed.push_back(sheet.code(a.path + " = " + a.value) + ": " + a.why);
  sheet.list(assumed);
  return sheet.text();
}

}  // namespace wireplan
