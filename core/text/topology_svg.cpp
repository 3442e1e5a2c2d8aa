#include "core/text/topology_svg.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/math.hpp"
#include "core/base/sort.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/sheet.hpp"
#include "core/text/show_topology.hpp"
#include "core/text/wiring_tree.hpp"

namespace wireplan {
namespace {

constexpr double kGpuWidth = 48, kGpuHeight = 38, kNicWidth = 36, kNicHeight = 28, kBar = 26, kSwitch = 20, kInset = 14, kGap = 12, kMargin = 24;
constexpr int kMostGpus = 16, kMostLeaves = 32, kMostDepth = 6;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
  double middle() const { return x + w / 2; }
  double right() const { return x + w; }
  double bottom() const { return y + h; }
};

// Coordinates to a tenth of a pixel.
std::string px(double v) { return format_exact(std::floor(v * 10 + 0.5) / 10); }

double pipe_width(BytesPerSecond rate) { return std::clamp(1.7 * log2_of(std::max(rate.value / 1e9, 1.0)), 4.0, 14.0); }

double text_room(std::string_view text, double size) { return static_cast<double>(text_width(text)) * size * 0.56; }

// Every colour by what it means, in both themes; names as in the page's palette.
constexpr std::string_view kStyle = R"(<style>
svg{font-family:Inter,"Segoe UI",system-ui,sans-serif}
.page,.chip{fill:#fff}.ground{fill:#f4f5f6;stroke:#dce0e4}.chip{stroke:#616b76}.idle{stroke:#7f8994;stroke-dasharray:4 3}
.ink{fill:#14181d}.ink2{fill:#47505a}.ink3{fill:#616b76}.track{fill:#dfe3e7}.load{fill:#66737f}.hot{fill:#822c9e}
.hotbox{fill:#f3e6f8;stroke:#822c9e}.hotink{fill:#822c9e}.wire{fill:none;stroke:#dfe3e7}.wireload{fill:none;stroke:#66737f}
.wirehot{fill:none;stroke:#822c9e}.thin{fill:none;stroke:#7f8994}.square{fill:#e6e9ed;stroke:#7f8994}
@media (prefers-color-scheme:dark){
.page,.chip{fill:#171b1f}.ground{fill:#101316;stroke:#2a3138}.chip{stroke:#929ca7}.idle{stroke:#6e7883}
.ink{fill:#eceff2}.ink2{fill:#b4bdc6}.ink3{fill:#929ca7}.track{fill:#2e353d}.load{fill:#8c98a5}.hot{fill:#c07be4}
.hotbox{fill:#39214a;stroke:#d197f0}.hotink{fill:#d197f0}.wire{stroke:#2e353d}.wireload{stroke:#8c98a5}
.wirehot{stroke:#c07be4}.thin{stroke:#6e7883}.square{fill:#262d34;stroke:#6e7883}}
</style>
)";

// Where everything stands. Chips on top, GPUs below, so that "up" is "through the host"; direct NVLinks run below the GPUs.
class Layout {
 public:
  explicit Layout(const TopologyAnswer& a) : answer_(a), graph_(a.prepared.graph), ring_(shown_ring(a.topology)), tree_(wiring_tree(graph_)) {
    boxes.resize(graph_.components.size());
    choose();
    find_direct_links();
    place();
  }

  struct Ground {
    Box box;
    int top = -1;
    Box dram;  // host memory, w 0 where nothing is copied through it
  };
  struct Bracket {  // a link led below the GPUs or above the sockets
    int link = 0;
    double from = 0, to = 0, base = 0, depth = 0, width = 3;
  };

  std::vector<Box> boxes;  // by component; w 0: not drawn
  std::vector<Ground> grounds;
  std::vector<Bracket> brackets;
  Box network, nvswitch, others;  // others: chips like those drawn, counted
  int other_count = 0, hidden_gpus = 0, drawn_gpus = 0;
  std::string other_name;
  double width = 0, bottom = 0;
  bool captions = true;   // there is room below the GPUs for what the grounds are
  int between = -1;       // the ground to the left of the gap in which the bottleneck lies
  bool is_drawn(int c) const { return boxes[at(c)].w > 0; }
  const WiringTree& tree() const { return tree_; }

 private:
  ComponentKind kind(int c) const { return graph_.components[at(c)].kind; }
  bool is_direct(const Link& l) const { return kind(l.a) == ComponentKind::gpu && kind(l.b) == ComponentKind::gpu; }

  int gpus_below(int c, int depth = 0) const {
    if (kind(c) == ComponentKind::gpu) return 1;
    int count = 0;
    if (depth < kMostDepth)
      for (int below : tree_.below[at(c)]) count += gpus_below(below, depth + 1);
    return count;
  }

  // The sockets that are drawn: all that have GPUs or NICs, of a rack those of the first tray.
  void choose() {
    int gpus = 0;
    for (int top : tree_.tops) {
      const int more = gpus_below(top);
      const bool rack = tree_.tops.size() > 8;
      if (!tops_.empty() && (gpus + more > kMostGpus || (rack && !is_joined(tops_.front(), top)) || tops_.size() == 8)) continue;
      gpus += more;
      tops_.push_back(top);
    }
    int all = 0;
    for (const Component& c : graph_.components) all += c.kind == ComponentKind::gpu;
    const std::size_t left = tree_.tops.size() - tops_.size();
    if (left > 0 && !tops_.empty()) {
      // Only NVLink joins the trays of a rack; sockets of one host are no trays, however many there are.
      const bool trays = first(ComponentKind::nvswitch) >= 0 && tree_.tops.size() > 8 && left % tops_.size() == 0 &&
                         (all - gpus) * static_cast<int>(tops_.size()) == gpus * static_cast<int>(left);
      other_count = static_cast<int>(trays ? left / tops_.size() : left);
      other_name = trays ? "more trays like it, " + std::to_string(gpus) + " GPUs each" : is_bar(tops_.front()) ? "more sockets" : "more chips";
    }
  }
  bool is_joined(int a, int b) const {
    return std::any_of(graph_.links.begin(), graph_.links.end(), [&](const Link& l) { return (l.a == a && l.b == b) || (l.a == b && l.b == a); });
  }

  void find_direct_links() {
    int gpus = 0, links = 0;
    for (const Component& c : graph_.components) gpus += c.kind == ComponentKind::gpu;
    for (const Link& l : graph_.links) links += is_direct(l);
    pairs_ = links > 0 && 2 * links <= gpus;  // bridged pairs: drawn side by side with the bridge between
    mesh_ = links > 0 && !pairs_;
  }
  bool is_bridged(int a, int b) const {
    return pairs_ && std::any_of(graph_.links.begin(), graph_.links.end(), [&](const Link& l) { return is_direct(l) && ((l.a == a && l.b == b) || (l.a == b && l.b == a)); });
  }

  int depth_of(int c, int depth) const {
    int deepest = depth;
    if (depth < kMostDepth)
      for (int below : tree_.below[at(c)]) deepest = std::max(deepest, tree_.below[at(below)].empty() && !is_bar(below) ? depth : depth_of(below, depth + 1));
    return deepest;
  }
  bool is_bar(int c) const {
    const ComponentKind k = kind(c);
    return k == ComponentKind::pcie_switch || k == ComponentKind::cpu || k == ComponentKind::root;
  }

  // Places a chip and all below it from x on, and returns where it ends.
  double place_chip(int c, double x, int depth, Ground& ground) {
    Box& box = boxes[at(c)];
    if (!is_bar(c) || depth > kMostDepth) {
      if (leaves_ >= kMostLeaves || depth > kMostDepth) return x;
      ++leaves_;
      const bool gpu = kind(c) == ComponentKind::gpu;
      drawn_gpus += gpu;
      box = {x, leaf_y_, gpu ? kGpuWidth : kNicWidth, gpu ? kGpuHeight : kNicHeight};
      return box.right();
    }
    const std::vector<int>& below = tree_.below[at(c)];
    const bool has_memory = ring_.ring.uses_host_memory && depth == 0;
    double end = x;
    for (std::size_t i = 0; i < below.size(); ++i) {
      const double start = i == 0 ? x : end + (is_bar(below[i]) || is_bar(below[i - 1]) ? 20 : is_bridged(below[i - 1], below[i]) ? 76 : kGap);
      const double reached = place_chip(below[i], start, depth + 1, ground);
      if (reached > start) end = reached;
      if (has_memory && i + 1 == (below.size() + 1) / 2) {
        ground.dram = {end + kGap, top_y_ + kBar + 18, 56, 24};
        end = ground.dram.right();
      }
    }
    const double least = 20 + text_room(plain_text(graph_.components[at(c)].id, 16), 12) + (depth == 0 ? 50 : 0);
    end = std::max(end, x + least);
    box = {x, depth == 0 ? top_y_ : top_y_ + kBar + 44 + (depth - 1) * (kSwitch + 32), end - x, depth == 0 ? kBar : kSwitch};
    return end;
  }

  void place() {
    const Cluster& cluster = answer_.stated->cluster;
    double y = kMargin + 52;
    if (cluster.nodes > 1) {
      network = {kMargin, y, 0, 22};
      y += 22 + 14;
    }
    // Links between sockets that are not neighbours run above them.
    std::vector<Bracket> over;
    for (int i = 0; i < static_cast<int>(graph_.links.size()); ++i)
      if (const auto [a, b] = tops_of(graph_.links[at(i)]); a >= 0 && b > a + 1) over.push_back({i, 0, 0, 0, 0, 3});
    const double above = over.empty() ? 0 : 10 + 8 * static_cast<double>(std::min<std::size_t>(over.size(), 12));
    const double ground_y = y;
    top_y_ = ground_y + kInset + above;
    int depth = 0;
    for (int top : tops_) depth = std::max(depth, depth_of(top, 0));
    const bool hosts = std::any_of(tops_.begin(), tops_.end(), [&](int top) { return is_bar(top); });
    leaf_y_ = !hosts ? top_y_ : top_y_ + kBar + (depth == 0 ? 110 : 44 + depth * kSwitch + (depth - 1) * 32 + 76);
    const int switch_index = first(ComponentKind::nvswitch);
    captions = switch_index < 0 && !mesh_;
    const double ground_bottom = leaf_y_ + kGpuHeight + (captions ? 30 : kInset);

    double x = kMargin;
    for (std::size_t i = 0; i < tops_.size(); ++i) {
      Ground ground;
      ground.top = tops_[i];
      const double inside = x + kInset;
      const double end = is_bar(tops_[i]) ? place_chip(tops_[i], inside, 0, ground) : place_chip(tops_[i], inside, 1, ground);
      ground.box = {x, ground_y, std::max(end, inside + 40) + kInset - x, ground_bottom - ground_y};
      grounds.push_back(ground);
      x = ground.box.right();
      if (i + 1 < tops_.size()) x += gap_after(static_cast<int>(i));
    }
    for (const Component& c : graph_.components) hidden_gpus += c.kind == ComponentKind::gpu;
    hidden_gpus -= drawn_gpus;
    bottom = ground_bottom;
    if (other_count > 0) {
      const int columns = std::min(other_count, 6), rows = std::min((other_count + 5) / 6, 8);
      others = {x + 32, std::max(leaf_y_ - 20.0 * (rows - 1), top_y_ + 18), columns * 20.0 - 6, rows * 20.0 - 6};
      bottom = std::max(bottom, others.bottom() + 4);
      x = std::max(others.right(), others.x + text_room(std::to_string(other_count) + ' ' + other_name, 11));
    }
    network.w = cluster.nodes > 1 ? x - kMargin : 0;
    width = std::max(x + kMargin, 660.0);
    shift(std::floor((width - x - kMargin) / 2));

    for (Bracket& b : over) {
      const auto [first_top, last_top] = tops_of(graph_.links[at(b.link)]);
      const Box &p = boxes[at(tops_[at(first_top)])], &q = boxes[at(tops_[at(last_top)])];
      b.from = p.middle() + 6 * (last_top - first_top);
      b.to = q.middle() - 6 * (last_top - first_top);
      b.base = top_y_;
    }
    lay_tracks(over, -1, 8);
    brackets = over;
    if (mesh_) place_mesh();
    if (switch_index >= 0) place_switch(switch_index);
  }

  // A narrow drawing stands in the middle.
  void shift(double by) {
    for (Box& b : boxes) b.x += by;
    for (Ground& g : grounds) g.box.x += by, g.dram.x += by;
    others.x += by;
    network.x += by;
  }

  // Indices into tops_ of the sockets a link joins, the left one first; -1 where it joins others.
  std::pair<int, int> tops_of(const Link& l) const {
    int a = -1, b = -1;
    for (int i = 0; i < static_cast<int>(tops_.size()); ++i) {
      if (tops_[at(i)] == l.a) a = i;
      if (tops_[at(i)] == l.b) b = i;
    }
    if (a < 0 || b < 0 || !is_bar(l.a) || !is_bar(l.b)) return {-1, -1};
    return {std::min(a, b), std::max(a, b)};
  }
  // Room to the next socket: for the pipe between them, and the callout where that pipe is the bottleneck.
  double gap_after(int i) {
    double gap = 16;
    for (int l = 0; l < static_cast<int>(graph_.links.size()); ++l)
      if (const auto [a, b] = tops_of(graph_.links[at(l)]); a == i && b == i + 1) {
        gap = std::max(gap, 72.0);
        if (l == ring_.ring.bottleneck_link) gap = 176, between = i;
      }
    return gap;
  }
  int first(ComponentKind wanted) const {
    for (int c = 0; c < static_cast<int>(graph_.components.size()); ++c)
      if (kind(c) == wanted) return c;
    return -1;
  }

  // Each bracket as near as no other one lies in its way; `side` 1 downwards, -1 upwards.
  static void lay_tracks(std::vector<Bracket>& list, int side, double pitch) {
    sort(list, [](const Bracket& a, const Bracket& b) {
      const double x = std::fabs(a.to - a.from), y = std::fabs(b.to - b.from);
      return x != y ? x < y : std::pair(a.from, a.link) < std::pair(b.from, b.link);
    });
    std::vector<std::vector<std::pair<double, double>>> tracks;
    for (Bracket& b : list) {
      const double low = std::min(b.from, b.to) - 3, high = std::max(b.from, b.to) + 3;
      std::size_t t = 0;
      const auto is_taken = [&] { return std::any_of(tracks[t].begin(), tracks[t].end(), [&](const auto& o) { return o.first < high && low < o.second; }); };
      while (t < tracks.size() && is_taken()) ++t;
      if (t == tracks.size()) tracks.emplace_back();
      tracks[t].push_back({low, high});
      b.depth = side * (12 + pitch * static_cast<double>(t));
    }
  }

  void place_mesh() {
    std::vector<Bracket> list;
    std::vector<std::vector<std::pair<double, int>>> ends(graph_.components.size());  // of each GPU: where its links lead, index of bracket
    for (int i = 0; i < static_cast<int>(graph_.links.size()) && list.size() < 400; ++i) {
      const Link& l = graph_.links[at(i)];
      if (!is_direct(l) || !is_drawn(l.a) || !is_drawn(l.b)) continue;
      ends[at(l.a)].push_back({boxes[at(l.b)].middle(), static_cast<int>(list.size())});
      ends[at(l.b)].push_back({boxes[at(l.a)].middle(), static_cast<int>(list.size())});
      list.push_back({i, 0, 0, leaf_y_ + kGpuHeight, 0, 3});
    }
    double thick = 5;
    for (std::size_t c = 0; c < ends.size(); ++c) {
      auto& around = ends[c];
      const double here = boxes[c].middle();
      // To the left the nearest first, then to the right the farthest first: then few lines cross.
      sort(around, [&](const auto& a, const auto& b) {
        const bool left = a.first < here, other = b.first < here;
        return left != other ? left : a.first != b.first ? a.first > b.first : a.second < b.second;
      });
      const double slot = (kGpuWidth - 8) / static_cast<double>(std::max<std::size_t>(around.size(), 1));
      thick = std::min(thick, std::max(1.5, slot - 1.5));
      for (std::size_t i = 0; i < around.size(); ++i) {
        Bracket& b = list[at(around[i].second)];
        const double x = boxes[c].x + 4 + slot * (static_cast<double>(i) + 0.5);
        (graph_.links[at(b.link)].a == static_cast<int>(c) ? b.from : b.to) = x;
      }
    }
    double deepest = 0;
    for (Bracket& b : list) b.width = std::min(thick, 0.5 * pipe_width(graph_.links[at(b.link)].rate));
    lay_tracks(list, 1, thick + 3);
    for (const Bracket& b : list) deepest = std::max(deepest, b.depth);
    brackets.insert(brackets.end(), list.begin(), list.end());
    bottom = std::max(bottom, leaf_y_ + kGpuHeight + deepest + 12);
  }

  void place_switch(int c) {
    double left = 1e9, right = 0;
    for (const Link& l : graph_.links)
      if (l.a == c || l.b == c)
        if (const Box& gpu = boxes[at(l.a == c ? l.b : l.a)]; gpu.w > 0) left = std::min(left, gpu.x), right = std::max(right, gpu.right());
    if (right <= left) return;
    if (others.w > 0) right = others.right();
    nvswitch = boxes[at(c)] = {left, leaf_y_ + kGpuHeight + 72, right - left, kBar};
    bottom = nvswitch.bottom() + 4;
  }

  const TopologyAnswer& answer_;
  const WiringGraph& graph_;
  const GroupRing& ring_;
  WiringTree tree_;
  std::vector<int> tops_;
  bool pairs_ = false, mesh_ = false;
  double top_y_ = 0, leaf_y_ = 0;
  int leaves_ = 0;
};

class Picture {
 public:
  explicit Picture(const TopologyAnswer& a)
      : answer_(a), graph_(a.prepared.graph), node_(a.stated->cluster.node), group_(shown_ring(a.topology)), ring_(group_.ring), layout_(a), flows_(flows_of(graph_, ring_)) {}

  std::string svg() {
    double y = layout_.bottom;
    draw_grounds();
    draw_links();
    draw_chips();
    draw_others();
    if (layout_.between >= 0) draw_callout();
    else y = draw_strip(y + 18);
    y = draw_legend(y + 12);
    const std::string& name = node_.name.empty() ? node_.id : node_.name;
    const std::string title = xml_text(name.empty() ? "Wiring" : name, 60), sentence = xml_text(topology_sentence(answer_.stated->cluster), 300);
    const std::string size = px(layout_.width) + "\" height=\"" + px(y + 16);
    std::string head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + size + "\" viewBox=\"0 0 " + px(layout_.width) + ' ' + px(y + 16) + "\" role=\"img\" aria-labelledby=\"title desc\">\n";
    head += "<title id=\"title\">" + title + "</title>\n<desc id=\"desc\">" + sentence + ' ' + xml_text(ring_sentence(), 300) + "</desc>\n" + std::string(kStyle);
    head += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
    head += label(kMargin, kMargin + 8, xml_text(name.empty() ? "Wiring" : name, static_cast<std::size_t>(layout_.width / 9)), "ink", 15, "start", true);
    head += label(kMargin, kMargin + 28, xml_text(ring_sentence(), static_cast<std::size_t>(layout_.width / 6.2)), "ink2", 12, "start", false);
    return head + out_ + "</svg>\n";
  }

 private:
  static std::string label(double x, double y, const std::string& escaped, const char* ink, int size, const char* anchor, bool bold) {
    return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\" class=\"" + ink + "\" font-size=\"" + std::to_string(size) + "\" text-anchor=\"" + anchor + '"' +
           (bold ? " font-weight=\"600\"" : "") + '>' + escaped + "</text>\n";
  }
  void text(double x, double y, const std::string& plain, const char* ink, int size, bool bold = false) { out_ += label(x, y, xml_text(plain, 200), ink, size, "middle", bold); }
  void rect(const Box& b, const char* kind, double radius) {
    out_ += "<rect x=\"" + px(b.x) + "\" y=\"" + px(b.y) + "\" width=\"" + px(b.w) + "\" height=\"" + px(b.h) + "\" class=\"" + kind + '"' + (radius > 0 ? " rx=\"" + px(radius) + '"' : "") + "/>\n";
  }
  ComponentKind kind(int c) const { return graph_.components[at(c)].kind; }

  std::string ring_sentence() const {
    if (ring_.bus_bandwidth.value <= 0) return "A single GPU: no ring.";
    const int n = static_cast<int>(group_.gpus.size()), all = answer_.prepared.gpus;
    std::string who = n == all ? (n * group_.nodes == 2 ? "both" : "all " + format_count(1.0 * n * group_.nodes)) : std::to_string(n) + " of " + std::to_string(all);
    who += " GPUs";
    if (group_.nodes > 1) who += n == all ? " of " + format_count(group_.nodes) + " nodes" : " of each of " + format_count(group_.nodes) + " nodes";
    return "A ring over " + who + " reaches " + format_rate(ring_.bus_bandwidth) + " of bus bandwidth";
  }

  double share(int link, bool forward) const {
    const double rate = graph_.links[at(link)].rate.value;
    return rate > 0 ? std::min(1.0, flows_[2 * at(link) + (forward ? 0 : 1)] * ring_.bus_bandwidth.value / rate) : 0;
  }
  double carried(int link) const { return std::max(flows_[2 * at(link)], flows_[2 * at(link) + 1]) * ring_.bus_bandwidth.value; }
  bool is_hot(int link) const { return link == ring_.bottleneck_link && ring_.bottleneck_component < 0; }

  std::string tooltip(int link) const {
    const Link& l = graph_.links[at(link)];
    std::string text = link_kind_text(l, node_) + ' ' + plain_text(graph_.components[at(l.a)].id, 24) + "–" + plain_text(graph_.components[at(l.b)].id, 24) + ": ";
    if (carried(link) > 0) text += "carries " + format_rate(BytesPerSecond(carried(link))) + "; ";
    text += l.stated ? format_rate(l.planned()) + " as stated" : "NCCL plans with " + format_rate(l.planned());
    if (l.nominal.value > 0) text += ", nominal " + format_rate(l.nominal);
    return "<title>" + xml_text(text, 200) + "</title>";
  }

  // Two lanes from (x1, y1) to (x2, y2), upright or level; each filled from the middle of the pipe by its load. Traffic keeps to the
  // right of its own direction.
  void pipe(int link, double x1, double y1, double x2, double y2, bool a_is_first, double most = 14) {
    const double w = std::min(pipe_width(graph_.links[at(link)].rate), most), lane = (w - 1.5) / 2;
    const bool upright = x1 == x2;
    const double along = a_is_first ? share(link, true) : share(link, false), back = a_is_first ? share(link, false) : share(link, true);
    out_ += "<g>" + tooltip(link) + '\n';
    for (int side : {0, 1}) {
      // Going down the right hand is on the left of the picture, going right it is below.
      const double fill = lane * (upright == (side == 0) ? along : back);
      const double from = side == 0 ? -w / 2 : 0.75, start = side == 0 ? from + lane - fill : from;
      const auto bar = [&](double offset, double thick, const char* what) {
        if (thick <= 0.05) return;
        if (upright) rect({x1 + offset, y1, thick, y2 - y1}, what, 0);
        else rect({x1, y1 + offset, x2 - x1, thick}, what, 0);
      };
      bar(from, lane, "track");
      bar(start, fill, is_hot(link) ? "hot" : "load");
    }
    out_ += "</g>\n";
    chevron(x1, y1, x2, y2, along, back, w);
  }

  // Which way traffic goes, where it goes one way only.
  void chevron(double x1, double y1, double x2, double y2, double along, double back, double w) {
    if ((along > 0) == (back > 0)) return;
    const double x = (x1 + x2) / 2, y = (y1 + y2) / 2;
    if (x1 == x2) {
      const double tip = along > 0 ? 4 : -4, left = along > 0 ? x - w / 2 - 8 : x + w / 2 + 8;
      out_ += "<path class=\"thin\" d=\"M" + px(left - 4) + ' ' + px(y - tip) + 'L' + px(left) + ' ' + px(y) + 'L' + px(left + 4) + ' ' + px(y - tip) + "\"/>\n";
    } else {
      const double tip = along > 0 ? 4 : -4, low = y + w / 2 + 8;
      out_ += "<path class=\"thin\" d=\"M" + px(x - tip) + ' ' + px(low - 4) + 'L' + px(x) + ' ' + px(low) + 'L' + px(x - tip) + ' ' + px(low + 4) + "\"/>\n";
    }
  }

  void draw_grounds() {
    for (std::size_t i = 0; i < layout_.grounds.size(); ++i) {
      const Layout::Ground& g = layout_.grounds[i];
      if (kind(g.top) == ComponentKind::gpu || kind(g.top) == ComponentKind::nic) continue;  // nothing of a host is known
      rect(g.box, "ground", 6);
      if (!layout_.captions || kind(g.top) != ComponentKind::cpu) continue;
      std::string caption = "Socket " + std::to_string(i);
      if (const int numa = graph_.components[at(g.top)].numa; numa >= 0) caption += " · NUMA " + std::to_string(numa);
      text(g.box.middle(), g.box.bottom() - 10, caption, "ink3", 11);
    }
    if (layout_.network.w <= 0) return;
    const bool hot = ring_.bottleneck_link < 0 && ring_.bottleneck_component < 0 && ring_.link_class == "network";
    rect(layout_.network, hot ? "hotbox" : "chip", 4);
    const Cluster& c = answer_.stated->cluster;
    const std::string name = (c.network ? network_name(*c.network) : std::string("Network")) + " to " + format_count(c.nodes - 1) + (c.nodes == 2 ? " more such node" : " more such nodes");
    text(layout_.network.middle(), layout_.network.y + 15, name, hot ? "hotink" : "ink2", 11, true);
  }

  void draw_links() {
    const WiringTree& tree = layout_.tree();
    const int nvswitch = layout_.nvswitch.w > 0 ? 1 : 0;
    for (int i = 0; i < static_cast<int>(graph_.links.size()); ++i) {
      const Link& l = graph_.links[at(i)];
      if (!layout_.is_drawn(l.a) || !layout_.is_drawn(l.b)) continue;
      const Box &a = layout_.boxes[at(l.a)], &b = layout_.boxes[at(l.b)];
      const bool to_switch = nvswitch && (kind(l.a) == ComponentKind::nvswitch || kind(l.b) == ComponentKind::nvswitch);
      const bool in_tree = tree.link_above[at(l.a)] == i || tree.link_above[at(l.b)] == i;
      if (in_tree || to_switch) {
        const bool a_above = a.y < b.y;
        const Box &high = a_above ? a : b, &low = a_above ? b : a;
        const double x = std::floor(to_switch ? high.middle() : low.middle());
        pipe(i, x, high.bottom(), x, low.y, a_above, std::min(high.w, low.w) * 0.7);
      } else if (!has_bracket(i) && std::fabs(a.y - b.y) < 1 && is_side_by_side(a, b)) {
        const bool a_left = a.x < b.x;
        const Box &left = a_left ? a : b, &right = a_left ? b : a;
        const double y = std::floor(left.y + left.h / 2);
        pipe(i, left.right(), y, right.x, y, a_left);
        if (right.x - left.right() >= 60 && !is_hot(i)) text((left.right() + right.x) / 2, y - pipe_width(l.rate) / 2 - 5, link_kind_text(l, node_).substr(0, 24), "ink3", 11);
      } else if (!has_bracket(i)) {
        out_ += "<path class=\"thin\" d=\"M" + px(a.middle()) + ' ' + px(a.y + a.h / 2) + 'L' + px(b.middle()) + ' ' + px(b.y + b.h / 2) + "\"/>\n";
      }
    }
    for (const Layout::Bracket& b : layout_.brackets) {
      const std::string way = 'M' + px(b.from) + ' ' + px(b.base) + 'V' + px(b.base + b.depth) + 'H' + px(b.to) + 'V' + px(b.base);
      const double load = std::max(share(b.link, true), share(b.link, false));
      out_ += "<g stroke-linejoin=\"round\">" + tooltip(b.link) + "<path class=\"wire\" stroke-width=\"" + px(b.width) + "\" d=\"" + way + "\"/>";
      if (load > 0) out_ += "<path class=\"" + std::string(is_hot(b.link) ? "wirehot" : "wireload") + "\" stroke-width=\"" + px(std::max(0.8, b.width * load)) + "\" d=\"" + way + "\"/>";
      out_ += "</g>\n";
    }
    for (const Layout::Ground& g : layout_.grounds) draw_memory(g);
  }
  bool has_bracket(int link) const {
    return std::any_of(layout_.brackets.begin(), layout_.brackets.end(), [&](const Layout::Bracket& b) { return b.link == link; });
  }
  // No chip of the same row between the two, and room to see the link.
  bool is_side_by_side(const Box& a, const Box& b) const {
    const double left = std::min(a.right(), b.right()), right = std::max(a.x, b.x);
    return right - left >= 14 && std::none_of(layout_.boxes.begin(), layout_.boxes.end(), [&](const Box& c) { return c.w > 0 && std::fabs(c.y - a.y) < 1 && c.x > left - 1 && c.right() < right + 1; });
  }

  // Host memory under its CPU, and the way of a copy through it: up from one GPU, down to the next.
  void draw_memory(const Layout::Ground& g) {
    if (g.dram.w <= 0) return;
    const double x = g.dram.middle(), y = g.dram.y + g.dram.h / 2;
    rect({x - 2, g.dram.y - 18, 4, 18}, "hot", 0);
    for (bool left : {true, false}) {
      const Box* nearest = nullptr;
      for (int c : layout_.tree().below[at(g.top)]) {
        const Box& b = layout_.boxes[at(c)];
        if (b.w <= 0 || kind(c) != ComponentKind::gpu || (b.middle() < x) != left) continue;
        if (!nearest || std::fabs(b.middle() - x) < std::fabs(nearest->middle() - x)) nearest = &b;
      }
      if (!nearest) continue;
      const double from = nearest->middle() + (left ? 12 : -12);
      out_ += "<path class=\"wirehot\" stroke-width=\"1.5\" stroke-dasharray=\"4 3\" d=\"M" + px(from) + ' ' + px(nearest->y) + 'V' + px(y) + 'H' + px(left ? g.dram.x : g.dram.right()) + "\"/>\n";
    }
    rect(g.dram, "hotbox", 4);
    text(x, y + 4, "DRAM", "hotink", 11, true);
  }

  void draw_chips() {
    std::vector<bool> used(graph_.components.size(), false);
    for (int g : group_.gpus) used[at(g)] = true;
    for (std::size_t i = 0; i < graph_.links.size(); ++i)
      if (flows_[2 * i] > 0 || flows_[2 * i + 1] > 0) used[at(graph_.links[i].a)] = used[at(graph_.links[i].b)] = true;
    for (int c = 0; c < static_cast<int>(layout_.boxes.size()); ++c) {
      const Box& b = layout_.boxes[at(c)];
      if (b.w <= 0) continue;
      const Component& component = graph_.components[at(c)];
      const bool hot = c == ring_.bottleneck_component, leaf = component.kind == ComponentKind::gpu || component.kind == ComponentKind::nic;
      const bool idle = leaf && !used[at(c)];
      rect(b, hot ? "hotbox" : idle ? "chip idle" : "chip", 4);
      std::string name = plain_text(component.id, static_cast<std::size_t>(std::max(4.0, b.w / 7)));
      if (component.kind == ComponentKind::gpu) name = (c < 100 ? "GPU " : "G") + std::to_string(c);
      if (component.kind == ComponentKind::nic) name = "NIC";
      if (component.kind == ComponentKind::nvswitch) name = node_.gpu.is_xgmi ? "xGMI switch" : "NVSwitch";
      if (component.kind == ComponentKind::pcie_switch && component.id.starts_with("switch")) name = b.w >= 80 ? "PCIe switch" : "switch";
      if (component.kind == ComponentKind::cpu && !layout_.captions && component.numa >= 0) name += " · NUMA " + std::to_string(component.numa);
      text(b.middle(), b.y + b.h / 2 + 4, name, hot ? "hotink" : idle ? "ink3" : component.kind == ComponentKind::nic ? "ink2" : "ink", component.kind == ComponentKind::gpu ? 12 : 11,
           component.kind != ComponentKind::nic && component.kind != ComponentKind::pcie_switch);
    }
  }

  void draw_others() {
    if (layout_.others.w <= 0) {
      if (layout_.hidden_gpus > 0) text(layout_.width / 2, layout_.bottom + 12, std::to_string(layout_.drawn_gpus) + " of " + format_count(layout_.drawn_gpus + layout_.hidden_gpus) + " GPUs are drawn", "ink3", 11);
      return;
    }
    const Box& o = layout_.others;
    for (int i = 0; i < std::min(layout_.other_count, 48); ++i) rect({o.x + 20.0 * (i % 6), o.y + 20.0 * (i / 6), 14, 14}, "square", 3);
    out_ += label(o.x, o.y - 10, xml_text(format_count(layout_.other_count) + ' ' + layout_.other_name, 60), "ink2", 11, "start", false);
    if (layout_.nvswitch.w > 0)
      out_ += "<path class=\"thin\" d=\"M" + px(o.middle()) + ' ' + px(o.bottom() + 4) + 'V' + px(layout_.nvswitch.y) + "\"/>\n";
  }

  std::string numbers() const {
    const double used = ring_.bottleneck_link >= 0 && carried(ring_.bottleneck_link) > 0 ? carried(ring_.bottleneck_link) : ring_.bus_bandwidth.value;
    // Measured links of some classes reach more than NCCL plans with.
    if (used > ring_.bottleneck_rate.value) return format_rate(BytesPerSecond(used)) + ", planned with " + format_rate(ring_.bottleneck_rate);
    return format_fixed(used / 1e9, 1) + " of " + format_rate(ring_.bottleneck_rate);
  }
  std::string what_the_rate_is() const {
    const bool stated = ring_.bottleneck_link >= 0 && graph_.links[at(ring_.bottleneck_link)].stated;
    if (stated) return "rate as you stated it";
    if (ring_.link_class == "network" && ring_.bottleneck_link < 0) return "nominal rate of the NICs";
    return ring_.bottleneck_nominal.value > 0 ? "NCCL planning rate; nominal " + format_rate(ring_.bottleneck_nominal) : std::string("NCCL planning rate");
  }

  // In the gap between two sockets, under the pipe that binds.
  void draw_callout() {
    const Layout::Ground &left = layout_.grounds[at(layout_.between)], &right = layout_.grounds[at(layout_.between) + 1];
    const double x = (left.box.right() + right.box.x) / 2, y = layout_.boxes[at(left.top)].y + kBar + 14;
    const Link& l = graph_.links[at(ring_.bottleneck_link)];
    std::vector<std::string> lines;
    if (ring_.uses_host_memory) lines.push_back("copies via host memory");
    lines.push_back(link_kind_text(l, node_) + ' ' + plain_text(graph_.components[at(l.a)].id, 9) + "–" + plain_text(graph_.components[at(l.b)].id, 9));
    lines.push_back(numbers());
    lines.push_back(l.stated ? "rate as you stated it" : l.nominal.value > 0 ? "planned; nominal " + format_rate(l.nominal) : std::string("NCCL planning rate"));
    rect({x - 0.5, y - 24, 1, 24}, "hot", 0);
    rect({x - 80, y, 160, 26 + 16.0 * static_cast<double>(lines.size())}, "hotbox", 4);
    text(x, y + 17, "bottleneck", "hotink", 12, true);
    for (std::size_t i = 0; i < lines.size(); ++i) text(x, y + 33 + 16.0 * static_cast<double>(i), lines[i], i + 1 == lines.size() ? "ink2" : "ink", 11);
  }

  double draw_strip(double y) {
    if (ring_.bottleneck.empty() || ring_.bus_bandwidth.value <= 0) return y;
    const Box strip{kMargin, y, layout_.width - 2 * kMargin, 40};
    rect(strip, "hotbox", 4);
    out_ += label(strip.x + 12, y + 16, "bottleneck", "hotink", 12, "start", true);
    const std::size_t room = static_cast<std::size_t>((strip.w - 110) / 6.6);
    out_ += label(strip.x + 86, y + 16, xml_text(ring_.bottleneck, room), "ink", 12, "start", false);
    out_ += label(strip.x + 12, y + 32, xml_text(numbers() + " · " + what_the_rate_is(), static_cast<std::size_t>(strip.w / 6.2)), "ink2", 11, "start", false);
    return strip.bottom();
  }

  // "GPU to switch"
  std::string ends_text(const Link& l) const {
    constexpr std::string_view names[] = {"GPU", "NVSwitch", "switch", "root", "CPU", "NIC", "drive"};
    return std::string(names[static_cast<std::size_t>(kind(l.a))]) + " to " + std::string(names[static_cast<std::size_t>(kind(l.b))]);
  }

  // Every kind of link by name, its rates, and what the ring puts on the fullest of them.
  double draw_legend(double y) {
    const std::vector<LinkGroup> groups = link_groups(graph_, ring_, false);
    std::size_t drawn = 0;
    for (const LinkGroup& g : groups) {
      if (++drawn > 8) break;
      y += 18;
      const Link& l = graph_.links[at(g.first)];
      double most = 0;
      for (int i = 0; i < static_cast<int>(graph_.links.size()); ++i) {
        const Link& other = graph_.links[at(i)];
        if (other.kind == l.kind && other.generation == l.generation && other.width == l.width && other.rate == l.rate && kind(other.a) == kind(l.a) && kind(other.b) == kind(l.b))
          most = std::max(most, carried(i));
      }
      const double w = pipe_width(l.rate);
      rect({kMargin, y - 4 - w / 2, 28, w}, "track", 0);
      if (most > 0) rect({kMargin, y - 4 - w / 2 * std::min(1.0, most / l.rate.value), 28, w * std::min(1.0, most / l.rate.value)}, "load", 0);
      std::string text = format_count(g.count) + " × " + link_kind_text(l, node_) + ", " + ends_text(l) + " · " + (l.stated ? "stated " : "NCCL plans ") + format_rate(l.planned());
      if (l.nominal.value > 0) text += " · nominal " + format_rate(l.nominal);
      text += most > 0 ? " · carries up to " + format_rate(BytesPerSecond(most)) : std::string(" · idle");
      out_ += label(kMargin + 40, y, xml_text(text, static_cast<std::size_t>((layout_.width - kMargin * 2 - 40) / 5.4)), "ink2", 11, "start", false);
    }
    y += 18;
    out_ += label(kMargin, y, xml_text("Rates each way. A lane's fill is what the ring carries beside the rate that is planned with.", static_cast<std::size_t>((layout_.width - kMargin * 2) / 5.4)), "ink3", 11, "start", false);
    return y;
  }

  const TopologyAnswer& answer_;
  const WiringGraph& graph_;
  const Node& node_;
  const GroupRing& group_;
  const RingOnWiring& ring_;
  Layout layout_;
  std::vector<double> flows_;
  std::string out_;
};

}  // namespace

std::string topology_svg(const TopologyAnswer& answer) { return Picture(answer).svg(); }

}  // namespace wireplan
