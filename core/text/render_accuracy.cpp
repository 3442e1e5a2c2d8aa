#include "core/text/render_accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/text/render_nccl_accuracy.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kGroupWidth = 36;
constexpr const char* kNothingRefitted =
    "No constant is refitted: every estimate uses the constants as shipped, whichever group is looked at. Part of them were "
    "fitted on published runs, so errors on those runs are not errors on unseen ones.";
constexpr const char* kRefitted =
    "Times of collectives: each group with constants and tables fitted on the shipped sweeps without it. All other figures use the "
    "constants as shipped; part of them were fitted on published runs, so errors on those runs are not errors on unseen ones.";

bool has_collectives(const Accuracy& a) {
  return std::any_of(a.summary.begin(), a.summary.end(), [](const MetricSummary& m) { return m.metric == Metric::collective_time; });
}

Json write_summary(const ErrorSummary& s) {
  return Json{{"count", s.count}, {"median_abs_error", number(s.median_abs)}, {"p90_abs_error", number(s.p90_abs)}, {"worst_abs_error", number(s.worst_abs)}};
}

std::string percent(double error) {
  const double p = 100 * error;
  return format_fixed(p, std::fabs(p) < 99.995 ? 2 : 0) + " %";
}

// Bytes and counts in full, other numbers with four digits.
std::string value_shown(Metric metric, double value) {
  if (metric == Metric::step_time || metric == Metric::collective_time || metric == Metric::nccl_time) return format_seconds(Seconds(value));
  if (metric == Metric::mfu) return format_fixed(value, 4);
  if (metric < Metric::mfu) return format_fixed(value, value < 100 ? 2 : 0);
  return value == std::floor(value) ? format_count(value) : format_fixed(value, 2);
}

std::string place_text(const PeakPlace& place) {
  std::string text(name_of(place.phase));
  if (place.layer) text += *place.layer < 0 ? " embedding" : ' ' + std::to_string(*place.layer);
  return text;
}

// The end tells two sources apart, the beginning where they come from.
std::string shortened(std::string_view text) {
  for (std::string_view prefix : {"https://", "http://", "traced: "})
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (text_width(text) <= kGroupWidth) return std::string(text);
  if (text.size() > text_width(text)) return std::string(text);  // rare; never cut within a character
  const std::size_t head = 12, tail = kGroupWidth - head - 1;
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(text.size() - tail));
}

void add_rows(const Accuracy& a, Sheet& sheet) {
  Table table{{{"run"}, {"metric"}, {"measured", true}, {"predicted", true}, {"error", true}}, {}, {}};
  for (const ErrorRow& row : a.rows) {
    if (is_about_nccl(row.metric)) continue;
    std::string metric(name_of(row.metric));
    if (row.size) metric = format_message_size(*row.size);
    if (!row.what.empty()) metric += ' ' + row.what;
    table.rows.push_back({a.runs.runs[row.run].id, metric, row.seen_at ? place_text(*row.seen_at) : value_shown(row.metric, row.measured),
                          row.expected_at ? place_text(*row.expected_at) : value_shown(row.metric, row.predicted), percent(row.error)});
  }
  if (table.rows.empty()) return;
  sheet.heading("Runs");
  sheet.table(table);
}

void add_skipped(const Accuracy& a, Sheet& sheet) {
  if (a.runs.skipped.empty()) return;
  sheet.heading("Left out");
  std::vector<std::string> items;
  for (const SkippedRun& s : a.runs.skipped) items.push_back(s.id + ": " + s.reason);
  sheet.list(items);
}

std::vector<std::string> summary_cells(const Accuracy& a, const MetricSummary& m) {
  const ErrorSummary& s = m.summary;
  std::vector<std::string> cells = {std::string(name_of(m.metric)), format_count(static_cast<double>(s.count)), percent(s.median_abs),
                                    percent(s.p90_abs), percent(s.worst_abs), percent(s.median)};
  if (m.group.empty()) cells.push_back(a.runs.runs[a.rows[s.worst_row].run].id);
  return cells;
}

void add_summary(const Accuracy& a, const std::vector<MetricSummary>& summaries, std::string_view by, Sheet& sheet) {
  Table table;
  if (!by.empty()) table.columns.push_back({std::string(by)});
  for (const char* title : {"metric", "rows", "median", "90 %", "worst", "leans"}) table.columns.push_back({title, table.columns.size() > (by.empty() ? 0u : 1u)});
  if (by.empty()) table.columns.push_back({"worst run"});
  for (const MetricSummary& m : summaries) {
    if (is_decision(m.metric)) continue;  // counted, not averaged
    std::vector<std::string> cells = summary_cells(a, m);
    if (!by.empty()) {
      if (m.group.empty()) cells.pop_back();
      const std::string group = m.group.empty() ? "not stated" : m.group;
      cells.insert(cells.begin(), sheet.is_markdown() ? group : shortened(group));
    }
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) return;
  sheet.heading(by.empty() ? "Absolute errors" : "Absolute errors by " + std::string(by));
  sheet.table(table);
}

