#include "core/step/step.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/math.hpp"
#include "core/cost/memory.hpp"
#include "core/step/exposure.hpp"
#include "core/step/host_optimizer.hpp"
#include "core/step/pace.hpp"

namespace wireplan {

namespace {

// From the first pass of a step to the end of the last.
Seconds schedule_time(const Plan& p, const StepCost& cost, bool on_this_wiring, Seconds hop) {
  const double m = static_cast<double>(micro_batches(p));
  if (cost.stages.size() == 1) {
    const PassPace& pace = cost.paces.front();
    return m * (on_this_wiring ? pace.real_forward + pace.real_backward : pace.forward + pace.backward);
  }
  return pipeline_times(schedule_of(p), stage_passes(cost, on_this_wiring), hop).end;
}

// Bytes a rank of one stage moves between GPU and host in a step while it does nothing else. Offloaded optimizer: gradients down, updated 16-bit
// weights up. Offloaded parameters that nothing gathers ahead: weights up for every forward and backward. Source: [zero-offload21] §4. Kind: estimate.
Bytes offload_traffic(const Plan& p, const StageParameters& stage, const StageParameters& trained) {
  const double ranks = shards_optimizer(p.parallel.data_sharding) ? static_cast<double>(shard_ranks(p)) : 1;
  double bytes = 0;
  if (p.training.offload.optimizer && runs_optimizer_on_host(p)) bytes += trained.total() / ranks * (element_bytes(p.training.gradient_dtype) + 2);
  if (p.training.offload.parameters && !copies_ahead(p)) bytes += 2 * static_cast<double>(micro_batches(p)) * stage.total() * host_bytes_per_parameter(p);
  return Bytes(bytes);
}

}  // namespace

Seconds host_time(const Plan& p, const EfficiencyConstants& k) {
  return Seconds(k.host_per_step_s + k.host_per_micro_batch_s * static_cast<double>(micro_batches(p)) * (p.training.cuda_graphs ? k.host_with_graphs : 1.0));
}

double straggler_factor(const Plan& p, const EfficiencyConstants& k) {
  // details.stragglers = false: every rank is as fast as the mean.
  if (p.training.details && !p.training.details->stragglers.value_or(true)) return 0;
  const double gpus = static_cast<double>(total_gpus(p.cluster)) / static_cast<double>(p.parallel.tensor);
  const double spread = gpus > 1 ? std::sqrt(2 * natural_log(gpus)) : 0;
  return k.straggler * spread + k.scale * log2_of(static_cast<double>(std::max(1, p.cluster.nodes)));
}

Schedule schedule_of(const Plan& p) {
  return {p.parallel.pipeline_schedule, static_cast<int>(p.parallel.pipeline), static_cast<int>(p.parallel.virtual_stages), static_cast<int>(micro_batches(p)), 1};
}

std::vector<StagePass> stage_passes(const StepCost& cost, bool on_this_wiring) {
  std::vector<StagePass> passes;
  passes.reserve(cost.stages.size());
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    const PassPace& pace = cost.paces[i];
    const Seconds backward = on_this_wiring ? pace.real_backward : pace.backward, weights = std::min(cost.stages[i].weight_gradient, backward);
    passes.push_back({on_this_wiring ? pace.real_forward : pace.forward, backward - weights, weights});
  }
  return passes;
}

void compute_stages(const Plan& p, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained, const SequenceWork& work,
                    const EfficiencyConstants& k, StepCost& cost) {
  cost.stages.clear();
  cost.stages.reserve(stages.size());
  cost.optimizer = {};
  const ComputeRates rates = compute_rates(p, k);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool has_head = p.model.opaque ? i + 1 == stages.size() : stage_layers(p.model, p.parallel, static_cast<Count>(i)).heads > 0;
    cost.stages.push_back(stage_compute(p, work, rates, static_cast<Count>(i), stages[i], trained[i].total(), has_head, k));
    cost.optimizer = std::max(cost.optimizer, cost.stages.back().optimizer);
  }
}

StepMessages busiest_messages(const Plan& plan) {
  StepMessages busiest;
  busiest.messages = step_messages(plan, &busiest.stage);
  return busiest;
}

StepCost step_cost(const Plan& p, const PreparedCluster& cluster, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained,
                   const SequenceWork& work, const EfficiencyConstants& k) {
  StepWiring wiring(cluster);
  return step_cost(p, wiring, busiest_messages(p), stages, trained, work, k);
}

StepCost step_cost(const Plan& p, StepWiring& wiring, const StepMessages& busiest, const std::vector<StageParameters>& stages,
                   const std::vector<StageParameters>& trained, const SequenceWork& work, const EfficiencyConstants& k) {
  StepCost cost;
  compute_stages(p, stages, trained, work, k, cost);
  cost.busiest = busiest.stage;

  cost.messages.reserve(busiest.messages.size());
  StepWiring::Group* group = nullptr;
  for (const Message& message : busiest.messages) {
    if (!group || message.group != cost.messages.back().message.group) group = &wiring.group(p, message.group);
    MessageCost& c = cost.messages.emplace_back();
    c.message = message;
    c.ring = group->ring;
    c.ranks = group->ranks;
    c.nodes = group->nodes;
    c.groups = group->groups;
    c.call = wiring.call(*group, message.collective, message.bytes);
    const Seconds wire = c.call.parts.wire;
    c.bandwidth = wire.value > 0 ? bus_factor(message.collective, c.ranks) * message.bytes / wire : BytesPerSecond(0);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) cost.offload_bytes = std::max(cost.offload_bytes, offload_traffic(p, stages[i], trained[i]));
  settle(p, k, cost);
  return cost;
}

