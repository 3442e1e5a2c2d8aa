#include "core/answer/advice.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/answer/advice_moves.hpp"
#include "core/answer/advice_text.hpp"
#include "core/answer/placement.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

constexpr double kStep = 0.005;      // a part of a combination brings at least this much of the step
constexpr std::size_t kMostFree = 8, kMostNumerics = 3, kMostHardware = 5, kMostUnfit = 3;  // so many are listed

struct Candidate {
  std::vector<Move> moves;
  Plan plan;
  Effect effect;
};
using Candidates = std::vector<Candidate>;

ChangeKind kind_of(const Candidate& c) {
  ChangeKind kind = ChangeKind::free;
  for (const Move& m : c.moves) kind = std::max(kind, kind_of(m.knob));
  return kind;
}

bool has(const Candidate& c, Knob k) {
  return std::any_of(c.moves.begin(), c.moves.end(), [&](const Move& m) { return m.knob == k; });
}
bool is_same(const Plan& a, const Plan& b) { return a.training == b.training && a.parallel == b.parallel && a.cluster == b.cluster; }

// Both kinds of whole-layer recompute set one field.
Knob family(Knob k) { return k == Knob::recompute_layers ? Knob::recompute : k == Knob::nic_rate ? Knob::nics : k; }

// Between sharding within and copies across nodes, so that it stands beside those of either kind.
bool is_hybrid(const Candidate& c) { return c.moves.front().knob == Knob::sharding && c.plan.parallel.data_sharding == DataSharding::hsdp; }

// The same knobs, only to other values.
bool turns_the_same(const Candidate& a, const Candidate& b) {
  return a.moves.size() == b.moves.size() && std::all_of(a.moves.begin(), a.moves.end(), [&](const Move& m) {
    return std::any_of(b.moves.begin(), b.moves.end(), [&](const Move& o) { return family(o.knob) == family(m.knob); });
  });
}

class Search {
 public:
  Search(const Plan& plan, const Estimate& estimate, const PlanFilling& filling, const Constants& constants)
      : plan_(plan), filling_(filling), constants_(constants), screening_(screening_constants(constants)), cluster_(prepare(plan.cluster, screening_.links)), exact_now_(effect_of(estimate)), now_(screened(plan)) {
    const StepAnswer& s = estimate.step;
    waits_ = s.time.value - s.on_ideal_wiring > kHelps * s.time.value;
  }

  Advice answer() {
    look_at_each();
    if (now_.fits) gain();
    else make_fit();
    return chosen();
  }

 private:
  bool can_be_advised(const Effect& e) const { return e.fits && (e.starts || !now_.starts) && (!now_.fits || e.verdict <= std::max(now_.verdict, Verdict::tight)); }
  bool is_faster(const Effect& e, const Effect& than, double share) const { return e.time < (1 - share) * than.time; }
  bool is_before(const Effect& a, const Effect& b) const {
    if (a.fits != b.fits) return a.fits;
    if (!a.fits && a.need != b.need) return a.need < b.need;
    return a.time != b.time ? a.time < b.time : a.need < b.need;
  }
  bool is_known(const Plan& p) const {
    if (is_same(p, plan_)) return true;
    return std::any_of(all_.begin(), all_.end(), [&](const Candidate& c) { return is_same(c.plan, p); });
  }

  Effect screened(const Plan& p) const {
    if (p.cluster == plan_.cluster) return effect_of(estimate(p, cluster_, screening_));
    return effect_of(estimate(p, screening_));
  }
  // What the plan's own estimate says; each machine is made ready once, since what NCCL decides for its groups is kept with it.
  Effect exact(const Plan& p) {
    for (const std::unique_ptr<Machine>& m : machines_)
      if (m->cluster == p.cluster) return effect_of(estimate(p, m->prepared, constants_));
    machines_.push_back(std::make_unique<Machine>());
    Machine& m = *machines_.back();
    m.cluster = p.cluster;
    m.prepared = prepare(m.cluster, constants_.links);
    return effect_of(estimate(p, m.prepared, constants_));
  }

  // `from` with one more move; false: not possible, or nothing new.
  bool extended(const Candidate& from, const Move& move, Candidate& to) const {
    to = from;
    to.moves.push_back(move);
    if (!apply(move, filling_, cluster_, to.plan) || !settle(plan_, filling_, to.plan) || is_known(to.plan)) return false;
    to.effect = screened(to.plan);
    return true;
  }
  const Candidate* keep(Candidate c) {
    all_.push_back(std::move(c));
    return &all_.back();
  }

