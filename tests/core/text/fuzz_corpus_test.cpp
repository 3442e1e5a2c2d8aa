// Every committed input of the fuzzers, through the same checks, without libFuzzer.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/hf_config.hpp"
#include "tests/fuzz/megatron.hpp"
#include "tests/fuzz/topology.hpp"
#include "tests/fuzz/trainer.hpp"
#include "tests/fuzz/xml.hpp"
#include "tests/support/files.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

struct Corpus {
  const char* folder;
  std::string (*fault)(std::string_view);
};
// A line for each tests/fuzz/fuzz_<name>.cpp.
const Corpus kCorpora[] = {{"megatron", megatron_fault}, {"topology", topology_fault}, {"xml", xml_fault}, {"hf_config", hf_config_fault}, {"hf_weights", hf_weights_fault}, {"trainer", trainer_fault}, {"toml", toml_fault}, {"yaml", yaml_fault}};

}  // namespace

TEST_CASE("the fuzzers' corpora hold", "[fuzz]") {
  for (const Corpus& corpus : kCorpora) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/" + std::string(corpus.folder))) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    CHECK(files.size() > 5);
    for (const std::string& file : files) {
      INFO(file);
      CHECK(corpus.fault(file_text(file)) == "");
    }
  }
}
