// A replayed step beside its prediction (wireplan.replay/1).
#pragma once

#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/text/json.hpp"
#include "core/text/render.hpp"
#include "native/measure/replay_jobs.hpp"
#include "native/measure/run_document.hpp"

namespace wireplan {

struct Spread { double least = 0, median = 0, most = 0; };

// Times of one repeat: by GPU, by step job.
using PlayedTimes = std::vector<std::vector<PlayedJob>>;

struct ReplayFinding { std::string rule, text, check; };

struct ReplayRow {
  int message = -1;      // StepCost::messages
  double calls = 0;      // of the GPU that makes most of them
  double predicted = 0;  // seconds of a call
  Spread measured;       // of the repeats' means, from the arrival of the last of its group to the end on all of them
  double error() const { return measured.median > 0 ? predicted / measured.median - 1 : 0; }
};

struct Replay : Surroundings {
  Plan plan;
  Estimate estimate;
  double tolerance = 0.1;
  bool is_complete = false;
  std::string failure;   // why it stopped, "" where it did not

  // Filled in by judge().
  int repeats = 0;
  double predicted = 0, played = 0;  // the estimate's step; what the jobs take as predicted
  double timed = 0;                  // of the compute lane: waits for a time, which hold by construction
  double slowed = 0;                 // of those: what traffic is predicted to slow compute by
  double predicted_exposed = 0;      // what compute stands still for communication when the jobs take what is predicted
  Spread step, exposed;
  int slowest = 0;                   // GPU whose jobs ended last most often
  std::vector<ReplayRow> rows;
  std::vector<ReplayFinding> findings;

  double error() const { return step.median > 0 ? predicted / step.median - 1 : 0; }
  bool is_within() const { return is_complete && repeats > 0 && error() <= tolerance && -error() <= tolerance; }
  std::string verdict() const;
};

// What the repeats say. repeats: [repeat][GPU][job], seconds from the common start; plays_products: matrix products ran as such, so that their jobs are no waits
// of a stated time. Valid on process 0, which has the times of all.
void judge(Replay& replay, const Schedules& schedules, const std::vector<PlayedTimes>& repeats, bool plays_products);

Json write_replay(const Replay& replay);
std::string render_replay(const Replay& replay, RenderFormat format);

}  // namespace wireplan
