#include "core/text/collectives.hpp"

#include <algorithm>
#include <utility>

#include "core/count/messages.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/read_node.hpp"
#include "core/text/reader.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Asked {
  std::vector<Collective> ops{Collective::all_reduce};
  std::vector<Bytes> sizes;
  std::vector<int> gpus;
  int per_node = 0, nodes = 0;
  ElementType type = ElementType::float32;
  std::string redop = "sum";
};

void read_op(Reader& r, Asked& asked) {
  std::string name;
  if (!r.read("op", name)) return;
  asked.ops.clear();
  for (std::size_t i = 0; i < kNames<Collective>.size(); ++i)
    if (name == "all" || name == kNames<Collective>[i]) asked.ops.push_back(static_cast<Collective>(i));
  if (asked.ops.empty())
    r.fail("op", name, names_listed<Collective>() + " | all",
           value_text(Json(name)) + " is no operation" + did_you_mean(nearest_words(name, kNames<Collective>)));
}

void read_sizes(Reader& r, Asked& asked) {
  const Json* sizes = r.stated("sizes");
  if (sizes && sizes->is_array()) {
    if (sizes->empty() || sizes->size() > static_cast<std::size_t>(kMostCurveSizes))
      return r.fail("sizes", static_cast<std::int64_t>(sizes->size()), "1 to 1,000 sizes", "sizes has " + std::to_string(sizes->size()) + " entries. Nearest: 1 to 1,000");
    for (const Json& size : *sizes) {
      double bytes = 0;
      if (!r.read("sizes", &size, bytes)) return;
      if (!(bytes >= 1 && bytes <= kMostCallBytes)) return r.fail("sizes", size, "1 B to 1 PB", "a size of " + value_text(size) + " bytes cannot be. Nearest: 1");
      asked.sizes.push_back(Bytes(bytes));
    }
    return;
  }
  SizeRange range;
  if (sizes) {
    Reader part(r.log(), *sizes, r.path("sizes"));
    const bool begins = part.read("begin", range.begin), ends = part.read("end", range.end);
    if (begins && !ends) range.end = std::max(range.end, range.begin);
    if (ends && !begins) range.begin = std::min(range.begin, range.end);
    const bool by_factor = part.read("factor", range.factor), by_step = part.read("step", range.step);
    if (by_step && range.step == 0) part.fail("step", 0, "1 B to 1 PB", "sizes that grow by 0 never reach the last. Nearest: 1048576");
    if (by_factor && by_step) part.fail("step", range.step, "factor or step", "sizes grow by a factor or by a step, not by both. Nearest: factor alone");
    part.finish();
    if (!r.log().errors.empty()) return;
  }
  Result<std::vector<Bytes>> made = sizes_of(range);
  if (made) asked.sizes = std::move(made.value());
  else
    for (Error e : made.errors()) {
      e.path = r.path("sizes") + '.' + e.path;
      r.log().add(std::move(e));
    }
}

Asked read_asked(Reader& r) {
  Asked asked;
  read_op(r, asked);
  read_sizes(r, asked);
  asked.gpus = asked_gpus(r);
  if (r.read_stated("per_node", asked.per_node)) {
    if (asked.per_node < 1 || asked.per_node > 1024) r.fail("per_node", asked.per_node, "1 to the GPUs of a node", "per_node " + std::to_string(asked.per_node) + " cannot be. Nearest: 1");
    else if (!asked.gpus.empty()) r.fail("per_node", asked.per_node, "gpus or per_node", "per_node takes the first GPUs of each node, gpus names them: give one. Nearest: gpus alone");
  }
  if (r.read_stated("nodes", asked.nodes) && (asked.nodes < 1 || asked.nodes > kMostCurveRanks))
    r.fail("nodes", asked.nodes, "1 to 100,000", "nodes " + std::to_string(asked.nodes) + " cannot be. Nearest: " + (asked.nodes < 1 ? "1" : "100000"));
  r.name_stated("dtype", asked.type);
  if (std::string redop; r.read_stated("redop", redop)) {
    if (!value_named<Reduction>(redop))
      r.fail("redop", redop, names_listed<Reduction>(), value_text(Json(redop)) + " is no reduction" + did_you_mean(nearest_words(redop, kNames<Reduction>)));
    else asked.redop = redop;
  }
  return asked;
}

std::string machine_name(const Cluster& cluster) {
  const Node& n = cluster.node;
  return plain_text(!n.name.empty() ? n.name : !n.id.empty() ? n.id : n.gpu.name.empty() ? std::string("a node") : std::to_string(n.gpus) + " × " + n.gpu.name, 60);
}

std::string gpus_text(const Curve& c) {
  bool first_ones = true;
  std::string list;
  for (std::size_t i = 0; i < c.gpus.size(); ++i) {
    first_ones = first_ones && c.gpus[i] == static_cast<int>(i);
    list += (i > 0 ? "," : "") + std::to_string(c.gpus[i]);
  }
  const int last = static_cast<int>(c.gpus.size()) - 1;
  if (first_ones) return last > 0 ? "GPUs 0 to " + std::to_string(last) : "GPU 0";
  return (last > 0 ? "GPUs " : "GPU ") + plain_text(list, 60);
}

