#include "core/answer/search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/answer/memory_estimate.hpp"
#include "core/base/sort.hpp"
#include "core/step/step_bound.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kSeeds = 64, kShapesOfBlock = 2048, kLooksOfBlock = 512;

auto key_of(const LayoutVariant& v) { return std::tuple(v.data_sharding, v.shard_group, v.offload.optimizer, v.offload.parameters, v.offload.activations, v.order); }

}  // namespace

struct Search::Space {
  Space(Plan p, const SearchOptions& o) : plan(std::move(p)), layouts(plan, o.vary, o.can, o.is_data_fixed ? plan.parallel.data : 0), gpus(static_cast<double>(total_gpus(plan.cluster))) {}
  Plan plan;
  LayoutSpace layouts;
  double gpus;
};

class Search::Worker {
 public:
  explicit Worker(const Search& search) : search_(search) {}

  // Whose plan, wiring and list of variants are at hand.
  void enter(std::uint32_t space) {
    if (wiring && space == space_) return;
    plan = search_.spaces_[space]->plan;
    cluster = prepare(plan.cluster, search_.constants_.links);
    cluster.cluster = &search_.spaces_[space]->plan.cluster;
    wiring.emplace(cluster);
    space_ = space;
  }

  Plan plan;
  PreparedCluster cluster;
  std::optional<StepWiring> wiring;
  std::vector<LayoutVariant> variants;

 private:
  const Search& search_;
  std::uint32_t space_ = 0;
};

Search::Search(std::vector<Plan> plans, SearchOptions options, const Constants& constants) : options_(options), constants_(constants) {
  std::size_t candidates = 0;
  std::vector<LayoutVariant> variants;
  for (Plan& plan : plans) {
    spaces_.push_back(std::make_unique<Space>(std::move(plan), options_));
    const LayoutSpace& layouts = spaces_.back()->layouts;
    for (const LayoutShape& shape : layouts.shapes()) {
      if (candidates > options_.small) break;
      layouts.variants(shape, variants);
      candidates += variants.size();
    }
  }
  is_small_ = candidates <= options_.small;
  begin_space();
}

Search::~Search() = default;

std::shared_ptr<Search::Worker> Search::worker() const { return std::make_shared<Worker>(*this); }

Search::Score Search::score(double gpus, double time, double need) const {
  switch (options_.objective) {
    case Objective::throughput: break;
    case Objective::memory: return {need, 0};
    case Objective::gpus: return {gpus, time};
    case Objective::cost: return {gpus * time, 0};
  }
  return {time, 0};
}

bool Search::is_better(const Candidate& a, const Candidate& b) const {
  const Score of_a = score(a.gpus, a.time, a.need), of_b = score(b.gpus, b.time, b.need);
  if (of_a != of_b) return of_a < of_b;
  if (a.time != b.time) return a.time < b.time;
  if (a.need != b.need) return a.need < b.need;
  if (a.space != b.space) return a.space < b.space;
  if (a.shape != b.shape) return a.shape < b.shape;
  return key_of(a.variant) < key_of(b.variant);
}

void Search::begin_space() {
  open_.clear();
  seeds_.clear();
  shape_ = next_ = 0;
  if (space_ >= spaces_.size()) {
    phase_ = Phase::done;
    pieces_.clear();
    return;
  }
  // A first look all over the space, so that there is something to beat.
  const std::size_t shapes = spaces_[space_]->layouts.shapes().size(), step = shapes / kSeeds + 1;
  if (!is_small_)
    for (std::size_t i = 0; i < shapes; i += step) seeds_.push_back(static_cast<std::uint32_t>(i));
  phase_ = seeds_.empty() ? Phase::bounds : Phase::seeds;
  plan_block();
}

void Search::plan_block() {
  if (phase_ == Phase::seeds) {
    pieces_.assign(seeds_.size(), {});
  } else if (phase_ == Phase::bounds) {
    const std::size_t shapes = spaces_[space_]->layouts.shapes().size();
    pieces_.assign(std::min(kShapesOfBlock, shapes - shape_), {});
    if (!pieces_.empty()) return;
    // The most promising first.
    sort(open_, [](const Open& a, const Open& b) {
      if (a.bound != b.bound) return a.bound < b.bound;
      if (a.shape != b.shape) return a.shape < b.shape;
      return key_of(a.variant) < key_of(b.variant);
    });
    phase_ = Phase::looks;
    return plan_block();
  } else if (phase_ == Phase::looks) {
    std::size_t count = 0;
    while (count < kLooksOfBlock && next_ + count < open_.size() && !is_beyond(open_[next_ + count].bound)) ++count;
    if (count == 0) {
      // Nothing that is left can be better: all of it has a bound at least as high.
      const std::size_t left = open_.size() - next_;
      counts_.pruned += left;
      counts_.pruned_by_time += left;
      if (left > 0) prune(open_[next_].bound.first);
      ++space_;
      return begin_space();
    }
    pieces_.assign(count, {});
  }
}

