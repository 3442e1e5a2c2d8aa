#include "web/form.hpp"

#include <algorithm>

#include "core/describe/defaults.hpp"
#include "web/catalogue.hpp"
#include "web/legal.hpp"

namespace wireplan {

namespace {

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }

// Builds the table line by line; what all fields have in common happens here.
class Table {
 public:
  explicit Table(const AppState& state) : state_(state) {}

  Field& add(const char* section, const char* path, FieldKind kind, Look look, std::string plan_value) {
    Field f;
    f.section = section;
    f.path = path;
    f.kind = kind;
    f.look = look;
    f.label = state_.words["in." + f.path];
    // The document's own value where it is stated, so that a wrong one can be seen and mended.
    const std::string stated = state_.is_stale() ? document_text(state_, path) : "";
    f.value = stated.empty() || stated.front() == '{' ? std::move(plan_value) : stated;
    f.text = f.value;
    for (const Error& e : state_.errors)
      if (e.path == path || e.path.starts_with(f.path + ".")) f.error = e.text;
    fields_.push_back(std::move(f));
    return fields_.back();
  }

  Field& number(const char* section, const char* path, Count value, Count least, Count most, Count step,
                Neighbours next) {
    Field& f = add(section, path, FieldKind::number, Look::field, text_of(value));
    f.min = static_cast<double>(least);
    f.max = static_cast<double>(most);
    f.step = static_cast<double>(step);
    f.less = std::move(next.less);
    f.more = std::move(next.more);
    return f;
  }

  template <class E>
  Field& choice(const char* section, const char* path, Look look, E value, std::initializer_list<E> values) {
    Field& f = add(section, path, FieldKind::choice, look, std::string(name_of(value)));
    for (const E v : values) f.choices.push_back({.value = std::string(name_of(v)), .label = std::string(name_of(v))});
    return f;
  }

  void toggle(const char* section, const char* path, bool value) {
    Field& f = add(section, path, FieldKind::toggle, Look::segments, value ? "true" : "false");
    for (const char* v : {"false", "true"})
      f.choices.push_back({.value = v, .label = std::string(state_.words[*v == 't' ? "in.on" : "in.off"])});
  }

  std::vector<Field> take() { return std::move(fields_); }

