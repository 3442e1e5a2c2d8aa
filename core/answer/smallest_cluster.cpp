#include "core/answer/smallest_cluster.hpp"

#include <algorithm>
#include <utility>

#include "core/answer/advice_moves.hpp"
#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

struct Size { int nodes = 1, per_node = 1; };

std::vector<Size> sizes_of(const NodeKind& kind) {
  std::vector<Size> sizes;
  for (int n = 1; n < kind.node.gpus; n *= 2) sizes.push_back({1, n});
  sizes.push_back({1, kind.node.gpus});
  if (kind.network)
    for (int nodes = 2; nodes <= kMostSmallestNodes; nodes *= 2) sizes.push_back({nodes, kind.node.gpus});
  return sizes;
}

// The plan's training on so many GPUs of a kind, alone: every layout starts here.
Plan on(const Plan& plan, const NodeKind& kind, const Size& size) {
  Plan p = plan;
  Cluster& c = p.cluster;
  c = Cluster{};
  c.nodes = size.nodes;
  c.node = kind.node;
  c.gpus_per_node = size.per_node;
  if (size.nodes > 1) c.network = kind.network;
  Parallel& l = p.parallel;
  l.tensor = l.pipeline = l.context = l.expert = l.expert_tensor = l.virtual_stages = 1;
  l.sequence_parallel = false;
  l.pipeline_schedule = PipelineSchedule::one_f_one_b;
  l.placement.clear();
  l.shard_group = 0;
  l.data = total_gpus(c);
  return p;
}

// The sharding that divides most; HSDP is FSDP with copies. A DeepSpeed configuration of the user's says its own.
DataSharding most_divided(const Plan& p) {
  if (!p.parallel.deepspeed.empty()) return p.parallel.data_sharding;
  return p.parallel.framework == Framework::pytorch ? DataSharding::fsdp : shardings_of(p.parallel.framework).back();
}

// The largest degree that divides heads and the GPUs of a node.
Count inside_node(const Plan& p) {
  Count degree = 1;
  for (Count n = 2; n <= p.cluster.gpus_per_node && n <= 8; n *= 2)
    if (p.model.num_attention_heads % n == 0 && p.cluster.gpus_per_node % n == 0) degree = n;
  return degree;
}

class Finder {
 public:
  Finder(const Plan& plan, const PlanFilling& filling, const Constants& constants) : plan_(plan), filling_(filling), constants_(constants), screening_(screening_constants(constants)) {}

  // The fastest that fits of this size; `is_valid` says whether any layout was possible at all.
  std::optional<SmallestCluster> at(const NodeKind& kind, const Size& size, bool& is_valid) {
    const Plan start = on(plan_, kind, size);
    const PreparedCluster cluster = prepare(start.cluster, screening_.links);
    const Recompute all{RecomputeKind::full, 0};
    const bool can_recompute = !plan_.model.opaque && !(plan_.training.recompute == all);
    for (bool recomputes : {false, true}) {
      if (recomputes && !can_recompute) break;
      std::optional<SmallestCluster> best;
      for (int layout = 0; layout < 8; ++layout) {
        Plan p = start;
        if (recomputes) p.training.recompute = all;
        if (!lay_out(layout, cluster, p)) continue;
        is_valid = true;
        const Effect e = effect_of(estimate(p, cluster, screening_));
        if (!e.fits || (best && best->effect.time <= e.time)) continue;
        best = SmallestCluster{std::move(p), e, static_cast<Count>(size.nodes) * size.per_node, recomputes, 0, "", ""};
      }
      if (!best) continue;
      best->effect = exact(best->plan);
      return best;
    }
    return std::nullopt;
  }

 private:
  // The plan's own estimate. Many kinds are the same machine under another name: what NCCL decides there is asked once.
  Effect exact(const Plan& p) {
    Cluster nameless = p.cluster;
    Node& n = nameless.node;
    n.id.clear();
    for (std::string* text : {&n.name, &n.usual_network, &n.source, &n.verified, &n.note}) text->clear();
    n.assumed.clear();
    const auto known = std::find_if(machines_.begin(), machines_.end(), [&](const Machine& m) { return m.cluster == nameless; });
    const PreparedCluster prepared = prepare(p.cluster, constants_.links, {}, known == machines_.end() ? nullptr : known->plans);
    if (known == machines_.end()) machines_.push_back({std::move(nameless), prepared.plans});
    return effect_of(estimate(p, prepared, constants_));
  }

