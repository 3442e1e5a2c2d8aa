#include "core/text/read_runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kShownErrors = 10;
constexpr std::size_t kMostRows = 20'000, kMostPoints = 500'000;

// Measured values lie within this, or are 0; so errors and their summaries stay finite.
constexpr double kLeast = 1e-18, kMost = 1e18;
bool is_sound(double value) { return value == 0 || (std::fabs(value) >= kLeast && std::fabs(value) <= kMost); }

// Reads a measured number, none but differences below 0. Absent and null are no error.
bool read_sound(Reader& r, std::string_view key, double& out, bool is_difference = false) {
  double value = 0;
  if (!r.read_stated(key, value)) return false;
  if (!is_sound(value) || (value < 0 && !is_difference)) {
    r.fail(key, Json(value), "0, or 1e-18 to 1e18", r.path(key) + " is out of range: " + value_text(Json(value)));
    return false;
  }
  out = value;
  return true;
}

// Reads one row; what it cannot use it says in `reasons`.
struct RowReader {
  const Presets& presets;
  const TopologyText& topology;
  std::vector<std::string> reasons;

  // The first thing wrong with a part, which is then left out.
  void leave_out(const Errors& errors, const std::string& part) {
    const Error& e = errors.front();
    std::string reason = (part.empty() || e.path.starts_with(part) ? "" : part + ": ") + (e.text.empty() ? e.path : e.text);
    if (errors.size() > 1) reason += " (and " + std::to_string(errors.size() - 1) + " more)";
    reasons.push_back(std::move(reason));
  }

  void read_measured(const Json& json, Run& run) {
    ReadLog log;
    Reader r(log, json, "measured");
    for (std::size_t i = 0; i < kNames<Metric>.size(); ++i) {
      const std::string_view name = kNames<Metric>[i];
      const auto metric = static_cast<Metric>(i);
      const bool is_read_below = metric >= Metric::states_parameters;
      double value = 0;
      if (!is_read_below && read_sound(r, name, value, metric == Metric::after_forward)) run.measured.push_back({metric, value});
    }
    if (const Json* states = r.stated("states")) {
      Reader s(log, *states, r.path("states"));
      constexpr std::array<std::string_view, 4> keys = {"parameters", "gradients", "master_weights", "optimizer_states"};
      for (std::size_t i = 0; i < keys.size(); ++i) {
        double value = 0;
        const auto metric = static_cast<Metric>(static_cast<std::size_t>(Metric::states_parameters) + i);
        if (read_sound(s, keys[i], value)) run.measured.push_back({metric, value});
      }
      s.finish();
    }
    if (const Json* list = r.stated("collectives")) run.collectives = read_collectives(log, *list, r.path("collectives"));
    r.finish();
    if (!log.errors.empty()) leave_out(log.finished(), "measured");
  }

  std::optional<std::vector<CollectiveSum>> read_collectives(ReadLog& log, const Json& json, const std::string& path) {
    if (!json.is_array()) {
      log.add({path, value_text(json), "a list", path + " must be a list, not " + value_text(json)});
      return std::nullopt;
    }
    std::vector<CollectiveSum> sums;
    for (std::size_t i = 0; i < json.size(); ++i) {
      Reader r(log, json[i], path + '.' + std::to_string(i));
      CollectiveSum s;
      const bool is_whole = r.read_name("collective", s.collective) && r.read_name("dtype", s.element) && r.read("ranks", s.ranks) &&
                            read_sound(r, "calls", s.calls) && read_sound(r, "bytes", s.bytes.value);
      if (!is_whole) {
        log.add({r.path(), value_text(json[i]), "collective, dtype, ranks, calls, bytes", r.path() + " is not whole"});
        return std::nullopt;
      }
      sums.push_back(s);
    }
    return sums;
  }

  void read_event(const Json& json, Run& run) {
    ReadLog log;
    Reader r(log, json, "event");
    PeakPlace place;
    if (!r.read_name("phase", place.phase)) log.add({"event.phase", "", names_listed<StepPhase>(), "event has no phase that is known"});
    if (const Json* layer = r.stated("layer")) {
      Count number = -1;
      const Count layers = run.plan->model.opaque ? run.plan->model.opaque->units : run.plan->model.num_layers;
      if (*layer == "embedding") place.layer = number;
      else if (*layer == "head") place.layer.reset();  // has no number to compare
      else if (r.read("layer", number) && (number < 0 || number >= layers))
        r.fail("layer", *layer, "0 to " + std::to_string(layers - 1) + ", embedding or head", "event.layer " + value_text(*layer) + " is not one of " + std::to_string(layers) + " layers");
      else place.layer = number;
    }
    if (log.errors.empty()) run.event = place;
    else leave_out(log.finished(), "event");
  }

