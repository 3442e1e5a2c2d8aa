#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "core/text/plan_json.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/read_run.hpp"
#include "core/text/render_measurements.hpp"
#include "core/text/report_html.hpp"
#include "core/text/request.hpp"
#include "native/files.hpp"
#include "native/measure/launch.hpp"
#include "native/measure/measure_command.hpp"
#include "native/measurements.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

namespace fs = std::filesystem;

struct Measurements {
  Profile profile;
  std::vector<Note> notes;
};

Errors named(Errors errors, const std::string& file) {
  for (Error& e : errors) e.path = e.path.empty() ? file : file + ": " + e.path;
  return errors;
}

void add_imported(ImportedMeasurements found, std::vector<MeasuredCurve>& curves, Measurements& all) {
  for (MeasuredCurve& c : found.profile.curves) curves.push_back(std::move(c));
  for (Note& n : found.notes) all.notes.push_back(std::move(n));
  for (auto [to, from] : {std::pair(&all.profile.machine, &found.profile.machine), std::pair(&all.profile.date, &found.profile.date), std::pair(&all.profile.software, &found.profile.software)})
    if (to->empty()) *to = *from;
}

// A profile, a run, or a log of nccl-tests.
Errors add_file(const std::string& file, const Cluster& cluster, Measurements& all) {
  Result<std::string> text = read_lines(file);
  if (!text) return text.errors();
  const std::size_t start = text.value().find_first_not_of(" \t\r\n");
  const bool is_document = start != std::string::npos && text.value()[start] == '{';
  Result<Json> json = is_document ? parse_json(text.value()) : Result<Json>(Json());
  const bool is_ours = is_document && json && json.value().is_object() && (is_run(json.value()) || json.value().contains("schema"));
  if (is_document && !json && text.value().find("\"wireplan.") != std::string::npos) return named(json.errors(), file);
  std::vector<MeasuredCurve> curves;
  if (is_ours && !is_run(json.value())) {
    Result<Profile> profile = read_profile(json.value());
    if (!profile) return named(profile.errors(), file);
    curves = profile.value().curves;
    if (all.profile.curves.empty()) all.profile = std::move(profile.value());
    all.profile.curves.clear();
  } else {
    Result<ImportedMeasurements> found = is_ours ? import_run(json.value(), cluster.gpus_per_node) : import_nccl_tests(text.value());
    if (!found) return named(found.errors(), file);
    add_imported(std::move(found.value()), curves, all);
  }
  for (MeasuredCurve& c : curves) all.profile.curves.push_back(std::move(c));
  return {};
}

// Whether `op`, or one of all operations, is not among the known ones. A name that is none is missing: measure() says what is wrong with it.
bool is_missing(const std::string& op, const std::vector<Collective>& known) {
  const auto is_known = [&](Collective c) { return std::find(known.begin(), known.end(), c) != known.end(); };
  if (op != "all") {
    const std::optional<Collective> only = value_named<Collective>(op);
    return !only || !is_known(*only);
  }
  for (std::size_t i = 0; i < kNames<Collective>.size(); ++i)
    if (!is_known(static_cast<Collective>(i))) return true;
  return false;
}

// Curves of the same operation and GPUs are one; repeats become their median.
void merge_curves(std::vector<MeasuredCurve>& curves) {
  std::vector<MeasuredCurve> merged;
  for (MeasuredCurve& c : curves) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const MeasuredCurve& m) { return m.collective == c.collective && m.ranks == c.ranks && m.nodes == c.nodes && m.gpus == c.gpus && m.dtype == c.dtype && m.launch == c.launch; });
    if (same == merged.end()) merged.push_back(std::move(c));
    else same->points.insert(same->points.end(), c.points.begin(), c.points.end());
  }
  for (MeasuredCurve& c : merged) merge_repeats(c.points);
  curves = std::move(merged);
}

Profile profile_of(const Measurements& measured, const MachineReport& report) {
  Profile profile = measured.profile;
  profile.fits.clear();
  for (const MachineFit& f : report.fits)
    if (f.rate.value > 0) profile.fits.push_back({f.collective, f.link_class, f.latency, f.rate});
  return profile;
}

