#include "core/text/render_measurements.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/count/messages.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

std::string curve_title(Collective collective, int ranks, int nodes) {
  return std::string(name_of(collective)) + " on " + std::to_string(ranks) + " ranks" + (nodes > 1 ? " of " + std::to_string(nodes) + " nodes" : "");
}

std::string signed_percent(double fraction) { return (fraction >= 0 ? "+" : "") + format_fixed(fraction * 100, 1) + " %"; }

std::string bus_rate(Collective collective, int ranks, Bytes size, Seconds time) { return format_rate(bus_factor(collective, ranks) * size / time); }

std::vector<std::string> texts_of(const std::vector<Note>& notes) {
  std::vector<std::string> texts;
  for (const Note& n : notes) texts.push_back((n.severity == Severity::info ? "" : n.severity == Severity::warning ? "Warning: " : "Error: ") + n.text);
  return texts;
}

std::string band_name(const MachineFit::Band& b) {
  return b.from.value <= 0 ? "below " + format_message_size(b.to) : b.to.value >= 1e15 ? "from " + format_message_size(b.from) + " on" : format_message_size(b.from) + " to " + format_message_size(b.to);
}

Json write_finding(const std::string& rule, const std::string& text, const std::string& check) {
  Json j = Json::object();
  put(j, "rule", rule);
  put(j, "text", text);
  put(j, "check", check);
  return j;
}

std::string csv_of(const MachineReport& report) {
  std::string text = csv_line({"op", "ranks", "nodes", "size_bytes", "time_s", "predicted_s", "predicted_low_s", "predicted_high_s", "error", "within"});
  for (const MachineReport::Row& row : report.rows) {
    const MachineCurve& c = report.curves[row.curve];
    const Range<Seconds>& p = c.predicted[row.point];
    text += csv_line({std::string(name_of(c.collective)), std::to_string(c.ranks), std::to_string(c.nodes), format_exact(c.measured[row.point].size.value), format_exact(c.measured[row.point].time.value),
                      format_exact(p.value.value), format_exact(p.low.value), format_exact(p.high.value), format_exact(row.error), row.is_within ? "true" : "false"});
  }
  return text;
}

}  // namespace

std::string fit_text(const MachineFit& f) {
  if (f.rate.value <= 0) return "No line fits: too few sizes, or times that do not grow with them.";
  std::string text = "Fitted: " + format_seconds(f.latency) + " + traffic at " + format_rate(f.rate) + " of bus bandwidth; this line is off by";
  for (const MachineFit::Band& b : f.bands) text += (&b == f.bands.data() ? " " : ", ") + signed_percent(b.median) + " (worst " + signed_percent(b.worst) + ") " + band_name(b);
  return text + ".";
}

std::string render_measurements(const ImportedMeasurements& measured, RenderFormat format) {
  if (format == RenderFormat::csv) {
    std::string text = csv_line({"op", "ranks", "nodes", "size_bytes", "time_s"});
    for (const MeasuredCurve& c : measured.profile.curves)
      for (const auto& p : c.points) text += csv_line({std::string(name_of(c.collective)), std::to_string(c.ranks), std::to_string(c.nodes), format_exact(p.size.value), format_exact(p.time.value)});
    return text;
  }
  Sheet sheet(format == RenderFormat::markdown);
  if (!measured.profile.machine.empty()) sheet.strong(measured.profile.machine);
  for (const MeasuredCurve& c : measured.profile.curves) {
    sheet.heading(curve_title(c.collective, c.ranks, c.nodes) + (c.dtype.empty() ? "" : ", " + c.dtype));
    Table table{{{"size", true}, {"time", true}, {"bus bandwidth", true}}, {}, {}};
    for (const auto& p : c.points) table.rows.push_back({format_message_size(p.size), format_seconds(p.time), bus_rate(c.collective, c.ranks, p.size, p.time)});
    sheet.table(table);
  }
  if (!measured.notes.empty()) {
    sheet.heading("Notes");
    sheet.list(texts_of(measured.notes));
  }
  return sheet.text();
}

bool is_sound(const MachineReport& report, const std::vector<Note>& notes) {
  return report.is_within && std::none_of(notes.begin(), notes.end(), [](const Note& n) { return n.severity == Severity::error; });
}

