#include "web/panels/nccl_ways.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/sort.hpp"
#include "web/nccl_words.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

using Hop = NcclView::Hop;
constexpr float kThick = 2;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

void arrow_head(Ui& ui, ImVec2 from, ImVec2 tip, float size, ImU32 color) {
  const float dx = tip.x - from.x, dy = tip.y - from.y, far = std::sqrt(dx * dx + dy * dy);
  if (far < 1) return;
  const ImVec2 d{dx / far * size, dy / far * size};
  ui.list->AddTriangleFilled(tip, {tip.x - d.x * 1.5f - d.y * 0.8f, tip.y - d.y * 1.5f + d.x * 0.8f}, {tip.x - d.x * 1.5f + d.y * 0.8f, tip.y - d.y * 1.5f - d.x * 0.8f}, color);
}

bool has_chip(const WiringPicture& picture, int component) {
  return component >= 0 && index(component) < picture.chips.size() && picture.chips[index(component)].w > 0;
}

// One hop as a line: it keeps to its direction's lane of every link, and crosses chips on a track of its own.
class Way {
 public:
  Way(const PreparedCluster& wiring, const WiringPicture& picture, Hop hop) : wiring_(wiring), picture_(picture) {
    if (hop.from >= wiring.gpus || hop.to >= wiring.gpus || !has_chip(picture, hop.from) || !has_chip(picture, hop.to)) return;
    const PreparedCluster::Route& route = wiring.route(hop.from, hop.to);
    for (std::uint32_t i = 0; i < route.count; ++i)
      if (!add(wiring.steps[route.first + i])) {
        points.clear();
        break;
      }
    if (points.empty()) straight(hop);
  }

  // Where it crosses a chip from one upright link to the next.
  struct Crossing {
    int chip;
    std::size_t at;   // index of the first of both points
    float left, right;
    int track = 0;
  };
  std::vector<ImVec2> points;
  std::vector<Crossing> crossings;

 private:
  bool add(const PreparedCluster::Step& step) {
    const auto found = std::find_if(picture_.links.begin(), picture_.links.end(), [&](const PlacedLink& p) { return p.link == step.link; });
    if (found == picture_.links.end()) return false;
    ImVec2 a = step.forward ? found->a : found->b, b = step.forward ? found->b : found->a;
    if (found->bent) {
      const float low = a.y + found->dip;
      points.insert(points.end(), {a, {a.x, low}, {b.x, low}, b});
      return true;
    }
    const bool upright = a.x == b.x;
    const float lane = found->width / 4 + 0.4f;
    if (upright)
      a.x = b.x = a.x + (b.y < a.y ? lane : -lane);
    else
      a.y = b.y = a.y + (b.x > a.x ? lane : -lane);
    if (!points.empty()) {
      const ImVec2 before = points.back();
      if (upright && was_upright_) {
        const Link& l = wiring_.graph.links[index(step.link)];
        crossings.push_back({step.forward ? l.a : l.b, points.size(), std::min(before.x, a.x), std::max(before.x, a.x)});
        points.insert(points.end(), {{before.x, before.y}, {a.x, before.y}});
      } else if (upright) {
        points.push_back({a.x, before.y});
      } else if (was_upright_) {
        points.push_back({before.x, a.y});
      }
    }
    points.insert(points.end(), {a, b});
    was_upright_ = upright;
    return true;
  }

  // A way whose links are not drawn.
  void straight(Hop hop) {
    const Rect &a = picture_.chips[index(hop.from)], &b = picture_.chips[index(hop.to)];
    crossings.clear();
    points = {{a.middle_x(), a.y}, {b.middle_x(), b.y}};
  }

  const PreparedCluster& wiring_;
  const WiringPicture& picture_;
  bool was_upright_ = false;
};

