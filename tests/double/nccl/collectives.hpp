// What a collective leaves in the buffers, and how long its model takes.
#pragma once

#include <vector>

#include "native/measure/backend.hpp"

namespace wireplan_double {

struct Transfer { int peer = 0; std::size_t bytes = 0; };

// What every member says of a call, before its data.
struct Said {
  int op = 0, type = 0, redop = 0, root = 0;
  std::uint64_t count = 0;
  double now = 0;
  std::uint64_t sends = 0;  // Transfers that follow, with their data one after the other; of point to point only
};

// A ring's time: latency·steps + bytes/bandwidth of its slowest link, by the members' ranks in the order of the ring.
//   all_reduce 2(n-1) steps, 2(n-1)/n of the bytes; all_gather, reduce_scatter n-1, (n-1)/n; broadcast, reduce n-1, all of them
double ring_time(wireplan::Collective op, double bytes, const std::vector<int>& ranks);

// latency·(most peers of a member) + the longest of any member's bytes sent or received, each at its link's rate.
double exchange_time(const std::vector<std::vector<Transfer>>& sends, const std::vector<int>& ranks);

// The reduction of the elements of all members, written to `result`, worked out in double and rounded once.
void reduce_elements(wireplan::ElementType type, wireplan::Reduction redop, const std::vector<const unsigned char*>& from, std::uint64_t first, std::uint64_t count, unsigned char* result);

}  // namespace wireplan_double
