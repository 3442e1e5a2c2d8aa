// wireplan collectives: nccl-tests' table, predicted.
#pragma once

#include <CLI/CLI.hpp>

#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace wireplan {

void define_collectives(CLI::App& app, Options& options);
int run_collectives(const Options& options, const Presets& presets);

// A size as nccl-tests reads it: a number, then K, M, G, T or P for powers of 1,024, with or without iB. `option` names it in errors.
Result<double> stated_size(const std::string& option, const std::string& text);

// -b -e -f -i as {"begin", "end", "factor", "step"}, where given.
Result<Json> stated_sizes(const CollectiveOptions& asked);
// -b -e -f -i -d --redop, with the defaults their help names.
void add_size_options(CLI::App& command, CollectiveOptions& asked, const char* begin, const char* end);

}  // namespace wireplan