// Crossings of a chip that would lie on one another get tracks of their own, short ones below.
void spread(std::vector<Way>& ways, const WiringPicture& picture) {
  std::vector<Way::Crossing*> all;
  for (Way& w : ways)
    for (Way::Crossing& c : w.crossings) all.push_back(&c);
  sort(all, [](const auto* a, const auto* b) { return a->right - a->left < b->right - b->left; });
  std::vector<int> tracks(picture.chips.size(), 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Way::Crossing& c = *all[i];
    for (std::size_t k = 0; k < i; ++k)
      if (all[k]->chip == c.chip && all[k]->track == c.track && all[k]->left < c.right + 2 && c.left < all[k]->right + 2) {
        ++c.track;
        k = static_cast<std::size_t>(-1);  // that track may be taken as well
      }
    tracks[index(c.chip)] = std::max(tracks[index(c.chip)], c.track + 1);
  }
  for (Way& w : ways)
    for (const Way::Crossing& c : w.crossings) {
      const Rect& chip = picture.chips[index(c.chip)];
      const float pitch = std::min(5.f, (chip.h - 6) / static_cast<float>(tracks[index(c.chip)]));
      const float y = chip.bottom() - 4 - pitch * static_cast<float>(c.track);
      w.points[c.at].y = w.points[c.at + 1].y = y;
    }
}

// NVLS: every GPU gives to the switch and takes from it; the head's is the memory that the switch reduces.
void draw_heads(Ui& ui, const AppState& state, const WiringPicture& picture, int head) {
  const ImU32 color = ui.colors->focus;
  for (const PlacedLink& p : picture.links) {
    const Link& l = state.answer.wiring.graph.links[index(p.link)];
    if (p.bent || p.a.x != p.b.x || state.answer.wiring.graph.components[index(l.b)].kind != ComponentKind::nvswitch || !uses_gpu(state.answer.plan.cluster, l.a)) continue;
    const float lane = p.width / 4 + 0.4f;
    for (const float side : {-1.f, 1.f}) {
      const ImVec2 low{p.a.x + side * lane, std::max(p.a.y, p.b.y)}, high{low.x, std::min(p.a.y, p.b.y)};
      line(ui, low, high, color, kThick);
      arrow_head(ui, side > 0 ? low : high, side > 0 ? high : low, std::min(4.f, p.width / 2), color);
    }
  }
  if (has_chip(picture, head)) outline(ui, picture.chips[index(head)], color, 4, 2);
}

// Names of the chips that ways may cross, over them.
void name_again(Ui& ui, const AppState& state, const WiringPicture& picture) {
  for (std::size_t i = 0; i < picture.chips.size(); ++i) {
    const Component& c = state.answer.wiring.graph.components[i];
    const Rect& r = picture.chips[i];
    if (r.w <= 0 || c.kind == ComponentKind::gpu) continue;
    const std::string name = c.kind == ComponentKind::nvswitch ? "NVSwitch" : c.id;
    const TextStyle style{r.w >= 30 ? 12.f : 11.f, Face::semibold, ui.colors->ink};
    const float w = text_width(ui, name, style);
    if (w + 8 > r.w) continue;
    fill(ui, {r.middle_x() - w / 2 - 4, r.middle_y() - 7, w + 8, 14}, ui.colors->bg1);
    text(ui, r.middle_x(), r.middle_y(), name, style, Align::centre, r.w);
  }
}

}  // namespace

const NcclView::Graph* shown_graph(const AppState& state) {
  const NcclView* nccl = state.known_nccl();
  return nccl ? nccl->graph(state.view.nccl_graph) : nullptr;
}

const NcclView::Picture* shown_picture(const AppState& state) {
  const NcclView::Graph* graph = shown_graph(state);
  if (!graph || graph->pictures.empty()) return nullptr;
  return &graph->pictures[std::min(index(state.view.nccl_picture), graph->pictures.size() - 1)];
}

float nccl_choice_height(float width, bool touch) { return (touch ? 48.f : 30.f) * (touch || width < 420 ? 2 : 1); }

