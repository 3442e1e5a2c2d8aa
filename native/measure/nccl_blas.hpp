// The functions of cuBLASLt that are called here, found at run time.
//
// Declared from cublasLt.h 13.0; these are the same since version 11. tests/repository/test_nccl_api.py holds them against the header.
#pragma once

#include <cstdint>

#include "native/measure/nccl_api.hpp"

namespace wireplan::nccl_backend {

using Status = int;
using Description = void*;  // cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t
inline constexpr int kComputeFloat = 68, kFloat = 0, kBfloat16 = 14;
inline constexpr int kPreferMostWorkspace = 1;
struct Algorithm { std::uint64_t data[8]; };
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

struct BlasApi {
  Status (*create)(void** handle) = nullptr;
  Status (*destroy)(void* handle) = nullptr;
  const char* (*status_string)(Status status) = nullptr;
  Status (*create_product)(Description* made, int compute, int scale) = nullptr;
  Status (*destroy_product)(Description made) = nullptr;
  Status (*create_layout)(Description* made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) = nullptr;
  Status (*destroy_layout)(Description made) = nullptr;
  Status (*create_preference)(Description* made) = nullptr;
  Status (*destroy_preference)(Description made) = nullptr;
  Status (*set_preference)(Description preference, int attribute, const void* value, std::size_t bytes) = nullptr;
  Status (*heuristic)(void* handle, Description product, Description a, Description b, Description c, Description d, Description preference, int asked, Heuristic* results, int* found) = nullptr;
  Status (*multiply)(void* handle, Description product, const void* alpha, const void* a, Description a_layout, const void* b, Description b_layout, const void* beta, const void* c,
                     Description c_layout, void* d, Description d_layout, const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, Stream stream) = nullptr;
};

}  // namespace wireplan::nccl_backend
