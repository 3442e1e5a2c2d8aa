// What the way out to a trainer and back changes in a plan.
#pragma once

#include <span>

#include "core/text/trainers/config_reader.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {

// A leaf of `training` and `parallel` by its dotted path. Recompute, LoRA, placement and a DeepSpeed configuration are leaves as a whole.
struct PlanLeaf {
  std::string path;
  Json value;
};
std::vector<PlanLeaf> plan_leaves(const Json& document);

// The fields of the plan that its exported files do not give back, with the trainer's reason for each: the first file is read again
// and what it states is put beside the plan; what it leaves open must have the plan's default. Values that mean nothing in this plan
// (when gradients are reduced with one micro-batch, sequence parallelism of one rank, ...) are no difference.
// test: trainer_test.cpp: every difference of a round trip over many plans is listed
void add_inexpressible(const Plan& plan, Trainer trainer, std::span<const Reason> reasons, Export& exported);

}  // namespace wireplan
