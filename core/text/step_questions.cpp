#include "core/text/step_questions.hpp"

#include <string>
#include <utility>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

// A number, or text of one; with `suffixes` a last letter K, M, B or T multiplies it.
std::optional<double> number_in(const Json& value, bool suffixes) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  std::string text = value.get<std::string>();
  double factor = 1;
  if (suffixes && !text.empty()) {
    constexpr std::string_view kLetters = "KMBT";
    const char last = text.back();
    const std::size_t at = kLetters.find(last >= 'a' && last <= 'z' ? static_cast<char>(last - 'a' + 'A') : last);
    if (at != std::string_view::npos) {
      text.pop_back();
      for (std::size_t i = 0; i <= at; ++i) factor *= 1000;
    }
  }
  const Result<Json> read = parse_json(text);  // refuses what no double holds
  if (!read || !read.value().is_number()) return std::nullopt;
  return factor * read.value().get<double>();
}

class Questions {
 public:
  explicit Questions(const Json& request) : request_(request) {}

  const Json* asked(const char* key) const {
    const auto it = request_.find(key);
    return it == request_.end() || it->is_null() || (it->is_boolean() && !it->get<bool>()) ? nullptr : &*it;
  }

  void fail(const char* key, const Json& value, std::string limit) {
    std::string text = value_text(value) + " is not " + limit;
    errors.push_back({key, value_text(value), std::move(limit), std::move(text)});
  }

  std::optional<double> number(const char* key, double low, double high, const char* what, bool suffixes = false) {
    const Json* value = asked(key);
    if (!value) return std::nullopt;
    const std::optional<double> n = number_in(*value, suffixes);
    if (n && *n >= low && *n <= high) return n;
    fail(key, *value, std::string(what) + " from " + format_exact(low) + " to " + format_exact(high) + (suffixes ? ", as 15e12, 15T or 300B" : ""));
    return std::nullopt;
  }

  // `true`, or one of the names.
  template <class E>
  bool choice(const char* key, std::optional<E>& out) {
    const Json* value = asked(key);
    if (!value) return false;
    if (value->is_boolean()) return true;
    if (value->is_string()) out = value_named<E>(value->get_ref<const std::string&>());
    if (!out) fail(key, *value, "true | " + names_listed<E>());
    return true;
  }

  void needs(const char* key, const char* other) {
    if (const Json* value = asked(key); value && !asked(other)) errors.push_back({key, value_text(*value), std::string("with ") + other, value_text(*value) + " means nothing without " + other});
  }

  Errors errors;

 private:
  const Json& request_;
};

}  // namespace

Result<StepQuestions> read_step_questions(const Json& request) {
  StepQuestions q;
  Questions in(request);
  q.tokens = in.number("tokens", 1, kMostTokens, "a number of tokens", true);
  q.price = in.number("price", 0, kMostPrice, "a price of one GPU-hour");
  std::optional<ScalingMode> mode;
  if (in.choice("scaling", mode)) q.scaling = mode.value_or(ScalingMode::weak);
  if (const std::optional<double> nodes = in.number("up_to", 1, kMostScalingNodes, "a number of nodes")) {
    q.up_to = static_cast<int>(*nodes);
    if (*nodes != q.up_to) in.fail("up_to", *in.asked("up_to"), "a whole number of nodes");
  }
  q.crossover = in.choice("crossover", q.place);
  if (const std::optional<double> percent = in.number("exposed", 0.1, 99, "percent of the step")) q.exposed = *percent / 100;
  in.needs("price", "tokens");
  in.needs("up_to", "scaling");
  in.needs("exposed", "crossover");
  if (!in.errors.empty()) return std::move(in.errors);
  return q;
}

Result<StepAnswers> answer_step_questions(const StepQuestions& q, const Plan& plan, const Estimate& estimate, const Constants& constants, const Presets& presets) {
  StepAnswers a;
  if (q.tokens) a.budget = budget(plan, estimate, *q.tokens, q.price);
  if (q.scaling) {
    if (q.up_to > 0 && q.up_to < plan.cluster.nodes)
      return Error{"up_to", format_exact(q.up_to), "the plan's own nodes or more, " + format_exact(plan.cluster.nodes), format_exact(q.up_to) + " is less than the " + format_exact(plan.cluster.nodes) + " nodes of the plan"};
    std::optional<Network> network = plan.cluster.network;
    if (!network && !plan.cluster.node.usual_network.empty())
      if (Result<Network> usual = parse_network(plan.cluster.node.usual_network, presets, "cluster.network")) network = std::move(usual.value());
    a.scaling = scaling(plan, constants, *q.scaling, q.up_to, network);
  }
  if (q.crossover) {
    Result<Crossover> found = crossover(plan, constants, q.place, q.exposed);
    if (!found) return found.errors();
    a.crossover = std::move(found.value());
  }
  return a;
}

}  // namespace wireplan
