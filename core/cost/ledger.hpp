// What one GPU holds at one moment, by what it is, and the highest moment of each phase of a step.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/names.hpp"
#include "core/describe/model.hpp"

namespace wireplan {

// Finer than MemoryParts: every term belongs to one part.
enum class Term : unsigned char {
  parameters,
  master_weights,
  optimizer_states,
  gradients,            // stored: whole, or this rank's shard
  unsharded_gradients,  // of a unit whose reduction is still to come, or kept whole over micro-batches
  layer_activations,    // kept by layers for their backward
  in_flight,            // the same of the other micro-batches of a pipeline
  recomputed_activations,
  outer_activations,  // batch, rotation tables, final norm and the head's input
  stream,             // the residual stream, or its gradient, between two layers
  logits,
  kept_logits,  // in a variable of the caller
  unsharded_root,   // parameters gathered for the whole forward and backward
  unsharded_units,  // of the block that runs
  weight_copies,    // 16-bit copies that autocast makes
  gather_buffers,
  reduce_buffers,
  gradient_buckets,
  operations,  // results and gradients on their way inside a layer
  optimizer_temporaries,
  constants,   // tables and buffers that stay between steps
  workspaces,  // of libraries
};
inline constexpr std::size_t kTerms = static_cast<std::size_t>(Term::workspaces) + 1;

enum class StepPhase : unsigned char { forward, loss, backward, optimizer };
template <>
inline constexpr std::array<std::string_view, 4> kNames<StepPhase> = {"forward", "loss", "backward", "optimizer"};

inline constexpr Count kNoLayer = -1, kEmbeddingLayer = -2;

struct Place {
  StepPhase phase = StepPhase::forward;
  Count layer = kNoLayer;  // 0-based over the model, or one of the two constants above
  std::string_view at;     // operation
  Count micro_batch = 0;
};

struct Holdings {
  std::array<double, kTerms> bytes{};
  double total = 0;
  double operator[](Term t) const { return bytes[static_cast<std::size_t>(t)]; }
};

// The end of a piece of a step.
struct TimelinePoint {
  Place place;
  Place highest_place;
  double highest = 0;  // since the point before
  double bytes = 0;    // now
};

class Ledger {
 public:
  Holdings now;
  Place place;
  std::vector<TimelinePoint>* timeline = nullptr;
  Count micro_batch = 0;

  void add(Term term, double bytes) {
    now.bytes[static_cast<std::size_t>(term)] += bytes;
    now.total += bytes;
  }
  void free(Term term, double bytes) { add(term, -bytes); }
  void clear(Term term) { add(term, -now[term]); }
  double operator[](Term term) const { return now[term]; }

  // Whether `bytes` more would still not be the highest of their phase, so that nothing has to be marked.
  bool is_lower(double bytes) const { return !timeline && now.total + bytes <= peaks_[static_cast<std::size_t>(place.phase)].holdings.total; }
  // The present moment counts for the peak of its phase.
  void mark(std::string_view at) {
    if (timeline && now.total > highest_) remember(now.total, at);
    Peak& peak = peaks_[static_cast<std::size_t>(place.phase)];
    if (now.total <= peak.holdings.total) return;
    peak.holdings = now;
    peak.place = place;
    peak.place.at = at;
    peak.place.micro_batch = micro_batch;
  }
  // The same with `bytes` of a term that come and go inside the moment.
  void mark(std::string_view at, Term term, double bytes) {
    if (timeline && now.total + bytes > highest_) remember(now.total + bytes, at);
    if (now.total + bytes <= peaks_[static_cast<std::size_t>(place.phase)].holdings.total) return;
    add(term, bytes);
    mark(at);
    free(term, bytes);
  }
  void point() {
    if (!timeline) return;
    if (now.total > highest_) remember(now.total, {});
    timeline->push_back({place, highest_place_, highest_, now.total});
    timeline->back().place.micro_batch = micro_batch;
    highest_ = 0;
  }

  struct Peak {
    Holdings holdings;
    Place place;
  };
  const Peak& peak(StepPhase phase) const { return peaks_[static_cast<std::size_t>(phase)]; }

 private:
  std::array<Peak, 4> peaks_{};
  double highest_ = 0;  // since the last point of the timeline
  Place highest_place_;
  void remember(double bytes, std::string_view at) {
    highest_ = bytes;
    highest_place_ = place;
    highest_place_.at = at;
    highest_place_.micro_batch = micro_batch;
  }
};

}  // namespace wireplan
