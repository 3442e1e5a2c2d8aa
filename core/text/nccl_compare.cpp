#include "core/text/nccl_compare.hpp"

#include <algorithm>
#include <utility>

#include "core/text/render_nccl.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr double kTimedSizes[] = {65536, 16777216, 1073741824};

struct Row {
  std::string path, title;
  std::vector<std::string> texts;
  std::vector<Json> values;
  bool differs() const {
    return std::any_of(values.begin(), values.end(), [&](const Json& v) { return v != values.front(); });
  }
};

std::string graph_text(const Graph& g) {
  if (g.channels == 0) return "none";
  std::string text = std::to_string(g.channels) + " × " + format_exact(static_cast<double>(static_cast<int>(g.intra * 10 + 0.5f)) / 10) + " GB/s " + std::string(name_of(g.intra_type));
  if (!g.nets.empty()) text += ", " + format_exact(static_cast<double>(static_cast<int>(g.inter * 10 + 0.5f)) / 10) + " to NICs " + std::string(name_of(g.inter_type)) + (g.cross_nic != 0 ? ", crossing" : "");
  return text;
}

Json graph_value(const Graph& g) {
  if (g.channels == 0) return nullptr;
  Json j = Json::array({name_of(g.pattern), g.channels, number(static_cast<double>(g.intra)), number(static_cast<double>(g.inter)), name_of(g.intra_type), name_of(g.inter_type), g.cross_nic});
  return j;
}

int pairs_by(const nccl::Node& node, Transport transport) {
  int count = 0;
  for (std::size_t i = 0; i < node.pairs.size(); ++i)
    for (std::size_t j = i + 1; j < node.pairs.size(); ++j) count += node.pairs[i][j].transport == transport ? 1 : 0;
  return count;
}

std::string transports_text(const nccl::Node& node) {
  std::string text;
  for (const Transport t : {Transport::p2p, Transport::shm, Transport::net})
    if (const int count = pairs_by(node, t); count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + ' ' + std::string(name_of(t));
  return text.empty() ? "none" : text;
}

std::string switches_text(const NcclAnswer& a, Operation op) {
  std::string text;
  for (const NcclSwitch& s : nccl_switches(a, op)) text += (text.empty() ? "" : ", from " + format_message_size(Bytes(s.size)) + " ") + nccl_choice_name(s.choice);
  return text;
}

std::string ring_text(const Decision& d) {
  std::string text;
  for (std::size_t i = 0; i < d.rings.size() && i < 3; ++i) {
    text += i == 0 ? "" : "; ";
    for (std::size_t r = 0; r < d.rings[i].order.size() && r < 16; ++r) text += (r == 0 ? "" : " ") + std::to_string(d.rings[i].order[r]);
    if (d.rings[i].order.size() > 16) text += " …";
  }
  if (d.rings.size() > 3) text += "; and " + std::to_string(d.rings.size() - 3) + " more";
  return text;
}

std::vector<Row> rows_of(const std::vector<NcclCandidate>& cases) {
  std::vector<Row> rows;
  const auto add = [&](std::string path, std::string title, auto text, auto value) {
    Row row{std::move(path), std::move(title), {}, {}};
    for (const NcclCandidate& c : cases) {
      row.texts.push_back(text(c.answer));
      row.values.push_back(value(c.answer));
    }
    rows.push_back(std::move(row));
  };
  const auto add_count = [&](std::string path, std::string title, auto count) {
    add(std::move(path), std::move(title), [&](const NcclAnswer& a) { return std::to_string(count(a)); }, [&](const NcclAnswer& a) { return Json(count(a)); });
  };
  add("nccl", "release", [](const NcclAnswer& a) { return a.release.version; }, [](const NcclAnswer& a) { return Json(a.release.version); });
  add_count("ranks", "ranks", [](const NcclAnswer& a) { return a.decision.ranks; });
  add_count("nccl_nodes", "nodes as NCCL counts", [](const NcclAnswer& a) { return a.decision.nccl_nodes(); });
  add("paths.transport", "pairs of GPUs", [](const NcclAnswer& a) { return transports_text(a.decision.nodes.front()); }, [](const NcclAnswer& a) { return Json(transports_text(a.decision.nodes.front())); });
  struct Kind { const char *path, *title; Graph nccl::Node::*graph; };
  constexpr Kind kKinds[] = {{"graphs.ring", "ring graph", &nccl::Node::ring}, {"graphs.tree", "tree graph", &nccl::Node::tree}, {"graphs.nvls", "NVLS graph", &nccl::Node::nvls}};
  for (const Kind& kind : kKinds)
    add(kind.path, kind.title, [&](const NcclAnswer& a) { return graph_text(a.decision.nodes.front().*kind.graph); }, [&](const NcclAnswer& a) { return graph_value(a.decision.nodes.front().*kind.graph); });
  add_count("channels.coll", "channels", [](const NcclAnswer& a) { return a.decision.channels; });
  add_count("channels.nvls", "NVLS channels", [](const NcclAnswer& a) { return a.decision.nvls_channels; });
  add_count("channels.p2p_per_peer", "p2p channels per peer", [](const NcclAnswer& a) { return a.decision.p2p_channels_per_peer; });
  add("rings", "rings", [](const NcclAnswer& a) { return ring_text(a.decision); }, [](const NcclAnswer& a) {
    Json j = Json::array();
    for (const Ring& ring : a.decision.rings) j.push_back(ring.order);
    return j;
  });
  add("ring_limit", "limited by", [](const NcclAnswer& a) { return nccl_limit_link(a.decision.nodes.front()); }, [](const NcclAnswer& a) { return Json(nccl_limit_link(a.decision.nodes.front())); });
  for (const Operation op : {Operation::all_reduce, Operation::all_gather}) {
    const std::string name(name_of(op));
    add("switches." + name, name, [&](const NcclAnswer& a) { return switches_text(a, op); }, [&](const NcclAnswer& a) { return write_nccl_switches(a, op); });
    for (const double size : kTimedSizes) {
      const auto choice = [&](const NcclAnswer& a) { return choice_at(a.decision, a.release, op, size); };
      const auto text = [&](const NcclAnswer& a) { return choice(a).is_none ? "none" : format_seconds(Seconds(choice(a).time_us / 1e6)); };
      const auto value = [&](const NcclAnswer& a) { return choice(a).is_none ? Json(nullptr) : number(choice(a).time_us / 1e6); };
      add("time_s." + name + "." + format_exact(size), name + " of " + format_message_size(Bytes(size)) + ", NCCL expects", text, value);
    }
  }
  return rows;
}

}  // namespace

