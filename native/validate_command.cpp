#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "core/text/plan_json.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/read_run.hpp"
#include "core/text/render_measurements.hpp"
#include "core/text/request.hpp"
#include "native/files.hpp"
#include "native/measurements.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

namespace fs = std::filesystem;

struct Measured {
  Profile profile;
  std::vector<Note> notes;
};

Errors named(Errors errors, const std::string& file) {
  for (Error& e : errors) e.path = e.path.empty() ? file : file + ": " + e.path;
  return errors;
}

// A profile, a run, or a log of nccl-tests.
Errors add_file(const std::string& file, const Cluster& cluster, Measured& all) {
  Result<std::string> text = read_lines(file);
  if (!text) return text.errors();
  const std::size_t start = text.value().find_first_not_of(" \t\r\n");
  const bool is_document = start != std::string::npos && text.value()[start] == '{' && text.value().find("\"wireplan.") != std::string::npos;
  std::vector<MeasuredCurve> curves;
  if (!is_document) {
    Result<ImportedMeasurements> found = import_nccl_tests(text.value());
    if (!found) return named(found.errors(), file);
    curves = std::move(found.value().profile.curves);
    for (Note& n : found.value().notes) all.notes.push_back(std::move(n));
    for (auto [to, from] : {std::pair(&all.profile.machine, &found.value().profile.machine), std::pair(&all.profile.date, &found.value().profile.date), std::pair(&all.profile.software, &found.value().profile.software)})
      if (to->empty()) *to = *from;
  } else {
    Result<Json> json = parse_json(text.value());
    if (!json) return named(json.errors(), file);
    const auto schema = json.value().find("schema");
    if (schema != json.value().end() && *schema == "wireplan.run/1") {
      Result<std::vector<MeasuredCurve>> run = read_run_curves(json.value(), cluster.gpus_per_node);
      if (!run) return named(run.errors(), file);
      curves = std::move(run.value());
    } else {
      Result<Profile> profile = read_profile(json.value());
      if (!profile) return named(profile.errors(), file);
      curves = profile.value().curves;
      if (all.profile.curves.empty()) all.profile = std::move(profile.value());
      all.profile.curves.clear();
    }
  }
  for (MeasuredCurve& c : curves) all.profile.curves.push_back(std::move(c));
  return {};
}

Errors write_folder(const std::string& folder, const Measured& measured, const MachineReport& report) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return {{"--out", value_text(Json(folder)), "a folder that can be written", "cannot make the folder " + value_text(Json(folder)) + ": " + error.message()}};
  Profile profile = measured.profile;
  profile.fits.clear();
  for (const MachineFit& f : report.fits)
    if (f.rate.value > 0) profile.fits.push_back({f.collective, f.link_class, f.latency, f.rate});
  if (Errors errors = write_file("--out", fs::path(folder) / "profile.json", dump_json(write_profile(profile))); !errors.empty()) return errors;
  return write_file("--out", fs::path(folder) / "report.json", dump_json(write_machine_report(report, measured.notes)));
}

}  // namespace

int run_validate(const Options& options, const Presets& presets) {
  if (options.measure) return print_errors({Error{"--measure", "true", "files that were measured", "validate --measure is not built yet. Nearest: give logs of nccl-tests as files"}}, options.json);
  const auto missing = [&](const char* what, const char* text) { return print_errors({Error{what, "", "required", text}}, options.json); };
  if (options.files.empty()) return missing("FILE", "a file is missing: a log of nccl-tests, a profile or a run");
  if (std::isnan(options.tolerance))  // passes for a value in range
    return print_errors({Error{"--tolerance", "\"nan\"", "0.000001 to 100", "a tolerance is a share of the measured time, not \"nan\". Nearest: 0.2, or leave it out"}}, options.json);
  if (options.cluster.empty()) return missing("--cluster", "--cluster is missing: what was measured, as the id of a node (wireplan presets nodes) or a file");
  Result<Cluster> cluster = named_cluster(options.cluster, presets);
  if (!cluster) return print_errors(cluster.errors(), options.json);
  cluster.value().profile.reset();  // else what was measured is compared with itself
  Result<Constants> constants = presets.constants();
  if (!constants) return print_errors(constants.errors(), options.json);
  Measured measured;
  Errors errors;
  for (const std::string& file : options.files)
    for (Error& e : add_file(file, cluster.value(), measured)) errors.push_back(std::move(e));
  if (!errors.empty()) return print_errors(errors, options.json);

  const PreparedCluster prepared = prepare(cluster.value(), constants.value().links);
  const MachineReport report = machine_report(measured.profile.curves, prepared, options.tolerance);
  if (report.rows.empty()) {
    for (const std::string& text : report.left_out) errors.push_back({"--cluster", value_text(Json(options.cluster)), "the cluster that was measured", text + ". Nearest: state the number of nodes and GPUs in a cluster document"});
    if (errors.empty()) errors.push_back({"FILE", "", "measured curves", "the files hold no measured curve"});
    return print_errors(errors, options.json);
  }
  if (!options.out_folder.empty())
    if (errors = write_folder(options.out_folder, measured, report); !errors.empty()) return print_errors(errors, options.json);
  const ExitStatus status = is_sound(report, measured.notes) ? kDone : kAnswerIsNo;
  return print(options.json ? dump_json(write_machine_report(report, measured.notes)) : render_machine_report(report, measured.notes, options.format), status);
}

void define_validate(CLI::App& app, Options& options) {
  CLI::App* validate = app.add_subcommand("validate", "compare measured collectives with the prediction");
  validate->add_option("FILE", options.files, "logs of nccl-tests, profiles, runs; - for standard input")->type_name("");
  validate->add_option("--cluster", options.cluster, "the cluster that was measured: a node's id or a file")->type_name("CLUSTER");
  validate->add_option("--tolerance", options.tolerance, "largest error, e.g. 0.2; left out: the band of the prediction")->type_name("SHARE")->check(CLI::Range(1e-6, 100.0));
  validate->add_option("--out", options.out_folder, "folder for profile.json and report.json; nothing is written without it")->type_name("DIR");
  validate->add_flag("--measure", options.measure, "measure what is missing (not built yet)");
  add_output_options(*validate, options);
  validate->footer("error = predicted / measured - 1. Exit status 0: of each curve at least three quarters of the sizes are within; 1: they are not, or results were wrong.\n\n"
                   "Examples:\n"
                   "  wireplan validate all_reduce.txt all_gather.txt --cluster dgx-a100-80gb\n"
                   "  wireplan validate profile.json --cluster cluster.json --tolerance 0.1 --out report");
}

}  // namespace wireplan
