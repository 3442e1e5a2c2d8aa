// The best layouts for a model on a cluster, found without looking at most of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/answer/search_space.hpp"

namespace wireplan {

// throughput: least time of a step; memory: least need; gpus: fewest GPUs; cost: fewest GPU-seconds of a step. Of equal plans the faster, then the
// smaller, then the first.
enum class Objective : unsigned char { throughput, memory, gpus, cost };
template <>
inline constexpr std::array<std::string_view, 4> kNames<Objective> = {"throughput", "memory", "gpus", "cost"};

// What the host memory of a node is taken to hold at most where it is not stated: as much as the usual servers of eight GPUs have.
inline constexpr Bytes kUnstatedHost{2e12};
inline constexpr int kMostTop = 1000;
// Up to so many candidates all are evaluated, so that the trade-off of memory and time is that of all layouts.
inline constexpr std::size_t kSmallSearch = 5'000;

struct SearchOptions {
  Objective objective = Objective::throughput;
  NameSet<Vary> vary = NameSet<Vary>::all();
  Abilities can;
  int top = 10;                        // plans that are answered with, 1 to kMostTop
  Verdict worst = Verdict::tight;      // verdict that still counts as fitting: tight, or may-not-fit for those who take the risk
  bool is_data_fixed = false;          // only layouts with the plan's own number of data-parallel ranks
  std::size_t small = kSmallSearch;
};

inline constexpr double kNearCapacity = 1.1;  // no band of a need is wider

// A candidate that was evaluated. Seconds and bytes as in the estimate of its plan.
struct Candidate {
  std::uint32_t space = 0, shape = 0;  // into the search's spaces, and shapes of one
  LayoutVariant variant;
  Verdict verdict = Verdict::does_not_fit;
  bool fits = false;      // verdict and host memory
  bool is_timed = false;  // what does not fit is not, in a large search
  double need = 0;
  double time = 0, compute = 0, exposed = 0, bubble = 0, rest = 0;  // rest: optimizer, host, offload, stragglers
  double gpus = 0;
};

// Why a layout is not the answer; the first that holds. The middle ones: what of the time it takes longer is most.
enum class LossReason : unsigned char { does_not_fit, nearly_as_fast, waits_for_wires, computes_twice, splits_matrices, bubble, rest, slower_at_least };
template <>
inline constexpr std::array<std::string_view, 8> kNames<LossReason> = {"does-not-fit", "nearly-as-fast", "waits-for-wires", "computes-twice",
                                                                       "splits-matrices", "bubble", "rest", "slower-at-least"};
inline constexpr double kNearlyAsFast = 1.1;

struct Losers {
  LossReason reason{};
  std::size_t count = 0;
  std::optional<Candidate> best;  // the best of them: fastest, of those that do not fit the one that needs least
  double bound = 0;               // slower_at_least: the least bound of what was left out: seconds, with memory bytes, with cost GPU-seconds, with gpus GPUs
};

struct SearchCounts {
  std::size_t candidates = 0, pruned = 0, evaluated = 0, fit = 0;  // pruned: by bounds; candidates = pruned + evaluated once a search is done
  std::size_t pruned_by_memory = 0, pruned_by_time = 0;            // parts of `pruned`; the second: by a bound of what is sought, in time or not
};

// A search in blocks of independent pieces of work, so that a caller can spread a block over threads, show what is known between two of them, or stop.
// The answer does not depend on how that is done.
//
// What is left out is provably no answer: model states, optimizer and weights that must stay on a GPU beyond its capacity; a lower bound of the step's
// time (core/step/step_bound.hpp) beyond the time of the last of the best `top`. Kind: exact in the model, for plans[]; the front of memory and time is
// exact in searches of up to kSmallSearch candidates, else that of what was evaluated.  Test: search_test.cpp, against all candidates of small spaces.
class Search {
 public:
  // plans: the same plan on each cluster that may be chosen, ascending by GPUs; with throughput and memory one.  Valid but for the layout.
  Search(std::vector<Plan> plans, SearchOptions options, const Constants& constants);
  ~Search();

  // What a thread keeps for itself.
  class Worker;
  std::shared_ptr<Worker> worker() const;

  std::size_t pieces() const;                          // of the current block; 0: the search is done
  void work(std::size_t piece, Worker& worker);        // each once, in any order; different pieces touch different memory
  void finish_block();                                 // when all are done

  double progress() const;  // 0 to 1, by the work that is known to be left

  const SearchOptions& options() const { return options_; }
  const SearchCounts& counts() const { return counts_; }
  const std::vector<Candidate>& evaluated() const { return evaluated_; }
  // `top` at most, the best first; of those that differ in loss, offload and order alone the best one stands for all.
  std::vector<Candidate> best() const;
  // What else might be best if inputs are off: of those that were evaluated on the best's cluster the fastest, unlike each other as in best(), `most` at most;
  // with those that do not fit but need no more than kNearCapacity of it, as far as they are faster or have no time. The best first.
  std::vector<Candidate> rivals(std::size_t most) const;
  std::vector<Candidate> front() const;                // of those that fit: more time, less need
  bool is_front_exact() const { return is_small_; }
  std::vector<Losers> losers() const;                  // in order of LossReason; none without a best plan but for does_not_fit
  LossReason reason_of(const Candidate& candidate, const Candidate& best) const;
  Plan plan_of(const Candidate& candidate) const;      // `assumed` says what it did in the plan searched from
  const LayoutShape& shape_of(const Candidate& c) const;

 private:
  struct Space;
  // The smaller the better, first things first.
  struct Score {
    double first = 0, second = 0;
    friend constexpr auto operator<=>(const Score&, const Score&) = default;
  };
  struct Open { Score bound; std::uint32_t space, shape; LayoutVariant variant; };
  // What became of one piece of a block: candidates that stay open and those that were evaluated, and how many were left out.
  struct Piece {
    std::vector<Open> open;
    std::vector<Candidate> evaluated;
    std::size_t candidates = 0, by_memory = 0, by_time = 0;
    double least_pruned = 0;  // 0: none
  };
  enum class Phase : unsigned char { seeds, bounds, looks, done };

  void evaluate(const Open& open, Worker& worker, Piece& out) const;
  void bound(std::uint32_t shape, Worker& worker, Piece& out) const;
  void look(const Open& open, Worker& worker, Piece& out) const;
  bool is_beyond(const Score& bound) const { return limit_ && bound > *limit_; }
  Score score(double gpus, double time, double need) const;
  bool is_better(const Candidate& a, const Candidate& b) const;
  bool is_alike(const Candidate& a, const Candidate& b) const;  // see best()
  void keep(const Candidate& candidate, std::vector<Candidate>& best) const;
  void lower_limit(const std::vector<Candidate>& best);
  void prune(double bound);
  void begin_space();
  void plan_block();

  SearchOptions options_;
  const Constants& constants_;
  std::vector<std::unique_ptr<Space>> spaces_;
  SearchCounts counts_;
  std::vector<Candidate> evaluated_, best_;
  bool is_small_ = false;
  std::optional<Score> limit_;   // of the last of `top` found: what is beyond cannot be an answer
  double least_pruned_ = 0;

  Phase phase_ = Phase::seeds;
  std::uint32_t space_ = 0;      // that is looked at
  std::size_t shape_ = 0;        // the first that is not bounded yet
  std::size_t next_ = 0;         // into open_
  std::vector<Open> open_;
  std::vector<std::uint32_t> seeds_;
  std::vector<Piece> pieces_;    // of the block
};

}  // namespace wireplan
