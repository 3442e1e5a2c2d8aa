#include "web/panels/wiring_sketch.hpp"

namespace wireplan {

void draw_wiring_sketch(Ui& ui, std::string_view kind, const Rect& area, ImU32 ink) {
  constexpr float kGpu = 6;
  const float step = (area.w - kGpu) / 3, top = area.y, floor = area.bottom() - kGpu;
  const auto gpu_x = [&](int i) { return area.x + static_cast<float>(i) * step + kGpu / 2; };
  for (int i = 0; i < 4; ++i) fill(ui, {gpu_x(i) - kGpu / 2, floor, kGpu, kGpu}, ink, 1);

  if (kind == "nvswitch" || kind == "pcie-switch") {
    const bool full = kind == "nvswitch";
    const Rect bar{area.x, top, area.w, 5};
    if (full)
      fill(ui, bar, ink, 1);
    else
      outline(ui, bar, ink, 1);
    for (int i = 0; i < 4; ++i) line(ui, {gpu_x(i), bar.bottom()}, {gpu_x(i), floor}, ink, full ? 2.f : 1.f);
    return;
  }
  // A host above, lines down to the GPUs; broken where peers cannot reach one another.
  const Rect host{area.middle_x() - 7, top, 14, 6};
  outline(ui, host, ink, 1);
  for (int i = 0; i < 4; ++i) {
    const ImVec2 from{area.middle_x() + (static_cast<float>(i) - 1.5f) * 4, host.bottom()}, to{gpu_x(i), floor};
    if (kind == "no-p2p")
      dashed_line(ui, from, to, ink, 2, 2);
    else
      line(ui, from, to, ink);
  }
  if (kind == "nvlink-pairs")
    for (const int i : {0, 2}) fill(ui, {gpu_x(i), floor + 2, step, 2.5f}, ink);
}

}  // namespace wireplan
