// Collectives of MPI on host memory: what a machine without GPUs can measure, and what tests measure for real.
//
// A call is timed from a barrier of all that take part to the return on each rank; the caller takes the last return. Lanes of a schedule are
// threads, each with communicators of its own, so that calls of different lanes are under way at the same time.
#include <mpi.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

#include "native/measure/elements.hpp"
#include "native/measure/module.hpp"
#include "native/measure/values.hpp"

namespace wireplan {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

std::string words_of(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  return std::string(text, static_cast<std::size_t>(std::max(length, 0)));
}

// 16-bit floats are summed by functions of our own: MPI 3 has no types for them.
template <class Reduce>
void reduce_small(const void* in, void* inout, int length, bool is_half, const Reduce& reduce) {
  const auto* a = static_cast<const std::uint16_t*>(in);
  auto* b = static_cast<std::uint16_t*>(inout);
  for (int i = 0; i < length; ++i) {
    const float x = is_half ? float_of_half(a[i]) : float_of_bfloat(a[i]), y = is_half ? float_of_half(b[i]) : float_of_bfloat(b[i]);
    const float z = reduce(x, y);
    b[i] = is_half ? half_of(z) : bfloat_of(z);
  }
}
template <bool kHalf, Reduction kRedop>
void reduce_small_as(void* in, void* inout, int* length, MPI_Datatype*) {
  reduce_small(in, inout, *length, kHalf, [](float x, float y) {
    if constexpr (kRedop == Reduction::prod) return x * y;
    else if constexpr (kRedop == Reduction::min) return std::min(x, y);
    else if constexpr (kRedop == Reduction::max) return std::max(x, y);
    else return x + y;
  });
}

struct Types {
  MPI_Datatype half = MPI_DATATYPE_NULL;  // two bytes; bfloat16 as well
  MPI_Op small[2][4];                     // [is half][sum, prod, min, max]

  Types() {
    MPI_Type_contiguous(2, MPI_BYTE, &half);
    MPI_Type_commit(&half);
    MPI_User_function* functions[2][4] = {
        {reduce_small_as<false, Reduction::sum>, reduce_small_as<false, Reduction::prod>, reduce_small_as<false, Reduction::min>, reduce_small_as<false, Reduction::max>},
        {reduce_small_as<true, Reduction::sum>, reduce_small_as<true, Reduction::prod>, reduce_small_as<true, Reduction::min>, reduce_small_as<true, Reduction::max>}};
    for (int h = 0; h < 2; ++h)
      for (int o = 0; o < 4; ++o) MPI_Op_create(functions[h][o], 1, &small[h][o]);
  }
  MPI_Datatype of(ElementType type) const {
    switch (type) {
      case ElementType::int8: return MPI_INT8_T;
      case ElementType::uint8: return MPI_UINT8_T;
      case ElementType::int32: return MPI_INT32_T;
      case ElementType::uint32: return MPI_UINT32_T;
      case ElementType::int64: return MPI_INT64_T;
      case ElementType::uint64: return MPI_UINT64_T;
      case ElementType::float32: return MPI_FLOAT;
      case ElementType::float64: return MPI_DOUBLE;
      case ElementType::half:
      case ElementType::bfloat16: return half;
      default: return MPI_BYTE;
    }
  }
  MPI_Op of(ElementType type, Reduction redop) const {
    if (type == ElementType::half || type == ElementType::bfloat16) return small[type == ElementType::half][static_cast<int>(redop)];
    switch (redop) {
      case Reduction::prod: return MPI_PROD;
      case Reduction::min: return MPI_MIN;
      case Reduction::max: return MPI_MAX;
      default: return MPI_SUM;
    }
  }
};

// Bytes that this process may still take: what the system calls available, or less where its control group allows less, shared by the ranks of the host. A buffer is
// touched as a whole before it is timed, and memory that is promised but not there ends in a killed rank.
double spare_bytes(int ranks_here) {
  const auto number_after = [](const char* file, const char* key) {
    double value = -1;
    if (std::FILE* f = std::fopen(file, "r")) {
      char line[256];
      while (value < 0 && std::fgets(line, sizeof line, f))
        if (std::strncmp(line, key, std::strlen(key)) == 0) value = std::strtod(line + std::strlen(key), nullptr);
      std::fclose(f);
    }
    return value;
  };
  double spare = number_after("/proc/meminfo", "MemAvailable:") * 1024;
  const double most = number_after("/sys/fs/cgroup/memory.max", ""), now = number_after("/sys/fs/cgroup/memory.current", "");
  if (most > 0 && now >= 0) spare = spare < 0 ? most - now : std::min(spare, most - now);
  return spare < 0 ? 1e300 : spare / std::max(ranks_here, 1);
}

constexpr double kWorthAsking = 1e8;  // bytes from which on a buffer is compared with what is spare

struct Buffers {
  std::unique_ptr<unsigned char[]> send, receive;
  std::size_t send_bytes = 0, receive_bytes = 0;

