// Assignments of the ranks of a node to its GPUs, and the step each of them gives. Internal to core/answer.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/step/step.hpp"

namespace wireplan {

// Steps of one plan whose ranks sit on given GPUs. `cost` is the step of that plan under any placement; its rings are laid anew.
class MappedStep {
 public:
  struct Result {
    Seconds time, communication;
    bool operator<(const Result& o) const {
      constexpr double kSame = 1e-9;
      if (time < o.time * (1 - kSame)) return true;
      return time <= o.time * (1 + kSame) && communication < o.communication * (1 - kSame);
    }
  };

  // `plan` has no placement and no cluster.gpus: its local lists are positions 0 to gpus_per_node - 1.
  MappedStep(const Plan& plan, const PreparedCluster& cluster, StepCost cost, const EfficiencyConstants& efficiency);

  // gpus[i]: GPU of the i-th rank of every node.
  Result step(const std::vector<int>& gpus);

  int rings() const { return rings_; }  // laid so far
  int size() const { return plan_.cluster.gpus_per_node; }

  // Pairs of positions (a, b), a < b: of assignments that differ only by a symmetry of the layout one has gpus[a] < gpus[b] for all.
  std::vector<std::pair<int, int>> symmetries() const;

 private:
  struct Laid {
    RingOnWiring ring;
    std::vector<CollectiveCall> calls;  // one of each message
  };
  struct Kind {
    GroupShape shape;
    std::vector<std::size_t> messages;  // into cost_.messages
    bool is_ordered = false;            // neighbours in order of ranks talk, not a ring of its own order
    std::map<std::vector<int>, Laid> known;  // by GPUs of the groups
  };
  bool keeps_groups(const std::vector<int>& moved) const;

  const Plan& plan_;
  const PreparedCluster& cluster_;
  const EfficiencyConstants& efficiency_;
  StepCost cost_;
  std::vector<Kind> kinds_;
  int rings_ = 0;
};

struct Found {
  std::vector<int> gpus;
  MappedStep::Result result;
  bool exact = false;
  int compared = 0;
};
// The best assignment of `gpus`, which come in rising order. `alike`: alike_gpus(). `budget`: rings to lay.
Found best_assignment(MappedStep& step, const std::vector<int>& gpus, const std::vector<int>& alike, const PreparedCluster& cluster, int budget);

}  // namespace wireplan
