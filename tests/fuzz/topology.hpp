// What must hold of any text given to the importer of topologies.
#pragma once

#include <string>
#include <string_view>

#include "core/cost/wiring.hpp"
#include "core/text/import_topology.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/render_topology.hpp"

namespace wireplan::testing {

// What is wrong, "" where all holds.
inline std::string topology_fault(std::string_view text) {
  static const Presets presets;
  static const LinkConstants links = presets.constants().value().links;
  const Result<Cluster> cluster = import_topology(text, {}, presets);
  if (!cluster) {
    if (cluster.errors().empty()) return "refused without an error";
    for (const Error& e : cluster.errors()) {
      if (e.text.empty()) return "an error says nothing";
      if (e.value.size() > 80) return "an error's value is longer than 80 characters";
    }
    return "";
  }
  const Cluster& c = cluster.value();
  if (!validate(c, "cluster").empty()) return "accepted, but not valid";
  const Result<Json> document = parse_json(dump_json(write_cluster(c)));
  if (!document) return "the document is not JSON";
  const Result<Cluster> again = read_cluster(document.value(), presets, "cluster");
  if (!again) return "the document is refused: " + again.errors()[0].path + ": " + again.errors()[0].text;
  if (!(again.value() == c)) return "the document reads back as another cluster";
  if (wiring_graph(again.value().node, links) != wiring_graph(c.node, links)) return "the document reads back as another graph";
  if (render_imported(c, links, RenderFormat::text).empty()) return "no text";
  if (c.node.gpus > 16) return "";
  const PreparedCluster prepared = prepare(c, links);
  for (int i = 0; i < prepared.gpus; ++i)
    for (int j = 0; j < prepared.gpus; ++j)
      if (i != j && !(prepared.route(i, j).rate.value > 0 && prepared.route(i, j).rate.value < 1e15)) return "two GPUs have no path";
  return "";
}

}  // namespace wireplan::testing
