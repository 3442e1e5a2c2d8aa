// The communicators of this process' ranks: one of all ranks, and those of groups that are split from it.
//
// They do not block: NCCL's functions return at once, and their end is polled for, so that what another process says (Meeting) and NCCL's own
// asynchronous errors are heard while something is under way.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "native/measure/nccl_call.hpp"
#include "native/measure/nccl_gpu.hpp"
#include "native/measure/nccl_meeting.hpp"

namespace wireplan::nccl_backend {

using Gpus = std::vector<std::unique_ptr<Gpu>>;

class Comms {
 public:
  Comms(const Words& words, Gpus& gpus, Meeting& meeting) : words_(words), gpus_(gpus), meeting_(meeting) {}
  ~Comms() { close(); }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  // Of all ranks; process 0 makes the id, the others are told. Nothing where it is open.
  Report open(int ranks);
  const Member& world(std::size_t own) const { return world_[own]; }

  // members[own rank][group], in the order of `groups`. Groups without a rank in common are split at once.
  Report split(const std::vector<std::vector<int>>& groups, std::vector<std::vector<Member>>& members);
  void free(std::vector<std::vector<Member>>& members);

  // A call of NCCL for each own rank, as a group where there are several or the call says so.
  using PerGpu = std::function<Report(std::size_t own)>;
  Report together(const PerGpu& call, bool is_group);

  // Until what was called last is enqueued: the first calls of a communicator go on connecting after they return, and neither another call
  // nor an event may come before.
  using Used = std::vector<std::pair<std::size_t, Comm>>;  // own rank, communicator
  Report enqueued(const Used& used, const char* function);

  // Polls until `is_done`, which says how it went; hears errors of the communicators and other processes meanwhile.
  Report wait(const std::function<Report(bool& is_done)>& is_done, const Used& used);

  // Ends all communicators and whatever they do, from any thread. Nothing can be called afterwards.
  void abort() noexcept;
  bool is_aborted() const { return is_aborted_; }
  bool is_stuck() const { return is_aborted_ && !is_ended_; }  // the library did not come back

  void close();

 private:
  struct Live { std::size_t own; Comm comm; };
  Report settled(std::size_t own, const char* function, const Comm& comm);
  void destroy(const std::vector<Comm>& comms);
  int lost_rank(int otherwise) const;

  const Words& words_;
  Gpus& gpus_;
  Meeting& meeting_;
  std::vector<Member> world_;
  std::vector<Live> live_;
  std::timed_mutex guard_;  // live_, and every look at a communicator that abort() could end meanwhile
  std::atomic<bool> is_aborted_ = false, is_ended_ = false;
};

}  // namespace wireplan::nccl_backend
