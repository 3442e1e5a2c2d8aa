// Ends a process that waits for a call that never returns.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace wireplan {

class Watchdog {
 public:
  // `give_up` is called once, on a thread of the watchdog's own, with what was under way; it must not return to what hangs.
  Watchdog(double timeout_s, std::function<void(const std::string& what)> give_up);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From here on `what` may take the time-out; said again, it begins anew. No time-out: nothing is watched.
  void watch(std::string what);
  void rest();

 private:
  void work();

  double timeout_s_;
  std::function<void(const std::string&)> give_up_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::string what_;
  unsigned long turn_ = 0;  // of watch() and rest()
  bool is_watching_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace wireplan
