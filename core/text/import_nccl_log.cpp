#include "core/text/import_nccl_log.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/log_text.hpp"
#include "core/text/render_nccl.hpp"
#include "core/text/render_nccl_log.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

// NCCL's numbers of patterns.
const char* kind_of(const NcclLog::Graph& g) { return g.pattern == 4 ? "ring" : g.pattern == 5 ? "nvls" : "tree"; }
const char* pattern_of(const NcclLog::Graph& g) { return g.pattern == 1 ? "balanced-tree" : kind_of(g); }

Json write_graph(const NcclLog::Graph& g) {
  Json j = Json::object();
  put(j, "kind", kind_of(g));
  put(j, "pattern", pattern_of(g));
  put(j, "channels", g.channels);
  put(j, "intra_bytes_per_s", g.intra * 1e9);
  put(j, "inter_bytes_per_s", g.inter * 1e9);
  put(j, "intra_type", g.intra_type);
  put(j, "inter_type", g.inter_type);
  put(j, "cross_nic", g.cross_nic);
  put(j, "same_channels", g.same_channels);
  return j;
}

// One entry for each operation with its points; an older log does not say the operation.
Json write_choices(const std::vector<NcclLog::Choice>& choices) {
  Json all = Json::array();
  std::optional<Collective> last;
  for (const auto& c : choices) {
    if (all.empty() || c.collective != last) {
      Json one = Json::object();
      put(one, "op", nullptr);
      if (c.collective) put(one, "op", name_of(*c.collective));
      put(one, "points", Json::array());
      all.push_back(std::move(one));
      last = c.collective;
    }
    Json point = Json::array({number(c.size), name_of(c.algorithm), name_of(c.protocol), nullptr, nullptr, nullptr, nullptr});
    if (c.time > 0) point[3] = number(c.time);
    if (c.channels > 0) point[6] = c.channels;
    all.back()["points"].push_back(std::move(point));
  }
  return all;
}

}  // namespace

Json write_nccl_log(const NcclLog& log, const NcclLogComparison* comparison) {
  Json j = Json::object(), members = Json::array(), graphs = Json::array(), rings = Json::array(), trees = Json::array(), transports = Json::array(), findings = Json::array(),
       environment = Json::object(), channels = Json::object();
  for (const auto& m : log.members) {
    Json one = Json::object();
    put(one, "rank", m.rank);
    put(one, "host", m.host);
    put(one, "bus_id", m.bus_id);
    put(one, "device", nullptr);
    if (m.nvml_device >= 0 || m.device >= 0) put(one, "device", m.nvml_device >= 0 ? m.nvml_device : m.device);
    members.push_back(std::move(one));
  }
  for (const auto& g : log.graphs) graphs.push_back(write_graph(g));
  for (const auto& r : log.rings) {
    Json one = Json::object();
    put(one, "channels", Json(r.channels));
    put(one, "order", Json(r.order));
    rings.push_back(std::move(one));
  }
  for (const auto& t : log.trees) {
    Json one = Json::object(), parent = Json::array();
    for (const int p : t.parent) parent.push_back(p == -2 ? Json(nullptr) : Json(p));
    put(one, "channels", Json(t.channels));
    put(one, "parent", std::move(parent));
    trees.push_back(std::move(one));
  }
  for (const auto& t : log.transports) {
    Json one = Json::object();
    put(one, "from", t.from);
    put(one, "to", t.to);
    put(one, "via", t.via);
    put(one, "channels", Json(t.channels));
    transports.push_back(std::move(one));
  }
  const std::pair<const char*, int> counts[] = {{"coll", log.coll}, {"nvls", log.nvls}, {"p2p", log.p2p}, {"p2p_per_peer", log.p2p_per_peer}};
  for (const auto& [key, n] : counts)
    if (n >= 0) put(channels, key, n);
    else put(channels, key, nullptr);
  for (const auto& [name, value] : log.environment) put(environment, name.c_str(), value);
  for (const Note& n : nccl_log_findings(log)) {
    Json one = write_note(n);
    one.erase("path");
    findings.push_back(std::move(one));
  }
  put(j, "schema", "wireplan.nccl/1");
  put(j, "nccl", nullptr);
  if (!log.version.empty()) put(j, "nccl", log.version);
  put(j, "ranks", log.ranks);
  put(j, "nccl_nodes", nullptr);
  if (log.nodes > 0) put(j, "nccl_nodes", log.nodes);
  put(j, "network", nullptr);
  if (!log.network.empty()) put(j, "network", log.network);
  put(j, "nics", Json(log.nics));
  put(j, "members", std::move(members));
  put(j, "graphs", std::move(graphs));
  put(j, "channels", std::move(channels));
  put(j, "rings", std::move(rings));
  put(j, "trees", std::move(trees));
  put(j, "choices", write_choices(log.choices));
  put(j, "transports", std::move(transports));
  put(j, "env", std::move(environment));
  put(j, "findings", std::move(findings));
  if (comparison != nullptr) put(j, "log", write_log_comparison(*comparison));
  return j;
}

