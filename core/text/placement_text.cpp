#include "core/text/placement_text.hpp"

#include <utility>

#include "core/base/format.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/wiring_json.hpp"

namespace wireplan {
namespace {

Json list_or_null(const std::vector<int>& list) { return list.empty() ? Json(nullptr) : Json(list); }

Json group_json(const MappedGroup& g) {
  Json j;
  put(j, "dimension", name_of(g.dimension));
  put(j, "gpus", Json(g.gpus));
  put(j, "bus_bandwidth_bytes_per_s", g.bandwidth);
  put(j, "bottleneck", g.bottleneck);
  put(j, "bottleneck_planning_bytes_per_s", g.bottleneck_rate);
  put(j, "bottleneck_nominal_bytes_per_s", rate_or_null(g.bottleneck_nominal));
  put(j, "time_s", g.time);
  put(j, "exposed_s", g.exposed);
  return j;
}

Json mapping_json(const Mapping& m) {
  Json groups = Json::array();
  for (const MappedGroup& g : m.groups) groups.push_back(group_json(g));
  Json j;
  put(j, "placement", list_or_null(m.placement));
  put(j, "order", m.order);
  put(j, "gpus", list_or_null(m.gpus));
  put(j, "time_s", write_range(m.time));
  put(j, "communication_s", m.communication);
  put(j, "exposed_communication_s", write_range(m.exposed));
  put(j, "groups", std::move(groups));
  return j;
}

// What to change in the plan: each pair as {"set": [[path, value]]} and --set take it.
Json edits_json(const Mapping& from, const Mapping& to) {
  Json edits = Json::array();
  const auto edit = [&](const char* path, bool differs, Json value) {
    if (!differs) return;
    Json j;
    put(j, "path", path);
    put(j, "value", std::move(value));
    edits.push_back(std::move(j));
  };
  edit("parallel.order", from.order != to.order, to.order);
  edit("cluster.gpus", from.gpus != to.gpus, list_or_null(to.gpus));
  edit("parallel.placement", from.placement != to.placement, list_or_null(to.placement));
  return edits;
}

Json subset_json(const Subset& s) {
  Json j;
  put(j, "gpus", Json(s.gpus));
  put(j, "bus_bandwidth_bytes_per_s", s.bus_bandwidth);
  put(j, "all_to_all_bandwidth_bytes_per_s", s.all_to_all_bandwidth);
  put(j, "bottleneck", s.bottleneck);
  put(j, "bottleneck_planning_bytes_per_s", s.bottleneck_rate);
  put(j, "bottleneck_nominal_bytes_per_s", rate_or_null(s.bottleneck_nominal));
  return j;
}

std::string listed(const std::vector<int>& gpus) {
  std::string text;
  for (std::size_t i = 0; i < gpus.size() && i < 16; ++i) text += (i ? " " : "") + std::to_string(gpus[i]);
  return text + (gpus.size() > 16 ? " …" : "");
}

std::string rate_text(BytesPerSecond rate) { return rate.value > 0 ? format_rate(rate) : "not known"; }

}  // namespace

Json write_placement(const PlacementAnswer& a) {
  Json best = mapping_json(a.best), subsets = Json::array();
  put(best, "edits", edits_json(a.current, a.best));
  put(best, "gain_s", a.gain);
  put(best, "gain_low_s", a.gain_low);
  put(best, "gain_high_s", a.gain_high);
  put(best, "gain_share", a.current.time.value.value > 0 ? a.gain / a.current.time.value : 0);
  put(best, "certainty", name_of(a.certainty));
  put(best, "exact", a.exact);
  put(best, "compared", a.compared);
  put(best, "text", a.text);
  for (const Subset& s : a.subsets.best) subsets.push_back(subset_json(s));
  Json j;
  put(j, "schema", "wireplan.placement/1");
  put(j, "current", mapping_json(a.current));
  put(j, "best", std::move(best));
  put(j, "subsets", std::move(subsets));
  put(j, "first_subset", subset_json(a.subsets.first));
  put(j, "subsets_exact", a.subsets.exact);
  put(j, "subsets_text", a.subset_text);
  return j;
}

void render_placement(Sheet& sheet, const PlacementAnswer& a) {
  sheet.heading("Which rank on which GPU?");
  sheet.paragraph(a.text);
  if (a.is_better) {
    Table table{{{"groups", false}, {"GPUs", false}, {"bus", true}, {"slowest at", false}}, {}, {}};
    for (const auto& [mapping, name] : {std::pair(&a.current, " now"), std::pair(&a.best, " best")})
      for (const MappedGroup& g : mapping->groups) {
        std::string gpus;
        for (std::size_t i = 0; i < g.gpus.size() && i < 4; ++i) gpus += (i ? " | " : "") + listed(g.gpus[i]);
        table.rows.push_back({std::string(name_of(g.dimension)) + name, gpus + (g.gpus.size() > 4 ? " | …" : ""), format_rate(g.bandwidth), g.bottleneck});
      }
    sheet.table(table);
    std::string settings;
    const Json edits = edits_json(a.current, a.best);
    for (const Json& edit : edits) {
      const Json& value = edit.at("value");
      settings += " --set " + edit.at("path").get<std::string>() + '=' + (value.is_string() ? value.get<std::string>() : dump_json_compact(value));
    }
    sheet.paragraph("To try it:" + settings);
  }
  if (a.subset_text.empty()) return;
  sheet.paragraph(a.subset_text);
  if (a.subsets.best.size() < 2 || a.subsets.all_equal) return;
  Table table{{{"GPUs", false}, {"bus", true}, {"all to all", true}, {"slowest at", false}, {"NCCL planning rate", true}, {"data sheet", true}}, {}, {}};
  for (const Subset& s : a.subsets.best)
    table.rows.push_back({listed(s.gpus), format_rate(s.bus_bandwidth), format_rate(s.all_to_all_bandwidth), s.bottleneck, format_rate(s.bottleneck_rate), rate_text(s.bottleneck_nominal)});
  sheet.table(table);
}

}  // namespace wireplan
