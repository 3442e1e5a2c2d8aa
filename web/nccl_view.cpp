#include "web/nccl_view.hpp"

#include <algorithm>

#include "core/text/read_cluster.hpp"

namespace wireplan {

namespace {

constexpr std::size_t kMost = 4096;  // of anything in a list

const Json& member(const Json& j, const char* key) {
  static const Json nothing;
  const auto found = j.is_object() ? j.find(key) : j.end();
  return found == j.end() ? nothing : *found;
}
double number_of(const Json& j) { return j.is_number() ? j.get<double>() : 0; }
int count_of(const Json& j, int otherwise = 0) { return j.is_number() ? static_cast<int>(std::clamp(j.get<double>(), -1.0, 1e6)) : otherwise; }
std::string words_of(const Json& j) { return j.is_string() ? j.get<std::string>() : std::string(); }
const Json* item(const Json& j, std::size_t i) { return j.is_array() && i < j.size() ? &j[i] : nullptr; }
std::vector<int> counts_of(const Json& j) {
  std::vector<int> list;
  for (std::size_t i = 0; const Json* one = item(j, i); ++i)
    if (list.size() < kMost) list.push_back(count_of(*one, -1));
  return list;
}

std::string protocol_name(std::string name) {
  if (name == "simple") return "Simple";
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

// "0–3, 8–11".
std::string ranges(const std::vector<int>& channels) {
  std::string text;
  for (std::size_t i = 0; i < channels.size();) {
    std::size_t last = i;
    while (last + 1 < channels.size() && channels[last + 1] == channels[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(channels[i]);
    if (last > i) text += (last == i + 1 ? ", " : "–") + std::to_string(channels[last]);
    i = last + 1;
  }
  return text;
}

// Ranks of the first node are its GPUs, in order. What NCCL takes for a node of its own may be less than a host: then GPUs of it
// meet those of the others through the network.
class Placing {
 public:
  Placing(const Cluster& cluster, const Json& answer) : gpus_(used_gpus(cluster)) {
    const int nodes = count_of(member(answer, "nccl_nodes"));
    parts_ = nodes > cluster.nodes ? nodes / std::max(cluster.nodes, 1) : 1;
    if (const Json* graph = item(member(answer, "graphs"), 0))
      if (const Json* order = item(member(*graph, "order"), 0)) first_ = counts_of(*order);
  }

  int gpu(int rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < gpus_.size() ? gpus_[static_cast<std::size_t>(rank)] : NcclView::kNetwork; }

  void add(std::vector<NcclView::Hop>& hops, int from_rank, int to_rank) const {
    const int from = gpu(from_rank), to = gpu(to_rank);
    if (from >= 0 && to >= 0 && are_one(from, to)) return hops.push_back({from, to});
    if (from >= 0) hops.push_back({from, NcclView::kNetwork});
    if (to >= 0) hops.push_back({NcclView::kNetwork, to});
  }

 private:
  bool are_one(int a, int b) const {
    if (parts_ <= 1) return true;
    const bool in_a = is_first(a), in_b = is_first(b);
    return in_a == in_b && (in_a || parts_ == 2);
  }
  bool is_first(int gpu) const { return std::find(first_.begin(), first_.end(), gpu) != first_.end(); }

  std::vector<int> gpus_, first_;
  int parts_ = 1;
};

// One picture for all channels that take the same way through the same NICs.
void add_pictures(NcclView::Graph& graph, const Json& channels, const Json& nets, const std::vector<NcclView::Hop>& hops) {
  std::vector<std::pair<std::array<int, 2>, std::vector<int>>> alike;
  for (const int c : counts_of(channels)) {
    std::array<int, 2> nic = {-1, -1};
    if (graph.channels > 0 && c >= 0)
      if (const Json* net = item(nets, static_cast<std::size_t>(c % graph.channels)))
        if (const std::vector<int> both = counts_of(*net); both.size() == 2) nic = {both[0], both[1]};
    auto found = std::find_if(alike.begin(), alike.end(), [&](const auto& a) { return a.first == nic; });
    if (found == alike.end()) found = alike.insert(alike.end(), {nic, {}});
    found->second.push_back(c);
  }
  for (const auto& [nic, list] : alike) graph.pictures.push_back({ranges(list), static_cast<int>(list.size()), hops, nic[0], nic[1], -1});
}

void read_rings(NcclView::Graph& graph, const Json& rings, const Json& nets, const Placing& placing) {
  for (std::size_t i = 0; const Json* ring = item(rings, i); ++i) {
    const std::vector<int> order = counts_of(member(*ring, "order"));
    std::vector<NcclView::Hop> hops;
    for (std::size_t r = 0; r < order.size(); ++r) placing.add(hops, order[r], order[(r + 1) % order.size()]);
    add_pictures(graph, member(*ring, "channels"), nets, hops);
  }
}

void read_trees(NcclView::Graph& graph, const Json& trees, const Json& nets, const Placing& placing) {
  for (std::size_t i = 0; const Json* tree = item(trees, i); ++i) {
    const std::vector<int> parent = counts_of(member(*tree, "parent"));
    std::vector<NcclView::Hop> hops;
    for (std::size_t r = 0; r < parent.size(); ++r)
      if (parent[r] >= 0) placing.add(hops, static_cast<int>(r), parent[r]);
    add_pictures(graph, member(*tree, "channels"), nets, hops);
  }
}

void read_heads(NcclView::Graph& graph, const Json& heads) {
  const std::vector<int> list = counts_of(heads);
  for (std::size_t c = 0; c < list.size(); ++c) graph.pictures.push_back({std::to_string(c), 1, {}, -1, -1, list[c]});
}

NcclView::Graph read_graph(const Json& j, const Json& answer, const Placing& placing) {
  NcclView::Graph graph;
  const std::string kind = words_of(member(j, "kind"));
  graph.kind = kind == "tree" ? "tree" : kind == "nvls" ? "nvls" : "ring";
  graph.pattern = words_of(member(j, "pattern"));
  graph.types = words_of(member(j, "intra_type")) + "/" + words_of(member(j, "inter_type"));
  graph.channels = count_of(member(j, "channels"));
  graph.intra = number_of(member(j, "intra_bytes_per_s"));
  graph.inter = number_of(member(j, "inter_bytes_per_s"));
  const Json& nets = member(j, "nets");
  if (graph.kind == "ring") read_rings(graph, member(answer, "rings"), nets, placing);
  if (graph.kind == "tree") read_trees(graph, member(answer, "trees"), nets, placing);
  if (graph.kind == "nvls") read_heads(graph, member(j, "heads"));
  for (const NcclView::Picture& p : graph.pictures) graph.all_channels += p.count;
  return graph;
}

// "GPU 3", "NIC 0".
std::string end_name(const Json& j) { return j.is_number() ? "GPU " + std::to_string(count_of(j)) : "NIC " + words_of(j).substr(std::min<std::size_t>(3, words_of(j).size())); }

}  // namespace

const NcclView::Graph* NcclView::graph(std::string_view kind) const {
  for (const Graph& g : graphs)
    if (g.kind == kind) return &g;
  return graphs.empty() ? nullptr : &graphs.front();
}

const std::vector<NcclView::Way>* NcclView::ways_of(std::string_view operation) const {
  for (const auto& [op, list] : ways)
    if (op == operation) return &list;
  return nullptr;
}

std::string nccl_request(const Cluster& cluster) {
  if (total_gpus(cluster) < 2) return {};
  Json j = write_cluster_part(cluster);
  j.erase("profile");
  return dump_json_compact(j);
}

NcclView nccl_view(const Cluster& cluster, std::string request, const Json& answer) {
  NcclView view;
  view.request = std::move(request);
  for (std::size_t i = 0; const Json* e = item(member(answer, "errors"), i); ++i) view.errors.push_back({words_of(member(*e, "path")), "", "", words_of(member(*e, "text"))});
  view.release = words_of(member(answer, "nccl"));
  view.ranks = count_of(member(answer, "ranks"));
  const Json& channels = member(answer, "channels");
  view.collective_channels = count_of(member(channels, "coll"));
  view.nvls_channels = count_of(member(channels, "nvls"));
  view.peer_channels = count_of(member(channels, "p2p"));
  const Placing placing(cluster, answer);
  for (std::size_t i = 0; const Json* graph = item(member(answer, "graphs"), i); ++i) view.graphs.push_back(read_graph(*graph, answer, placing));
  const Json& limit = member(answer, "ring_limit");
  if (limit.is_object()) view.limit = {end_name(member(limit, "from")), end_name(member(limit, "to")), words_of(member(limit, "link")), number_of(member(limit, "bytes_per_s")), count_of(member(limit, "uses")), count_of(member(limit, "from"), -1), count_of(member(limit, "to"), -1)};
  for (std::size_t i = 0; const Json* choice = item(member(answer, "choices"), i); ++i) {
    std::vector<NcclView::Way> list;
    for (std::size_t k = 0; const Json* s = item(member(*choice, "switches"), k); ++k)
      if (s->is_array() && s->size() == 3) list.push_back({number_of((*s)[0]), words_of((*s)[1]), protocol_name(words_of((*s)[2]))});
    view.ways.emplace_back(words_of(member(*choice, "op")), std::move(list));
  }
  for (std::size_t i = 0; const Json* f = item(member(answer, "findings"), i); ++i) view.findings.push_back({words_of(member(*f, "severity")), words_of(member(*f, "text")), words_of(member(*f, "remedy"))});
  return view;
}

std::string nccl_switch_text(const NcclView::Way& before, const NcclView::Way& after) {
  return before.algorithm == after.algorithm ? before.protocol + " → " + after.protocol : before.text() + " → " + after.text();
}

}  // namespace wireplan
