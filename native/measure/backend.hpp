// What measures: ranks that call collectives of one library on one machine or many. A file each: mpi_backend.cpp, nccl_backend.cpp.
//
// Every process of a run calls the same functions in the same order. What fails on one process the others learn by exchange(),
// which the caller does after each step (sweep.cpp); no function waits for another process unless it says so.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/answer/curves.hpp"

namespace wireplan {

// One call as every rank of a group makes it. send_recv: each rank sends to the next of its group and receives from the one before.
struct Call {
  Collective op = Collective::all_reduce;
  ElementType type = ElementType::float32;
  Reduction redop = Reduction::sum;
  int root = 0;           // its place in the group
  bool in_place = false;  // send and receive buffers overlap as the library asks for it
  std::size_t count = 0;  // elements, as CallSize::count
};

enum class CallOutcome : unsigned char { ok, skipped, failed };  // skipped: cannot be done here, the run goes on; failed: it cannot go on
template <>
inline constexpr std::array<std::string_view, 3> kNames<CallOutcome> = {"ok", "skipped", "failed"};
struct Report {
  CallOutcome outcome = CallOutcome::ok;
  std::string message;  // one sentence for people: rank, what, the library's own words
  explicit operator bool() const { return outcome == CallOutcome::ok; }
};

// The machine's side of the run document's `environment`.
struct BackendFacts {
  std::string name;                  // "mpi", "nccl"
  std::vector<std::string> hosts;    // of each rank
  std::vector<std::string> gpus;     // of each rank, {}: host memory
  std::string driver, nccl, mpi;     // versions, "" where there are none
  bool has_products = false;         // matrix products can be computed; else jobs of them wait
};

// One job of a schedule that is played (replay): a call of a group, or compute.
struct Job {
  int lane = 0;             // jobs of a lane run in the order of the list, one at a time
  int group = -1;           // into the open groups; -1: compute
  Call call;
  double seconds = 0;       // of compute, where no products are given
  struct Product { int m = 0, n = 0, k = 0; };
  std::vector<Product> products;  // matrix products that a GPU computes instead of waiting
  double copy_bytes = 0;          // > 0: a copy from one place of the GPU's memory to another instead
  std::vector<int> after;   // jobs of the list that must have ended before
};
struct JobTime { double start = 0, end = 0; };  // seconds since the processes' common start of the list; both 0: not of this rank

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendFacts facts() = 0;
  virtual int ranks() const = 0;                   // of all processes
  virtual std::vector<int> own_ranks() const = 0;  // that this process drives, rising
  virtual int process() const = 0;
  virtual int processes() const = 0;

  // Texts of all processes, by process. Waits for all of them.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;

  // Failed once another process has gone or gave up; exchange() has "" for one that has gone.
  virtual Report company() { return {}; }

  // Communicators for groups of ranks (in the order of their places); a rank may be in several. Replaces those open before.
  virtual Report open(const std::vector<std::vector<int>>& groups) = 0;

  // Buffers for the call on the groups `active` (no rank in two of them), and values in them whose result is known. Not enough memory: skipped.
  virtual Report prepare(const Call& call, const std::vector<int>& active) = 0;
  // Calls it `iterations` times on all active groups at once; seconds[own rank in the order of own_ranks()][iteration], empty for ranks of none.
  virtual Report run(int iterations, std::vector<std::vector<double>>& seconds) = 0;
  // Fills the buffers anew, calls once, and counts the elements that are not what they must be: wrong[own rank], 0 for ranks of no active group.
  virtual Report check(std::vector<std::uint64_t>& wrong) = 0;

  // Plays the jobs on every own rank, in lanes at the same time. times[own rank][job].
  virtual Report play(const std::vector<Job>& jobs, std::vector<std::vector<JobTime>>& times) = 0;

  // Gives up everything that is under way on this process and, where the library can, on the others. From any thread, any time.
  virtual void abort() noexcept = 0;
};

// What a back-end is asked for when it is opened.
struct BackendRequest {
  bool use_graphs = false, register_buffers = false;
  double timeout_s = 0;   // for meeting the other processes; 0: the back-end's own
  int per_process = 0;    // GPUs that one process drives; 0: one where a launcher started several, else all there are
};

// Why a back-end cannot run here: exit status 77 when `is_missing`, else bad input.
struct Refusal {
  std::string text;
  bool is_missing = true;
};

}  // namespace wireplan
