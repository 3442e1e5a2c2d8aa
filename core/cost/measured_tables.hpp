// Tables of measured times, and what those near to a call say of it.
#pragma once

#include <optional>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/cost/collective_run.hpp"

namespace wireplan {

// Tables of what was measured, against the formula with these constants. Points without a size or a time are left out.
std::vector<MeasuredTable> measured_tables(const std::vector<CollectiveRun>& runs, const LinkConstants& constants);

// What tables say of a call.
struct TableAnswer {
  double residual = 0;  // ln of the factor on the formula
  double distance = 0;  // of the nearest table, 0: the same operation and ranks on such a machine
  bool is_inside = false;  // the size lies within the sizes of the nearest tables
};
// How far a table is from a call, and what it says there:
//   d = [0 the same operation, 0.7 all_gather and reduce_scatter, 1.0 all_reduce and either, 2.5 others] + |log2(n/n')| (half where the
//       nodes differ) + 0.7·|log2(N/N')| + 0.3 on another machine; farther than 4: not at all
//   residual = sum(w·s·r) / sum(w),  w = exp(-(d + octaves outside/4) / 0.15) · min(1, points/6),  s = exp(-0.35·d)
// r is linear in log2 of the size; above a table its difference to the formula stays as many seconds, or grows with the
// size for the share of the formula's time that does, below it fades by e in six
// octaves; a table at d >= 0.3 changes a time by 42 % at most.
// Nothing where no table is near enough, and for S = 0.
// Source: constants chosen on [published-nccl-tests] with each source left out in turn; flat around these values.
std::optional<TableAnswer> ask_tables(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

// The curves of a profile as tables against usual_call() of the same cluster; those on GPUs that it was not prepared with, or over
// several nodes where it has no network, are left out.
std::vector<MeasuredTable> profile_tables(const PreparedCluster& cluster, const Profile& profile);

// The same question put to the cluster's own tables; a curve of the same operation and ranks alone counts where there is one.
std::optional<TableAnswer> ask_profile(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

}  // namespace wireplan
