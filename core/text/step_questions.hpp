// What an estimate can be asked besides: budget, scaling, crossover. Read from a request; answered as documents and as text.
#pragma once

#include <optional>
#include <string_view>

#include "core/answer/budget.hpp"
#include "core/answer/crossover.hpp"
#include "core/answer/scaling.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

// "tokens": a number or "15T"; "price": of a GPU-hour; "scaling": true | "weak" | "strong"; "up_to": nodes; "crossover": true | "node" |
// "network"; "exposed": percent of the step. null and false ask for nothing.
inline constexpr std::array<std::string_view, 6> kStepQuestions = {"tokens", "price", "scaling", "up_to", "crossover", "exposed"};

struct StepQuestions {
  std::optional<double> tokens, price;
  std::optional<ScalingMode> scaling;
  int up_to = 0;
  bool crossover = false;
  std::optional<LinkPlace> place;
  double exposed = kDefaultExposed;  // a share
  bool any() const { return tokens || scaling || crossover; }
};

// All that is wrong with the values, or with values whose question is not asked ("price" without "tokens").
Result<StepQuestions> read_step_questions(const Json& request);

// The answers to what was asked.
struct StepAnswers {
  std::optional<Budget> budget;
  std::optional<Scaling> scaling;
  std::optional<Crossover> crossover;
};
Result<StepAnswers> answer_step_questions(const StepQuestions& questions, const Plan& plan, const Estimate& estimate, const Constants& constants, const Presets& presets);

// Adds `budget`, `scaling` with `scaling_notes`, and `crossover` to the document of an estimate.
void add_step_answers(Json& document, const StepAnswers& answers);
void render_step_answers(Sheet& sheet, const StepAnswers& answers);

}  // namespace wireplan
