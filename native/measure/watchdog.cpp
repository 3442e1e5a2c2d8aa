#include "native/measure/watchdog.hpp"

#include <chrono>
#include <utility>

namespace wireplan {

Watchdog::Watchdog(double timeout_s, std::function<void(const std::string&)> give_up) : timeout_s_(timeout_s), give_up_(std::move(give_up)) {
  if (timeout_s_ > 0) thread_ = std::thread([this] { work(); });
}

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(guard_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch(std::string what) {
  std::lock_guard lock(guard_);
  what_ = std::move(what);
  is_watching_ = true;
  ++turn_;
  changed_.notify_all();
}

void Watchdog::rest() {
  std::lock_guard lock(guard_);
  is_watching_ = false;
  ++turn_;
  changed_.notify_all();
}

void Watchdog::work() {
  std::unique_lock lock(guard_);
  while (!is_over_) {
    const unsigned long turn = turn_;
    const auto has_moved = [&] { return is_over_ || turn_ != turn; };
    if (!is_watching_) {
      changed_.wait(lock, has_moved);
      continue;
    }
    if (changed_.wait_for(lock, std::chrono::duration<double>(timeout_s_), has_moved)) continue;
    const std::string what = what_;
    lock.unlock();
    give_up_(what);
    lock.lock();
    is_watching_ = false;
  }
}

}  // namespace wireplan
