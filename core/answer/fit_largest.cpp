#include "core/answer/fit_largest.hpp"

#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

std::string of(Count n) { return format_count(static_cast<double>(n)); }

bool is_assumed(const Plan& plan, std::string_view path) {
  return std::any_of(plan.assumed.begin(), plan.assumed.end(), [&](const Assumption& a) { return a.path == path; });
}

class Fitting {
 public:
  Fitting(const Plan& plan, FitField field, const Constants& constants) : constants_(constants), cluster_(prepare(plan.cluster, constants.links)) {
    fit_.field = field;
    fit_.plan = plan;
    fit_.moves_batch = field == FitField::micro_batch_size && is_assumed(plan, "training.global_batch_size");
    // A table of positions that was not stated is as long as the sequence.
    moves_positions_ = field == FitField::sequence_length && is_assumed(plan, "model.max_position_embeddings");
    unit_ = field == FitField::sequence_length ? plan.parallel.context : 1;
  }

  LargestFit answer() {
    if (fit_.field == FitField::micro_batch_size && !fit_.moves_batch) among_divisors();
    else among_all();
    return std::move(fit_);
  }

 private:
  Plan with(Count value) const {
    Plan p = fit_.plan;
    Training& t = p.training;
    if (fit_.field == FitField::micro_batch_size) {
      t.micro_batch_size = value;
      if (fit_.moves_batch) t.global_batch_size = value * p.parallel.data;
    } else {
      t.sequence_length = value;
      if (t.sequence_length_mean) t.sequence_length_mean = std::min(*t.sequence_length_mean, static_cast<double>(value));
      if (moves_positions_) p.model.max_position_embeddings = value;
    }
    return p;
  }

  // Tries a value; what fits is kept where it is the largest so far.
  bool fits(Count value) {
    Plan p = with(value);
    Estimate e = estimate(p, cluster_, constants_);
    const bool does = e.memory.fits && e.memory.fits_host != 0;
    if (does && value > fit_.largest) {
      fit_.largest = value;
      found_plan_ = std::move(p);
      found_ = std::move(e);
    } else if (!does && (fit_.next == 0 || value < fit_.next)) {
      fit_.next = value;
      fit_.next_need = e.memory.need.value;
    }
    return does;
  }
  bool is_valid(Count value) const { return validate(with(value)).empty(); }

  void among_divisors() {
    const Count sequences = fit_.plan.training.global_batch_size / fit_.plan.parallel.data;
    std::vector<Count> values;
    for (Count n = 1; n * n <= sequences; ++n) {
      if (sequences % n != 0) continue;
      values.push_back(n);
      if (n * n != sequences) values.push_back(sequences / n);
    }
    values.erase(std::remove_if(values.begin(), values.end(), [&](Count n) { return !is_valid(n); }), values.end());
    sort(values);
    for (std::size_t i = values.size(); i > 0 && !fits(values[i - 1]);) --i;
    finish(values.empty() ? 1 : values.front(), FitLimit::batch);
  }

  void among_all() {
    const Training& t = fit_.plan.training;
    const Count own = (fit_.field == FitField::micro_batch_size ? t.micro_batch_size : t.sequence_length) / unit_;
    Count low = own, high = own;  // in units
    if (fits(own * unit_)) {
      do low = high, high *= 2;
      while (is_valid(high * unit_) && fits(high * unit_));
    } else {
      low = 0;
    }
    while (high - low > 1) {
      const Count middle = low + (high - low) / 2;
      // Below the plan's own value what cannot be stated is too small, as a sequence of fewer tokens than its loss has chunks; above, too large.
      if (is_valid(middle * unit_) ? fits(middle * unit_) : middle < own) low = middle;
      else high = middle;
    }
    finish(high * unit_, FitLimit::range);
  }

  void finish(Count smallest, FitLimit otherwise) {
    if (fit_.largest == 0) {
      found_plan_ = with(smallest);
      found_ = estimate(found_plan_, cluster_, constants_);
      fit_.next = smallest;
      fit_.next_need = found_.memory.need.value;
    }
    fit_.limit = fit_.next > 0 ? FitLimit::memory : otherwise;
    fit_.plan = std::move(found_plan_);
    fit_.estimate = std::move(found_);
  }

  const Constants& constants_;
  const PreparedCluster cluster_;
  LargestFit fit_;
  Plan found_plan_;
  Estimate found_;
  Count unit_ = 1;
  bool moves_positions_ = false;
};

}  // namespace

LargestFit fit_largest(const Plan& plan, FitField field, const Constants& constants) { return Fitting(plan, field, constants).answer(); }

std::string fit_text(const LargestFit& fit, ByteUnit unit) {
  const Training& t = fit.plan.training;
  const bool is_micro = fit.field == FitField::micro_batch_size;
  const auto need = [unit](Bytes b) { return format_bytes_with_unit(b, unit); };
  const std::string of_capacity = " of " + need(fit.estimate.memory.capacity);
  const auto named = [&](Count n) { return is_micro ? "micro-batches of " + of(n) + (n == 1 ? " sequence" : " sequences") : "sequences of " + of(n) + (n == 1 ? " token" : " tokens"); };
  if (fit.largest == 0) return "Nothing fits: " + named(fit.next) + " need " + need(fit.next_need) + of_capacity + '.';
  std::string text = "At most " + named(fit.largest) + ": " + need(fit.estimate.memory.need.value) + of_capacity;
  const std::string next_need = need(fit.next_need);
  if (fit.limit == FitLimit::memory && next_need == need(fit.estimate.memory.need.value)) text += "; " + of(fit.next) + " would be too many.";
  else if (fit.limit == FitLimit::memory) text += "; the next, " + of(fit.next) + ", would need " + next_need + '.';
  else if (fit.limit == FitLimit::batch) text += ". The global batch of " + of(t.global_batch_size) + " over data " + of(fit.plan.parallel.data) + " holds no more, memory would.";
  else text += ". A plan may not have more.";
  if (fit.estimate.memory.verdict == Verdict::may_not_fit) text += " That is inside the error of the estimate: it may not fit.";
  if (fit.moves_batch) text += " The global batch, which the plan does not state, goes along: " + of(t.global_batch_size) + " sequences.";
  else if (is_micro) text += " The global batch stays " + of(t.global_batch_size) + ": " + of(micro_batches(fit.plan)) + (micro_batches(fit.plan) == 1 ? " micro-batch a step." : " micro-batches a step.");
  else text += " The global batch stays " + of(t.global_batch_size) + " sequences, " + of(t.global_batch_size * t.sequence_length) + " tokens a step.";
  return text;
}

}  // namespace wireplan
