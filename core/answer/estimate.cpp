#include "core/answer/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/answer/memory_estimate.hpp"
#include "core/answer/placement_note.hpp"

namespace wireplan {

namespace {

// Groups of two or more ranks that the plan communicates in: each holds communicator buffers.
int communicators_in_use(const std::vector<Message>& messages) {
  bool seen[kNames<GroupKind>.size()] = {};
  int count = 0;
  for (const Message& m : messages) {
    bool& is_known = seen[static_cast<std::size_t>(m.group)];
    if (!is_known) ++count;
    is_known = true;
  }
  return count;
}

// Context and workspaces of the GPU's architecture.
MemoryConstants::Context context_of(const Gpu& gpu, const MemoryConstants& k) {
  for (const MemoryConstants::Context& c : k.contexts)
    if (gpu.architecture.find(c.architecture) != std::string::npos) return c;
  return {"", k.context, k.workspaces};
}

// Reserved over allocated, minus one: segments that cannot be reused for blocks of other sizes.
double allocator_slack_share(const Plan& p, const MemoryConstants& k) {
  if (p.parallel.framework == Framework::megatron) return k.slack_megatron;
  if (p.training.kernels != Kernels::compiled) return k.slack_default;
  return p.cluster.node.gpu.architecture.rfind("CDNA", 0) == 0 ? k.slack_rocm : k.slack_segments;
}

double memory_band_share(const Plan& p, const MemoryConstants& k) {
  // Routing is not balanced where experts are divided over ranks; in one process every token stays.
  if (p.model.moe && p.parallel.expert > 1) return k.band_moe;
  return p.parallel.framework == Framework::megatron ? k.band_exact : k.band_default;
}

std::string moment_text(const Plan& p, const Place& place) {
  if (place.phase == StepPhase::optimizer) return "optimizer step";
  std::string text(name_of(place.phase));
  if (place.layer >= 0) text += " of layer " + std::to_string(place.layer);
  else if (place.layer == kEmbeddingLayer) text += " of the embedding";
  else if (place.phase != StepPhase::loss) text += " of the head";
  if (micro_batches(p) > 1) text += ", micro-batch " + std::to_string(place.micro_batch + 1);
  return text;
}

void fill_memory(const Plan& p, const Constants& k, Estimate& e) {
  MemoryAnswer& m = e.memory;
  m.capacity = capacity(p.cluster.node.gpu);
  e.slack_share = allocator_slack_share(p, k.memory);
  e.band_share = memory_band_share(p, k.memory);
  const MemoryConstants::Context context = context_of(p.cluster.node.gpu, k.memory);
  e.context = context.bytes;
  if (p.parallel.framework != Framework::megatron) e.workspaces = context.workspaces;
  m.runtime = e.context + e.workspaces + static_cast<double>(e.communicators) * k.memory.communicator;

  std::size_t worst = 0;
  for (std::size_t i = 0; i < e.stage_memory.size(); ++i) {
    const Bytes allocated = e.stage_memory[i].parts.total();
    const Bytes reserved(allocated.value + std::ceil(e.slack_share * allocated.value));
    m.ranks.push_back({static_cast<int>(i), allocated, reserved, reserved + m.runtime});
    if (allocated > e.stage_memory[worst].parts.total()) worst = i;
  }
  const StageMemory& w = e.stage_memory[worst];
  m.worst_stage = static_cast<int>(worst);
  m.worst_rank = first_rank_of_stage(p, m.worst_stage);
  m.states = w.states;
  m.parts = w.parts;
  m.peak_at = moment_text(p, w.place);

  const double allocated = w.parts.total().value;
  // The band is that of what is estimated; states are exact and carry none.
  const double exact = w.states.total().value < allocated ? w.states.total().value : allocated;
  const double uncertain = std::ceil(e.band_share * (allocated - exact));
  m.allocated = {Bytes(allocated - uncertain), Bytes(allocated), Bytes(allocated + uncertain)};
  m.allocator_slack = Bytes(std::ceil(e.slack_share * allocated));
  const auto with_slack = [&](Bytes b, double share) { return Bytes(b.value + std::ceil(share * b.value)); };
  m.reserved = {m.allocated.low, with_slack(m.allocated.value, e.slack_share), with_slack(m.allocated.high, e.slack_share)};
  m.device = {m.reserved.low + m.runtime, m.reserved.value + m.runtime, m.reserved.high + m.runtime};
  const double unavoidable = std::min(k.memory.unavoidable_fragmentation, e.slack_share);
  const double unavoidable_high = std::min(k.memory.band_fragmentation, e.slack_share);
  m.need = {m.allocated.low + m.runtime, with_slack(m.allocated.value, unavoidable) + m.runtime, with_slack(m.allocated.high, unavoidable_high) + m.runtime};

  m.fits = m.need.value <= m.capacity;
  m.verdict = memory_verdict(m.need, m.device.value, m.capacity);

  m.load = w.load;
  m.initialize = w.initialize;
  m.first_step = w.first_step;
  m.steady = w.parts.total();
  m.between_steps = w.between_steps;
  m.save = w.save;
  m.after_forward = w.after_forward;
  m.after_backward = w.after_backward;
  m.host = offloaded_bytes(p, w) * static_cast<double>(p.cluster.gpus_per_node);
  if (p.cluster.node.host_memory.value > 0) m.fits_host = m.host <= p.cluster.node.host_memory ? 1 : 0;
}

void fill_communication(const PreparedCluster& cluster, Estimate& e) {
  for (const MessageCost& c : e.cost.messages) {
    CommunicationRow row;
    row.name = c.message.name;
    row.collective = c.message.collective;
    row.dimension = c.message.group;
    row.ranks = c.ranks;
    row.bytes = c.message.bytes;
    row.calls = c.message.calls;
    row.algorithm = name_of(c.call.algorithm);
    row.protocol = name_of(c.call.protocol);
    row.basis = name_of(c.call.basis);
    const Range<Seconds>& call = c.call.time;
    if (call.value.value > 0) row.bus_bandwidth = bus_factor(c.message.collective, c.ranks) * c.message.bytes / call.value;
    const double calls = c.message.calls * c.sharing;
    row.time = {calls * call.low, c.total, calls * call.high};
    row.exposed = c.exposed;
    row.bottleneck = c.call.algorithm == Algorithm::direct ? bottleneck_of(cluster.graph, *cluster.cluster, c.ring, c.message.collective).name : c.ring.bottleneck;
    e.communication.push_back(std::move(row));
  }
}

void fill_wiring(const PreparedCluster& cluster, Estimate& e) {
  e.wiring.reserve(4);
  for (std::size_t i = 0; i < e.cost.messages.size(); ++i) {
    const GroupKind kind = e.cost.messages[i].message.group;
    if (std::none_of(e.wiring.begin(), e.wiring.end(), [&](const WiringGroup& g) { return g.dimension == kind; })) e.wiring.push_back({kind, i});
  }
  e.graph = cluster.lasting;
}

void fill_step(const Plan& p, Estimate& e) {
  StepAnswer& s = e.step;
  const StepCost& c = e.cost;
  s.time = c.time;
  s.compute = c.compute;
  s.exposed_communication = c.exposed_communication;
  s.bubble = c.bubble;
  s.optimizer = c.optimizer;
  s.host = c.host;
  s.offload = c.offload;
  s.straggler = c.straggler;
  s.on_ideal_wiring = c.on_ideal_wiring;
  s.wiring_latency = latency_share(c) * (c.time.value - c.on_ideal_wiring);
  s.wiring_bandwidth = std::max(Seconds(0), c.time.value - c.on_ideal_wiring - s.wiring_latency);
  const double sequences = static_cast<double>(p.training.global_batch_size), seconds = c.time.value.value;
  const double gpus = static_cast<double>(total_gpus(p.cluster));
  const double tokens = sequences * static_cast<double>(p.training.sequence_length);
  if (seconds <= 0 || gpus <= 0) return;
  s.tokens_per_s = tokens / seconds;
  s.tokens_per_s_per_gpu = s.tokens_per_s / gpus;
  s.model_tflops_per_gpu = e.flops.full_square.value * sequences / (seconds * gpus) / 1e12;
  s.hardware_tflops_per_gpu = (e.flops.full_square + e.recompute).value * sequences / (seconds * gpus) / 1e12;
  const double peak = matrix_peak(p.cluster.node.gpu, p.training.parameter_dtype).value / 1e12;
  if (peak > 0) {
    s.mfu = s.model_tflops_per_gpu / peak;
    s.hfu = s.hardware_tflops_per_gpu / peak;
  }
}

// Parameters and memory of the stages; what is trained of them.
std::vector<StageParameters> fill_weights(const Plan& plan, Estimate& e) {
  e.stages = stage_parameters(plan.model, plan.parallel);
  std::vector<StageParameters> trained = plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : e.stages;
  e.stage_memory = stage_memory(plan, e.stages, trained);
  return trained;
}

}  // namespace

Verdict memory_verdict(const Range<Bytes>& need, Bytes device, Bytes capacity) {
  if (device <= capacity) return Verdict::fits;
  if (need.high <= capacity) return Verdict::tight;
  return need.value <= capacity ? Verdict::may_not_fit : Verdict::does_not_fit;
}

const CommunicationRow* most_exposed(const Estimate& estimate) {
  const CommunicationRow* worst = nullptr;
  for (const CommunicationRow& row : estimate.communication)
    if (row.exposed.value > 0 && (!worst || row.exposed > worst->exposed)) worst = &row;
  return worst;
}

WiringVerdict wiring_verdict(const StepAnswer& step) {
  if (step.exposed_communication.value <= 0) return WiringVerdict::nothing_waits;
  const double share = step.time.value.value > 0 ? step.exposed_communication / step.time.value : 0;
  return share < 0.03 ? WiringVerdict::keeps_up : share < 0.10 ? WiringVerdict::waits_a_little : WiringVerdict::does_not_keep_up;
}

Estimate memory_estimate(const Plan& plan, const Constants& constants) {
  Estimate e;
  fill_weights(plan, e);
  e.communicators = communicators_in_use(busiest_messages(plan).messages);
  fill_memory(plan, constants, e);
  return e;
}

Estimate brief_estimate(const Plan& plan, StepWiring& wiring, const Constants& constants, bool only_fitting) {
  Estimate e;
  const ModelParameters counted = count_parameters(plan.model);
  e.parameters = counted.total;
  e.active_parameters = counted.active;
  const SequenceWork work = sequence_work(plan);
  e.flops = training_flops(plan.model, plan.training, work.forward);
  e.recompute = work.recomputed;
  e.flops_per_token = e.flops.full_square.value / static_cast<double>(plan.training.sequence_length);
  const std::vector<StageParameters> trained = fill_weights(plan, e);
  const StepMessages busiest = busiest_messages(plan);
  e.communicators = communicators_in_use(busiest.messages);
  fill_memory(plan, constants, e);
  if (only_fitting && (!e.memory.fits || e.memory.fits_host == 0)) return e;
  e.cost = step_cost(plan, wiring, busiest, e.stages, trained, work, constants.efficiency);
  fill_step(plan, e);
  return e;
}

Estimate estimate(const Plan& plan, const PreparedCluster& cluster, const Constants& constants) {
  StepWiring wiring(cluster);
  Estimate e = brief_estimate(plan, wiring, constants);
  fill_communication(cluster, e);
  fill_wiring(cluster, e);
  e.notes = notes(plan, e);
  if (std::optional<Note> note = placement_note(plan, cluster, e.cost)) e.notes.push_back(std::move(*note));
  return e;
}

Estimate estimate(const Plan& plan, const Constants& constants) {
  return estimate(plan, prepare(plan.cluster, constants.links), constants);
}

}  // namespace wireplan
