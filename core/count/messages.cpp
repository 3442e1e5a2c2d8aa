#include "core/count/messages.hpp"

#include <algorithm>

#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

TensorList without_buffers(const TensorList& list) {
  TensorList kept;
  for (const Tensor& x : list)
    if (!x.is_buffer) kept.add(x);
  return kept;
}

}  // namespace

StageTraffic::StageTraffic(const Plan& p, Count stage) : plan(p), sizes_(group_sizes(p)) {
  const Model& model = p.model;
  const Parallel& parallel = p.parallel;
  const Training& training = p.training;
  micro_batches = std::max<Count>(wireplan::micro_batches(p), 1);
  syncs = parallel.gradient_sync == GradientSync::every ? micro_batches : 1;
  tokens = double(training.micro_batch_size) * double(training.sequence_length) /
           double(std::max<Count>(parallel.context, 1));
  activation = element_of(training.parameter_dtype);
  layers = stage_layers(model, parallel, stage);
  recomputed = recomputed_layers(model, parallel, training.recompute, stage);
  is_first = layers.embeddings > 0;
  is_last = layers.heads > 0;
  experts_apart = model.moe && !(parallel.expert == 1 && parallel.expert_tensor == parallel.tensor);

  const Storage storage = storage_of(model, parallel.framework);
  const double rows = double(padded_vocabulary(model, parallel.framework, parallel.tensor));
  dense_layer = on_rank(layer_tensors(model, false, storage), model, parallel);
  if (model.moe && !model.opaque)
    moe_layer = without_buffers(on_rank(layer_tensors(model, true, storage), model, parallel));
  const TensorList first = on_rank(embedding_tensors(model, rows), model, parallel),
                   last = on_rank(head_tensors(model, rows), model, parallel);
  if (is_first) embedding = first;
  if (is_last) head = last;
  if (is_last && !is_first && model.tie_word_embeddings && first.size() > 0) head.add(first[0]);
  if (training.lora) {
    const Storage separate{false, false, true};
    trained_dense_layer =
        adapter_tensors(on_rank(layer_tensors(model, false, separate), model, parallel), *training.lora);
    if (model.moe && !model.opaque)
      trained_moe_layer =
          adapter_tensors(on_rank(layer_tensors(model, true, separate), model, parallel), *training.lora);
  } else {
    trained_dense_layer = dense_layer;
    trained_moe_layer = moe_layer;
    for (const Tensor& x : embedding)  // a frozen table; learned positions are trained
      if (!training.switches.frozen_embedding || x.cut != Cut::rows) trained_embedding.add(x);
    trained_head = head;
  }
  messages.reserve(24);
}

bool StageTraffic::is_moe(Count layer) const {
  if (layers.moe == 0) return false;
  const Count every = std::max<Count>(plan.model.moe->every, 1);
  return every > 1 ? (layer + 1) % every == 0 : layer >= layers.dense;
}

void StageTraffic::add(std::string_view name, Collective collective, GroupKind group, Phase phase, double bytes,
                       double calls, Element element, bool overlappable, bool merge) {
  if (ranks(group) <= 1 || !(bytes > 0) || !(calls > 0)) return;
  const auto is_like = [&](const Message& m) {
    return m.phase == phase && m.group == group && m.collective == collective && m.element == element && m.name == name;
  };
  if (merge) {
    for (Message& m : messages) {
      if (m.bytes.value != bytes || !is_like(m)) continue;
      m.calls += calls;
      return;
    }
    int sizes = 0;
    Message* last = nullptr;
    for (Message& m : messages) {
      if (!is_like(m)) continue;
      ++sizes;
      last = &m;
    }
    if (sizes >= kMostSizes) {
      last->bytes = Bytes((last->bytes.value * last->calls + bytes * calls) / (last->calls + calls));
      last->calls += calls;
      return;
    }
  }
  messages.push_back({name, collective, group, phase, Bytes(bytes), calls, overlappable, element});
}

double bus_factor(Collective collective, int ranks) {
  if (ranks <= 1) return 0;
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::gather:
      return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
      break;
  }
  return 1;
}

std::vector<Message> model_messages(const Plan& plan, Count stage) {
  StageTraffic traffic(plan, stage);
  add_tensor_parallel(traffic);
  add_model_parallel(traffic);
  return std::move(traffic.messages);
}

std::vector<Message> stage_messages(const Plan& plan, Count stage) {
  StageTraffic traffic(plan, stage);
  add_tensor_parallel(traffic);
  add_model_parallel(traffic);
  const DataSharding sharding = plan.parallel.data_sharding;
  if (plan.parallel.framework == Framework::deepspeed)
    add_deepspeed(traffic);
  else if (sharding == DataSharding::ddp || sharding == DataSharding::zero1)
    add_data_parallel(traffic);
  else
    add_sharded(traffic);
  std::vector<Message> in_order;
  in_order.reserve(traffic.messages.size());
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::after_backward, Phase::optimizer})
    for (const Message& m : traffic.messages)
      if (m.phase == phase) in_order.push_back(m);
  return in_order;
}

namespace {

using GroupSizes = std::array<Count, kNames<GroupKind>.size()>;

double bytes_sent(const GroupSizes& sizes, const std::vector<Message>& messages) {
  double sum = 0;
  for (const Message& m : messages)
    sum += m.bytes.value * m.calls * bus_factor(m.collective, static_cast<int>(sizes[static_cast<std::size_t>(m.group)]));
  return sum;
}

}  // namespace

std::vector<Message> step_messages(const Plan& plan, Count* chosen) {
  std::vector<Message> busiest = stage_messages(plan, 0);
  if (chosen) *chosen = 0;
  const Count stages = plan.parallel.pipeline;
  if (stages <= 1) return busiest;
  const GroupSizes sizes = group_sizes(plan);
  double most = bytes_sent(sizes, busiest);
  // First, second and last stage differ (ends, dense first layers); the ones between are like the second.
  for (Count stage = 1; stage < stages; stage += std::max<Count>(stages - 2, 1)) {
    std::vector<Message> messages = stage_messages(plan, stage);
    const double sent = bytes_sent(sizes, messages);
    if (sent > most) {
      most = sent;
      busiest = std::move(messages);
      if (chosen) *chosen = stage;
    }
  }
  return busiest;
}

}  // namespace wireplan
