// Published steps beside what the constants on trial predict.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/answer/accuracy.hpp"
#include "core/base/least_squares.hpp"
#include "tools/fit/step_constants.hpp"

namespace wireplan {

// Runs with a time or a rate, prepared once: what does not depend on the constants is not worked out again.
// Residuals: ln(predicted / measured) seconds, of x = ln(constant / its value in the file).
class StepRows final : public Residuals {
 public:
  // `without`: what the ids of rows begin with that are predicted but not fitted.
  StepRows(const Accuracy& accuracy, const Constants& constants, std::vector<const StepConstant*> fitted,
           const std::vector<std::string>& without = {});

  std::vector<double> at(const std::vector<double>& x) override;      // 0 for rows that are left out
  std::vector<double> residuals(const EfficiencyConstants& k);  // with these constants
  EfficiencyConstants constants_at(const std::vector<double>& x) const;
  std::vector<double> at_three_digits(const std::vector<double>& x) const;  // x of the constants as they are written

  // Of the problem: Cauchy's loss at 10 %, what sound rows of one source scatter; rows weigh n^-¼, n of their source, so that a source of
  // 80 rows counts eight times as much as one of 5, not sixteen times.
  LeastSquares problem() const;

  // A fit goes on from `from` with all sources but one, or with that one alone: only its rows are worked out. Residuals are those of all rows.
  enum class Rows : unsigned char { without, alone };
  LeastSquaresFit refit(Rows which, std::size_t source, LeastSquaresFit from);

  std::size_t size() const { return rows_.size(); }
  std::size_t source_of(std::size_t row) const { return rows_[row].source; }
  const std::string& id_of(std::size_t row) const { return accuracy_.runs.runs[rows_[row].run].id; }
  const std::vector<std::string>& sources() const { return sources_; }  // what ids begin with, in order of the rows
  const std::vector<const StepConstant*>& fitted() const { return fitted_; }
  std::vector<RankingGroup> ranking(const std::vector<double>& residuals) const;

 private:
  struct Row {
    std::size_t run = 0, source = 0;
    bool is_fitted = true;
    double measured = 0;
    std::vector<StageParameters> stages, trained;
    SequenceWork work;
    StepCost cost;  // its messages do not depend on the constants
  };

  const Accuracy& accuracy_;
  const EfficiencyConstants& start_;
  std::vector<const StepConstant*> fitted_;
  std::vector<std::string> sources_;
  std::vector<Row> rows_;
  std::vector<double> weights_;  // of a refit; empty: all rows count
};

}  // namespace wireplan
