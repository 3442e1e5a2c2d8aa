#include "web/state.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/cost/wiring.hpp"
#include "core/text/link.hpp"
#include "core/text/plan_json.hpp"
#include "web/sentence.hpp"

namespace wireplan {

namespace {

constexpr std::size_t kHistory = 200;

// Removes a dotted path, so that its default holds again.
void erase_path(Json& document, std::string_view path) {
  Json* at = &document;
  for (std::size_t dot; (dot = path.find('.')) != path.npos; path.remove_prefix(dot + 1)) {
    const auto next = at->find(path.substr(0, dot));
    if (next == at->end() || !next->is_object()) return;
    at = &*next;
  }
  if (at->is_object()) at->erase(std::string(path));
}

void set_number(Json& document, std::string_view path, Count value) {
  set_path(document, path, format_exact(static_cast<double>(value)));
}

// The layouts that stand for one another when the framework changes.
std::string_view sharding_under(Framework framework, DataSharding sharding) {
  const bool full = shards_parameters(sharding);
  switch (framework) {
    case Framework::megatron:
      return full ? "fsdp" : sharding == DataSharding::ddp ? "ddp" : "zero1";
    case Framework::deepspeed:
      return full ? "zero3" : name_of(sharding);
    case Framework::pytorch:
      break;
  }
  return full ? "fsdp" : name_of(sharding);
}

// What of the document no longer means what it did, after `path` was set: fields that follow others start anew.
void let_follow(AppState& state, std::string_view path) {
  Json& d = state.document;
  const Plan& before = state.answer.plan;
  const auto forget = [&](std::initializer_list<std::string_view> paths) {
    for (const std::string_view p : paths) erase_path(d, p);
  };
  if (path == "parallel.framework") {
    forget({"parallel.gradient_sync", "parallel.overlap", "parallel.moe_dispatcher", "training.cuda_graphs", "parallel.shard_group", "training.implementation",
            "training.kernels"});
    if (const auto framework = value_named<Framework>(document_text(state, path)))
      set_path(d, "parallel.data_sharding", sharding_under(*framework, before.parallel.data_sharding));
  } else if (path == "parallel.data_sharding") {
    forget({"parallel.gradient_sync", "parallel.overlap"});
    forget({"parallel.shard_group"});
    for (const Alternative& a : state.answer.shardings)  // how many ranks share a copy stands beside the answer
      if (a.key == document_text(state, path) && a.plan.parallel.shard_group > 0)
        set_number(d, "parallel.shard_group", a.plan.parallel.shard_group);
  } else if (path == "training.implementation") {
    forget({"training.kernels"});
  } else if (path == "parallel.tensor" || path == "parallel.pipeline" || path == "parallel.context" ||
             path == "cluster.gpus_per_node" || path == "cluster.nodes") {
    forget({"parallel.data", "parallel.placement", "parallel.shard_group"});
    if (path == "cluster.gpus_per_node") forget({"cluster.gpus"});
  } else if (path == "cluster.node") {
    // The same number of GPUs where the new node has them.
    forget({"parallel.data", "parallel.placement", "parallel.shard_group", "cluster.gpus_per_node", "cluster.gpus"});
    if (const Result<Node> node = state.presets.node(document_text(state, path)))
      set_number(d, "cluster.gpus_per_node", std::min(node.value().gpus, before.cluster.gpus_per_node));
  } else if (path == "parallel.data") {
    // Fewer ranks than the node has GPUs leave the others idle.
    const Count data = std::atoll(document_text(state, path).c_str());
    const Count most = static_cast<Count>(before.cluster.nodes) * before.cluster.node.gpus;
    if (data <= 0 || data > most) return;  // the reader says what is wrong with it
    const Count gpus = data * before.parallel.tensor * before.parallel.pipeline * before.parallel.context;
    if (gpus % before.cluster.nodes == 0 && gpus / before.cluster.nodes <= before.cluster.node.gpus) {
      forget({"parallel.placement", "parallel.shard_group", "cluster.gpus"});
      set_number(d, "cluster.gpus_per_node", gpus / before.cluster.nodes);
    }
  }
}

int most_waited_for(const Estimate& e) {
  int best = -1;
  const auto weight = [&](int i) {
    const CommunicationRow& row = e.communication[static_cast<std::size_t>(i)];
    return std::pair(row.exposed, row.time.value);
  };
  for (int i = 0; i < static_cast<int>(std::min(e.communication.size(), e.cost.messages.size())); ++i)
    if (best < 0 || weight(i) > weight(best)) best = i;
  return best;
}

// What was chosen may have gone with an edit: then what is waited for most. A curve of the profile leaves the wiring as it is.
void choose_shown(AppState& state, const std::string& name) {
  Answer& a = state.answer;
  std::string& shown = state.view.shown;
  const std::vector<ChartChoice> choices = chart_choices(a.plan, a.estimate);
  const bool is_there = std::any_of(choices.begin(), choices.end(), [&](const ChartChoice& c) {
    return c.key == shown && (name.empty() || c.name == name);
  });
  if (!is_there) shown.clear();
  constexpr std::string_view kRow = "row.";
  a.shown_message = shown.starts_with(kRow) ? std::atoi(shown.c_str() + kRow.size()) : most_waited_for(a.estimate);
  const std::string key = !shown.empty() ? shown : a.shown_message >= 0 ? std::string(kRow) + std::to_string(a.shown_message) : "";
  a.chart = collective_chart(a.plan, a.estimate, state.constants.links, key);
}

// Of the row that was chosen, so that it is known again after an edit; "" when none was.
std::string name_of_shown(const AppState& state) {
  const std::vector<CommunicationRow>& rows = state.answer.estimate.communication;
  const auto row = static_cast<std::size_t>(std::max(state.answer.shown_message, 0));
  return state.view.shown.starts_with("row.") && row < rows.size() ? std::string(rows[row].name) : std::string();
}

void explain_shown(AppState& state) {
  Answer& a = state.answer;
  a.explanation.reset();
  if (state.view.explain.empty()) return;
  if (Result<Explanation> found = explain(a.plan, state.constants, a.estimate, state.view.explain))
    a.explanation = std::move(found.value());
}

// Reads and judges the document; answers it when nothing is wrong.
void evaluate(AppState& state) {
  Result<Plan> read = read_plan(state.document, state.presets);
  if (!read) {
    state.errors = read.errors();
    return;
  }
  state.errors.clear();
  Answer& a = state.answer;
  const std::string shown = name_of_shown(state);
  a.plan = std::move(read.value());
  a.estimate = estimate(a.plan, state.constants);
  a.shardings = sharding_alternatives(a.plan, state.constants);
  a.wirings = wiring_alternatives(a.plan, state.constants);
  a.recipes = recipe_alternatives(a.plan, state.constants);
  a.lines = memory_timeline(a.plan, a.estimate);
  a.timeline = step_timeline(a.plan, a.estimate, state.constants.efficiency);
  a.pressed = {};
  a.wiring = prepare(a.plan.cluster, state.constants.links);
  a.sentence = sentence_in(state.words, a.plan, a.estimate, state.view.unit);
  choose_shown(state, shown);
  a.mapping.reset();
  a.scaling.reset();
  a.nccl_request = state.view.nccl ? nccl_request(a.plan.cluster) : "";
  explain_shown(state);
}

void remember(AppState& state) {
  state.history.resize(std::min(state.history.size(), state.moment + 1));
  state.history.push_back(state.document);
  if (state.history.size() > kHistory) state.history.erase(state.history.begin());
  state.moment = state.history.size() - 1;
}

// Takes one of the plans that stand beside the answer: only the part that makes the difference.
bool take_alternative(AppState& state, std::string_view kind, std::string_view key) {
  const auto& list = kind == "strategy" ? state.answer.shardings
                     : kind == "wiring" ? state.answer.wirings
                                        : state.answer.recipes;
  const auto found = std::find_if(list.begin(), list.end(), [&](const Alternative& a) { return a.key == key; });
  if (found == list.end() || (found->chosen && !state.is_stale())) return false;
  Plan plan = found->plan;
  if (kind == "wiring" && !found->chosen) plan.cluster.node.id.clear();  // no longer the node of that name
  const Json whole = write_plan(plan);
  if (kind == "wiring") state.document["cluster"] = whole["cluster"];
  if (kind == "recipe")
    for (const char* field :
         {"parameter_dtype", "gradient_dtype", "optimizer", "optimizer_state_dtype", "master_weights_dtype"})
      state.document["training"][field] = whole["training"][field];
  if (kind == "strategy") {
    set_path(state.document, "parallel.data_sharding", key);
    let_follow(state, "parallel.data_sharding");
  }
  return true;
}

// The best mapping of ranks to GPUs: what states it.
bool take_mapping(AppState& state) {
  const std::optional<PlacementAnswer>& found = state.answer.mapping;
  if (!found || !found->is_better) return false;
  if (state.document["cluster"].is_string()) state.document["cluster"] = Json{{"node", state.document["cluster"]}};
  if (!state.document["parallel"].is_object()) state.document["parallel"] = Json::object();
  const auto state_list = [&](const char* part, const char* key, const std::vector<int>& gpus) {
    if (gpus.empty())
      state.document[part].erase(key);
    else
      state.document[part][key] = gpus;
  };
  state_list("cluster", "gpus", found->best.gpus);
  state_list("parallel", "placement", found->best.placement);
  if (found->best.order != found->current.order) state.document["parallel"]["order"] = found->best.order;
  return true;
}

// "4k" tokens are 4096.
std::string plain_number(std::string_view path, std::string_view value) {
  std::string digits(value);
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  if (path != "training.sequence_length" || digits.size() < 2 || (digits.back() | 32) != 'k') return digits;
  digits.pop_back();
  if (digits.find_first_not_of("0123456789") != digits.npos || digits.size() > 6) return std::string(value);
  return std::to_string(std::stol(digits) * 1024);
}

bool edit_plan(AppState& state, const Edit& edit) {
  const std::string_view path = edit.path;
  const std::string_view kind = path.substr(0, path.find('.'));
  const Json before = state.document;
  if (kind == "strategy" || kind == "wiring" || kind == "recipe") {
    const std::string_view key =
        path.size() > kind.size() ? path.substr(kind.size() + 1) : std::string_view(edit.value);
    if (!take_alternative(state, kind, key)) return false;
  } else if (kind == "mapping") {
    if (state.is_stale() || !take_mapping(state)) return false;
  } else {
    const bool is_number = !edit.value.empty() && edit.value.find_first_not_of("0123456789,kK") == std::string::npos;
    if (Errors wrong = set_path(state.document, path, is_number ? plain_number(path, edit.value) : edit.value);
        !wrong.empty()) {
      state.errors = std::move(wrong);
      return true;
    }
    if (state.document == before) return false;
    let_follow(state, path);
  }
  remember(state);
  evaluate(state);
  return true;
}

void speak(AppState& state, const std::string& language) {
  state.view.language = language;
  state.words = Language(state.presets, language);
  state.answer.sentence = sentence_in(state.words, state.answer.plan, state.answer.estimate, state.view.unit);
}

// "from to": shares of the step.
void show_time(AppState& state, const std::string& value) {
  char* end = nullptr;
  const double from = std::strtod(value.c_str(), &end), to = std::strtod(end, nullptr);
  state.view.time = to > from ? within_step(state.answer.timeline, {from, to}) : TimeWindow{0, 0};
}

// "lane block", with "gap" behind them for what is before the block. What is not seen moves into the middle.
void press_time(AppState& state, const std::string& value) {
  Answer& a = state.answer;
  char* end = nullptr;
  const long lane = std::strtol(value.c_str(), &end, 10), block = std::strtol(end, &end, 10);
  const TimePlace at{static_cast<int>(lane), static_cast<int>(block), std::string_view(end).ends_with("gap")};
  a.pressed = a.timeline.block_of(at) ? at : TimePlace{};
  if (!a.pressed || a.timeline.total.value <= 0) return;
  const TimeWindow span = a.timeline.span_of(at), seen = shown_time(state);
  const double middle = (span.from + span.to) / 2 / a.timeline.total.value;
  if (middle < seen.from || middle > seen.to) state.view.time = within_step(a.timeline, {middle - seen.width() / 2, middle + seen.width() / 2});
}

bool edit_view(AppState& state, std::string_view key, const std::string& value) {
  ViewState& view = state.view;
  if (key == "theme")
    view.is_dark = value == "dark";
  else if (key == "contrast")
    view.more_contrast = value == "more";
  else if (key == "unit")
    view.unit = value == "GiB" ? ByteUnit::GiB : ByteUnit::GB;
  else if (key == "language" && (value == "en" || value == "vi"))
    return speak(state, value), true;
  else if (key == "explain")
    view.explain = value, view.asked = true;
  else if (key == "shown")
    view.shown = value;
  else if (key == "wires")
    view.nccl = value == "nccl";
  else if (key == "nccl_graph")
    view.nccl_graph = value, view.nccl_picture = 0;
  else if (key == "nccl_picture")
    view.nccl_picture = std::max(0, std::atoi(value.c_str()));
  else if (key == "stage")
    view.stage = std::atoi(value.c_str());
  else if (key == "time")
    show_time(state, value);
  else if (key == "time.pressed")
    press_time(state, value);
  else if (key == "panels")
    view.panels = value;
  else if (key == "readonly")
    view.readonly = value == "1";
  else if (key == "section")
    view.section = view.section == value ? "" : value;
  else
    return false;
  if (key == "unit") speak(state, view.language);
  if (key == "wires") state.answer.nccl_request = view.nccl ? nccl_request(state.answer.plan.cluster) : "";
  if (key == "explain") {
    explain_shown(state);
    // A row of communication that is asked about is also drawn.
    constexpr std::string_view kRows = "communication.";
    if (value.starts_with(kRows)) view.shown = "row." + value.substr(kRows.size(), value.find('.', kRows.size()) - kRows.size());
  }
  if (key == "shown" || key == "explain") choose_shown(state, "");
  return true;
}

bool show_moment(AppState& state, std::size_t moment) {
  if (moment >= state.history.size()) return false;
  state.moment = moment;
  state.document = state.history[moment];
  evaluate(state);
  return true;
}

bool open_scenario(AppState& state, std::string_view id) {
  Result<Json> scenario = parse_json(state.presets.text("scenarios", id));
  if (!scenario || !scenario.value().contains("plan")) {
    state.errors = {
        {"", value_text(Json(id)), "a scenario or a link", "There is no scenario " + value_text(Json(id)) + "."}};
    return false;
  }
  // The story counts in GB, as its article does; all else in what the tools beside the page print.
  state.view.unit = scenario.value().value("unit", id == "story" ? "GB" : "GiB") == "GB" ? ByteUnit::GB : ByteUnit::GiB;
  state.document = Json(scenario.value()["plan"]);
  remember(state);
  evaluate(state);
  return true;
}

}  // namespace

void start(AppState& state, std::string_view link) {
  if (Result<Constants> constants = state.presets.constants()) state.constants = std::move(constants.value());
  state.catalogue = read_catalogue(state.presets);
  open_scenario(state, "story");
  if (link.size() < 2 || !open_plan(state, link) || state.is_stale()) return;
  state.history.erase(state.history.begin(), state.history.end() - 1);  // the link is where this visit begins
  state.moment = 0;
}

bool open_plan(AppState& state, std::string_view link) {
  state.view.stage = -1;
  state.view.time = {0, 0};
  if (!looks_like_link(link)) return open_scenario(state, link);
  Result<ParsedLink> parsed = parse_link(link);
  if (!parsed) {
    state.errors = parsed.errors();
    return false;
  }
  if (!parsed.value().plan.empty()) {
    state.view.unit = ByteUnit::GiB;
    state.document = std::move(parsed.value().plan);
    remember(state);
    evaluate(state);
  }
  for (const auto& [key, value] : parsed.value().view) {
    if (key == "lang") edit_view(state, "language", value);
    if (key == "u") edit_view(state, "unit", value == "gb" ? "GB" : "GiB");
    if (key == "theme") edit_view(state, "theme", value);
  }
  return true;
}

bool apply(AppState& state, const Edit& edit) {
  if (edit.path.starts_with("view.")) return edit_view(state, std::string_view(edit.path).substr(5), edit.value);
  return !state.view.readonly && edit_plan(state, edit);
}

bool find_mapping(AppState& state) {
  constexpr int kMostGpus = 8;  // more are searched too slowly to be waited for
  Answer& a = state.answer;
  if (a.mapping || a.shown_message < 0) return false;
  if (a.plan.cluster.gpus_per_node > kMostGpus) return false;
  a.mapping = best_placement(a.plan, state.constants);
  return a.mapping->is_better;
}

bool find_scaling(AppState& state) {
  constexpr int kFurther = 4;  // times the nodes, where a network joins more
  Answer& a = state.answer;
  if (a.scaling) return false;
  const Cluster& c = a.plan.cluster;
  a.scaling = scaling(a.plan, state.constants, ScalingMode::weak, c.network ? std::min(kFurther * c.nodes, kMostScalingNodes) : 0);
  return true;
}

TimeWindow shown_time(const AppState& state) { return state.view.time.width() > 0 ? state.view.time : state.answer.timeline.first; }

bool take_nccl(AppState& state, std::string_view request, std::string_view answer) {
  Answer& a = state.answer;
  if (request.empty() || request != a.nccl_request || state.known_nccl()) return false;
  const Result<Json> read = parse_json(answer);
  state.nccl = nccl_view(a.plan.cluster, std::string(request), read ? read.value() : Json());
  if (!read) state.nccl.errors = read.errors();
  state.view.nccl_picture = 0;
  return true;
}

Errors take_document(AppState& state, Json document) {
  if (Result<Plan> read = read_plan(document, state.presets); !read) return read.errors();
  state.document = std::move(document);
  remember(state);
  evaluate(state);
  return {};
}

bool undo(AppState& state) { return state.moment > 0 && show_moment(state, state.moment - 1); }
bool redo(AppState& state) { return show_moment(state, state.moment + 1); }

void reset(AppState& state) {
  state.document = state.history.empty() ? state.document : state.history.front();
  remember(state);
  evaluate(state);
}

std::string link_of(const AppState& state) {
  std::string link = format_link(state.answer.plan, state.presets);
  if (state.view.unit == ByteUnit::GB) link += "&u=gb";
  if (state.view.language != "en") link += "&lang=" + state.view.language;
  return link;
}

std::string document_text(const AppState& state, std::string_view path) {
  const Json* at = &state.document;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto next = at->is_object() ? at->find(path.substr(0, dot)) : at->end();
    if (next == at->end()) return {};
    at = &*next;
    path.remove_prefix(std::min(path.size(), dot + 1));
  }
  return at->is_string() ? at->get_ref<const std::string&>() : dump_json_compact(*at);
}

}  // namespace wireplan
