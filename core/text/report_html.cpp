#include "core/text/report_html.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/math.hpp"
#include "core/count/messages.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/plain_text.hpp"

namespace wireplan {
namespace {

constexpr double kWidth = 640, kHeight = 260, kLeft = 70, kRight = 32, kTop = 10, kBottom = 34;

// Colours are tokens of the page: ink, panels, measured and predicted data.
constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--bg:#F4F5F6;--panel:#FFFFFF;--ink:#14181D;--ink2:#47505A;--line:#DCE0E4;--grid:#E6E9EC;--fit:#006B63;--no:#B5301C;--data:#2C4694;--band:#A9BDE9}
@media(prefers-color-scheme:dark){:root{--bg:#101316;--panel:#171B1F;--ink:#ECEFF2;--ink2:#B4BDC6;--line:#2A3138;--grid:#252B31;--fit:#45CDB9;--no:#FF8269;--data:#7B95DC;--band:#4A6AC4}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:15px/22px system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:24px 16px}h1{font-size:15px;line-height:20px;margin:0;color:var(--ink2);font-weight:400}
.verdict{font-size:22px;line-height:30px;font-weight:600;margin:4px 0 16px}.is-fit{color:var(--fit)}.is-no{color:var(--no)}
section{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:16px 20px;margin:0 0 16px}h2{font-size:15px;line-height:20px;margin:0 0 8px}
p{margin:8px 0;color:var(--ink2)}li{margin:0 0 8px}code{font:13px/18px ui-monospace,monospace;overflow-wrap:anywhere}figure{margin:0;overflow-x:auto}svg{display:block;width:100%;height:auto;min-width:480px;max-width:640px}
svg text{font:11px system-ui,sans-serif;fill:var(--ink2)}.g{stroke:var(--grid)}.b{fill:var(--band);opacity:.3}.p{fill:none;stroke:var(--data);stroke-width:2}.m{fill:var(--panel);stroke:var(--ink);stroke-width:1.5}
.out{stroke:var(--no);fill:var(--no)}details{overflow-x:auto}summary{cursor:pointer;padding:6px 0}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;line-height:20px}
th,td{text-align:right;white-space:nowrap;padding:2px 14px 2px 0;border-bottom:1px solid var(--line)}th{font-weight:400;color:var(--ink2)}td:last-child{color:var(--no)}
@media print{body{background:#fff}section{break-inside:avoid}}
)";

std::string escaped(const std::string& text) { return xml_text(text, 2000); }
std::string number_text(double value) { return format_fixed(value, 1); }

// Where a size and a bandwidth stand in the picture.
struct Axes {
  double low_x, high_x, low_y, high_y;  // log2 of bytes, log10 of bytes a second
  double x(Bytes size) const { return kLeft + (kWidth - kLeft - kRight) * (log2_of(size.value) - low_x) / (high_x - low_x); }
  double y(double rate) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * (log10_of(rate) - low_y) / (high_y - low_y); }
  static double log10_of(double v) { return log2_of(v) / log2_of(10); }
};

double bus_rate(const MachineCurve& c, Bytes size, Seconds time) { return time.value > 0 ? (bus_factor(c.collective, c.ranks) * size / time).value : 0; }

Axes axes_of(const MachineCurve& c) {
  double least = 1e30, most = 1;
  for (std::size_t i = 0; i < c.measured.size(); ++i)
    for (const Seconds t : {c.measured[i].time, c.predicted[i].value}) {
      const double rate = bus_rate(c, c.measured[i].size, t);
      if (rate <= 0) continue;
      least = std::min(least, rate);
      most = std::max(most, rate);
    }
  least = std::min(least, most);
  double low_x = log2_of(c.measured.front().size.value), high_x = log2_of(c.measured.back().size.value);
  if (high_x - low_x < 1) low_x -= 0.5, high_x += 0.5;
  return {low_x, high_x, std::floor(Axes::log10_of(least)), std::max(std::ceil(Axes::log10_of(most)), std::floor(Axes::log10_of(least)) + 1)};
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number_text(x) + "\" y=\"" + number_text(y) + "\" text-anchor=\"" + anchor + "\">" + escaped(text) + "</text>";
}
std::string line_at(double x1, double y1, double x2, double y2) {
  return "<line class=\"g\" x1=\"" + number_text(x1) + "\" y1=\"" + number_text(y1) + "\" x2=\"" + number_text(x2) + "\" y2=\"" + number_text(y2) + "\"/>";
}

std::string grid_of(const Axes& a) {
  std::string svg;
  for (double y = a.low_y; y <= a.high_y; ++y) {
    const double rate = power(10, y);
    svg += line_at(kLeft, a.y(rate), kWidth - kRight, a.y(rate)) + text_at(kLeft - 8, a.y(rate) + 4, "end", format_rate(BytesPerSecond(rate)));
  }
  const double step = std::max(1.0, std::ceil((a.high_x - a.low_x) / 7));
  for (double x = std::ceil(a.low_x); x <= a.high_x; x += step) {
    const Bytes size(power(2, x));
    svg += line_at(a.x(size), kTop, a.x(size), kHeight - kBottom) + text_at(a.x(size), kHeight - kBottom + 18, "middle", format_message_size(size));
  }
  return svg;
}

std::string picture(const MachineReport& report, std::size_t index, const std::string& name) {
  const MachineCurve& c = report.curves[index];
  const Axes a = axes_of(c);
  const auto point = [&](Bytes size, Seconds time) {
    const double lowest = power(10, a.low_y), highest = power(10, a.high_y);
    return number_text(a.x(size)) + ',' + number_text(a.y(std::clamp(bus_rate(c, size, time), lowest, highest))) + ' ';
  };
  std::string line, over, under;
  for (std::size_t i = 0; i < c.measured.size(); ++i) {
    const Bytes size = c.measured[i].size;
    line += point(size, c.predicted[i].value);
    over += point(size, c.predicted[i].low);
    under.insert(0, point(size, c.predicted[i].high));
  }
  std::string svg = "<figure tabindex=\"0\"><svg viewBox=\"0 0 " + number_text(kWidth) + ' ' + number_text(kHeight) + "\" role=\"img\" aria-label=\"" + escaped("Bus bandwidth of " + name + " against size: measured points, predicted line with its band. The table below holds the same.") + "\">";
  svg += grid_of(a) + "<polygon class=\"b\" points=\"" + over + under + "\"/><polyline class=\"p\" points=\"" + line + "\"/>";
  for (const MachineReport::Row& row : report.rows) {
    if (row.curve != index) continue;
    const auto& p = c.measured[row.point];
    svg += std::string("<circle class=\"m") + (row.is_within ? "" : " out") + "\" r=\"4\" cx=\"" + number_text(a.x(p.size)) + "\" cy=\"" + number_text(a.y(bus_rate(c, p.size, p.time))) + "\"><title>" +
           escaped(format_message_size(p.size) + ": " + format_seconds(p.time)) + "</title></circle>";
  }
  return svg + "</svg></figure>\n";
}

std::string table_of(const MachineReport& report, std::size_t index) {
  const MachineCurve& c = report.curves[index];
  std::string html = "<details open><summary>Every size</summary><table><thead><tr><th>size<th>measured<th>bus bandwidth<th>predicted<th>from<th>to<th>error<th></thead><tbody>\n";
  for (const MachineReport::Row& row : report.rows) {
    if (row.curve != index) continue;
    const auto& p = c.measured[row.point];
    const Range<Seconds>& t = c.predicted[row.point];
    html += "<tr><td>" + escaped(format_message_size(p.size)) + "<td>" + format_seconds(p.time) + "<td>" + format_rate(BytesPerSecond(bus_rate(c, p.size, p.time))) + "<td>" + format_seconds(t.value) + "<td>" + format_seconds(t.low) + "<td>" +
            format_seconds(t.high) + "<td>" + (row.error >= 0 ? "+" : "") + format_fixed(row.error * 100, 1) + " %<td>" + (row.is_within ? "" : "outside") + "\n";
  }
  return html + "</tbody></table></details>\n";
}

std::string item(const std::string& text, const std::string& check) {
  return "<li>" + escaped(text) + (check.empty() ? "" : "<br>Check: <code>" + escaped(check) + "</code>") + "</li>\n";
}

std::string findings_of(const MachineReport& report, const std::vector<Note>& notes) {
  std::string items;
  for (const MachineFinding& f : report.findings) items += item((f.is_fault ? "Likely fault. " : "") + f.text, f.check);
  for (const std::string& text : report.left_out) items += item("Left out: " + text, "");
  for (const Note& n : notes) items += item((n.severity == Severity::error ? "Error. " : "") + n.text, "");
  return items.empty() ? "<p>None.</p>\n" : "<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string machine_report_html(const MachineReport& report, const std::vector<Note>& notes, const ReportTitle& title) {
  const bool is_fit = is_sound(report, notes);
  std::size_t within = 0;
  for (const MachineReport::Row& row : report.rows) within += row.is_within;
  std::string about = title.machine;
  for (const std::string& part : {title.date, title.software})
    if (!part.empty()) about += (about.empty() ? "" : " · ") + part;
  std::string html = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Wireplan: measured and predicted</title>\n<style>";
  html += kStyle;
  html += "</style>\n</head>\n<body>\n<main>\n<h1>" + escaped(about.empty() ? "Measured collectives beside their prediction" : about) + "</h1>\n";
  html += std::string("<p class=\"verdict ") + (is_fit ? "is-fit\">As predicted" : "is-no\">Not as predicted") + ": " + std::to_string(within) + " of " + std::to_string(report.rows.size()) + " sizes are within " +
          (report.tolerance > 0 ? "±" + format_percent(report.tolerance) : "the band of the prediction") + ".</p>\n";
  html += "<section>\n<h2>What stands out</h2>\n" + findings_of(report, notes) + "</section>\n";
  for (std::size_t i = 0; i < report.curves.size(); ++i) {
    const MachineCurve& c = report.curves[i];
    if (c.measured.empty()) continue;
    const std::string name = std::string(name_of(c.collective)) + " on " + std::to_string(c.ranks) + " ranks" + (c.nodes > 1 ? " of " + std::to_string(c.nodes) + " nodes" : "");
    html += "<section>\n<h2>" + escaped(name) + "</h2>\n" + picture(report, i, name);
    html += "<p>Circles: measured; line and band: predicted (basis: " + std::string(name_of(c.basis)) + "). " + escaped(fit_text(report.fits[i])) + "</p>\n" + table_of(report, i) + "</section>\n";
  }
  return html + "<p>Error = predicted / measured − 1. Bus bandwidth as nccl-tests defines it. Wireplan " + std::string(kEngineVersion) + ".</p>\n</main>\n</body>\n</html>\n";
}

}  // namespace wireplan
