#include "web/documents.hpp"

#include <algorithm>

#include "core/text/answer_json.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/render.hpp"
#include "web/sentence.hpp"
#include "web/values.hpp"

namespace wireplan {

namespace {

std::string_view tone_name(SentencePiece::Tone tone) {
  constexpr std::string_view kTones[] = {"plain", "number", "good", "bad", "exposed"};
  return kTones[static_cast<std::size_t>(tone)];
}

Json answer_pieces(const std::vector<SentencePiece>& pieces) {
  Json list = Json::array();
  for (const SentencePiece& p : pieces) list.push_back({{"text", p.text}, {"tone", tone_name(p.tone)}, {"key", p.key}});
  return list;
}

Json rows(const AppState& state) {
  Json list = Json::array();
  for (const Row& r : result_rows(state))
    list.push_back({{"group", r.group}, {"path", r.path}, {"label", r.label}, {"value", number(r.value)}, {"text", r.text}, {"unit", ""}, {"claim", r.claim}});
  return list;
}

Json panels(const PageLayout& page) {
  Json list = Json::array();
  for (const auto& [key, rect] : {std::pair{"memory", page.memory}, {"wiring", page.wiring}, {"wirings", page.wirings}, {"step", page.step}})
    list.push_back({{"key", key}, {"top", number(rect.y)}, {"height", number(rect.h)}});
  return list;
}

// "Mistral-7B v0.1 · adamw bf16 · 4096 tokens · DGX A100 80 GB, 4 of 8 GPUs"
std::string summary(const AppState& state) {
  const Plan& p = state.answer.plan;
  const auto n = [](Count v) { return format_exact(static_cast<double>(v)); };
  return state.words.fill("summary", {{"m", p.model.name.empty() ? p.model.id : p.model.name}, {"o", std::string(name_of(p.training.optimizer))},
      {"d", std::string(name_of(p.training.parameter_dtype))}, {"s", n(p.training.sequence_length)}, {"c", p.cluster.node.name.empty() ? p.cluster.node.id : p.cluster.node.name},
      {"n", n(total_gpus(p.cluster))}, {"g", n(static_cast<Count>(p.cluster.node.gpus) * p.cluster.nodes)}});
}

std::string label_of(const AppState& state, const char* kind, const Alternative& a) {
  const std::string key = std::string("wire.kind.") + a.key;
  return std::string(kind) == "wiring" && state.words.has(key) ? std::string(state.words[key]) : a.label;
}

struct Proposal { const char* kind; const Alternative* to; };

// While the plan fits: what makes its step shorter, most first. While it does not: what fits, least memory first.
std::vector<Proposal> proposals(const AppState& state) {
  const Estimate& now = state.answer.estimate;
  std::vector<Proposal> list;
  const auto add = [&](const char* kind, const std::vector<Alternative>& all) {
    for (const Alternative& a : all) {
      const bool better = now.memory.fits ? a.estimate.step.time.value.value < 0.99 * now.step.time.value.value : true;
      if (!a.chosen && a.estimate.memory.fits && better) list.push_back({kind, &a});
    }
  };
  add("strategy", state.answer.shardings);
  if (now.memory.fits) add("wiring", state.answer.wirings);
  else add("recipe", state.answer.recipes);
  std::stable_sort(list.begin(), list.end(), [&](const Proposal& a, const Proposal& b) {
    return now.memory.fits ? a.to->estimate.step.time.value < b.to->estimate.step.time.value : a.to->estimate.memory.need.value < b.to->estimate.memory.need.value;
  });
  return list;
}

// "−19.5 s", "+2.31 s", "±0"
std::string signed_text(double difference, const std::string& size) {
  return difference == 0 ? "±0" : (difference < 0 ? "−" : "+") + size;
}

Json proposal_item(const AppState& state, const Proposal& p) {
  const Estimate &now = state.answer.estimate, &then = p.to->estimate;
  const double seconds = then.step.time.value.value - now.step.time.value.value, bytes = then.memory.need.value.value - now.memory.need.value.value;
  const ByteUnit unit = state.view.unit;
  const bool fits = now.memory.fits;
  return {{"label", label_of(state, p.kind, *p.to)},
          {"time", fits ? signed_text(seconds, format_seconds(Seconds(std::abs(seconds)))) : format_seconds(then.step.time.value)},
          {"memory", fits ? signed_text(bytes, format_bytes_with_unit(Bytes(std::abs(bytes)), unit)) : format_bytes_with_unit(then.memory.need.value, unit)},
          {"edits", Json::array({Json::array({p.kind, p.to->key})})}};
}

Json alternative(const AppState& state, const char* kind, const Alternative& a) {
  const MemoryAnswer& m = a.estimate.memory;
  const StepAnswer& s = a.estimate.step;
  return {{"key", a.key}, {"label", label_of(state, kind, a)}, {"implemented_by", a.implemented_by}, {"chosen", a.chosen},
          {"need_bytes", number(m.need.value.value)}, {"fits", m.fits}, {"verdict", name_of(m.verdict)}, {"states_bytes", number(m.states.total().value)},
          {"time_s", number(s.time.value.value)}, {"exposed_communication_s", number(s.exposed_communication.value)}};
}

Json alternatives(const AppState& state, const char* kind, const std::vector<Alternative>& all) {
  Json list = Json::array();
  for (const Alternative& a : all) list.push_back(alternative(state, kind, a));
  return list;
}

}  // namespace

Json state_document(const App& app) {
  const AppState& s = app.state;
  Json doc{{"link", link_of(s)},
           {"unit", unit_name(s.view.unit)},
           {"theme", s.view.is_dark ? "dark" : "light"},
           {"language", s.view.language},
           {"version", kEngineVersion},
           {"answer", answer_pieces(s.answer.sentence)},
           {"stale", s.is_stale()},
           {"errors", write_errors(s.errors)["errors"]},
           {"verdict", name_of(s.answer.estimate.memory.verdict)},
           {"summary", summary(s)},
           {"can_undo", s.moment > 0},
           {"can_redo", s.moment + 1 < s.history.size()},
           {"explain", s.view.explain},
           {"plan", write_plan(s.answer.plan)},
           {"rows", rows(s)},
           {"panels", panels(app.layout)},
           {"height", number(wanted_height(s, app.width))}};
  return doc;
}

Json form_document(const std::vector<Field>& form) {
  Json list = Json::array();
  for (const Field& f : form) {
    Json choices = Json::array();
    for (const Choice& c : f.choices)
      choices.push_back({{"value", c.value}, {"label", c.label}, {"detail", c.detail}, {"enabled", c.state == Choice::State::legal}, {"why", c.why}});
    Json field{{"section", f.section}, {"path", f.path}, {"key", f.path}, {"label", f.label}, {"kind", name_of(f.kind)}, {"value", f.value}, {"text", f.text}, {"choices", std::move(choices)}};
    if (f.kind == FieldKind::number)
      field.update({{"min", number(f.min)}, {"max", number(f.max)}, {"step", number(f.step)}, {"less", f.less}, {"more", f.more}});
    field["error"] = f.error;
    field["hint"] = f.hint;
    list.push_back(std::move(field));
  }
  return list;
}

Json alternatives_document(const AppState& state) {
  Json items = Json::array();
  for (const Proposal& p : proposals(state))
    if (items.size() < 3) items.push_back(proposal_item(state, p));
  return {{"title", state.words[state.answer.estimate.memory.fits ? "change.title" : "change.nearest"]},
          {"items", std::move(items)},
          {"strategies", alternatives(state, "strategy", state.answer.shardings)},
          {"wirings", alternatives(state, "wiring", state.answer.wirings)},
          {"recipes", alternatives(state, "recipe", state.answer.recipes)}};
}

Json scenarios_document(const AppState& state) {
  Json list = Json::array();
  for (const std::string_view id : state.presets.ids("scenarios")) {
    const Result<Json> scenario = parse_json(state.presets.text("scenarios", id));
    if (!scenario) continue;
    const Json& document = scenario.value();
    Json entry{{"id", id}, {"title", document.value("title", std::string(id))}, {"chosen", document.contains("plan") && document["plan"] == state.document}};
    if (id == "story") list.insert(list.begin(), std::move(entry));
    else list.push_back(std::move(entry));
  }
  return list;
}

std::string export_text(const AppState& state, std::string_view format) {
  const Answer& a = state.answer;
  if (format == "json") return dump_json(write_estimate(a.plan, a.estimate));
  return render_estimate(a.plan, a.estimate, format == "csv" ? RenderFormat::csv : format == "markdown" ? RenderFormat::markdown : RenderFormat::text, state.view.unit);
}

}  // namespace wireplan
