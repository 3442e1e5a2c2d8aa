#include "core/step/step.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"
#include "core/cost/memory.hpp"

namespace wireplan {

namespace {

constexpr bool is_model_parallel(GroupKind g) {
  return g == GroupKind::tensor || g == GroupKind::expert || g == GroupKind::expert_tensor || g == GroupKind::context || g == GroupKind::pipeline;
}

// Of the messages of one name and phase, the one whose call nothing can hide: before the first gather of a phase nothing has been
// gathered to compute with, after the last reduction nothing is left to compute.
bool bounds_its_phase(const std::vector<MessageCost>& messages, std::size_t i) {
  const Message& m = messages[i].message;
  const auto is_like = [&](const MessageCost& other) { return other.message.name == m.name && other.message.phase == m.phase; };
  const bool is_gather = m.collective == Collective::all_gather || m.collective == Collective::broadcast;
  const auto here = messages.begin() + static_cast<std::ptrdiff_t>(i);
  return is_gather ? std::none_of(messages.begin(), here, is_like) : std::none_of(here + 1, messages.end(), is_like);
}

// What shows of a message that stands on the critical path of its layer or stage, as a share of its time:
//   tensor parallel   a fixed share, less where the framework pipelines it with the product
//   expert parallel   dispatch and combine block the layer: all of it
//   context ring      what attention of the same block does not cover
//   pipeline          filling and draining the pipe, and a share of the hops in steady state
double exposed_share(const Plan& p, const EfficiencyConstants& k, const StepCost& cost, const MessageCost& c) {
  const double m = static_cast<double>(micro_batches(p)), stages = static_cast<double>(p.parallel.pipeline);
  switch (c.message.group) {
    case GroupKind::tensor: return p.parallel.overlap.tensor ? k.tensor_overlapped : k.tensor_exposed;
    case GroupKind::context: {
      const Seconds cover = k.overlap_window * (c.message.phase == Phase::forward ? 1.0 : 2.5) * m * cost.stages.front().attention_s;
      return c.total > cover ? (c.total - cover) / c.total : 0;
    }
    case GroupKind::pipeline: {
      const double steady = p.parallel.overlap.pipeline ? k.pipeline_overlapped : k.pipeline_exposed;
      const double hops = std::max(m * static_cast<double>(p.parallel.virtual_stages), stages - 1);
      return steady + (1 - steady) * (stages - 1) / hops;
    }
    default: return 1;
  }
}

// exposed = unavoidable + share·(total - unavoidable). Gradient reductions and parameter gathers run beside compute of their phase
// when the framework overlaps them: together they hide up to the compute of the phase, and each gets the same share of what is left.
void apply_exposure(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const double m = static_cast<double>(micro_batches(p));
  const auto is_hideable = [](const Message& message) { return message.overlappable && !is_model_parallel(message.group); };
  Seconds hideable_forward, hideable_backward;
  for (std::size_t i = 0; i < cost.messages.size(); ++i) {
    MessageCost& c = cost.messages[i];
    if (!is_hideable(c.message)) {
      c.share = exposed_share(p, k, cost, c);
      continue;
    }
    const double syncs = c.message.phase == Phase::forward || p.parallel.gradient_sync == GradientSync::every ? m : 1;
    if (bounds_its_phase(cost.messages, i)) c.unavoidable = c.total * (std::min(c.message.calls, syncs) / c.message.calls);
    (c.message.phase == Phase::forward ? hideable_forward : hideable_backward) += c.total - c.unavoidable;
  }
  const double backward_windows = p.parallel.gradient_sync == GradientSync::every || shards_parameters(p.parallel.data_sharding) ? m : 1;
  const Seconds window_forward = m * cost.forward, window_backward = k.overlap_window * backward_windows * cost.backward;
  for (MessageCost& c : cost.messages) {
    if (is_hideable(c.message)) {
      const bool is_forward = c.message.phase == Phase::forward;
      const Seconds hideable = is_forward ? hideable_forward : hideable_backward, window = is_forward ? window_forward : window_backward;
      c.share = hideable.value > 0 ? std::max(0.0, (hideable - window) / hideable) : 0;
    }
    c.exposed = c.unavoidable + c.share * (c.total - c.unavoidable);
    cost.exposed_communication += c.exposed;
  }
}

// Bubble as a multiple of Σ τ_i - τ_max. Source: [zerobubble24] Table 2 with forward, backward and weight gradient equally long;
// [dualpipe] for the last two. Kind: estimate. Valid: stages of similar length.
double bubble_factor(const Plan& p) {
  switch (p.parallel.pipeline_schedule) {
    case PipelineSchedule::one_f_one_b: case PipelineSchedule::gpipe: return 1;
    case PipelineSchedule::interleaved: return 1.0 / static_cast<double>(p.parallel.virtual_stages);
    case PipelineSchedule::zb_h1: return 1.0 / 3;      // (p-1)(F + B - 2W) of (p-1)(F + B), B = 2W = 2F
    case PipelineSchedule::zb_h2: case PipelineSchedule::zb_v: return 0;  // fill and drain only where p-1 or more micro-batches run
    case PipelineSchedule::dualpipe: case PipelineSchedule::dualpipe_v: return 1.0 / 3;  // (p/2 - 1)(FB + B - 3W) with FB = F + B
  }
  return 1;
}

// Bytes a rank of one stage moves between GPU and host in a step. Offloaded optimizer: gradients down, updated 16-bit weights up.
// Offloaded parameters: weights up for every forward and backward. Source: [zero-offload21] §4. Kind: estimate.
Bytes offload_traffic(const Plan& p, const StageParameters& stage, const StageParameters& trained) {
  const double ranks = shards_optimizer(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1;
  const double weight_ranks = shards_parameters(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1;
  double bytes = 0;
  if (p.training.offload.optimizer) bytes += trained.total() / ranks * (element_bytes(p.training.gradient_dtype) + 2);
  if (p.training.offload.parameters) bytes += 2 * static_cast<double>(micro_batches(p)) * stage.total() / weight_ranks * 2;
  return Bytes(bytes);
}

}  // namespace

StepCost step_cost(const Plan& p, const PreparedCluster& cluster, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                   const SequenceWork& work, const EfficiencyConstants& k) {
  StepCost cost;
  const double m = static_cast<double>(micro_batches(p));

  // The slowest stage sets the pace, the sum of all fills the pipe.
  Seconds slowest;
  cost.stages.reserve(stages.size());
  const ComputeRates rates = compute_rates(p, k);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool has_head = p.model.opaque ? i + 1 == stages.size() : stage_layers(p.model, p.parallel, static_cast<Count>(i)).heads > 0;
    cost.stages.push_back(stage_compute(p, work, rates, static_cast<Count>(i), stages[i], trained[i].total(), has_head, k));
    const ComputeCost& c = cost.stages.back();
    cost.stage_sum += c.forward + c.backward;
    if (c.forward + c.backward > slowest) {
      slowest = c.forward + c.backward;
      cost.forward = c.forward;
      cost.backward = c.backward;
      cost.launch = c.launch;
    }
    cost.optimizer = std::max(cost.optimizer, c.optimizer);
  }
  cost.compute = m * (cost.forward + cost.backward);
  cost.bubble_factor = stages.size() > 1 ? bubble_factor(p) : 0;
  cost.bubble = cost.bubble_factor * (cost.stage_sum - slowest);

  // Messages of one group kind share one ring.
  std::vector<std::pair<GroupKind, std::pair<RingOnWiring, GroupShape>>> rings;
  for (const Message& message : step_messages(p)) {
    auto known = std::find_if(rings.begin(), rings.end(), [&](const auto& r) { return r.first == message.group; });
    if (known == rings.end()) {
      const GroupShape shape = group_shape(p, message.group);
      rings.push_back({message.group, {ring_on_wiring(cluster, shape), shape}});
      known = rings.end() - 1;
    }
    MessageCost c;
    c.message = message;
    c.ring = known->second.first;
    c.ranks = known->second.second.ranks;
    c.nodes = known->second.second.nodes;
    c.groups = static_cast<int>(known->second.second.local.size());
    c.call = collective_call(cluster, c.ring, message.collective, c.ranks, message.bytes);
    const Seconds wire = c.call.parts.wire;
    c.bandwidth = wire.value > 0 ? bus_factor(message.collective, c.ranks) * message.bytes / wire : BytesPerSecond(0);
    c.total = message.calls * c.call.time.value;
    cost.messages.push_back(std::move(c));
  }
  for (std::size_t i = 0; i < stages.size(); ++i) cost.offload_bytes = std::max(cost.offload_bytes, offload_traffic(p, stages[i], trained[i]));
  settle(p, k, cost);
  return cost;
}

void settle(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const double m = static_cast<double>(micro_batches(p));
  cost.exposed_communication = {};
  apply_exposure(p, k, cost);

  // The GPU waits where launching takes longer than computing; the two overlap imperfectly: (G^q + H^q)^(1/q).
  const double busy_gpu = (cost.compute + cost.exposed_communication).value, launching = m * cost.launch.value;
  const double waiting = busy_gpu > 0 && launching > 0 ? busy_gpu * (power(1 + power(launching / busy_gpu, k.host_norm), 1 / k.host_norm) - 1) : launching;
  cost.host = Seconds(k.host_per_step_s + k.host_per_micro_batch_s * m * (p.training.cuda_graphs ? k.host_with_graphs : 1.0) + waiting);
  cost.offload = cost.offload_bytes / BytesPerSecond(k.host_link_bytes_per_s);

  const Seconds busy = cost.compute + cost.exposed_communication + cost.bubble + cost.optimizer + cost.host + cost.offload;
  const double gpus = static_cast<double>(total_gpus(p.cluster)) / static_cast<double>(p.parallel.tensor);
  const double spread = gpus > 1 ? std::sqrt(2 * natural_log(gpus)) : 0;
  cost.straggler_factor = k.straggler * spread + k.scale * log2_of(static_cast<double>(std::max(1, p.cluster.nodes)));
  cost.straggler = cost.straggler_factor * busy;
  const Seconds total = busy + cost.straggler;

  // Band: the stated error of compute, and each message's own band on what of it shows.
  const double compute_band = p.model.moe ? k.band_moe : k.band;
  Seconds low = (1 - compute_band) * (total - cost.exposed_communication), high = (1 + compute_band) * (total - cost.exposed_communication);
  for (const MessageCost& c : cost.messages) {
    const double scale_low = c.total.value > 0 ? c.call.time.low / c.call.time.value : 1, scale_high = c.total.value > 0 ? c.call.time.high / c.call.time.value : 1;
    low += scale_low * c.exposed;
    high += scale_high * c.exposed;
  }
  cost.time = {low, total, high};
  // The same plan on infinitely fast links. What the host adds is taken as it is here: without exposed communication there would be a
  // little more of it, never more than the communication that goes.
  cost.on_ideal_wiring = (1 + cost.straggler_factor) * (busy - cost.exposed_communication);
}

}  // namespace wireplan
