#include "core/text/nccl_log_lines.hpp"

#include "core/text/log_text.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kLongestName = 255;

}  // namespace

std::string_view behind(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  return found == std::string_view::npos ? std::string_view() : text.substr(found + key.size());
}

std::string_view first_word(std::string_view text) {
  const auto start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  return text.substr(0, text.find(' '));
}

std::optional<NcclMessage> nccl_message_of(std::string_view line) {
  const std::size_t start = message_start(line);
  if (start == std::string_view::npos) return std::nullopt;
  NcclMessage m;
  m.is_warning = contains(line, "NCCL WARN");
  m.text = behind(line, m.is_warning ? "NCCL WARN" : contains(line, "NCCL INFO") ? "NCCL INFO" : "NCCL ");
  if (message_start(m.text) != std::string_view::npos) return std::nullopt;
  while (m.text.starts_with(' ')) m.text.remove_prefix(1);
  std::string_view word = first_word(line.substr(start));
  // What launchers write in front: "[1,0]<stdout>:host:pid:tid", "[default0]:host:pid:tid".
  for (const char mark : {'>', ']'})
    if (const std::size_t end = word.rfind(mark); end != std::string_view::npos && end + 1 < word.size() && word[end + 1] == ':') word.remove_prefix(end + 2);
  const std::size_t tid = word.rfind(':'), pid = tid == std::string_view::npos || tid == 0 ? tid : word.rfind(':', tid - 1);
  if (pid != std::string_view::npos && word.size() <= kLongestName) {
    m.host = word.substr(0, pid);
    m.process = word.substr(0, tid);
    m.thread = word;
  }
  return m;
}

std::optional<int> nccl_rank_of(std::string_view text) {
  if (text == "-1") return -1;
  const auto n = whole_number(text);
  return n && *n < kMostNcclLogRanks ? std::optional<int>(static_cast<int>(*n)) : std::nullopt;
}

std::optional<NcclRingLine> nccl_ring_of(std::string_view text) {
  if (!text.starts_with("Channel ") || contains(text, "->") || contains(text, "via")) return std::nullopt;
  const auto channel = number_at(text, 8);
  const std::size_t colon = text.find(':');
  if (!channel || *channel >= kMostNcclLogChannels || colon == std::string_view::npos) return std::nullopt;
  NcclRingLine ring{static_cast<int>(*channel), {}};
  for (const std::string_view word : words_of(text.substr(colon + 1))) {
    const auto rank = nccl_rank_of(word);
    if (!rank || *rank < 0) return std::nullopt;
    ring.order.push_back(*rank);
  }
  if (ring.order.empty()) return std::nullopt;
  return ring;
}

}  // namespace wireplan