std::string render_nccl_log(const NcclLog& log, const NcclLogComparison* comparison) {
  Sheet sheet(false);
  sheet.heading("NCCL " + (log.version.empty() ? std::string("(version not in the log)") : log.version) + ", " + std::to_string(log.ranks) + " ranks" +
                (log.nodes > 0 ? " on " + std::to_string(log.nodes) + (log.nodes == 1 ? " node" : " nodes") : ""));
  std::vector<std::string> facts;
  if (!log.network.empty()) facts.push_back("network: " + log.network);
  if (log.coll >= 0)
    facts.push_back("channels: " + std::to_string(log.coll) + " for collectives" + (log.nvls >= 0 ? ", " + std::to_string(log.nvls) + " NVLS" : "") +
                    (log.p2p >= 0 ? ", " + std::to_string(log.p2p) + " point-to-point" : ""));
  for (const auto& g : log.graphs)
    facts.push_back(std::string(pattern_of(g)) + ": " + std::to_string(g.channels) + " channels at " + format_exact(g.intra) + " GB/s by " + g.intra_type +
                    (g.inter_type.empty() ? "" : ", to the network " + format_exact(g.inter) + " GB/s by " + g.inter_type));
  for (std::size_t i = 0; i < log.rings.size() && i < 8; ++i) facts.push_back("ring of channels " + ranks_text(log.rings[i].channels) + ": " + ranks_text(log.rings[i].order));
  sheet.list(facts);
  if (comparison != nullptr) add_log_comparison(sheet, *comparison);
  if (!log.transports.empty()) {
    Table table{{{"from", true}, {"to", true}, {"via"}, {"channels", true}}, {}, {}};
    for (std::size_t i = 0; i < log.transports.size() && i < 64; ++i) {
      const auto& t = log.transports[i];
      table.rows.push_back({std::to_string(t.from), std::to_string(t.to), t.via, std::to_string(t.channels.size())});
    }
    sheet.heading("How ranks are joined");
    sheet.table(table);
    if (log.transports.size() > 64) sheet.paragraph(std::to_string(log.transports.size() - 64) + " more pairs are in the JSON document.");
  }
  const std::vector<Note> findings = nccl_log_findings(log);
  sheet.heading("Findings");
  std::vector<std::string> items;
  const auto is_said = [&](const Note& n) { return comparison != nullptr && std::find(comparison->notes.begin(), comparison->notes.end(), n) != comparison->notes.end(); };
  for (const Note& n : findings)
    if (!is_said(n)) items.push_back((n.severity == Severity::info ? "" : "Warning: ") + n.text);
  const bool says_nothing = log.ranks == 0 && log.transports.empty();
  if (says_nothing && items.empty()) sheet.paragraph("The log does not say what NCCL set up: run once more with NCCL_DEBUG=INFO.");
  else if (items.empty()) sheet.paragraph(comparison == nullptr || comparison->differ() == 0 ? "Nothing unusual." : "Nothing but what differs, see above.");
  sheet.list(items);
  return sheet.text();
}

}  // namespace wireplan