Json write_machine_report(const MachineReport& report, const std::vector<Note>& notes) {
  Json j = Json::object(), rows = Json::array(), fits = Json::array(), findings = Json::array();
  for (const MachineReport::Row& row : report.rows) {
    const MachineCurve& c = report.curves[row.curve];
    Json one = Json::object();
    put(one, "op", name_of(c.collective));
    put(one, "ranks", c.ranks);
    put(one, "nodes", c.nodes);
    put(one, "size_bytes", c.measured[row.point].size);
    put(one, "time_s", c.measured[row.point].time);
    put(one, "predicted_s", c.predicted[row.point].value);
    put(one, "error", row.error);
    put(one, "within", row.is_within);
    rows.push_back(std::move(one));
  }
  for (const MachineFit& f : report.fits) {
    Json one = Json::object();
    put(one, "op", name_of(f.collective));
    put(one, "ranks", f.ranks);
    put(one, "nodes", f.nodes);
    put(one, "link_class", f.link_class);
    put_or_null(one, "latency_s", f.latency.value);
    put_or_null(one, "bytes_per_s", f.rate.value);
    Json residuals = Json::array();
    for (const MachineFit::Band& b : f.bands) {
      Json band = Json::object();
      put(band, "from_bytes", b.from);
      put(band, "to_bytes", b.to);
      put(band, "sizes", static_cast<double>(b.sizes));
      put(band, "median", b.median);
      put(band, "worst", b.worst);
      residuals.push_back(std::move(band));
    }
    put(one, "residuals", std::move(residuals));
    fits.push_back(std::move(one));
  }
  for (const Note& n : notes)
    if (n.severity == Severity::error) findings.push_back(write_finding("wrong-results", n.text, "dcgmi diag -r 3"));
  for (const MachineFinding& f : report.findings) findings.push_back(write_finding(f.rule, f.text, f.check));
  for (const std::string& text : report.left_out) findings.push_back(write_finding("not-in-cluster", text, "state the cluster that was measured (--cluster)"));
  put(j, "rows", std::move(rows));
  put(j, "fit", std::move(fits));
  put(j, "findings", std::move(findings));
  put_or_null(j, "tolerance", report.tolerance);
  put(j, "within", is_sound(report, notes));
  return j;
}

std::string render_machine_report(const MachineReport& report, const std::vector<Note>& notes, RenderFormat format) {
  if (format == RenderFormat::csv) return csv_of(report);
  Sheet sheet(format == RenderFormat::markdown);
  const std::string limit = report.tolerance > 0 ? "±" + format_percent(report.tolerance) : "the band of the prediction";
  std::size_t within = 0;
  for (const MachineReport::Row& row : report.rows) within += row.is_within;
  sheet.strong((is_sound(report, notes) ? "As predicted: " : "Not as predicted: ") + std::to_string(within) + " of " + std::to_string(report.rows.size()) + " sizes are within " + limit + ".");
  std::vector<std::string> findings;
  for (const MachineFinding& f : report.findings) findings.push_back((f.is_fault ? "Warning: " : "") + f.text + ". Check: " + f.check);
  for (const std::string& text : report.left_out) findings.push_back("Warning: " + text);
  for (std::string& text : texts_of(notes)) findings.push_back(std::move(text));
  sheet.heading("Findings");
  if (findings.empty()) sheet.paragraph("None.");
  sheet.list(findings);
  for (std::size_t i = 0; i < report.curves.size(); ++i) {
    const MachineCurve& c = report.curves[i];
    sheet.heading(curve_title(c.collective, c.ranks, c.nodes));
    Table table{{{"size", true}, {"measured", true}, {"bus bandwidth", true}, {"predicted", true}, {"error", true}, {""}}, {}, {}};
    for (const MachineReport::Row& row : report.rows) {
      if (row.curve != i) continue;
      const auto& p = c.measured[row.point];
      table.rows.push_back({format_message_size(p.size), format_seconds(p.time), bus_rate(c.collective, c.ranks, p.size, p.time), format_seconds(c.predicted[row.point].value), signed_percent(row.error),
                            row.is_within ? "" : "outside"});
    }
    sheet.table(table);
    sheet.paragraph("Basis of the prediction: " + std::string(name_of(c.basis)) + ". " + fit_text(report.fits[i]));
  }
  return sheet.text();
}

}  // namespace wireplan
