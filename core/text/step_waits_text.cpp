#include "core/text/step_waits_text.hpp"

#include "core/base/format.hpp"

namespace wireplan {

void render_waits(Sheet& sheet, const StepCost& cost, const std::vector<StepStream>& streams) {
  sheet.heading("What does the GPU wait for?");
  const std::vector<StepWait> waits = step_waits(cost, streams);
  if (waits.empty()) return sheet.paragraph("Nothing: it computes from the start of the step to its end.");
  const double step = cost.time.value.value;
  Table table{{{"it stands still for", false}, {"times", true}, {"in all", true}, {"of the step", true}}, {}, {}};
  for (const StepWait& w : waits) table.rows.push_back({w.reason, format_count(w.times), format_seconds(w.total), format_percent(step > 0 ? w.total.value / step : 0)});
  sheet.table(table);
  if (cost.stages.size() > 1) sheet.paragraph("These are the waits of stage " + std::to_string(cost.slowest) + ", the slowest.");
}

}  // namespace wireplan
