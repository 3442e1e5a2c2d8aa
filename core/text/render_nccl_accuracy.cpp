#include "core/text/render_nccl_accuracy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kShownRows = 40;
constexpr double kFarOff = 0.005;  // a time further off than this is shown among what is wrong

bool is_shown(const ErrorRow& row) { return is_decision(row.metric) ? row.error != 0 : row.metric == Metric::nccl_time && std::fabs(row.error) > kFarOff; }

std::string place_text(const ErrorRow& row) { return row.size ? row.what + ' ' + format_message_size(*row.size) : row.what; }

// Of one part of one case.
struct Wrong { const ErrorRow* first = nullptr; std::size_t count = 0; };

std::vector<Wrong> wrong_of(const Accuracy& a) {
  std::vector<Wrong> all;
  std::array<std::size_t, kNames<Metric>.size()> places{};  // in `all` + 1, of the run at hand
  std::size_t run = a.runs.runs.size();
  for (const ErrorRow& row : a.rows) {
    if (!is_shown(row)) continue;
    if (row.run != run) places.fill(0);
    run = row.run;
    std::size_t& place = places[static_cast<std::size_t>(row.metric)];
    if (place == 0) {
      all.push_back({&row, 0});
      place = all.size();
    }
    ++all[place - 1].count;
  }
  return all;
}

void add_wrong(const Accuracy& a, Sheet& sheet) {
  Table table{{{"case"}, {"part"}, {"wrong", true}, {"first"}, {"NCCL"}, {"predicted"}}, {}, {}};
  const std::vector<Wrong> all = wrong_of(a);
  if (all.empty()) return sheet.paragraph("No decision differs.");
  for (std::size_t i = 0; i < std::min(all.size(), kShownRows); ++i) {
    const ErrorRow& row = *all[i].first;
    const bool is_time = row.metric == Metric::nccl_time;
    table.rows.push_back({a.runs.runs[row.run].id, std::string(name_of(row.metric)), format_count(static_cast<double>(all[i].count)), place_text(row),
                          is_time ? format_seconds(Seconds(row.measured)) : row.seen, is_time ? format_seconds(Seconds(row.predicted)) : row.expected});
  }
  sheet.table(table);
  if (all.size() > kShownRows) sheet.paragraph("And " + format_count(static_cast<double>(all.size() - kShownRows)) + " more like these; --csv and --json have them all.");
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
