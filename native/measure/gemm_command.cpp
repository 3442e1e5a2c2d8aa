#include "native/measure/gemm_command.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/statistics.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/sheet.hpp"
#include "native/files.hpp"
#include "native/measure/launch.hpp"
#include "native/measure/load.hpp"
#include "native/measure/session.hpp"
#include "native/output.hpp"

namespace wireplan {
namespace {

// Cubes, then the products of a layer of a 7B decoder (hidden 4,096, inner 14,336) for few to many tokens.
constexpr const char* kShapes = "512x512x512,1024x1024x1024,2048x2048x2048,4096x4096x4096,8192x8192x8192,128x4096x4096,512x4096x4096,2048x4096x4096,8192x4096x4096,2048x14336x4096,8192x14336x4096,8192x4096x14336";
constexpr int kMostSide = 65536;
constexpr double kCopies[] = {64.0 * 1024 * 1024, 256.0 * 1024 * 1024, 1024.0 * 1024 * 1024};  // bytes; smaller ones stay in the cache

Result<std::vector<Job::Product>> shapes_in(const std::string& text) {
  const auto wrong = [&](const std::string& part) {
    return Error{"--shapes", value_text(Json(part)), "MxNxK, each 1 to 65,536", value_text(Json(part)) + " is no product. Nearest: 4096x4096x4096"};
  };
  std::vector<Job::Product> shapes;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    int sides[3] = {};
    const char *at = part.data(), *last = part.data() + part.size();
    for (int i = 0; i < 3; ++i) {
      const auto [rest, fault] = std::from_chars(at, last, sides[i]);
      if (fault != std::errc() || sides[i] < 1 || sides[i] > kMostSide || (i < 2 ? rest == last || *rest != 'x' : rest != last)) return wrong(part);
      at = rest + 1;
    }
    shapes.push_back({sides[0], sides[1], sides[2]});
    start = end + 1;
  }
  return shapes;
}

struct Rates { double slowest = 0, median = 0, fastest = 0; };  // of the GPUs' medians

// The job again and again on every GPU at once; what each does of `work` a second.
Report rates_of(Backend& backend, const Job& job, int warm_up, int iterations, double work, Rates& rates) {
  const std::vector<Job> jobs(static_cast<std::size_t>(warm_up + iterations), job);
  std::vector<std::vector<JobTime>> times;
  if (Report r = backend.play(jobs, times); !r) return r;
  std::vector<double> medians;
  for (const std::vector<JobTime>& of_gpu : times) {
    std::vector<double> seconds;
    for (std::size_t j = static_cast<std::size_t>(warm_up); j < of_gpu.size(); ++j) seconds.push_back(of_gpu[j].end - of_gpu[j].start);
    medians.push_back(work / std::max(quantile(std::move(seconds), 0.5), 1e-12));
  }
  rates = {quantile(medians, 0), quantile(medians, 0.5), quantile(medians, 1)};
  return {};
}

// The profile in the file, where there is one already: only what is measured here is replaced in it.
Result<Profile> profile_to_extend(const std::string& file) {
  if (file.empty() || !file_exists(file)) return Profile();
  Result<Json> document = read_document(file);
  if (!document) return document.errors();
  Result<Profile> profile = read_profile(document.value());
  if (!profile) return in_file(file, profile.errors(), true);
  return profile;
}

}  // namespace

