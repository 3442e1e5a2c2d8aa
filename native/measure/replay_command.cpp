#include "native/measure/replay_command.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/format.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/request.hpp"
#include "native/files.hpp"
#include "native/measure/company.hpp"
#include "native/measure/load.hpp"
#include "native/measure/measure_command.hpp"
#include "native/measure/replay_result.hpp"
#include "native/measure/session.hpp"
#include "native/measure/watchdog.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

constexpr double kTolerance = 0.1;   // of the step's time, where --tolerance does not say
constexpr double kMostJobs = 200'000;  // of a rank

Result<StatedPlan> plan_asked(const Options& options, const Presets& presets) {
  Result<Json> document = plan_with_edits(options.plans.front(), options.edits, presets);
  if (!document) return document.errors();
  Result<StatedPlan> stated = stated_plan(document.value(), presets);
  const std::string& file = options.replaying.profile;
  if (!stated || file.empty()) return stated;
  Result<Json> json = read_document(file);
  if (!json) return in_file(file, json.errors());
  Result<Profile> profile = read_profile(json.value());
  if (!profile) return in_file(file, profile.errors(), true);
  stated.value().plan.cluster.profile = std::move(profile.value());
  return stated;
}

Errors other_world(const Plan& plan, int ranks, const std::string& backend) {
  const Count gpus = total_gpus(plan.cluster);
  if (gpus == ranks) return {};
  std::string nearest = "mpirun -n " + std::to_string(gpus) + " wireplan replay --backend " + backend;
  if (ranks % plan.cluster.gpus_per_node == 0) nearest += ", or --set cluster.nodes=" + std::to_string(ranks / plan.cluster.gpus_per_node);
  else if (plan.cluster.nodes == 1) nearest += ", or --set cluster.gpus_per_node=" + std::to_string(ranks);
  return {{"cluster", std::to_string(gpus), std::to_string(ranks) + " GPUs, as ranks were started", "the plan has " + std::to_string(gpus) + " GPUs, but " + std::to_string(ranks) + " ranks were started. Nearest: " + nearest}};
}

// Plays the step again and again; what comes back is of all processes.
class Player {
 public:
  Player(Backend& backend, const Schedules& schedules, ProcessJobs jobs, Replay& replay, const Options& options)
      : backend_(backend), company_(backend), schedules_(schedules), jobs_(std::move(jobs)), replay_(replay), options_(options), own_(backend.own_ranks()),
        watchdog_(options.measuring.timeout_s, [this](const std::string& what) { hang(what); }) {}

  // The first play warms up, and is not counted.
  void play(int repeats, bool with_products) {
    with_products_ = with_products;
    if (is_first()) judge(replay_, schedules_, repeats_, with_products_);  // so that a hang in the warm-up has the prediction beside it
    save();
    watchdog_.watch("meeting the other processes");
    company_.meet();
    watchdog_.watch("making communicators");
    if (!agreed(backend_.open(schedules_.groups_of_gpus()), {})) return;
    for (int i = 0; i <= repeats; ++i) {
      const std::string what = i == 0 ? "warming up" : "repeat " + std::to_string(i) + " of " + std::to_string(repeats);
      tell(what);
      watchdog_.watch(what + " of the step");
      std::vector<std::vector<JobTime>> times;
      const Report report = backend_.play(jobs_.list, times);
      if (!agreed(report, report ? numbers_of(times) : std::vector<double>{})) return;
      if (i > 0) add_repeat();
    }
    watchdog_.rest();
    replay_.is_complete = true;
    if (is_first()) judge(replay_, schedules_, repeats_, with_products_);
    save();
  }
  Errors unwritten;

 private:
  bool is_first() const { return company_.is_first(); }

  std::vector<double> numbers_of(const std::vector<std::vector<JobTime>>& times) const {
    std::vector<double> numbers;
    for (std::size_t g = 0; g < own_.size(); ++g)
      for (const std::vector<int>& parts : jobs_.jobs_of[g]) {
        numbers.push_back(times[g][static_cast<std::size_t>(parts.front())].start);
        numbers.push_back(times[g][static_cast<std::size_t>(parts.back())].end);
      }
    return numbers;
  }

  bool agreed(const Report& mine, std::vector<double> numbers) {
    const Report worst = company_.agreed(mine, std::move(numbers));
    if (worst) return true;
    watchdog_.rest();
    replay_.failure = worst.message;
    if (is_first()) judge(replay_, schedules_, repeats_, with_products_);
    save();
    return false;
  }

