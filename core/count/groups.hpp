// Which ranks talk to each other: the process groups of a layout, and how they lie on nodes and GPUs.
#pragma once

#include <array>
#include <vector>

#include "core/describe/plan.hpp"

namespace wireplan {

// The groups a layout communicates in. `data` is data × context for dense parameters; shard/replicate split it for HSDP
// (and ZeRO-1 with shard_group); expert_data is the data group of routed experts; expert_tensor cuts one expert; embedding is
// the first and the last stage of a pipeline, which share a tied embedding; secondary is k neighbours of the data group that hold
// a second copy of sharded parameters (DeepSpeed's zero_hpz_partition_size; 1 without).
enum class GroupKind : unsigned char {
  tensor,
  pipeline,
  context,
  expert,
  data,
  shard,
  replicate,
  expert_data,
  expert_tensor,
  embedding,
  secondary
};
template <>
inline constexpr std::array<std::string_view, 11> kNames<GroupKind> = {
    "tensor",    "pipeline",    "context",       "expert",    "data",     "shard",
    "replicate", "expert-data", "expert-tensor", "embedding", "secondary"};

// How the groups of one kind lie on the machine. All groups of a kind run at the same time, so one node shows the load: node 0,
// whose groups begin on it; with a placement the fullest (most ranks of one group, then most groups).
struct GroupShape {
  int ranks = 1;     // n: ranks of one group
  int nodes = 1;     // q: nodes one group spans (the most where uneven)
  int per_node = 1;  // g: ranks of one group on that node (the longest list of `local`)
  // GPU indices within that node, one list per group that has ranks there, in ring order of ranks.
  std::vector<std::vector<int>> local;
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

// n of the groups of `kind`, without looking at the machine. Exact.
Count group_size(const Plan& plan, GroupKind kind);
// Of all kinds, by GroupKind.
std::array<Count, kNames<GroupKind>.size()> group_sizes(const Plan& plan);

// what: shape of the groups of `kind` under plan.parallel.order and placement. Rank r sits on GPU placement[r] (or r); GPU index
// i is the (i mod gpus_per_node)-th used GPU (cluster.gpus) of node i div gpus_per_node.
// formula: rank = Σ coordinate · stride, strides grow in the order of `order`. Dense layers count tp·cp·dp·pp (ep has size 1),
// routed experts e_t·ep·dp_e·pp with dp_e = world/(e·e_t·p) (cp has size 1): two views of the same ranks.
// source: [megatron-lm] parallel_state RankGenerator.  valid: after validate(plan) passed. count.
// test: groups_test.cpp, every rank is in exactly one group of each kind. Work: of the ranks of node 0, not of the world, unless
// the plan has a placement. Estimate: `nodes` of a group of more than 2,000 ranks that an order tears into pieces which do not
// repeat from node to node within 2e6 / (groups on the node) ranks; it is then scaled up from that many.
GroupShape group_shape(const Plan& plan, GroupKind kind);

// One group by itself, the first `ranks` GPUs spread over `nodes` nodes, on each the GPUs `local` in ring order ({}: the first ones).
GroupShape single_group(int ranks, int nodes, std::vector<int> local = {});

// Ranks of the group of `kind` that rank r belongs to, in order. Middle stages have an `embedding` group of their own rank.
std::vector<int> group_ranks(const Plan& plan, GroupKind kind, int rank);

// First rank of a pipeline stage: the rank whose pipeline coordinate is the stage and whose others are zero.
int first_rank_of_stage(const Plan& plan, int stage);

}  // namespace wireplan
