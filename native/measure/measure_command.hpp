// wireplan measure: real collectives, beside what is predicted.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "core/text/presets.hpp"
#include "native/measure/load.hpp"
#include "native/measure/run_document.hpp"
#include "native/measure/sweep.hpp"
#include "native/options.hpp"
#include "native/output.hpp"

namespace wireplan {

void define_measure(CLI::App& app, Options& options);
int run_measure(const Options& options, const Presets& presets);

// --backend --op -b -e -f -i -d --redop -n -w -g --timeout --progress.
void add_measuring_options(CLI::App& command, Options& options);

struct Measured {
  LoadedBackend backend;  // still open
  Sweep sweep;
  MeasuredRun run;                // its rows on the first process alone
  bool is_written = true;

  bool is_first() const { return backend->process() == 0; }
  // The status of the first process, for all: a launcher then sees one. Waits for all.
  ExitStatus agreed(ExitStatus mine);
};

// What the options ask for, without the operations `left_out`, measured on all processes; prints rows as they come where it `prints`.
// What stands in the way is printed, and its exit status comes back.
std::variant<int, Measured> measure(const Options& options, const Presets& presets, const std::optional<Cluster>& cluster, const std::vector<Collective>& left_out, bool prints);

// Every process must have been asked for the same: errors name the first that was not. Waits for all.
Errors different_arguments(Backend& backend, const std::string& mine);

}  // namespace wireplan
