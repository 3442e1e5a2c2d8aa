// Fits the constants of collectives on published sweeps:
//
//   wireplan_fit assets/measurements/collectives.jsonl > assets/measurements/link_fit.json
#include <cstdio>
#include <fstream>
#include <sstream>

#include "core/answer/fit_links.hpp"
#include "core/text/read_runs.hpp"
#include "tools/fit/write_fit.hpp"

int main(int argc, char** argv) {
  using namespace wireplan;
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) {
    std::fprintf(stderr, "wireplan_fit: one file of sweeps is wanted, and it must be readable\n");
    return 2;
  }
  std::stringstream text;
  text << file.rdbuf();
  const Presets presets;
  const Result<Runs> runs = read_runs(text.str(), presets);
  const Result<LinkConstants> expected = presets.expected_links();
  if (!runs || !expected || !runs.value().skipped.empty()) {
    std::fprintf(stderr, "wireplan_fit: %s\n", !runs ? runs.errors().front().text.c_str() : !expected ? expected.errors().front().text.c_str() : runs.value().skipped.front().reason.c_str());
    return 2;
  }
  std::vector<CollectiveRun> sweeps;
  for (const Run& run : runs.value().runs)
    if (run.collective) sweeps.push_back(*run.collective);
  const Json fit = write_link_fit(fit_links(expected.value(), sweeps));
  std::puts("{");
  for (auto it = fit.begin(); it != fit.end(); ++it) {
    const char* end = std::next(it) == fit.end() ? "" : ",";
    std::printf("  %s: ", Json(it.key()).dump().c_str());
    if (!it->is_array()) {
      std::printf("%s%s\n", it->dump().c_str(), end);
      continue;
    }
    std::puts("[");
    for (std::size_t i = 0; i < it->size(); ++i) std::printf("    %s%s\n", (*it)[i].dump().c_str(), i + 1 < it->size() ? "," : "");
    std::printf("  ]%s\n", end);
  }
  std::puts("}");
  return std::ferror(stdout) ? 2 : 0;
}
