#include "native/measure/measure_command.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "core/answer/curves.hpp"
#include "core/base/format.hpp"
#include "core/base/statistics.hpp"
#include "core/count/messages.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/reader.hpp"
#include "native/collectives_command.hpp"
#include "native/measure/company.hpp"
#include "native/measure/gemm_command.hpp"
#include "native/measure/groups.hpp"
#include "native/measure/launch.hpp"
#include "native/measure/load.hpp"
#include "native/measure/prediction.hpp"
#include "native/measure/run_table.hpp"
#include "native/measure/session.hpp"
#include "native/measure/sweep.hpp"
#include "native/measurements.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

constexpr double kBegin = 1024, kEnd = 64.0 * 1024 * 1024;  // where -b and -e are not given
constexpr double kPairTolerance = 0.3;  // a choice: healthy pairs of one machine differ by a few percent, a link at half its lanes by 100

template <class E>
Result<E> named(const char* option, const std::string& name, const char* what) {
  if (const auto value = value_named<E>(name)) return *value;
  return Error{option, value_text(Json(name)), names_listed<E>(), value_text(Json(name)) + " is no " + what + did_you_mean(nearest_words(name, kNames<E>))};
}

Result<std::vector<Bytes>> sizes_asked(const CollectiveOptions& asked) {
  Result<Json> stated = stated_sizes(asked);
  if (!stated) return stated.errors();
  const auto or_else = [&](const char* key, double otherwise) { return stated.value().contains(key) ? stated.value()[key].get<double>() : otherwise; };
  SizeRange range{or_else("begin", kBegin), or_else("end", kEnd), or_else("factor", 2), or_else("step", 0)};
  if (asked.begin.empty()) range.begin = std::min(range.begin, range.end);
  if (asked.end.empty()) range.end = std::max(range.begin, range.end);
  Result<std::vector<Bytes>> sizes = sizes_of(range);
  if (sizes) return sizes;
  Errors errors = sizes.errors();
  for (Error& e : errors) e.path = e.path == "begin" ? "-b" : e.path == "end" ? "-e" : e.path == "factor" ? "-f" : "-i";
  return errors;
}

// All of a sweep that can be judged before a back-end is there.
Result<Sweep> sweep_asked(const Options& options) {
  const CollectiveOptions& asked = options.collectives;
  const MeasureOptions& how = options.measuring;
  Sweep sweep;
  Errors errors;
  const auto take = [&](auto&& result, auto& to) {
    if (result) to = std::move(result.value());
    else errors.insert(errors.end(), result.errors().begin(), result.errors().end());
  };
  take(sizes_asked(asked), sweep.sizes);
  take(named<ElementType>("-d", asked.dtype, "type"), sweep.type);
  take(named<Reduction>("--redop", asked.redop, "reduction"), sweep.redop);
  // One, several with commas between them, or all.
  std::string ops = how.pairs && !how.op_is_given ? "send_recv" : asked.op;
  const std::size_t known = errors.size();
  for (std::size_t comma = 0; comma != std::string::npos && errors.size() == known; ops.erase(0, comma + 1)) {
    comma = ops.find(',');
    const std::string op = ops.substr(0, comma);
    const std::size_t before = sweep.ops.size();
    for (std::size_t i = 0; i < kNames<Collective>.size(); ++i)
      if (const auto c = static_cast<Collective>(i); op == "all" || op == kNames<Collective>[i]) {
        if (std::find(sweep.ops.begin(), sweep.ops.end(), c) == sweep.ops.end()) sweep.ops.push_back(c);
        else if (op != "all") errors.push_back({"--op", value_text(Json(asked.op)), "each operation once", op + " is there twice. Nearest: once"});
      }
    if (sweep.ops.size() == before && errors.size() == known) errors.push_back({"--op", value_text(Json(op)), names_listed<Collective>() + " | all", value_text(Json(op)) + " is no operation" + did_you_mean(nearest_words(op, kNames<Collective>))});
  }
  sweep.iterations = asked.iterations;
  sweep.warm_up = asked.warm_up;
  sweep.root = how.root;
  sweep.out_of_place = how.place != "in";
  sweep.in_place = how.place != "out";
  sweep.looks_at_results = how.checks != 0;
  sweep.timeout_s = how.timeout_s;
  sweep.one_by_one = how.pairs;
  if (!errors.empty()) return errors;
  return sweep;
}

