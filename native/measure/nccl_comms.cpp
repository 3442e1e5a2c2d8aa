#include "native/measure/nccl_comms.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace wireplan::nccl_backend {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kShort = std::chrono::microseconds(20), kLong = std::chrono::microseconds(500);
constexpr int kShortPolls = 500;
constexpr auto kForEnding = std::chrono::seconds(10);  // of communicators; then they are left to the end of the process

}  // namespace

Report Comms::wait(const std::function<Report(bool& is_done)>& is_done, const Used& used) {
  for (int polls = 0;; ++polls) {
    if (is_aborted_) {
      // The watchdog gave up and is about to end the process: nothing here may speak in between.
      std::this_thread::sleep_for(kForEnding);
      return {CallOutcome::failed, words_.what + " was given up"};
    }
    bool done = false;
    if (Report r = is_done(done); !r || done) return r;
    for (const auto& [own, comm] : used) {
      NcclResult state = kNcclDone;
      std::lock_guard lock(guard_);
      if (is_aborted_) break;
      const NcclResult error = words_.api->nccl.async_error(comm, &state);
      if (Report r = words_.nccl(gpus_[own]->rank(), "ncclCommGetAsyncError", error != kNcclDone ? error : state, comm); !r) return r;
    }
    if (meeting_.has_notice()) return {CallOutcome::failed, meeting_.notice()};
    std::this_thread::sleep_for(polls < kShortPolls ? kShort : kLong);
  }
}

Report Comms::settled(std::size_t own, const char* function, const Comm& comm) {
  return wait(
      [&](bool& done) {
        NcclResult state = kNcclInProgress;
        std::lock_guard lock(guard_);
        if (is_aborted_ || !comm) return Report{};
        const NcclResult error = words_.api->nccl.async_error(comm, &state);
        done = error == kNcclDone && state == kNcclDone;
        return words_.nccl(gpus_[own]->rank(), function, error != kNcclDone ? error : state, comm);
      },
      {});
}

Report Comms::enqueued(const Used& used, const char* function) {
  for (const auto& [own, comm] : used) {
    NcclResult state = kNcclDone;
    {
      std::lock_guard lock(guard_);
      if (!is_aborted_ && words_.api->nccl.async_error(comm, &state) == kNcclDone && state == kNcclDone) continue;
    }
    if (Report r = settled(own, function, comm); !r) return r;
  }
  return {};
}

Report Comms::together(const PerGpu& call, bool is_group) {
  const Nccl& nccl = words_.api->nccl;
  is_group = is_group || gpus_.size() > 1;
  const int first = gpus_.front()->rank();
  if (is_group)
    if (Report r = words_.nccl(first, "ncclGroupStart", nccl.group_start(), nullptr); !r) return r;
  Report worst;
  for (std::size_t own = 0; own < gpus_.size() && worst; ++own) {
    worst = gpus_[own]->enter();
    if (worst) worst = call(own);
  }
  if (is_group) {
    const NcclResult error = nccl.group_end();
    if (worst && error != kNcclDone && error != kNcclInProgress) worst = words_.nccl(lost_rank(first), "ncclGroupEnd", error, nullptr);
  }
  return worst;
}

// A group does not say for which rank it failed: the one whose GPU fails, else `otherwise`.
int Comms::lost_rank(int otherwise) const {
  const Driver& cuda = words_.api->cuda;
  for (const auto& gpu : gpus_) {
    if (!gpu->enter()) return gpu->rank();
    if (const CudaResult state = cuda.query_stream(gpu->stream()); state != kCudaDone && state != kCudaNotReady) return gpu->rank();
  }
  return otherwise;
}

Report Comms::open(int ranks) {
  if (!world_.empty()) return {};
  UniqueId id{};
  std::string told;
  if (meeting_.process() == 0) {
    const NcclResult error = words_.api->nccl.unique_id(&id);
    const Report r = words_.nccl(0, "ncclGetUniqueId", error, nullptr);
    told = r ? std::string(1, '+') + std::string(id.bytes, sizeof id.bytes) : "-" + r.message;
  }
  told = meeting_.exchange(told).front();
  if (meeting_.has_notice()) return {CallOutcome::failed, meeting_.notice()};
  if (told.size() != 1 + sizeof id.bytes || told[0] != '+') return {CallOutcome::failed, told.empty() ? "process 0 told no id" : told.substr(1)};
  std::memcpy(id.bytes, told.data() + 1, sizeof id.bytes);

  world_.assign(gpus_.size(), {});
  Config config;
  Report r = together(
      [&](std::size_t own) {
        world_[own].size = ranks;
        world_[own].place = gpus_[own]->rank();
        const NcclResult error = words_.api->nccl.init_rank(&world_[own].comm, ranks, id, gpus_[own]->rank(), &config);
        return words_.nccl(gpus_[own]->rank(), "ncclCommInitRankConfig", error, nullptr);
      },
      false);
  {
    std::lock_guard lock(guard_);
    for (std::size_t own = 0; own < gpus_.size(); ++own)
      if (world_[own].comm) live_.push_back({own, world_[own].comm});
  }
  for (std::size_t own = 0; own < gpus_.size() && r; ++own) r = settled(own, "ncclCommInitRankConfig", world_[own].comm);
  return r;
}

