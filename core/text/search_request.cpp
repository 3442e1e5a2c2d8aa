#include "core/text/search_request.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "core/base/format.hpp"
#include "core/text/plan_defaults.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/reader.hpp"
#include "core/text/request.hpp"
#include "core/text/stated_cluster.hpp"

namespace wireplan {
namespace {

// What a fixed path takes out of the search.
constexpr struct { std::string_view path; Vary vary; } kFixed[] = {
    {"parallel.data_sharding", Vary::data_sharding}, {"parallel.shard_group", Vary::data_sharding}, {"parallel.tensor", Vary::tensor},
    {"parallel.pipeline", Vary::pipeline}, {"parallel.context", Vary::context}, {"parallel.expert", Vary::expert}, {"parallel.expert_tensor", Vary::expert},
    {"parallel.pipeline_schedule", Vary::pipeline_schedule}, {"parallel.virtual_stages", Vary::pipeline_schedule},
    {"parallel.sequence_parallel", Vary::sequence_parallel}, {"parallel.order", Vary::order},
    {"training.micro_batch_size", Vary::micro_batch_size}, {"training.recompute", Vary::recompute}, {"training.loss", Vary::loss}, {"training.offload", Vary::offload}};

bool is_of(std::string_view path, std::string_view part) { return path == part || (path.size() > part.size() && path.starts_with(part) && path[part.size()] == '.'); }

void read_vary(Reader& r, SearchOptions& options) {
  const Json* json = r.stated("vary");
  if (json == nullptr) return;
  if (!json->is_array() || json->empty()) return r.fail_type("vary", *json, "a list of " + names_listed<Vary>());
  options.vary = {};
  for (std::size_t i = 0; i < json->size(); ++i)
    if (Vary vary{}; r.name("vary." + std::to_string(i), &(*json)[i], vary)) options.vary.set(vary);
}

struct FixedField { std::string path; const Json* value; std::size_t edit; };  // edit: its place in the request

// An object fixes what it holds, field by field.
void add_fixed(std::vector<FixedField>& fields, const std::string& path, const Json& value, std::size_t edit) {
  if (!value.is_object() || value.empty()) return fields.push_back({path, &value, edit});
  for (const auto& [key, inner] : value.items()) add_fixed(fields, path + "." + key, inner, edit);
}

void read_fixed(Reader& r, Json& document, SearchOptions& options) {
  const Json* json = r.stated("fix");
  if (json == nullptr) return;
  if (!json->is_array()) return r.fail_type("fix", *json, "an array of [path, value]");
  std::deque<Json> objects;  // written as text, as the program's --fix has them
  std::vector<FixedField> fields;
  for (std::size_t i = 0; i < json->size(); ++i) {
    const Json& edit = (*json)[i];
    if (!edit.is_array() || edit.size() != 2 || !edit[0].is_string()) {
      r.fail_type("fix." + std::to_string(i), edit, "an array of [path, value]");
      continue;
    }
    const Json* value = &edit[1];
    if (value->is_string())
      if (Result<Json> read = parse_json(value->get_ref<const std::string&>()); read && read.value().is_object()) value = &objects.emplace_back(std::move(read.value()));
    add_fixed(fields, edit[0].get<std::string>(), *value, i);
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& [path, value, edit] = fields[i];
    const std::string at = "fix." + std::to_string(edit);
    const auto overlaps = [&](const FixedField& f) { return is_of(f.path, path) || is_of(path, f.path); };
    if (std::any_of(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), overlaps)) {
      r.fail(at, *value, "each path once", path + " is fixed twice");
      continue;
    }
    if (is_of(path, "cluster") && r.has("gpus")) {
      r.fail(at, *value, "gpus or cluster.…, not both", path + " is fixed beside a number of GPUs, which decides the cluster's size");
      continue;
    }
    for (Error& e : set_path(document, path, value->is_string() ? value->get<std::string>() : dump_json_compact(*value))) r.log().add(std::move(e));
    if (path == "parallel.data") options.is_data_fixed = true;
    for (const auto& [part, vary] : kFixed) {
      if (!is_of(path, part)) continue;
      if (r.has("vary") && options.vary.has(vary)) r.fail(at, *value, "fix or vary, not both", path + " is fixed and to be varied (" + std::string(name_of(vary)) + ")");
      else options.vary.set(vary, false);
    }
  }
}

// The cluster with so many GPUs: part of one node, or whole nodes.
Errors take_gpus(Json& cluster, Count gpus, const Presets& presets) {
  const Result<StatedCluster> stated = stated_cluster(cluster, presets);
  if (!stated) return stated.errors();
  const Count per_node = stated.value().cluster.gpus_per_node;
  if (gpus > per_node && gpus % per_node != 0) {
    const Count below = gpus / per_node * per_node;
    const std::string given = format_exact(static_cast<double>(gpus));
    return {{"gpus", given, "at most, or a multiple of, the " + format_exact(static_cast<double>(per_node)) + " GPUs of a node",
             given + " GPUs are no whole nodes of " + format_exact(static_cast<double>(per_node)) + ". Nearest: " + format_exact(static_cast<double>(below)) + " or " +
                 format_exact(static_cast<double>(below + per_node))}};
  }
  if (cluster.is_string()) cluster = Json{{"node", cluster}};
  cluster["nodes"] = gpus > per_node ? gpus / per_node : 1;
  cluster["gpus_per_node"] = gpus > per_node ? per_node : gpus;
  if (gpus < per_node && !stated.value().cluster.gpus.empty()) cluster["gpus"] = std::vector<int>(stated.value().cluster.gpus.begin(), stated.value().cluster.gpus.begin() + gpus);
  return {};
}

// 1, 2, 4 … GPUs of a node, then 1, 2, 4 … nodes, and all.
std::vector<Plan> on_fewer_gpus(const Plan& plan) {
  std::vector<Plan> plans;
  const auto add = [&](int nodes, int gpus_per_node) {
    Plan p = plan;
    p.cluster.nodes = nodes;
    p.cluster.gpus_per_node = gpus_per_node;
    if (static_cast<int>(p.cluster.gpus.size()) > gpus_per_node) p.cluster.gpus.resize(static_cast<std::size_t>(gpus_per_node));
    plans.push_back(std::move(p));
  };
  const Cluster& c = plan.cluster;
  for (int gpus = 1; gpus < c.gpus_per_node; gpus *= 2) add(1, gpus);
  for (int nodes = 1; nodes < c.nodes; nodes *= 2) add(nodes, c.gpus_per_node);
  add(c.nodes, c.gpus_per_node);
  return plans;
}

}  // namespace

