// What runs on the GPU: values into buffers, results looked at, and a wait of given length.
//
// Compiled to the text beside it by tools/nccl_kernels.sh; the build takes that text, and a test holds it against what the compiler makes of this file.
// values.hpp and elements.hpp are compiled for the GPU as they are, so host and GPU agree on what a buffer must hold.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))

#include <bit>
#include <cstdint>
#include <cstdlib>

#include "native/measure/backend.hpp"
#pragma clang force_cuda_host_device begin
#include "native/measure/elements.hpp"
#include "native/measure/values.hpp"
#pragma clang force_cuda_host_device end

namespace {

__device__ std::uint64_t first_element() { return static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x(); }
__device__ std::uint64_t all_threads() { return static_cast<std::uint64_t>(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x(); }
// Nanoseconds; the same on all multiprocessors, in steps of 32 ns to 1 µs.
__device__ std::uint64_t global_time() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

}  // namespace

extern "C" {

// Elements 0 … count-1 of the send buffer of the rank at place `rank`.
__attribute__((global)) void wireplan_fill(unsigned char* buffer, int type, int redop, int rank, std::uint64_t count) {
  for (std::uint64_t i = first_element(); i < count; i += all_threads())
    wireplan::write_element(static_cast<wireplan::ElementType>(type), buffer, i, wireplan::value_at(static_cast<wireplan::Reduction>(redop), rank, i));
}

// Elements 0 … count-1 of a matrix.
__attribute__((global)) void wireplan_noise(std::uint16_t* matrix, std::uint64_t count) {
  for (std::uint64_t i = first_element(); i < count; i += all_threads()) matrix[i] = wireplan::noise_at(i);
}

// Adds the wrong elements of the receive buffer of place `rank` among `ranks` to *wrong.
__attribute__((global)) void wireplan_check(const unsigned char* buffer, int op, int type, int redop, int root, std::uint64_t call_count, int ranks, int rank, std::uint64_t count,
                                            unsigned long long* wrong) {
  wireplan::Call call;
  call.op = static_cast<wireplan::Collective>(op);
  call.type = static_cast<wireplan::ElementType>(type);
  call.redop = static_cast<wireplan::Reduction>(redop);
  call.root = root;
  call.count = call_count;
  unsigned long long found = 0;
  for (std::uint64_t i = first_element(); i < count; i += all_threads()) {
    const double expected = wireplan::expected_at(call, ranks, rank, i);
    if (expected >= 0 && !wireplan::is_as_expected(call, buffer, i, expected)) ++found;
  }
  if (found > 0) __nvvm_atom_add_gen_ll(reinterpret_cast<long long*>(wrong), static_cast<long long>(found));
}

// One thread waits.
__attribute__((global)) void wireplan_spin(std::uint64_t nanoseconds) {
  const std::uint64_t start = global_time();
  while (global_time() - start < nanoseconds) {
  }
}

}
