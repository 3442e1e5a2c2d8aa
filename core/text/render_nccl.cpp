#include "core/text/render_nccl.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/format.hpp"
#include "core/text/capture.hpp"
#include "core/text/render_nccl_log.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr std::size_t kMostMatrix = 16;
constexpr int kMostChannelLines = 64, kMostTreeRanks = 16, kMostRanksInLine = 64;

std::string two_digits(int n) { return (n < 10 ? "0" : "") + std::to_string(n); }

// NCCL's lines are as long as there are channels or GPUs: broken before a whole item, `between` two of them.
std::string folded(std::string line, std::string_view between) {
  constexpr std::size_t kLogWidth = 120, kIndent = 6;
  for (std::size_t from = 0; line.size() - from > kLogWidth;) {
    const std::size_t cut = line.rfind(between, from + kLogWidth);
    if (cut == std::string::npos || cut <= from + kIndent) break;
    line.replace(cut, 1, '\n' + std::string(kIndent, ' '));
    from = cut + 1;
  }
  return line;
}

std::string short_rate(GBps rate) { return format_fixed(static_cast<double>(rate), 1); }

std::string counted(int n, const char* one, const char* many) { return format_count(n) + ' ' + (n == 1 ? one : many); }

std::string summary(const NcclAnswer& a) {
  const Decision& d = a.decision;
  std::string text = "NCCL " + a.release.version + " on " + a.name + ": " + counted(d.ranks, "rank", "ranks");
  if (a.request.hosts > 1) text += " on " + counted(a.request.hosts, "host", "hosts");
  text += ", " + counted(d.nccl_nodes(), "node", "nodes") + " as NCCL counts, " + counted(d.channels, "channel", "channels");
  if (d.nvls_channels > 0) text += " and " + std::to_string(d.nvls_channels) + " for NVLS";
  return text + '.';
}

// Positions of the node's GPUs, by number, at most `most`.
std::vector<int> shown_gpus(const nccl::Node& node, std::size_t most) {
  std::vector<int> positions;
  for (int i = 0; i < static_cast<int>(node.gpus.size()); ++i) positions.push_back(i);
  std::sort(positions.begin(), positions.end(), [&](int a, int b) { return node.gpu_number(a) < node.gpu_number(b); });
  if (positions.size() > most) positions.resize(most);
  return positions;
}

std::string rate_text(const nccl::Node::Pair& pair) { return std::string(name_of(pair.type)) + " " + short_rate(pair.rate); }

// Nothing of a matrix whose entries are all the same.
bool all_pairs_alike(const nccl::Node& node) {
  const nccl::Node::Pair& first = node.pairs[0][1];
  for (std::size_t i = 0; i < node.pairs.size(); ++i)
    for (std::size_t j = 0; j < node.pairs.size(); ++j)
      if (i != j && (node.pairs[i][j].type != first.type || node.pairs[i][j].rate != first.rate || node.pairs[i][j].transport != first.transport)) return false;
  return true;
}

void add_findings(Sheet& sheet, const NcclAnswer& a) {
  sheet.heading("Findings");
  if (a.findings.empty()) return sheet.paragraph("Nothing unusual.");
  std::vector<std::string> items;
  for (const NcclFinding& f : a.findings) items.push_back(f.text + ". Remedy: " + f.remedy + '.');
  sheet.list(items);
}