std::size_t Search::pieces() const { return pieces_.size(); }

void Search::work(std::size_t piece, Worker& worker) {
  worker.enter(space_);
  Piece& out = pieces_[piece];
  if (phase_ == Phase::bounds) return bound(static_cast<std::uint32_t>(shape_ + piece), worker, out);
  if (phase_ == Phase::looks) return look(open_[next_ + piece], worker, out);
  const std::uint32_t shape = seeds_[piece];
  const LayoutSpace& layouts = spaces_[space_]->layouts;
  layouts.variants(layouts.shapes()[shape], worker.variants);
  for (const LayoutVariant& v : worker.variants)
    if (v.order == 0) evaluate({{}, space_, shape, v}, worker, out);
}

void Search::bound(std::uint32_t shape, Worker& worker, Piece& out) const {
  const Space& space = *spaces_[space_];
  const LayoutShape& s = space.layouts.shapes()[shape];
  space.layouts.variants(s, worker.variants);
  out.candidates = worker.variants.size();
  if (worker.variants.empty()) return;
  Plan& plan = worker.plan;
  space.layouts.apply(s, worker.variants.front(), plan);
  const std::vector<StageParameters> stages = stage_parameters(plan.model, plan.parallel);
  const std::vector<StageParameters> adapters = plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : std::vector<StageParameters>{};
  const std::vector<StageParameters>& trained = plan.training.lora ? adapters : stages;
  const SequenceWork work = sequence_work(plan);
  std::optional<StepBound> bound;
  const double room = capacity(plan.cluster.node.gpu).value;
  const LayoutVariant* before = nullptr;
  bool is_too_large = false;
  double need = 0, time = 0;
  for (const LayoutVariant& v : worker.variants) {
    // Orders share both bounds.
    const bool is_like = before && before->data_sharding == v.data_sharding && before->shard_group == v.shard_group && before->offload == v.offload;
    before = &v;
    if (!is_like) {
      space.layouts.apply(s, v, plan);
      need = 0;
      for (std::size_t i = 0; i < stages.size(); ++i) need = std::max(need, kept_bytes(plan, stages[i], trained[i]).value);
      is_too_large = need > room;
    }
    if (is_too_large && !is_small_) {
      ++out.by_memory;
      continue;
    }
    if (!is_small_ && !is_like) {
      if (!bound) bound.emplace(plan, *worker.wiring, stages, trained, work, constants_.efficiency);
      time = bound->by_stages(plan).value;
    }
    const Score score_bound = is_small_ ? Score{} : score(space.gpus, time, need);
    if (is_beyond(score_bound)) {
      ++out.by_time;
      out.least_pruned = out.least_pruned > 0 ? std::min(out.least_pruned, score_bound.first) : score_bound.first;
      continue;
    }
    out.open.push_back({score_bound, space_, shape, v});
  }
}

// Another bound first where it is tighter: the first one took no schedule.
void Search::look(const Open& open, Worker& worker, Piece& out) const {
  if (!is_small_ && limit_ && options_.objective != Objective::memory) {
    const Space& space = *spaces_[open.space];
    const LayoutShape& s = space.layouts.shapes()[open.shape];
    if (s.pipeline > 1) {
      Plan& plan = worker.plan;
      space.layouts.apply(s, open.variant, plan);
      const std::vector<StageParameters> stages = stage_parameters(plan.model, plan.parallel);
      const std::vector<StageParameters> trained = plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : stages;
      const SequenceWork work = sequence_work(plan);
      const double time = StepBound(plan, *worker.wiring, stages, trained, work, constants_.efficiency).by_schedule(plan).value;
      if (const Score bound = score(space.gpus, time, 0); is_beyond(bound)) {
        out.by_time = 1;
        out.least_pruned = bound.first;
        return;
      }
    }
  }
  evaluate(open, worker, out);
}

