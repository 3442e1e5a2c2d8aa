#include <algorithm>

#include "core/step/jobs.hpp"

namespace wireplan {

Seconds time_stood(const std::vector<StepJob>& jobs, const std::vector<PlayedJob>& times) {
  Seconds stood, free;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].lane != JobGroups::kCompute) continue;
    int last = -1;
    for (int a : jobs[j].after)
      if (last < 0 || times[static_cast<std::size_t>(a)].end > times[static_cast<std::size_t>(last)].end) last = a;
    if (last >= 0 && jobs[static_cast<std::size_t>(last)].message >= 0) stood += std::max(Seconds(0), times[j].start - free);
    free = std::max(free, times[j].end);
  }
  return stood;
}

StepProducts step_products(const Plan& p, bool is_forward) {
  StepProducts products;
  const auto add = [&](std::vector<MatrixProduct>& list, const MatrixProduct& x) {
    if (is_forward) return list.push_back(x);
    list.push_back({x.m, x.k, x.n, x.batch});
    if (!p.training.lora) list.push_back({x.n, x.k, x.m, x.batch});
  };
  for (const MatrixProduct& x : layer_products(p, p.model.moe.has_value())) add(products.layer, x);
  if (!p.model.opaque) add(products.head, head_product(p));
  return products;
}

Seconds PlayedStep::stood(std::size_t rank, const std::vector<StepJob>& jobs) const { return time_stood(jobs, ranks[rank]); }

namespace {

struct Lane {
  std::vector<int> jobs;
  std::size_t next = 0;
  Seconds free;
};

class Player {
 public:
  Player(const std::vector<std::vector<StepJob>>& jobs, const std::vector<int>& of, const JobGroups& groups) : jobs_(jobs), of_(of), groups_(groups) {
    lanes_.resize(jobs.size());
    ended_.resize(jobs.size());
    step_.ranks.resize(jobs.size());
    for (std::size_t r = 0; r < jobs.size(); ++r) {
      lanes_[r].resize(groups.lanes().size());
      ended_[r].assign(jobs[r].size(), false);
      step_.ranks[r].resize(jobs[r].size());
      for (std::size_t j = 0; j < jobs[r].size(); ++j) lanes_[r][static_cast<std::size_t>(jobs[r][j].lane)].jobs.push_back(static_cast<int>(j));
    }
  }

  PlayedStep play() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < jobs_.size(); ++r)
        for (std::size_t lane = 0; lane < lanes_[r].size(); ++lane)
          while (do_next(r, lane)) moved = true;
    }
    return std::move(step_);
  }

 private:
  const StepJob* head(std::size_t rank, std::size_t lane) const {
    const Lane& l = lanes_[rank][lane];
    return l.next < l.jobs.size() ? &jobs_[rank][static_cast<std::size_t>(l.jobs[l.next])] : nullptr;
  }

  // When the next job of the lane could start; below 0: not yet known.
  Seconds ready(std::size_t rank, std::size_t lane) const {
    const StepJob& job = *head(rank, lane);
    Seconds start = lanes_[rank][lane].free;
    for (int a : job.after) {
      if (!ended_[rank][static_cast<std::size_t>(a)]) return Seconds(-1);
      start = std::max(start, step_.ranks[rank][static_cast<std::size_t>(a)].end);
    }
    return start;
  }

  bool do_next(std::size_t rank, std::size_t lane) {
    const StepJob* job = head(rank, lane);
    if (!job) return false;
    Seconds start = ready(rank, lane);
    if (start < Seconds(0)) return false;
    members_.clear();
    members_.push_back(rank);
    if (job->group >= 0) {
      const std::vector<int>& group = groups_.groups()[static_cast<std::size_t>(job->group)];
      for (std::size_t r = 0; r < of_.size(); ++r) {
        if (r == rank || std::find(group.begin(), group.end(), of_[r]) == group.end()) continue;
        const StepJob* other = head(r, lane);
        if (!other || other->group != job->group || other->message != job->message) return false;
        const Seconds there = ready(r, lane);
        if (there < Seconds(0)) return false;
        start = std::max(start, there);
        members_.push_back(r);
      }
    }
    for (std::size_t r : members_) {
      Lane& l = lanes_[r][lane];
      const std::size_t j = static_cast<std::size_t>(l.jobs[l.next++]);
      step_.ranks[r][j] = {start, start + job->time};
      ended_[r][j] = true;
      l.free = start + job->time;
      step_.end = std::max(step_.end, l.free);
    }
    return true;
  }

  const std::vector<std::vector<StepJob>>& jobs_;
  const std::vector<int>& of_;
  const JobGroups& groups_;
  std::vector<std::vector<Lane>> lanes_;
  std::vector<std::vector<bool>> ended_;
  std::vector<std::size_t> members_;
  PlayedStep step_;
};

}  // namespace

PlayedStep played(const std::vector<std::vector<StepJob>>& jobs, const std::vector<int>& of, const JobGroups& groups) { return Player(jobs, of, groups).play(); }

}  // namespace wireplan
