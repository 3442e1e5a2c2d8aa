// The measuring itself: operations × sizes × groups, the same steps on every process.
//
// A row is: buffers, warm-up calls, the timed calls, one call whose result is looked at. After buffers and after the calls the processes
// tell each other how it went, so that all go on, or leave a row out, or stop, together.
#pragma once

#include <functional>
#include <vector>

#include "native/measure/run_document.hpp"

namespace wireplan {

struct Sweep {
  std::vector<Collective> ops;
  std::vector<Bytes> sizes;              // as asked for; call_size() rounds them
  ElementType type = ElementType::float32;
  Reduction redop = Reduction::sum;
  int root = 0, iterations = 20, warm_up = 5;
  bool out_of_place = true, in_place = true, looks_at_results = true;
  std::vector<std::vector<int>> groups;
  bool one_by_one = false;               // each group by itself, one after the other; else all at once
  double timeout_s = 0;                  // for one row; 0: none
};

// What is predicted for a size of an operation on the group while all of `together` call at once; nothing where nothing can be said.
using Predict = std::function<std::optional<Range<Seconds>>(Collective op, const std::vector<int>& group, const std::vector<std::vector<int>>& together, Bytes size)>;

struct SweepEvents {
  std::function<void(const RunRow& row)> on_row;                                      // on process 0, after each
  std::function<void(std::size_t done, std::size_t all, const std::string& next, double left_s)> on_progress;  // on process 0; left_s < 0: not known
  std::function<void(const RunRow& row)> on_hang;  // on process 0, when the time-out has passed: what was under way; the process ends after it
};

// Whether the operation has a form in place: what nccl-tests runs so.
constexpr bool has_in_place(Collective op) { return op != Collective::all_to_all && op != Collective::send_recv; }

// Rows in the order measured, on process 0; elsewhere none. The last row has failed where the run had to stop.
// Times of a row: of each iteration the slowest rank's.
std::vector<RunRow> run_sweep(Backend& backend, const Sweep& sweep, const Predict& predict, const SweepEvents& events);

}  // namespace wireplan
