#include "tools/fit/step_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>
#include <optional>

#include "core/base/math.hpp"
#include "core/base/statistics.hpp"

namespace wireplan {
namespace {

// From here on a constant is known hardly better than its prior says.
constexpr double kUndecided = 0.9;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void append(std::string& out, const char* form, ...) {
  char text[256];
  va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  out += text;
}

struct Summary {
  double median = 0, p90 = 0, worst = 0, bias = 0;
};  // percent

Summary summary_of(const std::vector<double>& residuals) {
  std::vector<double> errors, sizes;
  for (const double r : residuals) {
    errors.push_back(100 * (exponential(r) - 1));
    sizes.push_back(std::fabs(errors.back()));
  }
  return {quantile(sizes, 0.5), quantile(sizes, 0.9), quantile(sizes, 1), quantile(errors, 0.5)};
}

std::vector<double> of_source(const StepRows& rows, const std::vector<double>& residuals, std::size_t source) {
  std::vector<double> own;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    if (rows.source_of(i) == source) own.push_back(residuals[i]);
  return own;
}

void append_summary(std::string& out, const std::vector<double>& residuals) {
  const Summary s = summary_of(residuals);
  append(out, " |%6.1f%6.1f%6.1f%+7.1f", s.median, s.p90, s.worst, s.bias);
}

double median_of_sources(const StepRows& rows, const std::vector<double>& residuals) {
  std::vector<double> medians;
  for (std::size_t s = 0; s < rows.sources().size(); ++s)
    medians.push_back(summary_of(of_source(rows, residuals, s)).median);
  return quantile(medians, 0.5);
}

// Of groups that differ in layout only. Spearman: of groups of three runs and more, where it is defined.
struct Ranking {
  std::size_t groups = 0, ordered = 0;  // all, those with a Spearman
  double regret = 0, worst = 0, good = 0, mean = 0, median = 0;
};

Ranking ranking_of(const StepRows& rows, const std::vector<double>& residuals) {
  Ranking r;
  std::vector<double> correlations;
  for (const RankingGroup& g : rows.ranking(residuals)) {
    ++r.groups;
    r.regret += g.regret;
    r.worst = std::max(r.worst, g.regret);
    r.good += g.regret <= 0.02 ? 1 : 0;
    if (g.runs < 3 || !g.spearman) continue;
    correlations.push_back(*g.spearman);
    r.mean += *g.spearman;
  }
  r.ordered = correlations.size();
  const double n = std::max(1.0, static_cast<double>(r.groups));
  r.regret /= n;
  r.good /= n;
  r.mean /= std::max(1.0, static_cast<double>(r.ordered));
  r.median = quantile(correlations, 0.5);
  return r;
}

void append_ranking(std::string& out, const char* what, const StepRows& rows, const std::vector<double>& residuals) {
  const Ranking r = ranking_of(rows, residuals);
  if (r.groups == 0) return;
  append(out,
         "ranking, %-8s %zu groups, mean regret %.2f %%, worst %.1f %%, within 2 %%: %.0f %%; Spearman of %zu groups: "
         "mean %.2f, median %.2f\n",
         what, r.groups, 100 * r.regret, 100 * r.worst, 100 * r.good, r.ordered, r.mean, r.median);
}

Json ranking_json(const StepRows& rows, const std::vector<double>& residuals) {
  const Ranking r = ranking_of(rows, residuals);
  Json j;
  put(j, "groups", static_cast<double>(r.groups));
  put(j, "mean_regret", number(r.regret));
  put(j, "worst_regret", number(r.worst));
  put(j, "within_2_percent", number(r.good));
  put(j, "spearman_groups", static_cast<double>(r.ordered));
  put(j, "mean_spearman", number(r.mean));
  put(j, "median_spearman", number(r.median));
  return j;
}

}  // namespace

std::string source_table(const StepRows& rows, const StepErrors& errors) {
  const bool has_left_out = !errors.left_out.empty();
  std::string out = "                  | as it is                | in sample               ";
  if (has_left_out) out += " | left out";
  out += "\nsource       rows |  med.   90% worst   bias |  med.   90% worst   bias";
  if (has_left_out) out += " |  med.   90% worst   bias";
  out += '\n';
  const auto line = [&](const std::string& name, std::optional<std::size_t> source) {
    const auto of = [&](const std::vector<double>& r) { return source ? of_source(rows, r, *source) : r; };
    append(out, "%-12s %4zu", name.c_str(), of(errors.fitted).size());
    append_summary(out, of(errors.before));
    append_summary(out, of(errors.fitted));
    if (has_left_out) append_summary(out, of(errors.left_out));
    out += '\n';
  };
  for (std::size_t s = 0; s < rows.sources().size(); ++s) line(rows.sources()[s], s);
  line("all rows", std::nullopt);
  append(out, "%-17s |%6.1f%20s|%6.1f", "median of sources", median_of_sources(rows, errors.before), "",
         median_of_sources(rows, errors.fitted));
  if (has_left_out) append(out, "%20s|%6.1f", "", median_of_sources(rows, errors.left_out));
  out += '\n';
  append_ranking(out, "as it is", rows, errors.before);
  append_ranking(out, "fitted", rows, errors.fitted);
  if (has_left_out) append_ranking(out, "left out", rows, errors.left_out);
  return out;
}

Json errors_json(const StepRows& rows, const StepErrors& errors) {
  const bool has_left_out = !errors.left_out.empty();
  Json list = Json::array(), ranking, document;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json row;
    put(row, "id", rows.id_of(i));
    put(row, "as_shipped", number(exponential(errors.before[i]) - 1));
    if (has_left_out) put(row, "left_out", number(exponential(errors.left_out[i]) - 1));
    list.push_back(std::move(row));
  }
  put(ranking, "as_shipped", ranking_json(rows, errors.before));
  if (has_left_out) put(ranking, "left_out", ranking_json(rows, errors.left_out));
  put(document, "rows", std::move(list));
  put(document, "ranking", std::move(ranking));
  return document;
}

