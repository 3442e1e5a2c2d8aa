// The whole answer for one plan (wireplan.estimate/1), as numbers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/memory.hpp"
#include "core/count/flops.hpp"
#include "core/count/parameters.hpp"
#include "core/step/step.hpp"

namespace wireplan {

inline constexpr std::string_view kEngineVersion = "0.1.0";

enum class Verdict : unsigned char { fits, tight, may_not_fit, does_not_fit };
template <> inline constexpr std::array<std::string_view, 4> kNames<Verdict> = {"fits", "tight", "may-not-fit", "does-not-fit"};

// Constants the answer rests on besides the plan; shipped under assets/measurements, read by core/text.
struct Constants {
  LinkConstants links;
  EfficiencyConstants efficiency;
  MemoryConstants memory;
};

struct RankMemory { int stage = 0; Bytes allocated, reserved, device; };

struct MemoryAnswer {
  Bytes capacity;
  bool fits = false;
  Verdict verdict = Verdict::does_not_fit;
  StateBytes states;
  Range<Bytes> allocated, need, reserved, device;
  MemoryParts parts;
  Bytes allocator_slack, runtime;
  std::string peak_at;      // "backward of layer 31"
  int worst_rank = 0;       // the stage's first rank
  int worst_stage = 0;
  std::vector<RankMemory> ranks;  // one per pipeline stage
  Bytes load, initialize, first_step, steady, between_steps, save;
  Bytes after_forward, after_backward;
  Bytes host;               // host memory of one node's processes
  int fits_host = -1;       // 1 yes, 0 no, -1 null: the node's host memory is not known
};

struct CommunicationRow {
  std::string_view name;
  Collective collective{};
  GroupKind dimension{};
  int ranks = 1;
  Bytes bytes;
  double calls = 0;
  std::string_view algorithm, protocol, basis;
  BytesPerSecond bus_bandwidth;  // at this size: factor · bytes / time
  Range<Seconds> time;           // all calls of the step
  Seconds exposed;
  std::string bottleneck;
};

// Where the groups of one kind lie on a node: its ring and what that loads.
struct WiringGroup {
  GroupKind dimension{};
  std::size_t message = 0;  // the first of those sent among such groups: cost.messages[message].ring
};

struct StepAnswer {
  Range<Seconds> time;
  Seconds compute, exposed_communication, bubble, optimizer, host, offload, straggler, on_ideal_wiring;
  Seconds wiring_bandwidth, wiring_latency;  // what the wiring costs over infinitely fast links, by what it lacks; they add up to time - on_ideal_wiring
  double tokens_per_s = 0, tokens_per_s_per_gpu = 0, model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0, mfu = 0, hfu = 0;
};

struct Estimate {
  double parameters = 0, active_parameters = 0, flops_per_token = 0;
  MemoryAnswer memory;
  std::vector<CommunicationRow> communication;
  std::vector<WiringGroup> wiring;
  StepAnswer step;
  // Where the numbers come from, for explanations and drawings; not part of the document.
  StepCost cost;
  std::shared_ptr<const WiringGraph> graph;  // of a node
  std::vector<StageParameters> stages;
  std::vector<StageMemory> stage_memory;
  TrainingFlops flops;      // of one sequence
  Flops recompute;          // of one sequence
  int communicators = 0;    // process groups in use
  Bytes context, workspaces;  // of the runtime; workspaces 0 where they stand in the allocated bytes
  double slack_share = 0, band_share = 0;  // allocator slack and memory band that were applied
  std::vector<Note> notes;
};

// fits: what the allocator likes to keep fits too; tight: it will free cached blocks and retry; may not fit: the value fits, the
// high end of the band does not; does not fit: the value does not. `fits` is true for all but the last.
Verdict memory_verdict(const Range<Bytes>& need, Bytes device, Bytes capacity);

// The row of communication that shows most, nullptr when nothing waits.
const CommunicationRow* most_exposed(const Estimate& estimate);

// How the wiring does, against the same plan on ideal wiring: keeps up below 3 % of the step, does not from 10 % on.
enum class WiringVerdict : unsigned char { nothing_waits, keeps_up, waits_a_little, does_not_keep_up };
WiringVerdict wiring_verdict(const StepAnswer& step);

// What a reader must know to judge the numbers: what is provisional, what was assumed, what the plan states that is not used yet.
std::vector<Note> notes(const Plan& plan, const Estimate& estimate);

// Memory and step alone, as a search asks of many plans on one cluster: rows of communication, wiring and notes stay empty. With `only_fitting` a plan
// whose memory does not hold it (memory.fits, memory.fits_host) is given no time either.  Equal to estimate() in all that it fills.
Estimate brief_estimate(const Plan& plan, StepWiring& wiring, const Constants& constants, bool only_fitting = false);

// The answer for a plan that validate() accepted. Never fails, never divides by zero; every number is finite.
Estimate estimate(const Plan& plan, const PreparedCluster& cluster, const Constants& constants);
Estimate estimate(const Plan& plan, const Constants& constants);  // prepares the cluster itself

}  // namespace wireplan
