// Streams and events of the double: work in order on a thread of its own, with a clock that is the work's model.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/double/nccl/machine.hpp"

namespace wireplan_double {

class Stream;
using Work = std::function<void(Stream&)>;

// One recording of an event.
struct Record {
  bool is_done = false;
  double time = 0;
};
struct Event {
  Gpu* gpu = nullptr;
  std::shared_ptr<Record> last;  // null: never recorded
};

class Stream {
 public:
  explicit Stream(Gpu& gpu);
  ~Stream();
  void add(Work work);  // into the capture, while there is one
  bool is_idle();
  void record(Event& event);
  void wait(const Event& event);

  Gpu& gpu() { return gpu_; }
  bool is_ending() const { return is_ending_; }
  double now = 0;                         // seconds; of the thread that works
  std::unique_ptr<std::vector<Work>> capture;

 private:
  void work();

  Gpu& gpu_;
  std::deque<Work> waiting_;
  bool is_working_ = false;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

// Until no stream has work: memory is freed only then, as the driver does it.
void wait_for_streams();

// Guards queues and records of all streams.
std::mutex& stream_guard();
std::condition_variable& stream_changed();

}  // namespace wireplan_double
