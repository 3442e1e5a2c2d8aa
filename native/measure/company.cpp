#include "native/measure/company.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr double kPatience = 5;  // seconds that the other processes leave process 0 to save what there is

}  // namespace

void Company::meet() {
  Told mine;
  for (int r : backend_.own_ranks()) mine.numbers.push_back(r);
  for (const std::string& text : backend_.exchange(mine.text())) {
    const Told told = Told::of(text);
    owners_.emplace_back(told.numbers.begin(), told.numbers.end());
  }
}

Report Company::agreed(const Report& mine, std::vector<double> numbers) {
  const Told said{mine, std::move(numbers)};
  told_.clear();
  Report worst;
  for (const std::string& text : backend_.exchange(said.text())) {
    told_.push_back(Told::of(text));
    if (told_.back().report.outcome > worst.outcome) worst = told_.back().report;
  }
  if (Report r = backend_.company(); !r) worst = r;
  return worst;
}

void Company::give_up(const std::string& what, double timeout_s, const std::function<void(const std::string& text)>& save_first) {
  const std::string text = "process " + std::to_string(backend_.process()) + " (rank " + std::to_string(backend_.own_ranks().front()) + ") gave up: " + what + " after " + format_exact(timeout_s) + " s (--timeout)";
  std::fprintf(stderr, "wireplan: %s\n", text.c_str());
  if (is_first() && save_first) save_first(text);
  else std::this_thread::sleep_for(std::chrono::duration<double>(kPatience));
  backend_.abort();
  _exit(kAnswerIsNo);
}

ExitStatus status_of_first(Backend& backend, ExitStatus mine) {
  const std::string first = backend.exchange(std::to_string(static_cast<int>(mine))).front();
  return first.empty() ? kAnswerIsNo : static_cast<ExitStatus>(std::atoi(first.c_str()));
}

}  // namespace wireplan
