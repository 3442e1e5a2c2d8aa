// What one call of a collective takes on a wiring: time with its band, how it is done and what the figure rests on.
#pragma once

#include <array>

#include "core/cost/wiring.hpp"

namespace wireplan {

// direct: every pair by itself (send_recv, all_to_all, scatter, gather).
enum class Algorithm : unsigned char { ring, tree, nvls, nvls_tree, collnet, pat, direct };
template <>
inline constexpr std::array<std::string_view, 7> kNames<Algorithm> = {"ring", "tree", "nvls", "nvls-tree", "collnet", "pat", "direct"};

enum class Protocol : unsigned char { ll, ll128, simple };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Protocol> = {"ll", "ll128", "simple"};

// profile: the user's own curve; measured: a shipped table of this operation, number of ranks and kind of machine, within its
// sizes; interpolated: shipped tables of that kind of machine, carried over; extrapolated: outside the sizes that were measured;
// formula: nothing of the kind was measured.
enum class Basis : unsigned char { profile, measured, interpolated, formula, extrapolated };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Basis> = {"profile", "measured", "interpolated", "formula", "extrapolated"};

struct CollectiveCall {
  Range<Seconds> time;
  CollectiveParts parts;  // by formula: parts.total() · correction = time.value
  double correction = 1;  // what measured tables say over the formula
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  Basis basis = Basis::formula;
};

// One call among the groups whose rings `ring` describes. ranks < 2: all zero.
CollectiveCall collective_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size);

}  // namespace wireplan
