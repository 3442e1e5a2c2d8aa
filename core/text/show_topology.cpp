#include "core/text/show_topology.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/sort.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/sheet.hpp"
#include "core/text/wiring_tree.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostTreeLines = 120, kMostId = 24;
constexpr int kMostMatrix = 16, kMostDepth = 8;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string counted(double n, std::string_view one, std::string_view many) { return format_count(n) + ' ' + std::string(n == 1 ? one : many); }

std::string id_of(const WiringGraph& graph, int component) { return plain_text(graph.components[at(component)].id, kMostId); }

std::string flows_text(double flows) { return format_exact(static_cast<double>(static_cast<std::int64_t>(flows * 100 + 0.5)) / 100); }

// Draws the sockets and what hangs on them; alike sockets of a rack are counted.
class Tree {
 public:
  explicit Tree(const TopologyAnswer& a) : graph_(a.prepared.graph), node_(a.stated->cluster.node), tree_(wiring_tree(graph_)) {}

  std::string text() {
    // A rack of many sockets shows its first tray: the sockets that links join to the first.
    shown_ = tree_.tops.size() > 8 ? 2 : tree_.tops.size();
    for (std::size_t i = 0; i < shown_; ++i) {
      line("", chip(tree_.tops[i]));
      const std::vector<int>& below = tree_.below[at(tree_.tops[i])];
      for (std::size_t k = 0; k < below.size(); ++k) draw(below[k], "", k + 1 == below.size(), 1);
    }
    for (const std::string& l : across()) line("", l);
    if (shown_ < tree_.tops.size()) line("", "and " + counted(static_cast<double>(tree_.tops.size() - shown_), "more socket", "more sockets") + ", each with its own chips");
    if (cut_) lines_ += (lines_.empty() ? "" : "\n") + std::string("  …");
    return lines_;
  }

 private:
  void line(const std::string& before, const std::string& text) {
    if (count_ >= kMostTreeLines) {
      cut_ = true;
      return;
    }
    ++count_;
    lines_ += (lines_.empty() ? "" : "\n") + ("  " + before) + text;
  }

  std::string chip(int c) const {
    const Component& component = graph_.components[at(c)];
    std::string text = id_of(graph_, c);
    if (component.kind == ComponentKind::nic && component.nic_rate.value > 0) text += "  " + format_exact(static_cast<double>(static_cast<std::int64_t>(component.nic_rate.value * 8 / 1e8 + 0.5)) / 10) + " Gbit/s";
    if (component.kind == ComponentKind::nic && !component.gpudirect) text += ", no GPUDirect";
    if (component.kind == ComponentKind::cpu && component.numa >= 0) text += "  NUMA " + std::to_string(component.numa);
    return text;
  }

  void draw(int c, const std::string& before, bool last, int depth) {
    const int link = tree_.link_above[at(c)];
    if (depth > kMostDepth || count_ >= kMostTreeLines) {
      cut_ = true;
      return;
    }
    line(before + (last ? "└─ " : "├─ "), link_kind_text(graph_.links[at(link)], node_) + " ─ " + chip(c));
    const std::vector<int>& below = tree_.below[at(c)];
    for (std::size_t k = 0; k < below.size(); ++k) draw(below[k], before + (last ? "   " : "│  "), k + 1 == below.size(), depth + 1);
  }

  // False for a socket that is only counted.
  bool shown(int c) const {
    const auto top = std::find(tree_.tops.begin(), tree_.tops.end(), c);
    return top == tree_.tops.end() || static_cast<std::size_t>(top - tree_.tops.begin()) < shown_;
  }

  // Links between the sockets.
  std::vector<std::string> across() const {
    std::vector<std::string> found;
    int count = 0;
    for (const Link& l : graph_.links) {
      if (l.kind == LinkKind::nvlink || l.kind == LinkKind::pcie || l.kind == LinkKind::c2c) continue;
      if (graph_.components[at(l.a)].kind == ComponentKind::gpu || graph_.components[at(l.b)].kind == ComponentKind::gpu) continue;
      if (!shown(l.a) || !shown(l.b)) continue;
      if (++count <= 6) found.push_back(id_of(graph_, l.a) + " ═ " + link_kind_text(l, node_) + " ═ " + id_of(graph_, l.b));
    }
    if (count > 6) found.push_back("and " + counted(count - 6, "more link", "more links") + " between sockets");
    return found;
  }

