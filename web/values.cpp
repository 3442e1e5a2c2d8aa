#include "web/values.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/answer/explain.hpp"
#include "core/answer/utilization.hpp"
#include "web/nccl_words.hpp"

namespace wireplan {

namespace {

std::string significant(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.4g", value);
  return digits;
}

bool is_letter(unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; }

// "·", "−" and the like are several bytes long and no letters.
std::size_t symbol_length(std::string_view formula) {
  std::size_t n = 0;
  while (n < formula.size()) {
    if (formula.substr(n, 2) == "·" || formula.substr(n, 2) == "×" || formula.substr(n, 3) == "−") break;
    if (!(n == 0 ? is_letter(static_cast<unsigned char>(formula[n]))
                 : is_letter(static_cast<unsigned char>(formula[n])) ||
                       std::isdigit(static_cast<unsigned char>(formula[n]))))
      break;
    ++n;
  }
  return n;
}

}  // namespace

std::string value_text(double value, std::string_view unit, ByteUnit bytes) {
  if (unit == "bytes") return format_bytes_with_unit(Bytes(value), bytes);
  if (unit == "s") return format_seconds(Seconds(value));
  if (unit == "bytes/s") return format_rate(BytesPerSecond(value));
  if (unit == "FLOP/s") return format_flops_rate(value / 1e12);
  if (unit == "TFLOP/s") return format_flops_rate(value);
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  const std::string plain = is_whole                      ? format_count(value)
                            : value >= 1e4 && value < 1e9 ? format_count(std::round(value))
                                                          : significant(value);
  return unit.empty() ? plain : plain + " " + std::string(unit);
}

std::string with_values(const Explanation& e, ByteUnit bytes) {
  std::string text;
  std::string_view rest = e.formula;
  while (!rest.empty()) {
    const std::size_t n = symbol_length(rest);
    if (n == 0) {
      text += rest.front();
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view symbol = rest.substr(0, n);
    const auto value =
        std::find_if(e.values.begin(), e.values.end(), [&](const ExplainedValue& v) { return v.symbol == symbol; });
    text += value == e.values.end() ? std::string(symbol) : value_text(value->value, value->unit, bytes);
    rest.remove_prefix(n);
  }
  return text;
}

std::string name_of_path(const AppState& state, std::string_view path) {
  const std::string key = "path." + std::string(path);
  if (state.words.has(key)) return std::string(state.words[key]);
  // "step.conventions.<row>.<field>": by the name of what it is of this page's own convention.
  constexpr std::string_view kConventions = "step.conventions.";
  if (path.starts_with(kConventions)) {
    const std::vector<Utilization> all = utilization(state.answer.plan, state.answer.estimate);
    const auto row = static_cast<std::size_t>(std::atoi(std::string(path.substr(kConventions.size())).c_str()));
    const std::string_view field = path.substr(path.rfind('.') + 1);
    const std::string own = field == "flops_per_token" ? "path.model.flops_per_token" : field == "mfu" ? "path.step.mfu" : "path.step.model_tflops_per_gpu";
    return row < all.size() ? std::string(state.words[own]) + ", " + std::string(convention_label(all[row].convention)) : std::string(path);
  }
  // "communication.<row>.<field>", "memory.ranks.<stage>.<field>"
  constexpr std::string_view kRows = "communication.", kRanks = "memory.ranks.";
  const bool is_row = path.starts_with(kRows);
  if (!is_row && !path.starts_with(kRanks)) return std::string(path);
  const std::string_view rest = path.substr(is_row ? kRows.size() : kRanks.size());
  const std::size_t dot = std::min(rest.find('.'), rest.size());
  const std::string number(rest.substr(0, dot)), field(rest.substr(std::min(dot + 1, rest.size())));
  if (!is_row) return state.words.fill("path.memory.ranks." + field, {{"n", number}});
  const auto row = static_cast<std::size_t>(std::atoi(number.c_str()));
  if (row >= state.answer.estimate.communication.size()) return std::string(path);
  const std::string name(state.answer.estimate.communication[row].name);
  return field.empty() ? name : name + ": " + std::string(state.words["comm.field." + field]);
}

std::string place_text(const AppState& state, const Place& place) {
  const Language& words = state.words;
  if (place.phase == StepPhase::optimizer) return std::string(words["place.optimizer"]);
  std::string text(words["place.loss"]);
  if (place.phase != StepPhase::loss || place.layer != kNoLayer)
    text =
        words.fill("place.of", {{"p", std::string(name_of(place.phase))},
                                {"l", place.layer >= 0 ? words.fill("place.layer", {{"n", std::to_string(place.layer)}})
                                      : place.layer == kEmbeddingLayer ? std::string(words["place.embedding"])
                                                                       : std::string(words["place.head"])}});
  if (micro_batches(state.answer.plan) == 1) return text;
  return words.fill("place.micro", {{"p", text}, {"n", std::to_string(place.micro_batch + 1)}});
}

const MemoryLine* shown_line(const AppState& state) {
  const std::vector<MemoryLine>& lines = state.answer.lines;
  if (lines.empty()) return nullptr;
  const int stages = static_cast<int>(lines.size()), wished = state.view.stage;
  return &lines[static_cast<std::size_t>(wished >= 0 && wished < stages ? wished
                                                                        : state.answer.estimate.memory.worst_stage)];
}

std::size_t peak_of(const MemoryLine& line) {
  const auto less = [](const MemoryPoint& a, const MemoryPoint& b) { return a.allocated < b.allocated; };
  const auto first = line.points.begin();
  // Nothing runs at the first.
  return static_cast<std::size_t>(std::max_element(first + (line.points.size() > 1), line.points.end(), less) - first);
}

Place peak_place(const AppState& state, const MemoryLine& line) {
  return state.answer.estimate.stage_memory[static_cast<std::size_t>(line.stage)].place;
}

std::string capacity_text(const AppState& state) {
  return state.answer.plan.cluster.node.gpu.name + " = " +
         format_bytes_with_unit(state.answer.estimate.memory.capacity, state.view.unit);
}

std::string line_text(const AppState& state) {
  const MemoryLine* line = shown_line(state);
  if (!line || line->points.empty()) return "–";
  const auto bytes = [&](const MemoryPoint& p) { return format_bytes_with_unit(p.allocated, state.view.unit); };
  const MemoryPoint &first = line->points.front(), &peak = line->points[peak_of(*line)], &last = line->points.back();
  const std::string text = state.words.fill("mem.line.says", {{"a", bytes(first)},
                                                              {"p", bytes(peak)},
                                                              {"t", format_seconds(peak.time)},
                                                              {"when", place_text(state, peak_place(state, *line))},
                                                              {"b", bytes(last)},
                                                              {"e", format_seconds(last.time)}});
  if (state.answer.lines.size() == 1) return text;
  return state.words.fill("mem.line.of_stage", {{"n", std::to_string(line->stage)}}) + ": " + text;
}

std::string signed_percent(double fraction) {
  const double percent = std::round(fraction * 1000) / 10;
  if (percent == 0) return "±0 %";
  return (percent < 0 ? "−" : "+") + format_fixed(std::abs(percent), 1) + " %";
}

namespace {

// The size that the plan sends, else the largest that is drawn.
Bytes shown_size(const CollectiveChart& chart) {
  for (const CollectiveChart::Sent& s : chart.sent)
    if (s.is_shown) return s.size;
  return chart.measured.empty() ? Bytes(kMostChartBytes) : chart.measured.back().size;
}

std::string_view sign_of(Basis basis) { return basis == Basis::profile || basis == Basis::measured ? "●" : "≈"; }

}  // namespace

std::string basis_text(const Language& words, const CollectiveChart& chart) {
  const Bytes size = shown_size(chart);
  const CollectiveChart::Point* point = chart.at(size);
  if (!point) return {};
  const Basis basis = point->call.basis;
  return std::string(sign_of(basis)) + " " +
         words.fill("chart.basis", {{"s", format_message_size(size)}, {"b", std::string(words["basis." + std::string(name_of(basis))])}});
}

std::string errors_text(const Language& words, const CollectiveChart& chart) {
  const auto percent = [](double v) { return format_fixed(v * 100, 1) + " %"; };
  return words.fill("chart.measured.sum", {{"m", percent(chart.median_error)},
                                           {"w", percent(chart.worst_error)},
                                           {"n", format_count(static_cast<double>(chart.measured.size()))}});
}

std::string mapping_text(const Language& words, const PlacementAnswer& mapping) {
  const Seconds before = mapping.current.time.value, after = mapping.best.time.value;
  if (after < before)
    return words.fill("wire.mapping", {{"a", format_seconds(after)}, {"b", format_seconds(before)}, {"g", format_percent(before / after - 1)}});
  return words.fill("wire.mapping_hidden", {{"a", format_seconds(mapping.best.communication)}, {"b", format_seconds(mapping.current.communication)}});
}

std::string scaling_text(const Language& words, const Scaling& s) {
  const auto count = [](Count n) { return format_count(static_cast<double>(n)); };
  if (s.points.size() < 2) return std::string(words["scaling.alone"]);
  const ScalingPoint &first = s.points.front(), &last = s.points.back();
  const std::string end = words.fill(first.gpus == 1 ? "scaling.end_one" : "scaling.end", {{"n", count(last.gpus)}, {"p", format_percent(last.efficiency)}, {"f", count(first.gpus)}});
  if (s.breaks_at < 1) return words.fill("scaling.holds", {{"n", count(last.gpus)}}) + " " + end;
  const ScalingPoint &after = s.points[static_cast<std::size_t>(s.breaks_at)], &before = s.points[static_cast<std::size_t>(s.breaks_at) - 1];
  return words.fill(after.bottleneck.empty() ? "scaling.breaks" : "scaling.breaks_at",
                    {{"a", count(before.gpus)}, {"b", count(after.gpus)}, {"k", format_percent(after.kept)}, {"l", after.bottleneck}}) + " " + end;
}

std::string curve_text(const AppState& state) {
  const CollectiveChart& chart = state.answer.chart;
  if (chart.predicted.empty()) return chart.problem.empty() ? "–" : std::string(state.words[chart.problem]);
  const CollectiveChart::Point *first = chart.at(Bytes(65536)), *last = &chart.predicted.back().back();
  return state.words.fill("chart.says", {{"n", std::string(name_of(chart.collective)) + ", " + std::to_string(chart.ranks) + " GPU"},
                                         {"a", format_rate(first->bus)},
                                         {"s", format_message_size(first->size)},
                                         {"b", format_rate(last->bus)},
                                         {"t", format_message_size(last->size)},
                                         {"l", chart.wire}});
}

Bytes needed(const AppState& state, Bytes allocated) {
  const Estimate& e = state.answer.estimate;
  const double share = std::min(state.constants.memory.unavoidable_fragmentation, e.slack_share);
  return allocated + Bytes(std::ceil(share * allocated.value)) + e.memory.runtime;
}

namespace {

// The chart of collectives for those who do not see it.
void add_chart(std::vector<Row>& rows, const AppState& state) {
  const CollectiveChart& chart = state.answer.chart;
  if (chart.key.empty()) return;
  const auto say = [&](std::string path, std::string label, std::string words, Claim claim) {
    rows.push_back({"collectives", std::move(path), std::move(label), std::move(words), "", name_of(claim), 0, true});
  };
  const CollectiveChart::Point* shown = chart.at(shown_size(chart));
  const bool is_measured = shown && sign_of(shown->call.basis) != "≈";
  say("collectives.curve", name_of_path(state, "collectives.curve"), curve_text(state), Claim::estimate);
  if (shown) say("collectives.basis", name_of_path(state, "collectives.basis"), basis_text(state.words, chart), is_measured ? Claim::measured : Claim::estimate);
  if (state.answer.mapping && state.answer.mapping->is_better)
    say("collectives.mapping", name_of_path(state, "collectives.mapping"), mapping_text(state.words, *state.answer.mapping), Claim::estimate);
  if (chart.measured.empty()) return;
  if (chart.worst_error > 0) say("collectives.measured", name_of_path(state, "collectives.measured"), errors_text(state.words, chart), Claim::measured);
  constexpr std::size_t kMost = 64;
  for (std::size_t i = 0; i < chart.measured.size() && i < kMost; ++i) {
    const CollectiveChart::Measured& m = chart.measured[i];
    const bool alone = m.predicted.value <= 0;
    say("collectives.points." + std::to_string(i), state.words.fill("path.collectives.size", {{"s", format_message_size(m.size)}}),
        state.words.fill(alone ? "chart.point_alone" : "chart.point", {{"m", format_seconds(m.time)},
                                                                       {"p", format_seconds(m.predicted)},
                                                                       {"e", signed_percent(m.predicted / m.time - 1)}}),
        Claim::measured);
  }
}

// The step in time for those who do not see it: the sums, and what was pressed.
void add_timeline(std::vector<Row>& rows, const AppState& state) {
  const StepTimeline& t = state.answer.timeline;
  const auto say = [&](std::string path, std::string label, std::string words) {
    rows.push_back({"time", std::move(path), std::move(label), std::move(words), "", name_of(Claim::estimate), 0, true});
  };
  say("time.line", name_of_path(state, "time.line"), timeline_text(state.words, t));
  for (std::size_t i = 0; i < t.waits.size(); ++i)
    say("time.waits." + std::to_string(i), state.words.fill("time.wait", {{"r", state.words.said("wait.", t.waits[i].reason)}}), wait_text(t.waits[i]));
  if (const PlaceText at = time_place_text(state.words, t, state.answer.estimate, state.answer.pressed); !at.what.empty())
    say("time.pressed", name_of_path(state, "time.pressed"), at.why.empty() ? at.what : at.what + " · " + at.why);
  if (state.answer.scaling) say("time.scaling", name_of_path(state, "time.scaling"), scaling_text(state.words, *state.answer.scaling));
}

}  // namespace

std::vector<Row> result_rows(const AppState& state) {
  const Answer& a = state.answer;
  std::vector<Row> rows;
  for (const Explanation& e : all_explanations(a.plan, state.constants, a.estimate)) {
    if (e.key.ends_with(".low") || e.key.ends_with(".high") || e.key.starts_with("wiring.")) continue;  // the drawing shows wiring
    rows.push_back({e.key.substr(0, e.key.find('.')), e.key, name_of_path(state, e.key),
                    value_text(e.result, e.unit, state.view.unit), e.unit, name_of(e.kind), e.result});
    if (e.key != "memory.allocated_bytes") continue;
    const auto say = [&](const char* path, std::string words) {
      rows.push_back(
          {"memory", path, name_of_path(state, path), std::move(words), "", name_of(Claim::estimate), 0, true});
    };
    const auto fullest = static_cast<std::size_t>(a.estimate.memory.worst_stage);
    say("memory.peak_at", place_text(state, a.estimate.stage_memory[fullest].place));
    say("memory.timeline", line_text(state));
  }
  add_timeline(rows, state);
  add_chart(rows, state);
  add_nccl(rows, state);
  return rows;
}

}  // namespace wireplan
