#include "native/search_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "core/base/format.hpp"
#include "core/text/search_request.hpp"
#include "native/files.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

volatile std::sig_atomic_t stop_is_asked = 0;

void ask_to_stop(int) {
  stop_is_asked = 1;
  std::signal(SIGINT, SIG_DFL);  // the second one ends at once
}

// How far it is, on a terminal.
class ProgressLine {
 public:
  void show(const Search& search) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    const double part = search.progress(), spent = std::chrono::duration<double>(now - start_).count();
    std::string text = format_percent(part) + ", " + format_count(static_cast<double>(search.counts().candidates)) + " layouts";
    if (part > 0.02) text += ", about " + format_seconds(Seconds(spent * (1 - part) / part)) + " left";
    if (const auto best = search.best(); !best.empty()) text += "; best so far " + format_seconds(Seconds(best.front().time)) + " per step";
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    has_text_ = true;
  }
  void end(const Search& search) {
    if (has_text_) std::fprintf(stderr, "\r\033[K");
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double looked_at = static_cast<double>(search.counts().candidates);
    std::fprintf(stderr, "wireplan: %s layouts in %s\n", format_count(looked_at).c_str(), format_seconds(Seconds(spent)).c_str());
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
  const bool is_shown_ = isatty(STDERR_FILENO) != 0;
  bool has_text_ = false;
};

// Every block over all threads; between two blocks one of them takes the results.
void search_on(unsigned threads, Search& search, ProgressLine& line) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> is_cut = false;
  bool goes_on = search.pieces() > 0;
  const auto between = [&]() noexcept {
    if (is_cut) {  // what is known stands; a block that is not done says nothing
      goes_on = false;
      return;
    }
    search.finish_block();
    line.show(search);
    next = 0;
    goes_on = search.pieces() > 0 && stop_is_asked == 0;
  };
  std::barrier meeting(static_cast<std::ptrdiff_t>(threads), between);
  const auto work = [&] {
    const auto worker = search.worker();
    while (goes_on) {
      // A few at a time, so that threads seldom meet at the counter.
      constexpr std::size_t kAtOnce = 8;
      for (std::size_t i; (i = next.fetch_add(kAtOnce)) < search.pieces();)
        for (std::size_t end = std::min(i + kAtOnce, search.pieces()); i < end; ++i) {
          if (stop_is_asked != 0) {
            is_cut = true;
            break;
          }
          search.work(i, *worker);
        }
      meeting.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads here: those that there are do it all
      for (; i < threads; ++i) meeting.arrive_and_drop();
    }
  }
  work();
}

Json list_of(const std::string& text) {
  Json list = Json::array();
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');)
    if (!name.empty()) list.push_back(name);
  return list;
}

}  // namespace

