#include "web/style.hpp"

#include "web/fonts.hpp"

namespace wireplan {

namespace {

// ImGui takes a size as the height from ascender to descender; the page states sizes as the em, as CSS does.
constexpr float kInterHeight = 1.2102f;  // (2728 + 680) / 2816
constexpr float kMonoHeight = 1.32f;     // (1020 + 300) / 1000

ImFont* load(const EmbeddedFont& font, float height) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.ExtraSizeScale = height;
  return ImGui::GetIO().Fonts->AddFontFromMemoryTTF(const_cast<unsigned char*>(font.data), static_cast<int>(font.size),
                                                    13, &config);
}

}  // namespace

Fonts load_fonts() {
  return {load(kInterRegular, kInterHeight), load(kInterSemiBold, kInterHeight), load(kJetBrainsMono, kMonoHeight)};
}

void apply_style(const Palette& c) {
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
  io.ConfigInputTextCursorBlink = false;

  ImGuiStyle& s = ImGui::GetStyle();
  s.WindowBorderSize = s.ChildBorderSize = s.FrameBorderSize = 0;
  s.PopupBorderSize = 1;
  s.FrameRounding = s.PopupRounding = 4;
  s.FramePadding = {8, 4};
  s.ItemSpacing = {8, 4};
  s.ScrollbarSize = 10;
  s.ScrollbarRounding = 5;
  s.DisabledAlpha = 1;
  s.HoverDelayNormal = 0.3f;

  const auto set = [&](ImGuiCol which, ImU32 color) { s.Colors[which] = ImGui::ColorConvertU32ToFloat4(color); };
  set(ImGuiCol_Text, c.ink);
  set(ImGuiCol_TextDisabled, c.ink3);
  set(ImGuiCol_WindowBg, c.bg1);
  set(ImGuiCol_ChildBg, c.bg1);
  set(ImGuiCol_PopupBg, c.bg1);
  set(ImGuiCol_Border, c.line2);
  set(ImGuiCol_ScrollbarBg, faded(c.bg1, 0));
  set(ImGuiCol_ScrollbarGrab, faded(c.line2, 0.6f));
  set(ImGuiCol_ScrollbarGrabHovered, c.line2);
  set(ImGuiCol_ScrollbarGrabActive, c.ink3);
  set(ImGuiCol_NavCursor, c.focus);
}

}  // namespace wireplan
