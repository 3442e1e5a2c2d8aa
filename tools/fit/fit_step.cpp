// Fits the constants of a step's time on published runs, all of them and with each source left out:
//
//   wireplan_fit_step RUNS.jsonl [--leave-one-out] [--only name,name...] [--without id,id...] [--markdown] [--directions]
//                     [--worst N] [--errors FILE]
//
// --only fits these constants and keeps the others, --without predicts rows whose ids begin so without fitting them, --directions says
// what each source alone would ask of the constants, --errors writes the error of every row as JSON.
// stdout: assets/measurements/efficiency.json with the fitted constants, to three digits; its source and date are left as they are.
// stderr: the errors by source, what decides each constant, which constants in the file stay as they are.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/presets.hpp"
#include "core/text/read_runs.hpp"
#include "tools/fit/step_report.hpp"

namespace {

using namespace wireplan;

struct Options {
  std::string runs, only, without, errors;
  bool leave_one_out = false, markdown = false, directions = false;
  std::size_t worst = 0;
};

int fail(const std::string& text) {
  std::fprintf(stderr, "wireplan_fit_step: %s\n", text.c_str());
  return 2;
}

std::string read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool wants_value = word == "--only" || word == "--without" || word == "--worst" || word == "--errors";
    if (wants_value && i + 1 == argc) return std::string(word) + " needs a value";
    if (word == "--leave-one-out")
      options.leave_one_out = true;
    else if (word == "--markdown")
      options.markdown = true;
    else if (word == "--directions")
      options.directions = true;
    else if (word == "--only")
      options.only = argv[++i];
    else if (word == "--without")
      options.without = argv[++i];
    else if (word == "--errors")
      options.errors = argv[++i];
    else if (word == "--worst")
      options.worst = static_cast<std::size_t>(std::strtoul(argv[++i], nullptr, 10));
    else if (word.starts_with("--") || !options.runs.empty())
      return "not understood: " + std::string(word);
    else
      options.runs = word;
  }
  return options.runs.empty() ? "one file of runs is wanted" : "";
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  std::stringstream text(list);
  for (std::string name; std::getline(text, name, ',');)
    if (!name.empty()) names.push_back(name);
  return names;
}

// The constants to fit: all that have a spread, or those named.
std::string chosen(const std::string& only, std::vector<const StepConstant*>& out) {
  if (only.empty()) {
    for (const StepConstant& c : step_constants())
      if (c.spread > 0) out.push_back(&c);
    return "";
  }
  for (const std::string& name : names_of(only)) {
    const auto& all = step_constants();
    const auto found = std::find_if(all.begin(), all.end(), [&](const StepConstant& c) { return c.name == name; });
    if (found == all.end()) return "no such constant: " + name;
    if (found->spread <= 0) return "fixed, tools/fit/step_constants.cpp says why: " + name;
    out.push_back(&*found);
  }
  return "";
}

// Numbers of the file that the table of constants does not know.
std::string not_in_table(const Json& document) {
  std::string names;
  for (auto it = document.begin(); it != document.end(); ++it) {
    const auto& all = step_constants();
    if (it->is_number() &&
        std::none_of(all.begin(), all.end(), [&](const StepConstant& c) { return c.name == it.key(); }))
      names += ' ' + it.key();
  }
  return names;
}

std::vector<double> left_out_residuals(StepRows& rows, const LeastSquaresFit& all) {
  std::vector<double> left(rows.size(), 0);
  for (std::size_t s = 0; s < rows.sources().size(); ++s) {
    const LeastSquaresFit without = rows.refit(StepRows::Rows::without, s, all);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.source_of(i) == s) left[i] = without.residuals[i];
  }
  return left;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string wrong = read_options(argc, argv, options); !wrong.empty()) return fail(wrong);
  std::vector<const StepConstant*> constants;
  if (const std::string wrong = chosen(options.only, constants); !wrong.empty()) return fail(wrong);
  std::ifstream file(options.runs);
  if (!file) return fail("cannot read " + options.runs);
  std::stringstream text;
  text << file.rdbuf();

  const Presets presets;
  const Result<Constants> known = presets.constants();
  const Result<Json> document = parse_json(presets.text("measurements", "efficiency"));
  Result<Runs> runs = read_runs(text.str(), presets);
  if (!runs) return fail(runs.errors().front().text);
  if (!known) return fail(known.errors().front().text);
  if (!document) return fail(document.errors().front().text);
  const Accuracy measured = accuracy(std::move(runs.value()), known.value());
  if (measured.timed.empty()) return fail("no run with a time or a rate in " + options.runs);

  StepRows rows(measured, known.value(), constants, names_of(options.without));
  const LeastSquares problem = rows.problem();
  const std::vector<double> start(constants.size(), 0);
  const LeastSquaresFit fit = least_squares(problem, rows, start);

  StepErrors errors;
  errors.before = rows.at(start);
  errors.fitted = rows.at(rows.at_three_digits(fit.x));
  if (options.leave_one_out) errors.left_out = left_out_residuals(rows, fit);

  const std::string unknown = not_in_table(document.value());
  std::fprintf(stderr, "%s\n%s", source_table(rows, errors).c_str(), constants_table(rows, problem, fit).c_str());
  std::fprintf(stderr, "%zu rows, %zu runs skipped, %d rounds, loss %.2f\n", rows.size(), measured.runs.skipped.size(),
               fit.rounds, fit.loss);
  if (!unknown.empty())
    std::fprintf(stderr, "not in tools/fit/step_constants.cpp, left as they are:%s\n", unknown.c_str());
  if (options.directions) std::fprintf(stderr, "\n%s", directions_table(rows, problem, fit).c_str());
  if (options.worst > 0) std::fprintf(stderr, "\n%s", worst_rows(rows, errors, options.worst).c_str());
  if (options.markdown) std::fprintf(stderr, "\n%s", source_markdown(rows, errors).c_str());

  if (!options.errors.empty()) {
    std::ofstream out(options.errors);
    out << dump_json(errors_json(rows, errors));
    if (!out.flush()) return fail("cannot write " + options.errors);
  }

  std::fputs(dump_json(write_step_constants(document.value(), rows.constants_at(fit.x), constants)).c_str(), stdout);
  return std::ferror(stdout) ? 2 : 0;
}
