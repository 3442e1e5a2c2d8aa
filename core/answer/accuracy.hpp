// Estimates beside measurements: the error of every number that was measured, and what all of them say together.
//
// error = predicted / measured - 1; where 0 was measured: 0 if 0 is predicted, else 1. Of what was not predicted at all that is
// -1. Summaries are of absolute errors.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/answer/nccl_case.hpp"
#include "core/cost/collective_run.hpp"

namespace wireplan {

// What can be compared. Memory: of the row's stage, else of the fullest GPU.
enum class Metric : unsigned char {
  step_time,
  tokens_per_s_per_gpu,
  model_tflops_per_gpu,
  hardware_tflops_per_gpu,
  mfu,
  allocated,
  reserved,
  device,
  first_step_allocated,
  between_steps,
  after_forward,
  after_backward,
  initialize_peak,
  states_parameters,
  states_gradients,
  states_master_weights,
  states_optimizer_states,
  event,  // 0: the peak is where it was seen, 1: it is not
  collectives_calls,
  collectives_bytes,
  collective_time,
  nccl_nodes,  // these but the time: 0: as NCCL decided, 1: not
  nccl_paths,
  nccl_graphs,
  nccl_rings,
  nccl_trees,
  nccl_choice,
  nccl_time,  // NCCL's own prediction, where the choice is the same
};
template <>
inline constexpr std::array<std::string_view, 28> kNames<Metric> = {
    "step_time_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu", "mfu",
    "allocated_bytes", "reserved_bytes", "device_bytes", "first_step_allocated_bytes", "between_steps_bytes",
    "after_forward_bytes", "after_backward_bytes", "initialize_peak_bytes", "states.parameters", "states.gradients",
    "states.master_weights", "states.optimizer_states", "event", "collectives.calls", "collectives.bytes", "collective_time_s",
    "nccl.nodes", "nccl.paths", "nccl.graphs", "nccl.rings", "nccl.trees", "nccl.choice", "nccl.time"};

// Right or wrong, and nothing between.
inline bool is_decision(Metric metric) { return metric >= Metric::nccl_nodes && metric <= Metric::nccl_choice; }

// Where in a step the most bytes are alive.
struct PeakPlace {
  StepPhase phase = StepPhase::loss;
  std::optional<Count> layer;  // 0-based over the model; -1: the embedding; nothing: not within a layer, or not known
};

// All calls of a step of one collective, type of elements and number of ranks.
struct CollectiveSum {
  Collective collective{};
  Element element{};
  int ranks = 1;
  double calls = 0;
  Bytes bytes;  // the sum of the nccl-tests sizes of the calls
};

enum class Outcome : unsigned char { unknown, fits, oom };

// One line of a file of runs (wireplan.runs/1).
struct Run {
  struct Value { Metric metric; double value; };
  std::string id, source;
  std::optional<Plan> plan;
  std::optional<CollectiveRun> collective;
  std::optional<NcclCase> nccl;
  std::vector<Value> measured;
  std::optional<PeakPlace> event;
  std::optional<std::vector<CollectiveSum>> collectives;
  int rank = -1, stage = -1;           // whose memory it is; -1: not stated
  Outcome outcome = Outcome::unknown;  // on the GPUs of the plan; unknown too for code that was traced without a GPU
};

struct SkippedRun { std::string id, reason; };

struct Runs {
  std::vector<Run> runs;
  std::vector<SkippedRun> skipped;
};

struct ErrorRow {
  std::size_t run = 0;  // into Runs::runs
  Metric metric{};
  std::string what;     // for people: which of several, "all_reduce fp32 8"
  std::optional<Bytes> size;                     // collective_time, nccl_choice, nccl_time: of the message
  std::optional<PeakPlace> seen_at, expected_at;  // event
  double measured = 0, predicted = 0, error = 0;
  std::string seen, expected;                    // what differs in a decision that is wrong
};

struct ErrorSummary {
  std::size_t count = 0;
  double median_abs = 0, p90_abs = 0, worst_abs = 0;
  double median = 0;        // with its sign: which way the estimates lean
  std::size_t worst_row = 0;  // into Accuracy::rows
};

struct MetricSummary {
  std::string group;  // "" for all rows
  Metric metric{};
  ErrorSummary summary;
};

// Seconds of a run's step as predicted and as measured. A rate r goes with 1/seconds: measured seconds = predicted seconds · predicted
// rate / measured rate.
struct TimedRun {
  std::size_t run = 0;  // into Runs::runs
  double predicted = 0, measured = 0;
};

// Runs that differ in layout alone: same source, model, cluster, global batch, sequence and parameter type.
struct RankingGroup {
  std::string group;
  std::size_t runs = 0;
  std::optional<double> spearman;  // of predicted and measured seconds
  double regret = 0;               // measured time of the run predicted fastest / best measured - 1; of equals the slower counts
};

// Does it fit, as called and as it was; each run counts once. `undecided`: called may-not-fit.
struct Verdicts {
  int oom_right = 0;   // ran out of memory, called does-not-fit
  int oom_wrong = 0;   // ran out of memory, called fits or tight
  int fits_right = 0;  // ran, called fits or tight
  int fits_wrong = 0;  // ran, called does-not-fit
  int undecided = 0;
};

struct Accuracy {
  Runs runs;
  std::vector<ErrorRow> rows;          // in order of the runs
  std::vector<MetricSummary> summary;  // in order of metrics
  std::vector<TimedRun> timed;         // one of each run with a time or rate, in order of the runs
  std::vector<RankingGroup> ranking;   // groups of two runs and more, in order of the runs
  Verdicts verdicts;
};

double relative_error(double predicted, double measured);

// Where the estimate has the peak of a stage.
PeakPlace predicted_peak(const StageMemory& stage);

// Same phase, and layers at most one apart where both are known.
bool is_same_place(const PeakPlace& predicted, const PeakPlace& seen);

// Messages of a step added up: one entry per collective, type of elements and number of ranks, in order of these.
std::vector<CollectiveSum> collective_sums(const Plan& plan, const std::vector<Message>& messages);

// Time of one call of each size, among `gpus` of the cluster spread evenly over `nodes`. Kind: estimate, see cost/collective.hpp.
std::vector<Seconds> predicted_times(const CollectiveRun& run, const LinkConstants& constants);

// measured seconds of the run predicted fastest / fewest measured - 1; 0 for an empty list.
double regret(const std::vector<double>& predicted, const std::vector<double>& measured);

// How well predicted seconds order the runs of each group; groups of two runs and more, in order of the runs.
std::vector<RankingGroup> layout_ranking(const Runs& runs, const std::vector<TimedRun>& timed);

enum class GroupBy : unsigned char { nothing, source, machine, wiring, framework, size };
template <> inline constexpr std::array<std::string_view, 6> kNames<GroupBy> = {"nothing", "source", "machine", "wiring", "framework", "size"};

// Errors by group and metric; groups in order of the runs. By size: only messages, those below 1 MiB and the others.
std::vector<MetricSummary> summary_by(const Accuracy& accuracy, GroupBy by);

// Sweeps the constants of collectives were fitted on, and by what they are left out: a run is then predicted with constants and tables
// that know nothing of its source, its machine, or its whole kind of wiring.
struct Fitted {
  std::vector<CollectiveRun> runs;
  GroupBy left_out = GroupBy::nothing;
};

// Every run estimated and compared with what was measured.
// Test: tests/core/answer/accuracy_test.cpp.
Accuracy accuracy(Runs runs, const Constants& constants, const Fitted& fitted = {});

}  // namespace wireplan
