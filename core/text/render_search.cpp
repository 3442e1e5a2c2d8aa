#include "core/base/format.hpp"
#include "core/text/plan_edits.hpp"
#include "core/text/search_request.hpp"

namespace wireplan {
namespace {

std::string share(Seconds part, Seconds whole) { return whole.value > 0 ? format_percent(part / whole) : ""; }

}  // namespace

void render_search(Sheet& sheet, const AskedSearch& asked, const SearchReport& r, const Presets& presets) {
  const PresetFilling filling(asked.base, presets);
  const ByteUnit unit = asked.unit;
  sheet.strong(r.text);
  const bool shows_gpus = r.options.objective == Objective::gpus || r.options.objective == Objective::cost;
  if (r.top > 0) {
    sheet.heading("Best that fit");
    Table table;
    table.columns = {{"#", true}};
    if (shows_gpus) table.columns.push_back({"GPUs", true});
    for (const char* title : {"step", "tokens/s/GPU", "waiting"}) table.columns.push_back({title, true});
    table.columns.push_back({"need, " + unit_name(unit), true});
    table.columns.push_back({"free", true});
    table.columns.push_back({"MFU", true});
    table.columns.push_back({"memory", false});
    for (std::size_t i = 0; i < r.top; ++i) {
      const FoundPlan& f = r.plans[i];
      const Estimate& e = f.estimate;
      std::vector<std::string> row = {std::to_string(i + 1)};
      if (shows_gpus) row.push_back(format_count(f.candidate.gpus));
      row.insert(row.end(), {format_seconds(e.step.time.value), format_count(static_cast<double>(static_cast<Count>(e.step.tokens_per_s_per_gpu))), share(e.step.exposed_communication, e.step.time.value), format_bytes(e.memory.need.value, unit),
                             format_bytes(e.memory.capacity - e.memory.need.value, unit), format_percent(e.step.mfu), std::string(name_of(e.memory.verdict))});
      table.rows.push_back(std::move(row));
    }
    sheet.table(table);
    // Beside the numbers they would make lines of twice the width.
    std::vector<std::string> layouts;
    for (std::size_t i = 0; i < r.top; ++i) layouts.push_back(std::to_string(i + 1) + ": " + r.plans[i].label + (i < 3 ? ". " + r.plans[i].why : ""));
    sheet.list(layouts);
    if (!r.plans.front().is_own) {
      sheet.heading("To use the first");
      sheet.drawing(set_arguments(edits_between(asked.base, r.plans.front().plan, filling)));
    }
  }
  if (r.front.size() > 1) {
    sheet.heading(r.is_front_exact ? "Memory against time" : "Memory against time, of the layouts that were evaluated");
    std::vector<std::string> items;
    const std::size_t count = r.front.size(), shown = std::min<std::size_t>(count, 8);
    for (std::size_t i = 0; i < shown; ++i) {
      const FoundPlan& f = r.plans[r.front[i * (count - 1) / (shown - 1)]];
      items.push_back(format_bytes_with_unit(f.estimate.memory.need.value, unit) + ", " + format_seconds(f.estimate.step.time.value) + ": " + f.label);
    }
    sheet.list(items);
  }
  if (!r.popular.empty()) {
    sheet.heading("What people commonly take");
    std::vector<std::string> items;
    for (const PopularChoice& p : r.popular) items.push_back(p.name + ": " + p.text);
    sheet.list(items);
  }
  if (!r.losers.empty()) {
    sheet.heading("Why the others lose");
    std::vector<std::string> items;
    for (const LoserText& l : r.losers) items.push_back(format_count(static_cast<double>(l.losers.count)) + " " + std::string(name_of(l.losers.reason)) + ": " + l.text);
    sheet.list(items);
  }
  sheet.heading("What to measure");
  sheet.paragraph(r.experiments.text);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> items;
  bool has_command = false;
  for (const Experiment& e : r.experiments.list) {
    if (items.size() == kShown) break;
    has_command = has_command || !e.sweep.empty();
    items.push_back(e.text + (e.command.empty() ? "." : ". " + format_seconds(e.duration) + ": " + e.command));
  }
  if (!items.empty()) sheet.list(items);
  if (has_command) sheet.paragraph("With -o run.json added, wireplan import run.json --json > profile.json makes a profile of it; search again with --set cluster.profile=\"$(cat profile.json)\".");
  const SearchCounts& c = r.counts;
  sheet.paragraph(format_count(static_cast<double>(c.candidates)) + " layouts: " + format_count(static_cast<double>(c.evaluated)) + " evaluated, of which " + format_count(static_cast<double>(c.fit)) + " fit; " +
                  format_count(static_cast<double>(c.pruned)) + " left out by bounds that cannot discard an answer.");
  for (const Note& n : asked.notes) sheet.paragraph(n.text);
}

std::string search_csv(const AskedSearch& asked, const SearchReport& r, const Presets& presets) {
  const PresetFilling filling(asked.base, presets);
  std::string text = csv_line({"rank", "label", "gpus", "time_s", "tokens_per_s_per_gpu", "exposed_communication_s", "need_bytes", "verdict", "mfu", "edits"});
  for (std::size_t i = 0; i < r.plans.size(); ++i) {
    const FoundPlan& f = r.plans[i];
    const Estimate& e = f.estimate;
    text += csv_line({i < r.top ? std::to_string(i + 1) : "", f.label, format_exact(f.candidate.gpus), format_exact(e.step.time.value.value), format_exact(e.step.tokens_per_s_per_gpu),
                      format_exact(e.step.exposed_communication.value), format_exact(e.memory.need.value.value), std::string(name_of(e.memory.verdict)), format_exact(e.step.mfu), set_arguments(edits_between(asked.base, f.plan, filling))});
  }
  return text;
}

}  // namespace wireplan