  // False where there is not so much memory. Grows only.
  bool hold(std::size_t sent, std::size_t received, int ranks_here) {
    const double more = static_cast<double>((sent > send_bytes ? sent - send_bytes : 0) + (received > receive_bytes ? received - receive_bytes : 0));
    if (more > kWorthAsking && more > spare_bytes(ranks_here)) return false;
    const auto grown = [](std::unique_ptr<unsigned char[]>& at, std::size_t& now, std::size_t wanted) {
      if (wanted <= now) return true;
      at.reset();
      now = 0;
      at.reset(new (std::nothrow) unsigned char[wanted]);
      if (!at) return false;
      std::memset(at.get(), 0, wanted);  // so that every page is there before anything is timed
      now = wanted;
      return true;
    };
    return grown(send, send_bytes, sent) && grown(receive, receive_bytes, received);
  }
};

// A communicator of a group that this rank is in.
struct Member {
  MPI_Comm comm = MPI_COMM_NULL;
  int size = 0, place = -1;
};

constexpr std::uint64_t kMostOfOneCall = 0x7fffffff;  // counts of MPI 3 are int

class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &texts_);
    MPI_Comm here = MPI_COMM_NULL;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) == MPI_SUCCESS && here != MPI_COMM_NULL) {
      MPI_Comm_size(here, &ranks_here_);
      MPI_Comm_free(&here);
    }
    MPI_Comm_set_errhandler(texts_, MPI_ERRORS_RETURN);
  }
  ~MpiBackend() override {
    close();
    MPI_Comm_free(&texts_);
    MPI_Finalize();
  }

  BackendFacts facts() override {
    BackendFacts f;
    f.name = "mpi";
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    f.hosts = exchange(host);
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    f.mpi.assign(version, static_cast<std::size_t>(std::max(length, 0)));
    if (const std::size_t end = f.mpi.find_first_of(",\n"); end != std::string::npos) f.mpi.resize(end);
    return f;
  }
  int ranks() const override { return ranks_; }
  std::vector<int> own_ranks() const override { return {rank_}; }
  int process() const override { return rank_; }
  int processes() const override { return ranks_; }

  std::vector<std::string> exchange(const std::string& mine) override {
    int length = static_cast<int>(mine.size());
    std::vector<int> lengths(static_cast<std::size_t>(ranks_)), places(static_cast<std::size_t>(ranks_));
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, texts_);
    int all = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) places[i] = all, all += lengths[i];
    std::string joined(static_cast<std::size_t>(all), '\0');
    MPI_Allgatherv(mine.data(), length, MPI_CHAR, joined.data(), lengths.data(), places.data(), MPI_CHAR, texts_);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths.size(); ++i) texts.push_back(joined.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
    return texts;
  }

  Report open(const std::vector<std::vector<int>>& groups) override {
    close();
    groups_ = groups;
    return open_lane(members_);
  }

  Report prepare(const Call& call, const std::vector<int>& active) override {
    call_ = call;
    active_ = -1;
    for (int g : active)
      if (members_[at(g)].place >= 0) active_ = g;
    if (meet_ != MPI_COMM_NULL) MPI_Comm_free(&meet_);
    MPI_Comm_split(texts_, active_ < 0 ? MPI_UNDEFINED : 0, rank_, &meet_);
    if (active_ < 0) return {};
    const Member& m = members_[at(active_)];
    if (Report r = can_call(call, m); !r) return r;
    const BufferCounts counts = buffer_counts(call, m.size, m.place);
    const std::size_t bytes = static_cast<std::size_t>(bytes_of(call.type));
    if (!buffers_.hold(counts.send * bytes, counts.receive * bytes, ranks_here_)) return not_enough(counts, bytes);
    fill(buffers_, call, m);
    return {};
  }

  Report run(int iterations, std::vector<std::vector<double>>& seconds) override {
    seconds.assign(1, {});
    if (active_ < 0) return {};
    for (int i = 0; i < iterations; ++i) {
      MPI_Barrier(meet_);
      const auto start = Clock::now();
      if (const int error = make_call(call_, members_[at(active_)], buffers_); error != MPI_SUCCESS) return failed(call_, error);
      seconds[0].push_back(seconds_between(start, Clock::now()));
    }
    return {};
  }

  Report check(std::vector<std::uint64_t>& wrong) override {
    wrong.assign(1, 0);
    if (active_ < 0) return {};
    const Member& m = members_[at(active_)];
    fill(buffers_, call_, m);
    MPI_Barrier(meet_);
    if (const int error = make_call(call_, m, buffers_); error != MPI_SUCCESS) return failed(call_, error);
    const std::uint64_t count = buffer_counts(call_, m.size, m.place).receive;
    const unsigned char* values = receive_of(call_, m, buffers_);
    for (std::uint64_t i = 0; i < count; ++i) {
      const double expected = expected_at(call_, m.size, m.place, i);
      if (expected >= 0 && !is_as_expected(call_, values, i, expected)) ++wrong[0];
    }
    return {};
  }

  Report play(const std::vector<Job>& jobs, std::vector<std::vector<JobTime>>& times) override;

  void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  static void free_members(std::vector<Member>& members) {
    for (Member& m : members)
      if (m.comm != MPI_COMM_NULL) MPI_Comm_free(&m.comm);
    members.clear();
  }

  void close() {
    if (meet_ != MPI_COMM_NULL) MPI_Comm_free(&meet_);
    active_ = -1;
    free_members(members_);
    for (auto& lane : lanes_) free_members(lane);
    lanes_.clear();
  }

  // A communicator for each group, in the same order on every rank.
  Report open_lane(std::vector<Member>& members) {
    for (const std::vector<int>& group : groups_) {
      Member m;
      const auto mine = std::find(group.begin(), group.end(), rank_);
      if (mine != group.end()) m.place = static_cast<int>(mine - group.begin());
      m.size = static_cast<int>(group.size());
      const int error = MPI_Comm_split(texts_, m.place < 0 ? MPI_UNDEFINED : 0, m.place, &m.comm);
      if (error != MPI_SUCCESS) return {CallOutcome::failed, "rank " + std::to_string(rank_) + ": no communicator: " + words_of(error)};
      if (m.comm != MPI_COMM_NULL) MPI_Comm_set_errhandler(m.comm, MPI_ERRORS_RETURN);
      members.push_back(m);
    }
    return {};
  }

  Report can_call(const Call& call, const Member& m) const {
    if (call.type == ElementType::fp8_e4m3 || call.type == ElementType::fp8_e5m2) {
      if (reduces(call.op)) return {CallOutcome::skipped, "MPI cannot reduce " + std::string(name_of(call.type))};
    }
    if (reduces(call.op) && call.redop == Reduction::avg) return {CallOutcome::skipped, "MPI has no mean: --redop sum"};
    const BufferCounts counts = buffer_counts(call, m.size, m.place);
    if (std::max(counts.send, counts.receive) > kMostOfOneCall) return {CallOutcome::skipped, "MPI counts to 2,147,483,647 elements: take a wider type or a smaller size"};
    return {};
  }

  Report not_enough(const BufferCounts& counts, std::size_t bytes) const {
    return {CallOutcome::skipped, "rank " + std::to_string(rank_) + ": not enough memory for buffers of " + std::to_string((counts.send + counts.receive) * bytes) + " bytes"};
  }

  Report failed(const Call& call, int error) const {
    return {CallOutcome::failed, "rank " + std::to_string(rank_) + ": " + std::string(name_of(call.op)) + " of " + std::to_string(call.count) + " elements failed: " + words_of(error)};
  }

  // In place MPI takes what a rank sends from the receive buffer: of the whole, or of its own part.
  static unsigned char* receive_of(const Call& call, const Member& m, const Buffers& b) {
    if (!call.in_place) return b.receive.get();
    if (call.op == Collective::reduce_scatter || call.op == Collective::broadcast) return b.send.get();
    if (call.op == Collective::scatter && m.place == call.root) return b.send.get() + static_cast<std::size_t>(m.place) * call.count * static_cast<std::size_t>(bytes_of(call.type));
    return b.receive.get();
  }

  static void fill(const Buffers& b, const Call& call, const Member& m) {
    const BufferCounts counts = buffer_counts(call, m.size, m.place);
    const auto write = [&](unsigned char* to, std::uint64_t first, std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) write_element(call.type, to, first + i, value_at(call.redop, m.place, i));
    };
    std::memset(b.receive.get(), 0xff, counts.receive * static_cast<std::size_t>(bytes_of(call.type)));
    write(b.send.get(), 0, counts.send);
    if (!call.in_place) return;
    switch (call.op) {
      case Collective::all_reduce:
      case Collective::reduce: write(b.receive.get(), 0, counts.receive); break;
      case Collective::all_gather: write(b.receive.get(), static_cast<std::uint64_t>(m.place) * call.count, call.count); break;
      case Collective::gather:
        if (m.place == call.root) write(b.receive.get(), static_cast<std::uint64_t>(m.place) * call.count, call.count);
        break;
      default: break;
    }
  }

  int make_call(const Call& call, const Member& m, const Buffers& b) const {
    const MPI_Datatype type = types_.of(call.type);
    const int count = static_cast<int>(call.count);
    unsigned char *send = b.send.get(), *receive = b.receive.get();
    const bool is_root = m.place == call.root;
    const void* own = call.in_place ? MPI_IN_PLACE : send;
    switch (call.op) {
      case Collective::all_reduce: return MPI_Allreduce(own, receive, count, type, types_.of(call.type, call.redop), m.comm);
      case Collective::all_gather: return MPI_Allgather(own, count, type, receive, count, type, m.comm);
      case Collective::reduce_scatter: {  // not its _block form, for which Open MPI has no ring
        const std::vector<int> counts(static_cast<std::size_t>(m.size), count);
        return MPI_Reduce_scatter(own, call.in_place ? send : receive, counts.data(), type, types_.of(call.type, call.redop), m.comm);
      }
      case Collective::broadcast:
        if (!call.in_place && is_root) std::memcpy(receive, send, static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes_of(call.type)));
        return MPI_Bcast(call.in_place ? send : receive, count, type, call.root, m.comm);
      case Collective::reduce: return MPI_Reduce(is_root ? own : send, receive, count, type, types_.of(call.type, call.redop), call.root, m.comm);
      case Collective::all_to_all: return MPI_Alltoall(send, count, type, receive, count, type, m.comm);
      case Collective::scatter: return MPI_Scatter(send, count, type, is_root && call.in_place ? MPI_IN_PLACE : receive, count, type, call.root, m.comm);
      case Collective::gather: return MPI_Gather(is_root ? own : send, count, type, receive, count, type, call.root, m.comm);
      case Collective::send_recv: {
        const int next = (m.place + 1) % m.size, before = (m.place + m.size - 1) % m.size;
        return MPI_Sendrecv(send, count, type, next, 0, receive, count, type, before, 0, m.comm, MPI_STATUS_IGNORE);
      }
    }
    return MPI_ERR_OP;
  }

  int rank_ = 0, ranks_ = 1, ranks_here_ = 1;
  MPI_Comm texts_ = MPI_COMM_NULL, meet_ = MPI_COMM_NULL;  // meet_: all ranks that take part in the call
  Types types_;
  std::vector<std::vector<int>> groups_;
  std::vector<Member> members_;
  std::vector<std::vector<Member>> lanes_;  // for play(): communicators of each lane
  Call call_;
  int active_ = -1;
  Buffers buffers_;
};