  void look_at_each() {
    const Candidate base{{}, plan_, now_};
    all_.reserve(512);  // extended() and its callers hold references into it
    for (const Move& move : moves_of(plan_, waits_)) {
      if (is_last_resort(move.knob)) {
        last_resorts_.push_back(move);
        continue;
      }
      Candidate c;
      if (!extended(base, move, c)) {
        if (depends_on_layout(move.knob)) useful_.push_back(move);
        continue;
      }
      if (kind_of(move.knob) == ChangeKind::free && (c.effect.need < (1 - kHelps) * now_.need || is_faster(c.effect, now_, kStep) || move.knob == Knob::micro_batch)) useful_.push_back(move);
      keep(std::move(c));
    }
    look_at_placement();
    singles_ = all_.size();
  }

  void look_at_placement() {
    if (!waits_ || cluster_.switched || plan_.cluster.gpus_per_node < 2) return;
    const PlacementAnswer found = best_placement(plan_, constants_);
    if (!found.is_better) return;
    Candidate c{{{Knob::placement, 0}}, plan_, {}};
    c.plan.parallel.order = found.best.order;
    c.plan.parallel.placement = found.best.placement;
    c.plan.cluster.gpus = found.best.gpus;
    if (!settle(plan_, filling_, c.plan) || is_known(c.plan)) return;
    c.effect = screened(c.plan);
    keep(std::move(c));
  }

  // Every useful move on top of a candidate; `limit` bounds the work on plans that can be changed in many ways.
  void extend(const Candidate& from, const std::vector<Move>& moves) {
    if (has(from, Knob::placement)) return;  // was searched for the layout as it is
    for (const Move& move : moves) {
      const auto is_taken = [&](const Move& m) { return family(m.knob) == family(move.knob); };
      if (all_.size() + 1 >= all_.capacity() || std::any_of(from.moves.begin(), from.moves.end(), is_taken)) continue;
      Candidate c;
      if (extended(from, move, c)) keep(std::move(c));
    }
  }

  // The best of those of a kind from `start` on, by `less`; -1: none.
  template <class Less>
  std::vector<std::size_t> best(std::size_t start, ChangeKind kind, std::size_t count, Less less) const {
    std::vector<std::size_t> found;
    for (std::size_t i = start; i < all_.size(); ++i)
      if (kind_of(all_[i]) == kind) found.push_back(i);
    sort(found, [&](std::size_t a, std::size_t b) { return less(a, b) || (!less(b, a) && a < b); });
    if (found.size() > count) found.resize(count);
    return found;
  }
  auto by_effect() const {
    return [this](std::size_t a, std::size_t b) { return is_before(all_[a].effect, all_[b].effect); };
  }
  auto by_need() const {
    return [this](std::size_t a, std::size_t b) { return all_[a].effect.need < all_[b].effect.need; };
  }

