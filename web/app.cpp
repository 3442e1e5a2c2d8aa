#include "web/app.hpp"

#include <algorithm>

#include "web/fonts.hpp"
#include "web/panels/panels.hpp"
#include "web/platform.hpp"
#include "web/style.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

// Results inside their column; grey while an edit is wrong and they belong to the plan before it.
Edit draw_results(App& a) {
  Edit edit;
  const PageLayout& page = a.layout;
  const auto take = [&](Edit next) {
    if (next) edit = std::move(next);
  };
  const ImVec2 start = begin_scroll(a.ui, "results", page.centre, a.ui.colors->bg1);
  const float moved = start.y - page.centre.y;
  const auto here = [&](Rect r) { return Rect{r.x, r.y + moved, r.w, r.h}; };
  const Rect memory = here(page.memory), wiring = here(page.wiring), wirings = here(page.wirings),
             step = here(page.step), timeline = here(page.timeline), waits = here(page.waits), scaling = here(page.scaling),
             curves = here(page.curves), moments = here(page.moments);
  for (const auto& [key, rect] : {std::pair{"panel.memory", memory},
                                  {"panel.wiring", wiring},
                                  {"panel.wirings", wirings},
                                  {"panel.step", step},
                                  {"panel.timeline", timeline},
                                  {"panel.waits", waits},
                                  {"panel.scaling", scaling},
                                  {"panel.curves", curves},
                                  {"panel.moments", moments}})
    if (rect.w > 0) a.ui.mark(key, rect);
  const auto draw = [&](Edit (*panel)(Ui&, const AppState&, const Rect&), const Rect& place) {
    if (place.w > 0) take(panel(a.ui, a.state, place));
  };
  draw(draw_memory, memory);
  draw(draw_wiring, wiring);
  draw(draw_wirings, wirings);
  draw(draw_step, step);
  draw(draw_timeline, timeline);
  draw(draw_waits, waits);
  draw(draw_scaling, scaling);
  draw(draw_curves, curves);
  draw(draw_moments, moments);
  for (const Rect& r : {memory, wiring, step, timeline, waits, curves, moments})
    if (r.w > 0 && r.y > start.y) horizontal(a.ui, page.centre.x, page.centre.right(), r.y, a.ui.colors->line);
  if (a.state.is_stale()) fill(a.ui, page.centre, faded(a.ui.colors->bg1, 0.55f));
  end_scroll(a.ui, start, page.centre_height);
  return edit;
}

Edit draw_panels(App& a) {
  Edit edit;
  const PageLayout& page = a.layout;
  const auto take = [&](Edit next) {
    if (next) edit = std::move(next);
  };
  take(draw_results(a));
  if (page.strip.w > 0) take(draw_input_strip(a.ui, a.state, page.strip));
  if (page.inputs.w > 0) {
    take(draw_inputs(a.ui, a.state, a.form, page.inputs,
                     page.columns == Columns::strip ? std::string_view(a.state.view.section) : std::string_view()));
  }
  if (page.drawer.w > 0) take(draw_explanation(a.ui, a.state, page.drawer));
  return edit;
}

// Text is drawn in faces that are hardly ever the current one, and ImGui tells the screen's pixel ratio to that one alone: the others would
// be rasterised for one pixel a point, and blurred.
void know_ratio(const Fonts& fonts) {
  for (ImFont* face : {fonts.regular, fonts.semibold, fonts.mono}) {
    ImGui::PushFont(face, 0);
    ImGui::PopFont();
  }
}

void begin_page(App& a) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({a.width, a.height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::Begin("page", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  know_ratio(a.ui.fonts);
  a.ui.list = ImGui::GetWindowDrawList();
  a.ui.canvas = {0, 0, a.width, a.height};
  a.ui.colors = &a.palette;
  a.ui.words = &a.state.words;
  a.ui.unit = a.state.view.unit;
  a.ui.keys.clear();
  a.ui.cut.clear();
  a.ui.more_frames = a.ui.scrolls = a.ui.zooms = false;
  a.ui.request = {};
  a.layout = page_layout(a.state, a.width, a.height);
  a.ui.touch = a.layout.columns == Columns::flow || (a.layout.columns == Columns::chosen && a.width < kNarrowPanels);
}

void pass_on(const Request& request) {
  if (request.kind == Request::Kind::edit_text) platform::say_edit_text(request.path, request.rect, request.value);
  if (request.kind == Request::Kind::ask) platform::say_ask(request.path);
  if (request.kind == Request::Kind::pick) platform::say_pick(request.path, request.rect);
}

}  // namespace

App& app() {
  static App the_page;
  return the_page;
}

void draw_frame() {
  App& a = app();
  platform::begin_frame();
  // The time nothing was drawn is no time that the pointer rested on something.
  ImGui::GetIO().DeltaTime = std::min(ImGui::GetIO().DeltaTime, 1.f / 20);
  ImGui::NewFrame();
  begin_page(a);
  const Edit edit = draw_panels(a);
  ImGui::End();
  ImGui::Render();
  platform::end_frame(ImGui::ColorConvertU32ToFloat4(a.palette.bg1));
  platform::show_cursor(ImGui::GetMouseCursor() == ImGuiMouseCursor_Hand);
  ++a.frames;
  --a.wanted;
  a.ui.zoom = 0;
  // Moving along the time line changes nothing that the frame around shows.
  if (edit && apply(a.state, edit)) edit.path == "view.time" ? wake(a, 2) : follow_change(a);
  pass_on(a.ui.request);
  if (a.ui.more_frames) a.wanted = std::max(a.wanted, 1);
  if (a.wanted <= 0 && (find_mapping(a.state) || find_scaling(a.state))) {
    platform::say_changed();
    a.wanted = 1;
  }
  if (a.wanted > 0) platform::request_frame();
}

bool takes_wheel() { return app().ui.scrolls; }

bool take_zoom(float steps) {
  if (app().ui.zooms) app().ui.zoom += steps;
  return app().ui.zooms;
}

bool open_pictures(App& a) {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  a.ui.fonts = load_fonts();
  apply_style(a.palette);
  a.has_pictures = platform::open();
  a.is_text_only = !a.has_pictures;
  if (a.is_text_only) find_scaling(a.state);
  return a.has_pictures;
}

void resize(App& a, int width, int height) {
  a.width = static_cast<float>(std::max(width, 1));
  a.height = static_cast<float>(std::max(height, 1));
  if (a.has_pictures) platform::resize(width, height);
  a.layout = page_layout(a.state, a.width, a.height);
}

void wake(App& a, int frames) {
  if (!a.has_pictures || frames < 1) return;
  a.wanted = std::max(a.wanted, frames);
  platform::request_frame();
}

void follow_change(App& a) {
  a.form = form_fields(a.state);
  a.palette = palette_for(a.state.view.is_dark, a.state.view.more_contrast);
  if (a.has_pictures) apply_style(a.palette);
  if (a.is_text_only) find_scaling(a.state);
  wake(a, 3);
  platform::say_changed();
}

}  // namespace wireplan
