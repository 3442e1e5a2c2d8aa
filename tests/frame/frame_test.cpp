#include <algorithm>
#include <cmath>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "core/text/json.hpp"
#include "tests/frame/page.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

struct Size {
  int width, height;
};
constexpr Size kSizes[] = {{1920, 1080}, {1440, 720}, {1100, 640}, {800, 700}, {390, 1600}};

const KeyedRect* drawn(const App& page, std::string_view key) {
  const auto found =
      std::find_if(page.ui.keys.begin(), page.ui.keys.end(), [&](const KeyedRect& k) { return k.key == key; });
  return found == page.ui.keys.end() ? nullptr : &*found;
}

Json state() { return parse_json(page_state()).value(); }

double value_of(const Json& document, const std::string& path) {
  for (const Json& row : document["rows"])
    if (row["path"] == path) return row["value"].get<double>();
  return -1;
}

bool has_no_number(const std::string& text) {
  return text.find("nan") != std::string::npos || text.find("inf ") != std::string::npos ||
         text.find("null GB") != std::string::npos;
}

}  // namespace

TEST_CASE("every scenario is drawn at every width, in both languages and themes") {
  page_at(1440, 720);
  const Json scenarios = parse_json(page_scenarios()).value();
  REQUIRE(scenarios.size() >= 6);
  for (const Json& scenario : scenarios)
    for (const Size size : kSizes)
      for (const char* language : {"en", "vi"}) {
        const std::string id = scenario["id"];
        DYNAMIC_SECTION(id << ' ' << size.width << ' ' << language) {
          App& page = page_at(size.width, size.height);
          REQUIRE(page_open(id.c_str()) == 1);
          page_view("language", language);
          page_view("theme", size.width % 20 == 0 ? "dark" : "light");
          draw_until_still();
          CHECK(page.state.errors.empty());
          for (const KeyedRect& k : page.ui.keys) {
            INFO(k.key);
            REQUIRE((std::isfinite(k.rect.x) && std::isfinite(k.rect.y) && std::isfinite(k.rect.w) &&
                     std::isfinite(k.rect.h)));
            CHECK(k.rect.x >= -12);
            CHECK(k.rect.right() <= static_cast<float>(size.width) + 12);
          }
          for (const char* key : {"panel.memory", "panel.wiring", "panel.step", "memory.need_bytes", "step.time_s"}) {
            INFO(key);
            CHECK(drawn(page, key) != nullptr);
          }
          // The three questions are never cut.
          for (const char* title : {"mem.title", "wire.title", "step.title"})
            CHECK(std::find(page.ui.cut.begin(), page.ui.cut.end(), page.state.words[title]) == page.ui.cut.end());
        }
      }
}

TEST_CASE("a widget's key belongs to one widget") {
  for (const Size size : kSizes) {
    App& page = page_at(size.width, size.height);
    std::set<std::string> buttons;
    for (const KeyedRect& k : page.ui.keys)
      if (k.key.starts_with("training.") || k.key.starts_with("parallel.") || k.key.starts_with("strategy.") ||
          k.key.starts_with("wiring.")) {
        INFO(k.key);
        CHECK(buttons.insert(k.key).second);
      }
  }
}

TEST_CASE("pressing a bar chooses the sharding, pressing a wiring the wires") {
  App& page = page_at(1440, 900);
  CHECK(value_of(state(), "memory.states.parameters") == 14483464192);
  CHECK(state()["verdict"] == "does-not-fit");
  REQUIRE(press_on("strategy.fsdp"));
  CHECK(page.state.answer.plan.parallel.data_sharding == DataSharding::fsdp);
  CHECK(value_of(state(), "memory.states.parameters") == 14483464192 / 4.0);
  CHECK(value_of(state(), "memory.states.optimizer_states") == 57933856768 / 4.0);
  CHECK(state()["verdict"] != "does-not-fit");

  const double on_switch = page.state.answer.estimate.step.time.value.value;
  REQUIRE(press_on("wiring.pcie-host"));
  CHECK(page.state.answer.estimate.step.time.value.value > on_switch);
  CHECK(page.state.answer.plan.cluster.node.gpu.id == "a100-80gb-sxm");  // the card is held fixed
  page_undo();
  CHECK(page.state.answer.estimate.step.time.value.value == on_switch);
  page_redo();
  CHECK(page.state.answer.estimate.step.time.value.value > on_switch);
}

