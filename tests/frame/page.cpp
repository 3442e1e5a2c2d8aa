#include "tests/frame/page.hpp"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <imgui.h>

#include "core/text/json.hpp"
#include "web/platform.hpp"

namespace wireplan {

namespace test {

Said& said() {
  static Said all;
  return all;
}

App& page_at(int width, int height) {
  static const bool opened = page_start("") == 1;
  (void)opened;
  page_open("story");
  page_view("language", "en");
  page_view("theme", "light");
  page_resize(width, height);
  ImGui::GetIO().AddMousePosEvent(-1, -1);
  page_wake(3);
  draw_until_still();
  return app();
}

int draw_until_still() {
  int frames = 0;
  while (said().wants_frame && frames < 50) {
    said().wants_frame = false;
    draw_frame();
    ++frames;
  }
  return frames;
}

bool press_on(std::string_view key) {
  for (const KeyedRect& k : app().ui.keys) {
    if (k.key != key || k.rect.w < 1) continue;
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(k.rect.middle_x(), k.rect.middle_y());
    for (const bool down : {true, false}) {
      io.AddMouseButtonEvent(0, down);
      page_wake(3);
      draw_until_still();
    }
    io.AddMousePosEvent(-1, -1);
    return true;
  }
  return false;
}

bool is_drawn(const App& page, std::string_view key) {
  return std::any_of(page.ui.keys.begin(), page.ui.keys.end(), [&](const KeyedRect& k) { return k.key == key && k.rect.w > 0; });
}

std::string row_text(const std::string& path) {
  const Json document = parse_json(page_state()).value();
  for (const Json& row : document["rows"])
    if (row["path"] == path) return row["text"].get<std::string>();
  return {};
}

Rect rect_of(const App& page, std::string_view key) {
  for (const KeyedRect& k : page.ui.keys)
    if (k.key == key) return k.rect;
  FAIL("nothing is drawn with the key " << key);
  return {};
}

}  // namespace test

namespace platform {

bool open() {
  ImGuiIO& io = ImGui::GetIO();
  io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  io.DisplaySize = {1280, 720};
  return true;
}
void resize(int width, int height) {
  ImGui::GetIO().DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
}
void begin_frame() { ImGui::GetIO().DeltaTime = 1.f / 60; }
void end_frame(ImVec4) {
  for (ImTextureData* texture : *ImGui::GetDrawData()->Textures) {
    const bool goes = texture->Status == ImTextureStatus_WantDestroy;
    if (texture->Status == ImTextureStatus_OK) continue;
    texture->SetTexID(goes ? ImTextureID_Invalid : 1);
    texture->SetStatus(goes ? ImTextureStatus_Destroyed : ImTextureStatus_OK);
  }
}
void request_frame() { test::said().wants_frame = true; }
void restore() {}
void say_changed() { ++test::said().changes; }
void say_edit_text(const std::string& path, Rect, const std::string&) { test::said().edit_text = path; }
void say_ask(const std::string& dialog) { test::said().asked = dialog; }
void say_pick(const std::string& path, Rect) { test::said().pick = path; }
void show_cursor(bool) {}

}  // namespace platform
}  // namespace wireplan
