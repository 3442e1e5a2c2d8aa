// "Time line of the step", "What the GPU waits for", "And on more GPUs?".
#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "core/text/json.hpp"
#include "tests/frame/page.hpp"
#include "web/panels/time_lanes.hpp"
#include "web/platform.hpp"
#include "web/values.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

App& opened(const char* id, int width = 1440, int height = 3000) {
  App& page = page_at(width, height);
  REQUIRE(page_open(id) == 1);
  draw_until_still();
  return page;
}

std::vector<std::string> scenarios() {
  std::vector<std::string> ids;
  const Json all = parse_json(page_scenarios()).value();
  for (const Json& scenario : all) ids.push_back(scenario["id"]);
  return ids;
}

void type(ImGuiKey key) {
  for (const bool down : {true, false}) {
    ImGui::GetIO().AddKeyEvent(key, down);
    page_wake(3);
    draw_until_still();
  }
}

// Presses in a lane where a time is drawn.
void press_at(const App& page, int lane, double seconds) {
  const Rect r = rect_of(page, "timeline.lane." + std::to_string(lane));
  const TimeScale scale(page.state.answer.timeline, shown_time(page.state), r);
  ImGui::GetIO().AddMousePosEvent(scale.at(seconds), r.middle_y());
  for (const bool down : {true, false}) {
    ImGui::GetIO().AddMouseButtonEvent(0, down);
    page_wake(3);
    draw_until_still();
  }
  ImGui::GetIO().AddMousePosEvent(-1, -1);
  page_wake(3);
  draw_until_still();
}

}  // namespace

TEST_CASE("lanes hold the step: blocks in order, gaps of the slowest stage add up to what is waited for") {
  page_at(1440, 900);
  for (const std::string& id : scenarios())
    DYNAMIC_SECTION(id) {
      const App& page = opened(id.c_str());
      const StepTimeline& t = page.state.answer.timeline;
      REQUIRE(!t.lanes.empty());
      CHECK(t.lanes.size() <= kMostTimeLanes + 3);
      const TimeLane& slowest = t.lanes[static_cast<std::size_t>(t.slowest)];
      CHECK(slowest.stream.stage == static_cast<Count>(page.state.answer.estimate.cost.slowest));
      // Where no rank waits for a slower one, the host has the end.
      const double rest = t.total.value - slowest.blocks.back().end, little = 1e-6 * t.total.value;
      CHECK(rest > -little);
      CHECK(rest < page.state.answer.estimate.step.host.value + little);
      for (const TimeLane& lane : t.lanes)
        for (std::size_t i = 0; i < lane.blocks.size(); ++i) {
          const double before = i > 0 ? lane.blocks[i - 1].end : 0;
          if (lane.blocks[i].start < before - 1e-9 * t.total.value || lane.blocks[i].end <= lane.blocks[i].start) FAIL("lane " << lane.stream.name << " block " << i);
        }
      double gaps = 0, waits = 0;
      for (std::size_t i = 0; i < slowest.blocks.size(); ++i)
        if (slowest.blocks[i].waits) gaps += t.span_of({t.slowest, static_cast<int>(i), true}).width();
      for (const StepTimeline::Wait& w : t.waits) waits += w.total.value;
      const double unnamed = 1e-6 * static_cast<double>(slowest.blocks.size());  // gaps below a microsecond have no reason
      CHECK(std::abs(gaps - waits) < little + unnamed);
    }
}

TEST_CASE("every sentence of the core has its place in the other language") {
  const Presets presets;
  const Language vi(presets, "vi");
  page_at(1440, 900);
  int said = 0;
  for (const std::string& id : scenarios()) {
    const App& page = opened(id.c_str());
    for (const TimeLane& lane : page.state.answer.timeline.lanes)
      for (const StepEvent& e : lane.stream.events) {
        if (e.waits_for.empty()) continue;
        ++said;
        INFO(e.waits_for);
        if (vi.said("wait.", e.waits_for) == e.waits_for) FAIL("not translated");
      }
  }
  CHECK(said > 0);
  CHECK(vi.said("wait.", "the first fsdp-all-gather-forward of the pass: nothing computes before it").starts_with("fsdp-all-gather-forward đầu tiên"));
  CHECK(vi.said("event.", "forward of layer 12") == "forward của layer 12");
  CHECK(vi.said("event.", "backward of the head") == "backward của head");
  CHECK(vi.said("wait.", "what nobody has said") == "what nobody has said");
  CHECK(Language(presets, "en").said("wait.", "the host, once per step") == "the host, once per step");
}