// "all_reduce among 8 ranks, GPUs 0 to 7 of DGX A100; ring, simple …": what does not change down the table.
std::string head_of(const CollectivesAnswer& a, const Curve& c) {
  std::string text = std::string(name_of(c.op)) + " among " + format_count(c.ranks) + " ranks: " + gpus_text(c) + " of " + (c.nodes > 1 ? "each of " + format_count(c.nodes) + " nodes, " : "") +
                     machine_name(a.stated.cluster) + '.';
  if (!c.bottleneck.name.empty()) {
    text += " Bottleneck: " + plain_text(c.bottleneck.name, 120);
    if (c.bottleneck.rate.value > 0) text += ", " + format_rate(c.bottleneck.rate);
    if (c.bottleneck.nominal.value > 0 && c.bottleneck.nominal != c.bottleneck.rate) text += " (nominal " + format_rate(c.bottleneck.nominal) + ")";
    text += '.';
  }
  return text;
}

// Four digits, as nccl-tests has them.
std::string microseconds(Seconds s) {
  const double us = s.value * 1e6;
  return format_fixed(us, us < 1000 ? 2 : us < 10000 ? 1 : 0);
}
std::string gigabytes(BytesPerSecond r) { return format_fixed(r.value / 1e9, 2); }

std::string as_csv(const CollectivesAnswer& a) {
  std::string text = csv_line({"op", "ranks", "nodes", "gpus", "size [bytes]", "count", "type", "redop", "root", "time.low [s]", "time [s]", "time.high [s]", "algbw [bytes/s]", "busbw [bytes/s]",
                               "algorithm", "protocol", "basis", "bottleneck"});
  for (std::size_t k = 0; k < a.curves.size(); ++k) {
    const Curve& c = a.curves[k];
    std::string gpus;
    for (int g : c.gpus) gpus += (gpus.empty() ? "" : " ") + std::to_string(g);
    for (std::size_t i = 0; i < c.points.size(); ++i) {
      const Curve::Point& p = c.points[i];
      text += csv_line({std::string(name_of(c.op)), std::to_string(c.ranks), std::to_string(c.nodes), gpus, format_exact(p.size.value), format_exact(a.counts[k][i]), std::string(name_of(a.type)),
                        reduces(c.op) ? a.redop : "none", has_root(c.op) ? "0" : "-1", format_exact(p.call.time.low.value), format_exact(p.call.time.value.value), format_exact(p.call.time.high.value),
                        format_exact(p.algorithm_bandwidth.value), format_exact(p.bus_bandwidth.value), std::string(name_of(p.call.algorithm)), std::string(name_of(p.call.protocol)),
                        std::string(name_of(p.call.basis)), plain_text(c.bottleneck.name, 120)});
    }
  }
  return text;
}

}  // namespace

Result<CollectivesAnswer> asked_collectives(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  r.require("cluster", "the id of a node, or a cluster document");
  const Json* cluster = r.find("cluster");
  Asked asked = read_asked(r);
  r.finish();
  if (!log.errors.empty() || !cluster) return log.finished();
  Result<StatedCluster> stated = stated_cluster(*cluster, presets, asked.nodes);
  if (!stated) return stated.errors();
  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();

  CollectivesAnswer answer;
  answer.stated = std::move(stated.value());
  answer.type = asked.type;
  answer.redop = asked.redop;
  const PreparedCluster prepared = prepare(answer.stated.cluster, constants.value().links);
  const int used = answer.stated.cluster.gpus_per_node;
  if (asked.per_node > used)
    return Error{"per_node", std::to_string(asked.per_node), "1 to " + std::to_string(used),
                 std::to_string(asked.per_node) + " GPUs of each node, " + std::to_string(used) + " are used of each. Nearest: " + std::to_string(used)};
  if (asked.per_node > 0) asked.gpus = used_gpus(answer.stated.cluster, asked.per_node);
  for (Collective op : asked.ops) {
    CurveRequest curve{op, asked.gpus, answer.stated.cluster.nodes, {}};
    const double ranks = static_cast<double>(asked.gpus.empty() ? at(used) : asked.gpus.size()) * curve.nodes;
    std::vector<double> counts;
    for (Bytes size : asked.sizes) {
      const CallSize call = call_size(op, size, asked.type, static_cast<int>(std::min(ranks, 1.0 * kMostCurveRanks)));
      curve.sizes.push_back(call.size);
      counts.push_back(call.count);
    }
    Result<Curve> made = collective_curve(prepared, curve);
    if (!made) return made.errors();
    answer.curves.push_back(std::move(made.value()));
    answer.counts.push_back(std::move(counts));
  }
  return answer;
}