 private:
  const AppState& state_;
  std::vector<Field> fields_;
};

// "none", "selective", "full" by their words; a count of layers as it is.
std::string recompute_value(const Recompute& r) {
  constexpr const char* kValues[] = {"none", "selective", "full"};
  if (r.kind <= RecomputeKind::full) return kValues[static_cast<std::size_t>(r.kind)];
  return (r.kind == RecomputeKind::every ? "every " : "full layers ") + text_of(r.n);
}

void add_model(Table& table, const AppState& state, const Catalogue& presets) {
  const Model& model = state.answer.plan.model;
  Field& f = table.add("model", "model", FieldKind::preset, Look::dropdown, model.id);
  f.choices = presets.models;
  f.text = !model.name.empty() ? model.name : !model.id.empty() ? model.id : std::string(state.words["in.own_model"]);
}

void add_training(Table& table, const AppState& state) {
  const Plan& plan = state.answer.plan;
  const Training& t = plan.training;
  const Language& words = state.words;
  constexpr Count kLongest = 1 << 24, kMostBatch = 1'000'000;
  table.number("training", "training.sequence_length", t.sequence_length, 1, kLongest, 1,
               doubling_neighbours(t.sequence_length, 16, kLongest));
  table.number("training", "training.micro_batch_size", t.micro_batch_size, 1, kMostBatch, 1,
               micro_batch_neighbours(plan));
  const Count at_once = t.micro_batch_size * plan.parallel.data;
  Field& global =
      table.number("training", "training.global_batch_size", t.global_batch_size, at_once, kMostBatch, at_once, {});
  if (t.global_batch_size > at_once) global.less = text_of(t.global_batch_size - at_once);
  if (t.global_batch_size + at_once <= kMostBatch) global.more = text_of(t.global_batch_size + at_once);
  global.hint = words.fill(
      "in.micro",
      {{"m", text_of(micro_batches(plan))}, {"n", text_of(plan.parallel.data)}, {"b", text_of(t.micro_batch_size)}});

  table.choice("training", "training.parameter_dtype", Look::dropdown, t.parameter_dtype,
               {DType::bf16, DType::fp16, DType::fp32, DType::fp8, DType::mxfp8, DType::nvfp4});
  table
      .choice("training", "training.gradient_dtype", Look::dropdown, t.gradient_dtype,
              {DType::bf16, DType::fp16, DType::fp32})
      .joined = true;
  table.choice("training", "training.optimizer", Look::dropdown, t.optimizer,
               {Optimizer::adamw, Optimizer::adam, Optimizer::adamw_8bit, Optimizer::adamw_8bit_paged, Optimizer::sgd,
                Optimizer::sgd_momentum, Optimizer::lion, Optimizer::adafactor, Optimizer::muon});
  table
      .choice("training", "training.optimizer_state_dtype", Look::dropdown, t.optimizer_state_dtype,
              {DType::fp32, DType::bf16, DType::fp16, DType::int8})
      .joined = true;
  Field& master = table.add("training", "training.master_weights_dtype", FieldKind::choice, Look::segments,
                            t.master_weights_dtype ? std::string(name_of(*t.master_weights_dtype)) : "null");
  master.choices = {{.value = "null", .label = std::string(words["in.none"])}, {.value = "fp32", .label = "fp32"}};
  Field& recompute =
      table.add("training", "training.recompute", FieldKind::choice, Look::segments, recompute_value(t.recompute));
  for (const char* v : {"none", "selective", "full"})
    recompute.choices.push_back({.value = v, .label = std::string(words[std::string("in.recompute.") + v])});
}

void add_layout(Table& table, const AppState& state) {
  const Parallel& p = state.answer.plan.parallel;
  const std::pair<const char*, Count> dimensions[] = {{"parallel.data", p.data},
                                                      {"parallel.tensor", p.tensor},
                                                      {"parallel.pipeline", p.pipeline},
                                                      {"parallel.context", p.context},
                                                      {"parallel.expert", p.expert}};
  for (const auto& [path, value] : dimensions) {
    Field& f = table.add("layout", path, FieldKind::choice, Look::grid, text_of(value));
    f.choices = layout_choices(state, std::string_view(path).substr(9));
  }
  Field& sharding = table.add("layout", "parallel.data_sharding", FieldKind::choice, Look::dropdown,
                              std::string(name_of(p.data_sharding)));
  sharding.text = sharding_label(p.data_sharding);
  for (const Alternative& a : state.answer.shardings)
    sharding.choices.push_back({.value = a.key, .label = a.label, .detail = a.implemented_by});
  table
      .choice("layout", "parallel.framework", Look::dropdown, p.framework,
              {Framework::pytorch, Framework::megatron, Framework::deepspeed})
      .joined = true;
}

void add_cluster(Table& table, const AppState& state, const Catalogue& presets) {
  const Cluster& c = state.answer.plan.cluster;
  Field& node = table.add("cluster", "cluster.node", FieldKind::preset, Look::dropdown, c.node.id);
  node.choices = presets.nodes;
  node.text = !c.node.name.empty() ? c.node.name : !c.node.id.empty() ? c.node.id : std::string(state.words["in.own_node"]);
  table.number("cluster", "cluster.nodes", c.nodes, 1, 100'000, 1, doubling_neighbours(c.nodes, 1, 100'000));
  table
      .number("cluster", "cluster.gpus_per_node", c.gpus_per_node, 1, c.node.gpus, 1,
              doubling_neighbours(c.gpus_per_node, 1, c.node.gpus))
      .joined = true;
  std::string chosen;
  for (const Alternative& a : state.answer.wirings)
    if (a.chosen) chosen = a.key;
  if (state.answer.wirings.empty()) return;
  Field& wiring = table.add("cluster", "wiring", FieldKind::choice, Look::tiles, chosen);
  for (const Alternative& a : state.answer.wirings) {
    const std::string key = "wire.tile." + a.key;
    wiring.choices.push_back({.value = a.key, .label = state.words.has(key) ? std::string(state.words[key]) : a.label});
  }
}

void add_more(Table& table, const AppState& state, const Catalogue& presets) {
  const Plan& plan = state.answer.plan;
  const Training& t = plan.training;
  Field& implementation =
      table.add("more", "training.implementation", FieldKind::choice, Look::dropdown, t.implementation);
  implementation.choices = presets.implementations;
  table.choice("more", "training.attention", Look::segments, t.attention, {Attention::flash, Attention::eager});
  table.choice("more", "training.loss", Look::dropdown, t.loss, {Loss::logits_fp32, Loss::fused, Loss::chunked});
  table.choice("more", "training.kernels", Look::dropdown, t.kernels,
               {Kernels::eager, Kernels::compiled, Kernels::fused});
  table.toggle("more", "parallel.sequence_parallel", plan.parallel.sequence_parallel);
  table.choice(
      "more", "parallel.pipeline_schedule", Look::dropdown, plan.parallel.pipeline_schedule,
      {PipelineSchedule::one_f_one_b, PipelineSchedule::gpipe, PipelineSchedule::interleaved, PipelineSchedule::zb_h1,
       PipelineSchedule::zb_h2, PipelineSchedule::zb_v, PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v});
  table.choice("more", "parallel.gradient_sync", Look::segments, plan.parallel.gradient_sync,
               {GradientSync::every, GradientSync::last});
}

}  // namespace

std::vector<Field> form_fields(const AppState& state) {
  Table table(state);
  const Catalogue& presets = state.catalogue;
  add_model(table, state, presets);
  add_training(table, state);
  add_layout(table, state);
  add_cluster(table, state, presets);
  add_more(table, state, presets);
  return table.take();
}

Errors errors_elsewhere(const AppState& state, const std::vector<Field>& fields) {
  Errors rest;
  for (const Error& e : state.errors) {
    const bool has_field = std::any_of(fields.begin(), fields.end(), [&](const Field& f) {
      return e.path == f.path || e.path.starts_with(f.path + ".");
    });
    if (!has_field) rest.push_back(e);
  }
  return rest;
}

}  // namespace wireplan
