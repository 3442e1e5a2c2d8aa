// What writing and reading of links share: the short keys in their order, and percent encoding.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace wireplan {

struct ShortKey {
  std::string_view key, path;
  bool is_word;  // a name, never read as JSON
};

// In the order in which they are written, after v, m and c.
inline constexpr std::array<ShortKey, 16> kShortKeys = {{{"ds", "parallel.data_sharding", true},
                                                         {"dp", "parallel.data", false},
                                                         {"tp", "parallel.tensor", false},
                                                         {"pp", "parallel.pipeline", false},
                                                         {"cp", "parallel.context", false},
                                                         {"ep", "parallel.expert", false},
                                                         {"sp", "parallel.sequence_parallel", false},
                                                         {"mbs", "training.micro_batch_size", false},
                                                         {"gbs", "training.global_batch_size", false},
                                                         {"seq", "training.sequence_length", false},
                                                         {"pd", "training.parameter_dtype", true},
                                                         {"gd", "training.gradient_dtype", true},
                                                         {"md", "training.master_weights_dtype", true},
                                                         {"od", "training.optimizer_state_dtype", true},
                                                         {"rc", "training.recompute", true},
                                                         {"fw", "parallel.framework", true}}};
inline constexpr std::array<std::string_view, 5> kViewKeys = {"view", "lang", "theme", "u", "story"};

inline constexpr std::size_t kMaxLink = 4096;           // what is written
inline constexpr std::size_t kMaxUnpacked = 1'000'000;  // of j=

std::string percent_encoded(std::string_view text);
// A percent sign that starts no code stands for itself: people edit links by hand.
std::string percent_decoded(std::string_view text);

}  // namespace wireplan
