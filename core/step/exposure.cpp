#include "core/step/exposure.hpp"

#include <algorithm>
#include <cmath>

namespace wireplan {

namespace {

const ComputeCost& busiest_stage(const StepCost& cost) { return cost.stages[static_cast<std::size_t>(cost.busiest)]; }

bool is_alike(const Message& a, const Message& b) { return a.name == b.name && a.phase == b.phase; }

// Chunks of an interleaved stage finish one after another, each p passes of a chunk before the next: what the earlier ones reduce has
// that long to hide; only the last chunk's has its own backward alone.
double chunks_of(const Plan& p) {
  return p.parallel.pipeline > 1 && p.parallel.pipeline_schedule == PipelineSchedule::interleaved ? static_cast<double>(std::max<Count>(p.parallel.virtual_stages, 1)) : 1;
}

// Deals what a kind of pass waits for to the messages: `first` to the first gather, `last` to the last reduction, the rest to all in
// proportion.
void deal(StepCost& cost, const std::vector<std::size_t>& whose, Seconds lost, Seconds first, Seconds last, double passes) {
  MessageCost *opens = nullptr, *closes = nullptr;
  for (std::size_t i : whose) {
    MessageCost& c = cost.messages[i];
    if (!is_gather(c.message.collective)) closes = &c;
    else if (!opens) opens = &c;
  }
  if (opens) opens->unavoidable = std::min(first * passes, opens->total);
  if (closes) closes->unavoidable = std::min({last * passes, closes->sharing * closes->call.time.value * passes, closes->total});
  Seconds total, unavoidable;
  for (std::size_t i : whose) {
    total += cost.messages[i].total;
    unavoidable += cost.messages[i].unavoidable;
  }
  const Seconds rest = total - unavoidable, left = lost - unavoidable;
  for (std::size_t i : whose) cost.messages[i].share = rest.value > 0 ? std::clamp(left / rest, 0.0, 1.0) : 0;
}

}  // namespace

UnitPlace place_of(const Plan& p, const StepCost& cost, std::size_t i) {
  const Message& m = cost.messages[i].message;
  const double layers = busiest_stage(cost).layers;
  const auto is_layers = [&](const MessageCost& c) { return is_alike(c.message, m) && 2 * c.message.calls / passes_of(p, m) >= layers; };
  if (layers < 1) return UnitPlace::first_end;  // a stage of an end alone
  if (is_layers(cost.messages[i])) return UnitPlace::layers;
  const auto here = cost.messages.begin() + static_cast<std::ptrdiff_t>(i);
  const bool after = std::any_of(cost.messages.begin(), here, is_layers), before = std::any_of(here + 1, cost.messages.end(), is_layers);
  if (!after && !before) {
    const auto like = [&](const MessageCost& c) { return is_alike(c.message, m); };
    const bool bounds = is_gather(m.collective) ? std::none_of(cost.messages.begin(), here, like) : std::none_of(here + 1, cost.messages.end(), like);
    return bounds ? UnitPlace::one_and_layers : UnitPlace::layers_all;
  }
  const bool in_model_order = m.name.starts_with("fsdp") || m.name.starts_with("hsdp");
  return after == in_model_order ? UnitPlace::last_end : UnitPlace::first_end;
}

double passes_of(const Plan& p, const Message& m) {
  const double all = static_cast<double>(micro_batches(p));
  if (is_gather(m.collective)) return p.parallel.framework == Framework::megatron && !shards_parameters(p.parallel.data_sharding) ? 1 : all;
  return p.parallel.gradient_sync == GradientSync::every ? all : 1;
}

bool comes_once(const Plan& p, const Message& m) { return passes_of(p, m) == 1 && (micro_batches(p) > 1 || p.parallel.pipeline > 1); }

bool may_hide(const Message& m) { return m.overlappable && !is_model_parallel(m.group) && is_in_passes(m); }

int message_of(const Plan& p, const StepCost& cost, PassTraffic traffic, int run, bool gathers) {
  const bool forward = is_forward(traffic);
  int found = -1;
  for (std::size_t i = 0; i < cost.messages.size(); ++i) {
    const Message& m = cost.messages[i].message;
    if (!may_hide(m) || (m.phase == Phase::forward) != forward || is_gather(m.collective) != gathers) continue;
    const UnitPlace place = place_of(p, cost, i);
    const bool in_layers = place == UnitPlace::layers || place == UnitPlace::layers_all || place == UnitPlace::one_and_layers;
    const bool at_first = place == UnitPlace::first_end || place == UnitPlace::one_and_layers;
    const int first = forward ? 0 : 2;
    if (run == 1 ? in_layers : run == first ? at_first : place == UnitPlace::last_end) found = found < 0 || cost.messages[i].total > cost.messages[static_cast<std::size_t>(found)].total ? static_cast<int>(i) : found;
  }
  return found;
}

double share_in_layers(const Plan& p, const EfficiencyConstants& k, const ComputeCost& stage, const Message& message, Seconds total) {
  if (message.group == GroupKind::tensor) return p.parallel.overlap.tensor ? k.tensor_overlapped : k.tensor_exposed;
  if (message.group != GroupKind::context) return 1;
  const Seconds cover = (message.phase == Phase::forward ? 1.0 : 2.5) * static_cast<double>(micro_batches(p)) * stage.attention_s;
  return total > cover ? (total - cover) / total : 0;
}

void add_wait(const Plan& p, const ComputeCost& stage, const Message& message, Seconds shown, LayerWaits& waits) {
  if (stage.layers > 0) (message.phase == Phase::forward ? waits.forward : waits.backward) += shown / (static_cast<double>(micro_batches(p)) * stage.layers);
}

LayerWaits waits_in_layers(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const ComputeCost& stage = busiest_stage(cost);
  LayerWaits waits;
  for (MessageCost& c : cost.messages) {
    if (!is_inside_layers(c.message)) continue;
    c.share = share_in_layers(p, k, stage, c.message, c.total);
    add_wait(p, stage, c.message, c.share * c.total, waits);
  }
  return waits;
}

namespace {

bool shares_links(const RingOnWiring& a, const RingOnWiring& b) {
  if (a.network_bandwidth.value > 0 && b.network_bandwidth.value > 0) return true;
  return a.bottleneck_link >= 0 && std::any_of(b.loads.begin(), b.loads.end(), [&](const LinkLoad& l) { return l.link == a.bottleneck_link && l.flows > 0; });
}

}  // namespace

void share_links(const Plan& p, StepCost& cost) {
  constexpr double kMost = 0.9;  // layers that only send leave something
  const double window = (static_cast<double>(micro_batches(p)) * busiest_stage(cost).layers * (cost.layer_forward + cost.layer_backward)).value;
  if (window <= 0) return;
  for (MessageCost& c : cost.messages) {
    if (!may_hide(c.message)) continue;
    double busy = 0;
    for (const MessageCost& other : cost.messages)
      if (is_inside_layers(other.message) && shares_links(c.ring, other.ring)) busy += other.total.value;
    c.sharing = 1 / (1 - std::min(kMost, busy / window));
    c.total = c.message.calls * c.sharing * c.call.time.value;
  }
}

std::vector<PassUnits> pass_units(const Plan& p, const StepCost& cost, PassTraffic traffic) {
  const ComputeCost& stage = busiest_stage(cost);
  const bool forward = is_forward(traffic);
  PassUnits first{forward ? stage.first_end.forward : stage.first_end.backward, {}, {}, 1, stage.first_end.copy};
  PassUnits layer{forward ? cost.layer_forward : cost.layer_backward, {}, {}, stage.layers, stage.layer.copy};
  PassUnits last{forward ? stage.last_end.forward : stage.last_end.backward, {}, {}, 1, stage.last_end.copy};
  const bool is_only = traffic == PassTraffic::first_forward || traffic == PassTraffic::last_backward;
  for (std::size_t i = 0; i < cost.messages.size(); ++i) {
    const MessageCost& c = cost.messages[i];
    if (!may_hide(c.message) || (c.message.phase == Phase::forward) != forward) continue;
    if (comes_once(p, c.message) && !is_only) continue;
    const bool gathers = is_gather(c.message.collective);
    const Seconds call = c.sharing * c.call.time.value, all = c.total / passes_of(p, c.message);
    const auto add = [gathers](PassUnits& unit, Seconds s) { (gathers ? unit.gather : unit.reduction) += s; };
    switch (place_of(p, cost, i)) {
      case UnitPlace::first_end: add(first, all); break;
      case UnitPlace::last_end: add(last, all); break;
      case UnitPlace::layers: case UnitPlace::layers_all: add(layer, all / std::max(1.0, stage.layers)); break;
      case UnitPlace::one_and_layers:
        add(first, std::min(call, all));
        add(layer, std::max(Seconds(0), all - call) / std::max(1.0, stage.layers));
        break;
    }
  }
  if (forward) return {first, layer, last};
  return {last, layer, first};
}

DataParallelWaits waits_for_data(const Plan& p, const EfficiencyConstants& k, StepCost& cost) {
  const double m = static_cast<double>(micro_batches(p));
  DataParallelWaits waits;
  std::vector<std::size_t> of[2][2];  // [is backward][is once]
  for (std::size_t i = 0; i < cost.messages.size(); ++i) {
    MessageCost& c = cost.messages[i];
    c.unavoidable = {};
    if (may_hide(c.message)) {
      of[c.message.phase == Phase::backward][comes_once(p, c.message)].push_back(i);
      continue;
    }
    if (is_model_parallel(c.message.group) && is_in_passes(c.message)) continue;
    c.share = 1;
    if (is_in_passes(c.message) && !comes_once(p, c.message)) (c.message.phase == Phase::forward ? waits.forward : waits.backward) += c.total / m;
    else waits.once += c.total;
  }
  const double chunks = chunks_of(p);
  for (const bool is_backward : {false, true}) {
    const std::vector<std::size_t>&every = of[is_backward][0], &once = of[is_backward][1];
    const bool copies = busiest_stage(cost).layer.copy.value > 0;
    if (every.empty() && once.empty() && !copies) continue;
    const PassTraffic usual = is_backward ? PassTraffic::backward : PassTraffic::forward, extreme = is_backward ? PassTraffic::last_backward : PassTraffic::first_forward;
    PassTimes each;
    if (!every.empty() || copies) {
      std::vector<PassUnits> units = pass_units(p, cost, usual);
      each = pass_times(units, k.overlap_slowdown);
      for (PassUnits& u : units) u.copy = {};
      const PassTimes traffic = copies ? pass_times(units, k.overlap_slowdown) : each;
      (is_backward ? waits.backward : waits.forward) += traffic.lost();
      (is_backward ? waits.copies_backward : waits.copies_forward) = each.lost() - traffic.lost();
      deal(cost, every, m * traffic.lost(), traffic.first, traffic.last, m);
    }
    if (once.empty()) continue;
    std::vector<PassUnits> units = pass_units(p, cost, extreme);
    Seconds earlier;
    if (chunks > 1) {
      Seconds traffic, pass;
      for (PassUnits& u : units) {
        traffic += u.count * (u.gather + u.reduction);
        pass += u.count * u.compute;
        if (u.count <= 1) continue;
        const double kept = std::ceil(u.count / chunks), part = u.count / chunks / kept;
        u = {part * u.compute, part * u.gather, part * u.reduction, kept, part * u.copy};
      }
      earlier = std::max(Seconds(0), (1 - 1 / chunks) * (traffic - static_cast<double>(p.parallel.pipeline) * pass));
    }
    const PassTimes one = pass_times(units, k.overlap_slowdown);
    const Seconds lost = std::max(Seconds(0), one.lost() + earlier - each.lost());
    waits.once += lost;
    deal(cost, once, lost, one.first, one.last, 1);
  }
  return waits;
}

}  // namespace wireplan
