// The operations in which GPUs exchange data.
#pragma once

#include <array>

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

}  // namespace wireplan