void add_paths(Sheet& sheet, const nccl::Node& node) {
  sheet.heading("Paths between GPUs");
  const std::size_t n = node.gpus.size();
  if (n == 1) return sheet.paragraph("One GPU of each node: all pairs meet through the network.");
  if (n > 2 && all_pairs_alike(node)) {
    const nccl::Node::Pair& pair = node.pairs[0][1];
    return sheet.paragraph("Every pair of " + std::to_string(n) + " GPUs: " + rate_text(pair) + " GB/s, " + std::string(name_of(pair.transport)) + ". Kind of path and NCCL's planning rate.");
  }
  const std::vector<int> shown = shown_gpus(node, kMostMatrix);
  const bool has_rates = shown.size() <= 8;
  Table table{{{""}}, {}, {}};
  for (const int j : shown) table.columns.push_back({std::to_string(node.gpu_number(j)), true});
  bool has_p2p = false, has_shm = false, has_net = false;
  for (const int i : shown) {
    std::vector<std::string> row{"GPU" + std::to_string(node.gpu_number(i))};
    for (const int j : shown) {
      const nccl::Node::Pair& pair = node.pairs[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      const char* mark = pair.transport == Transport::shm ? "*" : pair.transport == Transport::net ? "+" : "";
      has_p2p |= pair.transport == Transport::p2p;
      has_shm |= pair.transport == Transport::shm;
      has_net |= pair.transport == Transport::net;
      row.push_back(i == j ? "X" : (has_rates ? rate_text(pair) : std::string(name_of(pair.type))) + mark);
    }
    table.rows.push_back(std::move(row));
  }
  sheet.table(table);
  std::string text = has_rates ? "Kind of path and NCCL's planning rate in GB/s." : "Kind of path.";
  if (has_p2p) text += " Without a mark: P2P.";
  if (has_shm) text += " *: through host memory (SHM).";
  if (has_net) text += " +: through the network.";
  if (shown.size() < n) text += " The first " + std::to_string(shown.size()) + " of " + std::to_string(n) + " GPUs.";
  sheet.paragraph(text);
}

void add_nics(Sheet& sheet, const nccl::Node& node, const NcclAnswer& a) {
  if (node.nics.empty() || a.decision.nccl_nodes() == 1) return;
  sheet.heading("Paths to NICs");
  Table table{{{"NIC", true}, {"GB/s", true}}, {}, {}};
  const nccl::Node::Nic& first = node.nics.front();
  std::vector<int> shown = shown_gpus(node, node.gpus.size());
  std::erase_if(shown, [&](int j) { return first.types[static_cast<std::size_t>(j)] == PathType::dis; });  // GPUs of the other hosts of a rack
  const std::size_t gpus = shown.size();
  shown.resize(std::min(gpus, kMostMatrix));
  for (const int j : shown) table.columns.push_back({std::to_string(node.gpu_number(j)), true});
  bool has_staged = false;
  for (const nccl::Node::Nic& nic : node.nics) {
    if (nic.host != first.host) continue;
    std::vector<std::string> row{std::to_string(nic.dev), short_rate(nic.rate)};
    for (const int position : shown) {
      const std::size_t j = static_cast<std::size_t>(position);
      const bool staged = !nic.gpudirect_write[j];
      has_staged |= staged;
      row.push_back(std::string(name_of(nic.types[j])) + (staged ? "*" : ""));
    }
    table.rows.push_back(std::move(row));
  }
  sheet.table(table);
  std::string text;
  if (has_staged) text += "*: without GPUDirect, by host memory. ";
  if (shown.size() < gpus) text += "The first " + std::to_string(shown.size()) + " of " + std::to_string(gpus) + " GPUs. ";
  if (const std::size_t more = node.nics.size() - table.rows.size(); more > 0) text += "Those of the first host; and " + std::to_string(more) + " more on the other hosts of the rack, each for the GPUs of its host.";
  if (!text.empty()) sheet.paragraph(text);
}

void add_graphs(Sheet& sheet, const NcclAnswer& a) {
  sheet.heading("Graphs found (lines of NCCL_DEBUG_SUBSYS=GRAPH)");
  const nccl::Node& node = a.decision.nodes.front();
  std::string lines;
  for (const Graph* g : {&node.ring, &node.tree, &node.nvls}) {
    if (g->channels == 0) continue;
    lines += (lines.empty() ? "" : "\n") + nccl_graph_line(*g);
    for (std::size_t c = 0; c < g->order.size(); ++c) {
      std::string line = std::string(c < 10 ? "   " : "  ") + std::to_string(c) + " :";
      if (!g->nets.empty()) line += " NET/" + std::to_string(g->nets[c][0]);
      for (std::size_t i = 0; i < g->order[c].size() && i < static_cast<std::size_t>(kMostRanksInLine); ++i) line += " GPU/" + std::to_string(node.gpu_number(g->order[c][i]));
      if (g->order[c].size() > static_cast<std::size_t>(kMostRanksInLine)) line += " …";
      if (!g->nets.empty()) line += " NET/" + std::to_string(g->nets[c][1]);
      lines += '\n' + folded(std::move(line), " ");
    }
  }
  sheet.drawing(lines);
  if (const std::string limit = nccl_limit_text(node); !limit.empty()) sheet.paragraph(limit);
  sheet.paragraph("GPU by index, where the log has bus ids. bw: what every channel is planned with, inside the node / to the NICs, in GB/s.");
}

void add_channels(Sheet& sheet, const NcclAnswer& a) {
  const Decision& d = a.decision;
  sheet.heading("Rings and trees (lines of NCCL_DEBUG=INFO)");
  std::string lines;
  for (const std::string& line : nccl_channel_lines(d)) lines += (lines.empty() ? "" : "\n") + folded(line, " ");
  const int shown = std::min(d.ranks, kMostTreeRanks);
  for (int r = 0; r < shown; ++r) lines += "\n" + folded(nccl_trees_line(d, r), " [");
  lines += "\n" + std::to_string(d.channels) + " coll channels, " + std::to_string(d.channels) + " collnet channels, " + std::to_string(d.nvls_channels) + " nvls channels, " + std::to_string(d.p2p_channels) +
           " p2p channels, " + std::to_string(d.p2p_channels_per_peer) + " p2p channels per peer";
  sheet.drawing(lines);
  if (shown < d.ranks) sheet.paragraph("Trees of the first " + std::to_string(shown) + " of " + std::to_string(d.ranks) + " ranks.");
}

void add_choices(Sheet& sheet, const NcclAnswer& a) {
  sheet.heading("Algorithm and protocol (float32, sum)");
  Table table{{{"operation"}, {"from", true}, {"algorithm and protocol"}, {"channels", true}, {"threads", true}, {"NCCL expects", true}}, {}, {}};
  for (const Operation op : kNcclOperations) {
    bool first = true;
    for (const NcclSwitch& s : nccl_switches(a, op)) {
      const Choice& c = s.choice;
      table.rows.push_back({first ? std::string(name_of(op)) : "", format_message_size(Bytes(s.size)), nccl_choice_name(c), std::to_string(c.channels), std::to_string(c.threads), format_seconds(Seconds(c.time_us / 1e6))});
      first = false;
    }
    if (first) table.rows.push_back({std::string(name_of(op)), "", "none", "", "", ""});
  }
  sheet.table(table);
  if (std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) { return row[2] == "none"; }))
    sheet.paragraph("none: NCCL_ALGO and NCCL_PROTO leave no algorithm for it, NCCL stops such a call with an error.");
  sheet.paragraph("From the size on, in powers of two. Channels, threads and the time NCCL itself expects are those of the first size; its constants choose between algorithms and are no forecast: "
                  "for times see wireplan collectives.");
}

