// Budget, scaling and crossover as documents and as text.
#include <cmath>
#include <string>
#include <utility>

#include "core/base/format.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/step_questions.hpp"

namespace wireplan {
namespace {

// --- budget -----------------------------------------------------------------------------------------------------------------

Json budget_json(const Budget& b) {
  Json j;
  put(j, "tokens", b.tokens);
  put(j, "steps", b.steps);
  put(j, "time_s", write_range(b.time));
  put(j, "gpu_hours", write_range(b.gpu_hours));
  put(j, "price_per_gpu_hour", b.price_per_gpu_hour ? number(*b.price_per_gpu_hour) : Json(nullptr));
  put(j, "cost", b.price_per_gpu_hour ? write_range(b.cost) : Json(nullptr));
  return j;
}

// Four significant digits at most, thousands by comma.
std::string amount(double value) {
  if (value < 100) return format_fixed(value, value >= 10 ? 1 : 2);
  double unit = 1;
  while (value / unit >= 1e4) unit *= 10;
  return format_count(std::floor(value / unit + 0.5) * unit);
}
std::string amounts(const Range<double>& r) { return amount(r.value) + " (" + amount(r.low) + " to " + amount(r.high) + ")"; }

std::string duration(Seconds s) {
  const double days = s.value / 86400;
  return days >= 1 ? amount(days) + (amount(days) == "1.00" ? " day" : " days") : days >= 1.0 / 24 ? amount(days * 24) + " h" : format_seconds(s);
}

void render_budget(Sheet& sheet, const Budget& b) {
  sheet.heading("What would it cost?");
  std::string text = format_count(b.tokens) + (b.tokens == 1 ? " token" : " tokens") + ", " + format_count(b.tokens_per_step) + " a step, are " + format_count(b.steps) + (b.steps == 1 ? " step: " : " steps: ") +
                     duration(b.time.value) + " (" + duration(b.time.low) + " to " + duration(b.time.high) + "), " + amounts(b.gpu_hours) + " GPU-hours";
  if (b.price_per_gpu_hour) text += ", " + amounts(b.cost) + " at " + format_exact(*b.price_per_gpu_hour) + " a GPU-hour";
  sheet.paragraph(text + ". Nothing but steps is counted: no checkpoints, evaluations or restarts.");
}

// --- scaling ----------------------------------------------------------------------------------------------------------------

Json scaling_json(const Scaling& s) {
  Json list = Json::array();
  for (const ScalingPoint& p : s.points) {
    Json j;
    put(j, "gpus", p.gpus);
    put(j, "nodes", p.count.nodes);
    put(j, "time_s", p.step.time.value);
    put(j, "tokens_per_s", p.step.tokens_per_s);
    put(j, "exposed_communication_s", p.step.exposed_communication);
    put(j, "fits", p.fits);
    put(j, "efficiency", p.efficiency);
    list.push_back(std::move(j));
  }
  return list;
}

Json scaling_notes_json(const Scaling& s) {
  Json left_out = Json::array();
  for (const ScalingGap& g : s.left_out) {
    Json j;
    put(j, "gpus", g.gpus);
    put(j, "nodes", g.count.nodes);
    put(j, "reason", g.reason);
    left_out.push_back(std::move(j));
  }
  Json j;
  put(j, "mode", name_of(s.mode));
  put(j, "breaks_at_gpus", s.breaks_at < 0 ? Json(nullptr) : Json(s.points[static_cast<std::size_t>(s.breaks_at)].gpus));
  put(j, "left_out", std::move(left_out));
  put(j, "text", s.text);
  return j;
}

void render_scaling(Sheet& sheet, const Scaling& s) {
  sheet.heading("Where do more GPUs stop paying?");
  sheet.paragraph(s.text);
  Table table{{{"GPUs", true}, {"nodes", true}, {"step", true}, {"tokens/s", true}, {"waits", true}, {"of the row before", true}, {"of the first", true}, {"", false}}, {}, {}};
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const ScalingPoint& p = s.points[i];
    const double time = p.step.time.value.value;
    std::string remark = p.is_plan ? "this plan" : "";
    if (!p.fits) remark += std::string(remark.empty() ? "" : ", ") + "does not fit";
    table.rows.push_back({format_count(static_cast<double>(p.gpus)), format_count(p.count.nodes), format_seconds(p.step.time.value), format_count(p.step.tokens_per_s),
                          format_percent(time > 0 ? p.step.exposed_communication.value / time : 0), i == 0 ? "" : format_percent(p.kept), format_percent(p.efficiency), remark});
  }
  if (!table.rows.empty()) sheet.table(table);
  sheet.paragraph(std::string(s.mode == ScalingMode::weak ? "The sequences of each GPU's step stay (weak scaling)" : "The global batch stays (strong scaling)") +
                  "; only the data-parallel degree changes. Waits: share of the step in communication that nothing hides. Percentages are tokens/s of one GPU.");
  std::vector<std::string> left_out;
  for (std::size_t i = 0, next; i < s.left_out.size(); i = next) {  // neighbours for the same reason a line
    std::string counts = format_count(static_cast<double>(s.left_out[i].gpus));
    for (next = i + 1; next < s.left_out.size() && s.left_out[next].reason == s.left_out[i].reason; ++next) counts += ", " + format_count(static_cast<double>(s.left_out[next].gpus));
    left_out.push_back("left out, " + counts + (counts == "1" ? " GPU: " : " GPUs: ") + s.left_out[i].reason);
  }
  if (!left_out.empty()) sheet.list(left_out);
}

// --- crossover --------------------------------------------------------------------------------------------------------------

void put_need(Json& j, const LinkNeed& need) {
  put(j, "factor", need.factor);
  put(j, "bytes_per_s", need.rate);
  put(j, "class", need.class_name.empty() ? Json(nullptr) : Json(need.class_name));
  put(j, "nics", need.nics > 0 ? Json(need.nics) : Json(nullptr));
}

Json name_or_null(const Crossover& c, int sharding) { return sharding < 0 ? Json(nullptr) : Json(name_of(c.shardings[static_cast<std::size_t>(sharding)].sharding)); }

Json link_json(const AskedLink& l) {
  Json j;
  put(j, "place", name_of(l.place));
  put(j, "name", l.name);
  put(j, "bytes_per_s", l.rate);
  put_or_null(j, "nominal_bytes_per_s", l.nominal.value);
  put(j, "stated", l.is_stated);
  put(j, "has_classes", l.has_classes);
  put(j, "nics", l.nics > 0 ? Json(l.nics) : Json(nullptr));
  return j;
}

Json crossover_json(const Crossover& c) {
  Json shardings = Json::array(), fastest = Json::array(), pairs = Json::array(), factors = Json::array(), exposed;
  for (int i = 0; i < kLinkSpeeds; ++i) factors.push_back(number(link_speed(i)));
  for (const ShardingTimes& s : c.shardings) {
    Json j;
    put(j, "sharding", name_of(s.sharding));
    put(j, "label", s.label);
    put(j, "fits", s.fits);
    put(j, "chosen", s.chosen);
    put(j, "time_s", s.now());
    put(j, "time_slowest_s", s.slowest());
    put(j, "time_fastest_s", s.fastest());
    Json times = Json::array();
    for (const Seconds t : s.times) times.push_back(number(t.value));
    put(j, "times_s", std::move(times));
    shardings.push_back(std::move(j));
  }
  for (const FastestRange& r : c.fastest) {
    Json j;
    put(j, "sharding", name_or_null(c, static_cast<int>(r.sharding)));
    Json from = nullptr;
    if (!r.from_slowest) from = Json::object(), put_need(from, r.from);
    put(j, "from", std::move(from));
    fastest.push_back(std::move(j));
  }
  for (const ShardingPair& p : c.pairs) {
    Json j, crossings = Json::array();
    for (const ShardingPair::Crossing& x : p.crossings) {
      Json crossing;
      put_need(crossing, x.at);
      put(crossing, "faster_above", name_or_null(c, static_cast<int>(x.faster_above)));
      crossings.push_back(std::move(crossing));
    }
    put(j, "less", name_or_null(c, static_cast<int>(p.less)));
    put(j, "more", name_or_null(c, static_cast<int>(p.more)));
    put(j, "crossings", std::move(crossings));
    put(j, "faster", name_or_null(c, p.faster));
    put(j, "largest_difference", p.largest_difference);
    put(j, "text", p.text);
    pairs.push_back(std::move(j));
  }
  put(exposed, "link", link_json(c.exposed.link));
  put(exposed, "limit", c.exposed.limit);
  put(exposed, "now", c.exposed.now);
  put(exposed, "at_fastest", c.exposed.at_fastest);
  put(exposed, "answer", name_of(c.exposed.answer));
  Json need = nullptr;
  if (c.exposed.answer == ExposedAnswer::from) need = Json::object(), put_need(need, c.exposed.need);
  put(exposed, "from", std::move(need));
  put(exposed, "text", c.exposed.text);
  Json j;
  put(j, "link", link_json(c.link));
  put(j, "factors", std::move(factors));
  put(j, "shardings", std::move(shardings));
  put(j, "fastest", std::move(fastest));
  put(j, "pairs", std::move(pairs));
  put(j, "exposed", std::move(exposed));
  put(j, "bound_from", c.bound_from < kFastestLinks ? number(c.bound_from) : Json(nullptr));
  put(j, "text", c.text);
  put(j, "basis", c.basis);
  return j;
}

void render_crossover(Sheet& sheet, const Crossover& c) {
  sheet.heading("Which links would it take?");
  sheet.paragraph(c.exposed.text);
  sheet.paragraph(c.text);
  Table table{{{"sharding", false}, {"step on links of 1/64", true}, {"as they are", true}, {"64 times as fast", true}, {"", false}}, {}, {}};
  for (const ShardingTimes& s : c.shardings) {
    std::string remark = s.chosen ? "this plan" : "";
    if (!s.fits) remark += std::string(remark.empty() ? "" : ", ") + "does not fit";
    table.rows.push_back({s.label, format_seconds(s.slowest()), format_seconds(s.now()), format_seconds(s.fastest()), remark});
  }
  sheet.table(table);
  std::vector<std::string> pairs;
  for (const ShardingPair& p : c.pairs) {  // the document has them all
    const ShardingTimes &less = c.shardings[p.less], &more = c.shardings[p.more];
    if (less.chosen || more.chosen || (p.less == 0 && shards_parameters(more.sharding) && more.sharding != DataSharding::hsdp)) pairs.push_back(p.text);
  }
  if (!pairs.empty()) sheet.list(pairs);
  sheet.paragraph(c.basis);
}

}  // namespace

void add_step_answers(Json& document, const StepAnswers& a) {
  if (a.budget) put(document, "budget", budget_json(*a.budget));
  if (a.scaling) {
    put(document, "scaling", scaling_json(*a.scaling));
    put(document, "scaling_notes", scaling_notes_json(*a.scaling));
  }
  if (a.crossover) put(document, "crossover", crossover_json(*a.crossover));
}

void render_step_answers(Sheet& sheet, const StepAnswers& a) {
  if (a.budget) render_budget(sheet, *a.budget);
  if (a.scaling) render_scaling(sheet, *a.scaling);
  if (a.crossover) render_crossover(sheet, *a.crossover);
}

}  // namespace wireplan
