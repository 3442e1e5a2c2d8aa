// A machine of GPUs that is not there: what WIREPLAN_DOUBLE says, and what lives on it.
//
// Stands in for libcuda.so.1, libnccl.so.2 and libcublasLt.so.13 in tests, on host memory with threads; found by LD_LIBRARY_PATH alone and never
// installed. Time is modelled, not measured: a stream has a clock that its work moves on, and events read it. WIREPLAN_DOUBLE is a list of
// words, all optional:
//
//   gpus=4 memory=1e9          how many, and bytes of each
//   latency=5e-6 bandwidth=1e10 link=0-1:5e9,2-3:1e9     a step of a ring in seconds; bytes/s of the links between ranks, and of some pairs
//   flops=1e14                 of matrix products
//   memory-rate=1e12           bytes a second that a copy on the GPU reads and writes
//   driver=13000 nccl=22809    versions
//   dir=DIR                    where processes of a run meet (files of shared memory); needed with several
//   report=FILE                at the end of each process a line of what is still alive is added
//   error=R@K hang=R@K async=R@K wrong=R@K gone=R@K kill=R@K      from the K-th call (0, 1, …) of rank R on: NCCL returns an error; the call
//                              never ends; it never ends and NCCL has an asynchronous error; one element of each result is flipped; the GPU is
//                              lost (CUDA error 719); the process is killed
//   init-error=R init-hang=R   the same of making the first communicator
//   stuck=R                    ending a communicator of rank R by force never comes back
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace wireplan_double {

struct Machine {
  int gpus = 1, driver = 13000, nccl = 22809;
  std::size_t memory = std::size_t{1} << 30;
  double latency = 5e-6, bandwidth = 1e10, flops = 1e14, memory_rate = 1e12;
  std::map<std::pair<int, int>, double> links;
  std::map<std::string, std::pair<int, long>> faults;  // name: rank, from which call on
  std::string dir, report;

  double link(int a, int b) const;
  bool has_fault(const std::string& name, int rank, long call) const;
};
const Machine& machine();

// Objects alive, reported at the end.
struct Alive {
  std::atomic<long> allocations, bytes, contexts, modules, streams, events, graphs, communicators, registrations, descriptions;
};
Alive& alive();

struct Gpu {
  int index = 0;
  std::atomic<int> rank = -1;  // of the first communicator
  std::atomic<int> error = 0;  // CUDA error that everything returns
  std::atomic<long> calls = 0; // of NCCL
  std::atomic<std::size_t> used = 0;
};
Gpu& gpu_at(int index);
Gpu* current_gpu();             // of this thread, null: none
void set_current_gpu(Gpu* gpu);

// Host memory that counts as a GPU's. Null where there is not so much.
void* allocate_on(Gpu& gpu, std::size_t bytes);
bool free_of_gpu(void* address);

}  // namespace wireplan_double
