#include "core/describe/plan.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }
std::string text_of(double n) { return format_exact(n); }

void append(Errors& to, Errors from) { to.insert(to.end(), from.begin(), from.end()); }

// "data 3 × tensor 2", factors of 1 left out but for data.
std::string product_text(const Parallel& p, Count data, Count tensor) {
  std::string text = "data " + text_of(data);
  if (tensor > 1) text += " × tensor " + text_of(tensor);
  if (p.pipeline > 1) text += " × pipeline " + text_of(p.pipeline);
  if (p.context > 1) text += " × context " + text_of(p.context);
  return text;
}

// t·c·p·N = GPUs. All factors are at least 1 and the product is below 1e25, a double.
void check_product(Checks& check, const Plan& plan) {
  const Parallel& p = plan.parallel;
  const Count gpus = total_gpus(plan.cluster);
  const double product = product_of(p.data, p.tensor, p.pipeline, p.context);
  if (product == static_cast<double>(gpus)) return;

  std::string nearest;
  const double others = product_of(p.tensor, p.pipeline, p.context);
  const double without_tensor = product_of(p.pipeline, p.context);
  if (others <= static_cast<double>(gpus) && gpus % static_cast<Count>(others) == 0) {
    const Count fits = gpus / static_cast<Count>(others);
    nearest = product_text(p, fits, p.tensor);
  } else if (without_tensor <= static_cast<double>(gpus) && gpus % static_cast<Count>(without_tensor) == 0) {
    const Count rest = gpus / static_cast<Count>(without_tensor);
    Count tensor = 1;
    for (const Count d : divisors_of(rest, p.tensor)) tensor = d;
    nearest = product_text(p, rest / tensor, tensor);
  } else {
    nearest = "data " + text_of(gpus) + " with tensor, pipeline and context 1";
  }
  // Fewer GPUs of every node can take the layout as it is, or with the largest data that fits.
  const Count idle =
      product < static_cast<double>(gpus) ? gpus - static_cast<Count>(product) : gpus % std::min(p.data, gpus);
  if (idle > 0 && idle < gpus) nearest += ", or leave " + text_of(idle) + (idle == 1 ? " GPU idle" : " GPUs idle");
  check.fail("parallel.data", text_of(p.data), "data × tensor × pipeline × context = " + text_of(gpus) + " GPUs",
             product_text(p, p.data, p.tensor) + (others > 1 ? " = " + text_of(product) : "") + ", the cluster has " +
                 text_of(gpus) + (gpus == 1 ? " GPU. Nearest: " : " GPUs. Nearest: ") + nearest);
}

void check_placement(Checks& check, const Plan& plan) {
  const std::size_t ranks = plan.parallel.placement.size();
  if (ranks == 0 || static_cast<Count>(ranks) == total_gpus(plan.cluster)) return;
  check.fail("parallel.placement", text_of(static_cast<Count>(ranks)),
             "one GPU for each rank, " + text_of(total_gpus(plan.cluster)),
             "placement lists " + text_of(static_cast<Count>(ranks)) + " ranks, the cluster has " +
                 text_of(total_gpus(plan.cluster)) + " GPUs. Nearest: null");
}

void check_batch(Checks& check, const Plan& plan) {
  const Training& t = plan.training;
  const Count at_once = t.micro_batch_size * plan.parallel.data;
  if (t.global_batch_size % at_once == 0) return;
  const Count below = t.global_batch_size / at_once * at_once;
  check.fail("training.global_batch_size", text_of(t.global_batch_size),
             "a multiple of micro_batch_size × data, " + text_of(at_once),
             "global_batch_size " + text_of(t.global_batch_size) + " is no multiple of micro_batch_size " +
                 text_of(t.micro_batch_size) + " × data " + text_of(plan.parallel.data) + " = " + text_of(at_once) +
                 ". Nearest: " + (below > 0 ? text_of(below) + " or " : "") + text_of(below + at_once));
}

void check_heads(Checks& check, const Plan& plan) {
  const Count heads = plan.model.num_attention_heads, tensor = plan.parallel.tensor;
  if (heads % tensor == 0) return;
  check.fail("parallel.tensor", text_of(tensor), "a divisor of " + text_of(heads) + " attention heads",
             "tensor " + text_of(tensor) + " does not divide " + text_of(heads) +
                 " heads. Nearest: " + nearest_of(divisors_of(heads, heads), tensor));
}

// Layers divide over all stages, or layers + 2 do: embedding and head then take the place of one layer each.
bool layers_divide(Count layers, Count stages) { return layers % stages == 0 || (layers + 2) % stages == 0; }

