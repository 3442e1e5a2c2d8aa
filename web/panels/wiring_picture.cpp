#include "web/panels/wiring_picture.hpp"

#include <algorithm>
#include <cmath>

#include "web/draw.hpp"

namespace wireplan {

namespace {

constexpr float kChip = 26, kSwitch = 20, kGpuWidth = 48, kGpuHeight = 38, kInset = 12, kCaption = 26;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

int height_of(ComponentKind kind) {  // above which other chips it stands
  switch (kind) {
    case ComponentKind::cpu:
      return 3;
    case ComponentKind::root:
      return 2;
    case ComponentKind::pcie_switch:
      return 1;
    default:
      return 0;
  }
}

class Drawing {
 public:
  Drawing(const WiringGraph& graph, Rect area) : graph_(graph), area_(area) {
    picture_.chips.resize(graph.components.size());
    above_.assign(graph.components.size(), -1);
    for (const Link& l : graph.links) {
      if (l.kind != LinkKind::pcie && l.kind != LinkKind::c2c) continue;
      const int a = height_of(kind(l.a)), b = height_of(kind(l.b));
      if (a < b) above_[index(l.a)] = l.b;
      if (b < a) above_[index(l.b)] = l.a;
    }
  }

  WiringPicture picture() {
    // Links that do not join neighbours are led below the GPUs.
    std::size_t joined = 0;
    for (const Link& l : graph_.links) joined += kind(l.a) == ComponentKind::gpu && kind(l.b) == ComponentKind::gpu;
    if (2 * joined > all_of(ComponentKind::gpu).size()) below_ = kCaption + 18;
    const int nvswitch = first_of(ComponentKind::nvswitch);
    if (nvswitch >= 0)
      place_switched(nvswitch);
    else
      place_hosts();
    place_links();
    return std::move(picture_);
  }

 private:
  ComponentKind kind(int component) const { return graph_.components[index(component)].kind; }
  Rect& chip(int component) { return picture_.chips[index(component)]; }

  std::vector<int> all_of(ComponentKind wanted) const {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(graph_.components.size()); ++i)
      if (kind(i) == wanted) found.push_back(i);
    return found;
  }
  int first_of(ComponentKind wanted) const {
    const std::vector<int> all = all_of(wanted);
    return all.empty() ? -1 : all.front();
  }
  // The chip at the top of a GPU's way to its host.
  int host_of(int component) const {
    while (above_[index(component)] >= 0) component = above_[index(component)];
    return component;
  }

  // GPUs side by side, the outer ones at the edges.
  void place_row(const std::vector<int>& gpus, Rect inside, float bottom) {
    const float n = static_cast<float>(gpus.size());
    const float width = std::clamp((inside.w - 4 * (n - 1)) / std::max(n, 1.f), 3.f, kGpuWidth);
    const float height = width < 16 ? 16 : kGpuHeight;
    const float step = gpus.size() > 1 ? (inside.w - width) / (n - 1) : 0;
    float x = gpus.size() > 1 ? inside.x : inside.middle_x() - width / 2;
    for (const int gpu : gpus) {
      chip(gpu) = {std::floor(x), bottom - height, width, height};
      x += step;
    }
  }

  void place_switched(int nvswitch) {
    const std::vector<int> gpus = all_of(ComponentKind::gpu);
    const float widest = static_cast<float>(gpus.size()) * 76;
    Rect ground = area_;
    if (ground.w > widest + 2 * kInset)
      ground = {area_.middle_x() - widest / 2 - kInset, area_.y, widest + 2 * kInset, area_.h};
    picture_.grounds.push_back({ground, -1, -1});
    const Rect inside = ground.inset(kInset, kInset);
    chip(nvswitch) = {inside.x, inside.y, inside.w, kChip};
    place_row(gpus, inside.inset(gpus.size() <= 8 ? 8.f : 0.f, 0), ground.bottom() - below_);
  }