Result<std::unique_ptr<AskedSearch>> asked_search(const Json& request, const Presets& presets) {
  auto asked = std::make_unique<AskedSearch>();
  ReadLog log;
  Reader r(log, request, "");
  r.require("plan", "a plan document, a scenario id or a link");
  Json stated_as = Json::object();
  for (const char* key : {"plan", "set"})
    if (const Json* json = r.find(key)) stated_as[key] = *json;
  if (!log.errors.empty()) return log.finished();
  Result<StatedDocument> stated = stated_document(stated_as, presets);
  if (!stated) return stated.errors();
  Json document = std::move(stated.value().document);
  asked->unit = stated.value().unit;
  asked->notes = std::move(stated.value().notes);
  Result<Plan> base = read_plan_parts(document, presets);
  if (!base) return base.errors();
  asked->base = std::move(base.value());

  SearchOptions& options = asked->options;
  r.read_name("objective", options.objective);
  read_vary(r, options);
  if (r.read("top", options.top) && (options.top < 1 || options.top > kMostTop))
    r.fail("top", *r.find("top"), "1 to 1000", "top " + value_text(*r.find("top")) + " is out of range. Nearest: " + (options.top < 1 ? "1" : "1000"));
  if (Verdict worst{}; r.read_name("verdict", worst)) {
    if (worst == Verdict::does_not_fit) r.fail("verdict", *r.find("verdict"), "fits | tight | may-not-fit", "a plan that does not fit is no answer. Nearest: may-not-fit");
    options.worst = worst;
  }
  r.read("points", asked->points);
  if (ByteUnit unit{}; r.has("unit") && r.read_name("unit", unit)) asked->unit = unit;

  // The batch is what is to be trained with, whatever the layout.
  document["training"]["global_batch_size"] = asked->base.training.global_batch_size;
  if (const Json* cluster = r.stated("cluster")) document["cluster"] = *cluster;
  read_fixed(r, document, options);
  Count gpus = 0;
  if (r.read("gpus", gpus)) {
    if (gpus < 1 || gpus > 1'000'000) r.fail("gpus", *r.find("gpus"), "1 to 1,000,000 GPUs", "gpus " + value_text(*r.find("gpus")) + " is out of range. Nearest: " + (gpus < 1 ? "1" : "1000000"));
    else
      for (Error& e : take_gpus(document["cluster"], gpus, presets)) log.add(std::move(e));
  }
  r.finish();
  if (!log.errors.empty()) return log.finished();
  Result<Plan> plan = read_plan_parts(document, presets);
  if (!plan) return plan.errors();
  const Result<Implementation> implementation = presets.implementation(implementation_id(plan.value().training.implementation));
  if (!implementation) return implementation.errors();
  options.can = implementation.value().can;
  // What --vary names is wanted, whether the code base has it or not.
  if (const Json* vary = r.stated("vary"); vary != nullptr) {
    options.can.tensor = options.can.pipeline = options.can.context = options.can.expert = options.can.offload = true;
  }
  asked->plans = options.objective == Objective::gpus || options.objective == Objective::cost ? on_fewer_gpus(plan.value()) : std::vector<Plan>{plan.value()};

  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();
  asked->constants = std::move(constants.value());
  return asked;
}

Result<Json> answer_search(const Json& request, const Presets& presets) {
  Result<std::unique_ptr<AskedSearch>> asked = asked_search(request, presets);
  if (!asked) return asked.errors();
  const AskedSearch& a = *asked.value();
  Search search(a.plans, a.options, a.constants);
  const std::shared_ptr<Search::Worker> worker = search.worker();
  while (search.pieces() > 0) {
    for (std::size_t i = 0; i < search.pieces(); ++i) search.work(i, *worker);
    search.finish_block();
  }
  return write_search(a, search, search_report(search, a.base, a.plans.back(), a.constants, a.unit), presets);
}

}  // namespace wireplan
