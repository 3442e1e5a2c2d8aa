#include "core/text/nccl_log_compare.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/text/log_text.hpp"
#include "core/text/nccl_log_causes.hpp"
#include "core/text/nccl_log_lines.hpp"
#include "core/text/nccl_log_verdict.hpp"
#include "core/text/render_nccl.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostRanksShown = 64, kMostPairsShown = 12, kMostLines = 1000;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::string shown_ranks(const std::vector<int>& list) { return ranks_text(list, kMostRanksShown); }

// "0-7, 9": sorted numbers.
std::string ranges_text(const std::vector<int>& sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end + 1 < sorted.size() && sorted[end + 1] == sorted[end] + 1) ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(sorted[i]) + (end > i ? "-" + std::to_string(sorted[end]) : "");
    i = end + 1;
  }
  return text;
}

std::vector<int> rotated_to(const std::vector<int>& order, int first) {
  std::vector<int> rotated = order;
  const auto start = std::find(rotated.begin(), rotated.end(), first);
  if (start != rotated.end()) std::rotate(rotated.begin(), start, rotated.end());
  return rotated;
}

class Comparing {
 public:
  Comparing(const NcclLog& log, const NcclAnswer& answer, const LogMatch& match) : log_(log), answer_(answer), match_(match), d_(answer.decision) {}

  NcclLogComparison run(std::vector<Note> notes) {
    found_.notes = std::move(notes);
    misfits_.are_buses_foreign = match_.are_buses_foreign;
    misfits_.is_explained = match_.are_buses_same || match_.has_own_variables;
    if (log_.ranks == 0) {
      found_.verdict = "The log does not say which ranks there are: nothing is compared. Run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING";
      return std::move(found_);
    }
    if (!log_.version.empty()) {
      const bool same = log_.version == answer_.release.version;
      line("NCCL", log_.version, answer_.release.version, same, LogSubject::none, "releases decide differently: what differs below may come from that");
    }
    const bool same = log_.ranks == d_.ranks;
    line("ranks", std::to_string(log_.ranks), std::to_string(d_.ranks), same, LogSubject::none, "another communicator: the rest is not compared");
    if (!same) {
      found_.verdict = "The log is of another communicator: it has " + std::to_string(log_.ranks) + " ranks, the decision " + std::to_string(d_.ranks) + ". Nothing more is compared";
      return std::move(found_);
    }
    place_ranks();
    machine();
    graphs();
    if (log_.nodes > 0 && !compare("nodes as NCCL counts", log_.nodes, d_.nccl_nodes(), LogSubject::nodes)) misfit();
    rings();
    trees();
    channels();
    transports();
    choices();
    const int told = log_.coll >= 0 ? log_.coll : most_channels_, decided = d_.channels;
    if (log_.coll >= 0 ? told != decided : told > decided) {
      misfits_.structure.push_back("channels: " + std::to_string(told) + ", expected " + std::to_string(decided));
      misfits_.are_far |= told >= 3 * decided || (decided >= 3 * told);
    }
    // That channels run otherwise is no misfit alone: it may come from another order of GPUs.
    const bool is_structural = !misfits_.structure.empty() || misfits_.are_buses_foreign;
    for (const Share* share : {&graph_channels_, &rings_, &trees_}) {
      if (share->differ * 2 <= share->all) continue;
      misfits_.are_far = true;
      if (is_structural) misfits_.structure.push_back(std::string(share->what) + " differ on " + std::to_string(share->differ) + " of " + std::to_string(share->all) + " channels");
    }
    if (!misfits_.structure.empty() && !joins_.empty()) misfits_.structure.push_back(joins_);
    const bool says_channels = !log_.graphs.empty() || !log_.rings.empty() || !log_.trees.empty() || log_.coll >= 0 || !log_.transports.empty();
    if (!says_channels) found_.notes.push_back({Severity::info, "", "the log says nothing of channels: NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING does"});
    if (is_cut_) found_.notes.push_back({Severity::info, "", "the log says more of connections and choices than is compared: the first " + std::to_string(kMostLines) + " lines are"});
    misfits_.is_explained |= are_channels_explained(log_, answer_);
    conclude(found_, misfits_);
    return std::move(found_);
  }

