#include "web/documents.hpp"

#include <cmath>

#include "core/text/answer_json.hpp"
#include "core/text/link.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/render.hpp"
#include "web/json_text.hpp"
#include "web/values.hpp"

namespace wireplan {

namespace {

std::string_view tone_name(SentencePiece::Tone tone) {
  constexpr std::string_view kTones[] = {"plain", "number", "good", "bad", "exposed"};
  return kTones[static_cast<std::size_t>(tone)];
}

void say_answer(JsonText& out, const std::vector<SentencePiece>& pieces) {
  out.key("answer").array();
  for (const SentencePiece& p : pieces)
    out.object().field("text", p.text).field("tone", tone_name(p.tone)).field("key", p.key).end_object();
  out.end_array();
}

void say_errors(JsonText& out, const Errors& errors) {
  out.key("errors").array();
  for (const Error& e : errors)
    out.object()
        .field("path", e.path)
        .field("value", e.value)
        .field("limit", e.limit)
        .field("text", e.text)
        .end_object();
  out.end_array();
}

void say_rows(JsonText& out, const AppState& state) {
  out.key("rows").array();
  for (const Row& r : result_rows(state)) {
    out.object().field("group", r.group).field("path", r.path).field("label", r.label).key("value");
    if (r.is_words)
      out.value(r.text);
    else
      out.value(r.value);
    out.field("text", r.text).field("unit", "").field("claim", r.claim).end_object();
  }
  out.end_array();
}

void say_panels(JsonText& out, const PageLayout& page) {
  out.key("panels").array();
  for (const auto& [key, rect] : {std::pair{"memory", page.memory},
                                  {"wiring", page.wiring},
                                  {"wirings", page.wirings},
                                  {"step", page.step},
                                  {"timeline", page.timeline},
                                  {"waits", page.waits},
                                  {"scaling", page.scaling},
                                  {"curves", page.curves},
                                  {"moments", page.moments}})
    out.object().field("key", key).field("top", rect.y).field("height", rect.h).end_object();
  out.end_array();
}

// "Mistral-7B v0.1 · adamw bf16 · 4096 tokens · DGX A100 80 GB, 4 of 8 GPUs"
std::string summary(const AppState& state) {
  const Plan& p = state.answer.plan;
  const auto n = [](Count v) { return format_exact(static_cast<double>(v)); };
  return state.words.fill("summary", {{"m", p.model.name.empty() ? p.model.id : p.model.name},
                                      {"o", std::string(name_of(p.training.optimizer))},
                                      {"d", std::string(name_of(p.training.parameter_dtype))},
                                      {"s", n(p.training.sequence_length)},
                                      {"c", p.cluster.node.name.empty() ? p.cluster.node.id : p.cluster.node.name},
                                      {"n", n(total_gpus(p.cluster))},
                                      {"g", n(static_cast<Count>(p.cluster.node.gpus) * p.cluster.nodes)}});
}

std::string label_of(const AppState& state, const char* kind, const Alternative& a) {
  const std::string key = std::string("wire.kind.") + a.key;
  return std::string(kind) == "wiring" && state.words.has(key) ? std::string(state.words[key]) : a.label;
}

struct Proposal {
  const char* kind;
  const Alternative* to;
};

// While the plan fits: what makes its step shorter, most first. While it does not: what fits, least memory first. Three of them.
std::vector<Proposal> proposals(const AppState& state) {
  constexpr std::size_t kMost = 3;
  const Estimate& now = state.answer.estimate;
  const bool fits = now.memory.fits;
  const auto weight = [&](const Alternative& a) {
    return fits ? a.estimate.step.time.value.value : a.estimate.memory.need.value.value;
  };
  std::vector<Proposal> list;
  const auto add = [&](const char* kind, const std::vector<Alternative>& all) {
    for (const Alternative& a : all) {
      if (a.chosen || !a.estimate.memory.fits || (fits && weight(a) > 0.99 * now.step.time.value.value)) continue;
      std::size_t at = 0;
      while (at < list.size() && weight(*list[at].to) <= weight(a)) ++at;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), {kind, &a});
      if (list.size() > kMost) list.pop_back();
    }
  };
  add("strategy", state.answer.shardings);
  if (fits)
    add("wiring", state.answer.wirings);
  else
    add("recipe", state.answer.recipes);
  return list;
}

// "−19.5 s", "+2.31 s", "±0"
std::string signed_text(double difference, const std::string& size) {
  return difference == 0 ? "±0" : (difference < 0 ? "−" : "+") + size;
}

void say_proposal(JsonText& out, const AppState& state, const Proposal& p) {
  const Estimate &now = state.answer.estimate, &then = p.to->estimate;
  const double seconds = then.step.time.value.value - now.step.time.value.value,
               bytes = then.memory.need.value.value - now.memory.need.value.value;
  std::string time = format_seconds(then.step.time.value),
              memory = format_bytes_with_unit(then.memory.need.value, state.view.unit);
  if (now.memory.fits) {
    time = signed_text(seconds, format_seconds(Seconds(std::abs(seconds))));
    memory = signed_text(bytes, format_bytes_with_unit(Bytes(std::abs(bytes)), state.view.unit));
  }
  out.object().field("label", label_of(state, p.kind, *p.to)).field("time", time).field("memory", memory);
  out.key("edits").array().array().value(p.kind).value(p.to->key).end_array().end_array().end_object();
}