  void add_repeat() {
    if (!is_first()) return;
    PlayedTimes times(schedules_.jobs.size());
    for (std::size_t p = 0; p < company_.told().size(); ++p) {
      std::size_t at = 0;
      for (int gpu : company_.owners()[p]) {
        const std::size_t count = schedules_.jobs[static_cast<std::size_t>(gpu)].size();
        for (std::size_t j = 0; j < count && at + 1 < company_.told()[p].numbers.size(); ++j, at += 2) times[static_cast<std::size_t>(gpu)].push_back({Seconds(company_.told()[p].numbers[at]), Seconds(company_.told()[p].numbers[at + 1])});
        times[static_cast<std::size_t>(gpu)].resize(count);
      }
    }
    repeats_.push_back(std::move(times));
    judge(replay_, schedules_, repeats_, with_products_);
    save();
  }

  void save() {
    if (!is_first() || options_.measuring.output.empty() || !unwritten.empty()) return;
    unwritten = write_file("--output", options_.measuring.output, dump_json(write_replay(replay_)));
    if (!unwritten.empty()) print_errors(unwritten, false);  // once; the playing goes on
  }

  void tell(const std::string& what) const {
    if (!is_first() || (!options_.measuring.progress && !isatty(STDERR_FILENO))) return;
    std::fprintf(stderr, "\r\033[K%s, predicted %s a step", what.c_str(), format_seconds(schedules_.cost.time.value).c_str());
    std::fflush(stderr);
  }

  void hang(const std::string& what) {
    company_.give_up(what + " has not ended", options_.measuring.timeout_s, [this](const std::string& text) {
      replay_.failure = text;
      replay_.findings.push_back({"failed", text, ""});
      save();
      print(options_.json ? dump_json(write_replay(replay_)) : render_replay(replay_, options_.format), kAnswerIsNo);
    });
  }

  Backend& backend_;
  Company company_;
  const Schedules& schedules_;
  const ProcessJobs jobs_;
  Replay& replay_;
  const Options& options_;
  const std::vector<int> own_;
  std::vector<PlayedTimes> repeats_;
  bool with_products_ = false;
  Watchdog watchdog_;  // last: its thread sees the members above
};

}  // namespace