void add_ranking(const Accuracy& a, Sheet& sheet) {
  if (a.ranking.empty()) return;
  sheet.heading("Choosing a layout");
  sheet.paragraph("Runs of one source, model, cluster, batch, sequence and parameter type that differ in layout. Regret: how much slower the run that is "
                  "predicted fastest was than the best.");
  Table table{{{"runs", true}, {"rank correlation", true}, {"regret", true}, {"of"}}, {}, {}};
  for (const RankingGroup& g : a.ranking) {
    std::string group = g.group;
    const std::size_t slash = group.rfind('/', group.find(", "));
    if (!sheet.is_markdown() && slash != std::string::npos) group.erase(0, slash + 1);  // the file's name tells enough
    table.rows.push_back({format_count(static_cast<double>(g.runs)), g.spearman ? format_fixed(*g.spearman, 3) : "-", percent(g.regret), group});
  }
  sheet.table(table);
}

void add_verdicts(const Accuracy& a, Sheet& sheet) {
  const Verdicts& v = a.verdicts;
  const int ran = v.fits_right + v.fits_wrong, oom = v.oom_right + v.oom_wrong;
  if (ran + oom + v.undecided == 0) return;
  sheet.heading("Does it fit");
  sheet.list({"ran, called fits or tight: " + format_count(v.fits_right), "ran, called does-not-fit: " + format_count(v.fits_wrong),
              "ran out of memory, called does-not-fit: " + format_count(v.oom_right), "ran out of memory, called fits or tight: " + format_count(v.oom_wrong),
              "called may-not-fit: " + format_count(v.undecided)});
}

std::string csv_of(const Accuracy& a) {
  std::string text = csv_line({"id", "source", "metric", "what", "size_bytes", "measured", "predicted", "error"});
  for (const ErrorRow& row : a.rows) {
    const Run& run = a.runs.runs[row.run];
    const std::string what = row.seen_at ? place_text(*row.seen_at) + ", predicted " + place_text(*row.expected_at) : row.what;
    text += csv_line({run.id, run.source, std::string(name_of(row.metric)), what, row.size ? format_exact(row.size->value) : "", format_exact(row.measured),
                      format_exact(row.predicted), format_exact(row.error)});
  }
  return text;
}

}  // namespace

Json write_accuracy(const Accuracy& a, GroupBy left_out) {
  Json rows = Json::array(), skipped = Json::array(), summary = Json::object(), ranking = Json::array();
  for (const ErrorRow& row : a.rows) {
    Json j{{"id", a.runs.runs[row.run].id}, {"metric", name_of(row.metric)}};
    if (row.size) j["size_bytes"] = number(row.size->value);
    j["measured"] = number(row.measured);
    j["predicted"] = number(row.predicted);
    j["error"] = number(row.error);
    rows.push_back(std::move(j));
  }
  for (const SkippedRun& s : a.runs.skipped) skipped.push_back(Json{{"id", s.id}, {"reason", s.reason}});
  for (const MetricSummary& m : a.summary) summary[std::string(name_of(m.metric))] = write_summary(m.summary);
  for (const RankingGroup& g : a.ranking)
    ranking.push_back(Json{{"group", g.group}, {"runs", g.runs}, {"spearman", g.spearman ? number(*g.spearman) : Json(nullptr)}, {"regret", number(g.regret)}});
  const Verdicts& v = a.verdicts;
  Json document{{"rows", std::move(rows)}, {"skipped", std::move(skipped)}, {"summary", std::move(summary)}, {"ranking", std::move(ranking)},
                {"verdicts", {{"oom_right", v.oom_right}, {"oom_wrong", v.oom_wrong}, {"fits_right", v.fits_right}, {"fits_wrong", v.fits_wrong}, {"undecided", v.undecided}}}};
  if (left_out != GroupBy::nothing) {
    Json groups = Json::object();
    for (const MetricSummary& m : summary_by(a, left_out)) groups[m.group][std::string(name_of(m.metric))] = write_summary(m.summary);
    Json refitted = Json::array();
    if (has_collectives(a)) refitted.push_back(name_of(Metric::collective_time));
    document["leave_out"] = Json{{"by", name_of(left_out)}, {"refitted", std::move(refitted)}, {"text", has_collectives(a) ? kRefitted : kNothingRefitted}, {"groups", std::move(groups)}};
  }
  return document;
}

std::string render_accuracy(const Accuracy& a, GroupBy left_out, RenderFormat format) {
  if (format == RenderFormat::csv) return csv_of(a);
  Sheet sheet(format == RenderFormat::markdown);
  add_nccl_accuracy(a, sheet);
  add_rows(a, sheet);
  add_skipped(a, sheet);
  if (a.rows.empty()) sheet.paragraph("Nothing that was measured can be compared.");
  if (!a.rows.empty()) {
    for (const GroupBy by : {GroupBy::source, GroupBy::framework})
      if (by != left_out) add_summary(a, summary_by(a, by), name_of(by), sheet);
    if (left_out != GroupBy::nothing) {
      add_summary(a, summary_by(a, left_out), name_of(left_out), sheet);
      sheet.paragraph(has_collectives(a) ? kRefitted : kNothingRefitted);
    }
    if (const auto sizes = summary_by(a, GroupBy::size); !sizes.empty()) add_summary(a, sizes, name_of(GroupBy::size), sheet);
    add_summary(a, a.summary, "", sheet);
  }
  add_ranking(a, sheet);
  add_verdicts(a, sheet);
  return sheet.text();
}

}  // namespace wireplan
