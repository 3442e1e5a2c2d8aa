#include "core/answer/timeline.hpp"

#include <algorithm>

#include "core/cost/step_memory.hpp"

namespace wireplan {
namespace {

// Points of one direction of one micro-batch.
struct Pass {
  std::size_t begin = 0, end = 0;
};

bool is_backward(const TimelinePoint& p) { return p.place.phase == StepPhase::backward; }

MemoryLine line_of(const Plan& plan, const Estimate& e, int stage) {
  std::vector<TimelinePoint> raw;
  const StepMemory step = step_memory(plan, stage, &raw);
  MemoryLine line;
  line.stage = stage;
  const double end = e.cost.time.value.value, optimizer = e.cost.optimizer.value, m = static_cast<double>(micro_batches(plan));
  const double micro = std::max(0.0, end - optimizer) / std::max(1.0, m);
  const double both = (e.cost.forward + e.cost.backward).value, forward = both > 0 ? e.cost.forward.value / both : 1.0 / 3;
  // Points at the borders of passes may differ in the last digit; time never runs back.
  const auto point = [&](double time, double bytes, const Place& place) {
    const double last = line.points.empty() ? 0 : line.points.back().time.value;
    line.points.push_back({Seconds(std::max(last, std::min(time, end))), Bytes(bytes), place});
  };
  point(0, step.between_steps.total, {});
  for (std::size_t i = 0; i < raw.size();) {
    Pass s{i, i};
    while (s.end < raw.size() && raw[s.end].place.micro_batch == raw[i].place.micro_batch && raw[s.end].place.phase != StepPhase::optimizer &&
           is_backward(raw[s.end]) == is_backward(raw[i]))
      ++s.end;
    if (s.end == s.begin) {  // the optimizer
      point(end - optimizer / 2, raw[i].highest, raw[i].highest_place);
      point(end, raw[i].bytes, raw[i].place);
      ++i;
      continue;
    }
    const double start = micro * (static_cast<double>(raw[i].place.micro_batch) + (is_backward(raw[i]) ? forward : 0));
    const double each = micro * (is_backward(raw[i]) ? 1 - forward : forward) / static_cast<double>(s.end - s.begin);
    for (std::size_t k = s.begin; k < s.end; ++k) {
      const double at = start + each * static_cast<double>(k - s.begin);
      point(at + each / 2, raw[k].highest, raw[k].highest_place);
      point(at + each, raw[k].bytes, raw[k].place);
    }
    i = s.end;
  }
  return line;
}

}  // namespace

std::vector<MemoryLine> memory_timeline(const Plan& plan, const Estimate& estimate) {
  std::vector<MemoryLine> lines;
  for (std::size_t i = 0; i < estimate.stage_memory.size(); ++i) lines.push_back(line_of(plan, estimate, static_cast<int>(i)));
  return lines;
}

}  // namespace wireplan
