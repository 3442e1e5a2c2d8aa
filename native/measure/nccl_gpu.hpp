// One GPU of this process: context, kernels, streams, events and buffers. Everything made here is given back here.
#pragma once

#include <string>
#include <vector>

#include "native/measure/nccl_words.hpp"

namespace wireplan::nccl_backend {

extern const char* const kKernels;  // PTX text of nccl_kernels.cu

// Memory that only grows.
struct Buffer {
  Address address = 0;
  std::size_t bytes = 0;
};

class Gpu {
 public:
  Gpu(const Words& words, int rank, int ordinal) : words_(words), rank_(rank), ordinal_(ordinal) {}
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Report open();
  void leave() { context_ = nullptr; }  // gives nothing back: what is enqueued never ends, and would be waited for
  int rank() const { return rank_; }
  void set_rank(int rank) { rank_ = rank; }
  const std::string& name() const { return name_; }
  const std::string& bus() const { return bus_; }  // "0000:1b:00": tells GPUs of a host apart
  int capability() const { return capability_; }   // 90: sm_90
  Report enter() const;                            // from here on the thread's calls are for this GPU

  Stream stream(std::size_t lane = 0) const { return streams_[lane]; }
  Report hold_streams(std::size_t count);
  Event event(std::size_t i) const { return events_[i]; }
  Report hold_events(std::size_t count);
  Report record(std::size_t event, Stream stream, bool in_capture = false) const;

  // Skipped, with bytes wanted and free, where the memory does not suffice. for_nccl: from NCCL's own allocator, so that it can be registered.
  Report hold(Buffer& buffer, std::size_t bytes, bool for_nccl);
  void give_back(Buffer& buffer, bool for_nccl);

  Report fill(Address address, const Call& call, int place, std::uint64_t count) const;  // the values of a place, elements 0 … count-1
  Report fill_bytes(Address address, std::size_t bytes) const;  // 0xff, which no result is
  Report fill_noise(Address address, std::uint64_t count) const;  // bfloat16
  Report start_check(Address address, const Call& call, int size, int place, std::uint64_t count) const;
  Report read_check(std::uint64_t& wrong) const;  // once the stream is idle
  Report spin(Stream stream, double seconds) const;
  Report copy(Stream stream, Address to, Address from, std::size_t bytes) const;
  double free_bytes() const;

  Buffer send, receive;

 private:
  Report launch(Function kernel, const char* name, Stream stream, std::uint64_t threads, void** parameters) const;

  const Words& words_;
  int rank_, ordinal_;
  Device device_ = 0;
  Context context_ = nullptr;
  std::string name_, bus_;
  int capability_ = 0, multiprocessors_ = 1;
  Module module_ = nullptr;
  Function fill_ = nullptr, noise_ = nullptr, check_ = nullptr, spin_ = nullptr;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  Buffer wrong_;
};

}  // namespace wireplan::nccl_backend
