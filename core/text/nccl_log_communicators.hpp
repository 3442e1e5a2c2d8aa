// Which communicator a message of a log is about. A job makes several, and people paste several runs into one file: what NCCL says of
// its channels never names the communicator, so it is the one its thread, or else its process, spoke of last.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/nccl_log_lines.hpp"

namespace wireplan {

class NcclCommunicators {
 public:
  // Every message in order; then choose(); then whose() for every message once more, in the same order.
  void see(const NcclMessage& m);
  // The communicator with the most ranks; of several such the one that the log says most of, then the first.
  void choose();

  enum class Whose : unsigned char { stated, chosen, other, apart };
  // stated: the message names the chosen communicator and a rank of it; chosen: it is about it; other: about another one; apart: the
  // same, and from a process without a part in the chosen one (another run).
  Whose whose(const NcclMessage& m);

  int ranks() const { return ranks_; }                    // of the chosen one; 0: the log does not say
  bool are_named() const { return !all_.empty(); }        // so far
  int count() const { return count_; }
  const std::string& id() const { return id_; }           // NCCL's commId; "" where the log has none

 private:
  struct Communicator {
    int ranks = 0, mentions = 0, same_as = -1;  // same_as: index in `all_` of the one it turned out to be
    std::string id;
  };
  struct Speaker {                  // a thread or a process
    int current = -1;               // index in `all_`
    std::vector<int> named_late;    // older releases name a communicator when it is complete: what came before is of it
    std::size_t passed = 0;         // of them
    int ring_size = 0;              // of rings it told
    bool has_stated = false, takes_part = false;
  };
  using Index = std::map<std::string, int, std::less<>>;
  struct Statement {
    int communicator = 0, process = -1;
    bool is_late = false;
  };

  Speaker* speaker(std::string_view name, bool adds);
  Statement statement_of(const NcclMessage& m, int ranks);

  std::vector<Communicator> all_;
  Index known_;           // by address in the process, and by what others know it by: index in `all_`
  Index occurrences_;     // how often a rank was in a communicator of a size that nothing names
  Index complete_;        // addresses whose communicator is complete
  Index speaker_index_;
  std::vector<Speaker> speakers_;
  std::vector<Statement> statements_;
  std::size_t next_ = 0;
  int chosen_ = -1, ranks_ = 0, count_ = 0, largest_ring_ = 0;
  bool has_other_rings_ = false;    // of runs that state no communicator
  std::string id_;
};

}  // namespace wireplan