  bool anything_fits(ChangeKind kind) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Candidate& c) { return kind_of(c) == kind && can_be_advised(c.effect); });
  }

  // Pairs from what needs least and from what is fastest of those that fit; longer ones while nothing fits; then faster ones.
  void make_fit() {
    std::vector<std::size_t> seeds = best(0, ChangeKind::free, 2, by_need());
    for (std::size_t i : best(0, ChangeKind::free, 2, by_effect()))
      if (std::find(seeds.begin(), seeds.end(), i) == seeds.end()) seeds.push_back(i);
    for (std::size_t i : seeds) extend(all_[i], useful_);
    for (int more = 0; more < 3 && !anything_fits(ChangeKind::free); ++more)
      for (std::size_t i : best(0, ChangeKind::free, 2, by_need())) extend(all_[i], useful_);
    if (!anything_fits(ChangeKind::free)) {
      extend({{}, plan_, now_}, last_resorts_);
      for (std::size_t i : best(0, ChangeKind::free, 3, by_need())) extend(all_[i], last_resorts_);
      for (std::size_t i : best(0, ChangeKind::free, 2, by_need())) extend(all_[i], useful_);
    }
    std::vector<std::size_t> with = best(0, ChangeKind::free, 2, by_effect());
    for (std::size_t i : best(0, ChangeKind::free, 1, by_need()))
      if (std::find(with.begin(), with.end(), i) == with.end()) with.push_back(i);
    if (anything_fits(ChangeKind::free)) climb();
    for (ChangeKind kind : {ChangeKind::numerics, ChangeKind::hardware}) {
      if (anything_fits(kind)) continue;
      std::vector<Move> moves;
      for (std::size_t i = 0; i < singles_; ++i)
        if (const Knob k = all_[i].moves.front().knob; kind_of(all_[i]) == kind && (kind != ChangeKind::hardware || k == Knob::gpus || k == Knob::nodes)) moves.push_back(all_[i].moves.front());
      for (std::size_t i : with) extend(all_[i], moves);
    }
  }

  void gain() {
    if (!best(0, ChangeKind::free, 1, by_effect()).empty()) climb();
  }

  // Adds to the best what makes it faster still, step by step.
  void climb() {
    for (int more = 0; more < 3; ++more) {
      std::size_t top = all_.size();
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (kind_of(all_[i]) == ChangeKind::free && can_be_advised(all_[i].effect) && (top == all_.size() || is_before(all_[i].effect, all_[top].effect))) top = i;
      if (top == all_.size() || (now_.fits && !is_faster(all_[top].effect, now_, kStep)) || top == climbed_) return;
      climbed_ = top;
      extend(all_[top], useful_);
    }
  }

  // Without what brings nothing. Effects are exact here.
  Candidate pruned(Candidate c) {
    for (std::size_t i = 0; c.moves.size() > 1 && i < c.moves.size();) {
      Candidate less{{}, plan_, {}};
      bool is_plan = true;
      for (std::size_t k = 0; is_plan && k < c.moves.size(); ++k)
        if (k != i) {
          less.moves.push_back(c.moves[k]);
          is_plan = apply(c.moves[k], filling_, cluster_, less.plan);
        }
      if (is_plan && settle(plan_, filling_, less.plan)) {
        less.effect = exact(less.plan);
        const bool is_as_good = c.effect.fits ? can_be_advised(less.effect) && !is_faster(c.effect, less.effect, kStep) : less.effect.need <= (1 + kStep) * c.effect.need;
        if (is_as_good) {
          c = std::move(less);
          i = 0;
          continue;
        }
      }
      ++i;
    }
    return c;
  }

  bool helps(const Candidate& c) const {
    if (c.effect.fits && !now_.fits) return can_be_advised(c.effect);
    if (now_.fits) {
      if (!can_be_advised(c.effect)) return false;
      const bool is_gain = c.effect.tokens_per_s > (1 + kHelps) * now_.tokens_per_s;
      return is_gain || (kind_of(c) != ChangeKind::hardware && c.moves.size() == 1 && frees_memory(c.effect));
    }
    return c.effect.need < (1 - kHelps) * now_.need;
  }
  bool frees_memory(const Effect& e) const { return e.need < (1 - kHelps) * now_.need && e.tokens_per_s >= (1 - kHelps) * now_.tokens_per_s; }

  // In the order of the answer: gains first, then what frees memory; where it did not fit, what fits first, then what needs least.
  bool is_listed_before(const Candidate& a, const Candidate& b) const {
    if (now_.fits) {
      const auto gains = [&](const Effect& e) { return e.tokens_per_s > (1 + kHelps) * now_.tokens_per_s; };
      if (gains(a.effect) != gains(b.effect)) return gains(a.effect);
      if (!gains(a.effect) && a.effect.need != b.effect.need) return a.effect.need < b.effect.need;
    }
    return is_before(a.effect, b.effect);
  }

  // Enough is enough: of each knob the best, of combinations two.
  bool is_wanted(const Candidate& c, const Candidates& listed) const {
    std::size_t same = 0;
    for (const Candidate& l : listed) {
      if (is_same(l.plan, c.plan)) return false;
      if (kind_of(l) != kind_of(c) || (l.moves.size() > 1) != (c.moves.size() > 1)) continue;
      if (c.moves.size() > 1 && turns_the_same(l, c)) return false;
      if (c.moves.size() > 1) ++same;
      else same += family(l.moves.front().knob) == family(c.moves.front().knob) && is_hybrid(l) == is_hybrid(c);
    }
    const Knob k = c.moves.front().knob;
    const std::size_t most = c.moves.size() > 1 || k == Knob::sharding || k == Knob::gpus || k == Knob::nodes ? 2 : 1;
    return same < most;
  }

  // Those of a kind that help, best first; while effects are screened.
  std::vector<std::size_t> in_order(ChangeKind kind) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (kind_of(all_[i]) == kind && (helps(all_[i]) || has(all_[i], Knob::placement))) order.push_back(i);
    sort(order, [&](std::size_t x, std::size_t y) { return is_listed_before(all_[x], all_[y]) || (!is_listed_before(all_[y], all_[x]) && x < y); });
    return order;
  }

  Candidates listed(ChangeKind kind, const std::vector<std::size_t>& order) {
    Candidates list;
    const bool fits = std::any_of(order.begin(), order.end(), [&](std::size_t i) { return all_[i].effect.fits; });
    const std::size_t most = !fits && !now_.fits ? kMostUnfit : kind == ChangeKind::free ? kMostFree : kind == ChangeKind::numerics ? kMostNumerics : kMostHardware;
    for (std::size_t i : order) {
      if (list.size() == most) break;
      if ((fits && !all_[i].effect.fits) || !is_wanted(all_[i], list)) continue;
      Candidate c = all_[i];
      c.effect = exact(c.plan);
      if (c.moves.size() > 1) c = pruned(std::move(c));
      if (kind_of(c) == kind && helps(c) && is_wanted(c, list)) list.push_back(std::move(c));
    }
    sort(list, [&](const Candidate& x, const Candidate& y) { return is_listed_before(x, y) || (!is_listed_before(y, x) && x.moves.size() < y.moves.size()); });
    return list;
  }

  Advice chosen() {
    std::vector<std::size_t> orders[kNames<ChangeKind>.size()];
    for (std::size_t k = 0; k < kNames<ChangeKind>.size(); ++k) orders[k] = in_order(static_cast<ChangeKind>(k));
    Advice a;
    a.now = now_ = exact_now_;  // from here on every effect is exact
    for (std::size_t k = 0; k < kNames<ChangeKind>.size(); ++k)
      for (Candidate& c : listed(static_cast<ChangeKind>(k), orders[k])) a.changes.push_back(change(std::move(c)));
    a.text = advice_text(a);
    return a;
  }

  // With its words; each part is described where it is made.
  Change change(Candidate c) const {
    Change result;
    result.kind = kind_of(c);
    result.effect = c.effect;
    Plan before = plan_;
    for (const Move& m : c.moves) {
      Plan after = before;
      if (m.knob == Knob::placement) after = c.plan;
      else apply(m, filling_, cluster_, after);
      result.key += (result.key.empty() ? "" : "+") + key_of(m, after);
      result.label += (result.label.empty() ? "" : "; ") + label_of(m, before, after);
      if (const std::string price = price_of(m, after); !price.empty()) result.terms += (result.terms.empty() ? "" : " ") + price + ".";
      before = std::move(after);
    }
    result.plan = std::move(c.plan);
    result.moves = std::move(c.moves);
    return result;
  }

  const Plan& plan_;
  const PlanFilling& filling_;
  const Constants& constants_;
  const Constants screening_;
  const PreparedCluster cluster_;  // for screening
  const Effect exact_now_;
  Effect now_;                     // screened until the search is over
  struct Machine {
    Cluster cluster;
    PreparedCluster prepared;
  };
  std::vector<std::unique_ptr<Machine>> machines_;
  bool waits_ = false;
  std::vector<Move> useful_, last_resorts_;
  Candidates all_;
  std::size_t singles_ = 0, climbed_ = static_cast<std::size_t>(-1);
};

}  // namespace

Constants screening_constants(const Constants& constants) {
  Constants screening = constants;
  screening.links.nccl.reset();
  return screening;
}

Effect effect_of(const Estimate& e) {
  Effect effect;
  effect.fits = e.memory.fits && e.memory.fits_host != 0;
  const MemoryAnswer& m = e.memory;
  effect.starts = std::max({m.load, m.initialize, m.first_step, m.save}) + m.runtime <= m.capacity;
  effect.verdict = e.memory.verdict;
  effect.need = e.memory.need.value;
  effect.host = e.memory.host;
  effect.time = e.step.time.value;
  effect.exposed = e.step.exposed_communication;
  effect.tokens_per_s = e.step.tokens_per_s;
  return effect;
}

Advice advice(const Plan& plan, const Estimate& estimate, const PlanFilling& filling, const Constants& constants) {
  return Search(plan, estimate, filling, constants).answer();
}

}  // namespace wireplan