TEST_CASE("a window stays within the step and keeps the time under the pointer where it is") {
  StepTimeline t;
  t.total = Seconds(10);
  const TimeWindow whole = within_step(t, {0, 1});
  CHECK(whole.from == 0);
  CHECK(whole.to == 1);
  const TimeWindow half = zoomed(t, whole, 0.5, 0.8);
  CHECK(std::abs(half.width() - 0.5) < 1e-12);
  CHECK(std::abs((0.8 - half.from) / half.width() - 0.8) < 1e-12);
  CHECK(within_step(t, {-0.2, 0.3}).from == 0);
  CHECK(std::abs(within_step(t, {0.9, 1.2}).to - 1) < 1e-12);
  CHECK(zoomed(t, half, 100, 0.5).width() == 1);
  TimeWindow w = whole;
  for (int i = 0; i < 60; ++i) w = zoomed(t, w, 0.5, 0.25);
  CHECK(std::abs(w.width() * t.total.value - 1e-4) < 1e-9);
  CHECK(std::abs((w.from + w.to) / 2 - 0.25) < 1e-4);
}

TEST_CASE("the panel draws what a frame can hold, in every layout") {
  page_at(1440, 900);
  for (const std::string& id : scenarios())
    for (const int width : {1440, 1100, 800, 390})
      for (const char* seen : {"", "0 1", "0.4 0.41"}) {
        INFO(id << ' ' << width << ' ' << seen);
        App& page = opened(id.c_str(), width, 4200);
        page_view("time", seen);
        page_wake(3);
        draw_until_still();
        CHECK(ImGui::GetDrawData()->TotalVtxCount < 60000);  // WebGL's indices have 16 bits
        const Rect panel = rect_of(page, "panel.timeline");
        for (std::size_t i = 0; i < page.state.answer.timeline.lanes.size(); ++i) {
          const Rect lane = rect_of(page, "timeline.lane." + std::to_string(i));
          CHECK(lane.x >= panel.x);
          CHECK(lane.right() <= panel.right());
          CHECK(lane.bottom() <= rect_of(page, "timeline.words").y + 1);
          if (width == 390) CHECK(lane.w >= 350);
        }
        CHECK(rect_of(page, "timeline.words").bottom() <= panel.bottom() + 1);
        CHECK(rect_of(page, "scaling.words").bottom() <= rect_of(page, "panel.scaling").bottom());
        for (const auto& [key, words] : page.state.words.texts())
          if (key.starts_with("time.") || key.starts_with("scaling.")) {
            INFO(words);
            CHECK(std::find(page.ui.cut.begin(), page.ui.cut.end(), words) == page.ui.cut.end());
          }
      }
}

TEST_CASE("a press on a block or a gap says what it is") {
  App& page = opened("#v=1&m=mistral-7b-v0.1&c=a100-80gb-pcie-4x-pairs&ds=fsdp");
  const StepTimeline& t = page.state.answer.timeline;
  CHECK(row_text("time.pressed").empty());
  const TimeLane& lane = t.lanes[static_cast<std::size_t>(t.slowest)];
  // The widest gap of what is seen first before a block that is wide enough to be pressed.
  const TimeWindow seen = shown_time(page.state);
  TimePlace gap;
  for (std::size_t i = 0; i < lane.blocks.size(); ++i) {
    const TimePlace at{t.slowest, static_cast<int>(i), true};
    const TimeWindow s = t.span_of(at);
    const bool is_wide = lane.blocks[i].end - lane.blocks[i].start > 0.005 * seen.width() * t.total.value;
    if (is_wide && lane.blocks[i].exposed && s.from >= seen.from * t.total.value && lane.blocks[i].end <= seen.to * t.total.value && (!gap || s.width() > t.span_of(gap).width())) gap = at;
  }
  REQUIRE(gap);
  const TimeWindow span = t.span_of(gap);
  press_at(page, gap.lane, (span.from + span.to) / 2);
  CHECK(page.state.answer.pressed == gap);
  const StepEvent& event = lane.stream.events[static_cast<std::size_t>(gap.block)];
  CHECK(row_text("time.pressed").ends_with(event.waits_for));
  CHECK(row_text("time.pressed").find(format_seconds(Seconds(span.width()))) != std::string::npos);
  const TimePlace block{gap.lane, gap.block, false};
  const TimeWindow at = t.span_of(block);
  press_at(page, block.lane, (at.from + at.to) / 2);
  CHECK(page.state.answer.pressed == block);
  CHECK(row_text("time.pressed").starts_with(event.name));
  // An edit makes another step.
  page_edit("training.micro_batch_size", "2");
  CHECK(!page.state.answer.pressed);
}

