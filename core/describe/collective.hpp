// The operations in which GPUs exchange data.
#pragma once

#include <array>
#include <optional>

#include "core/base/names.hpp"

namespace wireplan {

enum class Collective : unsigned char {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  send_recv,
  scatter,
  gather
};
template <>
inline constexpr std::array<std::string_view, 9> kNames<Collective> = {"all_reduce", "all_gather", "reduce_scatter",
                                                                       "broadcast",  "reduce",     "all_to_all",
                                                                       "send_recv",  "scatter",    "gather"};

// Whether each rank's part of the buffer is 1/n of nccl-tests' size.
constexpr bool is_split_by_rank(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter || c == Collective::all_to_all || c == Collective::scatter || c == Collective::gather;
}

// direct: every pair by itself (send_recv, all_to_all, scatter, gather).
enum class Algorithm : unsigned char { ring, tree, nvls, nvls_tree, collnet, pat, direct };
template <>
inline constexpr std::array<std::string_view, 7> kNames<Algorithm> = {"ring", "tree", "nvls", "nvls-tree", "collnet", "pat", "direct"};

enum class Protocol : unsigned char { ll, ll128, simple };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Protocol> = {"ll", "ll128", "simple"};

// What the environment of a run decides (NCCL_ALGO, NCCL_NVLS_ENABLE, NCCL_P2P_LEVEL, NCCL_MIN_NCHANNELS).
struct CollectiveSwitches {
  std::optional<Algorithm> algorithm;
  bool nvls = true;
  bool peers_past_host = false;  // peer access past the host bridge too
  int min_channels = 0;
  friend bool operator==(const CollectiveSwitches&, const CollectiveSwitches&) = default;
};

}  // namespace wireplan
