// The processes of a run together: who drives which rank, how a step went for all of them, and how all end where one hangs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "native/measure/told.hpp"
#include "native/output.hpp"

namespace wireplan {

class Company {
 public:
  explicit Company(Backend& backend) : backend_(backend) {}

  bool is_first() const { return backend_.process() == 0; }
  // Learns owners(). Waits for all.
  void meet();
  const std::vector<std::vector<int>>& owners() const { return owners_; }  // ranks of each process
  const std::vector<Told>& told() const { return told_; }                  // by the processes, the last time

  // The worst of what the processes report; what they tell stays in told(). Waits for all.
  Report agreed(const Report& mine, std::vector<double> numbers = {});

  // Says that `what` ("… has not returned") is not over after the time-out, lets process 0 save what there is, and ends this process and, where the library can,
  // the others. For a watchdog's thread. save_first: of process 0, none: nothing to save.
  [[noreturn]] void give_up(const std::string& what, double timeout_s, const std::function<void(const std::string& text)>& save_first);

 private:
  Backend& backend_;
  std::vector<std::vector<int>> owners_;
  std::vector<Told> told_;
};

// The status of process 0, for all: a launcher then sees one. Where that process has gone: the answer is no. Waits for all.
ExitStatus status_of_first(Backend& backend, ExitStatus mine);

}  // namespace wireplan
