// Sharded parameters unit by unit: FSDP (both versions), HSDP, and SHARD_GRAD_OP (pytorch's zero2).
//
// A unit's parameters are gathered before its forward and, unless they were kept, again before its backward; its gradients are
// reduced after its backward. [pytorch-fsdp-notes], [pytorch-fsdp23] §3; counts checked against [framework-traces].
#include <algorithm>

#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

struct Unit {
  double gather_bytes = 0, reduce_bytes = 0, expert_gather_bytes = 0, expert_reduce_bytes = 0;
  Unit& operator+=(const Unit& o) {
    gather_bytes += o.gather_bytes;
    reduce_bytes += o.reduce_bytes;
    expert_gather_bytes += o.expert_gather_bytes;
    expert_reduce_bytes += o.expert_reduce_bytes;
    return *this;
  }
};

class ShardedTraffic {
 public:
  explicit ShardedTraffic(StageTraffic& traffic)
      : t(traffic), how(traffic.plan.training.switches) {
    version1 = how.fsdp_version == 1;
    kept = t.plan.parallel.data_sharding == DataSharding::zero2;
    reduce = element_of(how.reduce_dtype);
    group = t.plan.parallel.data_sharding == DataSharding::hsdp ? GroupKind::shard : GroupKind::data;
  }

  void add() {
    if (t.plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::none)
      add_as_one();
    else
      add_by_blocks();
    add_norm();
  }

 private:
  StageTraffic& t;
  const Switches& how;
  bool version1 = false, kept = false;
  Element reduce = Element::fp32;
  GroupKind group = GroupKind::data;

  // FSDP2 pads the first dimension of each tensor to the ranks, FSDP1 the flat parameter of the unit (done in `emit`).
  double padded(const Tensor& x, double ranks) const {
    return version1 ? x.elements() : std::ceil(x.rows / ranks) * ranks * x.columns * x.copies;
  }

  // A frozen base below 16 bit is gathered as it is stored; all else in the compute type.
  double gather_bytes(const Tensor& x, bool is_layer) const {
    const auto& lora = t.plan.training.lora;
    const bool packed = lora && is_layer && x.columns > 1;
    return packed ? std::min(element_bytes(lora->base_dtype), bytes_of(t.activation)) : bytes_of(t.activation);
  }

  Unit unit_of(const TensorList& held, const TensorList& trained, bool is_layer) const {
    Unit u;
    for (const Tensor& x : held) {
      const bool apart = x.part == Part::expert && t.experts_apart;
      const double ranks = t.ranks(apart ? GroupKind::expert_data : group);
      (apart ? u.expert_gather_bytes : u.gather_bytes) += padded(x, ranks) * gather_bytes(x, is_layer);
      const bool is_frozen = how.frozen_embedding && x.part == Part::embedding && x.cut == Cut::rows;
      if (!t.plan.training.lora && !is_frozen)
        (apart ? u.expert_reduce_bytes : u.reduce_bytes) += padded(x, ranks) * bytes_of(reduce);
    }
    if (t.plan.training.lora) {
      for (const Tensor& x : trained) {
        u.gather_bytes += padded(x, t.ranks(group)) * bytes_of(t.activation);
        u.reduce_bytes += padded(x, t.ranks(group)) * bytes_of(reduce);
      }
      // A flat parameter that mixes adapters and base reduces whole.
      if (version1 && how.fsdp_use_orig_params && trained.size() > 0)
        u.reduce_bytes = u.gather_bytes / bytes_of(t.activation) * bytes_of(reduce);
    }
    return u;
  }
  Unit layer_unit(bool is_moe) const {
    return is_moe ? unit_of(t.moe_layer, t.trained_moe_layer, true)
                  : unit_of(t.dense_layer, t.trained_dense_layer, true);
  }
  static TensorList joined(const TensorList& a, const TensorList& b) {
    TensorList all = a;
    for (const Tensor& x : b) all.add(x);
    return all;
  }

  double whole_shards(double bytes, Element element) const {
    if (!version1) return bytes;
    const double line = bytes_of(element) * t.ranks(group);
    return std::ceil(bytes / line) * line;
  }