  void read_plan_run(Reader& r, const Json& plan, Run& run) {
    Result<Plan> read = read_plan(plan, presets);
    if (!read) {
      Errors errors = read.errors();
      for (Error& e : errors) e.path = e.path.empty() ? "plan" : "plan." + e.path;
      leave_out(errors, "");
      return;
    }
    run.plan = std::move(read.value());
    bool is_traced = false;
    if (const Json* measured = r.stated("measured")) {
      read_measured(*measured, run);
      is_traced = measured->is_object() && (measured->contains("states") || measured->contains("collectives"));
    }
    if (const Json* event = r.stated("event")) {
      read_event(*event, run);
      is_traced = true;
    }
    // What was measured on GPUs ran there.
    if (!run.measured.empty() && !is_traced) run.outcome = Outcome::fits;
    if (const Json* outcome = r.stated("outcome")) {
      if (*outcome == "oom") run.outcome = Outcome::oom;
      else if (*outcome == "fits") run.outcome = Outcome::fits;
      else reasons.push_back("outcome " + value_text(*outcome) + " is neither \"oom\" nor \"fits\"");
    }
    read_place(r, "rank", total_gpus(run.plan->cluster), run.rank);
    read_place(r, "stage", run.plan->parallel.pipeline, run.stage);
    const bool has_any = !run.measured.empty() || run.event || run.collectives || run.outcome != Outcome::unknown;
    if (!has_any && reasons.empty()) reasons.push_back("nothing was measured that can be compared");
  }

  // Whose memory a row is.
  void read_place(Reader& r, std::string_view key, Count count, int& out) {
    Count value = 0;
    if (!r.read_stated(key, value)) return;
    if (value >= 0 && value < count) out = static_cast<int>(value);
    else r.fail(key, Json(value), "0 to " + std::to_string(count - 1), std::string(key) + ' ' + std::to_string(value) + " is not one of " + std::to_string(count));
  }

  void read_collective_run(Reader& r, const Json& cluster, Run& run) {
    CollectiveRun c;
    Result<Cluster> read = read_cluster(cluster, presets, "cluster");
    if (!read) return leave_out(read.errors(), "");
    c.cluster = std::move(read.value());
    c.gpus = static_cast<int>(total_gpus(c.cluster));  // at most 1e5 nodes of 1,024
    c.nodes = c.cluster.nodes;
    ReadLog& log = r.log();
    if (!r.read_name("collective", c.collective)) log.add({"collective", "", names_listed<Collective>(), "the row names no collective that is known"});
    r.read_stated("gpus", c.gpus);
    r.read_stated("nodes", c.nodes);
    if (c.nodes < 1 || c.nodes > c.cluster.nodes || c.gpus < c.nodes || (c.gpus - 1) / c.nodes >= c.cluster.gpus_per_node)
      log.add({"gpus", std::to_string(c.gpus), "at most those of the cluster", std::to_string(c.gpus) + " GPUs on " + std::to_string(c.nodes) + " nodes are not in the cluster"});
    const Json* points = r.stated("measured");
    const bool is_list = points != nullptr && points->is_array() && !points->empty();
    if (!is_list) log.add({"measured", "", "a list of [size_bytes, time_s]", "measured is not a list of [size_bytes, time_s]"});
    for (std::size_t i = 0; is_list && i < points->size(); ++i) {
      const Json& point = (*points)[i];
      const std::string key = "measured." + std::to_string(i);
      MeasuredCurve::Point p;
      const bool is_pair = point.is_array() && point.size() == 2 && r.read(key, &point[0], p.size.value) && r.read(key, &point[1], p.time.value);
      if (is_pair && p.size.value >= 0 && p.time.value >= 0 && is_sound(p.size.value) && is_sound(p.time.value)) c.points.push_back(p);
      else log.add({key, value_text(point), "[size_bytes, time_s]", key + " is not [size_bytes, time_s]: " + value_text(point)});
    }
    if (const Json* environment = r.stated("environment")) read_environment(*environment, c);
    if (const Json* launch = r.stated("launch"); launch && *launch == "single-process") c.cluster.node.launch = "single-process";
    c.source = run.source;
    if (!log.errors.empty()) return leave_out(log.finished(), "");
    run.collective = std::move(c);
  }