Errors write_folder(const std::string& folder, const Measurements& measured, const MachineReport& report) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return {{"--out", value_text(Json(folder)), "a folder that can be written", "cannot make the folder " + value_text(Json(folder)) + ": " + error.message()}};
  const Profile profile = profile_of(measured, report);
  const ReportTitle title{profile.machine, profile.date, profile.software};
  if (Errors errors = write_file("--out", fs::path(folder) / "report.html", machine_report_html(report, measured.notes, title)); !errors.empty()) return errors;
  const std::string markdown = render_machine_report(report, measured.notes, RenderFormat::markdown);
  if (Errors errors = write_file("--out", fs::path(folder) / "report.md", markdown); !errors.empty()) return errors;
  if (Errors errors = write_file("--out", fs::path(folder) / "profile.json", dump_json(write_profile(profile))); !errors.empty()) return errors;
  return write_file("--out", fs::path(folder) / "report.json", dump_json(write_machine_report(report, measured.notes)));
}

// A share link that opens the page with this machine's own curves: CLUSTER's plan where it is one, else the story's model on all of its GPUs.
Result<std::string> link_with_profile(const Options& options, Cluster cluster, Profile profile, const Presets& presets) {
  cluster.profile = std::move(profile);
  Result<Json> stated = cluster_argument(options.cluster, presets);
  if (!stated) return stated.errors();
  Json plan = stated.value().is_object() && stated.value().contains("model") ? stated.value() : Json::object();
  if (plan.empty()) {
    Result<Json> story = parse_json(presets.text("scenarios", "story"));
    if (!story) return story.errors();
    plan = std::move(story.value()["plan"]);
    Json parallel = Json::object();
    put(parallel, "data", static_cast<double>(total_gpus(cluster)));
    put(parallel, "data_sharding", "fsdp");
    plan["parallel"] = std::move(parallel);
    plan["training"]["global_batch_size"] = number(static_cast<double>(total_gpus(cluster)));
  }
  plan["cluster"] = write_cluster_part(cluster);
  Result<Json> link = answer("format_link", Json{{"plan", std::move(plan)}}, presets);
  if (!link) return link.errors();
  return link.value().at("link").get<std::string>() + '\n';
}

}  // namespace