Edit draw_nccl_choice(Ui& ui, const AppState& state, Rect area) {
  Edit edit;
  const NcclView::Graph* graph = shown_graph(state);
  const NcclView::Picture* picture = shown_picture(state);
  if (!graph || !picture) return edit;
  const bool two_rows = ui.touch || area.w < 420;
  Rect kinds = two_rows ? area.cut_top(area.h / 2) : area.cut_left(170);
  if (!two_rows) area.cut_left(12);
  kinds.h -= ui.touch ? 4.f : 6.f;
  area.h -= ui.touch ? 4.f : 6.f;
  std::vector<Segment> segments_of;
  std::vector<std::string> labels;
  for (const NcclView::Graph& g : state.nccl.graphs) labels.emplace_back(ui.word("nccl." + std::string(g.kind)));
  for (std::size_t i = 0; i < labels.size(); ++i) segments_of.push_back({state.nccl.graphs[i].kind, labels[i], !state.nccl.graphs[i].pictures.empty()});
  if (const std::string_view kind = segments(ui, "nccl.graph", kinds, segments_of, graph->kind, label_style(ui)); !kind.empty()) edit = {"view.nccl_graph", std::string(kind)};

  const std::size_t count = graph->pictures.size(), now = static_cast<std::size_t>(picture - graph->pictures.data());
  const float side = ui.touch ? 44.f : 24.f;
  const auto step = [&](const char* key, Icon which, const Rect& r, std::size_t to, bool enabled) {
    const Press p = press(ui, key, r, enabled);
    fill(ui, r, p.hovered && enabled ? ui.colors->bg3 : ui.colors->bg2, 4);
    icon(ui, which, {r.middle_x(), r.middle_y()}, 7, enabled ? ui.colors->ink : ui.colors->line2);
    if (p.clicked && enabled) edit = {"view.nccl_picture", std::to_string(to)};
  };
  step("nccl.previous", Icon::chevron_left, area.cut_left(side), now - 1, now > 0);
  step("nccl.next", Icon::chevron_right, area.cut_right(side), now + 1, now + 1 < count);
  ui.mark("nccl.channels", area);
  std::string label = nccl_channels(*ui.words, *graph, *picture);
  if (picture->head >= 0) label += " · " + ui.words->fill("nccl.head", {{"g", std::to_string(picture->head)}});
  if (picture->nic_in >= 0) label += " · NIC " + std::to_string(picture->nic_in) + (picture->nic_out != picture->nic_in ? " → " + std::to_string(picture->nic_out) : std::string());
  text(ui, area.middle_x(), area.middle_y(), label, label_style(ui).in(ui.colors->ink), Align::centre, area.w - 8);
  return edit;
}

void draw_ways_out(Ui& ui, const AppState& state, const WiringPicture& picture, const Rect& network) {
  const NcclView::Picture* shown = shown_picture(state);
  if (!shown || network.w <= 0) return;
  const ImU32 color = ui.colors->focus;
  for (const Hop& h : shown->hops) {
    const bool out = h.to == NcclView::kNetwork;
    const int gpu = out ? h.from : h.to;
    if ((h.from >= 0 && h.to >= 0) || !has_chip(picture, gpu)) continue;
    const Rect& chip = picture.chips[index(gpu)];
    const float x = std::floor(chip.middle_x() + (out ? 0.34f : -0.34f) * chip.w);
    const ImVec2 low{x, chip.y}, high{x, network.bottom()};
    line(ui, low, high, color, kThick);
    arrow_head(ui, out ? low : high, out ? high : low, std::clamp(chip.w / 8, 2.f, 4.f), color);
  }
}

void draw_ways(Ui& ui, const AppState& state, const WiringPicture& picture) {
  const NcclView::Picture* shown = shown_picture(state);
  if (!shown) return;
  if (shown->head >= 0) return draw_heads(ui, state, picture, shown->head);
  std::vector<Way> ways;
  for (const Hop& h : shown->hops)
    if (h.from >= 0 && h.to >= 0)
      if (Way way(state.answer.wiring, picture, h); way.points.size() > 1) ways.push_back(std::move(way));
  spread(ways, picture);
  const ImU32 color = ui.colors->focus;
  for (const Way& w : ways) {
    ui.list->AddPolyline(w.points.data(), static_cast<int>(w.points.size()), color, ways.size() > 24 ? 1.2f : kThick);
    arrow_head(ui, w.points[w.points.size() - 2], w.points.back(), ways.size() > 24 ? 2.4f : 4.f, color);
  }
  name_again(ui, state, picture);
  const NcclView::Limit& limit = state.nccl.limit;
  if (limit.rate > 0 && state.view.nccl_graph == "ring")
    for (const int gpu : {limit.from_gpu, limit.to_gpu})
      if (has_chip(picture, gpu) && picture.chips[index(gpu)].w >= 14) outline(ui, picture.chips[index(gpu)], color, 4, 2);
}

