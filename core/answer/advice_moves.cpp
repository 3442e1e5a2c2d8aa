#include "core/answer/advice_moves.hpp"

#include <algorithm>
#include <span>

#include "core/answer/alternatives.hpp"
#include "core/answer/placement_note.hpp"
#include "core/answer/scaling.hpp"
#include "core/base/format.hpp"
#include "core/describe/checks.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

std::string of(Count n) { return format_count(static_cast<double>(n)); }

// --- what code bases can do -------------------------------------------------------------------------------------------------

bool is_trained_by(const Plan& p, std::span<const std::string_view> ids) {
  const std::string_view id = std::string_view(p.training.implementation).substr(0, p.training.implementation.find('@'));
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}
bool is(const Plan& p, Framework f) { return p.parallel.framework == f; }

// Layouts that a code base has a setting for, by its documentation: Megatron all; torchtitan and NeMo AutoModel all of PyTorch's;
// transformers tensor (tp_plan) and context (accelerate's ParallelismConfig), torchtune the same two.
bool can_split(const Plan& p, Knob k) {
  static constexpr std::string_view kAll[] = {"torchtitan", "automodel"}, kSome[] = {"torchtitan", "automodel", "huggingface", "torchtune"};
  static constexpr std::string_view kOnDeepSpeed[] = {"megatron-deepspeed"};
  if (p.model.opaque) return false;
  if (is(p, Framework::megatron)) return true;
  if (is(p, Framework::deepspeed)) return k != Knob::context && is_trained_by(p, kOnDeepSpeed);
  return k == Knob::pipeline ? is_trained_by(p, kAll) : is_trained_by(p, kSome);
}

// torch.distributed.pipelining; Megatron-Core's pipeline_parallel/schedules.py; DeepSpeed's TrainSchedule.
std::span<const PipelineSchedule> schedules_of(Framework f) {
  using enum PipelineSchedule;
  static constexpr PipelineSchedule kPytorch[] = {one_f_one_b, gpipe, interleaved, zb_v, dualpipe_v}, kMegatron[] = {one_f_one_b, interleaved}, kDeepSpeed[] = {one_f_one_b};
  if (f == Framework::pytorch) return kPytorch;
  if (f == Framework::megatron) return kMegatron;
  return kDeepSpeed;
}

bool buckets_gradients(const Plan& p) { return is(p, Framework::pytorch) && !shards_gradients(p.parallel.data_sharding); }

// --- single knobs -----------------------------------------------------------------------------------------------------------

template <class T>
bool set(T& field, T value) {
  if (field == value) return false;
  field = std::move(value);
  return true;
}

// The degree of one dimension; data takes what is left.
bool split(Count& degree, Count to, Plan& p) {
  if (!set(degree, to)) return false;
  const Count others = p.parallel.tensor * p.parallel.pipeline * p.parallel.context, gpus = total_gpus(p.cluster);
  if (gpus % others != 0) return false;
  p.parallel.data = gpus / others;
  const Count ranks = p.parallel.data * p.parallel.context;
  if (p.parallel.shard_group > 0 && (ranks % p.parallel.shard_group != 0 || p.parallel.shard_group == ranks)) {
    p.parallel.shard_group = p.parallel.data_sharding == DataSharding::hsdp ? hybrid_shard_group(p) : 0;
    if (p.parallel.data_sharding == DataSharding::hsdp && p.parallel.shard_group == 0) return false;
  }
  return true;
}

// Tensor groups on the GPUs of a node that are joined best.
void place_tensor_groups(const PreparedCluster& cluster, Plan& p) {
  const std::size_t size = static_cast<std::size_t>(p.parallel.tensor);
  if (cluster.switched || size < 2 || p.cluster.nodes > 1 || p.cluster.gpus_per_node > 16 || p.parallel.order.rfind("tp", 0) != 0) return;
  const std::vector<int> used = used_gpus(p.cluster);
  std::vector<int> placement;
  bool is_identity = true;
  for (const std::vector<int>& group : nearest_groups(cluster, used, size))
    for (int gpu : group) {
      const int at = static_cast<int>(std::find(used.begin(), used.end(), gpu) - used.begin());
      is_identity = is_identity && at == static_cast<int>(placement.size());
      placement.push_back(at);
    }
  p.parallel.placement = is_identity ? std::vector<int>{} : std::move(placement);
}