TEST_CASE("buttons, strip, wheel and keys move what is seen, and only the picture changes") {
  App& page = opened("story");
  page_edit("strategy", "fsdp");
  page_view("time", "0.2 0.4");
  draw_until_still();
  const auto width = [&] { return shown_time(page.state).width(); };
  const int changes = said().changes;
  REQUIRE(press_on("timeline.in"));
  CHECK(width() < 0.2);
  REQUIRE(press_on("timeline.out"));
  CHECK(std::abs(width() - 0.2) < 1e-9);
  REQUIRE(press_on("timeline.later"));
  CHECK(std::abs(shown_time(page.state).from - 0.3) < 1e-9);
  REQUIRE(press_on("timeline.strip"));
  CHECK(std::abs(shown_time(page.state).from - 0.4) < 0.01);
  REQUIRE(press_on("timeline.fit"));
  CHECK(width() == 1);
  CHECK(said().changes == changes);

  CHECK(!take_zoom(1));  // nothing under the pointer zooms
  const Rect lane = rect_of(page, "timeline.lane.0");
  const StepTimeline& t = page.state.answer.timeline;
  const float x = lane.x + lane.w * 0.3f;
  ImGui::GetIO().AddMousePosEvent(x, lane.middle_y());
  page_wake(3);
  draw_until_still();
  const double before = TimeScale(t, shown_time(page.state), lane).seconds_at(x);
  CHECK(take_zoom(2));
  page_wake(1);
  draw_until_still();
  CHECK(width() < 0.9);
  CHECK(std::abs(TimeScale(t, shown_time(page.state), lane).seconds_at(x) - before) < 1e-3 * t.total.value);

  // A drag to the left shows what comes later.
  const double from = shown_time(page.state).from;
  ImGuiIO& io = ImGui::GetIO();
  io.AddMouseButtonEvent(0, true);
  page_wake(1);
  draw_until_still();
  io.AddMousePosEvent(x - 40, lane.middle_y());
  page_wake(1);
  draw_until_still();
  io.AddMouseButtonEvent(0, false);
  page_wake(3);
  draw_until_still();
  CHECK(std::abs(shown_time(page.state).from - from - 40 / lane.w * width()) < 1e-6);
  CHECK(!page.state.answer.pressed);

  // Arrows step from one to the next while the pointer or the keyboard is there.
  type(ImGuiKey_RightArrow);
  const TimePlace first = page.state.answer.pressed;
  REQUIRE(first);
  type(ImGuiKey_RightArrow);
  const TimePlace second = page.state.answer.pressed;
  CHECK(second != first);
  CHECK(t.span_of(second).from >= t.span_of(first).from);
  type(ImGuiKey_LeftArrow);
  CHECK(page.state.answer.pressed == first);
  io.AddMousePosEvent(-1, -1);
}

TEST_CASE("what is drawn is what there is: colours along a lane") {
  App& page = opened("story");
  page_edit("strategy", "fsdp");
  draw_until_still();
  const StepTimeline& t = page.state.answer.timeline;
  REQUIRE(t.micro_batches.size() > 1);
  CHECK(std::abs(t.first.from * t.total.value - t.micro_batches[1]) < 1e-9);
  CHECK(t.first.to <= (t.micro_batches[2] + 1e-9) / t.total.value);
  // place_at() finds in every lane what the blocks say.
  for (std::size_t i = 0; i < t.lanes.size(); ++i) {
    const TimeBlock& b = t.lanes[i].blocks[t.lanes[i].blocks.size() / 2];
    CHECK(place_at(t, static_cast<int>(i), (b.start + b.end) / 2) == TimePlace{static_cast<int>(i), static_cast<int>(t.lanes[i].blocks.size() / 2), false});
  }
  CHECK(!place_at(t, 0, t.total.value * 2));
}

TEST_CASE("the sums stand in the table, and in the list") {
  App& page = opened("story");
  page_edit("strategy", "fsdp");
  draw_until_still();
  const StepTimeline& t = page.state.answer.timeline;
  REQUIRE(!t.waits.empty());
  CHECK(row_text("time.waits.0") == wait_text(t.waits[0]));
  CHECK(row_text("time.line").find(format_seconds(t.total)) != std::string::npos);
  for (std::size_t i = 0; i < std::min<std::size_t>(t.waits.size(), 8); ++i) CHECK(is_drawn(page, "waits." + std::to_string(i)));
  for (std::size_t i = 1; i < t.waits.size(); ++i) CHECK(t.waits[i - 1].total >= t.waits[i].total);
}

TEST_CASE("the curve of more GPUs has the plan on it and is made once, when nothing else waits") {
  App& page = opened("story");
  REQUIRE(page.state.answer.scaling);
  const Scaling& s = *page.state.answer.scaling;
  const auto mine = std::find_if(s.points.begin(), s.points.end(), [](const ScalingPoint& p) { return p.is_plan; });
  REQUIRE(mine != s.points.end());
  CHECK(mine->step.time.value == page.state.answer.estimate.step.time.value);
  REQUIRE(is_drawn(page, "scaling.plan"));
  // Twice as fast stands twice as high.
  const Rect first = rect_of(page, "scaling.0"), plan = rect_of(page, "scaling.plan"), panel = rect_of(page, "panel.scaling");
  const double ground = panel.y + 62 + 120;
  CHECK(std::abs((ground - first.middle_y()) / (ground - plan.middle_y()) - s.points[0].step.tokens_per_s_per_gpu / mine->step.tokens_per_s_per_gpu) < 0.02);
  CHECK(row_text("time.scaling") == scaling_text(page.state.words, s));
  const ScalingPoint* points = s.points.data();
  page_wake(3);
  draw_until_still();
  CHECK(page.state.answer.scaling->points.data() == points);
  page_edit("training.micro_batch_size", "2");
  CHECK(!page.state.answer.scaling);
}
