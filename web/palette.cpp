#include "web/palette.hpp"

namespace wireplan {

namespace {

constexpr ImU32 rgb(unsigned hex) { return IM_COL32(hex >> 16 & 0xFF, hex >> 8 & 0xFF, hex & 0xFF, 255); }

// Relative luminance in the sense of WCAG 2, the exponent 2.4 taken as 2: enough to choose between black and white.
float luminance(ImU32 color) {
  const ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  return 0.2126f * c.x * c.x + 0.7152f * c.y * c.y + 0.0722f * c.z * c.z;
}

}  // namespace

const Palette kLightPalette = {
    .ink = rgb(0x14181D),
    .ink2 = rgb(0x47505A),
    .ink3 = rgb(0x616B76),
    .fit = rgb(0x006B63),
    .no = rgb(0xB5301C),
    .exp = rgb(0x822C9E),
    .warn = rgb(0x8A5A00),
    .focus = rgb(0x1D5FE0),
    .line2 = rgb(0x7F8994),
    .bg0 = rgb(0xF4F5F6),
    .bg1 = rgb(0xFFFFFF),
    .bg2 = rgb(0xEBEDF0),
    .bg3 = rgb(0xDFE3E7),
    .line = rgb(0xDCE0E4),
    .track = rgb(0xE6E9ED),
    .grid = rgb(0xE6E9EC),
    .fit_bg = rgb(0xDBF0ED),
    .no_bg = rgb(0xFBE7E2),
    .exp_bg = rgb(0xF3E6F8),
    .warn_bg = rgb(0xFBF0DA),
    .sel = rgb(0x14181D),
    .on_sel = rgb(0xFFFFFF),
    .params = rgb(0x2C4694),
    .grads = rgb(0x6985CB),
    .optim = rgb(0xA9BDE9),
    .acts = rgb(0xBE8A1C),
    .logits = rgb(0xE4C878),
    .gath = rgb(0x66707B),
    .bufs = rgb(0xA0A8B0),
    .slack = rgb(0xCBD1D7),
    .forward = rgb(0xAFBBC6),
    .backward = rgb(0x7F8E9D),
    .optimizer = rgb(0x3B444E),
    .gather = rgb(0xDCC4E7),
    .scatter = rgb(0xB88CCC),
    .exposed = rgb(0x822C9E),
    .load = rgb(0x66737F),
};

const Palette kDarkPalette = {
    .ink = rgb(0xECEFF2),
    .ink2 = rgb(0xB4BDC6),
    .ink3 = rgb(0x929CA7),
    .fit = rgb(0x45CDB9),
    .no = rgb(0xFF8269),
    .exp = rgb(0xD197F0),
    .warn = rgb(0xE8B75A),
    .focus = rgb(0x7FB0FF),
    .line2 = rgb(0x6E7883),
    .bg0 = rgb(0x101316),
    .bg1 = rgb(0x171B1F),
    .bg2 = rgb(0x22282E),
    .bg3 = rgb(0x2E353D),
    .line = rgb(0x2A3138),
    .track = rgb(0x262D34),
    .grid = rgb(0x252B31),
    .fit_bg = rgb(0x0F3733),
    .no_bg = rgb(0x47211A),
    .exp_bg = rgb(0x39214A),
    .warn_bg = rgb(0x3A2D12),
    .sel = rgb(0xECEFF2),
    .on_sel = rgb(0x14181D),
    .params = rgb(0x4A6AC4),
    .grads = rgb(0x7B95DC),
    .optim = rgb(0xAFC0EF),
    .acts = rgb(0xC9972F),
    .logits = rgb(0xEAD196),
    .gath = rgb(0x7D8792),
    .bufs = rgb(0xA9B1BA),
    .slack = rgb(0x4A535D),
    .forward = rgb(0x434E59),
    .backward = rgb(0x5B6875),
    .optimizer = rgb(0xDDE3E9),
    .gather = rgb(0x553A66),
    .scatter = rgb(0x7F5A96),
    .exposed = rgb(0xC07BE4),
    .load = rgb(0x8C98A5),
};

Palette palette_for(bool is_dark, bool more_contrast) {
  Palette p = is_dark ? kDarkPalette : kLightPalette;
  if (!more_contrast) return p;
  const ImU32 ground = rgb(is_dark ? 0x000000 : 0xFFFFFF), ink = rgb(is_dark ? 0xFFFFFF : 0x000000);
  p.bg0 = p.bg1 = p.bg2 = ground;
  p.ink = p.ink2 = p.ink3 = p.line = p.line2 = p.sel = ink;
  p.on_sel = ground;
  return p;
}

ImU32 label_on(ImU32 fill) {
  // Equal contrast against white (luminance 1) and #14181D (0.009) where (L + 0.05)² = 1.05 · 0.059.
  return luminance(fill) < 0.199f ? rgb(0xFFFFFF) : rgb(0x14181D);
}

ImU32 faded(ImU32 color, float alpha) {
  ImVec4 c = ImGui::ColorConvertU32ToFloat4(color);
  c.w *= alpha;
  return ImGui::ColorConvertFloat4ToU32(c);
}

}  // namespace wireplan
