#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/answer_json.hpp"
#include "core/text/render.hpp"
#include "core/text/render_csv.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

// Columns of plans that stand side by side within the width of the text.
constexpr std::size_t kPlansAside = 5;

struct Row {
  std::string title;
  std::function<std::string(const Estimate&)> cell;
};

std::vector<Row> memory_rows(ByteUnit unit) {
  auto bytes = [unit](auto member) { return [unit, member](const Estimate& e) { return format_bytes_with_unit(member(e.memory), unit); }; };
  return {{"verdict", [](const Estimate& e) { return std::string(name_of(e.memory.verdict)); }},
          {"model states", bytes([](const MemoryAnswer& m) { return m.states.total(); })},
          {"activations and logits", bytes([](const MemoryAnswer& m) { return m.parts.activations + m.parts.logits; })},
          {"allocated at the peak", bytes([](const MemoryAnswer& m) { return m.allocated.value; })},
          {"on the device", bytes([](const MemoryAnswer& m) { return m.device.value; })},
          {"needed at the least", bytes([](const MemoryAnswer& m) { return m.need.value; })},
          {"capacity", bytes([](const MemoryAnswer& m) { return m.capacity; })}};
}

std::vector<Row> wiring_rows() {
  auto seconds = [](auto member) { return [member](const Estimate& e) { return format_seconds(member(e)); }; };
  return {{"messages", [](const Estimate& e) {
             double calls = 0;
             for (const CommunicationRow& r : e.communication) calls += r.calls;
             return format_count(calls);
           }},
          {"communication, if nothing hid it", seconds([](const Estimate& e) {
             Seconds sum;
             for (const CommunicationRow& r : e.communication) sum += r.time.value;
             return sum;
           })},
          {"communication that nothing hides", seconds([](const Estimate& e) { return e.step.exposed_communication; })}};
}

std::vector<Row> step_rows() {
  auto seconds = [](Seconds StepAnswer::* member) { return [member](const Estimate& e) { return format_seconds(e.step.*member); }; };
  return {{"one step", [](const Estimate& e) { return format_seconds(e.step.time.value); }},
          {"on infinitely fast links", seconds(&StepAnswer::on_ideal_wiring)},
          {"compute", seconds(&StepAnswer::compute)},
          {"pipeline bubble", seconds(&StepAnswer::bubble)},
          {"optimizer", seconds(&StepAnswer::optimizer)},
          {"tokens/s for each GPU", [](const Estimate& e) { return format_count(e.step.tokens_per_s_per_gpu); }},
          {"MFU", [](const Estimate& e) { return format_percent(e.step.mfu); }}};
}

void add_tables(Sheet& sheet, const Comparison& comparison, const std::vector<Row>& rows) {
  const std::size_t count = comparison.estimates.size();
  const std::size_t aside = sheet.is_markdown() ? count : kPlansAside;
  for (std::size_t first = 0; first < count; first += aside) {
    const std::size_t end = std::min(count, first + aside);
    Table table{{{"plan", false}}, {}, {}};
    for (std::size_t i = first; i < end; ++i) table.columns.push_back({std::to_string(i + 1), true});
    for (const Row& row : rows) {
      std::vector<std::string> cells{row.title};
      bool any = false;  // a row that is zero for all says nothing
      for (std::size_t i = first; i < end; ++i) {
        cells.push_back(row.cell(comparison.estimates[i]));
        any = any || cells.back() != format_seconds(Seconds());
      }
      if (any) table.rows.push_back(std::move(cells));
    }
    sheet.table(table);
  }
}

// How many fit, and which of those is fastest.
std::string verdict_sentence(const Comparison& comparison) {
  std::size_t fitting = 0, fastest = 0;
  for (std::size_t i = 0; i < comparison.estimates.size(); ++i) {
    const Estimate& e = comparison.estimates[i];
    if (!e.memory.fits) continue;
    if (fitting++ == 0 || e.step.time.value < comparison.estimates[fastest].step.time.value) fastest = i;
  }
  const std::string all = std::to_string(comparison.estimates.size());
  if (fitting == 0) return "None of the " + all + " plans fits.";
  return std::to_string(fitting) + " of " + all + (fitting == 1 ? " plans fits" : " plans fit") + "; the fastest that fits is plan " + std::to_string(fastest + 1) + " with " +
         format_seconds(comparison.estimates[fastest].step.time.value) + " a step.";
}

// What the plan states otherwise than the baseline: "parallel.data_sharding = fsdp, …".
std::string changes(const Json& differences, std::size_t plan, std::size_t baseline) {
  std::string text;
  bool names_profile = false;
  for (const Json& d : differences) {
    const std::string& path = d.at("path").get_ref<const std::string&>();
    if (path.rfind("plan.", 0) != 0) continue;
    const Json& value = d.at("values")[plan];
    if (value == d.at("values")[baseline]) continue;
    if (path.rfind("plan.cluster.profile", 0) == 0) {  // hundreds of points
      if (!names_profile) text += std::string(text.empty() ? "" : ", ") + "other measurements in cluster.profile";
      names_profile = true;
      continue;
    }
    text += (text.empty() ? "" : ", ") + path.substr(5) + " = " + (value.is_string() ? value.get<std::string>() : value_text(value));
  }
  return text;
}

}  // namespace

std::string render_comparison(const Comparison& comparison, RenderFormat format, ByteUnit unit, const std::vector<std::string>& links) {
  if (format == RenderFormat::csv) {
    std::vector<const Plan*> plans;
    std::vector<const Estimate*> estimates;
    for (const Plan& p : comparison.plans) plans.push_back(&p);
    for (const Estimate& e : comparison.estimates) estimates.push_back(&e);
    return estimates_as_csv(plans, estimates);
  }
  Sheet sheet(format == RenderFormat::markdown);
  sheet.strong(verdict_sentence(comparison));
  const auto baseline = static_cast<std::size_t>(comparison.baseline);
  const Json differences = write_comparison(comparison).at("differences");
  std::vector<std::string> plans;
  for (std::size_t i = 0; i < comparison.plans.size(); ++i) {
    std::string line = "Plan " + std::to_string(i + 1) + (i == baseline ? " (baseline)" : "") + ": " + plan_title(comparison.plans[i]) + '.';
    if (i != baseline) {
      std::string changed = changes(differences, i, baseline);
      line += changed.empty() ? " The same as the baseline." : " Against the baseline: " + changed + '.';
    }
    if (i < links.size() && sheet.is_markdown()) line += ' ' + sheet.code(links[i]);
    plans.push_back(line);
  }
  sheet.list(plans);
  sheet.heading("Will it fit?");
  add_tables(sheet, comparison, memory_rows(unit));
  sheet.heading("Will the wiring keep up?");
  add_tables(sheet, comparison, wiring_rows());
  sheet.heading("Where does the step go?");
  add_tables(sheet, comparison, step_rows());
  sheet.paragraph("Wireplan " + std::string(kEngineVersion) + '.');
  return sheet.text();
}

}  // namespace wireplan