bool set_tensor(Count to, const PreparedCluster& cluster, Plan& p) {
  if (!can_split(p, Knob::tensor) || to > p.cluster.gpus_per_node || !split(p.parallel.tensor, to, p)) return false;
  p.parallel.sequence_parallel = to > 1;  // as its documentation recommends, and never slower here
  p.parallel.placement.clear();
  place_tensor_groups(cluster, p);
  return true;
}

bool set_sharding(DataSharding to, const PlanFilling& filling, Plan& p) {
  if (p.parallel.data * p.parallel.context < 2 || !p.parallel.deepspeed.empty() || !set(p.parallel.data_sharding, to)) return false;  // the user's own configuration says the stage
  p.parallel.shard_group = to == DataSharding::hsdp ? hybrid_shard_group(p) : 0;
  p.parallel.gradient_sync = filling.gradient_sync(p);  // another sharding synchronises by its own habits
  p.parallel.overlap = default_overlap(p.parallel, p.training);
  return to != DataSharding::hsdp || p.parallel.shard_group > 0;
}

bool set_overlap(int which, Plan& p) {
  Parallel& l = p.parallel;
  Overlap o = l.overlap;
  if (which == 0) {
    o.gradient_reduce = true;
    // Megatron: --overlap-param-gather needs the distributed optimizer; DeepSpeed: gathers ahead are stage 3's.
    o.parameter_gather = o.parameter_gather || (is(p, Framework::megatron) ? shards_optimizer(l.data_sharding) : shards_parameters(l.data_sharding));
  } else if (which == 1) {
    static constexpr std::string_view kAsynchronous[] = {"torchtitan"};  // its asynchronous tensor parallelism is part of compilation; Megatron: --tp-comm-overlap
    if (l.tensor < 2 || !l.sequence_parallel || (is(p, Framework::pytorch) && (p.training.kernels != Kernels::compiled || !is_trained_by(p, kAsynchronous)))) return false;
    o.tensor = true;
  } else {
    if (l.pipeline < 2 || !is(p, Framework::megatron) || l.pipeline_schedule != PipelineSchedule::interleaved) return false;
    o.pipeline = true;
  }
  if (!l.deepspeed.empty()) return false;
  return set(l.overlap, o);
}

bool set_offload(bool parameters, Plan& p) {
  const DataSharding s = p.parallel.data_sharding;
  Offload& o = p.training.offload;
  if (!p.parallel.deepspeed.empty()) return false;
  switch (p.parallel.framework) {
    case Framework::pytorch:  // FSDP's CPU offload takes parameters, gradients and states together
      if (!shards_parameters(s) || !parameters) return false;
      break;
    case Framework::deepspeed:
      if (!shards_optimizer(s) || (parameters && s != DataSharding::zero3)) return false;
      break;
    case Framework::megatron:  // --optimizer-cpu-offload
      if (s != DataSharding::zero1 || parameters) return false;
      break;
  }
  const Offload to{true, parameters, o.activations};
  return set(o, to);
}

// --- the machine ------------------------------------------------------------------------------------------------------------

// No preset and no measurement holds for a machine that was changed.
void becomes_another(Plan& p) {
  p.cluster.node.id.clear();
  p.cluster.profile.reset();
}

bool set_count(int nodes, int per_node, const PlanFilling& filling, Plan& p) {
  std::vector<int>& gpus = p.cluster.gpus;
  if (!gpus.empty() && per_node == p.cluster.node.gpus) gpus.clear();
  for (int g = 0; !gpus.empty() && static_cast<int>(gpus.size()) < per_node; ++g)
    if (!uses_gpu(p.cluster, g)) gpus.push_back(g);
  Result<Plan> result = plan_on(p, {nodes, per_node}, ScalingMode::strong, p.cluster.network ? p.cluster.network : filling.network(p.cluster.node));
  if (!result) return false;
  p = std::move(result.value());
  return true;
}

