#include "core/text/nccl_log_communicators.hpp"

#include <algorithm>

#include "core/text/log_text.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostSpeakers = 200'000;

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

// How many ranks the communicator has that a message names; 0 for others, and at its end.
int stated_size(std::string_view text) {
  if (!contains(text, "comm 0x") || !contains(text, " rank ") || contains(text, "Destroy") || contains(text, "Abort")) return 0;
  auto n = number_behind(text, " nranks ");
  if (!n) n = number_behind(text, " nRanks ");
  return n && *n <= kMostNcclLogRanks ? static_cast<int>(*n) : 0;
}

}  // namespace

NcclCommunicators::Speaker* NcclCommunicators::speaker(std::string_view name, bool adds) {
  if (name.empty()) return nullptr;
  const auto known = speaker_index_.find(name);
  if (known != speaker_index_.end()) return &speakers_[static_cast<std::size_t>(known->second)];
  if (!adds || speakers_.size() >= kMostSpeakers) return nullptr;
  speaker_index_.emplace(std::string(name), static_cast<int>(speakers_.size()));
  return &speakers_.emplace_back();
}

// By its address in the process, from its first mention until it is complete. A new one is known on other ranks by its commId; without
// (splits, releases before 2.13) by color and count of the split, or by how often the rank was in a communicator of this size before.
NcclCommunicators::Statement NcclCommunicators::statement_of(const NcclMessage& m, int ranks) {
  const auto word_behind = [&](std::string_view key) { return first_word(behind(m.text, key)).substr(0, 40); };
  const std::string size = std::to_string(ranks);
  const std::string_view parent = behind(m.text, " parent ");
  const std::string_view id = parent.empty() ? word_behind("commId ") : "";
  const std::string address = joined({m.process, " ", word_behind("comm "), " ", size});
  const bool is_complete = contains(m.text, "COMPLETE"), is_start = contains(m.text, "Init START");
  const auto known = known_.find(address);
  const bool is_first = known == known_.end() || is_start || (is_complete && complete_.contains(address));
  Statement s;
  s.is_late = is_first && is_complete;
  // Every one is known by its commId, and so is one that was counted before its commId came.
  std::string key = joined({"commId ", id, " ", size});
  if (is_first && id.empty()) {
    const std::string_view split = parent.substr(0, std::min<std::size_t>(parent.find(" key"), 80));
    const auto occurrence = [&] { return std::to_string(occurrences_[joined({"rank ", word_behind(" rank "), " ", size})]++); };
    key = parent.empty() ? joined({"number ", occurrence(), " ", size}) : joined({"split", behind(split, " "), " ", size});
  }
  if (is_first) {
    const auto [at, is_new] = known_.emplace(std::move(key), static_cast<int>(all_.size()));
    if (is_new) all_.push_back({ranks, 0, -1, std::string(id)});
    s.communicator = known_[address] = at->second;
  } else {
    s.communicator = known->second;
    Communicator& c = all_[static_cast<std::size_t>(s.communicator)];
    if (!id.empty() && c.id.empty() && c.same_as < 0) {
      const auto [at, is_new] = known_.emplace(std::move(key), s.communicator);
      if (is_new) c.id = id;
      else c.same_as = at->second;
    }
  }
  if (is_start) complete_.erase(address);
  if (is_complete) complete_.emplace(address, 1);
  return s;
}

void NcclCommunicators::see(const NcclMessage& m) {
  const int ranks = stated_size(m.text);
  if (ranks == 0) {
    const auto ring = nccl_ring_of(m.text);
    if (!ring) return;
    const int size = static_cast<int>(ring->order.size());
    largest_ring_ = std::max(largest_ring_, size);
    if (Speaker* process = speaker(m.process, true)) process->ring_size = size;
    return;
  }
  Statement s = statement_of(m, ranks);
  if (Speaker* process = speaker(m.process, true)) {
    process->has_stated = true;
    s.process = static_cast<int>(process - speakers_.data());
  }
  if (Speaker* thread = speaker(m.thread, true); thread != nullptr && s.is_late) thread->named_late.push_back(s.communicator);
  statements_.push_back(s);
}

void NcclCommunicators::choose() {
  const auto same = [&](int& c) {
    if (const int other = all_[static_cast<std::size_t>(c)].same_as; other >= 0) c = other;
  };
  for (Speaker& s : speakers_) std::for_each(s.named_late.begin(), s.named_late.end(), same);
  for (Statement& s : statements_) {
    same(s.communicator);
    ++all_[static_cast<std::size_t>(s.communicator)].mentions;
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Communicator& c = all_[i];
    if (c.same_as >= 0) continue;
    ++count_;
    if (chosen_ >= 0 && (c.ranks < ranks_ || (c.ranks == ranks_ && c.mentions <= all_[static_cast<std::size_t>(chosen_)].mentions))) continue;
    chosen_ = static_cast<int>(i);
    ranks_ = c.ranks;
  }
  // Rings of a larger one whose names are not in the text, as where its beginning is cut off.
  if (largest_ring_ > ranks_) {
    chosen_ = -1;
    ranks_ = largest_ring_;
  }
  if (chosen_ >= 0) id_ = all_[static_cast<std::size_t>(chosen_)].id;
  for (const Statement& s : statements_)
    if (s.communicator == chosen_ && s.process >= 0) speakers_[static_cast<std::size_t>(s.process)].takes_part = true;
  for (const Speaker& s : speakers_) has_other_rings_ |= !s.has_stated && s.ring_size > 0 && s.ring_size != ranks_;
  count_ += (chosen_ < 0 && largest_ring_ > 0) + has_other_rings_;  // told by their rings alone
}

NcclCommunicators::Whose NcclCommunicators::whose(const NcclMessage& m) {
  Speaker *process = speaker(m.process, false), *thread = speaker(m.thread, false);
  const bool is_stated = next_ < statements_.size() && stated_size(m.text) > 0;
  int communicator = -1;
  if (is_stated) {
    const Statement& s = statements_[next_++];
    communicator = s.communicator;
    for (Speaker* who : {process, thread})
      if (who != nullptr) who->current = communicator;
    if (thread != nullptr && s.is_late) ++thread->passed;
  } else if (thread != nullptr && thread->passed < thread->named_late.size()) {
    communicator = thread->named_late[thread->passed];
  } else if (thread != nullptr && thread->current >= 0) {
    communicator = thread->current;
  } else if (process != nullptr) {
    communicator = process->current;
  }
  const bool is_apart = process != nullptr && process->has_stated && !process->takes_part && chosen_ >= 0;
  if (communicator < 0) {
    // Nobody says whose it is: of the chosen one, unless there are runs beside it that say as little.
    const bool fits = process != nullptr && process->ring_size > 0 ? process->ring_size == ranks_ : !has_other_rings_;
    return is_apart ? Whose::apart : fits ? Whose::chosen : Whose::other;
  }
  if (communicator != chosen_) return is_apart ? Whose::apart : Whose::other;
  return is_stated ? Whose::stated : Whose::chosen;
}

}  // namespace wireplan
