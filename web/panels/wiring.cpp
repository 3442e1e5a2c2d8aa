#include <algorithm>
#include <cmath>

#include "core/cost/wiring_rates.hpp"
#include "web/panels/nccl_ways.hpp"
#include "web/panels/panels.hpp"
#include "web/panels/wiring_picture.hpp"
#include "web/values.hpp"
#include "web/widgets.hpp"

namespace wireplan {

namespace {

constexpr float kStrip = 42, kTouchRow = 48;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// What is drawn: the node, and the ring that is waited for most. A plan that does not fit is drawn pale: it does not run.
struct Scene {
  const WiringGraph& graph;
  const Plan& plan;
  const RingOnWiring* ring = nullptr;
  bool pale = false, is_bottleneck = false;
  Collective collective{};
  int ranks = 0;
  std::vector<float> forward, backward;  // load of each link's directions, as a share of its rate
  std::vector<double> used;              // the larger of both, bytes/s
  std::vector<double> flows;             // of that direction

  explicit Scene(const AppState& state) : graph(state.answer.wiring.graph), plan(state.answer.plan) {
    const Estimate& e = state.answer.estimate;
    pale = !e.memory.fits;
    is_bottleneck = !pale && wiring_verdict(e.step) >= WiringVerdict::waits_a_little;
    forward.resize(graph.links.size());
    backward.resize(graph.links.size());
    used.resize(graph.links.size());
    flows.resize(graph.links.size());
    if (state.view.nccl) pale = is_bottleneck = false;
    if (state.view.nccl || state.answer.shown_message < 0) return;
    const MessageCost& shown = e.cost.messages[index(state.answer.shown_message)];
    ring = &shown.ring;
    collective = shown.message.collective;
    ranks = shown.ranks;
    const BytesPerSecond carried = bandwidth_of(*ring, shown.message.collective);
    for (const LinkLoad& load : ring->loads) {
      if (load.link < 0 || index(load.link) >= graph.links.size()) continue;
      const double rate = load.flows * carried.value, most = graph.links[index(load.link)].rate.value;
      (load.forward ? forward : backward)[index(load.link)] = most > 0 ? static_cast<float>(rate / most) : 0;
      used[index(load.link)] = std::max(used[index(load.link)], rate);
      flows[index(load.link)] = std::max(flows[index(load.link)], load.flows);
    }
  }
  bool binds(int link) const { return is_bottleneck && ring && ring->bottleneck_link == link; }
};

// "14.2 / 16", both in GB/s; "14 / 16" where there is little room.
std::string used_of(double used, BytesPerSecond rate, bool briefly = false) {
  const auto plain = [](double v, double whole_from) { return format_fixed(v / 1e9, v >= whole_from ? 0 : 1); };
  return plain(used, briefly ? 1e10 : 1e11) + " / " + plain(rate.value, 1e10);
}

// What the rate of a link is: NCCL's own figure unless somebody stated one, and what the data sheet says beside it.
std::string rate_text(const Ui& ui, const Link& l) {
  const auto with = [&](const char* key) {
    return l.nominal.value > 0 ? ui.words->fill(key, {{"n", format_rate(l.nominal)}}) : std::string();
  };
  std::string text = l.stated                ? with("wire.nominal")
                     : l.nominal.value > 0 ? with("wire.planned")
                                             : std::string(ui.word("wire.planned_only"));
  if (l.measured) text += "; " + ui.words->fill("wire.measured", {{"r", format_rate(l.rate)}});
  return text;
}

// "2 flows of all_gather, 4 GPUs a group": who shares a link.
std::string flows_text(const Ui& ui, const Scene& s, double flows) {
  return ui.words->fill("wire.flows", {{"f", format_exact(std::round(flows * 100) / 100)},
                                       {"c", std::string(name_of(s.collective))},
                                       {"n", std::to_string(s.ranks)}});
}

Edit draw_link(Ui& ui, const Scene& s, const PlacedLink& placed) {
  const Link& l = s.graph.links[index(placed.link)];
  const float forward = s.forward[index(placed.link)], backward = s.backward[index(placed.link)];
  const ImU32 color = s.pale ? ui.colors->line2 : s.binds(placed.link) ? ui.colors->exposed : ui.colors->load;
  if (placed.bent) {  // under the chips and up again
    const bool is_used = forward > 0 || backward > 0;
    const float low = placed.a.y + placed.dip;
    const ImVec2 way[] = {placed.a, {placed.a.x, low}, {placed.b.x, low}, placed.b};
    ui.list->AddPolyline(way, 4, is_used ? color : ui.colors->line2, is_used ? 2.f : 1.f);
    return {};
  }
  pipe(ui, placed.a, placed.b, placed.width, forward, backward, ui.colors->track, color);
  const float half = placed.width / 2 + 3;
  const Rect around{std::min(placed.a.x, placed.b.x) - (placed.a.x == placed.b.x ? half : 0),
                    std::min(placed.a.y, placed.b.y) - (placed.a.y == placed.b.y ? half : 0),
                    std::max(2 * half, std::abs(placed.a.x - placed.b.x)),
                    std::max(2 * half, std::abs(placed.a.y - placed.b.y))};
  const Press p =
      press(ui, "wiring.link." + s.graph.components[index(l.a)].id + "-" + s.graph.components[index(l.b)].id, around,
            true, 2);
  const std::string name = link_name(s.graph, l, s.plan.cluster.node);
  const double used = s.used[index(placed.link)];
  std::string says = ui.words->fill("wire.uses", {{"u", used_of(used, l.planned())}});
  if (used > 0) says += "\n" + flows_text(ui, s, s.flows[index(placed.link)]);
  tooltip(ui, p, name, says, rate_text(ui, l));
  return {};
}

void draw_chip(Ui& ui, const Scene& s, int component, const Rect& r, double memory_share) {
  const Component& c = s.graph.components[index(component)];
  const bool is_gpu = c.kind == ComponentKind::gpu;
  const bool is_used = !is_gpu || uses_gpu(s.plan.cluster, component);
  const bool binds = s.is_bottleneck && s.ring && s.ring->bottleneck_component == component;
  fill(ui, r, binds ? ui.colors->exp_bg : is_used ? ui.colors->bg1 : ui.colors->bg0, 4);
  if (!is_used)
    dashed_outline(ui, r, ui.colors->line2);
  else
    outline(ui, r, binds ? ui.colors->exp : s.pale ? ui.colors->line2 : ui.colors->ink3, 4, binds ? 1.5f : 1.f);
  ui.mark("wiring.chip." + c.id, r);
  std::string name = c.id;
  if (is_gpu) name = (r.w >= 44 ? "GPU " : r.w >= 24 ? "G" : "") + std::to_string(component);
  if (c.kind == ComponentKind::nvswitch) name = s.plan.cluster.node.gpu.is_xgmi ? "xGMI" : "NVSwitch";
  const ImU32 ink = binds ? ui.colors->exp : is_used && !s.pale ? ui.colors->ink : ui.colors->ink3;
  if (r.w >= 14)
    text(ui, r.middle_x(), r.middle_y() - (is_gpu ? 4.f : 0.f), name, {r.w >= 30 ? 12.f : 11.f, Face::semibold, ink},
         Align::centre, r.w);
  if (!is_gpu || r.w < 24 || !is_used) return;
  const Rect gauge{r.x + 6, r.bottom() - 9, r.w - 12, 4};
  fill(ui, gauge, ui.colors->track);
  fill(ui, {gauge.x, gauge.y, gauge.w * static_cast<float>(std::min(memory_share, 1.0)), gauge.h},
       memory_share > 1 ? ui.colors->no : ui.colors->load);
}

// No peer access: what a GPU sends goes up to a buffer in host memory, and its neighbour takes it from there.
void draw_host_memory(Ui& ui, const Scene& s, const WiringPicture& picture) {
  const ImU32 color = s.pale ? ui.colors->line2 : s.is_bottleneck ? ui.colors->exp : ui.colors->ink2;
  for (std::size_t i = 0; i < picture.chips.size(); ++i) {
    if (s.graph.components[i].kind != ComponentKind::cpu || picture.chips[i].w < 40) continue;
    const Rect& cpu = picture.chips[i];
    const Rect box{std::floor(cpu.middle_x() - 27), cpu.bottom() + 9, 54, 19};
    float deepest = 0;
    for (std::size_t g = 0; g < picture.chips.size(); ++g) {
      const Rect& gpu = picture.chips[g];
      if (s.graph.components[g].kind != ComponentKind::gpu || gpu.w <= 0 || gpu.middle_x() < cpu.x || gpu.middle_x() > cpu.right()) continue;
      const float side = gpu.middle_x() < box.middle_x() - 1 ? 1.f : -1.f, x = gpu.middle_x() + side * 11;
      deepest = std::max(deepest, gpu.y);
      const float y = box.middle_y();
      dashed_line(ui, {x, gpu.y}, {x, y}, color, 4, 3, 1.5f);
      if (x < box.x || x > box.right()) dashed_line(ui, {x, y}, {side > 0 ? box.x : box.right(), y}, color, 4, 3, 1.5f);
    }
    if (deepest < box.bottom() + 20) continue;
    line(ui, {box.middle_x(), cpu.bottom()}, {box.middle_x(), box.y}, color, 3);
    fill(ui, box, s.is_bottleneck ? ui.colors->exp_bg : ui.colors->bg1, 4);
    outline(ui, box, color, 4, 1.5f);
    ui.mark("wiring.dram." + s.graph.components[i].id, box);
    text(ui, box.middle_x(), box.middle_y(), ui.word("wire.dram"), {11, Face::semibold, color}, Align::centre, box.w - 4);
  }
}

// "PCIe 4 ×16" over "14.2 / 24", in the middle between two pipes; "NVLink" over and the numbers under a level one.
void draw_link_labels(Ui& ui, const Scene& s, const WiringPicture& picture) {
  const TextStyle style = tick_style(ui).in(s.pale ? ui.colors->ink3 : ui.colors->ink2);
  for (const PlacedLink& p : picture.links) {
    const Link& l = s.graph.links[index(p.link)];
    if (p.bent || p.a.y != p.b.y || s.graph.components[index(l.a)].kind != ComponentKind::gpu) continue;
    const float room = std::abs(p.a.x - p.b.x) - 4, x = (p.a.x + p.b.x) / 2;
    if (room < 52) continue;
    text(ui, x, p.a.y - 15, link_kind_name(l, s.plan.cluster.node), style, Align::centre, room);
    if (s.used[index(p.link)] > 0)
      text(ui, x, p.a.y + 16, used_of(s.used[index(p.link)], l.planned(), true), style, Align::centre, room);
  }
  for (const Ground& g : picture.grounds) {
    // The first two upright pipes of a ground with room between them speak for all.
    const PlacedLink* first = nullptr;
    for (const PlacedLink& p : picture.links) {
      if (p.bent || p.a.x != p.b.x || p.a.x < g.rect.x || p.a.x > g.rect.right()) continue;
      if (first && first->a.y == p.a.y && std::abs(p.a.x - first->a.x) >= 78) {
        const Link& l = s.graph.links[index(p.link)];
        const float x = (p.a.x + first->a.x) / 2, y = (p.a.y + p.b.y) / 2 - 4;
        text(ui, x, y - 9, link_kind_name(l, s.plan.cluster.node), style, Align::centre, p.a.x - first->a.x - 16);
        if (s.used[index(p.link)] > 0) text(ui, x, y + 8, used_of(s.used[index(p.link)], l.planned()), style, Align::centre);
        break;
      }
      first = &p;
    }
  }
}

void draw_ground(Ui& ui, const Scene& s, const Ground& g) {
  fill(ui, g.rect, ui.colors->bg0, 6);
  outline(ui, g.rect, ui.colors->line, 6);
  std::string caption;
  if (g.socket >= 0) {
    caption = ui.words->fill("wire.socket", {{"n", std::to_string(g.socket)}});
    if (g.numa >= 0) caption += " · NUMA " + std::to_string(g.numa);
  } else {
    const auto link = std::find_if(s.graph.links.begin(), s.graph.links.end(), [](const Link& l) {
      return l.kind == LinkKind::nvlink || l.kind == LinkKind::xgmi;
    });
    if (link != s.graph.links.end())
      caption = ui.words->fill("wire.per_gpu", {{"l", link_kind_name(*link, s.plan.cluster.node)}, {"r", format_rate(link->planned())}});
    if (s.plan.cluster.nodes > 1) caption += ui.words->fill("wire.one_of", {{"n", format_count(s.plan.cluster.nodes)}});
  }
  text(ui, g.rect.middle_x(), g.rect.bottom() - 13, caption, tick_style(ui), Align::centre, g.rect.w - 12);
}

std::string bottleneck_numbers(const Ui& ui, const Scene& s) {
  const RingOnWiring& ring = *s.ring;
  double used = ring.bus_bandwidth.value;
  if (ring.bottleneck_link >= 0 && s.used[index(ring.bottleneck_link)] > 0) used = s.used[index(ring.bottleneck_link)];
  return ui.words->fill("wire.of", {{"u", used_of(used, ring.bottleneck_rate)}});
}

std::string bottleneck_nominal(const Ui& ui, const Scene& s) {
  if (s.ring->bottleneck_link >= 0) return rate_text(ui, s.graph.links[index(s.ring->bottleneck_link)]);
  return s.ring->bottleneck_nominal.value > 0
             ? ui.words->fill("wire.planned", {{"n", format_rate(s.ring->bottleneck_nominal)}})
             : std::string(ui.word("wire.planned_only"));
}

// The bottleneck in words, in the room between two sockets when the link between them binds.
void draw_callout(Ui& ui, const Scene& s, const PlacedLink& link, const Rect& between) {
  const float x = (link.a.x + link.b.x) / 2, top = link.a.y + 26;
  const Rect box{std::floor(x - between.w / 2 + 2) - 12, top, between.w + 20, 78};
  vertical(ui, x, link.a.y + link.width / 2, top, ui.colors->exp);
  fill(ui, box, ui.colors->exp_bg, 4);
  outline(ui, box, ui.colors->exp, 4);
  ui.mark("wiring.bottleneck", box);
  const float room = box.w - 8;
  text(ui, x, top + 13, ui.word("wire.bottleneck"), {12, Face::semibold, ui.colors->exp}, Align::centre, room);
  text(ui, x, top + 30, s.ring->bottleneck, tick_style(ui).in(ui.colors->ink), Align::centre, room);
  text(ui, x, top + 47, bottleneck_numbers(ui, s), tick_style(ui).in(ui.colors->ink), Align::centre, room);
  const BytesPerSecond nominal = s.ring->bottleneck_nominal;
  const bool stated = s.graph.links[index(link.link)].stated;
  const std::string what = stated              ? std::string(ui.word("wire.stated_short"))
                           : nominal.value > 0 ? ui.words->fill("wire.nominal_short", {{"n", format_rate(nominal)}})
                                             : std::string(ui.word("wire.planned_short"));
  text(ui, x, top + 64, what, tick_style(ui).in(ui.colors->ink2), Align::centre, room);
}

// The same on one line below the drawing, for all other links and for "there is none".
void draw_strip(Ui& ui, const Scene& s, const Rect& strip) {
  if (!s.ring || s.ring->bus_bandwidth.value <= 0) {
    text(ui, strip.x + 2, strip.middle_y(),
         ui.word(total_gpus(s.plan.cluster) > 1 ? "wire.no_traffic" : "wire.one_gpu"), label_style(ui), Align::left,
         strip.w);
    return;
  }
  // Name and numbers, then what the numbers are; where there is little room the numbers go below.
  const std::string numbers = bottleneck_numbers(ui, s), nominal = bottleneck_nominal(ui, s);
  const bool narrow = text_width(ui, s.ring->bottleneck + numbers, label_style(ui)) > strip.w - 160;
  const std::string upper = narrow ? s.ring->bottleneck : s.ring->bottleneck + " · " + numbers;
  const std::string lower = narrow ? numbers + " · " + nominal : nominal;
  const float first = strip.y + 13, second = strip.y + 28;
  ui.mark("wiring.bottleneck", strip);
  if (!s.is_bottleneck) {
    const ImU32 ink = s.pale ? ui.colors->ink3 : ui.colors->ink2;
    text(ui, strip.x + 2, first, std::string(ui.word(s.pale ? "wire.would_bind" : "wire.none")) + " " + upper,
         label_style(ui).in(ink), Align::left, strip.w);
    text(ui, strip.x + 2, second, lower, tick_style(ui), Align::left, strip.w);
    return;
  }
  fill(ui, strip, ui.colors->exp_bg, 4);
  outline(ui, strip, ui.colors->exp, 4);
  const float w = text(ui, strip.x + 10, first, ui.word("wire.bottleneck"), {12, Face::semibold, ui.colors->exp});
  text(ui, strip.x + 22 + w, first, upper, label_style(ui).in(ui.colors->ink), Align::left, strip.w - w - 30);
  text(ui, strip.x + 10, second, lower, tick_style(ui).in(ui.colors->ink2), Align::left, strip.w - 20);
}

// Network above a node that is one of several.
void draw_network(Ui& ui, const Scene& s, const Rect& bar) {
  const bool binds = s.is_bottleneck && s.ring && s.ring->bottleneck_link < 0 && s.ring->bottleneck_component < 0;
  fill(ui, bar, binds ? ui.colors->exp_bg : ui.colors->bg1, 4);
  outline(ui, bar, binds ? ui.colors->exp : ui.colors->ink3, 4, binds ? 1.5f : 1.f);
  const std::string name = s.plan.cluster.network ? network_name(*s.plan.cluster.network) : std::string();
  text(ui, bar.middle_x(), bar.middle_y(), ui.words->fill("wire.network", {{"n", name}}),
       {11, Face::semibold, binds ? ui.colors->exp : ui.colors->ink2}, Align::centre, bar.w - 8);
}

// Ranks sit better elsewhere: by how much, and a way there.
const PlacementAnswer* proposal_of(const AppState& state) {
  const std::optional<PlacementAnswer>& mapping = state.answer.mapping;
  return mapping && mapping->is_better ? &*mapping : nullptr;
}

Edit draw_proposal(Ui& ui, const PlacementAnswer& mapping, const Rect& area) {
  const std::string_view try_it = ui.word("change.try");
  const float wide = text_width(ui, try_it, label_style(ui)) + 24, high = ui.touch ? 44.f : 24.f;
  const bool clicked = text_button(ui, "mapping.try", {area.right() - wide, area.middle_y() - high / 2, wide, high}, try_it);
  const Rect line{area.x, area.y, area.w - wide - 8, area.h};
  const Press p = press(ui, "mapping", line, true, 2);
  const std::string said = mapping_text(*ui.words, mapping);
  paragraph(ui, {line.x + 2, line.middle_y() - (text_width(ui, said, label_style(ui)) > line.w ? 16.f : 8.f), line.w, line.h}, said, label_style(ui).in(ui.colors->ink), 16);
  tooltip(ui, p, mapping.text, {}, ui.word("hint.choose"));
  return clicked || p.clicked ? Edit{"mapping", "best"} : Edit{};
}

// What is shown of the wiring: the load of the plan, or what NCCL builds.
Edit draw_view_choice(Ui& ui, const AppState& state, const Rect& area) {
  const std::vector<Segment> views = {{"load", ui.word("wire.view.load")}, {"nccl", "NCCL"}};
  const std::string_view picked = segments(ui, "wiring.view", area, views, state.view.nccl ? "nccl" : "load", label_style(ui));
  return picked.empty() ? Edit{} : Edit{"view.wires", std::string(picked)};
}

}  // namespace

Edit draw_wiring(Ui& ui, const AppState& state, const Rect& area) {
  Edit edit;
  const Scene s(state);
  const float title = text(ui, area.x, area.y + 20, ui.word("wire.title"), title_style(ui));
  std::string sub;
  if (state.view.nccl) {
    const NcclView* nccl = state.known_nccl();
    if (nccl && nccl->errors.empty()) sub = ui.words->fill("nccl.sub", {{"v", nccl->release}, {"n", format_count(nccl->ranks)}});
    if (const NcclView::Graph* graph = shown_graph(state); graph && graph->kind == "tree") sub = "NCCL " + nccl->release + " · " + std::string(ui.word("nccl.to_root"));
  } else if (state.answer.shown_message >= 0) {
    const CommunicationRow& row = state.answer.estimate.communication[index(state.answer.shown_message)];
    sub = ui.words->fill("wire.sub", {{"s", std::string(row.name)}, {"n", std::to_string(row.ranks)}});
  }
  if (s.pale) sub = std::string(ui.word("if_it_fitted")) + (sub.empty() ? "" : " · ") + sub;
  const bool narrow = area.w < 400;
  Rect drawing = area;
  drawing.cut_top(narrow ? 56 : 38);
  float taken = 0;  // of the line that `sub` stands on
  if (total_gpus(s.plan.cluster) > 1) {
    const float wide = text_width(ui, ui.word("wire.view.load"), label_style(ui)) + text_width(ui, "NCCL", label_style(ui)) + 44;
    const bool beside_title = title + wide + 12 <= area.w;
    Rect choice{area.right() - wide, area.y + (beside_title ? 8.f : 30.f), wide, 24};
    if (ui.touch) {
      choice = drawing.cut_top(kTouchRow);
      choice.h = 44;
    } else if (!narrow || !beside_title) {
      taken = wide + 12;
    }
    if (Edit next = draw_view_choice(ui, state, choice)) edit = std::move(next);
  }
  text(ui, narrow ? area.x : area.x + title + 12, area.y + (narrow ? 42.f : 20.f), sub, label_style(ui), Align::left,
       (narrow ? area.w : area.w - title - 12) - taken);
  if (state.view.nccl) {
    if (Edit next = draw_nccl_choice(ui, state, drawing.cut_top(nccl_choice_height(area.w, ui.touch)))) edit = std::move(next);
    draw_nccl_facts(ui, state, drawing.cut_bottom(nccl_facts_height(state, area.w)));
  }
  drawing.cut_bottom(8);
  if (const PlacementAnswer* mapping = proposal_of(state); mapping && !state.view.nccl)
    if (Edit next = draw_proposal(ui, *mapping, drawing.cut_bottom(ui.touch ? 46.f : 34.f))) edit = std::move(next);
  const Rect strip = drawing.cut_bottom(state.view.nccl ? 0 : kStrip).inset(0, 2);
  const bool has_network = s.plan.cluster.nodes > 1;
  const Rect network = has_network ? drawing.cut_top(22) : Rect{};
  if (has_network) drawing.cut_top(6);
  WiringPicture picture = wiring_picture(s.graph, drawing);
  const PlacedLink* called_out = nullptr;
  for (const PlacedLink& p : picture.links)
    if (s.binds(p.link) && s.graph.links[index(p.link)].kind == LinkKind::socket && drawing.h >= 132 &&
        text_width(ui, s.ring->bottleneck, tick_style(ui)) < picture.between.w + 10)
      called_out = &p;
  if (called_out) {  // no line below then: the drawing takes its room
    drawing.h += kStrip;
    const int link = called_out->link;
    picture = wiring_picture(s.graph, drawing);
    called_out =
        &*std::find_if(picture.links.begin(), picture.links.end(), [&](const PlacedLink& p) { return p.link == link; });
  }
  if (has_network) draw_network(ui, s, network);
  for (const Ground& g : picture.grounds) draw_ground(ui, s, g);
  if (state.view.nccl) draw_ways_out(ui, state, picture, network);
  for (const PlacedLink& p : picture.links)
    if (Edit next = draw_link(ui, s, p)) edit = std::move(next);
  const MemoryAnswer& m = state.answer.estimate.memory;
  const double memory_share = m.capacity.value > 0 ? m.need.value / m.capacity : 0;
  for (std::size_t i = 0; i < picture.chips.size(); ++i)
    if (picture.chips[i].w > 0) draw_chip(ui, s, static_cast<int>(i), picture.chips[i], memory_share);
  if (s.ring && s.ring->uses_host_memory) draw_host_memory(ui, s, picture);
  draw_link_labels(ui, s, picture);
  if (state.view.nccl)
    draw_ways(ui, state, picture);
  else if (called_out)
    draw_callout(ui, s, *called_out, picture.between);
  else
    draw_strip(ui, s, strip);
  return edit;
}

}  // namespace wireplan
