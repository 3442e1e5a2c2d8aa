#include "web/step_timeline.hpp"

#include <algorithm>

#include "core/base/format.hpp"

namespace wireplan {

namespace {

constexpr double kNarrowest = 1e-4;  // seconds

TimeTone tone_of(const StepEvent& e, const Estimate& estimate) {
  switch (e.kind) {
    case StepEventKind::forward: return TimeTone::forward;
    case StepEventKind::optimizer: return TimeTone::optimizer;
    case StepEventKind::copy:
    case StepEventKind::host:
    case StepEventKind::straggler: return TimeTone::other;
    case StepEventKind::communication: break;
    default: return TimeTone::backward;
  }
  const Collective c = estimate.cost.messages[static_cast<std::size_t>(e.communication)].message.collective;
  return c == Collective::reduce_scatter || c == Collective::all_reduce ? TimeTone::scatter : TimeTone::gather;
}

bool is_communication(const Estimate& e, const std::string& reason) {
  return std::any_of(e.cost.messages.begin(), e.cost.messages.end(), [&](const MessageCost& m) { return reason.find(m.message.name) != std::string::npos; });
}

TimeLane lane_from(StepStream stream, const Estimate& estimate) {
  TimeLane lane;
  lane.is_compute = stream.name == "compute";
  lane.is_slowest = stream.stage == static_cast<Count>(estimate.cost.slowest);
  lane.blocks.reserve(stream.events.size());
  const std::string* last = nullptr;
  bool last_is_exposed = false;
  for (const StepEvent& e : stream.events) {
    TimeBlock b{e.start.value, e.start.value + e.duration.value, tone_of(e, estimate)};
    b.waits = lane.is_compute && !e.waits_for.empty();
    if (b.waits && (!last || *last != e.waits_for)) {
      last = &e.waits_for;
      last_is_exposed = is_communication(estimate, *last);
    }
    b.exposed = b.waits && last_is_exposed;
    lane.blocks.push_back(b);
  }
  lane.stream = std::move(stream);
  return lane;
}

// The second micro-batch meets what most do; the first alone where there is one.
void find_micro_batches(StepTimeline& t) {
  const TimeLane& lane = t.lanes[static_cast<std::size_t>(t.slowest)];
  Count last = -1;
  double end = 0;
  for (std::size_t i = 0; i < lane.blocks.size(); ++i) {
    const Count micro = lane.stream.events[i].micro_batch;
    if (micro > last) t.micro_batches.push_back(end);
    last = std::max(last, micro);
    end = lane.blocks[i].end;
  }
  if (t.micro_batches.size() < 2) return;
  t.first.from = t.micro_batches[1] / t.total.value;
  for (std::size_t i = 0; i < lane.blocks.size(); ++i)
    if (lane.stream.events[i].micro_batch == 1) t.first.to = lane.blocks[i].end / t.total.value;
}

std::string count_text(Count n) { return std::to_string(n); }

}  // namespace

std::size_t TimeLane::first_after(double time) const {
  std::size_t low = 0, high = blocks.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (blocks[middle].end > time)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

const TimeLane* StepTimeline::lane_of(const TimePlace& at) const {
  return at && static_cast<std::size_t>(at.lane) < lanes.size() ? &lanes[static_cast<std::size_t>(at.lane)] : nullptr;
}

const TimeBlock* StepTimeline::block_of(const TimePlace& at) const {
  const TimeLane* lane = lane_of(at);
  return lane && static_cast<std::size_t>(at.block) < lane->blocks.size() ? &lane->blocks[static_cast<std::size_t>(at.block)] : nullptr;
}

TimeWindow StepTimeline::span_of(const TimePlace& at) const {
  const TimeBlock* b = block_of(at);
  if (!b) return {0, 0};
  if (!at.is_gap) return {b->start, b->end};
  return {at.block > 0 ? (b - 1)->end : 0, b->start};
}

StepTimeline step_timeline(const Plan& plan, const Estimate& estimate, const EfficiencyConstants& efficiency) {
  StepTimeline t;
  t.total = estimate.step.time.value;
  t.stages = static_cast<Count>(estimate.cost.stages.size());
  std::vector<StepStream> streams = step_streams(plan, estimate.cost, efficiency);
  for (const StepWait& w : step_waits(estimate.cost, streams)) t.waits.push_back({w, is_communication(estimate, w.reason)});
  const Count slowest = static_cast<Count>(estimate.cost.slowest), most = static_cast<Count>(kMostTimeLanes);
  const Count first = std::clamp<Count>(slowest - most / 2, 0, std::max<Count>(0, t.stages - most));
  for (Count stage = first; stage < first + most; ++stage)
    for (StepStream& s : streams)
      if (s.stage == stage && s.name == "compute") t.lanes.push_back(lane_from(std::move(s), estimate)), s.name.clear();
  for (StepStream& s : streams)
    if (s.stage == slowest && !s.name.empty()) t.lanes.push_back(lane_from(std::move(s), estimate));
  for (std::size_t i = 0; i < t.lanes.size(); ++i)
    if (t.lanes[i].is_compute && t.lanes[i].is_slowest) t.slowest = static_cast<int>(i);
  if (t.stages == 1 && !t.lanes.empty() && t.total.value > 0) find_micro_batches(t);
  return t;
}

TimeWindow within_step(const StepTimeline& t, TimeWindow w) {
  const double least = t.total.value > 0 ? std::min(1.0, kNarrowest / t.total.value) : 1;
  const double width = std::clamp(w.width(), least, 1.0), from = std::clamp(w.from + (w.width() - width) / 2, 0.0, 1 - width);
  return {from, from + width};
}

TimeWindow zoomed(const StepTimeline& t, const TimeWindow& w, double factor, double at) {
  const double least = t.total.value > 0 ? kNarrowest / t.total.value : 1;
  factor = std::max(factor, std::min(1.0, least / w.width()));
  return within_step(t, {at - (at - w.from) * factor, at + (w.to - at) * factor});
}

std::string block_label(const Estimate& e, const StepEvent& event) {
  const char* letter = "";
  switch (event.kind) {
    case StepEventKind::forward: letter = "F"; break;
    case StepEventKind::backward: letter = "B"; break;
    case StepEventKind::weight_gradient: letter = "W"; break;
    case StepEventKind::forward_and_backward: letter = "F B"; break;
    case StepEventKind::optimizer: return "optimizer";
    case StepEventKind::copy: return "copy";
    case StepEventKind::host:
    case StepEventKind::straggler: return "";
    case StepEventKind::communication: {
      static constexpr std::pair<Collective, const char*> kShort[] = {{Collective::all_gather, "AG"}, {Collective::reduce_scatter, "RS"}, {Collective::all_reduce, "AR"}, {Collective::all_to_all, "A2A"}};
      const Collective c = e.cost.messages[static_cast<std::size_t>(event.communication)].message.collective;
      for (const auto& [collective, name] : kShort)
        if (collective == c) return name;
      return std::string(name_of(c));
    }
  }
  // Of a layer its number, of a pass its micro-batch's.
  constexpr std::string_view kLayer = " of layer ";
  const std::size_t layer = event.name.find(kLayer);
  if (layer != std::string::npos) return std::string(letter) + " " + event.name.substr(layer + kLayer.size());
  if (event.name.find(" of ") != std::string::npos || event.micro_batch < 0) return letter;
  return std::string(letter) + " " + count_text(event.micro_batch + 1);
}

std::string block_name(const Language& words, const StepTimeline& t, const StepEvent& event) {
  const std::string name = words.said("event.", event.name);
  return event.micro_batch < 0 || t.micro_batches.size() == 1 ? name : words.fill("place.micro", {{"p", name}, {"n", count_text(event.micro_batch + 1)}});
}

std::string lane_name(const Language& words, const StepTimeline& t, const TimeLane& lane) {
  if (lane.is_compute && t.stages > 1) return words.fill("time.stage", {{"n", count_text(lane.stream.stage)}});
  return std::string(words["time.lane." + lane.stream.name]);
}

std::string wait_text(const StepWait& wait) { return format_count(wait.times) + " ×, " + format_seconds(wait.total); }

std::string timeline_text(const Language& words, const StepTimeline& t) {
  if (t.lanes.empty()) return "–";
  const TimeLane& lane = t.lanes[static_cast<std::size_t>(t.slowest)];
  double waits = 0, exposed = 0;
  for (std::size_t i = 0; i < lane.blocks.size(); ++i) {
    const TimeWindow gap = t.span_of({t.slowest, static_cast<int>(i), true});
    if (lane.blocks[i].waits) waits += gap.width();
    if (lane.blocks[i].exposed) exposed += gap.width();
  }
  return words.fill("time.says", {{"t", format_seconds(t.total)}, {"w", format_seconds(Seconds(waits))}, {"c", format_seconds(Seconds(exposed))}});
}

PlaceText time_place_text(const Language& words, const StepTimeline& t, const Estimate& e, const TimePlace& at) {
  const TimeBlock* b = t.block_of(at);
  if (!b) return {};
  const StepEvent& event = t.lane_of(at)->stream.events[static_cast<std::size_t>(at.block)];
  const TimeWindow span = t.span_of(at);
  const auto line = [&](std::string what) {
    return words.fill("time.block", {{"n", std::move(what)}, {"s", format_seconds(Seconds(span.from))}, {"d", format_seconds(Seconds(span.width()))}});
  };
  const std::string reason = b->waits ? words.said("wait.", event.waits_for) : std::string();
  if (at.is_gap) return {line(std::string(words["time.gap"])), reason};
  PlaceText said{line(block_name(words, t, event)), {}};
  if (event.communication >= 0 && static_cast<std::size_t>(event.communication) < e.communication.size()) {
    const CommunicationRow& row = e.communication[static_cast<std::size_t>(event.communication)];
    said.why = words.fill("time.sends", {{"c", std::string(name_of(row.collective))}, {"n", count_text(row.ranks)}, {"s", format_message_size(row.bytes)}, {"l", std::string(row.bottleneck)}});
  } else if (b->waits) {
    const TimeWindow gap = t.span_of({at.lane, at.block, true});
    said.why = words.fill("time.waited", {{"d", format_seconds(Seconds(gap.width()))}, {"r", reason}});
  }
  return said;
}

}  // namespace wireplan
