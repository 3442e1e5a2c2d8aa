// "When is it fullest?": the line of one step, the peak of every phase, what the card must hold.
#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "core/text/json.hpp"
#include "tests/frame/page.hpp"
#include "web/values.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

Json row_of(const std::string& path) {
  const Json document = parse_json(page_state()).value();
  for (const Json& row : document["rows"])
    if (row["path"] == path) return row;
  FAIL("the table has no row " << path);
  return {};
}

void point_at(float x, float y) {
  ImGui::GetIO().AddMousePosEvent(x, y);
  page_wake(3);
  draw_until_still();
}

void type(ImGuiKey key) {
  for (const bool down : {true, false}) ImGui::GetIO().AddKeyEvent(key, down);  // a frame each
  page_wake(3);
  draw_until_still();
}

}  // namespace

TEST_CASE("the line's highest point stands where the allocated bytes are, for every stage") {
  page_at(1440, 2800);
  const Json scenarios = parse_json(page_scenarios()).value();
  for (const Json& scenario : scenarios)
    for (const int width : {1440, 390}) {
      const std::string id = scenario["id"];
      DYNAMIC_SECTION(id << ' ' << width) {
        App& page = page_at(width, 4200);
        REQUIRE(page_open(id.c_str()) == 1);
        const Estimate& e = page.state.answer.estimate;
        REQUIRE(page.state.answer.lines.size() == e.memory.ranks.size());
        for (std::size_t stage = 0; stage < e.memory.ranks.size(); ++stage) {
          INFO("stage " << stage);
          page_view("stage", std::to_string(stage).c_str());
          draw_until_still();
          const MemoryLine* line = shown_line(page.state);
          REQUIRE(line != nullptr);
          const double allocated = e.memory.ranks[stage].allocated.value;
          CHECK(std::abs(line->points[peak_of(*line)].allocated.value - allocated) < 64);
          // By the picture: heights of ring and capacity over the ground of the plot.
          const Rect plot = rect_of(page, "memory.timeline"), ring = rect_of(page, "memory.timeline.point"),
                     capacity = rect_of(page, "memory.timeline.capacity");
          const double drawn = (plot.bottom() - ring.middle_y()) / (plot.bottom() - capacity.middle_y());
          CHECK(std::abs(drawn - allocated / e.memory.capacity.value) < 0.03);
          CHECK(ring.middle_x() >= plot.x - 1);
          CHECK(ring.middle_x() <= plot.right() + 1);
        }
        const auto worst = static_cast<std::size_t>(e.memory.worst_stage);
        CHECK(place_text(page.state, e.stage_memory[worst].place) == e.memory.peak_at);
        CHECK(ImGui::GetDrawData()->TotalVtxCount < 60000);
      }
    }
}

TEST_CASE("the fullest stage is shown until another is chosen") {
  App& page = page_at(1440, 2800);
  REQUIRE(page_open("deepseek-v3-2048") == 1);
  draw_until_still();
  const int worst = page.state.answer.estimate.memory.worst_stage;
  CHECK(shown_line(page.state)->stage == worst);
  REQUIRE(press_on("memory.stage.more"));
  CHECK(shown_line(page.state)->stage == worst + 1);
  REQUIRE(press_on("memory.timeline.peak"));
  CHECK(page.state.view.explain == "memory.ranks." + std::to_string(worst + 1) + ".allocated_bytes");
  CHECK(page.state.answer.explanation.has_value());
  CHECK(row_of("memory.timeline")["text"].get<std::string>().starts_with("Stage " + std::to_string(worst + 1)));
  page_view("stage", "99");
  CHECK(shown_line(page.state)->stage == worst);
  REQUIRE(page_open("story") == 1);
  draw_until_still();
  CHECK(std::none_of(page.ui.keys.begin(), page.ui.keys.end(),
                     [](const KeyedRect& k) { return k.key == "memory.stage.more"; }));
}

TEST_CASE("the line tells what is under the pointer, and is made once for a plan") {
  App& page = page_at(1440, 2800);
  page_edit("strategy", "fsdp");
  draw_until_still();
  const MemoryPoint* points = page.state.answer.lines.front().points.data();
  const Rect plot = rect_of(page, "memory.timeline");
  const float peak = rect_of(page, "memory.timeline.point").middle_x();
  for (const float share : {0.05f, 0.3f, 0.95f}) {
    const float x = plot.x + share * plot.w;
    point_at(x, plot.middle_y());
    CHECK(std::abs(rect_of(page, "memory.timeline.point").middle_x() - x) < 12);
  }
  point_at(-1, -1);
  CHECK(rect_of(page, "memory.timeline.point").middle_x() == peak);
  CHECK(page.state.answer.lines.front().points.data() == points);
}

TEST_CASE("totals and phases are explained by a press and by the keyboard") {
  App& page = page_at(1440, 2800);
  for (const char* path :
       {"memory.phases.load", "memory.phases.initialize", "memory.phases.first_step", "memory.phases.steady",
        "memory.phases.between_steps", "memory.phases.save", "memory.allocated_bytes", "memory.reserved_bytes",
        "memory.device_bytes", "memory.need_bytes"}) {
    INFO(path);
    page_view("explain", "");
    draw_until_still();
    REQUIRE(press_on(std::string(path) + ".cell"));
    CHECK(page.state.view.explain == path);
    REQUIRE(page.state.answer.explanation.has_value());
    CHECK(page.state.answer.explanation->result == row_of(path)["value"].get<double>());
  }
  REQUIRE(press_on("memory.allocated_bytes.cell"));
  type(ImGuiKey_RightArrow);
  type(ImGuiKey_Enter);
  CHECK(page.state.view.explain == "memory.reserved_bytes");
}

TEST_CASE("the table has the place of the peak and the line in words") {
  App& page = page_at(1440, 900);
  page_edit("strategy", "fsdp");
  const std::string peak_at = page.state.answer.estimate.memory.peak_at;
  CHECK(row_of("memory.peak_at")["text"] == peak_at);
  CHECK(row_of("memory.peak_at")["value"] == peak_at);
  const std::string line = row_of("memory.timeline")["text"], allocated = row_of("memory.allocated_bytes")["text"];
  CHECK(line.find(peak_at) != std::string::npos);
  CHECK(line.find(allocated) != std::string::npos);
  CHECK(line.starts_with(row_of("memory.phases.between_steps")["text"].get<std::string>()));
}

TEST_CASE("the legend keeps off the recipes, and nothing of the moments is cut") {
  for (const int width : {1920, 1440, 1100, 800, 390})
    for (const char* language : {"en", "vi"})
      for (const char* id : {"story", "deepseek-v3-2048", "codellama-34b-zero3"}) {
        INFO(width << ' ' << language << ' ' << id);
        App& page = page_at(width, 4200);
        page_open(id);
        page_view("language", language);
        page_wake(3);
        draw_until_still();
        float top = 1e9f;
        for (const KeyedRect& k : page.ui.keys)
          if (k.key.starts_with("recipe.")) top = std::min(top, k.rect.y);
        for (const KeyedRect& k : page.ui.keys)
          if (k.key.starts_with("memory.parts.") && !k.key.ends_with(".bar")) {
            INFO(k.key);
            CHECK(k.rect.bottom() <= top);
          }
        for (const auto& [key, words] : page.state.words.texts())
          if (key.starts_with("mem.phase") || key.starts_with("mem.total") || key.starts_with("mem.verdict") ||
              key.starts_with("mem.moments.title")) {
            INFO(words);
            CHECK(std::find(page.ui.cut.begin(), page.ui.cut.end(), words) == page.ui.cut.end());
          }
      }
}
