// The groups of ranks that communicate in one step, numbered once for all ranks, and the lanes on which they do.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/count/groups.hpp"
#include "core/step/step.hpp"

namespace wireplan {

// Which passes of a pipeline hand something from one rank to another.
struct PipelineNeighbours {
  struct Chunk { int stage = -1, chunk = -1; };  // stage -1: none
  // Of whom chunk `c` on rank `i` of the pipeline gets its input, and to whom its output goes: the order of the model.
  static Chunk before(const Schedule& schedule, int i, int c);
  static Chunk after(const Schedule& schedule, int i, int c);
};

// What: every group of at least two ranks that a message of the step travels in, and of each two stages that hand on activations or gradients
//   the pair (from, to). The same on every rank, so that all can make the same communicators.
// Where: a lane does one job after another. Compute; the network of data-parallel traffic; communication inside the layers; copies between GPU and host;
//   and, in a pipeline, hops. Hops of one link and direction share a lane, those of the next link have another (links of even and odd number alternate, the
//   one that closes the ring of an interleaved schedule is apart): a rank that waits for its input can still send.
// Kind: exact.  Test: tests/core/step/jobs_test.cpp.
class JobGroups {
 public:
  static constexpr int kCompute = 0, kNetwork = 1, kLayers = 2, kCopy = 3;

  JobGroups(const Plan& plan, const StepCost& cost);

  const std::vector<std::vector<int>>& groups() const { return groups_; }
  const std::vector<std::string>& lanes() const { return lanes_; }

  int group_of(GroupKind kind, int rank) const;  // -1: no group of at least two
  int stage_of(int rank) const { return stage_[static_cast<std::size_t>(rank)]; }
  int rank_at(int rank, int stage) const;        // that stage of the pipeline `rank` is in

  struct Hop { int group = -1, lane = -1; };
  Hop hop(int rank, PipelineNeighbours::Chunk from, PipelineNeighbours::Chunk to, bool is_forward) const;

 private:
  static constexpr std::size_t kKinds = kNames<GroupKind>.size();
  std::vector<std::vector<int>> groups_;
  std::vector<std::array<int, kKinds>> of_;     // by rank, by kind
  std::vector<std::vector<int>> hops_;          // groups of two that a rank begins
  std::vector<int> stage_;
  std::vector<std::vector<int>> pipelines_;
  std::vector<int> pipeline_of_;
  std::vector<std::string> lanes_;
  std::array<int, 12> lane_of_link_{};          // by direction of the pass, way along the ranks, even, odd or closing link; -1: none
  int stages_ = 1;

  static std::size_t link_of(int from, int to, int stages, bool is_forward);
};

}  // namespace wireplan
