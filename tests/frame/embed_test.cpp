// Inside another page: the panels that it asked for, and a plan that only it may change.
#include <catch2/catch_test_macros.hpp>

#include "core/text/json.hpp"
#include "tests/frame/page.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

// Until the end of a test: the page is one for all of them.
struct Inside {
  explicit Inside(const char* panels, const char* readonly = "") {
    page_view("panels", panels);
    page_view("readonly", readonly);
    draw_until_still();
  }
  ~Inside() {
    page_view("panels", "");
    page_view("readonly", "");
  }
};

}  // namespace

TEST_CASE("panels that were asked for stand one below the other in their order, at any width, and no other is drawn") {
  for (const int width : {390, 640, 1000, 1600})
    DYNAMIC_SECTION(width) {
      App& page = page_at(width, 900);
      const Inside inside("step,memory,step");
      page_resize(width, page_wanted_height(width));
      page_wake(2);
      draw_until_still();
      const Rect step = rect_of(page, "panel.step"), memory = rect_of(page, "panel.memory");
      CHECK(step.y == 0);
      CHECK(memory.y == step.bottom());
      CHECK(memory.w == static_cast<float>(width));
      CHECK(page_wanted_height(width) == static_cast<int>(memory.bottom() + 0.999f));
      for (const char* other : {"panel.wiring", "panel.wirings", "panel.timeline", "panel.curves", "training.sequence_length"}) {
        INFO(other);
        CHECK_FALSE(is_drawn(page, other));
      }
      CHECK(is_drawn(page, "strategy.fsdp"));
    }
}

TEST_CASE("names that are no panel's are passed over, and without any the page has its own layout") {
  App& page = page_at(1440, 900);
  {
    const Inside inside("comm,,memory,../x");
    CHECK(is_drawn(page, "panel.memory"));
    CHECK_FALSE(is_drawn(page, "panel.step"));
  }
  draw_until_still();
  CHECK(is_drawn(page, "panel.step"));
  CHECK(page_wanted_height(1440) == 0);
}

TEST_CASE("every panel can stand alone") {
  App& page = page_at(680, 900);
  for (const char* name : {"memory", "wiring", "wirings", "step", "timeline", "waits", "scaling", "curves", "moments"}) {
    INFO(name);
    const Inside inside(name);
    CHECK(rect_of(page, std::string("panel.") + name).y == 0);
    CHECK(page_wanted_height(680) > 60);
  }
}

TEST_CASE("a plan that is only read is not changed by the reader, explains itself, and is changed by the page around") {
  App& page = page_at(680, 900);
  const Inside inside("memory,step", "1");
  const std::string before = row_text("parallel.data_sharding") + row_text("memory.need_bytes");
  REQUIRE(press_on("strategy.fsdp"));
  page_edit("training.sequence_length", "8192");
  CHECK(row_text("parallel.data_sharding") + row_text("memory.need_bytes") == before);
  CHECK(page.state.errors.empty());
  page_view("explain", "memory.states.parameters");
  CHECK(parse_json(page_state()).value()["explain"] == "memory.states.parameters");
  const std::string link = parse_json(page_state()).value()["link"];
  CHECK(page_open("#v=1&m=llama-3-8b&c=hgx-h100-80gb&ds=fsdp") == 1);
  CHECK(parse_json(page_state()).value()["link"] != link);
}