std::string source_markdown(const StepRows& rows, const StepErrors& errors) {
  const bool has_left_out = !errors.left_out.empty();
  std::string out = has_left_out ? "| source | rows | as it is | leans | fitted on all | left out | leans |\n|---|---|---|---|---|---|---|\n"
                                 : "| source | rows | as it is | leans | fitted on all |\n|---|---|---|---|---|\n";
  const auto line = [&](const std::string& name, std::optional<std::size_t> source) {
    const auto of = [&](const std::vector<double>& r) { return summary_of(source ? of_source(rows, r, *source) : r); };
    const Summary before = of(errors.before), in = of(errors.fitted);
    append(out, "| %s | %zu | %.1f / %.1f / %.1f | %+.1f | %.1f / %.1f / %.1f |", name.c_str(),
           source ? of_source(rows, errors.fitted, *source).size() : errors.fitted.size(), before.median, before.p90,
           before.worst, before.bias, in.median, in.p90, in.worst);
    if (has_left_out) {
      const Summary left = of(errors.left_out);
      append(out, " %.1f / %.1f / %.1f | %+.1f |", left.median, left.p90, left.worst, left.bias);
    }
    out += '\n';
  };
  for (std::size_t s = 0; s < rows.sources().size(); ++s) line(rows.sources()[s], s);
  line("all rows", std::nullopt);
  append(out, "| median over sources | | %.1f | | %.1f |", median_of_sources(rows, errors.before),
         median_of_sources(rows, errors.fitted));
  if (has_left_out) append(out, " %.1f | |", median_of_sources(rows, errors.left_out));
  return out + '\n';
}

