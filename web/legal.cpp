#include "web/legal.hpp"

#include <algorithm>

#include "core/base/sort.hpp"

namespace wireplan {

namespace {

constexpr std::size_t kColumns = 6;

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }

Count* size_of(Parallel& p, std::string_view dimension) {
  return dimension == "tensor"     ? &p.tensor
         : dimension == "pipeline" ? &p.pipeline
         : dimension == "context"  ? &p.context
         : dimension == "expert"   ? &p.expert
                                   : &p.data;
}

// Powers of two and the divisors of the number of GPUs, a window of them around `now`.
std::vector<Count> candidates(Count gpus, Count now) {
  std::vector<Count> all;
  for (Count n = 1; n <= std::max<Count>(gpus, 32); n *= 2) all.push_back(n);
  for (Count n = 3; n <= std::min<Count>(gpus, 128); ++n)
    if (gpus % n == 0) all.push_back(n);
  all.push_back(now);
  sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto at = static_cast<std::size_t>(std::find(all.begin(), all.end(), now) - all.begin());
  const std::size_t last = std::min(all.size(), std::max(kColumns, at + 2));
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(last);
  return {end - static_cast<std::ptrdiff_t>(std::min(last, kColumns)), end};
}

// The rest of the layout follows: data takes what is left of the GPUs, groups of HSDP start anew.
Plan with_size(const Plan& plan, std::string_view dimension, Count size) {
  Plan changed = plan;
  Parallel& p = changed.parallel;
  *size_of(p, dimension) = size;
  p.placement.clear();
  p.shard_group = 0;
  if (p.data_sharding == DataSharding::hsdp) p.data_sharding = DataSharding::fsdp;
  const Count gpus = total_gpus(plan.cluster), others = p.tensor * p.pipeline * p.context;
  if (dimension != "data" && others > 0 && gpus % others == 0) p.data = gpus / others;
  return changed;
}

// What is wrong with the size itself, however many GPUs there were; "" when nothing is.
std::string never_because(const Plan& plan, std::string_view dimension) {
  for (const Error& e : validate_between(plan))
    if (e.path.substr(e.path.find('.') + 1) == dimension && e.path.starts_with("parallel.")) return e.text;
  return {};
}

Choice judged(const AppState& state, std::string_view dimension, Count size) {
  const Plan& plan = state.answer.plan;
  Choice choice{.value = text_of(size), .label = text_of(size)};
  Plan changed = with_size(plan, dimension, size);
  const Parallel& p = changed.parallel;
  const Count product = p.tensor * p.pipeline * p.context * p.data;
  if (dimension != "data") {
    choice.why = never_because(changed, dimension);
    if (!choice.why.empty()) {
      choice.state = Choice::State::never;
      return choice;
    }
    if (product == total_gpus(plan.cluster)) return choice;
    choice.state = Choice::State::needs_more;
    choice.why =
        state.words.fill("in.needs_gpus", {{"v", choice.value}, {"n", text_of(p.tensor * p.pipeline * p.context)}});
    return choice;
  }
  const Count node = static_cast<Count>(plan.cluster.node.gpus) * plan.cluster.nodes;
  if (product > node) {
    choice.state = Choice::State::needs_more;
    choice.why = state.words.fill("in.needs_gpus", {{"v", choice.value}, {"n", text_of(product)}});
  } else if (product % plan.cluster.nodes != 0 ||
             plan.training.global_batch_size % (plan.training.micro_batch_size * size) != 0) {
    choice.state = Choice::State::never;
    choice.why =
        state.words.fill("in.batch_not", {{"g", text_of(plan.training.global_batch_size)}, {"v", choice.value}});
  }
  return choice;
}

}  // namespace

std::vector<Choice> layout_choices(const AppState& state, std::string_view dimension) {
  Plan plan = state.answer.plan;
  std::vector<Choice> choices;
  const Count most = static_cast<Count>(plan.cluster.node.gpus) * plan.cluster.nodes;
  for (const Count size : candidates(most, *size_of(plan.parallel, dimension)))
    choices.push_back(judged(state, dimension, size));
  return choices;
}

Neighbours micro_batch_neighbours(const Plan& plan) {
  const Count now = plan.training.micro_batch_size;
  const Count per_rank = plan.training.global_batch_size / std::max<Count>(plan.parallel.data, 1);
  Neighbours next;
  for (Count n = now - 1; n >= 1 && next.less.empty(); --n)
    if (per_rank % n == 0) next.less = text_of(n);
  for (Count n = now + 1; n <= std::min<Count>(per_rank, now + 4096) && next.more.empty(); ++n)
    if (per_rank % n == 0) next.more = text_of(n);
  return next;
}

Neighbours doubling_neighbours(Count value, Count least, Count most) {
  Count below = 1;
  while (below * 2 < value) below *= 2;
  Count above = below;
  while (above <= value) above *= 2;
  Neighbours next;
  if (value > least) next.less = text_of(std::max(below, least));
  if (value < most) next.more = text_of(std::min(above, most));
  return next;
}

}  // namespace wireplan