Result<Groups> groups_asked(const MeasureOptions& how, int ranks) {
  if (ranks < 2 && how.group != "0")
    return Error{"ranks", std::to_string(ranks), "2 or more", "one rank has nobody to talk to. Nearest: mpirun -n 2 wireplan measure --backend " + how.backend + "; --group 0 measures one rank by itself"};
  constexpr int kMostOfPairs = 1024;
  if (how.pairs && ranks > kMostOfPairs) return Error{"--pairs", std::to_string(ranks), "2 to 1,024 ranks", "--pairs of " + std::to_string(ranks) + " ranks are too many. Nearest: one node's"};
  if (how.pairs) return pairs_of(ranks);
  if (!how.group.empty()) return listed_group(how.group, ranks);
  if (!how.groups.empty()) return named_groups(how.groups, ranks);
  Groups all(1);
  for (int r = 0; r < ranks; ++r) all[0].push_back(r);
  return all;
}

// Prints rows as they come, those of a size on one line.
class Printer {
 public:
  Printer(const Sweep& sweep, bool prints, bool shows_progress) : sweep_(sweep), prints_(prints), shows_progress_(shows_progress) {}

  void row(const RunRow& row, std::size_t groups) {
    if (!prints_) return;
    waiting_.push_back(row);
    const std::size_t forms = has_in_place(row.call.op) ? static_cast<std::size_t>(sweep_.out_of_place) + static_cast<std::size_t>(sweep_.in_place) : 1;
    if (waiting_.size() >= groups * forms || row.report.outcome == CallOutcome::failed) flush(groups);
  }
  void progress(std::size_t done, std::size_t all, const std::string& next, double left_s) {
    if (!shows_progress_) return;
    std::fprintf(stderr, "\r\033[K%zu of %zu: %s%s", done + 1, all, next.c_str(), left_s < 0 ? "" : (", " + format_seconds(Seconds(left_s)) + " left").c_str());
    std::fflush(stderr);
  }
  void end() {
    if (shows_progress_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  void flush(std::size_t groups) {
    end();
    for (std::size_t g = 0; g < groups && g < waiting_.size(); ++g) {
      const RunRow* forms[2] = {nullptr, nullptr};
      for (const RunRow& r : waiting_)
        if (r.ranks == waiting_[g].ranks) forms[r.call.in_place] = &r;
      std::string title = "# " + std::string(name_of(waiting_[g].call.op)) + ", ranks";
      for (int r : waiting_[g].ranks) title += ' ' + std::to_string(r);
      if (title != title_) std::printf("%s\n", title.c_str());
      title_ = title;
      std::fputs(run_line(forms[0], forms[1]).c_str(), stdout);
    }
    std::fflush(stdout);
    waiting_.clear();
  }

  const Sweep& sweep_;
  bool prints_, shows_progress_;
  std::vector<RunRow> waiting_;
  std::string title_;
};

// With its host, where there are several.
std::string rank_text(const MeasuredRun& run, int rank) {
  const std::vector<std::string>& hosts = run.facts.hosts;
  const bool is_one = std::all_of(hosts.begin(), hosts.end(), [&](const std::string& h) { return h == hosts.front(); });
  return std::to_string(rank) + (is_one ? "" : " (" + plain_text(hosts[static_cast<std::size_t>(rank)], 60) + ")");
}

// Pairs that are slower than their wires, or than the others, at the largest size: one sentence each.
std::vector<std::string> slow_pairs(const MeasuredRun& run, double tolerance) {
  using Form = std::pair<Collective, bool>;  // in place or not
  const auto form_of = [](const RunRow& r) { return Form(r.call.op, r.call.in_place); };
  std::map<Form, Bytes> largest;
  for (const RunRow& r : run.rows) largest[form_of(r)] = std::max(largest[form_of(r)], r.size);
  std::vector<const RunRow*> rows;
  std::vector<std::string> slow;
  for (const RunRow& r : run.rows) {
    if (r.size != largest[form_of(r)] || r.ranks.size() != 2) continue;
    if (r.is_ok()) rows.push_back(&r);
    else slow.push_back(std::string(name_of(r.call.op)) + " of ranks " + rank_text(run, r.ranks[0]) + " and " + rank_text(run, r.ranks[1]) + " was not measured: " + r.report.message);
  }
  const auto middle_of = [&](const Form& form) {
    std::vector<double> rates;
    for (const RunRow* r : rows)
      if (form_of(*r) == form) rates.push_back(r->bus_bandwidth().value);
    return BytesPerSecond(quantile(std::move(rates), 0.5));
  };
  std::set<std::vector<int>> pairs;
  for (const RunRow* r : rows) {
    const BytesPerSecond rate = r->bus_bandwidth(), usual = r->predicted ? bus_factor(r->call.op, 2) * r->size / r->predicted->value : middle_of(form_of(*r));
    if (rate * (1 + tolerance) >= usual) continue;
    slow.push_back(std::string(name_of(r->call.op)) + " of ranks " + rank_text(run, r->ranks[0]) + " and " + rank_text(run, r->ranks[1]) + ": " + format_rate(rate) + " at " + format_message_size(r->size) + ", " +
                   (r->predicted ? "predicted " : "the median of all pairs is ") + format_rate(usual));
    pairs.insert(r->ranks);
  }
  // One rank that all of several have in common: its own link, not theirs.
  for (int rank = 0; rank < static_cast<int>(run.facts.hosts.size()) && pairs.size() > 1; ++rank)
    if (std::all_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p[0] == rank || p[1] == rank; })) slow.insert(slow.begin(), "all slow pairs have rank " + rank_text(run, rank) + " in common: its link is slow");
  return slow;
}

}  // namespace

