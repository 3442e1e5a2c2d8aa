#include "tests/double/nccl/stream.hpp"

#include <algorithm>
#include <chrono>

namespace wireplan_double {

// Never destroyed: streams that were given up on wait for them to the end of the process.
std::mutex& stream_guard() {
  static auto* const guard = new std::mutex;
  return *guard;
}
std::condition_variable& stream_changed() {
  static auto* const changed = new std::condition_variable;
  return *changed;
}

namespace {

std::atomic<long> works = 0;  // added and not yet done, of all streams

}  // namespace

void wait_for_streams() {
  while (works > 0) std::this_thread::sleep_for(std::chrono::microseconds(30));
}

Stream::Stream(Gpu& gpu) : gpu_(gpu) {
  ++alive().streams;
  thread_ = std::thread([this] { work(); });
}

Stream::~Stream() {
  {
    std::lock_guard lock(stream_guard());
    is_ending_ = true;
  }
  stream_changed().notify_all();
  thread_.join();
  --alive().streams;
}

void Stream::add(Work work) {
  if (capture) return capture->push_back(std::move(work));
  {
    std::lock_guard lock(stream_guard());
    waiting_.push_back(std::move(work));
    ++works;
  }
  stream_changed().notify_all();
}

bool Stream::is_idle() {
  std::lock_guard lock(stream_guard());
  return waiting_.empty() && !is_working_;
}

void Stream::record(Event& event) {
  auto record = std::make_shared<Record>();
  {
    std::lock_guard lock(stream_guard());
    event.last = record;
  }
  add([record](Stream& s) {
    std::lock_guard lock(stream_guard());
    record->time = s.now;
    record->is_done = true;
    stream_changed().notify_all();
  });
}

void Stream::wait(const Event& event) {
  std::shared_ptr<Record> record;
  {
    std::lock_guard lock(stream_guard());
    record = event.last;
  }
  if (!record) return;
  add([record](Stream& s) {
    std::unique_lock lock(stream_guard());
    stream_changed().wait(lock, [&] { return record->is_done || s.is_ending(); });
    s.now = std::max(s.now, record->time);
  });
}

void Stream::work() {
  set_current_gpu(&gpu_);
  std::unique_lock lock(stream_guard());
  while (true) {
    stream_changed().wait(lock, [&] { return !waiting_.empty() || is_ending_; });
    if (waiting_.empty()) return;
    const Work next = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    if (gpu_.error == 0) next(*this);
    lock.lock();
    is_working_ = false;
    --works;
  }
}

}  // namespace wireplan_double