void add_assumed(Sheet& sheet, const NcclAnswer& a) {
  std::vector<std::string> items;
  for (const Note& n : a.notes) items.push_back(n.text + '.');
  for (const Assumption& assumed : a.assumed) items.push_back(sheet.code(assumed.path + " = " + assumed.value) + ": " + assumed.why);
  if (items.empty()) return;
  sheet.heading("Assumed");
  sheet.list(items);
}

// What the names in the text mean, of those that occur in it.
void add_names(Sheet& sheet) {
  constexpr std::pair<std::string_view, const char*> kMeanings[] = {
      {"Pattern 1", "a tree; its way to the NIC is shared by two GPUs of a node"},
      {"Pattern 3", "a tree; one GPU of a node has its way to the NIC"},
      {"Pattern 4", "a ring"},
      {"Pattern 5", "NVLS: a star around the NVSwitch"},
      {"crossNic", "not 0: a ring may leave a node by another NIC than the one it came in by"},
      {"sameChannels", "1: all channels visit the GPUs in the same order"},
      {"NVL", "NVLink"},
      {"NVB", "NVLink by way of another GPU"},
      {"C2C", "the chip-to-chip link of a GPU to its CPU"},
      {"PIX", "one PCIe switch"},
      {"PXB", "several PCIe switches"},
      {"P2C", "C2C to the CPU, then PCIe"},
      {"PXN", "NVLink to a GPU nearer to the NIC, then PCIe"},
      {"PHB", "the CPU, within a NUMA node"},
      {"SYS", "CPUs of several NUMA nodes"},
      {"NET", "the network; with a number, the NIC"},
      {"DIS", "no path"},
      {"P2P", "GPUs reach each other's memory"},
      {"SHM", "buffers in host memory"},
      {"LL", "a flag to every 4 bytes: soonest there, at half the rate"},
      {"LL128", "a flag to every 120 bytes: soon there, near the full rate"},
      {"Simple", "large pieces: the full rate"},
      {"NVLS", "the NVSwitch itself reduces and copies"},
      {"NVLSTree", "NVLS inside nodes, a tree between them"},
      {"PAT", "trees for one GPU a node, over growing distances"}};
  Table table{{{"name"}, {"means"}}, {}, {}};
  for (const auto& [name, meaning] : kMeanings)
    if (has_word(sheet.text(), name)) table.rows.push_back({std::string(name), meaning});
  sheet.heading("Names");
  sheet.table(table);
}

std::string csv(const NcclAnswer& a) {
  std::string text = csv_line({"op", "size_bytes", "algorithm", "protocol", "time_s", "max_channels", "threads", "channels"});
  for (const Operation op : kNcclOperations)
    for (const double size : kChoiceSizes) {
      const Choice c = choice_at(a.decision, a.release, op, size);
      if (c.is_none) continue;
      text += csv_line({std::string(name_of(op)), format_exact(size), std::string(name_of(c.algorithm)), std::string(name_of(c.protocol)), format_exact(c.time_us / 1e6), std::to_string(c.most_channels), std::to_string(c.threads),
                        std::to_string(c.channels)});
    }
  return text;
}

}  // namespace

