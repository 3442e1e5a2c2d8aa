#include "core/step/step.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"
#include "core/cost/memory.hpp"

namespace wireplan {

namespace {

// What hides a message, by the framework's own order of work:
//   tensor parallel      on the critical path of every layer: a fixed share shows, less where the framework pipelines it with the product
//   expert parallel      dispatch and combine block the layer: all of it shows
//   context ring         hides behind attention of the same block, at the overlap window
//   pipeline             one hop per boundary shows while filling and draining, and a share of it in steady state
//   gradients, gathers   run beside compute of their phase when overlappable; the first gather and the last reduction cannot
void apply_exposure(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const double m = static_cast<double>(micro_batches(p)), stages = static_cast<double>(p.parallel.pipeline);
  const double v = static_cast<double>(p.parallel.virtual_stages);
  // Communication that can hide, per phase, and the compute it can hide behind.
  Seconds hideable_forward, hideable_backward;
  const MessageCost* last_bucket = nullptr;  // the one that closes last, when backward is over
  for (const MessageCost& c : cost.messages)
    if (c.message.name == "ddp-bucket") last_bucket = &c;
  for (MessageCost& c : cost.messages) {
    const double calls = std::max(1.0, c.message.calls);
    switch (c.message.group) {
      case GroupKind::tensor:
        c.share = p.parallel.overlap.tensor ? k.tensor_overlapped : k.tensor_exposed;
        break;
      case GroupKind::expert: c.share = 1; break;
      case GroupKind::context: {
        const Seconds attention = (c.message.phase == Phase::forward ? 1.0 : 2.5) * m * cost.stages.front().attention_s;
        c.share = c.total > k.overlap_window * attention ? (c.total - k.overlap_window * attention) / c.total : 0;
        break;
      }
      case GroupKind::pipeline: {
        // Of m·v hops each way per boundary, p - 1 fill the pipe; 0.55 of the rest show (0.2 with pipeline overlap).
        const double steady = p.parallel.overlap.pipeline ? 0.2 : 0.55;
        const double hops = m * v;
        c.share = std::min(1.0, steady + (1 - steady) * (stages - 1) / std::max(hops, stages - 1));
        break;
      }
      default: {
        if (!c.message.overlappable) { c.share = 1; break; }
        // One call per synchronisation cannot hide: nothing runs before the first gather or after the last reduction.
        const double syncs = c.message.phase == Phase::forward || p.parallel.gradient_sync == GradientSync::every ? m : 1;
        const bool runs_under_backward = c.message.name == "ddp-bucket" && &c != last_bucket;
        c.unavoidable = runs_under_backward ? Seconds(0) : c.total * (std::min(calls, syncs) / calls);
        if (c.message.phase == Phase::forward) hideable_forward += c.total - c.unavoidable;
        else hideable_backward += c.total - c.unavoidable;
      }
    }
  }
  const double backward_windows = p.parallel.gradient_sync == GradientSync::every || shards_parameters(p.parallel.data_sharding) ? m : 1;
  const Seconds window_forward = m * cost.forward, window_backward = k.overlap_window * backward_windows * cost.backward;
  for (MessageCost& c : cost.messages) {
    const bool is_data = c.message.group != GroupKind::tensor && c.message.group != GroupKind::expert && c.message.group != GroupKind::context && c.message.group != GroupKind::pipeline;
    if (is_data && c.message.overlappable) {
      const bool is_forward = c.message.phase == Phase::forward;
      const Seconds hideable = is_forward ? hideable_forward : hideable_backward, window = is_forward ? window_forward : window_backward;
      c.share = hideable.value > 0 ? std::max(0.0, (hideable - window) / hideable) : 0;
    }
    c.exposed = c.unavoidable + c.share * (c.total - c.unavoidable);
    cost.exposed_communication += c.exposed;
  }
}

// Bubble as a multiple of Σ τ_i - τ_max: 1F1B and GPipe 1, interleaved 1/v, zero-bubble schedules less.
double bubble_factor(const Plan& p) {
  switch (p.parallel.pipeline_schedule) {
    case PipelineSchedule::one_f_one_b: case PipelineSchedule::gpipe: return 1;
    case PipelineSchedule::interleaved: return 1.0 / static_cast<double>(p.parallel.virtual_stages);
    case PipelineSchedule::zb_h1: return 1.0 / 3;      // (p-1)(F + B - 2W) with F = B = W [zerobubble24]
    case PipelineSchedule::zb_h2: case PipelineSchedule::zb_v: return 0.05;
    case PipelineSchedule::dualpipe: case PipelineSchedule::dualpipe_v: return 0.25;  // (p/2 - 1)(FB + B - 3W) [dualpipe]
  }
  return 1;
}

}  // namespace

StepCost step_cost(const Plan& p, const PreparedCluster& cluster, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                   const EfficiencyConstants& k) {
  StepCost cost;
  const double m = static_cast<double>(micro_batches(p));

  // The slowest stage sets the pace, the sum of all fills the pipe.
  Seconds slowest;
  cost.stages.reserve(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool has_head = p.model.opaque ? i + 1 == stages.size() : stage_layers(p.model, p.parallel, static_cast<Count>(i)).heads > 0;
    cost.stages.push_back(stage_compute(p, stages[i], trained[i].total(), has_head, k));
    const ComputeCost& c = cost.stages.back();
    cost.stage_sum += c.forward + c.backward;
    if (c.forward + c.backward > slowest) {
      slowest = c.forward + c.backward;
      cost.forward = c.forward;
      cost.backward = c.backward;
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
    c.call = collective_time(cluster, c.ring, message.collective, c.ranks, c.nodes, message.bytes);
    c.parts = collective_parts(cluster, c.ring, message.collective, c.ranks, c.nodes, message.bytes);
    c.bandwidth = c.parts.wire.value > 0 ? bus_factor(message.collective, c.ranks) * message.bytes / c.parts.wire : BytesPerSecond(0);
    c.total = message.calls * c.call.value;
    cost.messages.push_back(std::move(c));
  }
  apply_exposure(p, k, cost);

  cost.host_per_step = Seconds(k.host_per_step_s + k.host_per_micro_batch_s * m * (p.training.cuda_graphs ? 0.3 : 1.0));
  cost.host = cost.host_per_step;
  if (p.training.offload.optimizer || p.training.offload.parameters) {
    // Gradients down and weights up once per step for an offloaded optimizer; weights down for every use of offloaded parameters.
    const double on_rank = stages.front().total() / (shards_optimizer(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1.0);
    double bytes = 0;
    if (p.training.offload.optimizer) bytes += on_rank * (element_bytes(p.training.gradient_dtype) + 2);
    if (p.training.offload.parameters) bytes += 2 * m * on_rank * 2;
    cost.offload_bytes = Bytes(bytes);
    cost.offload_rate = BytesPerSecond(k.host_link_bytes_per_s);
    cost.offload = cost.offload_bytes / cost.offload_rate;
  }

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
    const double scale_low = c.call.value.value > 0 ? c.call.low / c.call.value : 1, scale_high = c.call.value.value > 0 ? c.call.high / c.call.value : 1;
    low += scale_low * c.exposed;
    high += scale_high * c.exposed;
  }
  cost.time = {low, total, high};
  cost.on_ideal_wiring = (1 + cost.straggler_factor) * (busy - cost.exposed_communication);
  return cost;
}

}  // namespace wireplan