int run_search(const Options& options, const Presets& presets) {
  const SearchingOptions& asked_for = options.searching;
  Result<Json> plan = plan_with_edits(options.plans.front(), options.edits, presets);
  if (!plan) return print_errors(plan.errors(), options.json);
  Json request = plan.value().is_object() && plan.value().contains("plan") ? plan.value() : Json{{"plan", plan.value()}};
  request["objective"] = asked_for.objective;
  request["top"] = asked_for.top;
  if (asked_for.gpus) request["gpus"] = *asked_for.gpus;
  if (!asked_for.verdict.empty()) request["verdict"] = asked_for.verdict;
  if (!asked_for.vary.empty()) request["vary"] = list_of(asked_for.vary);
  if (asked_for.points) request["points"] = true;
  if (options.unit) request["unit"] = name_of(*options.unit);
  if (!options.cluster.empty()) {
    Result<Json> cluster = cluster_argument(options.cluster, presets);
    if (!cluster) return print_errors(in_file(options.cluster, cluster.errors()), options.json);
    request["cluster"] = std::move(cluster.value());
  }
  for (const std::string& fixed : asked_for.fix) {
    const std::size_t at = fixed.find('=');
    if (at == std::string::npos) return print_errors({Error{"--fix", value_text(Json(fixed)), "PATH=VALUE", value_text(Json(fixed)) + " has no =. Nearest: parallel.tensor=8"}}, options.json);
    request["fix"].push_back(Json::array({fixed.substr(0, at), fixed.substr(at + 1)}));
  }
  Result<std::unique_ptr<AskedSearch>> asked = asked_search(request, presets);
  if (!asked) return print_errors(asked.errors(), options.json);
  const AskedSearch& a = *asked.value();

  stop_is_asked = 0;
  std::signal(SIGINT, ask_to_stop);
  ProgressLine line;
  Search search(a.plans, a.options, a.constants);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  search_on(asked_for.threads > 0 ? static_cast<unsigned>(asked_for.threads) : cores, search, line);
  line.end(search);
  std::signal(SIGINT, SIG_DFL);
  const bool is_stopped = search.pieces() > 0;
  if (is_stopped) std::fprintf(stderr, "wireplan: stopped; what follows is the best of what was looked at\n");

  const SearchReport report = search_report(search, a.base, a.plans.back(), a.constants, a.unit);
  const ExitStatus status = is_stopped || report.top == 0 ? kAnswerIsNo : kDone;
  if (options.json) return print(dump_json(write_search(a, search, report, presets)), status);
  if (options.format == RenderFormat::csv) return print(search_csv(a, report, presets), status);
  Sheet sheet(options.format == RenderFormat::markdown);
  render_search(sheet, a, report, presets);
  return print(sheet.text(), status);
}

void define_search(CLI::App& app, Options& options) {
  SearchingOptions& s = options.searching;
  CLI::App* search = app.add_subcommand("search", "find the layouts that fit and are fastest");
  search->add_option("PLAN", options.plans, "the plan: its model, training and cluster")->required()->expected(1)->type_name("");
  search->add_option("--objective", s.objective, "what is best: throughput, memory, gpus (the fewest that hold it) or cost (GPU-seconds)")
      ->type_name("WHAT")
      ->check(CLI::IsMember(std::vector<std::string>(kNames<Objective>.begin(), kNames<Objective>.end())));
  search->add_option("--gpus", s.gpus, "on so many GPUs of the plan's cluster; with gpus and cost: at most so many")->type_name("N");
  search->add_option("--cluster", options.cluster, "on this cluster instead: a node's id or a file")->type_name("CLUSTER");
  search->add_option("--fix", s.fix, "a field that stays so, e.g. parallel.tensor=8; may be repeated")->type_name("PATH=VALUE")->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  std::string names;
  for (const std::string_view name : kNames<Vary>) names += (names.empty() ? "" : ",") + std::string(name);
  search->add_option("--vary", s.vary, "vary only these, the rest stays as the plan has it: " + names)->type_name("LIST");
  search->add_option("--top", s.top, "so many plans (default 10)")->type_name("K");
  search->add_option("--verdict", s.verdict, "may-not-fit: also plans whose need is near the limit (default: fits and tight)")->type_name("VERDICT")->check(CLI::IsMember({"fits", "tight", "may-not-fit"}));
  search->add_option("--threads", s.threads, "threads (default: one a core)")->type_name("N")->check(CLI::Range(1, 1024));
  search->add_flag("--points", s.points, "with --json: every layout that was evaluated");
  add_plan_options(*search, options);
  add_output_options(*search, options);
  search->footer("Examples:\n"
                 "  wireplan search story\n"
                 "  wireplan search llama-3-70b-megatron --gpus 1024 --fix parallel.context=1\n"
                 "  wireplan search story --objective gpus --vary data_sharding,micro_batch_size,recompute\n\n"
                 "Interrupted, it prints the best of what it has seen and ends with 1; so it does where nothing fits.\n\n" +
                 std::string(kPlanForms));
}

}  // namespace wireplan
