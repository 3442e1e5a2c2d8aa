// The step of one rank as jobs: what it computes and sends, in which order, and what each of them waits for. What step_cost() adds up and
// step_streams() draws, as something that can be run: a job knows what it needs, not when it starts.
#pragma once

#include <vector>

#include "core/step/job_groups.hpp"
#include "core/step/matrix_product.hpp"
#include "core/step/streams.hpp"

namespace wireplan {

struct StepJob {
  StepEventKind kind = StepEventKind::forward;
  int lane = 0;             // JobGroups::lanes()
  int message = -1;         // StepCost::messages; -1: this rank alone
  int group = -1;           // JobGroups::groups(), with a message
  bool is_hop = false;      // from the first of the group to the second
  bool is_sender = true;    // of a hop; the receiver has the same job
  Seconds time;             // as predicted; of a call by itself, its start not delayed by others
  Seconds slowed;           // of `time`: what compute loses to the traffic beside it
  Count micro_batch = -1;   // -1: of none
  float layers = 0, heads = 0;  // of compute: shares of a layer's and the head's work of its direction, for those who compute instead of waiting
  std::vector<int> after;   // earlier jobs of the list that must have ended; besides, the one before in its lane
};

// What: the jobs of `rank`. Every call of every message of the step is one job.
//   A pass is a row of units (first end, layers, last end) as pass_times() plays it: the gather of the next unit from the start of a unit on, a unit's reductions
//   after it, gathers before reductions; a pass starts and ends with an idle network. Traffic that the framework runs nothing beside stands between the units.
//   A layer's own communication stands inside it: of a call that takes T, exposed/total·T is waited for, beside the rest the layer computes on.
//   A pipeline's passes come in the order of pipeline_times(), each after its input has come from the neighbour.
//   Then what the framework overlaps with nothing, the optimizer, what the host needs between steps, what is predicted to be lost to stragglers.
// Exact, i.e. played() of these jobs ends at cost.time.value, and stands still for cost.exposed_communication less what compute is slowed by:
//   without a pipeline where the calls of a message are a whole multiple of the units they belong to, and the communication of a layer hides behind its own compute.
//   Elsewhere calls are dealt evenly: buckets of several layers are sent when the last of these is done (the sum spreads them over all), two calls more than
//   the layers' go to some of them. With a pipeline: where nothing but hops is sent and these do not queue; every stage then sends what the busiest does,
//   reductions of the other stages hide where the sum lets them show, those of schedules that split the backward come after its last part.
// Valid: after step_cost() of the same plan and constants; ranks of parallel.order, without `placement`.  Kind: estimate.  Test: jobs_test.cpp.
std::vector<StepJob> step_jobs(const Plan& plan, const StepCost& cost, const EfficiencyConstants& efficiency, const JobGroups& groups, int rank);

// About how many jobs a rank has.
double step_job_count(const Plan& plan, const StepCost& cost);

// The matrix products that the compute of a job is in the main, for those who run them instead of waiting: of a layer (MoE where the model has such layers) and of the
// head, forward, or backward for the gradients of inputs and of trained weights. Left out: attention, adapters, what is recomputed.
struct StepProducts { std::vector<MatrixProduct> layer, head; };
StepProducts step_products(const Plan& plan, bool is_forward);

struct PlayedJob { Seconds start, end; };
struct PlayedStep {
  std::vector<std::vector<PlayedJob>> ranks;  // [rank of the list][job]
  Seconds end;                                // of the last job anywhere
  Seconds stood(std::size_t rank, const std::vector<StepJob>& jobs) const;  // what the compute lane stands still for communication
};

// What: the jobs of several ranks on their lanes: a job starts when its lane is free, what it waits for has ended and, of a call, all ranks of the list that
//   take part have come to it; it takes its `time`. Calls of ranks that are not in the list count as those of its like.
// Valid: lists by step_jobs() of the ranks `of`.  A list that waits for itself ends where it stands: jobs that never start have end 0.
PlayedStep played(const std::vector<std::vector<StepJob>>& jobs, const std::vector<int>& of, const JobGroups& groups);

// What a compute lane stands still for communication: of each job the time between the end of the one before and its start, where the last it waited for is
// a call. times[job].
Seconds time_stood(const std::vector<StepJob>& jobs, const std::vector<PlayedJob>& times);

}  // namespace wireplan
