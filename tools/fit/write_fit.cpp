#include "tools/fit/write_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/math.hpp"

namespace wireplan {
namespace {

double four_digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::strtod(text, nullptr);
}

Json write_class(const LinkConstants::Class& c) {
  Json j = Json::object();
  put(j, "name", c.name);
  put(j, "generation", c.generation);
  put(j, "points", c.points);
  const auto number = [&](const char* key, double value) { put(j, key, four_digits(value)); };
  number("launch_cycles", c.launch_cycles);
  number("hop_s", c.hop.value);
  number("efficiency", c.efficiency);
  number("copy_bytes_per_s", c.copy.value);
  number("fill_s", c.fill.value);
  number("fill_per_step_s", c.fill_per_step.value);
  number("low_latency_share", c.low_latency_share);
  number("low_latency_channel_bytes_per_s", c.low_latency_channel.value);
  number("all_to_all_efficiency", c.all_to_all_efficiency);
  number("all_to_all_fill_s", c.all_to_all_fill.value);
  number("all_to_all_low_latency_share", c.all_to_all_low_latency_share);
  if (c.one_way != 1) number("one_way", c.one_way);
  if (c.channel.value > 0) number("channel_bytes_per_s", c.channel.value);
  if (c.nvls_efficiency > 0) {
    number("nvls_efficiency", c.nvls_efficiency);
    number("nvls_fill_s", c.nvls_fill.value);
  }
  return j;
}

Json write_table(const LinkConstants& k, const MeasuredTable& t, std::vector<std::string>& sources) {
  Json j = Json::object();
  const LinkConstants::Class& row = k.classes[static_cast<std::size_t>(t.class_row)];
  put(j, "class", row.name);
  if (row.generation != LinkConstants::kAny) put(j, "generation", row.generation);
  if (t.fabric_row >= 0) put(j, "fabric", t.fabric_row);
  if (t.by_tree) put(j, "by_tree", true);
  put(j, "collective", name_of(t.collective));
  put(j, "ranks", t.ranks);
  put(j, "nodes", t.nodes);
  put(j, "machine", t.machine);
  auto source = std::find(sources.begin(), sources.end(), t.source);
  if (source == sources.end()) source = sources.insert(sources.end(), t.source);
  put(j, "source", static_cast<int>(source - sources.begin()));
  bool doubles = true;
  Json sizes = Json::array(), residuals = Json::array();
  for (const MeasuredTable::Point& p : t.points) {
    doubles = doubles && p.log2_size == t.points.front().log2_size + static_cast<double>(residuals.size());
    sizes.push_back(std::round(power(2, p.log2_size)));
    residuals.push_back(static_cast<int>(std::round(p.residual * 1000)));
  }
  if (doubles) put(j, "from", sizes.front().get<double>());
  else put(j, "sizes", std::move(sizes));
  put(j, "residuals", std::move(residuals));
  return j;
}

}  // namespace

Json write_link_fit(const LinkConstants& k) {
  Json classes = Json::array(), fabrics = Json::array(), tables = Json::array();
  for (const LinkConstants::Class& c : k.classes)
    if (c.points > 0) classes.push_back(write_class(c));
  for (std::size_t i = 0; i < k.fabrics.size(); ++i) {
    const LinkConstants::FabricRate& f = k.fabrics[i];
    if (f.points == 0) continue;
    Json j = Json::object();
    put(j, "row", static_cast<int>(i));
    put(j, "points", f.points);
    put(j, "efficiency", four_digits(f.efficiency));
    put(j, "latency_s", four_digits(f.latency.value));
    put(j, "fill_s", four_digits(f.fill.value));
    put(j, "fill_bytes", four_digits(f.fill_bytes.value));
    fabrics.push_back(std::move(j));
  }
  std::vector<std::string> sources;
  for (const MeasuredTable& t : k.tables) tables.push_back(write_table(k, t, sources));
  Json j = Json::object();
  put(j, "source", "Least squares on the sweeps of collectives.jsonl beside this file, made by wireplan_fit (tools/fit)");
  put(j, "date", "2026-11");
  put(j, "note", "classes and fabrics: constants in place of those of links.json; row: of its fabrics. tables: thousandths of ln(measured / formula)");
  put(j, "classes", std::move(classes));
  put(j, "fabrics", std::move(fabrics));
  put(j, "sources", sources);
  put(j, "tables", std::move(tables));
  return j;
}

}  // namespace wireplan