double latency_share(const StepCost& cost) {
  double latency = 0, all = 0;
  for (const MessageCost& c : cost.messages) {
    const CollectiveParts& parts = c.call.parts;
    if (parts.total().value > 0) latency += c.exposed.value * ((parts.start + parts.network + parts.fill) / parts.total());
    all += c.exposed.value;
  }
  return all > 0 ? latency / all : 0;
}

void settle(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const double m = static_cast<double>(micro_batches(p));

  for (MessageCost& c : cost.messages) {
    c.sharing = 1;
    c.total = c.message.calls * c.call.time.value;
  }

  // The stage whose passes take longest sets the pace.
  const LayerWaits in_layers = waits_in_layers(p, k, cost);
  cost.paces.assign(cost.stages.size(), {});
  std::vector<LayerPace> layers(cost.stages.size());
  cost.slowest = 0;
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    const LayerPace ideal = stage_pace(cost.stages[i], layer_pace(cost.stages[i], {}, k.host_norm));
    layers[i] = layer_pace(cost.stages[i], in_layers, k.host_norm);
    const LayerPace real = stage_pace(cost.stages[i], layers[i]);
    cost.paces[i] = {ideal.forward, ideal.backward, real.forward, real.backward};
    if (real.forward + real.backward > cost.paces[cost.slowest].real_forward + cost.paces[cost.slowest].real_backward) cost.slowest = i;
  }
  cost.layer_forward = layers[static_cast<std::size_t>(cost.busiest)].forward;
  cost.layer_backward = layers[static_cast<std::size_t>(cost.busiest)].backward;
  share_links(p, cost);
  const DataParallelWaits data = waits_for_data(p, k, cost);
  for (PassPace& pace : cost.paces) {
    pace.real_forward += data.forward + data.copies_forward;
    pace.real_backward += data.backward + data.copies_backward;
  }

  cost.once = data.once;
  const ComputeCost& slowest = cost.stages[cost.slowest];
  const PassPace& pace = cost.paces[cost.slowest];
  cost.forward = slowest.forward;
  cost.backward = slowest.backward;
  cost.compute = m * (cost.forward + cost.backward);

  // Hops between stages delay what depends on them; how much of that shows is what the schedule takes longer.
  Seconds hop, hops;
  for (const MessageCost& c : cost.messages)
    if (c.message.group == GroupKind::pipeline) {
      hop = std::max(hop, c.call.time.value);
      hops += c.total;
    }
  const Seconds without_hops = schedule_time(p, cost, true, Seconds(0));
  cost.schedule = hop.value > 0 ? schedule_time(p, cost, true, hop) : without_hops;
  for (const MessageCost& c : cost.messages)  // a link sends one after another
    if (c.message.group == GroupKind::pipeline) cost.schedule = std::max(cost.schedule, c.total);
  cost.ideal_schedule = schedule_time(p, cost, false, Seconds(0));
  const Seconds own_hops = std::clamp(cost.schedule - without_hops, Seconds(0), hops);

  // What its own communication adds to the rank's passes, less what would have been waiting for the host anyway.
  const Seconds copies = m * (data.copies_forward + data.copies_backward);
  const Seconds inside = m * (pace.real_forward + pace.real_backward - data.forward - data.backward - pace.forward - pace.backward) - copies;
  Seconds blocked;
  for (const MessageCost& c : cost.messages)
    if (is_inside_layers(c.message)) blocked += c.share * c.total;
  const double shown = blocked.value > 0 ? std::max(0.0, inside / blocked) : 0;
  cost.exposed_communication = {};
  for (MessageCost& c : cost.messages) {
    if (c.message.group == GroupKind::pipeline) c.share = hops.value > 0 ? own_hops / hops : 0;
    else if (is_inside_layers(c.message)) c.share = std::min(1.0, shown * c.share);
    c.exposed = c.unavoidable + c.share * (c.total - c.unavoidable);
    cost.exposed_communication += c.exposed;
  }

  const Seconds launching = m * (pace.forward + pace.backward) - cost.compute;
  cost.host = host_time(p, k) + std::max(Seconds(0), launching);
  cost.ideal_bubble = std::max(Seconds(0), cost.ideal_schedule - m * (pace.forward + pace.backward));
  cost.bubble = cost.stages.size() == 1 ? Seconds(0) : std::max(Seconds(0), cost.schedule + data.once - cost.compute - launching - cost.exposed_communication - copies);
  cost.waits_for_copies = copies;
  cost.offload = cost.offload_bytes / BytesPerSecond(k.host_link_bytes_per_s) + copies;

  const Seconds busy = cost.compute + cost.exposed_communication + cost.bubble + cost.optimizer + cost.host + cost.offload;
  cost.straggler_factor = straggler_factor(p, k);
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
  // The same plan on infinitely fast links: its bubble is smaller too.
  cost.on_ideal_wiring = std::min(total, (1 + cost.straggler_factor) * (busy - cost.exposed_communication - cost.bubble + cost.ideal_bubble));
}

}  // namespace wireplan
