#include "web/adopt.hpp"

#include <algorithm>
#include <numeric>

#include "core/text/plan_json.hpp"
#include "core/text/read_profile.hpp"

namespace wireplan {

namespace {

// What edits start from: the document as it is, or the last that was right.
Json base_of(const AppState& state) { return state.is_stale() ? write_plan(state.answer.plan) : state.document; }

Json& object_at(Json& parent, const char* key) {
  Json& part = parent[key];
  if (!part.is_object()) part = Json::object();
  return part;
}

void follow(Adopted& adopted, Json& part, const std::string& section, const char* key, Count from, Count to) {
  if (from == to) return;
  part[key] = to;
  const auto text = [](Count n) { return format_exact(static_cast<double>(n)); };
  adopted.followed.push_back({section + "." + key, text(from), text(to)});
}

// Splits that divide the GPUs, as near to those of before as that allows; data takes the rest, the batch what data shares evenly.
void follow_cluster(Adopted& adopted, Json& document, const Plan& before, Count gpus, Count per_node) {
  object_at(document, "training");  // both there before either is held: a new key moves its neighbours
  Json &parallel = object_at(document, "parallel"), &training = document["training"];
  for (const char* key : {"data", "placement", "shard_group"}) parallel.erase(key);
  const Parallel& p = before.parallel;
  const Count tensor = std::gcd(p.tensor, per_node), pipeline = std::gcd(p.pipeline, gpus / tensor),
              context = std::gcd(p.context, gpus / tensor / pipeline), data = gpus / tensor / pipeline / context;
  follow(adopted, parallel, "parallel", "tensor", p.tensor, tensor);
  follow(adopted, parallel, "parallel", "pipeline", p.pipeline, pipeline);
  follow(adopted, parallel, "parallel", "context", p.context, context);
  follow(adopted, parallel, "parallel", "expert", p.expert, std::gcd(p.expert, data * context));
  const Count at_once = before.training.micro_batch_size * data, batch = before.training.global_batch_size;
  const Count steps = std::max<Count>(1, (batch + at_once / 2) / std::max<Count>(at_once, 1));
  follow(adopted, training, "training", "global_batch_size", batch, steps * at_once);
}

Errors adopt_cluster(AppState& state, Adopted& adopted, Json cluster) {
  const Result<Cluster> read = read_cluster(cluster, state.presets, "cluster");
  if (!read) return read.errors();
  Json document = base_of(state);
  const Cluster &now = state.answer.plan.cluster, &then = read.value();
  Count nodes = then.nodes;
  if (cluster.is_string()) cluster = Json{{"node", cluster}};
  // One node that was looked at stands for all of the cluster.
  if (nodes == 1 && now.nodes > 1) {
    nodes = now.nodes;
    cluster["nodes"] = nodes;
    const Json whole = write_plan(state.answer.plan);
    if (!then.network) cluster["network"] = whole["cluster"]["network"];
  }
  document["cluster"] = std::move(cluster);
  follow_cluster(adopted, document, state.answer.plan, nodes * then.gpus_per_node, then.gpus_per_node);
  return take_document(state, std::move(document));
}

Errors adopt_model(AppState& state, Json model) {
  Json document = base_of(state);
  document["model"] = std::move(model);
  return take_document(state, std::move(document));
}

Errors adopt_profile(AppState& state, const Json& json) {
  Result<Profile> read = read_profile(json, "profile");
  if (!read) return read.errors();
  Json document = base_of(state);
  if (document["cluster"].is_string()) document["cluster"] = Json{{"node", document["cluster"]}};
  Profile& profile = read.value();
  if (const auto& known = state.answer.plan.cluster.profile)
    for (const MeasuredCurve& c : known->curves) {
      const bool is_replaced = std::any_of(profile.curves.begin(), profile.curves.end(), [&](const MeasuredCurve& n) {
        return n.collective == c.collective && n.ranks == c.ranks && n.nodes == c.nodes && n.gpus == c.gpus;
      });
      if (!is_replaced) profile.curves.push_back(c);
    }
  document["cluster"]["profile"] = write_profile(profile);
  if (Errors wrong = take_document(state, std::move(document)); !wrong.empty()) return wrong;
  // Show what was measured: in place of what is shown where that was not.
  if (!state.answer.chart.measured.empty()) return {};
  for (const ChartChoice& c : chart_choices(state.answer.plan, state.answer.estimate))
    if (std::any_of(profile.curves.begin(), profile.curves.end(), [&](const MeasuredCurve& m) {
          return m.collective == c.collective && m.ranks == c.ranks && m.nodes == c.nodes;
        })) {
      apply(state, {"view.shown", c.key});
      break;
    }
  return {};
}

// [[path, value], …], all at once: some are valid only together.
Errors adopt_edits(AppState& state, const Json& edits) {
  Json document = base_of(state);
  if (!edits.is_array()) return {{"", value_text(edits), "an array of [path, value]", value_text(edits) + " is no list of edits"}};
  for (const Json& edit : edits) {
    if (!edit.is_array() || edit.size() != 2 || !edit[0].is_string()) return {{"", value_text(edit), "[path, value]", value_text(edit) + " is no edit"}};
    if (Errors wrong = set_path(document, edit[0].get_ref<const std::string&>(), dump_json_compact(edit[1])); !wrong.empty()) return wrong;
  }
  return take_document(state, std::move(document));
}

}  // namespace

Adopted adopt(AppState& state, std::string_view kind, std::string_view json) {
  Adopted adopted;
  Result<Json> read = parse_json(json);
  if (!read) {
    adopted.errors = read.errors();
    return adopted;
  }
  const std::size_t moment = state.moment;
  const Json before = state.document;
  adopted.errors = kind == "cluster"   ? adopt_cluster(state, adopted, std::move(read.value()))
                   : kind == "model"   ? adopt_model(state, std::move(read.value()))
                   : kind == "profile" ? adopt_profile(state, read.value())
                   : kind == "edits"   ? adopt_edits(state, read.value())
                                       : take_document(state, std::move(read.value()));
  if (!adopted.errors.empty()) adopted.followed.clear();
  adopted.changed = adopted.errors.empty() && (state.moment != moment || state.document != before);
  return adopted;
}

}  // namespace wireplan