std::string constants_table(const StepRows& rows, const LeastSquares& problem, const LeastSquaresFit& fit) {
  std::string out =
      "constant                        prior   spread     before     fitted  known  sens.  decided by (share)\n";
  const std::vector<double> start(fit.x.size(), 0);
  const EfficiencyConstants before = rows.constants_at(start), after = rows.constants_at(fit.x),
                            prior = rows.constants_at(problem.prior);
  for (std::size_t c = 0; c < fit.x.size(); ++c) {
    const StepConstant& constant = *rows.fitted()[c];
    double sensitivity = 0, all = 0;
    std::vector<double> shares(rows.sources().size(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double slope = fit.slopes[c][i];
      const double information =
          problem.weights[i] * slope * slope / (problem.scale * problem.scale + fit.residuals[i] * fit.residuals[i]);
      sensitivity += std::fabs(slope) / static_cast<double>(rows.size());
      shares[rows.source_of(i)] += information;
      all += information;
    }
    // `known`: what the constant is known to, given all others, in units of what it was known to before.
    const double known = fit.deviation[c] / problem.spread[c];
    append(out, "%-28s %10.4g  ±%3.0f %% %10.4g %10.4g  %5.2f  %5.3f ", std::string(constant.name).c_str(),
           prior.*(constant.member), 100 * problem.spread[c], before.*(constant.member), after.*(constant.member),
           known, sensitivity);
    for (int shown = 0; shown < 3 && all > 0; ++shown) {
      const auto most = std::max_element(shares.begin(), shares.end());
      if (*most < 0.1 * all) break;
      append(out, " %s %.0f %%", rows.sources()[static_cast<std::size_t>(most - shares.begin())].c_str(),
             100 * *most / all);
      *most = 0;
    }
    if (sensitivity == 0)
      out += " <- no row depends on it";
    else if (known > kUndecided)
      out += " <- no row decides it";
    out += '\n';
  }
  return out;
}

std::string directions_table(StepRows& rows, const LeastSquares& problem, const LeastSquaresFit& fit) {
  constexpr double kMostChange = 2.302585;  // ln 10: slopes do not carry farther, and rarely that far
  struct Wish {
    std::size_t constant = 0;
    double change = 0, gain = 0;
  };
  std::string out =
      "source       rows   bias   med.   90% | alone:  med.   90% | one constant: change, share of the squared error "
      "it takes away\n";
  std::vector<std::size_t> order(rows.sources().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto p90 = [&](std::size_t s) { return summary_of(of_source(rows, fit.residuals, s)).p90; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p90(a) != p90(b) ? p90(a) > p90(b) : a < b; });
  for (const std::size_t s : order) {
    const std::vector<double> own = of_source(rows, fit.residuals, s);
    const Summary at = summary_of(own),
                  alone = summary_of(of_source(rows, rows.refit(StepRows::Rows::alone, s, fit).residuals, s));
    append(out, "%-12s %4zu %+6.1f %6.1f %5.1f |        %5.1f %5.1f |", rows.sources()[s].c_str(), own.size(), at.bias,
           at.median, at.p90, alone.median, alone.p90);
    std::vector<Wish> wishes;
    for (std::size_t c = 0; c < fit.x.size(); ++c) {
      double rr = 0, jr = 0, jj = 0;  // Σ w·r², Σ w·J·r, Σ w·J²
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows.source_of(i) != s) continue;
        const double r = fit.residuals[i], w = 1 / (problem.scale * problem.scale + r * r), slope = fit.slopes[c][i];
        rr += w * r * r;
        jr += w * slope * r;
        jj += w * slope * slope;
      }
      if (jj <= 0 || rr <= 0) continue;
      const double change = std::clamp(-jr / jj, -kMostChange, kMostChange);
      wishes.push_back({c, change, -(2 * change * jr + change * change * jj) / rr});
    }
    std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.gain != b.gain ? a.gain > b.gain : a.constant < b.constant; });
    for (std::size_t i = 0; i < wishes.size() && i < 5; ++i)
      append(out, " %s x%.2f (%.0f %%)", std::string(rows.fitted()[wishes[i].constant]->name).c_str(),
             exponential(wishes[i].change), 100 * wishes[i].gain);
    out += '\n';
  }
  return out;
}

std::string worst_rows(const StepRows& rows, const StepErrors& errors, std::size_t count) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) { return std::fabs(exponential(errors.fitted[i]) - 1); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
  std::string out = "row            as it is  in sample  left out\n";
  for (std::size_t i = 0; i < order.size() && i < count; ++i) {
    const auto percent = [&](const std::vector<double>& r) { return 100 * (exponential(r[order[i]]) - 1); };
    append(out, "%-14s %+8.1f %+10.1f", rows.id_of(order[i]).c_str(), percent(errors.before), percent(errors.fitted));
    if (!errors.left_out.empty()) append(out, " %+9.1f", percent(errors.left_out));
    out += '\n';
  }
  return out;
}

}  // namespace wireplan
