#include "core/answer/nccl_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr double kSameRate = 1e-4;

bool is_same_rate(double a, double b) { return std::fabs(a - b) <= kSameRate * std::fabs(b); }
bool is_same_rate(GBps a, GBps b) { return is_same_rate(static_cast<double>(a), static_cast<double>(b)); }

// In GB/s.
std::string rate_text(double bytes_per_s) { return format_exact(std::round(bytes_per_s / 1e7) / 100); }
std::string rate_text(GBps rate) { return rate_text(static_cast<double>(rate) * 1e9); }

NcclPartResult wrong(NcclPart part, std::string where, std::string seen, std::string expected) { return {part, false, std::move(where), std::move(seen), std::move(expected)}; }

NcclPartResult compare_paths(const NcclCase::Paths& seen, const Node& node) {
  const std::size_t gpus = seen.types.size();
  if (gpus > node.gpus.size())
    return wrong(NcclPart::paths, "first node", std::to_string(gpus) + " GPUs", std::to_string(node.gpus.size()));
  for (std::size_t i = 0; i < gpus; ++i)
    for (std::size_t j = 0; j < gpus; ++j) {
      const Node::Pair& pair = node.pairs[i][j];
      const double rate = static_cast<double>(pair.rate) * 1e9;
      if (pair.type == seen.types[i][j] && pair.transport == seen.transports[i][j] && is_same_rate(rate, seen.rates[i][j])) continue;
      const auto text = [](PathType type, Transport transport, double bytes_per_s) {
        return std::string(name_of(type)) + ' ' + std::string(name_of(transport)) + ' ' + rate_text(bytes_per_s) + " GB/s";
      };
      return wrong(NcclPart::paths, std::to_string(i) + " to " + std::to_string(j), text(seen.types[i][j], seen.transports[i][j], seen.rates[i][j]), text(pair.type, pair.transport, rate));
    }
  return {NcclPart::paths};
}

bool is_same(const Graph& a, const Graph& b) {
  return a.pattern == b.pattern && a.channels == b.channels && is_same_rate(a.intra, b.intra) && is_same_rate(a.inter, b.inter) && a.intra_type == b.intra_type && a.inter_type == b.inter_type &&
         a.cross_nic == b.cross_nic && a.same_channels == b.same_channels;
}

std::string graph_text(const Graph& g) {
  return std::to_string(g.channels) + " x " + rate_text(g.intra) + '/' + rate_text(g.inter) + " GB/s " + std::string(name_of(g.intra_type)) + '/' + std::string(name_of(g.inter_type)) +
         (g.cross_nic != 0 ? ", crosses" : "") + (g.same_channels ? ", same" : "");
}

NcclPartResult compare_graphs(const std::vector<Graph>& seen, const Node& node) {
  std::vector<const Graph*> found;
  for (const Graph* g : {&node.ring, &node.tree, &node.nvls})
    if (g->channels > 0) found.push_back(g);
  for (std::size_t i = 0; i < std::max(seen.size(), found.size()); ++i) {
    if (i < seen.size() && i < found.size() && is_same(*found[i], seen[i])) continue;
    const Pattern pattern = i < seen.size() ? seen[i].pattern : found[i]->pattern;
    return wrong(NcclPart::graphs, std::string(name_of(pattern)), i < seen.size() ? graph_text(seen[i]) : "no such graph", i < found.size() ? graph_text(*found[i]) : "no such graph");
  }
  return {NcclPart::graphs};
}

std::string listed_numbers(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) {
    if (text.size() > 18) return text + " …";
    text += (text.empty() ? "" : " ") + std::to_string(n);
  }
  return text;
}

const std::vector<int>& ranks_of(const Ring& ring) { return ring.order; }
const std::vector<int>& ranks_of(const Tree& tree) { return tree.parent; }

template <class Loop>
int channel_of(const Loop& loop) { return loop.channels.empty() ? -1 : loop.channels.front(); }

// Rings and trees, each a list of ranks and the channels that have it.
template <class Loop>
NcclPartResult compare_loops(NcclPart part, const std::vector<Loop>& seen, const std::vector<Loop>& found) {
  for (std::size_t i = 0; i < std::max(seen.size(), found.size()); ++i) {
    if (i < seen.size() && i < found.size() && seen[i].channels == found[i].channels && ranks_of(seen[i]) == ranks_of(found[i])) continue;
    const auto text = [&](const std::vector<Loop>& all) { return i < all.size() ? listed_numbers(ranks_of(all[i])) : "no more"; };
    if (i < seen.size() && i < found.size() && ranks_of(seen[i]) == ranks_of(found[i])) return wrong(part, "channels", listed_numbers(seen[i].channels), listed_numbers(found[i].channels));
    return wrong(part, "channel " + std::to_string(channel_of(i < seen.size() ? seen[i] : found[i])), text(seen), text(found));
  }
  return {part};
}

}  // namespace

NcclCaseResult compare_nccl(const NcclCase& known) {
  const Decision decision = decide(known.machine, known.request, known.release);
  NcclCaseResult result;
  if (known.nodes) {
    const int found = decision.nccl_nodes();
    result.parts.push_back(found == *known.nodes ? NcclPartResult{NcclPart::nodes} : wrong(NcclPart::nodes, "", std::to_string(*known.nodes), std::to_string(found)));
  }
  if (known.paths) result.parts.push_back(compare_paths(*known.paths, decision.nodes.front()));
  if (known.graphs) result.parts.push_back(compare_graphs(*known.graphs, decision.nodes.front()));
  if (known.rings) result.parts.push_back(compare_loops(NcclPart::rings, *known.rings, decision.rings));
  if (known.trees) result.parts.push_back(compare_loops(NcclPart::trees, *known.trees, decision.trees));
  for (const NcclCase::Point& p : known.points) {
    const Choice choice = choice_at(decision, known.release, p.operation, p.size.value);
    result.points.push_back({&p, choice, !choice.is_none && choice.algorithm == p.algorithm && choice.protocol == p.protocol});
  }
  return result;
}

}  // namespace wireplan