void Search::evaluate(const Open& open, Worker& worker, Piece& out) const {
  const Space& space = *spaces_[open.space];
  space.layouts.apply(space.layouts.shapes()[open.shape], open.variant, worker.plan);
  Estimate e;
  if (options_.objective == Objective::memory && !is_small_) {  // time only ranks equals
    e = memory_estimate(worker.plan, constants_);
    const double need = e.memory.need.value.value;
    if (phase_ != Phase::seeds) {
      if (is_beyond({need, 0})) {
        out.by_time = 1;
        out.least_pruned = need;
        return;
      }
      e = brief_estimate(worker.plan, *worker.wiring, constants_, true);
    }
  } else {
    e = brief_estimate(worker.plan, *worker.wiring, constants_, !is_small_);
  }
  Candidate c;
  c.space = open.space;
  c.shape = open.shape;
  c.variant = open.variant;
  c.verdict = e.memory.verdict;
  const bool fits_host = e.memory.fits_host >= 0 ? e.memory.fits_host == 1 : e.memory.host <= kUnstatedHost;
  c.fits = e.memory.verdict <= options_.worst && fits_host;
  c.need = e.memory.need.value.value;
  c.gpus = space.gpus;
  c.is_timed = e.step.time.value.value > 0;
  c.time = e.step.time.value.value;
  c.compute = e.step.compute.value;
  c.exposed = e.step.exposed_communication.value;
  c.bubble = e.step.bubble.value;
  c.rest = c.time - c.compute - c.exposed - c.bubble;
  out.evaluated.push_back(c);
}

void Search::prune(double bound) { least_pruned_ = least_pruned_ > 0 ? std::min(least_pruned_, bound) : bound; }

bool Search::is_alike(const Candidate& a, const Candidate& b) const {
  if (a.space != b.space || a.variant.data_sharding != b.variant.data_sharding || a.variant.shard_group != b.variant.shard_group) return false;
  LayoutShape of_a = shape_of(a);
  of_a.loss = shape_of(b).loss;
  return of_a == shape_of(b);
}

void Search::keep(const Candidate& c, std::vector<Candidate>& best) const {
  if (!c.fits) return;
  const auto better = [this](const Candidate& a, const Candidate& b) { return is_better(a, b); };
  const std::size_t top = static_cast<std::size_t>(options_.top);
  if (best.size() == top && !better(c, best.back())) return;
  if (const auto same = std::find_if(best.begin(), best.end(), [&](const Candidate& b) { return is_alike(b, c); }); same != best.end()) {
    if (!better(c, *same)) return;
    best.erase(same);
  }
  best.insert(std::upper_bound(best.begin(), best.end(), c, better), c);
  if (best.size() > top) best.pop_back();
}

void Search::lower_limit(const std::vector<Candidate>& best) {
  if (best.size() < static_cast<std::size_t>(options_.top)) return;
  if (const Score last = score(best.back().gpus, best.back().time, best.back().need); !limit_ || last < *limit_) limit_ = last;
}

void Search::finish_block() {
  const bool is_seed = phase_ == Phase::seeds;
  for (Piece& piece : pieces_) {
    counts_.candidates += piece.candidates;
    counts_.pruned += piece.by_memory + piece.by_time;
    counts_.pruned_by_memory += piece.by_memory;
    counts_.pruned_by_time += piece.by_time;
    if (piece.least_pruned > 0) prune(piece.least_pruned);
    open_.insert(open_.end(), piece.open.begin(), piece.open.end());
    for (const Candidate& c : piece.evaluated) {
      if (is_seed) break;  // they come again in their turn; until then their scores are a limit
      ++counts_.evaluated;
      if (c.fits) ++counts_.fit;
      keep(c, best_);
      evaluated_.push_back(c);
    }
  }
  if (!is_seed) lower_limit(best_);
  if (is_seed) {
    std::vector<Candidate> best;
    for (const Piece& piece : pieces_)
      for (const Candidate& c : piece.evaluated) keep(c, best);
    lower_limit(best);
    phase_ = Phase::bounds;
  } else if (phase_ == Phase::bounds) {
    shape_ += pieces_.size();
  } else {
    next_ += pieces_.size();
  }
  plan_block();
}

double Search::progress() const {
  if (phase_ == Phase::done) return 1;
  const double spaces = static_cast<double>(spaces_.size()), shapes = static_cast<double>(spaces_[space_]->layouts.shapes().size());
  const double bounded = shapes > 0 ? static_cast<double>(shape_) / shapes : 1, looked = open_.empty() ? 0 : static_cast<double>(next_) / static_cast<double>(open_.size());
  return (static_cast<double>(space_) + (phase_ == Phase::looks ? 0.5 + 0.5 * looked : 0.5 * bounded)) / spaces;
}

std::vector<Candidate> Search::best() const { return best_; }

