#include "native/measure/run_table.hpp"

#include <algorithm>
#include <cstdio>

#include "core/base/format.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

std::string padded(const std::string& text, std::size_t width) { return text.size() >= width ? ' ' + text : std::string(width - text.size(), ' ') + text; }

std::string microseconds(double seconds) { return format_fixed(seconds * 1e6, seconds < 1e-4 ? 2 : seconds < 1e-3 ? 1 : 0); }
std::string gigabytes(BytesPerSecond rate) { return format_fixed(rate.value / 1e9, rate.value < 1e8 ? 4 : 2); }
std::string signed_percent(double share) { return (share >= 0 ? "+" : "") + format_fixed(share * 100, 1); }
std::string wrong_text(const RunRow& row) { return row.wrong ? format_exact(static_cast<double>(*row.wrong)) : "N/A"; }
std::string type_of(const Call& call) { return std::string(name_of(call.type)); }
std::string redop_of(const Call& call) { return reduces(call.op) ? std::string(name_of(call.redop)) : "none"; }
std::string root_of(const Call& call) { return has_root(call.op) ? std::to_string(call.root) : "-1"; }

std::string group_text(const std::vector<int>& ranks) {
  std::string text;
  for (int r : ranks) text += (text.empty() ? "" : " ") + std::to_string(r);
  return text;
}

std::string half_line(const RunRow* row) {
  if (!row) return padded("N/A", 10) + padded("N/A", 9) + padded("N/A", 9) + padded("N/A", 7);
  if (!row->is_ok()) return padded(std::string(name_of(row->report.outcome)), 10) + padded("", 9) + padded("", 9) + padded("", 7);
  return padded(microseconds(row->median), 10) + padded(gigabytes(row->algorithm_bandwidth()), 9) + padded(gigabytes(row->bus_bandwidth()), 9) + padded(wrong_text(*row), 7);
}

}  // namespace

std::string run_head(const MeasuredRun& run) {
  std::vector<std::string> hosts = run.facts.hosts;
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::string text = "# wireplan measure: " + std::to_string(run.facts.hosts.size()) + " ranks on " + std::to_string(hosts.size()) + (hosts.size() == 1 ? " host" : " hosts");
  for (const std::string& version : {run.facts.mpi, run.facts.nccl.empty() ? "" : "NCCL " + run.facts.nccl, run.facts.driver.empty() ? "" : "driver " + run.facts.driver})
    if (!version.empty()) text += ", " + version;
  text += "\n# Times are medians of the iterations, each that of its slowest rank; error = predicted / measured - 1.\n";
  text += "#" + padded("", 51) + padded("out-of-place", 24) + padded("in-place", 35) + "\n";
  text += "#" + padded("size", 13) + padded("count", 12) + padded("type", 9) + padded("redop", 7) + padded("root", 6);
  for (int i = 0; i < 2; ++i) text += padded("time", 10) + padded("algbw", 9) + padded("busbw", 9) + padded("#wrong", 7);
  text += padded("predicted", 11) + padded("error", 8) + "\n";
  text += "#" + padded("(B)", 13) + padded("(elements)", 12) + padded("", 9) + padded("", 7) + padded("", 6);
  for (int i = 0; i < 2; ++i) text += padded("(us)", 10) + padded("(GB/s)", 9) + padded("(GB/s)", 9) + padded("", 7);
  return text + padded("(us)", 11) + padded("(%)", 8) + "\n";
}

std::string run_line(const RunRow* out_of_place, const RunRow* in_place) {
  const RunRow& row = out_of_place ? *out_of_place : *in_place;
  std::string text = padded(format_exact(row.size.value), 14) + padded(format_exact(static_cast<double>(row.call.count)), 12) + padded(type_of(row.call), 9) + padded(redop_of(row.call), 7) + padded(root_of(row.call), 6);
  text += half_line(out_of_place) + half_line(in_place);
  text += padded(row.predicted ? microseconds(row.predicted->value.value) : "N/A", 11);
  const std::optional<double> error = row.error();
  text += padded(error ? signed_percent(*error) : "N/A", 8) + "\n";
  for (const RunRow* r : {out_of_place, in_place})
    if (r && !r->report.message.empty()) text += "# " + r->report.message + "\n";
  return text;
}

