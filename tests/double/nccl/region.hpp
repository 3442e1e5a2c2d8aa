// Where the members of a communicator meet, in one process or several: a file of shared memory, and one for what each member gives.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wireplan_double {

class Region {
 public:
  Region(const std::string& id, int members, int me);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Gives `mine` to all members and reads what they gave: read(member, bytes, size). Waits for all of them until gives_up() is true: then
  // false. All members' n-th meetings belong together.
  using Read = std::function<void(int member, const unsigned char* bytes, std::size_t size)>;
  bool meet(const std::vector<unsigned char>& mine, const Read& read, const std::function<bool()>& gives_up);

 private:
  struct Slot {
    std::atomic<std::uint64_t> given, read;
    std::uint64_t size;
  };
  std::string path_of(int member) const { return path_ + "." + std::to_string(member); }
  bool wait(const std::function<bool(const Slot&)>& is_ready, const std::function<bool()>& gives_up) const;

  std::string path_;
  int members_, me_, file_ = -1, own_file_ = -1;
  Slot* slots_ = nullptr;
  std::uint64_t turn_ = 0;
};

}  // namespace wireplan_double
