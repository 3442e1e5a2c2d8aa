// From the messages of NCCL 2.4 to 2.30 to NcclLog.
#include <algorithm>
#include <map>

#include "core/text/json.hpp"
#include "core/text/log_text.hpp"
#include "core/text/nccl_log.hpp"
#include "core/text/nccl_log_communicators.hpp"
#include "core/text/nccl_log_lines.hpp"

namespace wireplan {
namespace {

constexpr int kMostTreeRanks = 4'096;
constexpr std::size_t kMostPairs = 10'000, kMostChoices = 10'000, kMostMessages = 20, kMostHosts = 100'000;

void remember(std::vector<std::string>& list, std::string_view message) {
  while (message.ends_with(' ')) message.remove_suffix(1);
  std::string text(message.substr(0, 200));
  if (list.size() < kMostMessages && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

// "RING", "Ring", "1"
std::optional<Algorithm> algorithm_named(std::string_view word) {
  const struct {
    std::string_view number, name;
    Algorithm algorithm;
  } names[] = {{"0", "tree", Algorithm::tree},
               {"1", "ring", Algorithm::ring},
               {"2", "collnetdirect", Algorithm::collnet},
               {"3", "collnetchain", Algorithm::collnet},
               {"4", "nvls", Algorithm::nvls},
               {"5", "nvlstree", Algorithm::nvls_tree},
               {"6", "pat", Algorithm::pat}};
  std::string lower;
  for (const char c : word.substr(0, 40))
    if (c != '_') lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const auto& n : names)
    if (n.number == lower || n.name == lower) return n.algorithm;
  return std::nullopt;
}

std::optional<Protocol> protocol_named(std::string_view word) {
  if (word == "0" || word == "LL") return Protocol::ll;
  if (word == "1" || word == "LL128") return Protocol::ll128;
  if (word == "2" || word == "Simple" || word == "SIMPLE") return Protocol::simple;
  return std::nullopt;
}

std::optional<Collective> function_named(std::string_view word) {
  const struct {
    std::string_view name;
    Collective collective;
  } names[] = {{"AllReduce", Collective::all_reduce},
               {"AllGather", Collective::all_gather},
               {"ReduceScatter", Collective::reduce_scatter},
               {"Broadcast", Collective::broadcast},
               {"Reduce", Collective::reduce}};
  for (const auto& n : names)
    if (n.name == word) return n.collective;
  return std::nullopt;
}

class LogReader {
 public:
  NcclLog log;
  bool has_message = false;

  // Twice: which communicator is the largest is known at the end only.
  void read(std::string_view text) {
    for (std::string_view rest = text; std::optional<std::string> line = next_line(rest);) find_size(*line);
    all_.choose();
    log.ranks = all_.ranks() > 0 ? all_.ranks() : named_ranks_;
    log.communicators = all_.count();
    log.comm_id = all_.id();
    for (std::string_view rest = text; std::optional<std::string> line = next_line(rest);) {
      // The last word of a text without end may be half of it.
      if (rest.empty() && !text.ends_with('\n') && contains(*line, " Trees ")) line->resize(line->rfind(' '));
      take(*line);
    }
    log.hosts = static_cast<int>(hosts_.size());
    finish();
  }

 private:
  NcclCommunicators all_;
  std::map<int, NcclLog::Rank> members_;
  std::map<int, std::vector<int>> rings_;                // by channel
  std::map<int, std::map<int, int>> trees_;              // channel -> rank -> parent
  std::map<std::pair<int, int>, std::map<std::string, std::vector<int>, std::less<>>> transports_;
  std::map<std::pair<int, double>, NcclLog::Choice> choices_;  // by operation and size: the first counts
  std::map<int, std::map<int, int>> next_;               // of ring lines that tell one rank: channel -> rank -> the next one
  int named_ranks_ = 0;
  bool has_begun_ = false;                               // the chosen communicator was named
  std::map<std::string, int, std::less<>> hosts_;         // lines that each wrote
  std::size_t pairs_ = 0;
  std::map<std::string, int, std::less<>> graph_of_;  // whose channels a thread tells of, by "host:pid:tid"; kept for graphs that are taken
  struct GraphGpus {
    std::string host;
    std::vector<std::vector<std::string>> channels;  // names of GPUs
  };
  std::vector<GraphGpus> graph_gpus_;

  using Message = NcclMessage;
  using Whose = NcclCommunicators::Whose;

  void find_size(std::string_view line) {
    if (message_start(line) == std::string_view::npos) return;
    has_message = true;
    const auto m = nccl_message_of(line);
    if (!m) return;
    all_.see(*m);
    // In parts of logs: the ranks they name.
    const bool names_ranks = m->text.starts_with("Ring ") || m->text.starts_with("Channel ");
    if (!all_.are_named() && (names_ranks || contains(m->text, " : ")))
      for (std::string_view word : words_of(behind(m->text, " : "))) {
        if (!names_ranks && word.starts_with("GPU/") && !contains(word, "-")) word.remove_prefix(4);
        else if (!names_ranks) continue;
        if (const auto rank = names_ranks ? number_at(word, 0) : whole_number(word); rank && *rank < kMostNcclLogRanks) named_ranks_ = std::max(named_ranks_, static_cast<int>(*rank) + 1);
      }
  }

  void take(std::string_view line) {
    const auto m = nccl_message_of(line);
    const Whose whose = m ? all_.whose(*m) : Whose::chosen;
    if (whose == Whose::apart) return;
    // The first rank tells the release before it names the communicator.
    if ((log.version.empty() || !has_begun_) && contains(line, "NCCL version ")) {
      std::string_view word = first_word(behind(line, "NCCL version "));
      word = word.substr(0, word.find('+'));
      if (word.size() < 20) log.version = std::string(word);
    }
    if (!m) return;
    if (whose != Whose::other && !m->host.empty() && hosts_.size() < kMostHosts) ++hosts_[std::string(m->host)];
    if (whose == Whose::stated) {
      has_begun_ = true;
      return take_member(*m);
    }
    if (m->is_warning) remember(log.warnings, m->text);
    take_machine(m->text);
    if (whose == Whose::other) return;
    if (take_ring(m->text) || take_neighbours(m->text) || take_trees(m->text) || take_transport(m->text)) return;
    take_channels(m->text) || take_graph(*m) || take_graph_channel(*m) || take_choice(m->text);
  }

  void take_member(const Message& m) {
    if (contains(m.text, " MNNVL 1")) log.has_mnnvl = true;
    if (const auto nodes = number_behind(m.text, " nNodes "); nodes && *nodes <= kMostNcclLogRanks) log.nodes = static_cast<int>(*nodes);
    const auto rank = number_behind(m.text, " rank ");
    if (!rank || *rank >= log.ranks) return;
    NcclLog::Rank& r = members_[static_cast<int>(*rank)];
    r.rank = static_cast<int>(*rank);
    if (r.host.empty()) r.host = std::string(m.host.substr(0, 255));
    if (const auto device = number_behind(m.text, "cudaDev "); device && *device < 1024) r.device = static_cast<int>(*device);
    if (const auto device = number_behind(m.text, "nvmlDev "); device && *device < 1024) r.nvml_device = static_cast<int>(*device);
    if (const std::string_view bus = first_word(behind(m.text, "busId ")); !bus.empty() && bus.size() < 20) r.bus_id = std::string(bus);
  }

  bool take_ring(std::string_view text) {
    auto ring = nccl_ring_of(text);
    if (!ring) return false;
    if (static_cast<int>(ring->order.size()) != log.ranks) {
      log.is_cut |= ring->order.size() == 512;  // what words_of takes of a line
      return true;
    }
    const auto [known, is_new] = rings_.emplace(ring->channel, ring->order);
    if (!is_new && known->second != ring->order) log.is_ambiguous = true;
    return true;
  }

  // "Ring 02 : 2 -> 0 -> 1": a rank between its neighbours; "Tree 1 : 1 -> 3 -> 2/-1/-1": between parent and children. With GRAPH.
  bool take_neighbours(std::string_view text) {
    const bool is_ring = text.starts_with("Ring "), is_tree = text.starts_with("Tree ");
    if ((!is_ring && !is_tree) || contains(text, " via ") || log.ranks > kMostTreeRanks) return false;
    const auto words = words_of(text);
    if (words.size() < 8 || words[2] != ":" || words[4] != "->" || words[6] != "->") return false;
    const auto channel = whole_number(words[1]);
    const auto before = nccl_rank_of(words[3]), rank = nccl_rank_of(words[5]), after = nccl_rank_of(words[7]);
    if (!channel || *channel >= kMostNcclLogChannels || !before || !rank || *rank < 0 || *rank >= log.ranks || *before >= log.ranks) return false;
    const int c = static_cast<int>(*channel);
    if (is_tree) {
      trees_[c].emplace(*rank, *before);
    } else if (after && *after >= 0 && *after < log.ranks && *before >= 0) {
      next_[c].emplace(*before, *rank);
      next_[c].emplace(*rank, *after);
    }
    return true;
  }

  // Rings of which all steps are known but one at most.
  void close_rings() {
    for (const auto& [channel, next] : next_) {
      if (rings_.contains(channel) || static_cast<int>(next.size()) + 1 < log.ranks) continue;
      int missing = -1, target = log.ranks * (log.ranks - 1) / 2;  // the rank nobody leads to is the next of the one without
      for (int r = 0; r < log.ranks; ++r)
        if (const auto step = next.find(r); step == next.end()) missing = r;
        else target -= step->second;
      std::vector<int> order{0};
      while (static_cast<int>(order.size()) < log.ranks) {
        const int rank = order.back(), following = rank == missing ? target : next.at(rank);
        if (following <= 0 || following >= log.ranks || std::find(order.begin(), order.end(), following) != order.end()) break;
        order.push_back(following);
      }
      if (static_cast<int>(order.size()) == log.ranks) rings_.emplace(channel, std::move(order));
    }
  }

  // "Trees [0] 1/-1/-1->0->-1 [1] …": children, rank, parent; before 2.8 "[0] -1->0->1/-1/-1|1/-1/-1->0->-1": the part that goes up.
  bool take_trees(std::string_view text) {
    if (!text.starts_with("Trees ")) return false;
    if (log.ranks > kMostTreeRanks) {
      log.is_cut = true;
      return true;
    }
    int channel = -1;
    for (std::string_view word : words_of(text.substr(6))) {
      if (word.starts_with('[')) {
        channel = static_cast<int>(number_at(word, 1).value_or(kMostNcclLogChannels));
        continue;
      }
      word = word.substr(0, word.find('|'));
      const std::size_t first = word.find("->"), second = word.rfind("->");
      if (channel < 0 || channel >= kMostNcclLogChannels || first == std::string_view::npos || second == first) continue;
      const std::string_view left = word.substr(0, first), right = word.substr(second + 2);
      const auto rank = nccl_rank_of(word.substr(first + 2, second - first - 2));
      const auto parent = nccl_rank_of(contains(left, "/") ? right : left);
      if (rank && parent && *rank >= 0 && *rank < log.ranks && *parent < log.ranks) trees_[channel].emplace(*rank, *parent);
    }
    return true;
  }

  // "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA"; before 2.6 "Ring 00 : 0[0] -> 1[1] via P2P/IPC"
  bool take_transport(std::string_view text) {
    const std::size_t arrow = text.find(" -> "), via = text.find(" via ");
    const std::size_t colon = text.find(" : ");
    if (arrow == std::string_view::npos || via == std::string_view::npos || colon == std::string_view::npos || colon > arrow || arrow > via) return false;
    const std::string_view head = text.substr(0, colon);
    const std::size_t blank = head.find(' ');
    const auto channel = blank == std::string_view::npos ? std::nullopt : number_at(head, blank);
    const auto from = number_at(text, colon + 3), to = number_at(text, arrow + 4);
    if (!channel || *channel >= kMostNcclLogChannels || !from || !to || *from >= log.ranks || *to >= log.ranks) return false;
    std::string_view how = text.substr(via + 5);
    how = how.substr(0, std::min(how.find(" comm "), std::size_t{60}));
    while (how.ends_with(' ')) how.remove_suffix(1);
    const std::pair pair(static_cast<int>(*from), static_cast<int>(*to));
    if (pairs_ >= kMostPairs && !(transports_.contains(pair) && transports_[pair].contains(how))) {
      log.is_cut = true;
      return true;
    }
    auto& ways = transports_[pair];
    auto found = ways.find(how);
    if (found == ways.end()) {
      found = ways.emplace(std::string(how), std::vector<int>()).first;
      ++pairs_;
    }
    std::vector<int>& channels = found->second;
    if (std::find(channels.begin(), channels.end(), static_cast<int>(*channel)) == channels.end()) channels.push_back(static_cast<int>(*channel));
    return true;
  }

  // "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 16 p2p channels per peer"
  bool take_channels(std::string_view text) {
    if (!contains(text, " coll channels")) return false;
    const auto count = [&](std::string_view what) {
      const std::size_t found = text.find(what);
      if (found == std::string_view::npos) return -1;
      std::size_t start = found;
      while (start > 0 && text[start - 1] != ' ' && text[start - 1] != ',') --start;
      return static_cast<int>(whole_number(text.substr(start, found - start)).value_or(-1) % 10'000);
    };
    log.coll = count(" coll channels");
    log.collnet = count(" collnet channels");
    log.nvls = count(" nvls channels");
    log.p2p = count(" p2p channels,");
    log.p2p_per_peer = count(" p2p channels per peer");
    return true;
  }

  // "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1"; "speed" before 2.12
  bool take_graph(const Message& m) {
    const std::string_view text = m.text;
    if (!text.starts_with("Pattern ")) return false;
    if (const auto owner = graph_of_.find(m.thread); owner != graph_of_.end()) graph_of_.erase(owner);
    NcclLog::Graph g;
    const auto count = [&](std::string_view key) { return static_cast<int>(number_behind(text, key).value_or(0) % 10'000); };
    g.pattern = count("Pattern ");
    g.cross_nic = count("crossNic ");
    g.channels = count("nChannels ");
    g.same_channels = count("sameChannels ");
    std::string_view rates = first_word(behind(text, contains(text, ", bw ") ? ", bw " : ", speed "));
    while (rates.ends_with(',')) rates.remove_suffix(1);
    const std::size_t slash = rates.find('/');
    g.intra = decimal(rates.substr(0, slash)).value_or(0);
    if (slash != std::string_view::npos) g.inter = decimal(rates.substr(slash + 1)).value_or(0);
    std::string_view types = first_word(behind(text, ", type "));
    while (types.ends_with(',')) types.remove_suffix(1);
    g.intra_type = std::string(types.substr(0, std::min<std::size_t>(types.find('/'), 10)));
    if (contains(types, "/")) g.inter_type = std::string(types.substr(types.find('/') + 1, 10));
    const bool is_known = std::any_of(log.graphs.begin(), log.graphs.end(), [&](const NcclLog::Graph& k) { return (k.pattern == 4) == (g.pattern == 4) && (k.pattern == 5) == (g.pattern == 5); });
    if (g.channels > 0 && g.pattern >= 1 && g.pattern <= 5 && !is_known) {
      graph_of_[std::string(m.thread)] = static_cast<int>(log.graphs.size());
      log.graphs.push_back(std::move(g));
      graph_gpus_.push_back({std::string(m.host.substr(0, 255)), {}});
    }
    return true;
  }

  // " 0 : NET/0 GPU/0 GPU/1 NET/0", below its graph: ranks, or since 2.26 "GPU/0-100000" with the bus id
  bool take_graph_channel(const Message& m) {
    const auto owner = graph_of_.find(m.thread);
    const auto words = owner == graph_of_.end() ? std::vector<std::string_view>() : words_of(m.text);
    if (words.size() < 3 || words[1] != ":") return false;
    const auto channel = whole_number(words[0]);
    auto& channels = graph_gpus_[static_cast<std::size_t>(owner->second)].channels;
    if (!channel || static_cast<std::size_t>(*channel) != channels.size() || channels.size() >= static_cast<std::size_t>(kMostNcclLogChannels)) return false;
    channels.emplace_back();
    for (const std::string_view word : words)
      if (word.starts_with("GPU/")) channels.back().emplace_back(word.substr(4, 40));
    return true;
  }

  void name_graph_gpus() {
    for (std::size_t g = 0; g < log.graphs.size() && log.ranks <= kMostTreeRanks; ++g) {
      std::map<std::string_view, int> rank_of_bus;  // on the host that tells
      for (const NcclLog::Rank& r : log.members)
        if (r.host == graph_gpus_[g].host) rank_of_bus.emplace(r.bus_id, r.rank);
      for (const auto& channel : graph_gpus_[g].channels) {
        std::vector<int> order;
        for (const std::string_view gpu : channel) {
          const std::size_t dash = gpu.find('-');
          const auto bus = dash == std::string_view::npos ? rank_of_bus.end() : rank_of_bus.find(gpu.substr(dash + 1));
          const int rank = bus != rank_of_bus.end() ? bus->second : dash == std::string_view::npos ? nccl_rank_of(gpu).value_or(-1) : -1;
          if (rank >= 0 && rank < log.ranks) order.push_back(rank);
        }
        if (order.size() != channel.size()) break;
        log.graphs[g].order.push_back(std::move(order));
      }
    }
  }

  // "AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"; before 2.24 "4096 Bytes -> Algo 1 proto 0 time 10.5" (µs)
  bool take_choice(std::string_view text) {
    const std::size_t found = text.find(" Bytes -> Algo ");
    if (found == std::string_view::npos) return false;
    NcclLog::Choice c;
    const auto before = words_of(text.substr(0, found));
    const auto size = before.empty() ? std::nullopt : whole_number(before.back());
    const auto after = words_of(text.substr(found + 15));
    if (!size || after.size() < 3 || after[1] != "proto") return true;
    const auto algorithm = algorithm_named(after[0]);
    const auto protocol = protocol_named(after[2]);
    if (!algorithm || !protocol) return true;
    if (before.size() > 1 && before[before.size() - 2].ends_with(':')) c.collective = function_named(before[before.size() - 2].substr(0, before[before.size() - 2].size() - 1));
    c.size = static_cast<double>(*size);
    c.algorithm = *algorithm;
    c.protocol = *protocol;
    if (after.size() > 4 && after[3] == "time") c.time = decimal(after[4], -6).value_or(0);
    if (const std::size_t braces = text.find("={"); braces != std::string_view::npos) {
      const auto low = number_at(text, braces + 2);
      const auto high = number_behind(text.substr(braces), "..");
      if (low && high && *low <= *high && *high < 1000) c.channels = static_cast<int>(*high - *low + 1);
    }
    const std::pair key(c.collective ? static_cast<int>(*c.collective) : -1, c.size);
    if (choices_.size() < kMostChoices || choices_.contains(key)) choices_.emplace(key, c);
    else log.is_cut = true;
    return true;
  }

  // What a process says of the machine, whatever communicator it makes.
  void take_machine(std::string_view text) {
    if (text.starts_with("Using network ") && log.network.empty()) log.network = std::string(text.substr(14, 40));
    while (log.network.ends_with(' ')) log.network.pop_back();
    if (const std::size_t set = text.find(" set by environment to "); set != std::string_view::npos && text.starts_with("NCCL_")) {
      std::string_view value = text.substr(set + 23, 120);
      while (value.ends_with(' ') || value.ends_with('.')) value.remove_suffix(1);
      std::pair<std::string, std::string> variable(text.substr(0, std::min<std::size_t>(set, 60)), value);
      const bool is_name = std::all_of(variable.first.begin(), variable.first.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
      if (is_name && log.environment.size() < 100 && std::find(log.environment.begin(), log.environment.end(), variable) == log.environment.end()) log.environment.push_back(std::move(variable));
    }
    if (text.starts_with("TUNER/Plugin") && log.tuner.empty())
      if (const std::string_view name = behind(text, contains(text, "Using tuner plugin ") ? "Using tuner plugin " : "Using "); !name.empty() && !contains(text, "internal")) log.tuner = std::string(name.substr(0, 40));
    if (contains(text, "P2P is disabled between")) remember(log.p2p_disabled, text);
    if (contains(text, "NET/IB : No device found") || contains(text, "NET/IB: No device found") || contains(text, "Failed to open libibverbs")) log.has_no_ib = true;
    if (contains(text, "GPU Direct RDMA Disabled")) remember(log.no_gpudirect, text);
    if (contains(text, "GPU Direct RDMA Enabled") || contains(text, "GPU Direct RDMA (DMABUF) enabled")) log.has_gpudirect = true;
    if (contains(text, "NVLS multicast support is available")) log.has_multicast = true;
    if (contains(text, "NVLS multicast support is not available")) log.lacks_multicast = true;
    if (contains(text, "iommu") || contains(text, "IOMMU") || contains(text, "ACS ") || contains(text, "NUMA auto balancing")) remember(log.kernel, text);
    if ((text.starts_with("NET/IB : Using ") || text.starts_with("NET/IB: Using ")) && log.nics.empty()) take_nics(text);
  }

  // "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.5<0>"
  void take_nics(std::string_view text) {
    for (std::string_view word : words_of(text.substr(0, text.find(';')))) {
      if (!word.starts_with('[') || !number_at(word, 1)) continue;
      word = word.substr(std::min(word.find(']'), word.size() - 1) + 1);
      word = word.substr(0, word.find(':'));
      if (!word.empty() && word.size() < 40 && log.nics.size() < 64) log.nics.emplace_back(word);
    }
  }

  void finish() {
    for (auto& [rank, member] : members_) log.members.push_back(std::move(member));
    if (log.nodes == 0 && static_cast<int>(log.members.size()) == log.ranks) {
      std::vector<std::string> hosts;
      for (const auto& m : log.members) hosts.push_back(m.host);
      std::sort(hosts.begin(), hosts.end());
      log.nodes = static_cast<int>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
    }
    name_graph_gpus();
    close_rings();
    for (auto& [channel, order] : rings_) {
      const auto same = std::find_if(log.rings.begin(), log.rings.end(), [&](const NcclLog::Ring& r) { return r.order == order; });
      if (same != log.rings.end()) same->channels.push_back(channel);
      else log.rings.push_back({{channel}, std::move(order)});
    }
    for (const auto& [channel, parents] : trees_) {
      std::vector<int> parent(static_cast<std::size_t>(log.ranks), -2);
      for (const auto& [rank, up] : parents) parent[static_cast<std::size_t>(rank)] = up;
      const auto same = std::find_if(log.trees.begin(), log.trees.end(), [&](const NcclLog::Tree& t) { return t.parent == parent; });
      if (same != log.trees.end()) same->channels.push_back(channel);
      else log.trees.push_back({{channel}, std::move(parent)});
    }
    for (auto& [pair, ways] : transports_)
      for (auto& [via, channels] : ways) {
        std::sort(channels.begin(), channels.end());
        log.transports.push_back({pair.first, pair.second, via, std::move(channels)});
      }
    for (const auto& [key, choice] : choices_) log.choices.push_back(choice);
  }
};

}  // namespace

const NcclLog::Rank* NcclLog::member(int rank) const {
  const auto found = std::lower_bound(members.begin(), members.end(), rank, [](const Rank& r, int n) { return r.rank < n; });
  return found == members.end() || found->rank != rank ? nullptr : &*found;
}

bool NcclLog::is_before(int minor) const {
  const auto own = version.starts_with("2.") ? number_at(version, 2) : std::nullopt;
  return own && *own < minor;
}

std::string_view NcclLog::variable(std::string_view name) const {
  for (const auto& [known, value] : environment)
    if (known == name) return value;
  return "";
}

bool NcclLog::on_one_host(int a, int b) const {
  const Rank *one = member(a), *other = member(b);
  return one != nullptr && other != nullptr && !one->host.empty() && one->host == other->host;
}

bool looks_like_nccl_log(std::string_view text) { return contains(text, "NCCL INFO ") || contains(text, "NCCL WARN "); }

Result<NcclLog> read_nccl_log(std::string_view text) {
  LogReader reader;
  reader.read(text);
  if (!reader.has_message)
    return Error{"", value_text(Json(std::string(text.substr(0, 200)))), "a log written with NCCL_DEBUG=INFO",
                 "there is no message of NCCL in this text. Nearest: run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING and paste all ranks' output"};
  return std::move(reader.log);
}

}  // namespace wireplan