namespace {

constexpr float kLine = 16, kTableRow = 18;

// So many lines a text takes at most: layouts are made without faces.
float lines_of(const std::string& text, float width) { return std::ceil(static_cast<float>(text.size()) * 6.4f / std::max(width, 80.f)); }

std::string limit_or_problem(const AppState& state) {
  const std::string problem = nccl_problem(state);
  if (!problem.empty()) return problem;
  return nccl_limit(state.words, state.nccl) + (state.nccl.findings.empty() ? ' ' + std::string(state.words["nccl.no_findings"]) : "");
}

}  // namespace

float nccl_facts_height(const AppState& state, float width) {
  float height = 8 + kLine * lines_of(limit_or_problem(state), width);
  const NcclView* nccl = state.known_nccl();
  if (!nccl || !nccl->errors.empty()) return height;
  for (const NcclView::Finding& f : nccl->findings) height += 4 + kLine * (lines_of(f.text, width - 18) + (f.remedy.empty() ? 0 : lines_of(f.remedy, width - 18)));
  return height + 14 + kTableRow * static_cast<float>(nccl->graphs.size() + 2);
}

void draw_nccl_facts(Ui& ui, const AppState& state, Rect area) {
  const Palette& c = *ui.colors;
  const TextStyle body = label_style(ui).in(c.ink);
  ui.mark("nccl.limit", {area.x, area.y, area.w, kLine});
  area.cut_top(4 + paragraph(ui, area, limit_or_problem(state), body, kLine));
  const NcclView* nccl = state.known_nccl();
  if (!nccl || !nccl->errors.empty()) return;
  for (std::size_t i = 0; i < nccl->findings.size(); ++i) {
    const NcclView::Finding& f = nccl->findings[i];
    const bool warns = f.severity != "info";
    ui.mark("nccl.findings." + std::to_string(i), {area.x, area.y, area.w, kLine});
    if (warns) icon(ui, Icon::warn, {area.x + 6, area.y + kLine / 2}, 10, c.warn);
    const auto say = [&](const std::string& text, const TextStyle& style) {
      if (!text.empty()) area.cut_top(paragraph(ui, {area.x + 18, area.y, area.w - 18, area.h}, text, style, kLine));
    };
    say(f.text, body);
    say(f.remedy, label_style(ui));
    area.cut_top(4);
  }
  area.cut_top(4);
  const float channels = area.x + area.w * 0.4f, rate = area.x + area.w * 0.68f, types = rate + 16;
  const auto row = [&](std::string_view name, std::string_view count, std::string_view speed, std::string_view ways, const TextStyle& style) {
    const float y = area.cut_top(kTableRow).middle_y();
    text(ui, area.x, y, name, style, Align::left, channels - area.x - 60);
    text(ui, channels, y, count, style, Align::right);
    text(ui, rate, y, speed, style, Align::right);
    text(ui, types, y, ways, style, Align::left, area.right() - types);
  };
  row(ui.word("nccl.col.graph"), ui.word("nccl.col.channels"), ui.word("nccl.col.rate"), ui.word("nccl.col.types"), tick_style(ui));
  horizontal(ui, area.x, area.right(), area.y, c.line);
  for (const NcclView::Graph& g : nccl->graphs) row(g.pattern, std::to_string(g.channels), nccl_rates(g), g.types, body);
  horizontal(ui, area.x, area.right(), area.y, c.line);
  ui.mark("nccl.counts", {area.x, area.y, area.w, kTableRow});
  text(ui, area.x, area.y + 12, nccl_counts(*ui.words, *nccl), label_style(ui), Align::left, area.w);
}

}  // namespace wireplan
