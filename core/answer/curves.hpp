// Time and bandwidth of a collective against its size, as nccl-tests measures them: one group of ranks, alone on the machine.
//
// Sizes and counts follow nccl-tests: S is the larger of what a rank sends and receives, rounded down to what the ranks can share;
// algorithm bandwidth = S / time, bus bandwidth = bus factor · algorithm bandwidth.  [nccl-tests-perf]
#pragma once

#include <vector>

#include "core/base/error.hpp"
#include "core/cost/collective.hpp"

namespace wireplan {

// Element types by nccl-tests' names.
enum class ElementType : unsigned char { int8, uint8, int32, uint32, int64, uint64, half, float32, float64, bfloat16, fp8_e4m3, fp8_e5m2 };
template <>
inline constexpr std::array<std::string_view, 12> kNames<ElementType> = {"int8", "uint8", "int32",  "uint32",   "int64",    "uint64",
                                                                         "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
constexpr int bytes_of(ElementType type) {  // of one element
  switch (type) {
    case ElementType::int8: case ElementType::uint8: case ElementType::fp8_e4m3: case ElementType::fp8_e5m2: return 1;
    case ElementType::half: case ElementType::bfloat16: return 2;
    case ElementType::int32: case ElementType::uint32: case ElementType::float32: return 4;
    case ElementType::int64: case ElementType::uint64: case ElementType::float64: break;
  }
  return 8;
}

enum class Reduction : unsigned char { sum, prod, min, max, avg };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Reduction> = {"sum", "prod", "min", "max", "avg"};

constexpr bool reduces(Collective op) { return op == Collective::all_reduce || op == Collective::reduce_scatter || op == Collective::reduce; }
constexpr bool has_root(Collective op) {
  return op == Collective::broadcast || op == Collective::reduce || op == Collective::scatter || op == Collective::gather;
}

// What nccl-tests makes of a size that is asked for. count: elements a rank passes to the call, of the whole buffer or of its part.
//   all_gather, reduce_scatter, all_to_all: count = floor(S / (e·n)), down to 16 bytes, size = count·e·n;  scatter, gather: the same
//   without the 16 bytes;  others: count = floor(S / e), size = count·e.    e: bytes of an element, n ranks
// Source: nccl-tests, GetCollByteCount of each operation. Exact. Test: tests/core/answer/curves_test.cpp.
struct CallSize {
  Bytes size;
  double count = 0;
};
CallSize call_size(Collective op, Bytes asked, ElementType type, int ranks);

// begin, begin·factor, … or begin, begin + step, … up to end, in bytes. Errors name "begin", "end", "factor", "step": 1 B to 1 PB, at most 1,000.
struct SizeRange {
  double begin = 1024, end = 8589934592.0;
  double factor = 2, step = 0;  // step > 0: counts instead of the factor
};
Result<std::vector<Bytes>> sizes_of(const SizeRange& range);

inline constexpr double kMostCallBytes = 1e15;
inline constexpr int kMostCurveSizes = 1'000, kMostCurveRanks = 100'000;

struct CurveRequest {
  Collective op = Collective::all_reduce;
  std::vector<int> gpus;  // of each node, in the order of their ranks; {}: all that are used
  int nodes = 1;
  std::vector<Bytes> sizes;
};

struct Curve {
  Collective op = Collective::all_reduce;
  int ranks = 1, nodes = 1;
  std::vector<int> gpus;  // of each node
  RingOnWiring ring;
  Bottleneck bottleneck;  // of this operation
  struct Point {
    Bytes size;
    CollectiveCall call;
    BytesPerSecond algorithm_bandwidth, bus_bandwidth;
  };
  std::vector<Point> points;
};

// Errors name "gpus", "nodes", "sizes": GPUs the node has, each once; at most the nodes of the cluster; 2 to 100,000 ranks.
Result<Curve> collective_curve(const PreparedCluster& cluster, const CurveRequest& request);

}  // namespace wireplan
