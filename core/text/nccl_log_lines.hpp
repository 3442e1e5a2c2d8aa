// Lines of a log of NCCL that more than one reader looks at: who speaks, and the rings it tells.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace wireplan {

inline constexpr int kMostNcclLogRanks = 100'000, kMostNcclLogChannels = 64;

// What stands behind the first `key`; "" where it is not.
std::string_view behind(std::string_view text, std::string_view key);
std::string_view first_word(std::string_view text);

// A line "host:pid:tid [0] NCCL INFO text".
struct NcclMessage {
  std::string_view thread, process, host, text;  // "host:pid:tid", "host:pid", "host"; "" where the line does not say
  bool is_warning = false;
};
// Nothing for other lines, and for lines into which two processes wrote at once: neither message is whole.
std::optional<NcclMessage> nccl_message_of(std::string_view line);

// "Channel 00/16 : 0 1 2 3", before 2.5 "Channel 00 :    0   1": channel and ranks.
struct NcclRingLine {
  int channel = 0;
  std::vector<int> order;
};
std::optional<NcclRingLine> nccl_ring_of(std::string_view text);

// A rank, or -1; nothing for anything else. Ranks are below 100,000, channels below 64.
std::optional<int> nccl_rank_of(std::string_view text);

}  // namespace wireplan
