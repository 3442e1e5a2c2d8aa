#include "web/layout.hpp"

#include <algorithm>
#include <cmath>

#include "web/panels/nccl_ways.hpp"
#include "web/panels/panels.hpp"

namespace wireplan {

namespace {

constexpr float kWiring = 226, kWiringMost = 330, kNarrowWiring = 300, kNarrowChoice = 48, kNetwork = 28;
constexpr float kChosenWiring = 276;

// What the drawing of NCCL's ways needs beside the wiring itself.
float nccl_height(const AppState& state, float width, bool touch) { return state.view.nccl ? nccl_choice_height(width, touch) + nccl_facts_height(state, width) : 0; }

// The step in time, what it waits for, and what more GPUs do: the last two beside each other where there is room. Returns where they end.
float place_time(const AppState& state, PageLayout& page, float x, float y, float width, bool narrow) {
  page.timeline = {x, y, width, timeline_height(state, narrow)};
  page.waits = {x, page.timeline.bottom(), width, waits_height(state, narrow)};
  page.scaling = {x, page.waits.bottom(), width, scaling_height(narrow)};
  if (!narrow && width >= 1080) {
    page.waits.h = page.scaling.h = std::max(page.waits.h, page.scaling.h);
    page.scaling.y = page.waits.y;
    page.scaling.w = std::floor(width * 0.44f);
    page.waits.w -= page.scaling.w;
    page.scaling.x += page.waits.w;
  }
  return page.scaling.bottom();
}

// Results from top to bottom. What is left over goes to the drawing, then to the table.
void place_results(const AppState& state, PageLayout& page) {
  Rect rest = page.centre;
  const float memory = memory_height(state, rest.w, false), step = step_height(state, false);
  const bool stacked = rest.w < 640;
  const float wirings = wirings_height(state);
  const float least = kWiring + (state.answer.plan.cluster.nodes > 1 ? kNetwork : 0);
  const float spare = std::max(0.f, rest.h - memory - step - least);
  const float drawing = std::min(least + spare * 0.7f, kWiringMost);
  page.memory = rest.cut_top(memory);
  if (stacked) {
    page.wiring = rest.cut_top(least + nccl_height(state, rest.w - 40, false)).inset(20, 0);
    page.wirings = rest.cut_top(wirings).inset(12, 0);
  } else {
    const float beside = std::clamp((rest.w - 32) * 0.38f, 250.f, 340.f);
    Rect row = rest.cut_top(std::max(drawing + nccl_height(state, rest.w - 32 - beside - 24, false), wirings));
    row.cut_left(20);
    row.cut_right(12);
    page.wirings = row.cut_right(beside);
    row.cut_right(24);
    page.wiring = row;
  }
  page.step = {rest.x, rest.y, rest.w, step};
  const float below = place_time(state, page, rest.x, page.step.bottom(), rest.w, false);
  page.curves = {rest.x, below, rest.w, curves_height(state, rest.w, false)};
  page.moments = {rest.x, page.curves.bottom(), rest.w, moments_height(state, false)};
  page.centre_height = page.moments.bottom() - page.centre.y;
}

void place_flow(const AppState& state, PageLayout& page) {
  Rect rest = page.centre;
  page.memory = rest.cut_top(memory_height(state, rest.w, true));
  page.moments = rest.cut_top(moments_height(state, true));
  const bool has_choice = total_gpus(state.answer.plan.cluster) > 1;
  page.wiring = rest.cut_top(kNarrowWiring + (has_choice ? kNarrowChoice : 0) + nccl_height(state, rest.w - 32, true)).inset(16, 0);
  page.wirings = rest.cut_top(wirings_height(state)).inset(8, 0);
  page.step = rest.cut_top(step_height(state, true));
  rest.cut_top(place_time(state, page, rest.x, rest.y, rest.w, true) - rest.y);
  page.curves = rest.cut_top(curves_height(state, rest.w, true));
  page.centre_height = page.curves.bottom() - page.centre.y;
}

// Only what was asked for, once each, in that order. Below the width at which the panels draw themselves narrow they are placed so.
void place_chosen(const AppState& state, PageLayout& page) {
  const float width = page.centre.w;
  const bool narrow = width < kNarrowPanels;
  const float side = narrow ? 16 : 20;
  const bool has_choice = narrow && total_gpus(state.answer.plan.cluster) > 1;
  const float drawing = (narrow ? kNarrowWiring + (has_choice ? kNarrowChoice : 0) : kChosenWiring) +
                        (state.answer.plan.cluster.nodes > 1 ? kNetwork : 0) + nccl_height(state, width - 2 * side, narrow);
  float y = page.centre.y;
  const auto place = [&](Rect& panel, float height, float inset = 0) {
    if (panel.w > 0) return;
    panel = Rect{page.centre.x, y, width, height}.inset(inset, 0);
    y += height;
  };
  for (std::string_view rest = state.view.panels; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    if (name == "memory") place(page.memory, memory_height(state, width, narrow));
    if (name == "wiring") place(page.wiring, drawing, side);
    if (name == "wirings") place(page.wirings, wirings_height(state), side - 8);
    if (name == "step") place(page.step, step_height(state, narrow));
    if (name == "timeline") place(page.timeline, timeline_height(state, narrow));
    if (name == "waits") place(page.waits, waits_height(state, narrow));
    if (name == "scaling") place(page.scaling, scaling_height(narrow));
    if (name == "curves") place(page.curves, curves_height(state, width, narrow));
    if (name == "moments") place(page.moments, moments_height(state, narrow));
  }
  page.centre_height = y - page.centre.y;
}

}  // namespace

Columns columns_for(float width) {
  return width >= 1280 ? Columns::three : width >= 1024 ? Columns::two : width >= 720 ? Columns::strip : Columns::flow;
}

PageLayout page_layout(const AppState& state, float width, float height) {
  PageLayout page;
  page.columns = state.view.panels.empty() ? columns_for(width) : Columns::chosen;
  Rect rest{0, 0, width, height};
  if (page.columns == Columns::chosen) {
    page.centre = rest;
    place_chosen(state, page);
    return page;
  }
  if (page.columns == Columns::flow) {
    page.centre = rest;
    place_flow(state, page);
    return page;
  }
  constexpr float kDrawer = 336;
  if (page.columns == Columns::strip) {
    page.strip = rest.cut_left(64);
    if (!state.view.section.empty()) page.inputs = {rest.x, rest.y, 304, rest.h};  // over the results
  } else {
    page.inputs = rest.cut_left(page.columns == Columns::three ? 304 : 280);
  }
  if (!state.view.explain.empty() && (page.columns == Columns::three || state.view.asked)) {
    page.drawer = {rest.right() - kDrawer, rest.y, kDrawer, rest.h};
    if (page.columns == Columns::three) rest.w -= kDrawer;
  }
  page.centre = rest;
  place_results(state, page);
  return page;
}

float wanted_height(const AppState& state, float width) {
  return !state.view.panels.empty() || columns_for(width) == Columns::flow ? page_layout(state, width, 0).centre_height : 0;
}

}  // namespace wireplan