// The PCIe link of each GPU of a stated graph, -1: none or several.
std::vector<int> slot_links(const Node& node) {
  std::vector<int> found(static_cast<std::size_t>(node.gpus), -1);
  const std::vector<Link>& links = node.wiring.graph.links;
  for (std::size_t i = 0; i < links.size(); ++i)
    if (links[i].kind == LinkKind::pcie)
      for (int end : {links[i].a, links[i].b})
        if (end < node.gpus) found[static_cast<std::size_t>(end)] = found[static_cast<std::size_t>(end)] == -1 ? static_cast<int>(i) : -2;
  return found;
}
int other_end(const Link& link, int gpu) { return link.a == gpu ? link.b : link.a; }

// Puts a card where most others are, on the widest slot there. Where groups are stated the same is a group of theirs.
bool move_card(int gpu, Plan& p) {
  Node& node = p.cluster.node;
  if (node.wiring.kind == WiringKind::graph) {
    const std::vector<int> slots = slot_links(node);
    std::vector<Link>& links = node.wiring.graph.links;
    const auto neighbours = [&](int g) {  // cards on the same chip
      int n = 0;
      for (int other = 0; other < node.gpus; ++other)
        n += slots[static_cast<std::size_t>(other)] >= 0 && other_end(links[static_cast<std::size_t>(slots[static_cast<std::size_t>(other)])], other) == other_end(links[static_cast<std::size_t>(slots[static_cast<std::size_t>(g)])], g);
      return n;
    };
    if (slots[static_cast<std::size_t>(gpu)] < 0) return false;
    Link& mine = links[static_cast<std::size_t>(slots[static_cast<std::size_t>(gpu)])];
    int best = -1;
    for (int g = 0; g < node.gpus; ++g) {
      if (g == gpu || slots[static_cast<std::size_t>(g)] < 0) continue;
      if (best < 0 || neighbours(g) > neighbours(best) || (neighbours(g) == neighbours(best) && links[static_cast<std::size_t>(slots[static_cast<std::size_t>(g)])].width > links[static_cast<std::size_t>(slots[static_cast<std::size_t>(best)])].width)) best = g;
    }
    if (best < 0) return false;
    const Link& theirs = links[static_cast<std::size_t>(slots[static_cast<std::size_t>(best)])];
    const bool is_narrower = mine.width < theirs.width || mine.generation < theirs.generation, is_apart = neighbours(gpu) < neighbours(best);
    if (!is_narrower && !is_apart) return false;
    const int chip = is_apart ? other_end(theirs, best) : other_end(mine, gpu), a = mine.a;
    Link moved = theirs;
    moved.a = a == gpu ? gpu : chip;
    moved.b = a == gpu ? chip : gpu;
    mine = moved;
  } else {
    std::vector<PcieGroup>& groups = node.wiring.groups;
    PcieGroup *mine = nullptr, *most = nullptr;
    for (PcieGroup& g : groups) {
      if (std::find(g.gpus.begin(), g.gpus.end(), gpu) != g.gpus.end()) mine = &g;
      if (most == nullptr || g.gpus.size() > most->gpus.size()) most = &g;
    }
    if (mine == nullptr || mine->gpus.size() >= most->gpus.size()) return false;
    mine->gpus.erase(std::remove(mine->gpus.begin(), mine->gpus.end(), gpu), mine->gpus.end());
    most->gpus.push_back(gpu);
    if (mine->gpus.empty() && mine->nics == 0) groups.erase(groups.begin() + (mine - groups.data()));
  }
  becomes_another(p);
  return true;
}

double gbit(const Network& n) { return n.nic_rate.value * 8 / 1e9; }

