#include "core/step/job_groups.hpp"

#include <algorithm>

namespace wireplan {

namespace {

bool is_bent(PipelineSchedule s) { return s == PipelineSchedule::zb_v || s == PipelineSchedule::dualpipe_v; }

}  // namespace

PipelineNeighbours::Chunk PipelineNeighbours::after(const Schedule& s, int i, int c) {
  const bool twice = s.kind == PipelineSchedule::dualpipe, up = (is_bent(s.kind) || twice) && c == 1;
  const int next = up ? i - 1 : i + 1;
  if (next >= 0 && next < s.stages) return {next, c};
  if (twice || c + 1 >= chunks_of(s)) return {};
  return is_bent(s.kind) ? Chunk{i, 1} : Chunk{0, c + 1};
}

PipelineNeighbours::Chunk PipelineNeighbours::before(const Schedule& s, int i, int c) {
  const bool twice = s.kind == PipelineSchedule::dualpipe, up = (is_bent(s.kind) || twice) && c == 1;
  const int last = up ? i + 1 : i - 1;
  if (last >= 0 && last < s.stages) return {last, c};
  if (twice || c == 0) return {};
  return is_bent(s.kind) ? Chunk{i, 0} : Chunk{s.stages - 1, c - 1};
}

// [is backward][is up the ranks][even, odd, closes the ring]
std::size_t JobGroups::link_of(int from, int to, int stages, bool is_forward) {
  const bool closes = stages > 2 && std::max(from, to) - std::min(from, to) > 1;
  return (is_forward ? 0u : 6u) + (to < from ? 3u : 0u) + (closes ? 2u : static_cast<std::size_t>(std::min(from, to) % 2));
}

JobGroups::JobGroups(const Plan& plan, const StepCost& cost) {
  const int world = static_cast<int>(total_gpus(plan.cluster));
  of_.resize(static_cast<std::size_t>(world));
  for (auto& by_kind : of_) by_kind.fill(-1);
  hops_.resize(of_.size());
  stage_.assign(of_.size(), 0);
  pipeline_of_.assign(of_.size(), 0);
  const auto add = [&](std::vector<int> ranks) {
    groups_.push_back(std::move(ranks));
    return static_cast<int>(groups_.size()) - 1;
  };
  std::array<bool, kKinds> is_used{};
  for (const MessageCost& c : cost.messages) is_used[static_cast<std::size_t>(c.message.group)] = true;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (!is_used[kind] || static_cast<GroupKind>(kind) == GroupKind::pipeline) continue;
    for (int r = 0; r < world; ++r) {
      if (of_[static_cast<std::size_t>(r)][kind] >= 0) continue;
      std::vector<int> ranks = group_ranks(plan, static_cast<GroupKind>(kind), r);
      if (ranks.size() < 2) continue;
      const int index = static_cast<int>(groups_.size());
      for (int member : ranks) of_[static_cast<std::size_t>(member)][kind] = index;
      add(std::move(ranks));
    }
  }

  lanes_ = {"compute", "network", "layers", "copy"};
  lane_of_link_.fill(-1);
  const Schedule schedule = schedule_of(plan);
  stages_ = schedule.stages;
  std::vector<bool> is_known(of_.size(), false);
  for (int r = 0; r < world; ++r) {
    if (is_known[static_cast<std::size_t>(r)]) continue;
    std::vector<int> pipeline = group_ranks(plan, GroupKind::pipeline, r);
    for (std::size_t s = 0; s < pipeline.size(); ++s) {
      const std::size_t member = static_cast<std::size_t>(pipeline[s]);
      is_known[member] = true;
      stage_[member] = static_cast<int>(s);
      pipeline_of_[member] = static_cast<int>(pipelines_.size());
    }
    pipelines_.push_back(std::move(pipeline));
  }
  if (stages_ < 2) return;
  for (int i = 0; i < stages_; ++i)
    for (int c = 0; c < chunks_of(schedule); ++c) {
      const PipelineNeighbours::Chunk next = PipelineNeighbours::after(schedule, i, c);
      if (next.stage < 0 || next.stage == i) continue;
      for (const bool is_forward : {true, false}) {
        const int from = is_forward ? i : next.stage, to = is_forward ? next.stage : i;
        int& lane = lane_of_link_[link_of(from, to, stages_, is_forward)];
        if (lane < 0) {
          lane = static_cast<int>(lanes_.size());
          lanes_.push_back(std::string(is_forward ? "outputs" : "gradients") + (to > from ? " down, link " : " up, link ") + std::to_string(std::min(from, to)));
        }
        for (const std::vector<int>& pipeline : pipelines_) {
          const int sender = pipeline[static_cast<std::size_t>(from)], receiver = pipeline[static_cast<std::size_t>(to)];
          std::vector<int>& own = hops_[static_cast<std::size_t>(sender)];
          if (std::none_of(own.begin(), own.end(), [&](int g) { return groups_[static_cast<std::size_t>(g)][1] == receiver; })) own.push_back(add({sender, receiver}));
        }
      }
    }
}

int JobGroups::group_of(GroupKind kind, int rank) const { return of_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)]; }

int JobGroups::rank_at(int rank, int stage) const {
  return pipelines_[static_cast<std::size_t>(pipeline_of_[static_cast<std::size_t>(rank)])][static_cast<std::size_t>(stage)];
}

JobGroups::Hop JobGroups::hop(int rank, PipelineNeighbours::Chunk from, PipelineNeighbours::Chunk to, bool is_forward) const {
  if (from.stage < 0 || to.stage < 0 || from.stage == to.stage) return {};
  const int receiver = rank_at(rank, to.stage);
  for (int g : hops_[static_cast<std::size_t>(rank_at(rank, from.stage))])
    if (groups_[static_cast<std::size_t>(g)][1] == receiver) return {g, lane_of_link_[link_of(from.stage, to.stage, stages_, is_forward)]};
  return {};
}

}  // namespace wireplan
