// Matrix products on a GPU by cuBLASLt, where it is there: the compute between the calls of a schedule.
#pragma once

#include <memory>
#include <vector>

#include "native/measure/nccl_gpu.hpp"

namespace wireplan::nccl_backend {

// C (m × n) = A (m × k) · B (k × n), bfloat16 with sums in float32, column after column. They hold noise (values.hpp).
class Products {
 public:
  Products(const Words& words, Gpu& gpu);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // False, with cuBLASLt's absence as no failure, where there is none: the caller waits the stated time instead.
  static bool are_possible();

  // Memory, descriptions and cuBLASLt's choice of a kernel for each product, before anything is timed.
  Report prepare(const std::vector<Job::Product>& products, std::size_t lanes);
  Report enqueue(const Job::Product& product, Stream stream, std::size_t lane);

 private:
  struct Shape;
  Report made(const char* function, int status) const;
  Report describe(const Job::Product& product);

  const Words& words_;
  Gpu& gpu_;
  void* handle_ = nullptr;
  std::vector<std::unique_ptr<Shape>> shapes_;
  Buffer a_, b_, c_;
  std::vector<Buffer> workspaces_;  // of each lane: products of two lanes may run at once
};

}  // namespace wireplan::nccl_backend