Report Comms::split(const std::vector<std::vector<int>>& groups, std::vector<std::vector<Member>>& members) {
  const auto place_in = [](const std::vector<int>& group, int rank) {
    const auto at = std::find(group.begin(), group.end(), rank);
    return at == group.end() ? -1 : static_cast<int>(at - group.begin());
  };
  members.assign(gpus_.size(), std::vector<Member>(groups.size()));
  std::vector<std::vector<std::size_t>> rounds;  // of groups that have no rank in common
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto is_apart = [&](const std::vector<std::size_t>& round) {
      return std::none_of(round.begin(), round.end(), [&](std::size_t other) {
        return std::any_of(groups[g].begin(), groups[g].end(), [&](int rank) { return place_in(groups[other], rank) >= 0; });
      });
    };
    auto round = std::find_if(rounds.begin(), rounds.end(), is_apart);
    if (round == rounds.end()) round = rounds.insert(round, std::vector<std::size_t>());
    round->push_back(g);
  }
  for (const std::vector<std::size_t>& round : rounds) {
    std::vector<Member*> mine(gpus_.size(), nullptr);
    std::vector<int> colors(gpus_.size(), kNoColor);
    for (std::size_t own = 0; own < gpus_.size(); ++own)
      for (std::size_t i = 0; i < round.size(); ++i) {
        Member& m = members[own][round[i]];
        m.size = static_cast<int>(groups[round[i]].size());
        m.place = place_in(groups[round[i]], gpus_[own]->rank());
        if (m.place >= 0) mine[own] = &m, colors[own] = static_cast<int>(i);
      }
    std::vector<Comm> none(gpus_.size(), nullptr);  // what ranks without a group are given
    Report r = together(
        [&](std::size_t own) {
          Comm* made = mine[own] ? &mine[own]->comm : &none[own];
          const NcclResult error = words_.api->nccl.split(world_[own].comm, colors[own], mine[own] ? mine[own]->place : 0, made, nullptr);
          return words_.nccl(gpus_[own]->rank(), "ncclCommSplit", error, world_[own].comm);
        },
        false);
    for (std::size_t own = 0; own < gpus_.size() && r; ++own) r = settled(own, "ncclCommSplit", world_[own].comm);
    for (std::size_t own = 0; own < gpus_.size() && r; ++own)
      if (mine[own]) r = settled(own, "ncclCommSplit", mine[own]->comm);
    std::lock_guard lock(guard_);
    for (std::size_t own = 0; own < gpus_.size(); ++own)
      if (mine[own] && mine[own]->comm) live_.push_back({own, mine[own]->comm});
    if (!r) return r;
  }
  return {};
}

void Comms::free(std::vector<std::vector<Member>>& members) {
  std::vector<Comm> comms;
  for (const auto& of_rank : members)
    for (const Member& m : of_rank)
      if (m.comm) comms.push_back(m.comm);
  destroy(comms);
  members.clear();
}

// All are asked to end before any is destroyed: several ranks of one process end together.
void Comms::destroy(const std::vector<Comm>& comms) {
  const Nccl& nccl = words_.api->nccl;
  if (is_aborted_ || comms.empty()) return;
  for (const Comm c : comms) nccl.finalize(c);
  const auto until = Clock::now() + kForEnding;
  for (const Comm c : comms) {
    NcclResult state = kNcclInProgress;
    while (nccl.async_error(c, &state) == kNcclDone && state == kNcclInProgress && Clock::now() < until && !is_aborted_) std::this_thread::sleep_for(kShort);
  }
  std::lock_guard lock(guard_);
  if (is_aborted_) return;
  for (const Comm c : comms) {
    nccl.destroy(c);
    std::erase_if(live_, [&](const Live& l) { return l.comm == c; });
  }
}

void Comms::close() {
  std::vector<Comm> comms;
  for (const Member& m : world_)
    if (m.comm) comms.push_back(m.comm);
  destroy(comms);
  world_.clear();
}

// On a thread of its own, so that a library that hangs cannot hold up the end of the process.
void Comms::abort() noexcept {
  if (is_aborted_.exchange(true)) return;
  if (!guard_.try_lock_for(std::chrono::seconds(1))) return;
  struct Task { std::vector<Comm> comms; std::atomic<bool> is_done = false; };
  auto task = std::make_shared<Task>();
  for (const Live& l : live_) task->comms.push_back(l.comm);
  live_.clear();
  guard_.unlock();
  const auto abort_one = words_.api->nccl.abort;
  // One thread each: ranks of one process wait for each other.
  std::thread([task, abort_one] {
    std::vector<std::thread> threads;
    for (const Comm c : task->comms) threads.emplace_back([abort_one, c] { abort_one(c); });
    for (std::thread& t : threads) t.join();
    task->is_done = true;
  }).detach();
  const auto until = Clock::now() + std::chrono::seconds(5);
  while (!task->is_done && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  is_ended_ = task->is_done.load();
}

}  // namespace wireplan::nccl_backend