  // ["NCCL_ALGO=Ring", ...]; what decides nothing here is passed over.
  static void read_environment(const Json& environment, CollectiveRun& run) {
    CollectiveSwitches& switches = run.switches;
    if (!environment.is_array()) return;
    for (const Json& entry : environment) {
      if (!entry.is_string()) continue;
      std::string text = entry.get<std::string>();
      for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (text == "nccl_nvls_enable=0") switches.nvls = false;
      else if (text == "nccl_p2p_disable=1") run.cluster.node.p2p = 0;
      else if (text == "nccl_p2p_level=sys" || text == "nccl_p2p_level=phb") switches.peers_past_host = true;
      else if (text.starts_with("nccl_min_nchannels=") && text.size() == 20) switches.min_channels = text.back() - '0';
      else if (text == "nccl_algo=ring") switches.algorithm = Algorithm::ring;
      else if (text == "nccl_algo=tree") switches.algorithm = Algorithm::tree;
      else if (text == "nccl_algo=nvls") switches.algorithm = Algorithm::nvls;
      else if (text == "nccl_algo=nvlstree") switches.algorithm = Algorithm::nvls_tree;
    }
  }

  void read_nccl_run(const Json& row, Run& run) {
    Result<NcclCase> read = read_nccl_case(row, presets, topology);
    if (!read) return leave_out(read.errors(), "");
    if (run.source.empty()) run.source = "NCCL " + read.value().release.version;
    run.nccl = std::move(read.value());
  }

  Run read(const Json& row, const std::string& line) {
    Run run;
    ReadLog log;
    Reader r(log, row, "");
    if (!r.read_stated("id", run.id)) run.id = line;
    r.read_stated("source", run.source);
    if (r.has("topology_xml") || r.has("graphs"))
      read_nccl_run(row, run);
    else if (const Json* plan = r.stated("plan"))
      read_plan_run(r, *plan, run);
    else if (const Json* cluster = r.stated("cluster"); cluster != nullptr && r.has("collective"))
      read_collective_run(r, *cluster, run);
    else
      reasons.push_back("it has neither a plan nor a cluster with a collective");
    if (!run.collective && !log.errors.empty()) leave_out(log.finished(), "");
    return run;
  }
};

Error line_error(const std::string& line, Error error) {
  error.path = line;
  // One line is read at a time, so the reader's own place is in line 1.
  const std::size_t place = error.text.find("line 1, ");
  if (place != std::string::npos) error.text.erase(place, 8);
  return error;
}

}  // namespace

Result<Runs> read_runs(std::string_view lines, const Presets& presets, const TopologyText& topology) {
  Runs runs;
  Errors errors;
  std::size_t number = 0, rows = 0, points = 0;
  while (!lines.empty()) {
    const std::string_view text = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), text.size() + 1));
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string line = "line " + std::to_string(number);
    if (++rows > kMostRows || points > kMostPoints) {
      errors.push_back({line, rows > kMostRows ? "20,001 rows" : format_count(static_cast<double>(points)) + " points", "20,000 rows with 500,000 measured points in all",
                        "the file has more rows or points than are compared at once. Nearest: cut it in two before " + line});
      break;
    }
    const Result<Json> row = parse_json(text);
    if (!row || !row.value().is_object()) {
      errors.push_back(row ? Error{line, value_text(row.value()), "an object", "a row is a JSON object, not " + value_text(row.value())}
                           : line_error(line, row.errors().front()));
      if (errors.size() == kShownErrors) break;
      continue;
    }
    if (!errors.empty()) continue;
    RowReader reader{presets, topology, {}};
    Run run = reader.read(row.value(), line);
    for (std::string& reason : reader.reasons) runs.skipped.push_back({run.id, std::move(reason)});
    if (run.collective) points += run.collective->points.size();
    if (run.nccl) points += run.nccl->points.size();
    if (run.plan || run.collective || run.nccl) runs.runs.push_back(std::move(run));
  }
  if (rows == 0) errors.push_back({"", "", "one JSON object a line", "there is no row"});
  if (!errors.empty()) return errors;
  return runs;
}

}  // namespace wireplan