int run_replay(const Options& options, const Presets& presets) {
  const MeasureOptions& how = options.measuring;
  const Launch launch = launch_from_environment();
  const auto refuse = [&](const Errors& errors) { return launch.rank == 0 ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  if (std::isnan(options.tolerance) || std::isnan(how.timeout_s)) return refuse({{"command line", "\"nan\"", "a number", "\"nan\" is no number"}});
  if (options.plans.front() == "-" && launch.processes > 1) return refuse({{"PLAN", "\"-\"", "a file, a scenario id or a link", "every process reads the plan, and a launcher gives standard input to one. Nearest: a file that all hosts see"}});
  Result<StatedPlan> stated = plan_asked(options, presets);
  if (!stated) return print_errors(stated.errors(), options.json && launch.rank == 0);  // files may differ between hosts: each process says it
  Result<Constants> constants = presets.constants();
  if (!constants) return refuse(constants.errors());
  const Plan& plan = stated.value().plan;

  Refusal refusal;
  BackendRequest request;
  request.timeout_s = how.timeout_s;
  request.per_process = options.collectives.per_node.value_or(0);
  LoadedBackend backend = load_backend(how.backend, request, refusal);
  if (!backend) {
    const std::string other = how.backend == "nccl" ? ". --backend mpi plays it on host memory instead" : "";
    print_errors({{"--backend", value_text(Json(how.backend)), "a machine that has it", refusal.text + other}}, options.json && launch.rank == 0);
    return refusal.is_missing ? kCannotRunHere : kBadInput;
  }
  const bool is_first = backend->process() == 0;
  const auto refuse_all = [&](const Errors& errors) { return is_first ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  if (Errors errors = different_arguments(*backend, std::string(kEngineVersion) + ' ' + options.words); !errors.empty()) return refuse_all(errors);
  const std::vector<std::string> plans = backend->exchange(dump_json_compact(write_plan(plan)));
  if (const Report r = backend->company(); !r) return refuse_all({{"--backend", value_text(Json(how.backend)), "all processes", r.message}});
  for (std::size_t p = 1; p < plans.size(); ++p)
    if (plans[p] != plans[0]) return refuse_all({{"PLAN", value_text(Json(options.plans.front())), "the same plan for every process", "process " + std::to_string(p) + " read another plan or profile than process 0: files of that name differ between hosts"}});
  if (Errors errors = other_world(plan, backend->ranks(), how.backend); !errors.empty()) return refuse_all(errors);

  Replay replay;
  replay.plan = plan;
  replay.estimate = estimate(plan, constants.value());
  replay.tolerance = options.tolerance > 0 ? options.tolerance : kTolerance;
  const StepCost& cost = replay.estimate.cost;
  if (const double jobs = step_job_count(plan, cost); jobs > kMostJobs)
    return refuse_all({{"training.global_batch_size", format_exact(static_cast<double>(plan.training.global_batch_size)), "at most " + format_count(kMostJobs) + " jobs of a rank", "a step is about " + format_count(jobs) + " jobs of a rank, too many to play. Nearest: a smaller training.global_batch_size"}});
  if (const Seconds step = cost.time.value; how.timeout_s > 0 && step.value >= how.timeout_s)
    return refuse_all({{"--timeout", format_exact(how.timeout_s), "more than " + format_seconds(step), "a step is predicted to take " + format_seconds(step) + ", longer than --timeout. Nearest: --timeout " + format_fixed(std::ceil(3 * step.value), 0)}});
  const Schedules schedules(plan, cost, constants.value().efficiency);
  static_cast<Surroundings&>(replay) = surroundings(*backend, launch);
  const bool with_products = replay.facts.has_products;
  Result<ProcessJobs> jobs = process_jobs(schedules, backend->own_ranks(), with_products);
  const std::vector<std::string> sound = backend->exchange(jobs ? "" : jobs.errors().front().text);
  if (!jobs) return refuse_all(jobs.errors());
  for (const std::string& text : sound)
    if (!text.empty()) return refuse_all({{"parallel.pipeline", std::to_string(plan.parallel.pipeline), "one process for each GPU", text}});

  Player player(*backend, schedules, std::move(jobs.value()), replay, options);
  player.play(options.replaying.repeats, with_products);
  if (is_first && (how.progress || isatty(STDERR_FILENO))) std::fprintf(stderr, "\r\033[K");
  const ExitStatus exit = status_of_first(*backend, !is_first ? kDone : !player.unwritten.empty() ? kBadInput : replay.is_within() ? kDone : kAnswerIsNo);
  if (!is_first) return exit;
  if (!replay.failure.empty()) std::fprintf(stderr, "wireplan: %s\n", replay.failure.c_str());
  return print(options.json ? dump_json(write_replay(replay)) : render_replay(replay, options.format), exit);
}

void define_replay(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("replay", "run the communication of a plan's step on this machine, beside the prediction");
  MeasureOptions& how = options.measuring;
  command->add_option("PLAN", options.plans, "the plan")->required()->expected(1)->type_name("");
  add_plan_options(*command, options);
  command->add_option("--backend", how.backend, "nccl (default) or mpi: host memory, MPI's own collectives, compute as waits")->type_name("NAME")->check(CLI::IsMember({"nccl", "mpi"}));
  command->add_option("-g,--ngpus", options.collectives.per_node, "GPUs that one process drives (default: one where a launcher started several, else all)")->type_name("N")->check(CLI::Range(1, 1024));
  command->add_option("--profile", options.replaying.profile, "this machine's own curves (validate --out), in place of the plan's cluster.profile")->type_name("FILE");
  command->add_option("--repeats", options.replaying.repeats, "steps that are played, after one that warms up (default 5)")->type_name("N")->check(CLI::Range(1, 1000));
  command->add_option("--tolerance", options.tolerance, "how far the step may be from its prediction (default 0.1)")->type_name("SHARE")->check(CLI::Range(1e-6, 100.0));
  command->add_option("-o,--output", how.output, "the document, replaced as a whole after every repeat")->type_name("FILE");
  command->add_option("--timeout", how.timeout_s, "seconds that one step may take before all give up (default 300; 0: for ever)")->type_name("S")->check(CLI::Range(0.0, 1e6));
  command->add_flag("--progress", how.progress, "say on standard error what is under way, also where that is no terminal");
  add_output_options(*command, options);
  command->footer("Start as many ranks as the plan has GPUs; rank r stands for GPU r. Every message of the step is sent for real, in its group, size and order, beside\n"
                  "compute of the predicted length: waits with mpi, the model's matrix products with nccl. What waits for what is the rule the estimate adds up.\n"
                  "error = predicted / measured - 1. Exit status: 0 the step is within --tolerance of its prediction, 1 it is not or a call failed, 2 bad input,\n"
                  "77 this machine cannot run it.\n\nExamples:\n"
                  "  wireplan replay plan.json\n"
                  "  mpirun -n 4 wireplan replay story --backend mpi --profile report/profile.json\n"
                  "  srun -n 16 wireplan replay plan.json --set parallel.data_sharding=fsdp --repeats 20 -o replay.json\n\n" +
                  std::string("PLAN is a file, a scenario id (wireplan presets scenarios), a share link, or - for standard input where one process runs."));
}

}  // namespace wireplan
