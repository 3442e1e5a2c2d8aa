#include "core/describe/parallel.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

constexpr double kMaxRanks = 1e8;

// What the framework has instead of a sharding it does not have.
std::string_view nearest_sharding(Framework framework, DataSharding sharding) {
  if (framework == Framework::deepspeed) return "zero3";
  if (framework == Framework::megatron && sharding == DataSharding::zero2) return "zero1";
  return "fsdp";
}

void check_sharding(Checks& check, const Parallel& p) {
  std::string listed;
  bool has = false;
  for (const DataSharding s : shardings_of(p.framework)) {
    has = has || s == p.data_sharding;
    listed += (listed.empty() ? "" : " | ") + std::string(name_of(s));
  }
  const std::string given(name_of(p.data_sharding));
  if (!has)
    check.fail("data_sharding", quoted(given), listed,
               "framework " + std::string(name_of(p.framework)) + " has no data_sharding " + given +
                   ". Nearest: " + std::string(nearest_sharding(p.framework, p.data_sharding)));
  if (!check.range("shard_group", static_cast<double>(p.shard_group), 0, kMaxRanks)) return;
  if (p.data_sharding == DataSharding::hsdp && p.shard_group == 0)
    check.fail("shard_group", "null", "a divisor of data × context",
               "hsdp needs shard_group, the ranks a shard is spread over. Nearest: the GPUs of one node, or fsdp");
  if (p.shard_group > 0 && p.data_sharding != DataSharding::hsdp && p.data_sharding != DataSharding::zero1)
    check.fail("shard_group", format_exact(static_cast<double>(p.shard_group)),
               "null unless data_sharding is hsdp or zero1",
               "data_sharding " + given + " has no shard_group. Nearest: null" +
                   (given == "fsdp" ? ", or data_sharding hsdp" : ""));
}

bool two_chunks_by_itself(PipelineSchedule s) {
  return s == PipelineSchedule::zb_v || s == PipelineSchedule::dualpipe || s == PipelineSchedule::dualpipe_v;
}

void check_schedule(Checks& check, const Parallel& p) {
  if (!check.range("virtual_stages", static_cast<double>(p.virtual_stages), 1, 1e4)) return;
  const std::string stages = format_exact(static_cast<double>(p.virtual_stages));
  const std::string schedule(name_of(p.pipeline_schedule));
  if (p.pipeline_schedule == PipelineSchedule::interleaved) {
    if (p.virtual_stages < 2)
      check.fail("virtual_stages", stages, "2 or more with pipeline_schedule interleaved",
                 "interleaved needs virtual_stages of at least 2, " + stages +
                     " given. Nearest: 2, or pipeline_schedule 1f1b");
  } else if (p.virtual_stages > 1 && !(p.virtual_stages == 2 && two_chunks_by_itself(p.pipeline_schedule))) {
    check.fail("virtual_stages", stages, "1 with pipeline_schedule " + schedule,
               "pipeline_schedule " + schedule + " has no virtual_stages " + stages +
                   ". Nearest: 1, or pipeline_schedule interleaved");
  }
  if (p.pipeline_schedule == PipelineSchedule::dualpipe && p.pipeline > 1 && p.pipeline % 2 != 0)
    check.fail("pipeline", format_exact(static_cast<double>(p.pipeline)), "even with pipeline_schedule dualpipe",
               "dualpipe folds the stages in pairs, pipeline " + format_exact(static_cast<double>(p.pipeline)) +
                   " is odd. Nearest: " + format_exact(static_cast<double>(p.pipeline - 1)) + " or " +
                   format_exact(static_cast<double>(p.pipeline + 1)));
}

void check_order(Checks& check, const std::string& order) {
  bool seen[5] = {};
  std::size_t names = 0, start = 0;
  bool sound = true;
  while (start <= order.size()) {
    const std::size_t end = std::min(order.find('-', start), order.size());
    const auto dimension = value_named<Dimension>(std::string_view(order).substr(start, end - start));
    sound = sound && dimension && !seen[static_cast<std::size_t>(*dimension)];
    if (sound) seen[static_cast<std::size_t>(*dimension)] = true;
    ++names;
    start = end + 1;
  }
  if (!sound || names != 5)
    check.fail("order", quoted(order), "tp, cp, ep, dp and pp in any order, joined by '-'",
               "order \"" + order + "\" does not name tp, cp, ep, dp and pp once each. Nearest: tp-cp-ep-dp-pp");
}

void check_placement(Checks& check, const std::vector<int>& placement) {
  std::vector<bool> seen(placement.size());
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    const int gpu = placement[rank];
    const bool inside = gpu >= 0 && static_cast<std::size_t>(gpu) < placement.size();
    if (inside && !seen[static_cast<std::size_t>(gpu)]) {
      seen[static_cast<std::size_t>(gpu)] = true;
      continue;
    }
    const std::string last = format_exact(static_cast<double>(placement.size()) - 1);
    check.fail("placement." + format_exact(static_cast<double>(rank)), format_exact(gpu),
               "each GPU 0 to " + last + " once",
               "placement puts rank " + format_exact(static_cast<double>(rank)) + " on GPU " + format_exact(gpu) +
                   (inside ? ", which already has a rank" : ", which there is not") + ". Nearest: every GPU 0 to " +
                   last + " once");
    return;
  }
}

}  // namespace

Errors validate(const Parallel& p, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  check.range("data", static_cast<double>(p.data), 1, kMaxRanks);
  check.range("tensor", static_cast<double>(p.tensor), 1, 1e4);
  check.range("pipeline", static_cast<double>(p.pipeline), 1, 1e4);
  check.range("context", static_cast<double>(p.context), 1, 1e5);
  check.range("expert", static_cast<double>(p.expert), 1, 1e5);
  check.range("expert_tensor", static_cast<double>(p.expert_tensor), 1, 1e4);
  check_sharding(check, p);
  if (p.fsdp_unit.kind == FsdpUnit::Kind::layers)
    check.range("fsdp_unit", static_cast<double>(p.fsdp_unit.layers), 1, 1e5);
  check_schedule(check, p);
  check_order(check, p.order);
  check_placement(check, p.placement);
  if (!p.deepspeed.empty() && p.framework != Framework::deepspeed)
    check.fail("deepspeed", "{…}", "null unless framework is deepspeed",
               "a DeepSpeed configuration does nothing under framework " + std::string(name_of(p.framework)) +
                   ". Nearest: null, or framework deepspeed");
  return errors;
}

}  // namespace wireplan