void say_alternatives(JsonText& out, const AppState& state, const char* name, const char* kind,
                      const std::vector<Alternative>& all) {
  out.key(name).array();
  for (const Alternative& a : all) {
    const MemoryAnswer& m = a.estimate.memory;
    out.object()
        .field("key", a.key)
        .field("label", label_of(state, kind, a))
        .field("implemented_by", a.implemented_by)
        .field("chosen", a.chosen);
    out.field("need_bytes", m.need.value.value)
        .field("fits", m.fits)
        .field("verdict", name_of(m.verdict))
        .field("states_bytes", m.states.total().value);
    out.field("time_s", a.estimate.step.time.value.value)
        .field("exposed_communication_s", a.estimate.step.exposed_communication.value)
        .end_object();
  }
  out.end_array();
}

}  // namespace

std::string state_document(const App& app) {
  const AppState& s = app.state;
  JsonText out;
  out.object()
      .field("link", link_of(s))
      .field("unit", unit_name(s.view.unit))
      .field("theme", s.view.is_dark ? "dark" : "light");
  out.field("language", s.view.language).field("version", kEngineVersion);
  say_answer(out, s.answer.sentence);
  out.field("stale", s.is_stale());
  say_errors(out, s.errors);
  out.field("verdict", name_of(s.answer.estimate.memory.verdict)).field("summary", summary(s));
  out.field("can_undo", s.moment > 0)
      .field("can_redo", s.moment + 1 < s.history.size())
      .field("explain", s.view.explain)
      .field("asked", s.view.asked);
  out.key("plan").raw(dump_json_compact(write_plan(s.answer.plan)));
  out.field("nccl", s.known_nccl() ? std::string_view() : s.answer.nccl_request);
  out.field("nccl_shown", s.view.nccl);
  say_rows(out, s);
  say_panels(out, app.layout);
  return out.field("height", wanted_height(s, app.width)).end_object().take();
}

std::string form_document(const std::vector<Field>& form) {
  JsonText out;
  out.array();
  for (const Field& f : form) {
    out.object()
        .field("section", f.section)
        .field("path", f.path)
        .field("key", f.path)
        .field("label", f.label)
        .field("kind", name_of(f.kind));
    out.field("value", f.value).field("text", f.text).key("choices").array();
    for (const Choice& c : f.choices)
      out.object()
          .field("value", c.value)
          .field("label", c.label)
          .field("detail", c.detail)
          .field("enabled", c.state == Choice::State::legal)
          .field("why", c.why)
          .end_object();
    out.end_array();
    if (f.kind == FieldKind::number)
      out.field("min", f.min).field("max", f.max).field("step", f.step).field("less", f.less).field("more", f.more);
    out.field("error", f.error).field("hint", f.hint).end_object();
  }
  return out.end_array().take();
}

std::string alternatives_document(const AppState& state) {
  JsonText out;
  out.object()
      .field("title", state.words[state.answer.estimate.memory.fits ? "change.title" : "change.nearest"])
      .key("items")
      .array();
  for (const Proposal& p : proposals(state)) say_proposal(out, state, p);
  out.end_array();
  say_alternatives(out, state, "strategies", "strategy", state.answer.shardings);
  say_alternatives(out, state, "wirings", "wiring", state.answer.wirings);
  say_alternatives(out, state, "recipes", "recipe", state.answer.recipes);
  return out.end_object().take();
}

std::string scenarios_document(const AppState& state) {
  JsonText out;
  out.array();
  // The story first: it is what the page opens with.
  for (const bool is_first : {true, false})
    for (const std::string_view id : state.presets.ids("scenarios")) {
      if ((id == "story") != is_first) continue;
      const Result<Json> scenario = parse_json(state.presets.text("scenarios", id));
      if (!scenario || !scenario.value().contains("plan")) continue;
      const auto title = scenario.value().find("title");
      const bool titled = title != scenario.value().end() && title->is_string();
      out.object().field("id", id).field("title", titled ? std::string_view(title->get_ref<const std::string&>()) : id);
      out.field("chosen", scenario.value()["plan"] == state.document).end_object();
    }
  return out.end_array().take();
}

std::string adopted_document(const Adopted& adopted) {
  JsonText out;
  out.object();
  say_errors(out, adopted.errors);
  out.field("changed", adopted.changed).key("followed").array();
  for (const Adopted::Followed& f : adopted.followed)
    out.object().field("path", f.path).field("from", f.from).field("to", f.to).end_object();
  return out.end_array().end_object().take();
}

std::string export_text(const AppState& state, std::string_view format) {
  const Answer& a = state.answer;
  if (format == "json") return dump_json(write_estimate(a.plan, a.estimate));
  return render_estimate(a.plan, a.estimate,
                         format == "csv"        ? RenderFormat::csv
                         : format == "markdown" ? RenderFormat::markdown
                                                : RenderFormat::text,
                         state.view.unit, format_link(a.plan, state.presets));
}

}  // namespace wireplan
