#include "core/text/render_nccl_accuracy.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kShownRows = 40;
constexpr double kFarOff = 0.005;  // a time further off than this is shown among what is wrong

bool is_shown(const ErrorRow& row) { return is_decision(row.metric) ? row.error != 0 : row.metric == Metric::nccl_time && std::fabs(row.error) > kFarOff; }

std::string part_text(const ErrorRow& row) {
  std::string text(name_of(row.metric));
  if (row.size) text += ' ' + row.what + ' ' + format_message_size(*row.size);
  return text;
}

void add_wrong(const Accuracy& a, Sheet& sheet) {
  Table table{{{"case"}, {"part"}, {"NCCL"}, {"predicted"}}, {}, {}};
  std::size_t wrong = 0;
  for (const ErrorRow& row : a.rows) {
    if (!is_shown(row) || ++wrong > kShownRows) continue;
    if (row.metric == Metric::nccl_time) table.rows.push_back({a.runs.runs[row.run].id, part_text(row), format_seconds(Seconds(row.measured)), format_seconds(Seconds(row.predicted))});
    else table.rows.push_back({a.runs.runs[row.run].id, part_text(row), row.seen, row.expected});
  }
  if (wrong == 0) return sheet.paragraph("No decision differs.");
  sheet.table(table);
  if (wrong > kShownRows) sheet.paragraph("And " + format_count(static_cast<double>(wrong - kShownRows)) + " more; --csv and --json have them all.");
}

}  // namespace

void add_nccl_accuracy(const Accuracy& a, Sheet& sheet) {
  struct Tally { std::size_t all = 0, right = 0; };
  std::array<Tally, kNames<Metric>.size()> tallies{};
  std::size_t cases = 0, right_cases = 0;
  for (std::size_t i = 0; i < a.rows.size(); ++i) {
    const ErrorRow& row = a.rows[i];
    if (!is_about_nccl(row.metric)) continue;
    Tally& tally = tallies[static_cast<std::size_t>(row.metric)];
    ++tally.all;
    tally.right += is_shown(row) ? 0 : 1;
    if (i > 0 && a.rows[i - 1].run == row.run) continue;
    ++cases;
    bool is_right = true;
    for (std::size_t k = i; k < a.rows.size() && a.rows[k].run == row.run; ++k) is_right = is_right && !is_shown(a.rows[k]);
    right_cases += is_right ? 1 : 0;
  }
  if (cases == 0) return;
  sheet.heading("Decisions of NCCL");
  add_wrong(a, sheet);
  Table table{{{"part"}, {"right", true}, {"of", true}, {"", true}}, {}, {}};
  const auto add = [&](std::string name, std::size_t right, std::size_t all) {
    // Rounded down: 100 % is all of them.
    const double tenths = std::floor(1000.0 * static_cast<double>(right) / static_cast<double>(all));
    table.rows.push_back({std::move(name), format_count(static_cast<double>(right)), format_count(static_cast<double>(all)), format_fixed(tenths / 10, 1) + " %"});
  };
  for (std::size_t m = 0; m < tallies.size(); ++m)
    if (tallies[m].all > 0) add(std::string(name_of(static_cast<Metric>(m))) + (static_cast<Metric>(m) == Metric::nccl_time ? " within 0.5 %" : ""), tallies[m].right, tallies[m].all);
  add("cases right in all", right_cases, cases);
  sheet.table(table);
}

}  // namespace wireplan