  const WiringGraph& graph_;
  const Node& node_;
  WiringTree tree_;
  std::string lines_;
  std::size_t count_ = 0, shown_ = 0;
  bool cut_ = false;
};

// Direct links of GPUs among themselves and to a switch.
void nvlink_section(Sheet& sheet, const TopologyAnswer& a) {
  const WiringGraph& graph = a.prepared.graph;
  const Node& node = a.stated->cluster.node;
  struct Row {
    Link link;
    int count = 0;
    std::string between;
  };
  std::vector<Row> rows;
  for (const Link& l : graph.links) {
    if (l.kind != LinkKind::nvlink && l.kind != LinkKind::xgmi) continue;
    const bool switched = graph.components[at(l.a)].kind == ComponentKind::nvswitch || graph.components[at(l.b)].kind == ComponentKind::nvswitch;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
      const bool other = graph.components[at(r.link.a)].kind == ComponentKind::nvswitch || graph.components[at(r.link.b)].kind == ComponentKind::nvswitch;
      return r.link.width == l.width && r.link.generation == l.generation && r.link.rate == l.rate && other == switched;
    });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{l, 0, ""});
    ++row->count;
    const std::string ends = id_of(graph, l.a) + "–" + id_of(graph, l.b);
    if (switched) row->between = row->count == 1 ? ends : "each of " + format_count(row->count) + " GPUs and the switch";
    else if (text_width(row->between) + text_width(ends) < 400) row->between += (row->between.empty() ? "" : ", ") + ends;
    else if (!row->between.ends_with("…")) row->between += ", …";
  }
  if (rows.empty()) return sheet.paragraph(node.gpu.is_xgmi ? "No direct links between GPUs." : "No NVLink.");
  std::vector<std::string> items;
  for (const Row& r : rows)
    items.push_back(link_kind_text(r.link, node) + ", " + format_rate(r.link.planned()) + " each way" +
                    (r.link.stated ? " as stated" : r.link.nominal.value > 0 ? " (nominal " + format_rate(r.link.nominal) + ")" : "") + ": " + sheet.code(r.between));
  sheet.list(items);
}

void matrix_section(Sheet& sheet, const TopologyAnswer& a) {
  const int n = a.prepared.gpus;
  const std::vector<PathBetween>& paths = a.topology.paths;
  std::vector<bool> seen(9, false);
  bool all = true, none = true, any = false;
  std::string without;
  int count_without = 0;
  for (int i = 0; i < n && !paths.empty(); ++i)
    for (int j = 0; j < n; ++j) {
      const PathBetween& p = paths[at(i) * at(n) + at(j)];
      seen[static_cast<std::size_t>(p.type)] = true;
      if (i >= j) continue;
      any = true;
      all = all && p.p2p;
      none = none && !p.p2p;
      if (!p.p2p && ++count_without <= 8) without += (without.empty() ? "" : ", ") + id_of(a.prepared.graph, i) + "–" + id_of(a.prepared.graph, j);
    }
  if (n < 2) return;
  sheet.heading("From GPU to GPU");
  if (!paths.empty() && n <= kMostMatrix) {
    std::size_t width = 3;
    for (const PathBetween& p : paths) width = std::max(width, path_name(p).size());
    const auto cell = [&](const std::string& text) { return ' ' + std::string(width - std::min(width, text.size()), ' ') + text; };
    std::string lines = "       ";
    for (int j = 0; j < n; ++j) lines += cell(std::to_string(j));
    for (int i = 0; i < n; ++i) {
      const std::string name = "GPU" + std::to_string(i);
      lines += "\n  " + name + std::string(name.size() < 5 ? 5 - name.size() : 0, ' ');
      for (int j = 0; j < n; ++j) lines += cell(path_name(paths[at(i) * at(n) + at(j)]));
    }
    sheet.drawing(lines);
  } else {
    Table table{{{"way", false}, {a.topology.all_pairs ? "pairs" : "pairs of GPU 0", true}}, {}, {}};
    std::vector<std::pair<std::string, int>> kinds;
    for (const PairKind& k : a.topology.pairs) {
      const std::string name = path_name(k.path);
      seen[static_cast<std::size_t>(k.path.type)] = true;
      const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == name; });
      if (known == kinds.end()) kinds.push_back({name, k.count});
      else known->second += k.count;
    }
    for (const auto& [name, count] : kinds) table.rows.push_back({name, format_count(count)});
    sheet.table(table);
  }
  constexpr std::pair<PathType, const char*> legend[] = {
      {PathType::nv, "NV# = # NVLinks"},
      {PathType::xgmi, "XGMI = a direct link"},
      {PathType::pix, "PIX = one PCIe switch at most"},
      {PathType::pxb, "PXB = several PCIe switches"},
      {PathType::phb, "PHB = a PCIe host bridge"},
      {PathType::node, "NODE = host bridges of one NUMA node"},
      {PathType::sys, "SYS = between NUMA nodes"}};
  std::string text;
  for (const auto& [type, meaning] : legend)
    if (seen[static_cast<std::size_t>(type)]) text += (text.empty() ? "" : ", ") + std::string(meaning);
  if (paths.empty())
    for (const PairKind& k : a.topology.pairs) any = true, all = all && k.path.p2p, none = none && !k.path.p2p;
  if (any) {
    text += (text.empty() ? "" : ". ") + std::string("Peers may reach each other's memory (P2P): ");
    if (all) text += "yes.";
    else if (none) text += "no, copies go through host memory.";
    else if (count_without > 0) text += "not all; " + counted(count_without, "pair goes", "pairs go") + " through host memory: " + sheet.code(without + (count_without > 8 ? ", …" : "")) + ".";
    else text += "not all.";
  }
  sheet.paragraph(text);
}

