#include "tests/double/nccl/machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <sstream>
#include <unordered_map>

namespace wireplan_double {
namespace {

[[noreturn]] void wrong_words(const std::string& word) {
  std::fprintf(stderr, "double: WIREPLAN_DOUBLE does not know %s\n", word.c_str());
  std::abort();
}

Machine read_machine() {
  Machine m;
  const char* text = std::getenv("WIREPLAN_DOUBLE");
  std::istringstream words(text ? text : "");
  for (std::string word; words >> word;) {
    const std::size_t sign = word.find('=');
    const std::string key = word.substr(0, sign), value = sign == std::string::npos ? "" : word.substr(sign + 1);
    if (key == "gpus") m.gpus = std::stoi(value);
    else if (key == "memory") m.memory = static_cast<std::size_t>(std::stod(value));
    else if (key == "latency") m.latency = std::stod(value);
    else if (key == "bandwidth") m.bandwidth = std::stod(value);
    else if (key == "flops") m.flops = std::stod(value);
    else if (key == "memory-rate") m.memory_rate = std::stod(value);
    else if (key == "driver") m.driver = std::stoi(value);
    else if (key == "nccl") m.nccl = std::stoi(value);
    else if (key == "dir") m.dir = value;
    else if (key == "report") m.report = value;
    else if (key == "link") {
      std::istringstream pairs(value);
      for (std::string pair; std::getline(pairs, pair, ',');) {
        int a = 0, b = 0;
        double rate = 0;
        if (std::sscanf(pair.c_str(), "%d-%d:%lf", &a, &b, &rate) != 3) wrong_words(word);
        m.links[{a, b}] = m.links[{b, a}] = rate;
      }
    } else if (key == "error" || key == "hang" || key == "async" || key == "wrong" || key == "gone" || key == "kill" || key == "stuck" || key == "init-error" || key == "init-hang") {
      int rank = 0;
      long call = 0;
      if (std::sscanf(value.c_str(), "%d@%ld", &rank, &call) < 1) wrong_words(word);
      m.faults[key] = {rank, call};
    } else {
      wrong_words(word);
    }
  }
  return m;
}

// The folder of a process without others, and the line at the end.
struct AtEnd {
  std::string own_dir;
  AtEnd() = default;
  ~AtEnd() {
    std::error_code error;
    if (!own_dir.empty()) std::filesystem::remove_all(own_dir, error);
    const std::string& file = machine().report;
    if (file.empty()) return;
    const Alive& a = alive();
    char line[512];
    const int n = std::snprintf(line, sizeof line,
                                "allocations=%ld bytes=%ld contexts=%ld modules=%ld streams=%ld events=%ld graphs=%ld communicators=%ld registrations=%ld descriptions=%ld\n",
                                a.allocations.load(), a.bytes.load(), a.contexts.load(), a.modules.load(), a.streams.load(), a.events.load(), a.graphs.load(), a.communicators.load(),
                                a.registrations.load(), a.descriptions.load());
    const int to = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (to < 0) return;
    (void)!write(to, line, static_cast<std::size_t>(n));
    ::close(to);
  }
};
AtEnd& at_end() {
  static AtEnd end;
  return end;
}

std::mutex memory_guard;
std::unordered_map<void*, std::pair<Gpu*, std::size_t>> memory;
thread_local Gpu* current = nullptr;

}  // namespace

double Machine::link(int a, int b) const {
  const auto found = links.find({a, b});
  return found == links.end() ? bandwidth : found->second;
}

bool Machine::has_fault(const std::string& name, int rank, long call) const {
  const auto found = faults.find(name);
  return found != faults.end() && found->second.first == rank && call >= found->second.second;
}

const Machine& machine() {
  // Never destroyed: the end of the process reads it.
  static const Machine* const m = [] {
    auto* read = new Machine(read_machine());
    if (read->dir.empty()) {
      read->dir = (std::filesystem::temp_directory_path() / ("wireplan-double-" + std::to_string(getpid()))).string();
      std::filesystem::create_directories(read->dir);
      at_end().own_dir = read->dir;
    }
    return read;
  }();
  at_end();
  return *m;
}

Alive& alive() {
  static Alive a;
  return a;
}

Gpu& gpu_at(int index) {
  static std::mutex guard;
  static std::deque<Gpu> gpus;
  std::lock_guard lock(guard);
  while (static_cast<int>(gpus.size()) <= index) {
    gpus.emplace_back();
    gpus.back().index = static_cast<int>(gpus.size()) - 1;
  }
  return gpus[static_cast<std::size_t>(index)];
}

Gpu* current_gpu() { return current; }
void set_current_gpu(Gpu* gpu) { current = gpu; }

void* allocate_on(Gpu& gpu, std::size_t bytes) {
  std::lock_guard lock(memory_guard);
  if (bytes > machine().memory - gpu.used) return nullptr;
  void* address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!address) return nullptr;
  gpu.used += bytes;
  memory[address] = {&gpu, bytes};
  ++alive().allocations;
  alive().bytes += static_cast<long>(bytes);
  return address;
}

bool free_of_gpu(void* address) {
  std::lock_guard lock(memory_guard);
  const auto found = memory.find(address);
  if (found == memory.end()) return false;
  found->second.first->used -= found->second.second;
  --alive().allocations;
  alive().bytes -= static_cast<long>(found->second.second);
  memory.erase(found);
  std::free(address);
  return true;
}

}  // namespace wireplan_double