std::string render_run(const MeasuredRun& run, RenderFormat format) {
  if (format == RenderFormat::csv) {
    std::string text = csv_line({"op", "ranks", "size_bytes", "count", "dtype", "redop", "root", "in_place", "iterations", "time_min_s", "time_median_s", "time_p95_s", "algorithm_bandwidth_bytes_per_s",
                                 "bus_bandwidth_bytes_per_s", "wrong", "predicted_s", "error", "status", "message"});
    const auto exact = [](double v) { return format_exact(v); };
    for (const RunRow& r : run.rows)
      text += csv_line({std::string(name_of(r.call.op)), group_text(r.ranks), exact(r.size.value), exact(static_cast<double>(r.call.count)), type_of(r.call), redop_of(r.call), root_of(r.call), r.call.in_place ? "true" : "false",
                        std::to_string(r.iterations), r.is_ok() ? exact(r.least) : "", r.is_ok() ? exact(r.median) : "", r.is_ok() ? exact(r.p95) : "", r.is_ok() ? exact(r.algorithm_bandwidth().value) : "",
                        r.is_ok() ? exact(r.bus_bandwidth().value) : "", r.wrong ? exact(static_cast<double>(*r.wrong)) : "", r.predicted ? exact(r.predicted->value.value) : "", r.error() ? exact(*r.error()) : "",
                        std::string(name_of(r.report.outcome)), r.report.message});
    return text;
  }
  Sheet sheet(format == RenderFormat::markdown);
  Table table{{{"operation"}, {"ranks"}, {"size", true}, {"in place"}, {"median", true}, {"least to 95th percentile", true}, {"bus bandwidth", true}, {"wrong", true}, {"predicted", true}, {"error", true}, {""}}, {}, {}};
  for (const RunRow& r : run.rows) {
    const std::optional<double> error = r.error();
    table.rows.push_back({std::string(name_of(r.call.op)), group_text(r.ranks), format_message_size(r.size), r.call.in_place ? "yes" : "", r.is_ok() ? format_seconds(Seconds(r.median)) : "",
                          r.is_ok() ? format_seconds(Seconds(r.least)) + " to " + format_seconds(Seconds(r.p95)) : "", r.is_ok() ? format_rate(r.bus_bandwidth()) : "", r.wrong ? format_exact(static_cast<double>(*r.wrong)) : "",
                          r.predicted ? format_seconds(r.predicted->value) : "", error ? signed_percent(*error) + " %" : "", r.is_ok() ? "" : std::string(name_of(r.report.outcome)) + ": " + r.report.message});
  }
  sheet.table(table);
  return sheet.text();
}

std::string pairs_square(const MeasuredRun& run, Bytes size, int ranks) {
  std::string text = "# Bus bandwidth of every two ranks at " + format_message_size(size) + ", GB/s each way:\n#" + padded("", 5);
  for (int b = 0; b < ranks; ++b) text += padded(std::to_string(b), 9);
  text += "\n";
  for (int a = 0; a < ranks; ++a) {
    text += "#" + padded(std::to_string(a), 5);
    for (int b = 0; b < ranks; ++b) {
      const auto row = std::find_if(run.rows.begin(), run.rows.end(), [&](const RunRow& r) { return r.size == size && r.ranks == std::vector<int>{std::min(a, b), std::max(a, b)}; });
      text += padded(row == run.rows.end() ? "-" : row->is_ok() ? gigabytes(row->bus_bandwidth()) : "x", 9);
    }
    text += "\n";
  }
  return text;
}

}  // namespace wireplan