void check_layers(Checks& check, const Plan& plan) {
  const Parallel& p = plan.parallel;
  const bool opaque = plan.model.opaque.has_value();
  const Count layers = opaque ? plan.model.opaque->units : plan.model.num_layers;
  if (p.pipeline == 1 && p.virtual_stages == 1) return;
  const double stages = product_of(p.pipeline, p.virtual_stages);
  if (stages <= static_cast<double>(layers + 2) && layers_divide(layers, static_cast<Count>(stages))) return;
  std::vector<Count> valid;
  for (Count n = 1; n * p.virtual_stages <= layers + 2; ++n)
    if (layers_divide(layers, n * p.virtual_stages)) valid.push_back(n);
  const std::string what = opaque ? "units" : "layers";
  check.fail("parallel.pipeline", text_of(p.pipeline),
             "pipeline × virtual_stages divides " + text_of(layers) + " or " + text_of(layers + 2),
             "pipeline " + text_of(p.pipeline) +
                 (p.virtual_stages > 1 ? " × virtual_stages " + text_of(p.virtual_stages) : "") + " divides neither " +
                 text_of(layers) + " " + what + " nor " + text_of(layers + 2) +
                 ". Nearest: " + (valid.empty() ? "virtual_stages 1" : nearest_of(valid, p.pipeline)));
}

void check_schedule(Checks& check, const Plan& plan) {
  const Parallel& p = plan.parallel;
  if (p.pipeline_schedule != PipelineSchedule::interleaved || p.virtual_stages < 2 ||
      plan.training.global_batch_size % (plan.training.micro_batch_size * p.data) != 0)
    return;
  // Megatron-LM's interleaved schedule walks the micro-batches in groups of the pipeline's length.
  const Count micro = micro_batches(plan);
  if (micro % p.pipeline == 0) return;
  const Count below = micro / p.pipeline * p.pipeline, unit = plan.training.micro_batch_size * p.data;
  check.fail("training.global_batch_size", text_of(plan.training.global_batch_size),
             "micro-batches in multiples of pipeline, " + text_of(p.pipeline),
             text_of(micro) + " micro-batches are no multiple of pipeline " + text_of(p.pipeline) +
                 ", as interleaved needs. Nearest: global_batch_size " +
                 (below > 0 ? text_of(below * unit) + " or " : "") + text_of((below + p.pipeline) * unit));
}

void check_experts(Checks& check, const Plan& plan) {
  const Parallel& p = plan.parallel;
  if (!plan.model.moe) {
    for (const auto& [key, value] :
         {std::pair{"parallel.expert", p.expert}, {"parallel.expert_tensor", p.expert_tensor}})
      if (value > 1)
        check.fail(key, text_of(value), "1 for a model without experts",
                   std::string(key).substr(9) + " " + text_of(value) + ": the model has no experts. Nearest: 1");
    return;
  }
  const Count experts = plan.model.moe->num_experts;
  if (experts % p.expert != 0)
    check.fail("parallel.expert", text_of(p.expert), "a divisor of " + text_of(experts) + " experts",
               "expert " + text_of(p.expert) + " does not divide " + text_of(experts) +
                   " experts. Nearest: " + nearest_of(divisors_of(experts, experts), p.expert));
  const double ranks = product_of(p.data, p.context, p.tensor), both = product_of(p.expert, p.expert_tensor);
  if (ranks > 1e9) return;  // the product rule has spoken
  if (both <= ranks && static_cast<Count>(ranks) % static_cast<Count>(both) == 0) return;
  std::vector<Count> valid;
  for (const Count n : divisors_of(static_cast<Count>(ranks), static_cast<Count>(ranks)))
    if (static_cast<Count>(ranks) % (n * p.expert_tensor) == 0 && experts % n == 0) valid.push_back(n);
  check.fail(
      "parallel.expert", text_of(p.expert), "expert × expert_tensor divides data × context × tensor, " + text_of(ranks),
      "expert " + text_of(p.expert) + (p.expert_tensor > 1 ? " × expert_tensor " + text_of(p.expert_tensor) : "") +
          " does not divide data × context × tensor = " + text_of(ranks) +
          ". Nearest: " + (valid.empty() ? "expert_tensor 1" : nearest_of(valid, p.expert)));
}

void check_groups(Checks& check, const Plan& plan) {
  const Parallel& p = plan.parallel;
  const double ranks = product_of(p.data, p.context);
  if (p.shard_group > 0 && ranks <= 1e9 && static_cast<Count>(ranks) % p.shard_group != 0)
    check.fail("parallel.shard_group", text_of(p.shard_group), "a divisor of data × context, " + text_of(ranks),
               "shard_group " + text_of(p.shard_group) + " does not divide data × context = " + text_of(ranks) +
                   ". Nearest: " +
                   nearest_of(divisors_of(static_cast<Count>(ranks), static_cast<Count>(ranks)), p.shard_group));
  const Count sequence = plan.training.sequence_length;
  if (sequence % p.context != 0)
    check.fail("parallel.context", text_of(p.context), "a divisor of sequence_length, " + text_of(sequence),
               "context " + text_of(p.context) + " does not divide sequence_length " + text_of(sequence) +
                   ". Nearest: " + nearest_of(divisors_of(sequence, sequence), p.context));
}