 private:
  const NcclLog& log_;
  const NcclAnswer& answer_;
  const LogMatch& match_;
  const nccl::Decision& d_;
  NcclLogComparison found_;
  LogMisfits misfits_;
  // Channels whose order of ranks is compared.
  struct Share {
    const char* what;
    std::size_t all = 0, differ = 0;
  };
  Share graph_channels_{"orders the search found"}, rings_{"rings"}, trees_{"trees"};
  bool is_cut_ = false;
  int most_channels_ = 0;  // that rings and trees name
  std::string joins_;      // a way in which ranks are joined otherwise; no misfit alone, since P2P may be off
  // Where a rank stands: node, and position among the GPUs of its kind.
  struct Place { int node = 0, position = 0; };
  std::vector<Place> places_;
  std::vector<std::vector<int>> ranks_of_node_;  // by position

  // Where they do not agree with `note` and the cause.
  void line(std::string what, std::string log, std::string expected, bool agrees, LogSubject subject, std::string_view note = "") {
    NcclLogLine& l = found_.lines.emplace_back();
    l.what = std::move(what);
    l.log = std::move(log);
    l.expected = std::move(expected);
    l.agrees = agrees;
    if (agrees) return;
    l.note = note;
    if (subject != LogSubject::none) l.cause = usual_cause(subject, log_, answer_);
  }
  bool compare(const char* what, int log, int expected, LogSubject subject) {
    line(what, std::to_string(log), std::to_string(expected), log == expected, subject);
    return log == expected;
  }
  // The last line is of what only other hardware explains.
  void misfit() {
    const NcclLogLine& l = found_.lines.back();
    misfits_.structure.push_back(l.what + ": " + l.log + ", expected " + l.expected);
  }

  void place_ranks() {
    places_.resize(at(d_.ranks));
    for (int n = 0; n < d_.nccl_nodes(); ++n) {
      ranks_of_node_.push_back(d_.ranks_of(n));
      for (std::size_t p = 0; p < ranks_of_node_.back().size(); ++p) places_[at(ranks_of_node_.back()[p])] = {n, static_cast<int>(p)};
    }
  }

  // What NCCL says of network, NICs and multicast before it searches.
  void machine() {
    const bool crosses = d_.nccl_nodes() > 1;
    const auto& nets = answer_.machine.nets;
    const bool has_rdma = std::any_of(nets.begin(), nets.end(), [](const auto& n) { return n.gpudirect; });
    if (crosses && !log_.network.empty()) {
      const bool agrees = (log_.network == "Socket") != has_rdma;
      line("network", log_.network, has_rdma ? "NICs with RDMA" : "Socket", agrees, has_rdma ? LogSubject::network : LogSubject::none, has_rdma ? "" : "the machine is stated without NICs that reach GPU memory");
      misfits_.is_explained |= !agrees;
    }
    if (crosses && has_rdma && !log_.nics.empty() && !compare("NICs", static_cast<int>(log_.nics.size()), static_cast<int>(nets.size()), LogSubject::network)) misfit();
    if (crosses && has_rdma && (log_.has_gpudirect || !log_.no_gpudirect.empty())) {
      const bool is_on = log_.has_gpudirect, expected = answer_.request.gpudirect;
      line("GPU Direct RDMA", is_on ? "enabled" : "disabled", expected ? "enabled" : "disabled", is_on == expected, LogSubject::gpudirect);
    }
    for (std::size_t i = 0; i < log_.p2p_disabled.size() && i < 8; ++i) {
      const bool expected = !answer_.request.p2p.empty();
      line("P2P", log_.p2p_disabled[i], expected ? "the driver forbids P2P" : "P2P between all GPUs", expected, LogSubject::p2p);
    }
    const bool has_nvls = d_.nvls_channels > 0;
    if (log_.has_multicast || (log_.lacks_multicast && has_nvls))
      line("NVLS multicast", log_.has_multicast ? "available" : "not available", has_nvls ? "needed" : "not needed", log_.has_multicast || !has_nvls, LogSubject::nvls);
  }