bool set_network(Network& n, int nics, double rate_gbit) {
  if (nics < 1 || nics > 64) return false;
  n.nics_per_node = nics;
  n.nic_rate = BytesPerSecond(rate_gbit * 1e9 / 8);
  if (!n.shorthand.empty()) n.shorthand = std::string(name_of(n.fabric)) + '-' + std::to_string(nics) + 'x' + format_exact(rate_gbit);
  return true;
}

constexpr int kNicRates[] = {10, 25, 40, 50, 100, 200, 400, 800};  // Gbit/s that NICs are sold with

bool is_on_nvlink(const Node& n) { return n.wiring.kind == WiringKind::nvswitch || n.wiring.kind == WiringKind::nvlink_mesh; }

}  // namespace

// --- the list ---------------------------------------------------------------------------------------------------------------

namespace {

void add_machine_moves(const Plan& p, bool waits, std::vector<Move>& moves) {
  const auto add = [&](Knob k, int to) { moves.push_back({k, to}); };
  const Cluster& c = p.cluster;
  if (c.gpus_per_node < c.node.gpus) {
    if (c.gpus_per_node + 2 < c.node.gpus) add(Knob::gpus, c.gpus_per_node + 2);
    add(Knob::gpus, c.node.gpus);
  }
  add(Knob::nodes, c.nodes + 1);
  if (c.nodes > 1) add(Knob::nodes, 2 * c.nodes);
  if (!waits) return;
  if (c.gpus_per_node > 1) {
    if (c.node.gpu.nvlink_links > 0 && !is_on_nvlink(c.node)) {
      if (c.node.wiring.kind != WiringKind::nvlink_pairs && c.node.gpus % 2 == 0) add(Knob::wiring, static_cast<int>(WiringKind::nvlink_pairs));
      if (c.node.gpu.form.find("SXM") != std::string::npos || c.node.gpu.form.find("OAM") != std::string::npos) add(Knob::wiring, static_cast<int>(WiringKind::nvswitch));
    }
    if (!is_on_nvlink(c.node) && !peers_over_pcie(c.node, 0, c.node.gpus - 1)) add(Knob::p2p, 1);
    if (!is_on_nvlink(c.node))
      for (int g = 0; g < c.node.gpus && g < 16; ++g)
        if (uses_gpu(c, g)) add(Knob::slot, g);
  }
  if (c.nodes > 1 && c.network) {
    add(Knob::nics, 2 * c.network->nics_per_node);
    for (int rate : kNicRates)
      if (rate > gbit(*c.network)) {
        add(Knob::nic_rate, rate);
        break;
      }
  }
}

}  // namespace

