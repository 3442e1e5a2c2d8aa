#include "web/nccl_words.hpp"

namespace wireplan {

namespace {

std::string rate_of(double bytes_per_s) { return format_fixed(bytes_per_s / 1e9, 1); }

bool leaves_node(const NcclView::Graph& graph) {
  for (const NcclView::Picture& p : graph.pictures)
    if (p.nic_in >= 0) return true;
  return false;
}

// "ring LL, from 64 KiB ring LL128, …".
std::string ways_text(const Language& words, const std::vector<NcclView::Way>& ways) {
  std::string text;
  for (const NcclView::Way& w : ways)
    text += text.empty() ? w.text() : ", " + words.fill("nccl.from", {{"s", format_message_size(Bytes(w.size))}, {"w", w.text()}});
  return text;
}

// "0 → 1 → 2 → 0" of the first node's GPUs, with the NICs where it leaves it.
std::string way_text_of(const NcclView::Picture& p) {
  const auto end = [](int gpu, int nic) { return gpu >= 0 ? std::to_string(gpu) : nic >= 0 ? "NIC " + std::to_string(nic) : std::string("…"); };
  std::string text;
  for (std::size_t i = 0; i < p.hops.size() && i < 64; ++i) {
    const NcclView::Hop& h = p.hops[i];
    if (i == 0 || p.hops[i - 1].to != h.from) text += (text.empty() ? "" : "; ") + end(h.from, p.nic_in);
    text += " → " + end(h.to, p.nic_out);
  }
  return text;
}

}  // namespace

std::string nccl_problem(const AppState& state) {
  const Cluster& cluster = state.answer.plan.cluster;
  if (total_gpus(cluster) < 2) return std::string(state.words["wire.one_gpu"]);
  const NcclView* nccl = state.known_nccl();
  if (!nccl) return std::string(state.words["nccl.waiting"]);
  if (nccl->errors.empty()) return {};
  const Error& first = nccl->errors.front();
  if (first.path == "cluster.node.gpu.architecture") return state.words.fill("nccl.other_gpu", {{"g", cluster.node.gpu.name}});
  return first.text.empty() ? std::string(state.words["nccl.none"]) : first.text;
}

std::string nccl_limit(const Language& words, const NcclView& nccl) {
  const NcclView::Limit& l = nccl.limit;
  if (l.rate <= 0) return std::string(words["nccl.no_limit"]);
  const std::string key = "nccl.link." + l.link;
  return words.fill(l.uses > 1 ? "nccl.limit_uses" : "nccl.limit", {{"l", words.has(key) ? std::string(words[key]) : l.link},
                                                                   {"r", rate_of(l.rate)},
                                                                   {"a", l.from},
                                                                   {"b", l.to},
                                                                   {"n", std::to_string(l.uses)}});
}

std::string nccl_counts(const Language& words, const NcclView& nccl) {
  return words.fill(nccl.nvls_channels > 0 ? "nccl.counts_nvls" : "nccl.counts", {{"c", std::to_string(nccl.collective_channels)},
                                                                                 {"v", std::to_string(nccl.nvls_channels)},
                                                                                 {"p", std::to_string(nccl.peer_channels)}});
}

std::string nccl_channels(const Language& words, const NcclView::Graph& graph, const NcclView::Picture& picture) {
  return words.fill(picture.count > 1 ? "nccl.alike" : "nccl.channel", {{"c", picture.channels}, {"n", std::to_string(graph.all_channels)}});
}

std::string nccl_rates(const NcclView::Graph& graph) { return rate_of(graph.intra) + (leaves_node(graph) ? " / " + rate_of(graph.inter) : std::string()); }

void add_nccl(std::vector<Row>& rows, const AppState& state) {
  if (!state.view.nccl) return;
  const auto name = [&](const std::string& path) { return name_of_path(state, "nccl." + path); };
  const auto say = [&](std::string path, std::string label, std::string text) { rows.push_back({"NCCL", "nccl." + path, std::move(label), std::move(text), "", name_of(Claim::count), 0, true}); };
  if (std::string problem = nccl_problem(state); !problem.empty()) return say("problem", name("problem"), std::move(problem));
  const NcclView& n = *state.known_nccl();
  for (const auto& [path, count] : {std::pair{"channels.coll", n.collective_channels}, {"channels.nvls", n.nvls_channels}, {"channels.p2p", n.peer_channels}})
    rows.push_back({"NCCL", std::string("nccl.") + path, name(path), std::to_string(count), "", name_of(Claim::count), static_cast<double>(count)});
  say("ring_limit", name("ring_limit"), nccl_limit(state.words, n));
  for (const NcclView::Graph& g : n.graphs) {
    const std::string kind(g.kind);
    say("graphs." + kind, name("graphs." + kind), state.words.fill("nccl.graph_says", {{"p", g.pattern}, {"c", std::to_string(g.channels)}, {"r", nccl_rates(g)}, {"t", g.types}}));
    if (kind == "nvls") continue;
    constexpr std::size_t kMost = 16;
    for (std::size_t i = 0; i < g.pictures.size() && i < kMost; ++i)
      say(kind + "." + std::to_string(i), name("graphs." + kind) + ", " + nccl_channels(state.words, g, g.pictures[i]), way_text_of(g.pictures[i]));
  }
  for (const auto& [operation, ways] : n.ways) say("switches." + operation, operation, ways_text(state.words, ways));
  if (n.findings.empty()) say("findings", name("findings"), std::string(state.words["nccl.no_findings"]));
  for (std::size_t i = 0; i < n.findings.size(); ++i) say("findings." + std::to_string(i), name("findings"), n.findings[i].text + (n.findings[i].remedy.empty() ? "" : " " + n.findings[i].remedy));
}

}  // namespace wireplan