  void graphs() {
    for (const NcclLog::Graph& logged : log_.graphs) {
      const bool is_ring = logged.pattern == 4, is_nvls = logged.pattern == 5;
      const char* name = is_ring ? "ring graph" : is_nvls ? "NVLS graph" : "tree graph";
      const int node = logged.order.empty() || logged.order.front().empty() ? 0 : d_.node_of_rank[at(logged.order.front().front())];
      const nccl::Node& kind = d_.kind_of(node);
      const nccl::Graph& g = is_ring ? kind.ring : is_nvls ? kind.nvls : kind.tree;
      std::string differs;
      const auto differ = [&](bool same, const char* field) {
        if (!same) differs += std::string(differs.empty() ? "" : ", ") + field;
      };
      const auto same_rate = [](double a, double b) { return a - b < 0.001 && b - a < 0.001; };
      differ(logged.pattern == pattern_number(g.pattern), "pattern");
      differ((logged.cross_nic > 0) == (g.cross_nic > 0), "crossNic");  // older releases print 1 for what is 2 since
      differ(logged.channels == g.channels, "nChannels");
      differ(same_rate(logged.intra, static_cast<double>(g.intra)) && same_rate(logged.inter, static_cast<double>(g.inter)), "bw");
      differ(logged.intra_type == name_of(g.intra_type) && (logged.inter_type.empty() || logged.inter_type == name_of(g.inter_type)), "type");
      differ((logged.same_channels != 0) == g.same_channels, "sameChannels");
      const bool agrees = differs.empty();
      line(name, logged_line(logged), g.channels > 0 ? nccl_graph_line(g) : "none", agrees, is_nvls ? LogSubject::nvls : LogSubject::graph, differs + " differ");
      if (!is_nvls && (contains(differs, "nChannels") || contains(differs, "type"))) {
        const auto text = [](int channels, double rate, std::string_view type) { return std::to_string(channels) + " x " + format_exact(rate) + " GB/s by " + std::string(type); };
        misfits_.structure.push_back(std::string(name) + ": " + text(logged.channels, logged.intra, logged.intra_type) + ", expected " + text(g.channels, static_cast<double>(g.intra), name_of(g.intra_type)));
      }
      misfits_.are_far |= !is_nvls && logged.intra_type != name_of(g.intra_type);
      if (!is_nvls && g.channels > 0) graph_channels(logged, g, node, name);
    }
  }

  static std::string logged_line(const NcclLog::Graph& g) {
    return "Pattern " + std::to_string(g.pattern) + ", crossNic " + std::to_string(g.cross_nic) + ", nChannels " + std::to_string(g.channels) + ", bw " + format_fixed(g.intra, 6) + "/" + format_fixed(g.inter, 6) + ", type " + g.intra_type +
           "/" + g.inter_type + ", sameChannels " + std::to_string(g.same_channels);
  }

  // What a channel tells. Channels that tell the same are one line; they come in order.
  struct Told {
    std::string log, expected, note;
    bool agrees = true;
    std::vector<int> channels{};
  };
  static void add(std::vector<Told>& all, int channel, Told told) {
    auto same = std::find_if(all.begin(), all.end(), [&](const Told& t) { return t.agrees == told.agrees && t.log == told.log && t.expected == told.expected; });
    if (same == all.end()) same = all.insert(all.end(), std::move(told));
    same->channels.push_back(channel);
  }
  // `expected` is "" for channels there are none of.
  void lines_of(const char* what, const std::vector<Told>& all, Share& share) {
    for (const Told& t : all) {
      const bool is_there = !t.expected.empty();
      if (is_there) {
        share.all += t.channels.size();
        share.differ += t.agrees ? 0 : t.channels.size();
      }
      line(std::string(what) + (t.channels.size() == 1 ? " of channel " : " of channels ") + ranges_text(t.channels), t.log, is_there ? t.expected : "no such channel", t.agrees, is_there ? LogSubject::order : LogSubject::channels, t.note);
      if (t.agrees) found_.lines.back().note = t.note;
    }
  }
  // By channel; null where there is none.
  template <class T>
  static std::vector<const std::vector<int>*> by_channel(const std::vector<T>& list, std::vector<int> T::*order) {
    std::vector<const std::vector<int>*> all(kMostNcclLogChannels, nullptr);
    for (const T& one : list)
      for (const int c : one.channels)
        if (c < kMostNcclLogChannels) all[at(c)] = &(one.*order);
    return all;
  }