std::string bottleneck_text(const Sheet& sheet, const RingOnWiring& ring) {
  if (ring.bottleneck.empty()) return "";
  return sheet.is_markdown() ? plain_text(ring.bottleneck, 80) : plain_text(ring.bottleneck, 48);
}

std::string rate_text(const RingOnWiring& ring) {
  if (ring.bottleneck_rate.value <= 0) return "";
  std::string text = format_fixed(ring.bottleneck_rate.value / 1e9, 1);
  if (ring.bottleneck_nominal.value > 0) text += " / " + format_fixed(ring.bottleneck_nominal.value / 1e9, 1);
  return text;
}

std::string group_name(const GroupRing& g, const TopologyAnswer& a) {
  const bool all = static_cast<int>(g.gpus.size()) == a.prepared.gpus;
  std::string text;
  if (all) text = (g.nodes > 1 ? "" : g.gpus.size() == 2 ? "both " : "all ") + (g.nodes == 1 && g.gpus.size() == 2 ? "GPUs" : counted(static_cast<double>(g.gpus.size()) * g.nodes, "GPU", "GPUs"));
  else {
    for (int i : g.gpus) text += (text.empty() ? "GPUs " : ",") + std::to_string(i);
    text = plain_text(text, 24);
  }
  return g.nodes > 1 ? text + (all ? " of " : " of each of ") + format_count(g.nodes) + " nodes" : text;
}

void rings_section(Sheet& sheet, const TopologyAnswer& a) {
  const Topology& t = a.topology;
  if (t.node.gpus.size() * at(std::max(1, t.cluster.nodes)) < 2) return;
  sheet.heading("What a ring reaches");
  Table table{{{"among", false}, {"bus GB/s", true}, {"bottleneck", false}, {"plan / nominal", true}}, {}, {}};
  const auto add = [&](const std::string& who, const RingOnWiring& ring) {
    table.rows.push_back({who, format_fixed(ring.bus_bandwidth.value / 1e9, 1), bottleneck_text(sheet, ring), rate_text(ring)});
  };
  if (!t.cluster.gpus.empty()) add(group_name(t.cluster, a), t.cluster.ring);
  if (t.node.gpus.size() > 1) add(group_name(t.node, a), t.node.ring);
  if (a.prepared.gpus > 2 || t.node.gpus.size() < 2)
    for (const PairKind& k : t.pairs) {
      if (table.rows.size() >= 24) break;
      add(format_count(k.count) + (k.count == 1 ? " pair " : " pairs ") + path_name(k.path) + ": " + std::to_string(k.a) + "," + std::to_string(k.b), k.ring);
    }
  sheet.table(table);
  std::string order;
  const bool in_order = t.node.ring.order.size() > 8 && std::is_sorted(t.node.ring.order.begin(), t.node.ring.order.end());
  if (in_order) order = "in their order";
  for (std::size_t i = 0; !in_order && i < t.node.ring.order.size(); ++i) {
    if (i == 32) {
      order += " …";
      break;
    }
    order += (order.empty() ? "" : " → ") + std::to_string(t.node.ring.order[i]);
  }
  std::string text = "Bus bandwidth is what every GPU passes on while the ring runs, all at once.";
  if (!order.empty()) text += " The ring visits GPUs " + order + (t.node.gpus.size() > 2 ? " and returns." : ".");
  if (t.node.ring.uses_host_memory)
    text += peers_over_pcie(a.stated->cluster.node, 0, 1) ? " Past a host bridge NCCL copies through host memory (NCCL_P2P_LEVEL=SYS makes it use peer access)."
                                                           : " P2P is off: such steps write to host memory and read from there.";
  sheet.paragraph(text);
}