Json write_collectives(const CollectivesAnswer& a) {
  Json curves = Json::array();
  for (std::size_t k = 0; k < a.curves.size(); ++k) {
    const Curve& c = a.curves[k];
    Json curve = Json::object(), gpus = Json::array(), points = Json::array();
    for (int g : c.gpus) gpus.push_back(g);
    put(curve, "op", name_of(c.op));
    put(curve, "ranks", c.ranks);
    put(curve, "nodes", c.nodes);
    put(curve, "gpus", std::move(gpus));
    put(curve, "bottleneck", c.bottleneck.name);
    put_or_null(curve, "bottleneck_planning_bytes_per_s", c.bottleneck.rate.value);
    put_or_null(curve, "bottleneck_nominal_bytes_per_s", c.bottleneck.nominal.value);
    for (std::size_t i = 0; i < c.points.size(); ++i) {
      const Curve::Point& p = c.points[i];
      Json point = Json::object(), time = Json::object();
      put(point, "size_bytes", p.size);
      put(point, "count", a.counts[k][i]);
      put(time, "low", p.call.time.low);
      put(time, "value", p.call.time.value);
      put(time, "high", p.call.time.high);
      put(point, "time_s", std::move(time));
      put(point, "algorithm_bandwidth_bytes_per_s", p.algorithm_bandwidth);
      put(point, "bus_bandwidth_bytes_per_s", p.bus_bandwidth);
      put(point, "algorithm", name_of(p.call.algorithm));
      put(point, "protocol", name_of(p.call.protocol));
      put(point, "basis", name_of(p.call.basis));
      points.push_back(std::move(point));
    }
    put(curve, "points", std::move(points));
    curves.push_back(std::move(curve));
  }
  Json j = Json::object();
  put(j, "schema", "wireplan.collectives/1");
  put(j, "cluster", write_cluster_part(a.stated.cluster));
  put(j, "dtype", name_of(a.type));
  put(j, "curves", std::move(curves));
  put(j, "assumed", write_assumed(a.stated.assumed));
  return j;
}

std::string render_collectives(const CollectivesAnswer& a, RenderFormat format) {
  if (format == RenderFormat::csv) return as_csv(a);
  Sheet sheet(format == RenderFormat::markdown);
  for (std::size_t k = 0; k < a.curves.size(); ++k) {
    const Curve& c = a.curves[k];
    const auto same = [&](auto&& part) { return std::all_of(c.points.begin(), c.points.end(), [&](const Curve::Point& p) { return part(p.call) == part(c.points.front().call); }); };
    const bool one_way = same([](const CollectiveCall& call) { return std::pair(call.algorithm, call.protocol); });
    const bool one_basis = same([](const CollectiveCall& call) { return call.basis; });
    std::string head = head_of(a, c);
    if (!c.points.empty()) {
      const CollectiveCall& first = c.points.front().call;
      if (one_way) head += " Algorithm " + std::string(name_of(first.algorithm)) + ", protocol " + std::string(name_of(first.protocol)) + '.';
      if (one_basis) head += " Basis: " + std::string(name_of(first.basis)) + '.';
    }
    head += " Elements of " + std::string(name_of(a.type)) + (reduces(c.op) ? ", reduction " + a.redop : "") + (has_root(c.op) ? ", root 0." : ".");
    const auto is_outside = [](const Curve::Point& p) { return p.call.basis == Basis::extrapolated; };
    if (std::any_of(c.points.begin(), c.points.end(), is_outside)) head += " Extrapolated: outside the sizes that were measured.";
    sheet.strong(head);
    Table table{{{"size B", true}, {"count", true}, {"time us", true}, {"algbw", true}, {"busbw GB/s", true}, {"low to high us", true}}, {}, {}};
    if (!one_way) table.columns.push_back({"how", false});
    if (!one_basis) table.columns.push_back({"by", false});
    for (std::size_t i = 0; i < c.points.size(); ++i) {
      const Curve::Point& p = c.points[i];
      std::vector<std::string> row{format_exact(p.size.value), format_exact(a.counts[k][i]),
                                   microseconds(p.call.time.value), gigabytes(p.algorithm_bandwidth), gigabytes(p.bus_bandwidth),
                                   microseconds(p.call.time.low) + " to " + microseconds(p.call.time.high)};
      if (!one_way) row.push_back(std::string(name_of(p.call.algorithm)) + '/' + std::string(name_of(p.call.protocol)));
      if (!one_basis) row.push_back(std::string(name_of(p.call.basis)));
      table.rows.push_back(std::move(row));
    }
    sheet.table(table);
  }
  std::vector<std::string> assumed;
  for (const Assumption& s : a.stated.assumed) assumed.push_back(sheet.code(plain_text(s.path + " = " + s.value, 80)) + ": " + plain_text(s.why, 400));
  if (!assumed.empty()) {
    sheet.heading("Assumed");
    sheet.list(assumed);
  }
  return sheet.text();
}

}  // namespace wireplan
