#include "tools/fit/step_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/math.hpp"

namespace wireplan {

namespace {

constexpr double kScatter = 0.1;

}  // namespace

StepRows::StepRows(const Accuracy& accuracy, const Constants& constants, std::vector<const StepConstant*> fitted,
                   const std::vector<std::string>& without)
    : accuracy_(accuracy), start_(constants.efficiency), fitted_(std::move(fitted)) {
  rows_.reserve(accuracy.timed.size());
  for (const TimedRun& t : accuracy.timed) {
    const Run& run = accuracy.runs.runs[t.run];
    const Plan& p = *run.plan;
    const std::string name = run.id.substr(0, run.id.find('-'));
    const auto source = std::find(sources_.begin(), sources_.end(), name);
    const auto index = static_cast<std::size_t>(source - sources_.begin());
    if (source == sources_.end()) sources_.push_back(name);
    std::vector<StageParameters> stages = stage_parameters(p.model, p.parallel);
    std::vector<StageParameters> trained =
        p.training.lora ? stage_adapters(p.model, *p.training.lora, p.parallel) : stages;
    const bool is_fitted = std::none_of(without.begin(), without.end(),
                                        [&](const std::string& start) { return run.id.starts_with(start); });
    const SequenceWork work = sequence_work(p);
    StepCost cost = step_cost(p, prepare(p.cluster, constants.links), stages, trained, work, start_);
    rows_.push_back({t.run, index, is_fitted, t.measured, std::move(stages), std::move(trained), work, std::move(cost)});
  }
}

EfficiencyConstants StepRows::constants_at(const std::vector<double>& x) const {
  EfficiencyConstants k = start_;
  for (std::size_t c = 0; c < fitted_.size(); ++c) k.*(fitted_[c]->member) *= exponential(x[c]);
  return k;
}

std::vector<double> StepRows::at_three_digits(const std::vector<double>& x) const {
  const EfficiencyConstants k = constants_at(x);
  std::vector<double> rounded;
  for (const StepConstant* c : fitted_)
    rounded.push_back(natural_log(three_digits(k.*(c->member)) / start_.*(c->member)));
  return rounded;
}

std::vector<double> StepRows::residuals(const EfficiencyConstants& k) {
  std::vector<double> residuals;
  residuals.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!weights_.empty() && weights_[i] == 0) {
      residuals.push_back(0);
      continue;
    }
    Row& row = rows_[i];
    const Plan& p = *accuracy_.runs.runs[row.run].plan;
    compute_stages(p, row.stages, row.trained, row.work, k, row.cost);
    settle(p, k, row.cost);
    const double predicted = row.cost.time.value.value;
    residuals.push_back(predicted > 0 ? natural_log(predicted / row.measured) : 0);
  }
  return residuals;
}

std::vector<double> StepRows::at(const std::vector<double>& x) { return residuals(constants_at(x)); }

LeastSquares StepRows::problem() const {
  std::vector<double> rows(sources_.size(), 0);
  for (const Row& row : rows_) rows[row.source] += row.is_fitted ? 1 : 0;
  LeastSquares problem;
  problem.scale = kScatter;
  for (const Row& row : rows_)
    problem.weights.push_back(row.is_fitted ? 1 / std::sqrt(std::sqrt(rows[row.source])) : 0);
  for (const StepConstant* c : fitted_) {
    problem.prior.push_back(c->prior > 0 ? natural_log(c->prior / start_.*(c->member)) : 0);
    problem.spread.push_back(c->spread);
  }
  return problem;
}

LeastSquaresFit StepRows::refit(Rows which, std::size_t source, LeastSquaresFit from) {
  LeastSquares some = problem();
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if ((rows_[i].source == source) == (which == Rows::without)) some.weights[i] = 0;
  weights_ = some.weights;
  LeastSquaresFit fit = least_squares(some, *this, std::move(from));
  weights_.clear();
  fit.residuals = at(fit.x);
  return fit;
}

std::vector<RankingGroup> StepRows::ranking(const std::vector<double>& residuals) const {
  std::vector<TimedRun> timed;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    timed.push_back({rows_[i].run, rows_[i].measured * exponential(residuals[i]), rows_[i].measured});
  return layout_ranking(accuracy_.runs, timed);
}

}  // namespace wireplan