std::vector<Candidate> Search::rivals(std::size_t most) const {
  if (best_.empty()) return {};
  const Candidate& best = best_.front();
  const double room = kNearCapacity * capacity(spaces_[best.space]->plan.cluster.node.gpu).value;
  std::vector<Candidate> fitting, near;
  for (const Candidate& c : evaluated_) {
    if (c.space != best.space) continue;
    if (c.fits) fitting.push_back(c);
    else if (c.need <= room && (!c.is_timed || c.time < best.time)) near.push_back(c);
  }
  std::vector<Candidate> rivals;
  // Layouts that communicate in the same groups rise and fall together.
  constexpr std::size_t kMostOfSplit = 3;
  const auto splits_as = [&](const Candidate& a, const Candidate& b) {
    const LayoutShape &x = shape_of(a), &y = shape_of(b);
    return x.tensor == y.tensor && x.pipeline == y.pipeline && x.context == y.context && x.expert == y.expert && a.variant.data_sharding == b.variant.data_sharding && a.variant.shard_group == b.variant.shard_group;
  };
  const auto add = [&](std::vector<Candidate>& from, std::size_t limit) {
    sort(from, [&](const Candidate& a, const Candidate& b) { return a.time != b.time ? a.time < b.time : a.need != b.need ? a.need < b.need : is_better(a, b); });
    for (const Candidate& c : from) {
      if (rivals.size() >= limit) return;
      std::size_t alike = 0, of_split = 0;
      for (const Candidate& r : rivals) {
        if (r.fits != c.fits) continue;
        alike += is_alike(r, c);
        of_split += splits_as(r, c);
      }
      if (alike == 0 && of_split < kMostOfSplit) rivals.push_back(c);
    }
  };
  add(fitting, most - most / 4);
  add(near, most);
  return rivals;
}

std::vector<Candidate> Search::front() const {
  std::vector<Candidate> fitting;
  for (const Candidate& c : evaluated_)
    if (c.fits) fitting.push_back(c);
  sort(fitting, [&](const Candidate& a, const Candidate& b) { return a.time != b.time ? a.time < b.time : a.need != b.need ? a.need < b.need : is_better(a, b); });
  std::vector<Candidate> front;
  for (const Candidate& c : fitting)
    if (front.empty() || c.need < front.back().need) front.push_back(c);
  return front;
}

LossReason Search::reason_of(const Candidate& c, const Candidate& best) const {
  if (!c.fits) return LossReason::does_not_fit;
  if (c.time <= kNearlyAsFast * best.time) return LossReason::nearly_as_fast;
  const double compute = c.compute - best.compute, exposed = c.exposed - best.exposed, bubble = c.bubble - best.bubble, rest = c.rest - best.rest;
  const double most = std::max({compute, exposed, bubble, rest});
  if (most == exposed) return LossReason::waits_for_wires;
  if (most == bubble) return LossReason::bubble;
  if (most == rest) return LossReason::rest;
  const RecomputeKind own = shape_of(c).recompute, other = shape_of(best).recompute;
  return own != RecomputeKind::none && own != other ? LossReason::computes_twice : LossReason::splits_matrices;
}

std::vector<Losers> Search::losers() const {
  std::vector<Losers> all;
  for (std::size_t i = 0; i < kNames<LossReason>.size(); ++i) all.push_back({static_cast<LossReason>(i), 0, {}, 0});
  const Candidate* best = best_.empty() ? nullptr : &best_.front();
  for (const Candidate& c : evaluated_) {
    if (!best && c.fits) continue;
    if (best && c.space == best->space && c.shape == best->shape && c.variant == best->variant) continue;
    Losers& l = all[static_cast<std::size_t>(c.fits ? reason_of(c, *best) : LossReason::does_not_fit)];
    ++l.count;
    const bool is_nearest = !l.best || (c.fits ? c.time < l.best->time : c.need < l.best->need);
    if (is_nearest) l.best = c;
  }
  all[static_cast<std::size_t>(LossReason::does_not_fit)].count += counts_.pruned_by_memory;
  Losers& beyond = all[static_cast<std::size_t>(LossReason::slower_at_least)];
  beyond.count = counts_.pruned_by_time;
  beyond.bound = least_pruned_;
  std::erase_if(all, [](const Losers& l) { return l.count == 0; });
  return all;
}

const LayoutShape& Search::shape_of(const Candidate& c) const { return spaces_[c.space]->layouts.shapes()[c.shape]; }

Plan Search::plan_of(const Candidate& c) const {
  Plan plan = spaces_[c.space]->plan;
  spaces_[c.space]->layouts.apply(shape_of(c), c.variant, plan);
  return plan;
}

}  // namespace wireplan
