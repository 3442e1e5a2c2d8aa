// The back-end of NCCL: nccl_backend.cpp times and checks calls, nccl_play.cpp plays schedules.
//
// What is timed: a stream of each GPU holds the calls one after the other with an event between each two, and the time of a call is what
// lies between its two events on that GPU's clock. One call goes before the first event, so that no timed call waits for ranks to arrive.
#pragma once

#include <memory>

#include "native/measure/nccl_comms.hpp"
#include "native/measure/nccl_products.hpp"

namespace wireplan::nccl_backend {

class NcclBackend final : public Backend {
 public:
  explicit NcclBackend(const BackendRequest& request) : request_(request) {}
  ~NcclBackend() override;

  bool start(Refusal& refusal);  // once, before all others

  BackendFacts facts() override;
  int ranks() const override { return ranks_; }
  std::vector<int> own_ranks() const override;
  int process() const override { return meeting_.process(); }
  int processes() const override { return meeting_.processes(); }
  std::vector<std::string> exchange(const std::string& mine) override { return meeting_.exchange(mine); }
  Report company() override;

  Report open(const std::vector<std::vector<int>>& groups) override;
  Report prepare(const Call& call, const std::vector<int>& active) override;
  Report run(int iterations, std::vector<std::vector<double>>& seconds) override;
  Report check(std::vector<std::uint64_t>& wrong) override;
  Report play(const std::vector<Job>& jobs, std::vector<std::vector<JobTime>>& times) override;
  void abort() noexcept override { comms_.abort(); }

 private:
  struct Registered { std::size_t own; Comm comm; void* handle; };
  using Used = Comms::Used;

  bool choose_gpus(const Launch& launch, std::vector<int>& ordinals, std::string& why_not) const;
  std::string words_of_call(const Call& call, const Member& member) const;
  Report can_call(const Call& call, const Gpu& gpu) const;
  // What failed here the others are told at once, and everything under way is ended.
  Report gave_up(Report report);

  bool is_active(std::size_t own) const { return active_of_[own] >= 0; }
  const Member& active(std::size_t own) const { return members_[own][static_cast<std::size_t>(active_of_[own])]; }
  Used used() const;

  template <class PerGpu>
  Report each_active(const PerGpu& act);
  Report fill();
  Report call_once();
  Report wait_for_event(std::size_t event);
  Report wait_for_streams();
  Report run_calls(int iterations);
  Report run_graph(int iterations);
  Report register_buffers();
  void deregister_buffers();

  // nccl_play.cpp
  struct Stage;
  Report prepare_jobs(const std::vector<Job>& jobs, Stage& stage);
  Report start_together(const Stage& stage, std::size_t jobs);
  Report play_once(const std::vector<Job>& jobs, const Stage& stage);
  Report enqueue_job(const Job& job, std::size_t j, const std::vector<Job>& jobs, const Stage& stage);

  BackendRequest request_;
  Api api_;
  Words words_{&api_};
  Meeting meeting_;
  Gpus gpus_;
  Comms comms_{words_, gpus_, meeting_};
  int ranks_ = 0;
  std::vector<std::string> hosts_, gpu_names_;  // of all ranks
  std::vector<std::vector<int>> groups_;
  std::vector<std::vector<Member>> members_;             // [own rank][group]
  std::vector<std::vector<std::vector<Member>>> lanes_;  // for play(): [lane][own rank][group]
  std::vector<std::unique_ptr<Products>> products_;      // of each own rank
  Call call_;
  std::vector<int> active_of_;                           // of each own rank its group, -1: none
  std::vector<Registered> registered_;
};

}  // namespace wireplan::nccl_backend
