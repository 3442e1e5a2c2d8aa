// The plan: everything the user states, with every default filled in (wireplan.plan/1).
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/cluster.hpp"
#include "core/describe/model.hpp"
#include "core/describe/parallel.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

// What the user left to framework and code base, of what depends on other fields of a plan (decide_again() in defaults.hpp).
struct LeftOpen {
  bool gradient_sync = false;
  std::optional<GradientSync> usual_sync;  // of the code base, where it is not the framework's
  bool gradient_reduce = false, parameter_gather = false, tensor = false, pipeline = false;  // of `overlap`
  friend bool operator==(const LeftOpen&, const LeftOpen&) = default;
};

struct Plan {
  Model model;
  Training training;
  Parallel parallel;
  Cluster cluster;
  std::vector<Assumption> assumed;  // defaults that depend on other fields and were filled in
  LeftOpen left_open;               // those of them that other layouts decide anew

  friend bool operator==(const Plan&, const Plan&) = default;
};

// m: micro-batches each data-parallel rank runs per step.  global / (micro · data)
inline Count micro_batches(const Plan& p) {
  return p.training.global_batch_size / (p.training.micro_batch_size * p.parallel.data);
}

// N_s: ranks that a sharded state is spread over: shard_group, or the whole data × context group.
inline Count shard_ranks(const Plan& p) {
  return p.parallel.shard_group > 0 ? p.parallel.shard_group : p.parallel.data * p.parallel.context;
}

// All errors of a complete plan: those of its parts, and those between them (product rule, divisibility, batch).
// Every error names path, value, limit and, where there are any, the nearest valid values.
Errors validate(const Plan& plan);
// Only the rules between the parts. Nothing is said where a number they need is itself out of range.
Errors validate_between(const Plan& plan);

}  // namespace wireplan