TEST_CASE("inputs change the plan by a press") {
  App& page = page_at(1440, 900);
  REQUIRE(press_on("training.micro_batch_size.plus"));
  CHECK(page.state.answer.plan.training.micro_batch_size == 2);
  REQUIRE(press_on("training.sequence_length.minus"));
  CHECK(page.state.answer.plan.training.sequence_length == 2048);
  REQUIRE(press_on("parallel.tensor.2"));
  CHECK(page.state.answer.plan.parallel.tensor == 2);
  CHECK(page.state.answer.plan.parallel.data == 2);  // follows
  REQUIRE(press_on("parallel.data.4"));
  CHECK(total_gpus(page.state.answer.plan.cluster) == 8);
  REQUIRE(press_on("cluster.wiring.nvlink-pairs"));
  CHECK(page.state.answer.plan.cluster.node.wiring.kind == WiringKind::nvlink_pairs);
  CHECK(page.state.errors.empty());

  said() = {};
  REQUIRE(press_on("training.global_batch_size"));
  CHECK(said().edit_text == "training.global_batch_size");
  REQUIRE(press_on("model"));
  CHECK(said().pick == "model");
}

TEST_CASE("a wrong edit keeps the last answer and marks its field") {
  App& page = page_at(1440, 900);
  const std::string before = page_export("json");
  for (const auto& [path, value] : {std::pair{"parallel.tensor", "3"},
                                    {"training.global_batch_size", "63"},
                                    {"training.micro_batch_size", "0"},
                                    {"training.micro_batch_size", "-1"},
                                    {"training.sequence_length", "NaN"},
                                    {"training.sequence_length", "1e300"},
                                    {"model", "no-such-model"},
                                    {"cluster.nodes", "\xC3"},
                                    {"cluster.gpus_per_node", "9"},
                                    {"training.recompute", "\"most\""}}) {
    DYNAMIC_SECTION(path << '=' << value) {
      page_edit(path, value);
      draw_until_still();
      CHECK(page.state.is_stale());
      CHECK(state()["stale"] == true);
      CHECK(!state()["errors"].empty());
      CHECK(std::string(page_export("json")) == before);
      CHECK(!has_no_number(page_state()));
      const auto marked =
          std::count_if(page.form.begin(), page.form.end(), [](const Field& f) { return !f.error.empty(); });
      CHECK(marked >= 1);
      page_undo();
      page_edit("training.micro_batch_size", "1");
      CHECK(page.state.errors.empty());
    }
  }
}

TEST_CASE("nothing is drawn once nothing changes") {
  App& page = page_at(1440, 900);
  const int frames = page.frames;
  CHECK(draw_until_still() == 0);
  page_wake(2);
  CHECK(draw_until_still() == 2);
  CHECK(page.frames == frames + 2);
}

TEST_CASE("where the page scrolls, the canvas is as high as its panels") {
  App& page = page_at(390, 800);
  const int height = page_wanted_height(390);
  CHECK(height > 800);
  page_resize(390, height);
  page_wake(1);
  draw_until_still();
  CHECK(drawn(page, "panel.step")->rect.bottom() <= static_cast<float>(height) + 1);
  CHECK(page_wanted_height(1440) == 0);
}

TEST_CASE("every number of the table has a name, a text and a claim") {
  page_at(1440, 900);
  for (const char* language : {"en", "vi"}) {
    page_view("language", language);
    page_edit("strategy", "fsdp");
    const Json document = state();
    CHECK(document["rows"].size() > 50);
    for (const Json& row : document["rows"]) {
      INFO(row.dump());
      CHECK(!row["text"].get<std::string>().empty());
      CHECK(!row["claim"].get<std::string>().empty());
      CHECK(row["label"] != row["path"]);
    }
  }
}
