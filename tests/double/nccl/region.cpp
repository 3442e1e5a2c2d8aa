#include "tests/double/nccl/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/double/nccl/machine.hpp"

namespace wireplan_double {
namespace {

[[noreturn]] void no_file(const std::string& path) {
  std::perror(("double: " + path).c_str());
  std::abort();
}

}  // namespace

Region::Region(const std::string& id, int members, int me) : path_(machine().dir + "/" + id), members_(members), me_(me) {
  const std::size_t bytes = sizeof(Slot) * static_cast<std::size_t>(members);
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0) no_file(path_);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (at == MAP_FAILED) no_file(path_);
  slots_ = static_cast<Slot*>(at);
  own_file_ = open(path_of(me).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (own_file_ < 0) no_file(path_of(me));
}

Region::~Region() {
  munmap(slots_, sizeof(Slot) * static_cast<std::size_t>(members_));
  ::close(file_);
  ::close(own_file_);
}

bool Region::wait(const std::function<bool(const Slot&)>& is_ready, const std::function<bool()>& gives_up) const {
  for (int m = 0, polls = 0; m < members_;) {
    if (is_ready(slots_[m])) {
      ++m;
      continue;
    }
    if (gives_up()) return false;
    if (++polls < 50) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds(30));
  }
  return true;
}

bool Region::meet(const std::vector<unsigned char>& mine, const Read& read, const std::function<bool()>& gives_up) {
  // What was given last must have been read by all before it is written over.
  const std::uint64_t before = turn_++;
  if (!wait([&](const Slot& s) { return s.read >= before; }, gives_up)) return false;
  for (std::size_t done = 0; done < mine.size();) {
    const ssize_t n = pwrite(own_file_, mine.data() + done, mine.size() - done, static_cast<off_t>(done));
    if (n <= 0) no_file(path_of(me_));
    done += static_cast<std::size_t>(n);
  }
  slots_[me_].size = mine.size();
  slots_[me_].given = turn_;
  if (!wait([&](const Slot& s) { return s.given >= turn_; }, gives_up)) return false;
  std::vector<unsigned char> bytes;
  for (int m = 0; m < members_; ++m) {
    if (m == me_) {
      read(m, mine.data(), mine.size());
      continue;
    }
    bytes.resize(slots_[m].size);
    const int from = open(path_of(m).c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0) no_file(path_of(m));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n = pread(from, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (n <= 0) no_file(path_of(m));
      done += static_cast<std::size_t>(n);
    }
    ::close(from);
    read(m, bytes.data(), bytes.size());
  }
  slots_[me_].read = turn_;
  return true;
}

}  // namespace wireplan_double
