// What the message lists of one stage are made from: its tensors, its layers, its group sizes (for core/count and DeepSpeed's memory).
#pragma once

#include <array>
#include <cmath>

#include "core/count/messages.hpp"
#include "core/count/parameters.hpp"
#include "core/count/tensors.hpp"

namespace wireplan {

class StageTraffic {
 public:
  StageTraffic(const Plan& plan, Count stage);

  const Plan& plan;
  Count micro_batches = 1;
  Count syncs = 1;                     // gradient reductions per step
  double tokens = 0;                   // T
  Element activation = Element::bf16;  // of activations, gathered parameters
  StageLayers layers, recomputed;
  bool is_first = true, is_last = true;
  bool experts_apart = false;  // routed experts reduce in a group of their own (expert_data)
  // Tensors this rank holds, and those of them that are trained (adapters under LoRA).
  TensorList dense_layer, moe_layer, embedding, head;
  TensorList trained_dense_layer, trained_moe_layer, trained_embedding, trained_head;
  std::vector<Message> messages;

  double ranks(GroupKind kind) const { return double(sizes_[std::size_t(kind)]); }
  bool is_moe(Count layer) const;  // of the stage's layers, counted from 0

  // Adds calls; the same name, phase and size is one message. Past kMostSizes sizes of one name the rest share their mean, so
  // that the list stays short and the total exact.
  static constexpr int kMostSizes = 12;
  void add(std::string_view name, Collective collective, GroupKind group, Phase phase, double bytes, double calls,
           Element element, bool overlappable, bool merge = true);

  // Visits the trained tensors in the order their gradients are ready: visit(elements, copies, is_expert).
  template <class Visit>
  void in_gradient_order(Visit visit) const {
    visit_reversed(trained_head, visit);
    for (Count i = layers.total(); i-- > 0;) visit_reversed(is_moe(i) ? trained_moe_layer : trained_dense_layer, visit);
    visit_reversed(trained_embedding, visit);
  }

 private:
  template <class Visit>
  static void visit_reversed(const TensorList& list, Visit& visit) {
    for (std::size_t i = list.size(); i-- > 0;)
      visit(list[i].rows * list[i].columns, list[i].copies, list[i].part == Part::expert);
  }
  const std::array<Count, kNames<GroupKind>.size()> sizes_;
};

constexpr Element element_of(DType t) {  // formats below 16 bit travel as 16 bit
  return t == DType::fp32 ? Element::fp32 : t == DType::fp16 ? Element::fp16 : Element::bf16;
}

void add_data_parallel(StageTraffic& traffic);  // pytorch and megatron: buckets, broadcasts
void add_sharded(StageTraffic& traffic);        // FSDP, HSDP, zero2 of pytorch
void add_deepspeed(StageTraffic& traffic);      // ZeRO 0 to 3
void add_tensor_parallel(StageTraffic& traffic);
void add_model_parallel(StageTraffic& traffic);  // context, expert, pipeline

}  // namespace wireplan