std::variant<int, Measured> measure(const Options& options, const Presets& presets, const std::optional<Cluster>& cluster, const std::vector<Collective>& left_out, bool prints) {
  const MeasureOptions& how = options.measuring;
  const Launch launch = launch_from_environment();
  const auto refuse = [&](const Errors& errors) { return launch.rank == 0 ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  if (std::isnan(options.tolerance) || std::isnan(how.timeout_s)) return refuse({{"command line", "\"nan\"", "a number", "\"nan\" is no number"}});
  Result<Sweep> asked = sweep_asked(options);
  if (!asked) return refuse(asked.errors());
  Measured measured;
  Sweep& sweep = measured.sweep;
  sweep = std::move(asked.value());
  std::erase_if(sweep.ops, [&](Collective op) { return std::find(left_out.begin(), left_out.end(), op) != left_out.end(); });

  Refusal refusal;
  measured.backend = load_backend(how.backend, {how.use_graphs, how.register_buffers, how.timeout_s, options.collectives.per_node.value_or(0)}, refusal);
  if (!measured.backend) {
    const std::string other = how.backend == "nccl" ? ". --backend mpi measures host memory instead" : "";
    print_errors({{"--backend", value_text(Json(how.backend)), "a machine that has it", refusal.text + other}}, options.json && launch.rank == 0);
    return static_cast<int>(refusal.is_missing ? kCannotRunHere : kBadInput);
  }
  Backend& backend = *measured.backend;
  const bool is_first = measured.is_first();
  const auto refuse_all = [&](const Errors& errors) { return is_first ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  if (Errors errors = different_arguments(backend, std::string(kEngineVersion) + ' ' + options.words); !errors.empty()) return refuse_all(errors);
  Result<Groups> groups = groups_asked(how, backend.ranks());
  if (!groups) return refuse_all(groups.errors());
  sweep.groups = std::move(groups.value());
  if (sweep.root < 0 || sweep.root >= static_cast<int>(sweep.groups[0].size()))
    return refuse_all({{"--root", std::to_string(sweep.root), "0 to " + std::to_string(sweep.groups[0].size() - 1), "--root " + std::to_string(sweep.root) + " is no rank of a group of " + std::to_string(sweep.groups[0].size()) + ". Nearest: 0"}});

  MeasuredRun& run = measured.run;
  static_cast<Surroundings&>(run) = surroundings(backend, launch);
  run.cluster = nullptr;
  Predict predict;
  if (cluster) {
    run.cluster = write_cluster(*cluster);
    Result<Constants> constants = presets.constants();
    if (!constants) return refuse_all(constants.errors());
    predict = prediction_on(*cluster, std::make_shared<const Constants>(std::move(constants.value())));
    if (is_first && total_gpus(*cluster) < backend.ranks())
      std::fprintf(stderr, "wireplan: --cluster has %d GPUs, %d ranks measure: those beyond it have no prediction\n", static_cast<int>(total_gpus(*cluster)), backend.ranks());
  }

  RunFile file(how.output);
  const auto save = [&] {
    Errors errors = is_first ? file.write(run) : Errors{};
    if (!errors.empty()) print_errors(errors, false);  // once; the measuring goes on
  };
  save();
  Printer printer(sweep, is_first && prints, is_first && (how.progress || isatty(STDERR_FILENO)));
  if (is_first && prints) std::fputs(run_head(run).c_str(), stdout);
  const std::size_t at_once = sweep.one_by_one ? 1 : sweep.groups.size();
  SweepEvents events;
  events.on_row = [&](const RunRow& row) {
    run.rows.push_back(row);
    save();
    printer.row(row, at_once);
  };
  events.on_progress = [&](std::size_t done, std::size_t all, const std::string& next, double left_s) { printer.progress(done, all, next, left_s); };
  events.on_hang = [&](const RunRow& row) {
    run.rows.push_back(row);
    save();
    if (options.json) print(dump_json(write_run(run)), kAnswerIsNo);
    else if (options.format != RenderFormat::text) print(render_run(run, options.format), kAnswerIsNo);
    else printer.row(row, 1);
  };
  run_sweep(backend, sweep, predict, events);
  printer.end();
  run.is_complete = is_first && (run.rows.empty() || run.rows.back().report.outcome != CallOutcome::failed);
  if (is_first) save();
  measured.is_written = file.is_sound();
  for (const RunRow& r : run.rows)
    if (r.report.outcome == CallOutcome::failed) std::fprintf(stderr, "wireplan: %s\n", r.report.message.c_str());
  return measured;
}

Errors different_arguments(Backend& backend, const std::string& mine) {
  const std::vector<std::string> all = backend.exchange(mine);
  if (const Report r = backend.company(); !r) return {{"--backend", value_text(Json(std::to_string(backend.processes()) + " processes")), "all of them", r.message}};
  for (std::size_t p = 1; p < all.size(); ++p)
    if (all[p] != all[0])
      return {{"command line", value_text(Json(all[p])), value_text(Json(all[0])), "process " + std::to_string(p) + " was started with other arguments, or is another version, than process 0: " + value_text(Json(all[p])) + " against " + value_text(Json(all[0]))}};
  return {};
}

ExitStatus Measured::agreed(ExitStatus mine) { return status_of_first(*backend, mine); }

int run_measure(const Options& options, const Presets& presets) {
  if (options.subcommand == "gemm") return run_measure_gemm(options);
  std::optional<Cluster> cluster;
  if (!options.cluster.empty()) {
    Result<Cluster> named = named_cluster(options.cluster, presets);
    if (!named) return print_errors(named.errors(), options.json && launch_from_environment().rank == 0);  // files may differ between hosts: each process says it
    cluster = std::move(named.value());
  }
  const bool is_text = !options.json && options.format == RenderFormat::text;
  auto result = measure(options, presets, cluster, {}, is_text);
  if (const int* refused = std::get_if<int>(&result)) return *refused;
  Measured& measured = std::get<Measured>(result);
  const MeasuredRun& run = measured.run;
  std::vector<std::string> slow;
  if (options.measuring.pairs) slow = slow_pairs(run, options.tolerance > 0 ? options.tolerance : kPairTolerance);
  const bool is_no = !slow.empty() || std::any_of(run.rows.begin(), run.rows.end(), is_bad);
  const ExitStatus exit = measured.agreed(!measured.is_written ? kBadInput : is_no ? kAnswerIsNo : kDone);
  if (!measured.is_first()) return exit;
  for (const std::string& text : slow) std::fprintf(stderr, "wireplan: slow pair: %s\n", text.c_str());
  if (options.json) return print(dump_json(write_run(run)), exit);
  if (!is_text) return print(render_run(run, options.format), exit);
  std::string tail;
  if (options.measuring.pairs && !run.rows.empty() && measured.sweep.ops.size() == 1) tail += pairs_square(run, run.rows.back().size, measured.backend->ranks());
  double wrong = 0;
  for (const RunRow& r : run.rows) wrong += static_cast<double>(r.wrong.value_or(0));
  const bool has_looked = std::any_of(run.rows.begin(), run.rows.end(), [](const RunRow& r) { return r.wrong.has_value(); });
  tail += wrong > 0 ? "# " + format_exact(wrong) + " elements were WRONG.\n" : has_looked ? "# All results that were looked at are right.\n" : "";
  return print(tail, exit);
}

void add_measuring_options(CLI::App& command, Options& options) {
  CollectiveOptions& asked = options.collectives;
  MeasureOptions& how = options.measuring;
  command.add_option("--backend", how.backend, "nccl (default) or mpi: host memory, MPI's own collectives")->type_name("NAME")->check(CLI::IsMember({"nccl", "mpi"}));
  command.add_option_function<std::string>("--op", [&](const std::string& op) { asked.op = op; how.op_is_given = true; }, "all_reduce (default), all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv, scatter, gather; several with commas; all: each")->type_name("NAME");
  add_size_options(command, asked, "1K", "64M");
  command.add_option("-n,--iters", asked.iterations, "timed calls of a size (default 20)")->type_name("N")->check(CLI::Range(1, 100000));
  command.add_option("-w,--warmup_iters", asked.warm_up, "calls before them (default 5)")->type_name("N")->check(CLI::Range(0, 100000));
  command.add_option("-g,--ngpus", asked.per_node, "GPUs that one process drives (default: one where a launcher started several, else all)")->type_name("N")->check(CLI::Range(1, 1024));
  command.add_option("--timeout", how.timeout_s, "seconds that one size may take before all give up (default 300; 0: for ever)")->type_name("S")->check(CLI::Range(0.0, 1e6));
  command.add_flag("--progress", how.progress, "say on standard error what is under way, also where that is no terminal");
}

void define_measure(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("measure", "run real collectives and put the prediction beside them");
  MeasureOptions& how = options.measuring;
  add_measuring_options(*command, options);
  command->add_option("-r,--root", how.root, "place in the group that sends or receives all (default 0)")->type_name("RANK");
  command->add_option("-c,--check", how.checks, "0: do not look at the results")->type_name("0|1")->check(CLI::Range(0, 1));
  command->add_option("--place", how.place, "in: in place only, out: out of place only (default both)")->type_name("WHICH")->check(CLI::IsMember({"in", "out", "both"}));
  auto* group = command->add_option("--group", how.group, "only these ranks, in this order: 0,1,2,3; 0: rank 0 by itself, to try an installation")->type_name("LIST");
  auto* groups = command->add_option("--groups", how.groups, "equal groups that call at the same time: tp=4 four neighbouring ranks each, dp=4 ranks that lie apart")->type_name("KIND=N");
  auto* pairs = command->add_flag("--pairs", how.pairs, "every two ranks by themselves (send_recv unless --op says else); exit status 1 when one is slow");
  group->excludes(groups)->excludes(pairs);
  groups->excludes(pairs);
  command->add_option("--cluster", options.cluster, "what is measured, for the prediction: a node's id or a file")->type_name("CLUSTER");
  command->add_option("--tolerance", options.tolerance, "with --pairs: how much slower a pair may be than predicted, or without --cluster than the median of all pairs (default 0.3)")->type_name("SHARE")->check(CLI::Range(1e-6, 100.0));
  command->add_option("-o,--output", how.output, "the run document, replaced as a whole after every row")->type_name("FILE");
  command->add_flag("-G,--cudagraph", how.use_graphs, "call through a CUDA graph");
  command->add_flag("-R,--local_register", how.register_buffers, "register the buffers with NCCL");
  define_measure_gemm(*command, options);
  add_output_options(*command, options);
  command->footer("Every process measures the same; start them with mpirun, srun or torchrun. Sizes, counts and bandwidths mean what they mean in nccl-tests.\n"
                  "Exit status: 0 done, 1 wrong results, a call that failed or a slow pair, 2 bad input, 77 this machine cannot run it.\n\nExamples:\n"
                  "  wireplan measure -b 1K -e 1G -f 2 -o run.json\n"
                  "  wireplan measure --pairs -b 256M -e 256M --cluster dgx-a100-80gb\n"
                  "  mpirun -n 4 wireplan measure --backend mpi --op all -e 4M");
}

}  // namespace wireplan
