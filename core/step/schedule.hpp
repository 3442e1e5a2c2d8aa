// Pipeline schedules pass by pass: when each rank runs which pass of which micro-batch, and when the last one ends.
//
// Notation: p ranks of the pipeline, i one of them from 0, m micro-batches, v chunks (virtual stages) of a rank, F forward,
// B backward with respect to the input, W with respect to the weights; BW both in one pass. F0 is a forward of chunk 0.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/units.hpp"
#include "core/describe/parallel.hpp"

namespace wireplan {

// One micro-batch.
struct StagePass {
  Seconds forward, input_gradient, weight_gradient;
};

struct Schedule {
  PipelineSchedule kind = PipelineSchedule::one_f_one_b;
  int stages = 1;         // p
  int chunks = 1;         // v; read with interleaved only: zb-v, dualpipe and dualpipe-v have two, the others one
  int micro_batches = 1;  // m
  double pair = 1;        // dualpipe, dualpipe-v: seconds of a forward and a backward that run into each other, over their sum
};

enum class PassKind : unsigned char { forward, backward, input_gradient, weight_gradient, forward_and_backward };

struct PassEvent {
  int stage = 0, chunk = 0, micro_batch = 0;
  PassKind kind = PassKind::forward;
  int backward_micro_batch = -1;  // forward_and_backward: whose backward, of the other chunk; its forward is micro_batch's
  Seconds start, duration;
};

struct PipelineTimes {
  Seconds end;                                       // of the last pass anywhere; the first one starts at 0
  std::vector<Seconds> busy, first_start, last_end;  // of each rank
  std::size_t rounds_skipped = 0;                    // steady rounds that were not simulated but added
  Seconds idle(std::size_t i) const { return last_end[i] - first_start[i] - busy[i]; }  // between its first and last pass
  Seconds bubble(std::size_t i) const { return end - busy[i]; }                         // in the whole step
};

// Chunks on a rank: Schedule::chunks with interleaved, 2 with the V shapes and DualPipe, else 1.
int chunks_of(const Schedule& schedule);

// What: start and end of every pass. Each rank runs its passes in a fixed order; a pass starts when the rank is free and its
// input is there, `hop` after the pass on another rank that made it ended (within a rank: at once).
//
// Orders of rank i, (…)×n repeated n times, the micro-batches of each kind and chunk ascending:
//   gpipe        F×m, BW×m                                                                                     [gpipe18]
//   1f1b         F×(p-1-i), (F BW)×(m-p+1+i), BW×(p-1-i)                                                       [megatron21] §2.2
//   interleaved  the same with F×(2(p-1-i) + (v-1)p) first; p micro-batches through chunk 0, then chunk 1, … and then
//                the next p; backwards from the last chunk down                                                [megatron21] §2.2
//   zb-h1        F×(p-1-i), (F B)×i, (F B W)×(m-p+1), (B W)×(p-1-i), W×i: in flight p everywhere               [zerobubble24] §2.1
//   zb-h2        F×2(p-1-i), (F B)×2i, (F B W)×(m-2p+2), (B W)×2(p-1-i), W×2i: in flight 2p-1 everywhere       [zerobubble24] §2.2
//   zb-v         chunk 0 down the ranks, chunk 1 back up: F0×(2p-2i-1), (F1 F0)×i, (F1 B1 W1)×(p-i),
//                (F0 B0 W0 F1 B1 W1)×(m-2p+i+1), (B0 W0 F1 B1 W1)×(p-i-1), (B0 B1)×i, (B0 W0)×(p-i), W1×i, W0×i
//                                                                          [zerobubble24] §6; as PyTorch's ScheduleZBVZeroBubble
//   dualpipe     two pipelines of p stages against each other, m/2 micro-batches each: rank i holds stage i of one (chunk 0) and
//                stage p-1-i of the other (chunk 1). The eight steps of dualpipe.py; F0&BW1 one pass          [dualpipe], [deepseek-v3] §3.2.1
//   dualpipe-v   its first half of the ranks with both ends of one pipeline, so chunks as in zb-v              [dualpipe]
// With fewer micro-batches than an order needs (1f1b, zb-h1 p; zb-h2, zb-v 2p-1; dualpipe, dualpipe-v 2p and an even number for
// the former; interleaved a multiple of p) it is the order of the next number that fits without the passes of those that are not
// there. Megatron (interleaved) and DualPipe refuse such a step. What is left out are whole micro-batches, so no order can block itself.
//
// Durations: passes[g] of stage g = 0…p-1, of which each of the v chunks takes 1/v; or, p·v of them, those of the model's
// virtual stages in order. With dualpipe p of them, since every stage is held twice, whole.
//
// Steady rounds are not all simulated (a round: one turn of the repeated row; interleaved: p micro-batches through all chunks).
// What follows a cut between two rounds depends on nothing but the passes still to come and on the times x at which each rank is
// free and each output not consumed yet arrives; they enter maxima and sums alone, so as long as every maximum keeps its winner, q
// rounds take x to Ax + b, where A picks one time for each, and once q rounds add the same d to x as the q before them, and Ad = d,
// the next q add d again. That holds up to the end of the steady part or until a loser that grows faster catches up, which its
// distance and the two rates tell; if all of d is one number, adding it commutes with maximum and sum, and none does.
// Times are whole numbers of a power of two of seconds: equality is meant exactly and no rounding gathers. With 16 ranks and 128
// micro-batches a call takes 2 to 30 µs, interleaved with 4 chunks 40 to 85 µs (steps of 16,384 passes and few rounds).
//
// `events`: every pass, those of a rank in the order it runs them; all rounds are simulated then.
// Valid: p, m >= 1, times finite and not negative, v >= 1; p even with dualpipe and p > 1. Kind: exact for the stated order.
// Accuracy 1e-13 of end. Test: schedule_test.cpp.
PipelineTimes pipeline_times(const Schedule& schedule, const std::vector<StagePass>& passes, Seconds hop,
                             std::vector<PassEvent>* events = nullptr);

}  // namespace wireplan