  // Of three choices one bit each: tensor inside the node, pipeline across nodes, one sequence a micro-batch.
  bool lay_out(int layout, const PreparedCluster& cluster, Plan& p) const {
    const bool one = (layout & 4) != 0;
    if (one && p.training.micro_batch_size == 1) return false;
    if (one) p.training.micro_batch_size = 1;
    if ((layout & 1) != 0) {
      const Count tensor = inside_node(p);
      if (tensor < 2 || !apply({Knob::tensor, static_cast<int>(tensor)}, filling_, cluster, p)) return false;
    }
    if ((layout & 2) != 0 && (p.cluster.nodes < 2 || !apply({Knob::pipeline, p.cluster.nodes}, filling_, cluster, p))) return false;
    const DataSharding sharding = p.parallel.data * p.parallel.context > 1 ? most_divided(p) : p.parallel.data_sharding;
    if (sharding != p.parallel.data_sharding && !apply({Knob::sharding, static_cast<int>(sharding)}, filling_, cluster, p)) return false;
    if (p.parallel.data_sharding == DataSharding::hsdp) return false;
    return settle(plan_, filling_, p);
  }

  const Plan& plan_;
  const PlanFilling& filling_;
  const Constants& constants_;
  const Constants screening_;
  struct Machine {
    Cluster cluster;
    std::shared_ptr<nccl::GroupPlans> plans;
  };
  std::vector<Machine> machines_;
};

// Sizes that a GPU was too small for: memory does not depend on the wires between.
struct TooSmall {
  std::string gpu;
  Size size;
};

std::string gpus_text(Count n, const Node& node, int nodes) {
  return format_count(static_cast<double>(n)) + " × " + node.gpu.name + (nodes > 1 ? " in " + format_count(nodes) + " nodes" : "");
}

std::string layout_text(const SmallestCluster& s) {
  const Parallel& l = s.plan.parallel;
  std::string text = l.data * l.context > 1 ? std::string(sharding_label(l.data_sharding)) : "one copy";
  if (l.tensor > 1) text += ", tensor " + format_count(static_cast<double>(l.tensor));
  if (l.pipeline > 1) text += ", pipeline " + format_count(static_cast<double>(l.pipeline));
  if (const Count micro = s.plan.training.micro_batch_size; micro > 1) text += ", micro-batch " + format_count(static_cast<double>(micro));
  return text + (s.recomputes ? ", recomputed" : "");
}

}  // namespace

SmallestClusters smallest_clusters(const Plan& plan, const std::vector<NodeKind>& kinds, const PlanFilling& filling, const Constants& constants) {
  SmallestClusters all;
  Finder finder(plan, filling, constants);
  std::vector<TooSmall> known;
  for (const NodeKind& kind : kinds) {
    bool is_valid = false, is_found = false;
    for (const Size& size : sizes_of(kind)) {
      const auto is_too_small = [&](const TooSmall& t) { return t.gpu == kind.node.gpu.id && t.size.nodes == size.nodes && t.size.per_node == size.per_node && kind.node.host_memory.value <= 0; };
      if (std::any_of(known.begin(), known.end(), is_too_small)) {
        is_valid = true;
        continue;
      }
      bool has_layout = false;
      std::optional<SmallestCluster> found = finder.at(kind, size, has_layout);
      is_valid = is_valid || has_layout;
      if (!found) {
        if (has_layout && kind.node.host_memory.value <= 0) known.push_back({kind.node.gpu.id, size});
        continue;
      }
      if (found->effect.tokens_per_s > 0) found->gpu_hours = 1e9 / found->effect.tokens_per_s * static_cast<double>(found->gpus) / 3600;
      found->label = gpus_text(found->gpus, kind.node, size.nodes);
      found->layout = layout_text(*found);
      all.found.push_back(std::move(*found));
      is_found = true;
      break;
    }
    if (is_found) continue;
    all.left_out.push_back({kind.node.id, !is_valid ? "no count of its GPUs divides the global batch" : kind.network ? "not even " + format_count(kMostSmallestNodes) + " nodes hold it" : "one node cannot hold it, and no network is known"});
  }
  sort(all.found, [](const SmallestCluster& a, const SmallestCluster& b) {
    if (a.gpus != b.gpus) return a.gpus < b.gpus;
    if (a.effect.time != b.effect.time) return a.effect.time < b.effect.time;
    return a.plan.cluster.node.id < b.plan.cluster.node.id;
  });
  return all;
}

}  // namespace wireplan