void links_section(Sheet& sheet, const TopologyAnswer& a) {
  const WiringGraph& graph = a.prepared.graph;
  const RingOnWiring& ring = shown_ring(a.topology).ring;
  if (graph.links.empty()) return;
  sheet.heading("Links");
  Table table{{{"link", false}, {"NCCL plans", true}, {"nominal", true}, {"flows", true}, {"carries, GB/s", true}}, {}, {}};
  bool stated = false, unknown = false, beyond = false;
  const std::vector<LinkGroup> groups = link_groups(graph, ring, true);
  for (const LinkGroup& g : groups) {
    if (table.rows.size() == 48) break;
    const Link& l = graph.links[at(g.first)];
    std::string name = link_kind_text(l, a.stated->cluster.node) + ' ' + id_of(graph, l.a) + "–" + id_of(graph, l.b);
    if (g.count > 1) name += " and " + format_count(g.count - 1) + " alike";
    stated = stated || l.stated;
    unknown = unknown || (!l.stated && l.nominal.value <= 0);
    const double most = std::max(g.forward, g.backward) * ring.bus_bandwidth.value;
    beyond = beyond || most > l.planned().value;
    table.rows.push_back({name, format_rate(l.planned()) + (l.stated ? " *" : ""), l.nominal.value > 0 ? format_rate(l.nominal) : "",
                          most > 0 ? flows_text(g.forward) + " → " + flows_text(g.backward) + " ←" : "", most > 0 ? format_fixed(most / 1e9, 1) : ""});
  }
  sheet.table(table);
  std::string text = "Rates are each way. \"NCCL plans\" is the constant NCCL's search calculates with, neither a measurement nor what the wire can do; nominal is the data sheet's.";
  if (stated) text += " * as you stated it.";
  if (unknown) text += " Where nominal is empty no data sheet is known.";
  if (beyond) text += " Where a link carries more than that, measurements on such links did.";
  text += " Flows: rings' edges over the link, from its first end to its second (→) and back (←), " + group_name(shown_ring(a.topology), a) + '.';
  if (groups.size() > table.rows.size()) text += ' ' + counted(static_cast<double>(groups.size() - table.rows.size()), "further kind of link is", "further kinds of links are") + " in --csv and --json.";
  sheet.paragraph(text);
}

std::string as_csv(const TopologyAnswer& a) {
  const WiringGraph& graph = a.prepared.graph;
  const RingOnWiring& ring = shown_ring(a.topology).ring;
  const std::vector<double> flows = flows_of(graph, ring);
  std::string text = csv_line({"a", "b", "kind", "generation", "lanes or links", "planning [bytes/s]", "nominal [bytes/s]", "stated", "flows a-b", "flows b-a", "carries [bytes/s]"});
  for (std::size_t i = 0; i < graph.links.size(); ++i) {
    const Link& l = graph.links[i];
    const auto positive = [](double v) { return v > 0 ? format_exact(v) : std::string(); };
    text += csv_line({plain_text(graph.components[at(l.a)].id, 80), plain_text(graph.components[at(l.b)].id, 80), std::string(name_of(l.kind)), positive(l.generation), positive(l.width),
                      format_exact(l.planned().value), positive(l.nominal.value), l.stated ? "true" : "false", format_exact(flows[2 * i]), format_exact(flows[2 * i + 1]),
                      format_exact(std::max(flows[2 * i], flows[2 * i + 1]) * ring.bus_bandwidth.value)});
  }
  return text;
}

}  // namespace