  // Which GPUs a channel of the search visits, as ranks.
  void graph_channels(const NcclLog::Graph& logged, const nccl::Graph& g, int node, const char* name) {
    std::vector<Told> all;
    for (std::size_t c = 0; c < logged.order.size(); ++c) {
      std::vector<int> expected;
      if (c < g.order.size())
        for (const int position : g.order[c]) expected.push_back(ranks_of_node_[at(node)][at(position)]);
      add(all, static_cast<int>(c), {shown_ranks(logged.order[c]), shown_ranks(expected), "", logged.order[c] == expected});
    }
    lines_of(name, all, graph_channels_);
  }

  void rings() {
    const auto expected = by_channel(d_.rings, &nccl::Ring::order), told = by_channel(log_.rings, &NcclLog::Ring::order);
    std::vector<Told> all;
    for (int c = 0; c < kMostNcclLogChannels; ++c) {
      if (told[at(c)] == nullptr) continue;
      const std::vector<int>& logged = *told[at(c)];
      most_channels_ = c + 1;
      Told t{shown_ranks(logged), "", "", false};
      const auto is_like = [&](int other) { return expected[at(other)] != nullptr && rotated_to(*expected[at(other)], logged.front()) == logged; };
      if (expected[at(c)] != nullptr) {
        t.expected = shown_ranks(*expected[at(c)]);
        t.agrees = is_like(c);
        if (t.agrees && logged != *expected[at(c)]) t.note = "the same ring, told from another rank";
        for (int other = 0; other < kMostNcclLogChannels && !t.agrees && t.note.empty(); ++other)
          if (is_like(other)) t.note = "the decision has this ring on channel " + std::to_string(other);
      }
      add(all, c, std::move(t));
    }
    lines_of("ring", all, rings_);
  }

  // Only ranks whose lines the log has.
  void trees() {
    const auto expected = by_channel(d_.trees, &nccl::Tree::parent), told = by_channel(log_.trees, &NcclLog::Tree::parent);
    std::vector<Told> all;
    for (int c = 0; c < kMostNcclLogChannels; ++c) {
      if (told[at(c)] == nullptr) continue;
      most_channels_ = std::max(most_channels_, c + 1);
      std::vector<int> ranks, logged, decided;
      std::string note;
      for (std::size_t r = 0; r < told[at(c)]->size(); ++r) {
        const int parent = (*told[at(c)])[r];
        if (parent == -2) continue;
        ranks.push_back(static_cast<int>(r));
        logged.push_back(parent);
        if (expected[at(c)] == nullptr) continue;
        decided.push_back((*expected[at(c)])[r]);
        if (decided.back() != parent && note.empty()) note = "first at rank " + std::to_string(r);
      }
      add(all, c, {"parents of ranks " + ranges_text(ranks) + ": " + shown_ranks(logged), shown_ranks(decided), note, logged == decided});
    }
    lines_of("tree", all, trees_);
  }

  void channels() {
    const auto count = [&](const char* what, int logged, int expected, LogSubject subject) {
      if (logged >= 0) compare(what, logged, expected, subject);
    };
    count("coll channels", log_.coll, d_.channels, LogSubject::channels);
    count("nvls channels", log_.nvls, d_.nvls_channels, LogSubject::nvls);
    // They follow from the channels of collectives.
    const LogSubject p2p = log_.coll >= 0 && log_.coll != d_.channels ? LogSubject::channels : LogSubject::p2p_channels;
    count("p2p channels", log_.p2p, d_.p2p_channels, p2p);
    count("p2p channels per peer", log_.p2p_per_peer, d_.p2p_channels_per_peer, p2p);
  }

  nccl::Transport expected_transport(int from, int to) const {
    const Place a = places_[at(from)], b = places_[at(to)];
    return a.node == b.node ? d_.kind_of(a.node).pairs[at(a.position)][at(b.position)].transport : nccl::Transport::net;
  }

  // Whether either end reaches memory through the NIC the log names; nothing where the machine does not have it.
  std::optional<bool> expected_gpudirect(int from, int to, std::string_view via) const {
    const std::size_t slash = via.find('/', 4);
    const auto dev = slash == std::string_view::npos ? std::nullopt : number_at(via, slash + 1);
    if (!dev) return std::nullopt;
    const auto side = [&](int rank, bool sends) -> std::optional<bool> {
      const Place p = places_[at(rank)];
      for (const nccl::Node::Nic& nic : d_.kind_of(p.node).nics)
        if (nic.dev == *dev) return sends ? nic.gpudirect_read[at(p.position)] : nic.gpudirect_write[at(p.position)];
      return std::nullopt;
    };
    const auto read = side(from, true), write = side(to, false);
    return read == write ? read : std::nullopt;
  }

