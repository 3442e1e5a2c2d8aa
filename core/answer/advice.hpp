// What to change first: the few edits of a plan that make it fit, or that give most tokens/s, each with what it brings and what it costs.
//
// Notation: need, time and tokens/s of a plan are those of its estimate; a change helps when it makes the plan fit, or by more than 1 %.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"

namespace wireplan {

// The constants for comparing many plans: without what NCCL decides for each of their groups, which takes milliseconds a group. Memory
// is the same, times are near; what is told is estimated again with all.
Constants screening_constants(const Constants& constants);

// What of an edited plan follows from documents this folder does not know: core/text has the presets.
class PlanFilling {
 public:
  virtual void fill(Plan& plan) const = 0;                    // training.switches, from implementation, kernels, layout and details
  virtual GradientSync gradient_sync(const Plan& plan) const = 0;  // what the plan would have, stated nothing
  virtual std::optional<Network> network(const Node& node) const = 0;  // what such nodes come with

 protected:
  ~PlanFilling() = default;
};

// free: the same training, only laid out or computed otherwise; numerics: other number formats or another optimizer, so another
// training; hardware: another machine, or another setting of it.
enum class ChangeKind : unsigned char { free, numerics, hardware };
template <> inline constexpr std::array<std::string_view, 3> kNames<ChangeKind> = {"free", "numerics", "hardware"};

enum class Knob : unsigned char {
  recompute, recompute_layers, micro_batch, sharding, tensor, pipeline, context, expert, sequence_parallel, schedule, unit, bucket, loss,
  attention, kernels, graphs, gradient_sync, overlap, dispatcher, offload_states, offload_activations, placement,
  optimizer, state_dtype, gradient_dtype, master,
  gpus, nodes, wiring, p2p, slot, nics, nic_rate
};
template <> inline constexpr std::array<std::string_view, 33> kNames<Knob> = {
    "recompute", "recompute-layers", "micro-batch", "sharding", "tensor", "pipeline", "context", "expert", "sequence-parallel", "schedule", "fsdp-unit", "bucket", "loss",
    "attention", "kernels", "cuda-graphs", "gradient-sync", "overlap", "dispatcher", "offload", "offload-activations", "placement",
    "optimizer", "state-dtype", "gradient-dtype", "master-weights",
    "gpus", "nodes", "wiring", "p2p", "slot", "nics", "nic-rate"};

constexpr ChangeKind kind_of(Knob k) { return k >= Knob::gpus ? ChangeKind::hardware : k >= Knob::optimizer ? ChangeKind::numerics : ChangeKind::free; }

struct Move {
  Knob knob{};
  int to = 0;  // which value; what it means depends on the knob, see advice_moves.cpp
};

// Of an estimate, what a change is judged by.
struct Effect {
  bool fits = false;    // memory of GPU and host
  bool starts = false;  // loading, starting, the first step and saving fit too
  Verdict verdict = Verdict::does_not_fit;
  Bytes need, host;
  Seconds time, exposed;
  double tokens_per_s = 0;
};
Effect effect_of(const Estimate& estimate);
// A change below this share helps nobody: the step's error is larger.
inline constexpr double kHelps = 0.01;

struct Change {
  std::vector<Move> moves;  // in the order in which they were made
  std::string key;     // stable: "sharding=fsdp", combined ones joined by '+'
  std::string label;   // what to do: "FSDP instead of DDP"
  std::string terms;   // what it takes besides bytes and seconds, in sentences; "" where those are all
  ChangeKind kind = ChangeKind::free;
  Plan plan;           // after it
  Effect effect;
};

struct Advice {
  Effect now;
  std::vector<Change> changes;
  std::string text;    // one sentence over them
};

// what: the changes that help most, of those that keep the training's global batch: knobs one by one, and combinations where one alone does
// not do. Each is judged by the estimate of the edited plan; nothing is guessed.
// order: kinds one after the other (free, numerics, hardware); where the plan does not fit, first what makes it fit, the fastest first,
// then, if nothing does, what needs least; where it fits, by tokens/s, then what keeps the speed and frees memory.
// Offload comes only where nothing else of the free kind fits: the estimate does not have all of its time.
// Where it does not fit, changes that still do not fit are listed only if nothing of their kind makes it fit.
// A plan that fits is never advised into one that may not fit, one that starts not into one that cannot. Of a combination no part can be left out without loss.
// valid: validate(plan) passed; every change passes it too, and reading the plan with its edits gives `plan` again.
// kind: estimate; the search is greedy, so a better combination is not ruled out.  test: advice_test.cpp.
Advice advice(const Plan& plan, const Estimate& estimate, const PlanFilling& filling, const Constants& constants);

}  // namespace wireplan
