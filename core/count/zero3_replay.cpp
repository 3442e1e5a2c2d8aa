#include "core/count/zero3_replay.hpp"

#include <algorithm>

namespace wireplan {

bool Zero3Replay::leaves_what_it_found() const {
  return pass_ == Zero3Pass::first && settings_.recent && secondary_ranks_ <= 1 &&
         std::all_of(parameters_.begin(), parameters_.end(), [](const Parameter& p) { return p.present == p.persists && !(p.present && p.is_copy) && !p.is_saved && !p.in_flight; });
}

std::optional<Zero3Use> Zero3Replay::next_use() {
  if (event_ == events_.size()) return std::nullopt;
  const bool is_steady = pass_ == Zero3Pass::first || pass_ == Zero3Pass::later;
  const auto highest = [&](Zero3Moment& m) {
    const double beside = is_steady ? secondary_ : 0;
    m = {std::max(m.peak, peak_ + beside), alive_ + beside};
  };
  Zero3Use use;
  while (const Zero3Event* e = next()) {
    if (e->is_fetch) {
      highest(use.before);
      continue;
    }
    highest(use.release);
    use.place = e->place;
    use.tensor = e->tensor;
    return use;
  }
  use.release = use.before;
  return use;
}

void Zero3Replay::begin(Zero3Pass pass) {
  const bool decides_apart = accumulates_ && (pass == Zero3Pass::first || pass == Zero3Pass::later);
  if (decides_apart && !has_decided_) run(Zero3Pass::deciding);
  if (pass == Zero3Pass::later && !has_first_) run(Zero3Pass::first);
  live_ = 0;  // counted anew in every micro-batch, whatever is gathered
  if (pass != Zero3Pass::later) {
    alive_ = secondary_ = 0;
    for (Parameter& p : parameters_) {
      // The optimizer step releases all and gathers persistent parameters again. In 2024 the count began before the step, which
      // counted what it released.
      p.present = (pass == Zero3Pass::first && p.persists) || (pass == Zero3Pass::deciding && p.stays);
      p.is_copy = false;
      p.is_saved = false;
      if (p.present) alive_ += p.padded_bytes;
      if (pass == Zero3Pass::first && !settings_.recent && (p.persists || p.stays)) live_ -= p.elements;
      p.has_secondary = pass != Zero3Pass::first && secondary_ranks_ > 1;
      if (p.has_secondary) secondary_ += secondary_bytes(p);
    }
  }
  for (Parameter& p : parameters_) p.recent = -1;
  pass_ = pass;
  has_decided_ = has_decided_ || pass != Zero3Pass::recording;
  has_first_ = has_first_ || pass == Zero3Pass::first;
  event_ = decision_ = queue_ = 0;
  step_ = 0;
  peak_ = alive_;
  groups_.clear();
  members_.clear();
  calls_ = calls_inside_ = Gathers{};
}

const Zero3Event* Zero3Replay::next() {
  if (event_ == events_.size()) return nullptr;
  const Zero3Event& e = events_[event_++];
  peak_ = alive_;
  if (e.is_fetch)
    execute_fetch(e);
  else
    execute_release(e);
  return &e;
}

// Gathers wanted_: those with a secondary shard inside their group, the others over all ranks.
void Zero3Replay::gather(Zero3Part part) {
  const std::size_t begin = members_.size();
  for (const bool inside : {true, false}) {
    if (inside && secondary_ranks_ <= 1) continue;
    const std::size_t first = members_.size();
    for (const std::int32_t i : wanted_)
      if (parameters_[std::size_t(i)].has_secondary == inside) members_.push_back(i);
    if (members_.size() > first) gather_together(first, inside, part);
  }
  for (std::size_t i = begin; i < members_.size(); ++i) live_ += parameters_[std::size_t(members_[i])].elements;
  wanted_.clear();
}

void Zero3Replay::gather_together(std::size_t begin, bool inside, Zero3Part part) {
  double padded = 0;
  const bool alone = members_.size() - begin == 1;
  for (std::size_t i = begin; i < members_.size(); ++i) {
    Parameter& p = parameters_[std::size_t(members_[i])];
    padded += p.padded;
    p.in_flight = true;
    p.group = alone ? -1 : std::int32_t(groups_.size());
  }
  const double bytes = whole_blocks(padded * element_bytes_);
  grow(bytes);
  if (!alone)
    groups_.push_back(
        {bytes, std::int32_t(begin), std::int32_t(members_.size()), std::int32_t(members_.size() - begin), false});
  if (settings_.offload_parameters) {  // shards from the host, on the device while the call is made
    double shards = 0;
    for (std::size_t i = begin; i < members_.size(); ++i) shards += shard_bytes(parameters_[std::size_t(members_[i])]);
    grow(shards);
    alive_ -= shards;
  }
  Gathers& calls = inside ? calls_inside_ : calls_;
  const bool is_forward = part == Zero3Part::forward;
  (is_forward ? calls.forward_calls : calls.backward_calls) += 1;
  (is_forward ? calls.forward_elements : calls.backward_elements) += padded;
}

void Zero3Replay::wait(Parameter& p) {
  p.in_flight = false;
  p.present = true;
  p.is_copy = p.group >= 0;
  if (p.group < 0) return;
  Group& g = groups_[std::size_t(p.group)];
  if (!g.is_copied)
    for (std::int32_t i = g.begin; i < g.end; ++i) grow(parameters_[std::size_t(members_[std::size_t(i)])].whole_bytes);
  g.is_copied = true;
  if (--g.waiting == 0) alive_ -= g.flat_bytes;
}

void Zero3Replay::drop(Parameter& p, Zero3Part part) {
  p.present = false;
  if (!p.has_secondary && secondary_ranks_ > 1) {
    p.has_secondary = true;
    secondary_ += secondary_bytes(p);
  }
  live_ -= p.elements;
  // A forward that will not run again leaves the weight with autograd, unless DeepSpeed's own linear function is used.
  const bool is_kept = part == Zero3Part::recompute || (part == Zero3Part::forward && !recomputes_);
  p.is_saved = is_kept && p.is_linear && !settings_.efficient_linear;
  p.is_saved_copy = p.is_copy;
  if (!p.is_saved) alive_ -= p.is_copy ? p.whole_bytes : p.padded_bytes;
}

void Zero3Replay::execute_fetch(const Zero3Event& e) {
  const Owner& m = modules_[std::size_t(e.module)];
  for (std::int32_t i = m.begin; i < m.end; ++i) {
    const Parameter& p = parameters_[std::size_t(i)];
    if (!p.present && !p.in_flight) wanted_.push_back(i);
  }
  if (!wanted_.empty()) gather(e.part);
  std::int32_t unpassed = 0;
  for (std::int32_t i = m.begin; i < m.end; ++i) {
    Parameter& p = parameters_[std::size_t(i)];
    if (p.in_flight) wait(p);
    unpassed += p.recent < step_;
  }
  if (pass_ != Zero3Pass::recording) {
    for (; unpassed > 0 && queue_ < order_.size(); --unpassed, ++queue_)
      parameters_[std::size_t(order_[queue_].parameter)].recent = order_[queue_].step;
    if (settings_.prefetch_bucket > 0) prefetch(e.part);
  }
  ++step_;
}

void Zero3Replay::prefetch(Zero3Part part) {
  const double room = std::min(settings_.max_live - live_, settings_.prefetch_bucket);
  double got = 0;
  for (; got < room && queue_ < order_.size(); ++queue_) {
    Parameter& p = parameters_[std::size_t(order_[queue_].parameter)];
    p.recent = std::max(p.recent, order_[queue_].step);
    if (p.present || p.in_flight) continue;
    p.in_flight = true;  // wanted once
    wanted_.push_back(order_[queue_].parameter);
    got += p.elements;
  }
  if (!wanted_.empty()) gather(part);
}

bool Zero3Replay::comes_again(const Owner& m) const {
  for (const std::int32_t use : m.uses)
    if (use >= step_) return passed_[std::size_t(use)] - passed_[std::size_t(step_)] < settings_.max_reuse;
  return false;
}

void Zero3Replay::execute_release(const Zero3Event& e) {
  const Owner& m = modules_[std::size_t(e.module)];
  for (std::int32_t i = m.begin; i < m.end; ++i, ++decision_) {
    Parameter& p = parameters_[std::size_t(i)];
    bool leaves = true;
    if (pass_ != Zero3Pass::recording) {
      if (decisions_[decision_] == open)
        decisions_[decision_] = p.persists || p.recent > step_ || comes_again(m) ? keep : leave;
      leaves = decisions_[decision_] == leave;
    }
    if (e.part == Zero3Part::backward && p.is_saved) {
      p.is_saved = false;
      alive_ -= p.is_saved_copy ? p.whole_bytes : p.padded_bytes;
    }
    if (leaves && p.present) drop(p, e.part);
  }
}

}  // namespace wireplan