  // Connections that are made alike are one line.
  void transports() {
    struct Group { std::string via, expected, pairs; std::size_t count; LogSubject subject; bool agrees; };
    std::vector<Group> groups;
    for (const NcclLog::Transport& t : log_.transports) {
      const nccl::Transport expected = expected_transport(t.from, t.to);
      const bool is_net = t.via.starts_with("NET/"), is_shm = t.via.starts_with("SHM"), is_p2p = t.via.starts_with("P2P");
      if (t.from == t.to || !(is_net || is_shm || is_p2p)) continue;
      std::string text(name_of(expected));
      LogSubject subject = is_net ? LogSubject::inside_by_net : is_shm ? LogSubject::to_shm : LogSubject::to_p2p;
      bool agrees = expected == (is_net ? nccl::Transport::net : is_shm ? nccl::Transport::shm : nccl::Transport::p2p);
      if (agrees && is_net && !t.via.starts_with("NET/Socket"))
        if (const auto gdr = expected_gpudirect(t.from, t.to, t.via); gdr) {
          text += *gdr ? " with GPUDirect" : " without GPUDirect";
          agrees = *gdr == contains(t.via, "GDRDMA");
          subject = LogSubject::gpudirect;
        }
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.via == t.via && g.expected == text; });
      if (group == groups.end()) {
        if (groups.size() >= kMostLines / 2) {
          is_cut_ = true;
          continue;
        }
        group = groups.insert(group, {t.via, std::move(text), "", 0, subject, agrees});
      }
      if (++group->count <= kMostPairsShown) group->pairs += (group->count > 1 ? ", " : "") + std::to_string(t.from) + " -> " + std::to_string(t.to);
    }
    for (Group& g : groups) {
      if (g.count > kMostPairsShown) g.pairs += " and " + std::to_string(g.count - kMostPairsShown) + " more";
      if (!g.agrees && g.subject != LogSubject::gpudirect) joins_ = "ranks joined via " + g.via + ", expected " + g.expected;
      line(std::move(g.pairs), "via " + g.via, std::move(g.expected), g.agrees, g.subject);
    }
  }

  // Sizes with the same choice and the same expectation are one line.
  void choices() {
    struct Run { std::string what, log, expected; double from = 0, to = 0; } run;
    const auto close = [&] {
      if (run.what.empty()) return;
      std::string sizes = format_message_size(Bytes(run.from));
      if (run.to > run.from) sizes += " to " + format_message_size(Bytes(run.to));
      line(run.what + ", " + sizes, run.log, run.expected, run.log == run.expected, LogSubject::choice);
    };
    bool has_unnamed = false;
    for (const NcclLog::Choice& c : log_.choices) {
      const auto op = c.collective ? value_named<nccl::Operation>(name_of(*c.collective)) : std::nullopt;
      if (!op) {
        has_unnamed = true;
        continue;
      }
      const nccl::Choice expected = nccl::choice_at(d_, answer_.release, *op, c.size);
      Run next{std::string(name_of(*op)), std::string(name_of(c.algorithm)) + " " + std::string(name_of(c.protocol)), "no choice left by NCCL_ALGO and NCCL_PROTO", c.size, c.size};
      if (!expected.is_none) next.expected = std::string(name_of(expected.algorithm)) + " " + std::string(name_of(expected.protocol));
      if (next.what == run.what && next.log == run.log && next.expected == run.expected) {
        run.to = c.size;
        continue;
      }
      close();
      run = std::move(next);
      if (found_.lines.size() >= kMostLines) {
        is_cut_ = true;
        run.what.clear();
        break;
      }
    }
    close();
    if (has_unnamed) found_.notes.push_back({Severity::info, "", "the log states choices without their operation (before NCCL 2.24): not compared"});
  }
};

}  // namespace

std::size_t NcclLogComparison::differ() const {
  return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const NcclLogLine& l) { return !l.agrees; }));
}

NcclLogComparison compare_with_log(const NcclLog& log, const NcclAnswer& answer, std::vector<Note> notes, const LogMatch& match) { return Comparing(log, answer, match).run(std::move(notes)); }

}  // namespace wireplan