  void place_hosts() {
    std::vector<int> hosts;
    std::vector<std::vector<int>> under;
    for (const int gpu : all_of(ComponentKind::gpu)) {
      const int host = host_of(gpu);
      auto found = std::find(hosts.begin(), hosts.end(), host);
      if (found == hosts.end()) found = hosts.insert(hosts.end(), host), under.emplace_back();
      under[static_cast<std::size_t>(found - hosts.begin())].push_back(gpu);
    }
    if (hosts.empty()) return;
    const float n = static_cast<float>(hosts.size());
    const float gap = hosts.size() == 2 ? std::clamp(area_.w * 0.2f, 40.f, 104.f) : 12;
    float gpus = 0;
    for (const auto& list : under) gpus += std::max(1.f, static_cast<float>(list.size()));
    const float room = area_.w - gap * (n - 1);
    float x = area_.x;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      float width = room * std::max(1.f, static_cast<float>(under[i].size())) / gpus;
      if (hosts.size() == 1)
        width = std::min(width, 76 * std::max(2.f, static_cast<float>(under[i].size())) + 2 * kInset);
      if (hosts.size() == 1) x = area_.middle_x() - width / 2;
      place_host(hosts[i], static_cast<int>(i), under[i], {x, area_.y, width, area_.h});
      x += width + gap;
    }
    if (hosts.size() == 2) {
      const Rect& left = picture_.grounds[0].rect;
      picture_.between = {left.right(), left.y, gap, left.h};
    }
  }

  void place_host(int host, int socket, const std::vector<int>& gpus, Rect ground) {
    picture_.grounds.push_back({ground, graph_.components[index(host)].numa, socket});
    const Rect inside = ground.inset(kInset, kInset);
    if (kind(host) != ComponentKind::gpu) chip(host) = {inside.x, inside.y, inside.w, kChip};
    place_row(gpus, inside, ground.bottom() - below_);
    // A switch spans the GPUs below it.
    for (const int gpu : gpus) {
      const int above = above_[index(gpu)];
      if (above < 0 || above == host) continue;
      Rect& bar = chip(above);
      const Rect& g = chip(gpu);
      const float left = bar.w > 0 ? std::min(bar.x, g.x) : g.x,
                  right = bar.w > 0 ? std::max(bar.right(), g.right()) : g.right();
      bar = {left, std::floor(inside.y + kChip + (g.y - inside.y - kChip) * 0.36f), right - left, kSwitch};
    }
  }

  void place_links() {
    for (int i = 0; i < static_cast<int>(graph_.links.size()); ++i) {
      const Link& l = graph_.links[index(i)];
      const Rect &a = chip(l.a), &b = chip(l.b);
      if (a.w <= 0 || b.w <= 0) continue;
      PlacedLink placed{i, {}, {}, pipe_width(l.rate.value), false};
      const bool same_row = std::abs(a.middle_y() - b.middle_y()) < 2;
      const Rect &left = a.x < b.x ? a : b, &right = a.x < b.x ? b : a;
      if (!same_row) {
        const Rect &low = a.y > b.y ? a : b, &high = a.y > b.y ? b : a;
        placed.width = std::min(placed.width, low.w * 0.7f);
        const float x = std::floor(low.middle_x());
        if (x < high.x || x > high.right()) continue;
        const ImVec2 bottom{x, low.y}, top{x, high.bottom()};
        placed.a = &low == &a ? bottom : top;
        placed.b = &low == &a ? top : bottom;
      } else if (is_next_to(left, right) && right.x - left.right() >= 14) {
        const float y = std::floor(left.middle_y()) + (kind(l.a) == ComponentKind::gpu ? 1.f : 0.f);
        placed.a = {&left == &a ? left.right() : right.x, y};
        placed.b = {&left == &a ? right.x : left.right(), y};
      } else {
        placed.bent = true;
        const float span = (right.x - left.x) / std::max(left.w + 4, 8.f);
        const bool below = kind(l.a) == ComponentKind::gpu;
        placed.a = {a.middle_x(), below ? a.bottom() : a.y};
        placed.b = {b.middle_x(), below ? b.bottom() : b.y};
        placed.dip = (below ? 1.f : -1.f) * std::min(3 + 3 * span, 21.f);
      }
      picture_.links.push_back(placed);
    }
  }

  // No other chip of the same row stands between the two.
  bool is_next_to(const Rect& left, const Rect& right) const {
    return std::none_of(picture_.chips.begin(), picture_.chips.end(), [&](const Rect& c) {
      return c.w > 0 && c.x > left.x && c.x < right.x && std::abs(c.middle_y() - left.middle_y()) < 2;
    });
  }

  const WiringGraph& graph_;
  Rect area_;
  std::vector<int> above_;
  float below_ = kCaption;  // the GPUs
  WiringPicture picture_;
};

}  // namespace

WiringPicture wiring_picture(const WiringGraph& graph, Rect area) { return Drawing(graph, area).picture(); }

}  // namespace wireplan