std::string nccl_choice_name(const Choice& choice) {
  constexpr const char* kAlgorithmNames[] = {"Tree", "Ring", "NVLS", "NVLSTree", "PAT"};
  constexpr const char* kProtocolNames[] = {"LL", "LL128", "Simple"};
  return std::string(kAlgorithmNames[static_cast<std::size_t>(choice.algorithm)]) + ' ' + kProtocolNames[static_cast<std::size_t>(choice.protocol)];
}

int pattern_number(Pattern pattern) { return pattern == Pattern::ring ? 4 : pattern == Pattern::nvls ? 5 : pattern == Pattern::tree ? 3 : 1; }

std::string nccl_graph_line(const Graph& g) {
  return "Pattern " + std::to_string(pattern_number(g.pattern)) + ", crossNic " + std::to_string(g.cross_nic) + ", nChannels " + std::to_string(g.channels) + ", bw " + format_fixed(static_cast<double>(g.intra), 6) + "/" +
         format_fixed(static_cast<double>(g.inter), 6) + ", type " + std::string(name_of(g.intra_type)) + "/" + std::string(name_of(g.inter_type)) + ", sameChannels " + (g.same_channels ? "1" : "0");
}

std::string nccl_limit_link(const nccl::Node& node) {
  const Limit& limit = node.ring_limit;
  if (limit.rate <= 0) return "nothing";
  constexpr std::pair<EdgeKind, const char*> kLinks[] = {{EdgeKind::nvl, "NVLink"}, {EdgeKind::c2c, "chip-to-chip link"}, {EdgeKind::pci, "PCIe link"}, {EdgeKind::sys, "link between NUMA nodes"}, {EdgeKind::net, "NIC"}};
  std::string link = "link";
  for (const auto& [kind, name] : kLinks)
    if (kind == limit.link) link = name;
  const auto end = [&](int position) { return position < 0 ? "NIC " + std::to_string(limit.nic) : "GPU " + std::to_string(node.gpu_number(position)); };
  return link + " of " + short_rate(limit.rate) + " GB/s on the way from " + end(limit.from) + " to " + end(limit.to) + (limit.uses > 1 ? ", used " + std::to_string(limit.uses) + " times" : "");
}

std::string nccl_limit_text(const nccl::Node& node) {
  return node.ring_limit.rate > 0 ? "What limits the rings: the " + nccl_limit_link(node) + "." : "";
}

std::string ranks_text(const std::vector<int>& ranks, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < most; ++i) text += (i > 0 ? " " : "") + std::to_string(ranks[i]);
  return text + (ranks.size() > most ? " …" : "");
}

std::vector<std::string> nccl_channel_lines(const Decision& d) {
  std::vector<std::string> lines(static_cast<std::size_t>(d.channels));
  for (const Ring& ring : d.rings)
    for (const int c : ring.channels) lines[static_cast<std::size_t>(c)] = "Channel " + two_digits(c) + "/" + two_digits(d.channels) + " : " + ranks_text(ring.order);
  if (lines.size() > static_cast<std::size_t>(kMostChannelLines)) lines.resize(static_cast<std::size_t>(kMostChannelLines));
  return lines;
}

std::string nccl_trees_line(const Decision& d, int rank) {
  std::vector<std::string> parts(static_cast<std::size_t>(d.channels));
  const std::size_t r = static_cast<std::size_t>(rank);
  for (const Tree& tree : d.trees) {
    const auto& down = tree.children[r];
    const std::string text = std::to_string(down[0]) + "/" + std::to_string(down[1]) + "/" + std::to_string(down[2]) + "->" + std::to_string(rank) + "->" + std::to_string(tree.parent[r]);
    for (const int c : tree.channels) parts[static_cast<std::size_t>(c)] = " [" + std::to_string(c) + "] " + text;
  }
  std::string line = "Trees";
  for (const std::string& part : parts) line += part;
  return line;
}

std::string render_nccl(const NcclAnswer& a, RenderFormat format, const NcclLogComparison* comparison) {
  if (format == RenderFormat::csv) return csv(a);
  Sheet sheet(format == RenderFormat::markdown);
  sheet.strong(summary(a));
  if (!a.decision.fails.empty()) sheet.strong("This release would fail to initialise: " + a.decision.fails + ". What follows is what it would have come to.");
  if (comparison != nullptr) add_log_comparison(sheet, *comparison);
  // "Nothing unusual" beside a log that differs would contradict it.
  if (!a.findings.empty() || comparison == nullptr || comparison->differ() == 0) add_findings(sheet, a);
  add_paths(sheet, a.decision.nodes.front());
  add_nics(sheet, a.decision.nodes.front(), a);
  add_graphs(sheet, a);
  add_channels(sheet, a);
  add_choices(sheet, a);
  add_assumed(sheet, a);
  add_names(sheet);
  return sheet.text();
}

}  // namespace wireplan