Json write_nccl_comparison(const std::vector<NcclCandidate>& cases) {
  Json j = Json::object(), labels = Json::array(), decisions = Json::array(), differences = Json::array();
  put(j, "schema", "wireplan.nccl-compare/1");
  for (const NcclCandidate& c : cases) {
    labels.push_back(c.label);
    decisions.push_back(write_nccl(c.answer));
  }
  for (Row& row : rows_of(cases)) {
    if (!row.differs()) continue;
    Json difference = Json::object(), values = Json::array();
    for (Json& v : row.values) values.push_back(std::move(v));
    put(difference, "path", row.path);
    put(difference, "values", std::move(values));
    differences.push_back(std::move(difference));
  }
  put(j, "labels", std::move(labels));
  put(j, "decisions", std::move(decisions));
  put(j, "differences", std::move(differences));
  return j;
}

std::string render_nccl_comparison(const std::vector<NcclCandidate>& cases, RenderFormat format) {
  std::vector<Row> rows = rows_of(cases);
  if (format == RenderFormat::csv) {
    std::vector<std::string> header{"path"};
    for (const NcclCandidate& c : cases) header.push_back(c.label);
    std::string text = csv_line(header);
    for (const Row& row : rows) {
      std::vector<std::string> cells{row.path};
      cells.insert(cells.end(), row.texts.begin(), row.texts.end());
      text += csv_line(cells);
    }
    return text;
  }
  Sheet sheet(format == RenderFormat::markdown);
  const auto count = std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.differs(); });
  std::string names;
  for (const NcclCandidate& c : cases) names += (names.empty() ? "" : " against ") + c.label;
  sheet.strong("NCCL on " + cases.front().answer.name + ", " + names + ": " + (count == 0 ? "the same decision." : std::to_string(count) + " of " + std::to_string(rows.size()) + " rows differ."));
  const auto list = [&](bool differing) {
    std::vector<std::string> items;
    for (const Row& row : rows) {
      if (row.differs() != differing) continue;
      std::string text = row.title + ": ";
      if (differing)
        for (std::size_t i = 0; i < row.texts.size(); ++i) text += (i == 0 ? "" : " -> ") + row.texts[i];
      else
        text += row.texts.front();
      items.push_back(std::move(text));
    }
    return items;
  };
  if (const auto items = list(true); !items.empty()) {
    sheet.heading("What differs");
    sheet.list(items);
  }
  if (const auto items = list(false); !items.empty()) {
    sheet.heading("What stays");
    sheet.list(items);
  }
  return sheet.text();
}

}  // namespace wireplan
