// Values whose result is known exactly, whatever the order in which a library adds them up.
//
// Rank r holds v(r, i) at element i of its send buffer. Sums stay below 2^8 up to 85 ranks and products at 2^4, so that every partial
// result is exact in bfloat16 (8 bits) and wider types; half holds sums up to 2^11, 8-bit floats 2^4 and 2^3. Larger groups of small
// types are compared by sums that wrap round or round, and are refused by is_exact().
#pragma once

#include <cstdint>

#include "native/measure/backend.hpp"

namespace wireplan {

// v(r, i): 0 … 3; for products 1, and 2 on the rank that i points at among four places.
inline int value_at(Reduction redop, int rank, std::uint64_t i) {
  const std::uint64_t place = static_cast<std::uint64_t>(rank) + i;
  if (redop == Reduction::prod) return rank < 16 && place % 4 == 0 ? 2 : 1;
  return static_cast<int>(place % 4);
}

// Bits of a bfloat16 between -1 and 1, for products: signs, exponents and fractions of all kinds, since a GPU that multiplies zeros or a few patterns
// draws less power and clocks higher than in training. The mixer is that of splitmix64.
inline std::uint16_t noise_at(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  const std::uint64_t exponent = 126 - ((z >> 8) & 7);
  return static_cast<std::uint16_t>(((z & 1) << 15) | (exponent << 7) | ((z >> 16) & 127));
}

// The reduction of v(r, i) over r = 0 … n-1. avg: the exact mean.
inline double reduced_at(Reduction redop, int n, std::uint64_t i) {
  double sum = 0, product = 1;
  int least = 3, most = 0;
  if (redop == Reduction::prod) {
    for (int r = 0; r < n && r < 16; ++r) product *= value_at(redop, r, i);
    return product;
  }
  const int whole = n / 4;  // every four neighbouring ranks hold 0, 1, 2, 3
  sum = 6.0 * whole;
  for (int r = 4 * whole; r < n; ++r) sum += value_at(redop, r, i);
  for (int r = 0; r < n && r < 4; ++r) {
    const int v = value_at(redop, r, i);
    least = v < least ? v : least;
    most = v > most ? v : most;
  }
  switch (redop) {
    case Reduction::min: return least;
    case Reduction::max: return most;
    case Reduction::avg: return sum / n;
    default: return sum;
  }
}

// Whether every partial result of n ranks is exact in the type (avg: but for its last rounding).
inline bool is_exact(ElementType type, Reduction redop, int n) {
  const bool adds = redop == Reduction::sum || redop == Reduction::avg;
  const int most = !adds ? 16 : (n / 4) * 6 + 6;
  switch (type) {
    case ElementType::int8: return most <= 127;
    case ElementType::uint8: return most <= 255;
    case ElementType::half: return most <= 2048;
    case ElementType::bfloat16: return most <= 256;
    case ElementType::fp8_e4m3: return most <= 16;
    case ElementType::fp8_e5m2: return most <= 8;
    default: return true;
  }
}

// What rank `me` of n must hold at element i of its receive buffer after `call`; -1: anything (buffers that the call does not write).
// The receive buffer has count·n elements for all_gather, all_to_all and, on the root, gather; else count.
inline double expected_at(const Call& call, int n, int me, std::uint64_t i) {
  const std::uint64_t count = call.count;
  const auto from = [&](int rank, std::uint64_t at) { return static_cast<double>(value_at(call.redop, rank, at)); };
  switch (call.op) {
    case Collective::all_reduce: return reduced_at(call.redop, n, i);
    case Collective::reduce: return me == call.root ? reduced_at(call.redop, n, i) : -1;
    case Collective::reduce_scatter: return reduced_at(call.redop, n, static_cast<std::uint64_t>(me) * count + i);
    case Collective::all_gather: return from(static_cast<int>(i / count), i % count);
    case Collective::gather: return me == call.root ? from(static_cast<int>(i / count), i % count) : -1;
    case Collective::all_to_all: return from(static_cast<int>(i / count), static_cast<std::uint64_t>(me) * count + i % count);
    case Collective::scatter: return from(call.root, static_cast<std::uint64_t>(me) * count + i);
    case Collective::broadcast: return from(call.root, i);
    case Collective::send_recv: return from((me + n - 1) % n, i);
  }
  return -1;
}

// Elements of the buffers of rank `me`.
struct BufferCounts { std::uint64_t send = 0, receive = 0; };
inline BufferCounts buffer_counts(const Call& call, int n, int me) {
  const std::uint64_t one = call.count, all = one * static_cast<std::uint64_t>(n);
  switch (call.op) {
    case Collective::all_gather: return {one, all};
    case Collective::reduce_scatter: return {all, one};
    case Collective::all_to_all: return {all, all};
    case Collective::scatter: return {me == call.root ? all : 0, one};
    case Collective::gather: return {one, me == call.root ? all : 0};
    case Collective::reduce: return {one, me == call.root ? one : 0};
    default: return {one, one};
  }
}

}  // namespace wireplan