std::vector<Move> moves_of(const Plan& p, bool waits) {
  std::vector<Move> moves;
  const auto add = [&](Knob k, int to) { moves.push_back({k, to}); };
  for (DataSharding s : shardings_of(p.parallel.framework)) add(Knob::sharding, static_cast<int>(s));
  for (RecomputeKind r : {RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full}) add(Knob::recompute, static_cast<int>(r));
  const Count layers = p.model.opaque ? p.model.opaque->units : p.model.num_layers;
  for (Count quarters : {1, 2, 3})
    if (layers >= 4) add(Knob::recompute_layers, static_cast<int>(layers * quarters / 4));

  const Count sequences = p.training.global_batch_size / p.parallel.data, micro = p.training.micro_batch_size;
  int above = 0;
  if (micro > 1) add(Knob::micro_batch, 1);
  for (Count n = micro - 1; n > 1; --n)
    if (sequences % n == 0) {
      add(Knob::micro_batch, static_cast<int>(n));
      break;
    }
  for (Count n = micro + 1; n <= sequences && n <= 16 * micro && above < 3; ++n)
    if (sequences % n == 0) add(Knob::micro_batch, static_cast<int>(n)), ++above;

  for (int n : {1, 2, 4, 8}) add(Knob::tensor, n);
  if (p.cluster.nodes > 1 || p.parallel.pipeline > 1)
    for (int n : {1, 2, 4, 8}) add(Knob::pipeline, n);
  if (p.training.sequence_length >= 16384 || p.parallel.context > 1)  // below, a micro-batch of one sequence is no hardship
    for (int n : {1, 2, 4, 8}) add(Knob::context, n);
  if (p.model.moe)
    for (Count n : {p.parallel.expert / 2, 2 * p.parallel.expert, Count{8}})
      if (n > 0) add(Knob::expert, static_cast<int>(n));
  for (int on : {1, 0}) add(Knob::sequence_parallel, on);
  if (p.parallel.pipeline > 1)
    for (PipelineSchedule s : schedules_of(p.parallel.framework)) {
      if (s != PipelineSchedule::interleaved) add(Knob::schedule, 64 * static_cast<int>(s) + 1);
      else
        for (int chunks : {2, 4, 5}) add(Knob::schedule, 64 * static_cast<int>(s) + chunks);
    }
  add(Knob::unit, 0);
  for (int mb : {100, 400}) add(Knob::bucket, mb << 20);
  for (Loss l : {Loss::fused, Loss::chunked}) add(Knob::loss, static_cast<int>(l));
  add(Knob::attention, 0);
  add(Knob::kernels, 0);
  add(Knob::graphs, 0);
  add(Knob::gradient_sync, 0);
  for (int which : {0, 1, 2}) add(Knob::overlap, which);
  add(Knob::dispatcher, 0);
  for (int parameters : {0, 1}) add(Knob::offload_states, parameters);
  add(Knob::offload_activations, 0);
  for (Knob k : {Knob::optimizer, Knob::state_dtype, Knob::gradient_dtype, Knob::master}) add(k, 0);
  add_machine_moves(p, waits, moves);
  return moves;
}

