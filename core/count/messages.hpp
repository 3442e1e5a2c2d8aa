// What travels in one optimizer step: the exact list of collectives of one rank (of the worst stage), by layout.
//
// Notation: N data × context ranks, N_s shard ranks, m micro-batches, T = b·s/c tokens of a micro-batch on a rank; others as in
// describe/model.hpp and describe/parallel.hpp.
#pragma once

#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/count/groups.hpp"
#include "core/describe/collective.hpp"
#include "core/describe/plan.hpp"

namespace wireplan {

// When a message can move, which decides what hides it.
enum class Phase : unsigned char { forward, backward, after_backward, optimizer };

// Type of the elements a collective carries.
enum class Element : unsigned char { fp64, fp32, bf16, fp16, uint8 };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Element> = {"fp64", "fp32", "bf16", "fp16", "uint8"};

constexpr double bytes_of(Element e) {
  return e == Element::fp64 ? 8 : e == Element::fp32 ? 4 : e == Element::uint8 ? 1 : 2;
}

struct Message {
  std::string_view name;  // stable key, e.g. "fsdp-all-gather-forward", "ddp-bucket", "tensor-forward"
  Collective collective = Collective::all_reduce;
  GroupKind group = GroupKind::data;
  Phase phase = Phase::backward;
  Bytes bytes;  // the nccl-tests size of one call (all_gather: the gathered total; reduce_scatter: the input total)
  double calls = 0;           // per optimizer step
  bool overlappable = false;  // may run beside compute of its phase (framework rule and plan.overlap)
  Element element = Element::bf16;
};

// The list for one optimizer step, in the order of the step's phases. Groups of one rank produce no message. Calls of one name
// but different sizes are several messages; the last "ddp-bucket" is the bucket that closes last.
// It is that of the stage that sends most bytes, compared among first, second and last stage; `stage` is told which.
// Exact for DDP (buckets), ZeRO-1/2/3, FSDP, HSDP, TP (+SP), PP, CP (ring) and EP (all-to-all, balanced routing). Left out:
// scalars of gradient norms under tensor and pipeline parallelism, buffers' broadcasts, exchange of token counts.
// Sources: [pytorch-ddp-notes], [pytorch-fsdp-notes], [deepspeed-zero], [zero20] §7, [megatron21] §3, [korthikanti22] §4.2.
// Test: tests/core/count/messages_test.cpp, against [framework-traces].
std::vector<Message> step_messages(const Plan& plan, Count* stage = nullptr);

// The same for a given stage (0-based).
std::vector<Message> stage_messages(const Plan& plan, Count stage);

// Those of them that do not depend on the data sharding: tensor, context, expert and pipeline parallel ones.
std::vector<Message> model_messages(const Plan& plan, Count stage);

// Bytes a rank sends for one call as a multiple of its nccl-tests size (nccl-tests' bus bandwidth factor):
// all_reduce 2(n-1)/n; all_gather, reduce_scatter, all_to_all, scatter, gather (n-1)/n; broadcast, reduce, send_recv 1.
// Source: [nccl-tests-perf]. Exact. n = 1 gives 0 for all.
double bus_factor(Collective collective, int ranks);

}  // namespace wireplan
