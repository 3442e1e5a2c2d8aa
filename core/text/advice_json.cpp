#include "core/text/advice_json.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/answer/advice_text.hpp"
#include "core/text/plan_edits.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kShownKinds = 12;  // of the smallest clusters in text, and the plan's own GPU; the document has all

// The lines of the plan's own trainer that make the change: what its exporter writes otherwise for `after` than for `before`.
std::vector<std::string> trainer_lines(const Plan& before, const Plan& after) { return changed_lines(before, after, usual_trainer(after)); }

void put_effect(Json& j, const Effect& e) {
  put(j, "need_bytes", e.need);
  put(j, "time_s", e.time);
  put(j, "tokens_per_s", e.tokens_per_s);
}

Json change_json(const Plan& plan, const Advice& a, const Change& c, const PlanFilling& filling) {
  const std::vector<PlanEdit> edits = edits_between(plan, c.plan, filling);
  Json j;
  put(j, "key", c.key);
  put(j, "label", c.label);
  put(j, "edits", edits_json(edits));
  put(j, "set", set_arguments(edits));
  put(j, "kind", name_of(c.kind));
  put(j, "fits", c.effect.fits);
  put(j, "verdict", name_of(c.effect.verdict));
  put_effect(j, c.effect);
  put(j, "need_change_bytes", c.effect.need - a.now.need);
  put(j, "time_change_s", c.effect.time - a.now.time);
  put(j, "tokens_change", a.now.tokens_per_s > 0 ? c.effect.tokens_per_s / a.now.tokens_per_s - 1 : 0);
  put(j, "price", price_text(a, c, ByteUnit::GB));
  put(j, "text", benefit_text(a, c, ByteUnit::GB));
  put(j, "trainer_lines", Json(trainer_lines(plan, c.plan)));
  return j;
}

std::string hours(double h) { return h < 100 ? format_fixed(h, h < 10 ? 2 : 1) : format_count(static_cast<double>(static_cast<Count>(h + 0.5))); }

std::string smallest_text(const SmallestCluster& s, ByteUnit unit) {
  return s.label + ", " + s.layout + ": needs " + format_bytes_with_unit(s.effect.need, unit) + " of " + format_bytes_with_unit(capacity(s.plan.cluster.node.gpu), unit) + ", a step takes " + format_seconds(s.effect.time) +
         ", 1,000,000,000 tokens " + hours(s.gpu_hours) + " GPU-hours.";
}

Json smallest_json(const Plan& plan, const SmallestCluster& s, const PlanFilling& filling) {
  Json j;
  put(j, "node", s.plan.cluster.node.id);
  put(j, "nodes", s.plan.cluster.nodes);
  put(j, "gpus", s.gpus);
  put(j, "edits", edits_json(edits_between(plan, s.plan, filling)));
  put_effect(j, s.effect);
  put(j, "gpu_hours_per_billion_tokens", s.gpu_hours);
  put(j, "recomputes", s.recomputes);
  put(j, "text", smallest_text(s, ByteUnit::GB));
  return j;
}

void render_changes(Sheet& sheet, const Plan& plan, const Advice& a, const PlanFilling& filling, ByteUnit unit) {
  sheet.heading("What to change first?");
  sheet.paragraph(a.text);
  if (a.changes.empty()) return;
  Table table{{{"", false}, {"kind", false}, {"need " + unit_name(unit), true}, {"step", true}, {"tokens/s", true}, {"", true}}, {}, {}};
  std::vector<std::string> details;
  const auto row = [&](const std::string& number, std::string_view kind, const Effect& e) {
    const double change = a.now.tokens_per_s > 0 ? e.tokens_per_s / a.now.tokens_per_s - 1 : 0;
    table.rows.push_back({number, std::string(kind), format_bytes(e.need, unit) + (e.fits ? "" : " !"), format_seconds(e.time), format_count(e.tokens_per_s), kind.empty() ? "" : (change > 0 ? "+" : "") + format_percent(change)});
  };
  row("this plan", "", a.now);
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    const Change& c = a.changes[i];
    const std::string number = std::to_string(i + 1);
    row('(' + number + ')', name_of(c.kind), c.effect);
    std::string line = '(' + number + ") " + c.label + ". " + price_text(a, c, unit) + ' ' + sheet.code(set_arguments(edits_between(plan, c.plan, filling)));
    const std::vector<std::string> lines = trainer_lines(plan, c.plan);
    constexpr std::size_t kMostLines = 4;  // more is a new configuration: wireplan export
    if (!lines.empty() && lines.size() <= kMostLines) {
      line += " In " + std::string(name_of(usual_trainer(c.plan))) + ":";
      for (const std::string& l : lines) line += ' ' + sheet.code(l);
    }
    details.push_back(std::move(line));
  }
  sheet.table(table);
  sheet.paragraph("free: the same training; numerics: another one, with other number formats or another optimizer; hardware: another machine. ! does not fit. The global batch stays. What each is, what it costs, how to try it:");
  sheet.list(details);
}