  void emit(const Unit& u, double units, bool again_in_backward) {
    const Overlap& overlap = t.plan.parallel.overlap;
    const double uses = units * double(t.micro_batches), reductions = units * double(t.syncs);
    const double gather = whole_shards(u.gather_bytes, t.activation), scatter = whole_shards(u.reduce_bytes, reduce);
    t.add("fsdp-all-gather-forward", Collective::all_gather, group, Phase::forward, gather, uses, t.activation,
          overlap.parameter_gather);
    t.add("fsdp-expert-all-gather-forward", Collective::all_gather, GroupKind::expert_data, Phase::forward,
          u.expert_gather_bytes, uses, t.activation, overlap.parameter_gather);
    if (again_in_backward) {
      t.add("fsdp-all-gather-backward", Collective::all_gather, group, Phase::backward, gather, uses, t.activation,
            overlap.parameter_gather);
      t.add("fsdp-expert-all-gather-backward", Collective::all_gather, GroupKind::expert_data, Phase::backward,
            u.expert_gather_bytes, uses, t.activation, overlap.parameter_gather);
    }
    t.add("fsdp-reduce-scatter", Collective::reduce_scatter, group, Phase::backward, scatter, reductions, reduce,
          overlap.gradient_reduce);
    t.add("fsdp-expert-reduce-scatter", Collective::reduce_scatter, GroupKind::expert_data, Phase::backward,
          u.expert_reduce_bytes, reductions, reduce, overlap.gradient_reduce);
    if (group == GroupKind::shard)
      t.add("hsdp-all-reduce", Collective::all_reduce, GroupKind::replicate, Phase::backward,
            scatter / t.ranks(GroupKind::shard), reductions, reduce, overlap.gradient_reduce);
  }

  void add_as_one() {
    Unit all = unit_of(joined(t.embedding, t.head), joined(t.trained_embedding, t.trained_head), false);
    for (Count i = 0; i < t.layers.total(); ++i) all += layer_unit(t.is_moe(i));
    emit(all, 1, false);  // the root is kept until its backward
  }

  void add_by_blocks() {
    const bool by_parts = how.fsdp_units == FsdpUnits::embedding_blocks_head;
    if (!by_parts)
      emit_root(joined(t.embedding, t.head));
    else if (!t.plan.model.tie_word_embeddings || !t.is_first || !t.is_last) {
      emit(unit_of(t.embedding, t.trained_embedding, false), 1, !kept);
    }
    const Count n = t.plan.parallel.fsdp_unit.kind == FsdpUnit::Kind::layers
                        ? std::max<Count>(t.plan.parallel.fsdp_unit.layers, 1)
                        : 1;
    const Unit dense = layer_unit(false), moe = t.layers.moe > 0 ? layer_unit(true) : Unit{};
    const bool last_kept = !how.reshard_last_unit;
    Unit open;
    for (Count i = 0, held = 0; i < t.layers.total(); ++i) {
      open += t.is_moe(i) ? moe : dense;
      const bool is_last = i + 1 == t.layers.total();
      if (++held < n && !is_last) continue;
      emit(open, 1, !kept && !(is_last && last_kept));
      open = Unit{};
      held = 0;
    }
    if (by_parts) emit_ends();
  }

  // Embedding and head as the root unit: gathered once, kept to its own backward. Frozen under FSDP1, it never leaves the GPU.
  void emit_root(const TensorList& root) {
    if (t.plan.training.lora && version1) return;
    emit(unit_of(root, joined(t.trained_embedding, t.trained_head), false), 1, false);
  }

  // Final norm and head, kept after forward; a tied table joins them. What nobody names is left to the root: learned positions,
  // and under LoRA the final norm, which the adapters' wrapper hides from the search for it.  [huggingface-transformers]
  void emit_ends() {
    const bool tied = t.plan.model.tie_word_embeddings && t.is_first && t.is_last;
    TensorList rest, unit;
    for (const Tensor& x : t.head) (t.plan.training.lora && x.part == Part::norm ? rest : unit).add(x);
    if (tied)
      for (const Tensor& x : t.embedding) (x.cut == Cut::rows ? unit : rest).add(x);
    if (rest.size() > 0) emit(unit_of(rest, tied ? t.trained_embedding : TensorList{}, false), 1, false);
    const bool again = t.plan.training.loss == Loss::chunked && how.loss_recompute && !kept;
    emit(unit_of(unit, t.trained_head, false), 1, again);
  }

  // Clipping: FSDP1 sums one number, FSDP2 (DTensor) one per trained tensor.
  void add_norm() {
    if (!how.gradient_clipping) return;
    const Element element = version1 ? Element::fp32 : element_of(t.plan.training.gradient_dtype);
    double tensors = tensors_of(t.trained_embedding) + tensors_of(t.trained_head) +
                     double(t.layers.dense) * tensors_of(t.trained_dense_layer);
    if (t.layers.moe > 0) tensors += double(t.layers.moe) * tensors_of(t.trained_moe_layer);
    t.add("gradient-norm", Collective::all_reduce, group, Phase::optimizer, version1 ? 4 : tensors * bytes_of(element),
          1, element, false);
  }
};

}  // namespace

void add_sharded(StageTraffic& t) { ShardedTraffic(t).add(); }

}  // namespace wireplan