std::string link_kind_text(const Link& l, const Node& node) {
  std::string kind = link_kind_name(l, node);
  if ((l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi) && l.width > 0) {
    if (l.kind == LinkKind::nvlink && l.generation > 0) kind += ' ' + std::to_string(l.generation);
    kind += " ×" + std::to_string(l.width);
  }
  return kind;
}

std::vector<double> flows_of(const WiringGraph& graph, const RingOnWiring& ring) {
  std::vector<double> flows(2 * graph.links.size(), 0);
  for (const LinkLoad& load : ring.loads)
    if (load.link >= 0 && at(load.link) < graph.links.size()) flows[2 * at(load.link) + (load.forward ? 0 : 1)] += load.flows;
  return flows;
}

std::vector<LinkGroup> link_groups(const WiringGraph& graph, const RingOnWiring& ring, bool by_load) {
  const std::vector<double> flows = flows_of(graph, ring);
  const auto key = [&](int i) {
    const Link& l = graph.links[at(i)];
    return std::tuple(l.kind, l.generation, l.width, l.rate.value, l.nominal.value, l.stated, graph.components[at(l.a)].kind, graph.components[at(l.b)].kind, by_load ? flows[2 * at(i)] : 0,
                      by_load ? flows[2 * at(i) + 1] : 0);
  };
  std::vector<int> links;
  for (int i = 0; i < static_cast<int>(graph.links.size()); ++i) links.push_back(i);
  const auto less = [&](int a, int b) {
    const auto x = key(a), y = key(b);
    return x != y ? x < y : a < b;
  };
  sort(links, less);
  std::vector<LinkGroup> groups;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (i > 0 && key(links[i]) == key(links[i - 1])) ++groups.back().count;
    else groups.push_back({links[i], 1, flows[2 * at(links[i])], flows[2 * at(links[i]) + 1]});
  }
  sort(groups, [](const LinkGroup& a, const LinkGroup& b) { return a.first < b.first; });
  return groups;
}

std::string topology_sentence(const Cluster& c) {
  const Node& n = c.node;
  const std::string gpu = n.gpu.name.empty() ? std::string("GPUs") : n.gpu.name;
  std::string text = (!n.name.empty() ? n.name : !n.id.empty() ? n.id : "A node") + ": " + counted(n.gpus, "GPU", "GPUs") + " (" + gpu + ") on " + counted(n.sockets, "socket", "sockets");
  switch (n.wiring.kind) {
    case WiringKind::nvswitch: text += n.gpu.is_xgmi ? ", all joined by a switch" : ", all joined by NVSwitch"; break;
    case WiringKind::nvlink_mesh: text += n.gpu.is_xgmi ? ", with direct xGMI links" : ", with direct NVLinks"; break;
    case WiringKind::nvlink_pairs: text += ", some bridged in pairs by NVLink"; break;
    case WiringKind::pcie_switch: text += ", behind PCIe switches"; break;
    case WiringKind::pcie_host: text += ", on their CPUs' own PCIe ports"; break;
    case WiringKind::graph: text += ", wired as drawn"; break;
  }
  if (n.gpus == 1) text = text.substr(0, text.rfind(','));
  if (c.gpus_per_node < n.gpus) text += "; " + std::to_string(c.gpus_per_node) + " are used";
  if (c.network) text += "; " + network_name(*c.network);
  if (c.nodes > 1) text += "; " + format_count(c.nodes) + " such nodes";
  return text + '.';
}

std::string render_topology(const TopologyAnswer& a, RenderFormat format) {
  if (format == RenderFormat::csv) return as_csv(a);
  Sheet sheet(format == RenderFormat::markdown);
  const std::string sentence = topology_sentence(a.stated->cluster);
  sheet.strong(sheet.is_markdown() ? markdown_text(sentence, 400) : plain_text(sentence, 400));
  sheet.heading("Chips");
  sheet.drawing(Tree(a).text());
  nvlink_section(sheet, a);
  matrix_section(sheet, a);
  rings_section(sheet, a);
  links_section(sheet, a);
  std::vector<std::string> assumed;
  for (const Assumption& s : a.assumed)
    assumed.push_back(sheet.code(plain_text(s.path + " = " + s.value, 90)) + ": " + (sheet.is_markdown() ? markdown_text(s.why, 400) : plain_text(s.why, 400)));
  if (!assumed.empty()) {
    sheet.heading("Assumed");
    sheet.list(assumed);
  }
  return sheet.text();
}

}  // namespace wireplan
