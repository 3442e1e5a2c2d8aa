// The jobs of a plan's step, as a back-end plays them.
#pragma once

#include <vector>

#include "core/step/jobs.hpp"
#include "core/text/presets.hpp"
#include "native/measure/backend.hpp"

namespace wireplan {

// The step of a plan on its ranks. Process and launcher count GPUs; `parallel.placement` says which rank sits on which.
struct Schedules {
  Schedules(const Plan& plan, const StepCost& cost, const EfficiencyConstants& efficiency);
  Schedules(const Schedules&) = delete;

  const Plan& plan;
  const StepCost& cost;
  const EfficiencyConstants& efficiency;
  JobGroups groups;                                // of ranks of the plan
  std::vector<int> rank_on, gpu_of;                // rank of the plan on a GPU, and the other way round
  std::vector<std::vector<StepJob>> jobs;          // by GPU
  std::vector<std::vector<int>> groups_of_gpus() const;
};

// What one process plays: the jobs of the GPUs it drives as one list. jobs_of[own GPU][step job] are those of the list that it is made of, in order.
struct ProcessJobs {
  std::vector<Job> list;
  std::vector<std::vector<std::vector<int>>> jobs_of;
};

// with_products: compute is matrix products of the model's shapes and a wait for the rest, instead of a wait for all of it. Errors: a process that drives
// GPUs of several pipeline stages, whose lists differ.
Result<ProcessJobs> process_jobs(const Schedules& schedules, const std::vector<int>& own_gpus, bool with_products);

// The call of a message's job in its group. A hop is a broadcast from the first of two: what a send and a receive are.
Call call_of(const StepJob& job, const MessageCost& message);

}  // namespace wireplan