void check_lora(Checks& check, const Plan& plan) {
  const Lora& lora = *plan.training.lora;
  if (plan.model.opaque) {
    check.fail("training.lora", "{…}", "null for an opaque model",
               "an opaque model has no layers to adapt. Nearest: null");
    return;
  }
  const auto& targets = lora.targets;
  if (!is_gated(plan.model.mlp) && std::find(targets.begin(), targets.end(), LoraTarget::gate) != targets.end())
    check.fail("training.lora.targets", "\"gate\"",
               "q | k | v | o | up | down for mlp " + std::string(name_of(plan.model.mlp)),
               "mlp " + std::string(name_of(plan.model.mlp)) + " has no gate. Nearest: up");
  if (lora.rank > plan.model.hidden_size)
    check.fail("training.lora.rank", text_of(lora.rank), "at most hidden_size, " + text_of(plan.model.hidden_size),
               "lora.rank " + text_of(lora.rank) + " is more than hidden_size " + text_of(plan.model.hidden_size) +
                   ". Nearest: " + text_of(plan.model.hidden_size));
}

void check_recompute(Checks& check, const Plan& plan) {
  const Recompute& r = plan.training.recompute;
  const Count layers = plan.model.opaque ? plan.model.opaque->units : plan.model.num_layers;
  if (r.n <= layers || (r.kind != RecomputeKind::full_layers && r.kind != RecomputeKind::every)) return;
  const std::string key = r.kind == RecomputeKind::every ? "every" : "full_layers";
  check.fail("training.recompute." + key, text_of(r.n), "at most " + text_of(layers) + " layers",
             "recompute." + key + " " + text_of(r.n) + " is more than the " + text_of(layers) +
                 " layers there are. Nearest: " + text_of(layers));
}

void check_loss_chunks(Checks& check, const Plan& plan) {
  const auto& details = plan.training.details;
  const Count sequence = plan.training.sequence_length;
  if (!details || !details->loss_chunks || *details->loss_chunks <= sequence) return;
  check.fail("training.details.loss_chunks", text_of(*details->loss_chunks), "at most sequence_length, " + text_of(sequence),
             "loss_chunks " + text_of(*details->loss_chunks) + " cuts a sequence of " + text_of(sequence) + " tokens into more pieces than it has. Nearest: " + text_of(sequence));
}

// Every number the rules divide by or multiply is positive and small enough for products of two to be exact.
bool is_computable(const Plan& plan) {
  const Model& m = plan.model;
  const Training& t = plan.training;
  const Parallel& p = plan.parallel;
  constexpr Count kMost = 1'000'000'000, kMostLayers = 1'000'000;
  const auto small = [](auto... counts) { return ((counts >= 1 && counts <= kMost) && ...); };
  const Count layers = m.opaque ? m.opaque->units : m.num_layers;
  return small(t.sequence_length, t.micro_batch_size, t.global_batch_size, p.data, p.tensor, p.pipeline, p.context,
               p.expert, p.expert_tensor, p.virtual_stages, plan.cluster.nodes, plan.cluster.gpus_per_node) &&
         layers >= 1 && layers <= kMostLayers && (m.opaque || small(m.num_attention_heads, m.hidden_size)) &&
         (!m.moe || small(m.moe->num_experts)) && p.shard_group >= 0;
}

}  // namespace

Errors validate_between(const Plan& plan) {
  Errors errors;
  if (!is_computable(plan)) return errors;
  Checks check(errors, "");
  check_product(check, plan);
  check_placement(check, plan);
  check_batch(check, plan);
  if (!plan.model.opaque) check_heads(check, plan);
  check_layers(check, plan);
  check_schedule(check, plan);
  check_experts(check, plan);
  check_groups(check, plan);
  if (plan.training.lora) check_lora(check, plan);
  check_recompute(check, plan);
  check_loss_chunks(check, plan);
  return errors;
}

Errors validate(const Plan& plan) {
  Errors errors = validate(plan.model, "model");
  append(errors, validate(plan.training, "training"));
  append(errors, validate(plan.parallel, "parallel"));
  append(errors, validate(plan.cluster, "cluster"));
  append(errors, validate_between(plan));
  return errors;
}

}  // namespace wireplan