bool apply(const Move& m, const PlanFilling& filling, const PreparedCluster& cluster, Plan& p) {
  Training& t = p.training;
  Parallel& l = p.parallel;
  const bool is_pytorch = is(p, Framework::pytorch), is_megatron = is(p, Framework::megatron), is_deepspeed = is(p, Framework::deepspeed);
  switch (m.knob) {
    case Knob::recompute:
      if (p.model.opaque && m.to != static_cast<int>(RecomputeKind::none)) return false;
      return set(t.recompute, Recompute{static_cast<RecomputeKind>(m.to), 0});
    case Knob::recompute_layers: return !p.model.opaque && set(t.recompute, Recompute{RecomputeKind::full_layers, m.to});
    case Knob::micro_batch: return set(t.micro_batch_size, Count{m.to});
    case Knob::sharding: return set_sharding(static_cast<DataSharding>(m.to), filling, p);
    case Knob::tensor: return set_tensor(m.to, cluster, p);
    case Knob::pipeline:
      if (!can_split(p, m.knob) || !split(l.pipeline, m.to, p)) return false;
      if (m.to == 1) l.pipeline_schedule = PipelineSchedule::one_f_one_b, l.virtual_stages = 1;
      l.placement.clear();
      return true;
    case Knob::context:
      l.placement.clear();
      return can_split(p, m.knob) && split(l.context, m.to, p);
    case Knob::expert: return p.model.moe && !is_deepspeed && set(l.expert, Count{m.to});
    case Knob::sequence_parallel: return l.tensor > 1 && (is_megatron || is_pytorch) && set(l.sequence_parallel, m.to == 1);
    case Knob::schedule: {
      const auto to = static_cast<PipelineSchedule>(m.to / 64);
      if (l.pipeline < 2) return false;
      const bool is_other = set(l.pipeline_schedule, to);
      return set(l.virtual_stages, Count{m.to % 64}) || is_other;
    }
    case Knob::unit: return is_pytorch && shards_parameters(l.data_sharding) && set(l.fsdp_unit, FsdpUnit{});
    case Knob::bucket:
      if (!buckets_gradients(p) || l.data * l.context < 2 || t.switches.bucket_bytes >= m.to) return false;
      if (!t.details) t.details = Details{};
      t.details->bucket_bytes = m.to;
      return true;
    case Knob::loss: {
      const Loss to = static_cast<Loss>(m.to);
      if (p.model.opaque || (to == Loss::chunked && !is_pytorch) || t.loss != Loss::logits_fp32) return false;
      return set(t.loss, to);
    }
    case Knob::attention: return !(t.details && t.details->attention_kernel) && set(t.attention, Attention::flash);
    case Knob::kernels:
      if (p.model.opaque || t.kernels != Kernels::eager || is_deepspeed) return false;
      return set(t.kernels, is_megatron ? Kernels::fused : Kernels::compiled);
    case Knob::graphs: return is_megatron && set(t.cuda_graphs, true);
    case Knob::gradient_sync:  // no_sync(), set_requires_gradient_sync(); DeepSpeed's stages 2 and 3 cannot
      return is_pytorch && micro_batches(p) > 1 && set(l.gradient_sync, GradientSync::last);
    case Knob::overlap: return set_overlap(m.to, p);
    case Knob::dispatcher: return is_megatron && p.model.moe && l.expert > 1 && set(l.moe_dispatcher, MoeDispatcher::flex);
    case Knob::offload_states: return set_offload(m.to == 1, p);
    case Knob::offload_activations: return !is_deepspeed && !p.model.opaque && set(t.offload.activations, true);
    case Knob::placement: return false;  // found by search, not by a value
    case Knob::optimizer:
      if (is_megatron || (t.optimizer != Optimizer::adamw && t.optimizer != Optimizer::adam)) return false;
      return set(t.optimizer, Optimizer::adamw_8bit);
    case Knob::state_dtype:  // Megatron's precision-aware optimizer, with the distributed one only
      return is_megatron && shards_optimizer(l.data_sharding) && t.optimizer_state_dtype == DType::fp32 && set(t.optimizer_state_dtype, DType::bf16);
    case Knob::gradient_dtype: return t.gradient_dtype == DType::fp32 && t.parameter_dtype != DType::fp32 && t.parameter_dtype != DType::fp16 && set(t.gradient_dtype, DType::bf16);
    case Knob::master:
      if (!is_pytorch || t.parameter_dtype != DType::bf16 || t.lora) return false;
      if (t.gradient_dtype == DType::fp32) t.gradient_dtype = DType::bf16;
      return set(t.master_weights_dtype, std::optional<DType>{});
    case Knob::gpus: return m.to <= p.cluster.node.gpus && set_count(p.cluster.nodes, m.to, filling, p);
    case Knob::nodes: return set_count(m.to, p.cluster.gpus_per_node, filling, p);
    case Knob::wiring:
      p = with_wiring(p, static_cast<WiringKind>(m.to), 1);
      becomes_another(p);
      return true;
    case Knob::p2p:
      p.cluster.node.p2p = 1;
      p.cluster.node.p2p_matrix.clear();
      becomes_another(p);
      return true;
    case Knob::slot: return move_card(m.to, p);
    case Knob::nics:
      p.cluster.profile.reset();
      return set_network(*p.cluster.network, m.to, gbit(*p.cluster.network));
    case Knob::nic_rate:
      p.cluster.profile.reset();
      return set_network(*p.cluster.network, p.cluster.network->nics_per_node, m.to);
  }
  return false;
}

bool settle(const Plan& before, const PlanFilling& filling, Plan& p) {
  if (p.training.global_batch_size != before.training.global_batch_size) return false;
  filling.fill(p);
  return validate(p).empty();
}

// --- words ------------------------------------------------------------------------------------------------------------------