int run_validate(const Options& options, const Presets& presets) {
  const bool is_first = launch_from_environment().rank == 0;
  const auto refuse = [&](const Errors& errors) { return is_first ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  const auto missing = [&](const char* what, const char* text) { return refuse({Error{what, "", "required", text}}); };
  if (options.files.empty() && !options.measure) return missing("FILE", "a file is missing: a log of nccl-tests, a profile or a run; or --measure, to measure now");
  if (std::isnan(options.tolerance))  // passes for a value in range
    return refuse({Error{"--tolerance", "\"nan\"", "0.000001 to 100", "a tolerance is a share of the measured time, not \"nan\". Nearest: 0.2, or leave it out"}});
  if (options.cluster.empty()) return missing("--cluster", "--cluster is missing: what was measured, as the id of a node (wireplan presets nodes) or a file");
  Result<Cluster> cluster = named_cluster(options.cluster, presets);
  if (!cluster) return print_errors(cluster.errors(), options.json && is_first);  // files may differ between hosts: each process says it
  cluster.value().profile.reset();  // else what was measured is compared with itself
  Result<Constants> constants = presets.constants();
  if (!constants) return refuse(constants.errors());
  Measurements measurements;
  Errors errors;
  if (options.measure && launch_from_environment().processes > 1 && std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    return refuse({Error{"FILE", "\"-\"", "a file", "every process reads the files, and a launcher gives standard input to one. Nearest: a file that all hosts see"}});
  for (const std::string& file : options.files)
    for (Error& e : add_file(file, cluster.value(), measurements)) errors.push_back(std::move(e));
  if (!errors.empty()) return print_errors(errors, options.json && is_first);

  std::optional<Measured> now;
  if (options.measure) {
    std::vector<Collective> known;  // what the files hold need not be measured
    for (const MeasuredCurve& c : measurements.profile.curves)
      if (c.ranks == static_cast<int>(total_gpus(cluster.value()))) known.push_back(c.collective);
    Options asked = options;
    if (!options.measuring.op_is_given) asked.collectives.op = "all";
    asked.measuring.place = "out";
    for (const Collective c : known) asked.words += " without " + std::string(name_of(c));  // processes whose files differ must not start different calls
    if (!options.out_folder.empty()) {  // so that a hang or a kill leaves the rows before it
      std::error_code ignored;
      if (is_first) fs::create_directories(options.out_folder, ignored);
      asked.measuring.output = (fs::path(options.out_folder) / "run.json").string();
    }
    if (is_missing(asked.collectives.op, known)) {
      auto result = measure(asked, presets, cluster.value(), known, false);
      if (const int* refused = std::get_if<int>(&result)) return *refused;
      now = std::move(std::get<Measured>(result));
      if (!now->is_first()) return now->agreed(kDone);
      Result<ImportedMeasurements> found = import_run(write_run(now->run), cluster.value().gpus_per_node);
      if (!found) return static_cast<int>(now->agreed(static_cast<ExitStatus>(print_errors(found.errors(), options.json))));
      add_imported(std::move(found.value()), measurements.profile.curves, measurements);
    } else if (!is_first) {
      return kDone;
    }
  }
  const auto finish = [&](int status) { return now ? static_cast<int>(now->agreed(static_cast<ExitStatus>(status))) : status; };

  merge_curves(measurements.profile.curves);
  const PreparedCluster prepared = prepare(cluster.value(), constants.value().links);
  const MachineReport report = machine_report(measurements.profile.curves, prepared, options.tolerance);
  if (report.rows.empty()) {
    for (const Note& n : measurements.notes)
      if (n.severity == Severity::error) errors.push_back({"FILE", "", "calls that end with right results", n.text});
    if (!errors.empty()) return finish(print_errors(errors, options.json, kAnswerIsNo));
    for (const std::string& text : report.left_out) errors.push_back({"--cluster", value_text(Json(options.cluster)), "the cluster that was measured", text + ". Nearest: state the number of nodes and GPUs in a cluster document"});
    if (errors.empty()) errors.push_back({"FILE", "", "measured curves", "the files hold no measured curve"});
    return finish(print_errors(errors, options.json));
  }
  if (!options.out_folder.empty())
    if (errors = write_folder(options.out_folder, measurements, report); !errors.empty()) return finish(print_errors(errors, options.json));
  const ExitStatus status = is_sound(report, measurements.notes) ? kDone : kAnswerIsNo;
  if (options.print_link) {
    Result<std::string> link = link_with_profile(options, cluster.value(), profile_of(measurements, report), presets);
    return finish(link ? print(link.value(), status) : print_errors(link.errors(), options.json));
  }
  return finish(print(options.json ? dump_json(write_machine_report(report, measurements.notes)) : render_machine_report(report, measurements.notes, options.format), status));
}

void define_validate(CLI::App& app, Options& options) {
  CLI::App* validate = app.add_subcommand("validate", "compare measured collectives with the prediction");
  validate->add_option("FILE", options.files, "logs of nccl-tests, profiles, runs; - for standard input")->type_name("");
  validate->add_option("--cluster", options.cluster, "the cluster that was measured: a node's id or a file")->type_name("CLUSTER");
  validate->add_option("--tolerance", options.tolerance, "largest error, e.g. 0.2; left out: the band of the prediction")->type_name("SHARE")->check(CLI::Range(1e-6, 100.0));
  validate->add_option("--out", options.out_folder, "folder for profile.json, report.json, report.html and report.md, with --measure run.json as well; nothing is written without it")->type_name("DIR");
  validate->add_flag("--print-link", options.print_link, "print a share link that opens the page with the profile inside, instead of the report; refused where it is too large");
  validate->add_flag("--measure", options.measure, "first measure the operations that the files do not hold, with all ranks; then the options below count");
  add_measuring_options(*validate, options);
  add_output_options(*validate, options);
  validate->footer("error = predicted / measured - 1. Exit status 0: of each curve at least three quarters of the sizes are within; 1: they are not, or results were wrong;\n"
                   "77: this machine cannot measure.\n\n"
                   "Examples:\n"
                   "  wireplan validate all_reduce.txt all_gather.txt --cluster dgx-a100-80gb\n"
                   "  wireplan validate profile.json --cluster cluster.json --tolerance 0.1 --out report\n"
                   "  mpirun -n 4 wireplan validate --measure --backend mpi --cluster hosts.json -e 4M --out report");
}

}  // namespace wireplan
