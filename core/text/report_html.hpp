// A machine's report as one HTML file that needs nothing beside it: verdict, causes, curves, every number.
#pragma once

#include <string>
#include <vector>

#include "core/answer/machine_report.hpp"
#include "core/text/render_measurements.hpp"

namespace wireplan {

struct ReportTitle { std::string machine, date, software; };  // "" where not known

// No script, no request to anywhere; light and dark by the reader's own setting; prints on paper. Each curve is an SVG with its
// measured points, the predicted line and its band, both axes logarithmic, and a table of the same. Texts from files are escaped.
std::string machine_report_html(const MachineReport& report, const std::vector<Note>& notes, const ReportTitle& title);

}  // namespace wireplan