namespace {

std::string value_of(const Move& m, const Plan& p) {
  const Parallel& l = p.parallel;
  switch (m.knob) {
    case Knob::recompute: {
      constexpr const char* kKinds[] = {"none", "selective", "full"};
      return kKinds[m.to];
    }
    case Knob::sharding: return std::string(name_of(l.data_sharding));
    case Knob::schedule: return std::string(name_of(static_cast<PipelineSchedule>(m.to / 64))) + (m.to % 64 > 1 ? "x" + std::to_string(m.to % 64) : "");
    case Knob::bucket: return std::to_string(m.to >> 20) + "MiB";
    case Knob::loss: return std::string(name_of(static_cast<Loss>(m.to)));
    case Knob::kernels: return std::string(name_of(p.training.kernels));
    case Knob::overlap: {
      constexpr const char* kParts[] = {"data", "tensor", "pipeline"};
      return kParts[m.to];
    }
    case Knob::offload_states: return m.to == 1 ? "parameters" : "optimizer";
    case Knob::wiring: return std::string(name_of(static_cast<WiringKind>(m.to)));
    case Knob::recompute_layers: case Knob::micro_batch: case Knob::tensor: case Knob::pipeline: case Knob::context: case Knob::expert: case Knob::gpus: case Knob::nodes: case Knob::slot: case Knob::nics: case Knob::nic_rate: case Knob::sequence_parallel:
      return std::to_string(m.to);
    default: return "";
  }
}

std::string from_to(const char* what, Count from, Count to) { return std::string(what) + ' ' + of(to) + " instead of " + of(from); }

std::string wiring_name(WiringKind kind) { return kind == WiringKind::nvswitch ? "an NVSwitch board" : "NVLink bridges between pairs of cards"; }

}  // namespace

std::string key_of(const Move& m, const Plan& after) {
  const std::string value = value_of(m, after);
  return std::string(name_of(m.knob)) + (value.empty() ? "" : "=" + value);
}

std::string label_of(const Move& m, const Plan& b, const Plan& a) {
  const Parallel &l = a.parallel, &was = b.parallel;
  const Training& t = a.training;
  switch (m.knob) {
    case Knob::recompute:
      return t.recompute.kind == RecomputeKind::none ? "recompute nothing" : t.recompute.kind == RecomputeKind::full ? "recompute every layer in the backward pass" : "recompute only what is large and cheap (selective)";
    case Knob::recompute_layers: return "recompute " + of(m.to) + " of " + of(a.model.num_layers) + " layers in the backward pass" + (b.training.recompute.kind == RecomputeKind::full ? " instead of all" : "");
    case Knob::micro_batch: return from_to("micro-batches of", b.training.micro_batch_size, m.to) + " sequences, " + of(micro_batches(a)) + (micro_batches(a) == 1 ? " of them" : " in turn");
    case Knob::sharding: {
      const bool is_fsdp_mode = l.data_sharding == DataSharding::zero2 && is(a, Framework::pytorch);
      std::string text = std::string(sharding_label(l.data_sharding)) + (is_fsdp_mode ? " (FSDP's SHARD_GRAD_OP)" : "") + " instead of " + std::string(sharding_label(was.data_sharding));
      if (l.data_sharding == DataSharding::hsdp) text += ": shards over " + of(l.shard_group) + " ranks, " + of(l.data * l.context / l.shard_group) + " copies";
      return text;
    }
    case Knob::tensor: return from_to("tensor parallel", was.tensor, l.tensor) + (l.placement.empty() || l.placement == was.placement ? "" : ", on the GPUs that are joined best");
    case Knob::pipeline: return from_to("pipeline stages:", was.pipeline, l.pipeline);
    case Knob::context: return from_to("context parallel", was.context, l.context);
    case Knob::expert: return from_to("experts over", was.expert, l.expert) + " ranks";
    case Knob::sequence_parallel: return m.to == 1 ? "sequence parallel beside tensor parallel" : "no sequence parallel beside tensor parallel";
    case Knob::schedule: return "pipeline schedule " + std::string(name_of(l.pipeline_schedule)) + (m.to % 64 > 1 ? " with " + of(m.to % 64) + " chunks a rank" : "");
    case Knob::unit: return "FSDP wraps each block";
    case Knob::bucket: return "gradient buckets of " + format_message_size(Bytes(m.to));
    case Knob::loss: return t.loss == Loss::fused ? "fused loss, which never holds all logits" : "loss in chunks, which never holds all logits";
    case Knob::attention: return "flash attention";
    case Knob::kernels: return a.parallel.framework == Framework::megatron ? "fused kernels" : "compiled kernels (torch.compile)";
    case Knob::graphs: return "CUDA graphs";
    case Knob::gradient_sync: return "gradients synchronised once a step instead of after each of " + of(micro_batches(a)) + " micro-batches";
    case Knob::overlap:
      if (m.to == 0) return shards_optimizer(l.data_sharding) ? "gradient reduction and parameter gathers beside compute" : "gradient reduction beside compute";
      return m.to == 1 ? "tensor-parallel messages beside compute" : "pipeline messages beside compute";
    case Knob::dispatcher: return "flex dispatch of tokens to experts";
    case Knob::offload_states: return m.to == 1 ? "parameters and optimizer states in host memory" : "optimizer states in host memory";
    case Knob::offload_activations: return "activations to host memory and back";
    case Knob::placement: return "ranks on other GPUs";
    case Knob::optimizer: return "8-bit AdamW";
    case Knob::state_dtype: return "optimizer states in bf16";
    case Knob::gradient_dtype: return "gradients in bf16";
    case Knob::master: return "pure bf16 weights, no fp32 master";
    case Knob::gpus: return of(total_gpus(a.cluster)) + " GPUs instead of " + of(total_gpus(b.cluster));
    case Knob::nodes: return from_to("nodes:", b.cluster.nodes, a.cluster.nodes);
    case Knob::wiring: return wiring_name(static_cast<WiringKind>(m.to));
    case Knob::p2p: return "peer access over PCIe enabled";
    case Knob::slot: return "GPU " + of(m.to) + " in a slot beside most others";
    case Knob::nics: return from_to("NICs of a node:", b.cluster.network->nics_per_node, m.to);
    case Knob::nic_rate: return from_to("NICs of", static_cast<Count>(gbit(*b.cluster.network)), m.to) + " Gbit/s";
  }
  return "";
}