int run_measure_gemm(const Options& options) {
  const CollectiveOptions& asked = options.collectives;
  const MeasureOptions& how = options.measuring;
  const Launch launch = launch_from_environment();
  const auto refuse = [&](const Errors& errors) { return launch.rank == 0 ? print_errors(errors, options.json) : static_cast<int>(kBadInput); };
  const auto cannot = [&](const std::string& text) {
    print_errors({{"--backend", "\"nccl\"", "a machine with a GPU and cuBLASLt", text}}, options.json);
    return static_cast<int>(kCannotRunHere);
  };
  if (launch.processes > 1) return refuse({{"ranks", std::to_string(launch.processes), "one process", "measure gemm is started once on a host: one process drives all of its GPUs. Nearest: wireplan measure gemm"}});
  Result<std::vector<Job::Product>> shapes = shapes_in(how.shapes.empty() ? kShapes : how.shapes);
  if (!shapes) return refuse(shapes.errors());
  Result<Profile> extended = profile_to_extend(how.output);
  if (!extended) return refuse(extended.errors());
  Profile& profile = extended.value();

  Refusal refusal;
  BackendRequest request;
  request.timeout_s = how.timeout_s;
  request.per_process = asked.per_node.value_or(0);
  LoadedBackend backend = load_backend("nccl", request, refusal);
  if (!backend && refusal.is_missing) return cannot(refusal.text);
  if (!backend) return refuse({Error{"--backend", "\"nccl\"", "a machine that has it", refusal.text}});
  const Surroundings here = surroundings(*backend, launch);
  if (!here.facts.has_products) return cannot("there is no cuBLASLt to multiply with: libcublasLt.so.13 or .12 is not found (LD_LIBRARY_PATH; PyTorch keeps one under nvidia/cublas/lib)");
  if (Report r = backend->open({}); !r) return refuse({{"--backend", "\"nccl\"", "", r.message}});

  Table table{{{"m", true}, {"n", true}, {"k", true}, {"median", true}, {"slowest to fastest GPU", true}}, {}, {}};
  const auto spread = [](const std::string& low, const std::string& high) { return low == high ? low : low + " to " + high; };
  const auto tflops = [](double rate) { return format_flops_rate(rate / 1e12); };
  profile.gemms.clear();
  profile.hbm = {};
  std::vector<std::string> notes;
  int failed = kDone;
  for (const Job::Product& p : shapes.value()) {
    Job job;
    job.products = {p};
    Rates rates;
    const Report r = rates_of(*backend, job, asked.warm_up, asked.iterations, 2.0 * p.m * p.n * p.k, rates);
    if (!r) {
      notes.push_back(std::to_string(p.m) + " x " + std::to_string(p.n) + " x " + std::to_string(p.k) + ": " + r.message);
      failed = kAnswerIsNo;
      if (r.outcome == CallOutcome::failed) break;
      continue;
    }
    profile.gemms.push_back({"bf16", 1.0 * p.m, 1.0 * p.n, 1.0 * p.k, FlopsPerSecond(rates.median)});
    table.rows.push_back({std::to_string(p.m), std::to_string(p.n), std::to_string(p.k), tflops(rates.median), spread(tflops(rates.slowest), tflops(rates.fastest))});
  }
  Rates best;
  for (const double bytes : kCopies) {
    Job job;
    job.copy_bytes = bytes;
    Rates rates;
    if (const Report r = rates_of(*backend, job, asked.warm_up, asked.iterations, 2 * bytes, rates); !r) notes.push_back("a copy of " + format_message_size(Bytes(bytes)) + ": " + r.message);
    else if (rates.median > best.median) best = rates;
  }
  profile.hbm = BytesPerSecond(best.median);
  profile.date = here.date.substr(0, here.date.find('T'));
  if (profile.machine.empty() && !here.facts.gpus.empty()) profile.machine = here.facts.gpus.front();
  if (profile.software.empty()) profile.software = dump_json_compact(Json{{"backend", "nccl"}, {"driver", here.facts.driver}, {"nccl", here.facts.nccl}});
  if (!how.output.empty())
    if (Errors errors = write_file("--output", how.output, dump_json(write_profile(profile))); !errors.empty()) failed = print_errors(errors, false);
  for (const std::string& note : notes) std::fprintf(stderr, "wireplan: %s\n", note.c_str());
  if (options.json) return print(dump_json(write_profile(profile)), static_cast<ExitStatus>(failed));
  Sheet sheet(options.format == RenderFormat::markdown);
  sheet.strong("Matrix products of " + std::to_string(here.facts.gpus.size()) + " × " + profile.machine + " at once, bf16 with sums in fp32, medians of " + std::to_string(asked.iterations) + " calls back to back.");
  sheet.table(table);
  if (best.median > 0)
    sheet.paragraph("Memory: a copy reads and writes " + format_rate(BytesPerSecond(best.median)) + " (" + spread(format_rate(BytesPerSecond(best.slowest)), format_rate(BytesPerSecond(best.fastest))) + " over the GPUs).");
  return print(sheet.text(), static_cast<ExitStatus>(failed));
}

void define_measure_gemm(CLI::App& measure, Options& options) {
  MeasureOptions& how = options.measuring;
  CollectiveOptions& asked = options.collectives;
  CLI::App* command = measure.add_subcommand("gemm", "matrix products and memory of this host's GPUs, into a profile");
  command->add_option("--shapes", how.shapes, "products to measure, MxNxK,... (default: cubes, and those of a 7B decoder's layer)")->type_name("LIST");
  command->add_option("-n,--iters", asked.iterations, "timed calls of a product (default 20)")->type_name("N")->check(CLI::Range(1, 10000));
  command->add_option("-w,--warmup_iters", asked.warm_up, "calls before them (default 5)")->type_name("N")->check(CLI::Range(0, 10000));
  command->add_option("-g,--ngpus", asked.per_node, "how many GPUs, the first ones (default all)")->type_name("N")->check(CLI::Range(1, 1024));
  command->add_option("-o,--output", how.output, "the profile; one that is there keeps its collectives")->type_name("FILE");
  command->add_option("--timeout", how.timeout_s, "seconds to meet the library (default 300)")->type_name("S")->check(CLI::Range(0.0, 1e6));
  auto* json = command->add_flag("--json", options.json, "print the profile");
  command->add_flag_callback("--markdown", [&options] { options.format = RenderFormat::markdown; }, "print Markdown")->excludes(json);
  command->footer("All GPUs work at the same time, as in training; matrices hold noise, since zeros would let a GPU clock higher.\n\nExamples:\n  wireplan measure gemm -o profile.json\n  wireplan measure gemm --shapes 4096x4096x4096,8192x8192x8192 -n 50");
}

}  // namespace wireplan
