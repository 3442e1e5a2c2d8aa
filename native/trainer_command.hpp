// The commands about trainers' configurations: export, and import of such a file.
#pragma once

#include "core/text/presets.hpp"
#include "native/options.hpp"

namespace CLI {
class App;
}

namespace wireplan {

void define_export(CLI::App& app, Options& options);
void add_trainer_options(CLI::App& import, Options& options);  // --onto

int run_export(const Options& options, const Presets& presets);

// Whether the text is a trainer's configuration, by its keys.
bool looks_like_trainer(const std::string& text);
int run_import_trainer(const Options& options, const std::string& text, const Presets& presets);

}  // namespace wireplan
