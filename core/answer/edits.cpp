#include "core/answer/edits.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string recompute_value(const Recompute& r) {
  if (r.kind == RecomputeKind::full_layers || r.kind == RecomputeKind::every) return "{\"" + std::string(name_of(r.kind)) + "\": " + text_of(r.n) + "}";
  return quoted(name_of(r.kind));
}

}  // namespace

std::vector<Edit> layout_edits(const Plan& base, const Plan& plan) {
  std::vector<Edit> edits;
  const auto add = [&](const char* path, bool differs, std::string value) {
    if (differs) edits.push_back({path, std::move(value)});
  };
  const Cluster &c0 = base.cluster, &c1 = plan.cluster;
  add("cluster.nodes", c0.nodes != c1.nodes, text_of(c1.nodes));
  add("cluster.gpus_per_node", c0.gpus_per_node != c1.gpus_per_node, text_of(c1.gpus_per_node));
  const Parallel &a = base.parallel, &b = plan.parallel;
  add("parallel.data", a.data != b.data, text_of(b.data));
  add("parallel.tensor", a.tensor != b.tensor, text_of(b.tensor));
  add("parallel.pipeline", a.pipeline != b.pipeline, text_of(b.pipeline));
  add("parallel.context", a.context != b.context, text_of(b.context));
  add("parallel.expert", a.expert != b.expert, text_of(b.expert));
  add("parallel.expert_tensor", a.expert_tensor != b.expert_tensor, text_of(b.expert_tensor));
  add("parallel.pipeline_schedule", a.pipeline_schedule != b.pipeline_schedule, quoted(name_of(b.pipeline_schedule)));
  add("parallel.virtual_stages", a.virtual_stages != b.virtual_stages, text_of(b.virtual_stages));
  add("parallel.data_sharding", a.data_sharding != b.data_sharding, quoted(name_of(b.data_sharding)));
  add("parallel.shard_group", a.shard_group != b.shard_group, b.shard_group > 0 ? text_of(b.shard_group) : "null");
  add("parallel.sequence_parallel", a.sequence_parallel != b.sequence_parallel, b.sequence_parallel ? "true" : "false");
  add("parallel.order", a.order != b.order, quoted(b.order));
  add("parallel.placement", a.placement != b.placement, "null");
  const Training &s = base.training, &t = plan.training;
  add("training.micro_batch_size", s.micro_batch_size != t.micro_batch_size, text_of(t.micro_batch_size));
  // What was left out follows from the layout, which changes.
  const bool is_open = std::any_of(base.assumed.begin(), base.assumed.end(), [](const Assumption& x) { return x.path == "training.global_batch_size"; });
  add("training.global_batch_size", s.global_batch_size != t.global_batch_size || (is_open && !edits.empty()), text_of(t.global_batch_size));
  add("training.recompute", s.recompute != t.recompute, recompute_value(t.recompute));
  add("training.loss", s.loss != t.loss, quoted(name_of(t.loss)));
  add("training.offload.optimizer", s.offload.optimizer != t.offload.optimizer, t.offload.optimizer ? "true" : "false");
  add("training.offload.parameters", s.offload.parameters != t.offload.parameters, t.offload.parameters ? "true" : "false");
  add("training.offload.activations", s.offload.activations != t.offload.activations, t.offload.activations ? "true" : "false");
  return edits;
}

std::string layout_label(const Plan& plan) {
  const Parallel& p = plan.parallel;
  const Training& t = plan.training;
  std::vector<std::string> words;
  if (p.tensor > 1) words.push_back("TP " + text_of(p.tensor) + (p.sequence_parallel ? " + SP" : ""));
  if (p.pipeline > 1) {
    std::string stages = "PP " + text_of(p.pipeline);
    if (p.pipeline_schedule != PipelineSchedule::one_f_one_b) stages += ' ' + std::string(name_of(p.pipeline_schedule));
    if (p.virtual_stages > 1) stages += " × " + text_of(p.virtual_stages);
    words.push_back(std::move(stages));
  }
  if (p.context > 1) words.push_back("CP " + text_of(p.context));
  if (p.expert > 1) words.push_back("EP " + text_of(p.expert) + (p.expert_tensor > 1 ? " × " + text_of(p.expert_tensor) : ""));
  const Count ranks = p.data * p.context;
  if (ranks > 1 || words.empty() || p.data_sharding != DataSharding::ddp) {
    std::string data(sharding_label(p.data_sharding));
    if (p.shard_group > 0 && p.shard_group < ranks) data += ' ' + text_of(p.shard_group) + " × " + text_of(ranks / p.shard_group);
    else if (p.data > 1) data += ' ' + text_of(p.data);
    words.push_back(std::move(data));
  }
  if (p.order != "tp-cp-ep-dp-pp") words.push_back("order " + p.order);
  words.push_back("micro-batch " + text_of(t.micro_batch_size));
  switch (t.recompute.kind) {
    case RecomputeKind::none: break;
    case RecomputeKind::selective: words.push_back("selective recompute"); break;
    case RecomputeKind::full: words.push_back("full recompute"); break;
    case RecomputeKind::full_layers: words.push_back("full recompute of " + text_of(t.recompute.n) + (p.pipeline > 1 ? " layers a piece" : " layers")); break;
    case RecomputeKind::every: words.push_back("recompute of every " + text_of(t.recompute.n) + ". layer"); break;
  }
  if (t.loss != Loss::logits_fp32) words.push_back(std::string(name_of(t.loss)) + " loss");
  if (t.offload.parameters) words.push_back("parameters and optimizer on the host");
  else if (t.offload.optimizer) words.push_back("optimizer on the host");
  std::string label;
  for (const std::string& w : words) label += (label.empty() ? "" : ", ") + w;
  return label;
}

}  // namespace wireplan