void render_smallest(Sheet& sheet, const Plan& plan, const SmallestClusters& s, ByteUnit unit) {
  sheet.heading("How small a cluster would do?");
  if (s.found.empty()) {
    sheet.paragraph("No kind of node that is known can hold it with up to " + format_count(kMostSmallestNodes) + " nodes.");
    return;
  }
  Table table{{{"GPUs", false}, {"node", false}, {"layout", false}, {"need " + unit_name(unit), true}, {"step", true}, {"GPU-hours", true}}, {}, {}};
  std::vector<std::string_view> shown;
  for (const SmallestCluster& c : s.found) {
    const std::string& gpu = c.plan.cluster.node.gpu.id;
    if (std::find(shown.begin(), shown.end(), gpu) != shown.end()) continue;
    if (shown.size() >= kShownKinds && gpu != plan.cluster.node.gpu.id) continue;
    shown.push_back(gpu);
    table.rows.push_back({format_count(static_cast<double>(c.gpus)) + (c.plan.cluster.nodes > 1 ? " in " + format_count(c.plan.cluster.nodes) + " nodes" : ""), c.plan.cluster.node.id, c.layout, format_bytes(c.effect.need, unit), format_seconds(c.effect.time), hours(c.gpu_hours)});
  }
  sheet.table(table);
  sheet.paragraph("Of each GPU the smallest count that holds this training, with the fastest layout of those that were tried (recomputed: every layer, which the plan does not); GPU-hours of 1,000,000,000 tokens. " + format_count(static_cast<double>(s.found.size())) + " kinds of node can hold it, " +
                  format_count(static_cast<double>(s.left_out.size())) + " cannot; --json has all, with the edits.");
}

}  // namespace

Result<AdviceAnswer> advice_answer(const Plan& plan, const Estimate& estimate, const Presets& presets, const Constants& constants, std::optional<AdviseWhat> only) {
  const PresetFilling filling(plan, presets);
  AdviceAnswer answer;
  if (only != AdviseWhat::smallest) answer.advice = advice(plan, estimate, filling, constants);
  if (only == AdviseWhat::changes) return answer;
  std::vector<NodeKind> kinds;
  for (std::string_view id : presets.ids("nodes")) {
    Result<Node> node = presets.node(id);
    if (!node) return node.errors();
    std::optional<Network> network = filling.network(node.value());
    kinds.push_back({std::move(node.value()), std::move(network)});
  }
  answer.smallest = smallest_clusters(plan, kinds, filling, constants);
  return answer;
}

Json write_advice(const Plan& plan, const AdviceAnswer& a, const Presets& presets) {
  const PresetFilling filling(plan, presets);
  Json j = Json::object();
  if (a.advice) {
    Json changes = Json::array();
    for (const Change& c : a.advice->changes) changes.push_back(change_json(plan, *a.advice, c, filling));
    put(j, "text", a.advice->text);
    put(j, "changes", std::move(changes));
  }
  if (a.smallest) {
    Json smallest = Json::array(), left_out = Json::array();
    for (const SmallestCluster& s : a.smallest->found) smallest.push_back(smallest_json(plan, s, filling));
    for (const KindLeftOut& k : a.smallest->left_out) {
      Json kind;
      put(kind, "node", k.node);
      put(kind, "reason", k.reason);
      left_out.push_back(std::move(kind));
    }
    put(j, "smallest", std::move(smallest));
    put(j, "smallest_left_out", std::move(left_out));
  }
  return j;
}

void render_advice(Sheet& sheet, const Plan& plan, const AdviceAnswer& answer, const Presets& presets, ByteUnit unit) {
  const PresetFilling filling(plan, presets);
  if (answer.advice) render_changes(sheet, plan, *answer.advice, filling, unit);
  if (answer.smallest) render_smallest(sheet, plan, *answer.smallest, unit);
}

}  // namespace wireplan