Report MpiBackend::play(const std::vector<Job>& jobs, std::vector<std::vector<JobTime>>& times) {
  times.assign(1, std::vector<JobTime>(jobs.size()));
  int lanes = 0;
  for (const Job& j : jobs) lanes = std::max(lanes, j.lane + 1);
  while (static_cast<int>(lanes_.size()) < lanes) {
    lanes_.emplace_back();
    if (Report r = open_lane(lanes_.back()); !r) return r;
  }
  std::vector<Buffers> buffers(at(lanes));
  std::vector<bool> is_mine(jobs.size());
  Report report;
  for (std::size_t j = 0; j < jobs.size() && report; ++j) {
    const Job& job = jobs[j];
    if (job.copy_bytes > 0) report = {CallOutcome::skipped, "copies are measured on GPUs"};
    is_mine[j] = job.group < 0 || lanes_[at(job.lane)][at(job.group)].place >= 0;
    if (job.group < 0 || !is_mine[j]) continue;
    const Member& m = lanes_[at(job.lane)][at(job.group)];
    if (report = can_call(job.call, m); !report) break;
    const BufferCounts counts = buffer_counts(job.call, m.size, m.place);
    const std::size_t bytes = static_cast<std::size_t>(bytes_of(job.call.type));
    if (!buffers[at(job.lane)].hold(counts.send * bytes, counts.receive * bytes, ranks_here_)) report = not_enough(counts, bytes);
  }
  int can = report ? 1 : 0;  // one that cannot must not leave the others in their first call
  MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, texts_);
  if (!report) return report;
  if (!can) return {CallOutcome::skipped, "another process cannot play its jobs"};

  std::mutex guard;
  std::condition_variable changed;
  std::vector<bool> ended(jobs.size(), false);
  bool gave_up = false;
  MPI_Barrier(texts_);
  const auto start = Clock::now();
  const auto work = [&](int lane) {
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const Job& job = jobs[j];
      if (job.lane != lane || !is_mine[j]) continue;
      {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return gave_up || std::all_of(job.after.begin(), job.after.end(), [&](int a) { return ended[at(a)] || !is_mine[at(a)]; }); });
        if (gave_up) return;
      }
      times[0][j].start = seconds_between(start, Clock::now());
      int error = MPI_SUCCESS;
      if (job.group < 0) std::this_thread::sleep_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(job.seconds)));
      else error = make_call(job.call, lanes_[at(lane)][at(job.group)], buffers[at(lane)]);
      times[0][j].end = seconds_between(start, Clock::now());
      std::lock_guard lock(guard);
      ended[j] = true;
      if (error != MPI_SUCCESS) report = failed(job.call, error), gave_up = true;
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int lane = 1; lane < lanes; ++lane) threads.emplace_back(work, lane);
  work(0);
  for (std::thread& t : threads) t.join();
  return report;
}

}  // namespace
}  // namespace wireplan

extern "C" {

__attribute__((visibility("default"))) wireplan::Backend* wireplan_open_backend(const wireplan::BackendRequest&, wireplan::Refusal& refusal) {
  int given = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given) != MPI_SUCCESS) {
    refusal = {"MPI does not start here", true};
    return nullptr;
  }
  if (given < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    refusal = {"this MPI cannot be called from several threads, which replay needs", true};
    return nullptr;
  }
  return new wireplan::MpiBackend;
}

__attribute__((visibility("default"))) void wireplan_close_backend(wireplan::Backend* backend) { delete backend; }
}