std::string price_of(const Move& m, const Plan& a) {
  switch (m.knob) {
    case Knob::expert: return "Balance between experts is taken as even";
    case Knob::loss: return "Needs a loss kernel of that kind in the code base";
    case Knob::kernels: return "Compilation takes minutes at the start";
    case Knob::graphs: return "Memory that captured graphs hold is not counted";
    case Knob::gradient_sync: return shards_gradients(a.parallel.data_sharding) ? "Whole gradients stay on each GPU between micro-batches" : "";
    case Knob::offload_states: return "A last resort: the host's processors update the weights, at the speed of their memory";
    case Knob::offload_activations: return "A last resort: the copies over PCIe, there and back in every micro-batch, are not in the time of a step";
    case Knob::optimizer: return "Changes the training: states are rounded to 8 bits in blocks";
    case Knob::state_dtype: return "Changes the training: both moments are rounded to bf16";
    case Knob::gradient_dtype: return "Changes the training: gradients are summed up in bf16, with 8 bits of mantissa";
    case Knob::master: return "Changes the training: updates smaller than 1/256 of a weight may be lost";
    case Knob::gpus: return "More GPUs of the same node";
    case Knob::nodes: return "Each node has " + std::to_string(a.cluster.gpus_per_node) + (a.cluster.gpus_per_node == 1 ? " GPU" : " GPUs") + ", its host and its network";
    case Knob::wiring: return static_cast<WiringKind>(m.to) == WiringKind::nvswitch ? "Another board" : "One bridge for each two cards";
    case Knob::p2p: return "Depends on card, driver, BIOS and IOMMU: a setting where the card can, a patched driver for consumer cards";
    case Knob::slot: return "A free slot there, of full width";
    case Knob::nics: case Knob::nic_rate: return "NICs, cables and ports of the switches for every node";
    default: return "";
  }
}

}  // namespace wireplan
