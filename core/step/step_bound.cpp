#include "core/step/step_bound.hpp"

#include <algorithm>

#include "core/step/pace.hpp"

namespace wireplan {
namespace {

// First, second and last stage.
template <class Visit>
void visit_ends(std::size_t stages, Visit visit) {
  visit(0);
  if (stages > 1) visit(1);
  if (stages > 2) visit(stages - 1);
}

}  // namespace

StepBound::StepBound(const Plan& p, StepWiring& wiring, const std::vector<StageParameters>& stages, const std::vector<StageParameters>& trained, const SequenceWork& work,
                     const EfficiencyConstants& k)
    : stages_(stages), trained_(trained), work_(work), k_(k), rates_(compute_rates(p, k)) {
  bool is_first = true;
  visit_ends(stages.size(), [&](std::size_t i) {
    const ComputeCost stage = stage_cost(p, i);
    LayerWaits waits;
    for (const Message& message : model_messages(p, static_cast<Count>(i))) {
      if (!is_inside_layers(message)) continue;
      StepWiring::Group& group = wiring.group(p, message.group);
      const Seconds total = message.calls * wiring.call(group, message.collective, message.bytes).time.value;
      add_wait(p, stage, message, share_in_layers(p, k, stage, message, total) * total, waits);
    }
    waits_ = is_first ? waits : LayerWaits{std::min(waits_.forward, waits.forward), std::min(waits_.backward, waits.backward)};
    is_first = false;
  });
}

ComputeCost StepBound::stage_cost(const Plan& p, std::size_t i) const {
  const bool has_head = p.model.opaque ? i + 1 == stages_.size() : stage_layers(p.model, p.parallel, static_cast<Count>(i)).heads > 0;
  return stage_compute(p, work_, rates_, static_cast<Count>(i), stages_[i], trained_[i].total(), has_head, k_);
}

Seconds StepBound::step_of(const Plan& p, Seconds passes, Seconds optimizer) const {
  return (1 + straggler_factor(p, k_)) * (passes + optimizer + host_time(p, k_));
}

StepBound::Passes StepBound::passes(const Plan& p) const {
  Passes result;
  result.stages.reserve(stages_.size());
  // Stages that hold the same take the same time; most do, and those follow each other.
  const bool counts_layers = p.training.recompute.n > 0;
  const StageParameters* before = nullptr;
  StageLayers layers_before;
  Count again_before = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const StageParameters& s = stages_[i];
    StageLayers layers;
    if (!p.model.opaque) layers = stage_layers(p.model, p.parallel, static_cast<Count>(i));
    const Count again = counts_layers && !p.model.opaque ? recomputed_layers(p.model, p.parallel, p.training.recompute, static_cast<Count>(i)).total() : 0;
    const bool is_like = before && !p.model.opaque && s.layers == before->layers && s.dense == before->dense && s.experts == before->experts && s.embedding == before->embedding &&
                         s.head == before->head && layers.moe == layers_before.moe && layers.heads == layers_before.heads && again == again_before;
    if (is_like) {
      result.stages.push_back(result.stages.back());
      continue;
    }
    const ComputeCost stage = stage_cost(p, i);
    const LayerPace pace = stage_pace(stage, layer_pace(stage, waits_, k_.host_norm));
    const Seconds weights = std::min(stage.weight_gradient, pace.backward);
    result.stages.push_back({pace.forward, pace.backward - weights, weights});
    result.optimizer = std::max(result.optimizer, stage.optimizer);
    before = &s;
    layers_before = layers;
    again_before = again;
  }
  return result;
}

Seconds StepBound::by_stages(const Plan& p) const {
  const Passes all = passes(p);
  const double m = static_cast<double>(micro_batches(p));
  const auto work = [&](const StagePass& s) { return m * (s.forward + s.input_gradient + s.weight_gradient); };
  Seconds longest, way;
  for (const StagePass& s : all.stages) {
    longest = std::max(longest, work(s));
    way += s.forward + s.input_gradient;
  }
  const PipelineSchedule kind = p.parallel.pipeline_schedule;
  if (all.stages.size() > 1 && (kind == PipelineSchedule::one_f_one_b || kind == PipelineSchedule::gpipe || kind == PipelineSchedule::interleaved)) {
    const StagePass& last = all.stages.back();
    const double chunks = kind == PipelineSchedule::interleaved ? static_cast<double>(p.parallel.virtual_stages) : 1;
    longest = std::max(longest, work(last) + (way - last.forward - last.input_gradient) / chunks);
  }
  return step_of(p, longest, all.optimizer);
}

Seconds StepBound::by_schedule(const Plan& p) const {
  if (stages_.size() == 1) return by_stages(p);
  const Passes all = passes(p);
  return step_of(p, pipeline_times(schedule_of(p), all.stages, Seconds(0)).end, all.optimizer);
}

}  // namespace wireplan
