#include "core/cost/nccl/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/base/sort.hpp"

namespace wireplan::nccl {
namespace {

constexpr std::size_t kPathTypes = kNames<PathType>.size();
// Steps NCCL gives one try, by kind, and all tries together. It never counts time, so the answer is the same on every machine.
constexpr int kStepsSameChannels = 1 << 8, kSteps = 1 << 14, kStepsPlainOrder = 1 << 10;
constexpr std::int64_t kStepsInAll = std::int64_t{1} << 19;
constexpr int kPerfect = -1;  // steps left after a solution that cannot be bettered

struct Candidate {
  Pattern pattern = Pattern::ring;
  int least = 1, most = 32;  // channels
  int channels = 0;
  GBps intra = 0, inter = 0;
  float latency = 0;
  PathType intra_type = PathType::loc, inter_type = PathType::loc;
  int cross_nic = 0;
  bool same_channels = true;
  bool is_plain_order = false;
  int hops = 0;
  std::vector<int> order;  // channels · GPUs, positions in System::gpus
  std::vector<int> nets;   // channels · 2, vertices
};

bool is_tree(Pattern p) { return p == Pattern::tree || p == Pattern::balanced_tree; }

class Search {
 public:
  Search(System& system, const Release& release, const Environment& environment) : system_(system), release_(release), environment_(environment) {
    for (const int net : system.nets) {
      net_rate_.push_back(system.vertex(net).net->rate);
      net_gpu_.push_back(local_gpu(system, net));
      net_near_.push_back(nearest(system, net, system.gpus, &net_near_type_.emplace_back()));
    }
    for (int g = 0; g <= static_cast<int>(gpus()); ++g) own_nets_.push_back(own_nets(g < static_cast<int>(gpus()) ? g : -1));
    nets_to_try_.resize(own_nets_.size() * kPathTypes);
    for (const int a : system.gpus) {
      for (const int b : system.gpus) intra_types_ |= 1u << static_cast<int>(system.path(a, b).type);
      if (system.nvswitch >= 0) intra_types_ |= 1u << static_cast<int>(system.path(a, system.nvswitch).type) | 1u << static_cast<int>(system.path(system.nvswitch, a).type);
      for (const int net : system.nets) inter_types_ |= 1u << static_cast<int>(system.path(a, net).type) | 1u << static_cast<int>(system.path(net, a).type);
    }
    for (int g = 0; g < static_cast<int>(gpus()) && system.nvswitch < 0; ++g) next_of_.push_back(nearest_first(g));
    may_load_back_ = system.least_compute_capability() < 80 || system.vertex(system.cpus.front()).cpu == CpuClass::p9;
    used_.assign(system.gpus.size(), 0);
    plan_.order.assign(kMostChannels * gpus(), 0);
    plan_.nets.assign(kMostChannels * 2, 0);
    best_ = plan_;
  }

  Graph run(Pattern pattern, int least, int most);

 private:
  enum class Order : unsigned char { free, plain, replay };
  struct Walk {           // what is fixed for one channel
    int back_to_net;      // position after which the way returns to a NIC, -1: not
    int back_to_first;    // after which it returns to the first GPU, -1: not
    Order order;
  };

  std::size_t gpus() const { return system_.gpus.size(); }
  int gpu(int position) const { return system_.gpus[static_cast<std::size_t>(position)]; }
  int& placed(int channel, int step) { return plan_.order[static_cast<std::size_t>(channel) * gpus() + static_cast<std::size_t>(step)]; }
  int& net_of(int channel, int end) { return plan_.nets[static_cast<std::size_t>(channel * 2 + end)]; }
  int net_index(int net) const { return static_cast<int>(std::find(system_.nets.begin(), system_.nets.end(), net) - system_.nets.begin()); }

  bool has_room(const Path& path, GBps rate) const;
  bool take(const Path& path, int start, std::size_t steps, GBps rate, std::size_t& done);
  bool follow(int from, int to, float times);
  void search_channel(int& steps);
  void search_once(int& steps);
  void from_nets(Walk walk, int& steps);
  void try_gpu(int from, int position, int step, Walk walk, int& steps);
  void visit(int position, int step, Walk walk, int& steps);
  void back_to_net(int position, int step, Walk walk, int& steps);
  void finish(int& steps);
  void try_nvls(int head, int& steps);
  bool is_better() const;
  std::vector<int> nearest_first(int position) const;
  void push_next_gpus(int position, int sort_net);
  const std::vector<int>& nets_to_try(int only);
  std::vector<int> own_nets(int only) const;
  bool has_two_nvlink_islands() const;
  void double_channels(int compute_capability);
  GBps pcie_rate(int gpu) const;
  void start(Pattern pattern, int least, int most);
  template <class Fits>
  std::size_t first_speed(Fits fits) const;
  void set_speed(std::size_t speed);
  bool let_channels_differ();
  bool let_go_farther();
  bool go_faster();
  Graph graph() const;

  System& system_;
  const Release& release_;
  const Environment& environment_;
  std::vector<GBps> net_rate_;                  // what is left of each NIC
  std::vector<int> net_gpu_;
  std::vector<std::vector<int>> net_near_;
  std::vector<PathType> net_near_type_;
  std::vector<std::vector<int>> own_nets_, nets_to_try_;  // by GPU, the last: for all; and by the distance allowed
  std::vector<std::uint64_t> used_;             // per GPU: a bit for each channel that has it
  struct Score { int position; std::array<int, 3> key; };  // to the NIC: rate, PCIe rate, hops
  std::vector<Score> scores_;
  std::vector<std::vector<int>> next_of_;       // per GPU: the others by rate, then hops
  std::vector<int> next_;                       // a stack: what the visits under way have yet to try
  struct Try { GBps rate; int intra, inter, cross_nic; bool same_channels; Pattern pattern; int steps; };
  std::vector<Try> tries_;
  bool may_load_back_ = false;                  // GPUs before Ampere, or NVLink to the CPU: a little of the traffic runs against the direction
  unsigned intra_types_ = 0, inter_types_ = 0;  // bit t: some path has type t
  Candidate plan_, best_;
  // Between what relaxing goes: the nearest and the farthest paths there are.
  struct Relax {
    struct Types { PathType near, far; };
    Types intra{PathType::loc, PathType::sys}, inter{PathType::pix, PathType::sys};
    int cross_nic = 0;
    bool same_channels = true;
  };
  Relax relax_;
  const std::vector<GBps>* speeds_ = nullptr;
  std::size_t speed_ = 0;
};

// Whether take() may succeed, found without taking and giving back. Only where that leaves no trace: with a share of the traffic running
// against the direction, rates are no whole MB/s and round.
bool Search::has_room(const Path& path, GBps rate) const {
  if (may_load_back_ || rate < 0) return true;
  const GBps pcie = path.is_charged ? rate * 6 / 5 : rate;
  return std::all_of(path.edges.begin(), path.edges.end(), [&](int e) { return system_.edge(e).rate >= (system_.edge(e).kind == EdgeKind::pci ? pcie : rate); });
}

// std::round(), without a call: it stands in the innermost loop.
GBps rounded(GBps x) { return static_cast<GBps>(static_cast<std::int64_t>(static_cast<double>(x) + (x < 0 ? -0.5 : 0.5))); }

// Takes `rate` from every edge; false, and `done` steps taken, where one has too little.
// Intel's host bridges cut P2P into small packets: 6/5 on PCIe of a PHB path from a GPU (rule 4).
bool Search::take(const Path& path, int start, std::size_t steps, GBps rate, std::size_t& done) {
  const GBps pcie = path.is_charged ? rate * 6 / 5 : rate;
  const auto subtract = [](Edge& edge, GBps amount) { edge.rate = rounded((edge.rate - amount) * 1000) / 1000; };
  for (done = 0; done < steps; ++done) {
    Edge& edge = system_.edge(path.edges[done]);
    const GBps forward = edge.kind == EdgeKind::pci ? pcie : rate;
    if (!may_load_back_) {
      if (edge.rate < forward) return false;
      subtract(edge, forward);
      continue;
    }
    const Vertex& to = system_.vertex(edge.to);
    GBps backward = 0;
    if (to.kind == VertexKind::gpu && to.part->compute_capability < 80 && system_.vertex(start).kind != VertexKind::gpu) backward += forward / 8;
    if (to.kind == VertexKind::cpu && to.cpu == CpuClass::p9 && edge.kind == EdgeKind::nvl) backward += forward;
    Edge* reverse = nullptr;
    if (backward != 0)
      for (const int r : to.edges)
        if (system_.edge(r).to == edge.from && system_.edge(r).kind == edge.kind) {
          reverse = &system_.edge(r);
          break;
        }
    if (edge.rate < forward || (reverse != nullptr && reverse->rate < backward)) return false;
    subtract(edge, forward);
    if (reverse != nullptr) subtract(*reverse, backward);
  }
  return true;
}

// Goes from one vertex to another `times` (negative: takes it back); false where type or rate do not allow it.
bool Search::follow(int from, int to, float times) {
  const Path& path = system_.path(from, to);
  const auto on_chip = [&](int v) { return system_.vertex(v).kind == VertexKind::gpu || system_.vertex(v).kind == VertexKind::nvs; };
  const bool intra = on_chip(from) && on_chip(to);
  const PathType allowed = intra ? plan_.intra_type : plan_.inter_type;
  if (path.type >= PathType::dis) return false;
  if (times == 1 && path.type > allowed) return false;
  if (times == 1 && is_tree(plan_.pattern) && system_.path(to, from).type > allowed) return false;
  const GBps rate = (intra ? plan_.intra : plan_.inter) * times;
  if (!has_room(path, rate)) return false;
  std::size_t done = 0;
  if (!take(path, from, path.edges.size(), rate, done)) {
    std::size_t undone = 0;
    const std::size_t steps = done;
    take(path, from, steps, -rate, undone);
    return false;
  }
  plan_.hops += static_cast<int>(times * static_cast<float>(path.edges.size()));
  return true;
}

GBps Search::pcie_rate(int gpu) const {
  for (const int e : system_.vertex(gpu).edges) {
    const Edge& edge = system_.edge(e);
    if (edge.kind != EdgeKind::pci) continue;
    for (const int back : system_.vertex(edge.to).edges)
      if (system_.edge(back).to == gpu) return std::min(edge.rate, system_.edge(back).rate);
  }
  return -1;
}

std::vector<int> Search::nearest_first(int position) const {
  const auto path = [&](int other) -> const Path& { return system_.path(gpu(position), gpu(other)); };
  std::vector<int> others;
  for (int i = 1; i < static_cast<int>(gpus()); ++i)
    if (const int other = (position + i) % static_cast<int>(gpus()); !path(other).edges.empty()) others.push_back(other);
  const int count = static_cast<int>(gpus());
  const auto key = [&](int other) { return std::array{-static_cast<int>(path(other).rate), static_cast<int>(path(other).edges.size()), (other - position + count) % count}; };
  sort(others, [&](int a, int b) { return key(a) < key(b); });
  return others;
}

// Which GPUs to try after `position`, best first (rule 11), on top of next_. `sort_net`: 1 the way returns to the NIC from there, -1 it
// will later, 0 never.
void Search::push_next_gpus(int position, int sort_net) {
  const int count = static_cast<int>(gpus());
  const std::uint64_t flag = std::uint64_t{1} << plan_.channels;
  const auto is_open = [&](int other) { return (used_[static_cast<std::size_t>(other)] & flag) == 0; };
  if (system_.nvswitch >= 0) {  // only the neighbours
    const int before = (position - 1 + count) % count, after = (position + 1) % count;
    const auto push = [&](int other) {
      if (is_open(other) && !system_.path(gpu(position), gpu(other)).edges.empty()) next_.push_back(other);
    };
    if (plan_.pattern == Pattern::ring && before != after) push(before);
    push(after);
    if (plan_.pattern == Pattern::balanced_tree && before != after) push(before);
    return;
  }
  if (sort_net == 0) {
    for (const int other : next_of_[static_cast<std::size_t>(position)])
      if (is_open(other)) next_.push_back(other);
    return;
  }
  scores_.clear();
  for (const int other : next_of_[static_cast<std::size_t>(position)]) {
    if (!is_open(other)) continue;
    const Path& net = system_.path(net_of(plan_.channels, 0), gpu(other));
    const Score s{other, {-static_cast<int>(net.rate), -static_cast<int>(pcie_rate(gpu(other))), static_cast<int>(net.edges.size())}};
    std::size_t at = scores_.size();  // of equal ones the first stays first
    scores_.push_back(s);
    for (; at > 0 && s.key < scores_[at - 1].key; --at) scores_[at] = scores_[at - 1];
    scores_[at] = s;
  }
  const auto path = [&](const Score& s) -> const Path& { return system_.path(gpu(position), gpu(s.position)); };
  const bool all_alike = std::all_of(scores_.begin(), scores_.end(), [&](const Score& s) {
    return static_cast<int>(path(s).rate) == static_cast<int>(path(scores_.front()).rate) && path(s).edges.size() == path(scores_.front()).edges.size();
  });
  if (sort_net == -1 && all_alike) std::reverse(scores_.begin(), scores_.end());
  for (const Score& s : scores_) next_.push_back(s.position);
}

// The NICs NCCL gives the GPUs (one of them, -1: all): rules 12 and 20.
std::vector<int> Search::own_nets(int only) const {
  std::vector<int> nets;
  const auto add = [&](int net) {
    if (std::find(nets.begin(), nets.end(), net) == nets.end()) nets.push_back(net);
  };
  std::vector<int> from = system_.gpus;
  if (only >= 0) from = {gpu(only)};
  std::vector<std::vector<int>> own;  // per GPU
  for (const int g : from) {
    own.push_back(local_nets(system_, g));
    if (own.back().size() > kMostChannels) own.back().resize(kMostChannels);
  }
  if (system_.hosts > 1) {
    for (std::size_t c = 0; c < kMostChannels; ++c)
      for (const auto& nets_of_gpu : own)
        if (c < nets_of_gpu.size()) add(nets_of_gpu[c]);
  } else {
    for (const auto& nets_of_gpu : own)
      for (const int net : nets_of_gpu) add(net);
  }
  return nets;
}

// NICs to start from, or for one GPU to return to: its own first, then the others by distance.
const std::vector<int>& Search::nets_to_try(int only) {
  const std::size_t key = static_cast<std::size_t>(only < 0 ? static_cast<int>(gpus()) : only);
  std::vector<int>& nets = nets_to_try_[key * kPathTypes + static_cast<std::size_t>(plan_.inter_type)];
  if (!nets.empty() || system_.nets.empty()) return nets;
  nets = own_nets_[key];
  for (int t = 0; t <= static_cast<int>(plan_.inter_type); ++t)
    for (std::size_t g = 0; g < gpus(); ++g) {
      if (only >= 0 && g != key) continue;
      for (const int net : system_.nets)
        if (static_cast<int>(system_.path(system_.gpus[g], net).type) == t && std::find(nets.begin(), nets.end(), net) == nets.end()) nets.push_back(net);
    }
  return nets;
}

bool Search::is_better() const {
  if (plan_.channels < plan_.least) return false;
  const auto all = [](const Candidate& c, GBps rate) { return static_cast<float>(c.channels) * rate; };
  if (plan_.pattern == Pattern::nvls)
    return (plan_.channels > best_.channels && plan_.channels <= static_cast<int>(gpus())) || all(plan_, plan_.inter) > all(best_, best_.inter);
  if (all(plan_, plan_.intra) != all(best_, best_.intra)) return all(plan_, plan_.intra) > all(best_, best_.intra);
  return plan_.pattern == best_.pattern && plan_.cross_nic == best_.cross_nic && plan_.hops < best_.hops;
}

// A channel is complete: kept if it is better, and the next one tried.
void Search::finish(int& steps) {
  ++plan_.channels;
  if (is_better()) {
    best_ = plan_;
    if (plan_.channels == plan_.most) steps = kPerfect;
  }
  if (plan_.channels < plan_.most) search_channel(steps);
  --plan_.channels;
}

void Search::try_gpu(int from, int position, int step, Walk walk, int& steps) {
  if (from >= 0 && !follow(from, gpu(position), 1)) return;
  const std::uint64_t flag = std::uint64_t{1} << plan_.channels;
  used_[static_cast<std::size_t>(position)] ^= flag;
  visit(position, step, walk, steps);
  used_[static_cast<std::size_t>(position)] ^= flag;
  if (from >= 0) follow(from, gpu(position), -1);
}

void Search::back_to_net(int position, int step, Walk walk, int& steps) {
  if (system_.nets.empty()) return;
  const int channel = plan_.channels, start = net_of(channel, 0);
  for (const int net : nets_to_try(position)) {
    if (plan_.pattern == Pattern::tree && net != start) continue;
    if (plan_.pattern == Pattern::ring && plan_.cross_nic == 2) {
      if (channel % 2 == 1 && net != net_of(channel - 1, 0)) continue;
    } else if (plan_.cross_nic == 0) {
      const Machine::Net &a = *system_.vertex(net).net, &b = *system_.vertex(start).net;
      if (a.asic != b.asic || a.port != b.port || system_.vertex(net).host != system_.vertex(start).host) continue;
    }
    Walk next = walk;
    next.back_to_net = -1;
    const GBps inter = plan_.inter;
    if (plan_.pattern == Pattern::balanced_tree) {  // half of the traffic on each of the first two GPUs
      if (step == 0) next.back_to_net = 1;
      else if (net != net_of(channel, 1)) continue;
      plan_.inter /= 2;
    }
    const bool reached = follow(gpu(position), net, 1);
    plan_.inter = inter;
    if (!reached) continue;
    net_of(channel, 1) = net;
    visit(position, step, next, steps);
    if (plan_.pattern == Pattern::balanced_tree) plan_.inter /= 2;
    follow(gpu(position), net, -1);
    plan_.inter = inter;
  }
}

// Room for one more head: every GPU sends to and receives from the switch once, the head twice.
void Search::try_nvls(int head, int& steps) {
  const auto times = [&](int g) { return g == head ? 2.0f : 1.0f; };
  const int count = static_cast<int>(gpus());
  int down = 0, up = 0;
  while (down < count && follow(system_.nvswitch, gpu(down), times(down))) ++down;
  if (down == count) {
    while (up < count && follow(gpu(up), system_.nvswitch, times(up))) ++up;
    if (up == count && steps > 0) {
      --steps;
      finish(steps);
    }
  }
  while (up > 0) { --up; follow(gpu(up), system_.nvswitch, -times(up)); }
  while (down > 0) { --down; follow(system_.nvswitch, gpu(down), -times(down)); }
}

// At `position` as the `step`-th of the channel. Depth: channels · (GPUs + 3).
void Search::visit(int position, int step, Walk walk, int& steps) {
  if (steps <= 0) return;
  --steps;
  const int count = static_cast<int>(gpus());
  if (step == count) return finish(steps);
  placed(plan_.channels, step) = position;
  if (step == walk.back_to_net) return back_to_net(position, step, walk, steps);
  if (plan_.pattern == Pattern::nvls) return try_nvls(position, steps);
  if (step < count - 1) {
    if (walk.order == Order::plain) return try_gpu(gpu(position), step + 1, step + 1, walk, steps);
    if (walk.order == Order::replay) return try_gpu(gpu(position), placed(plan_.channels - 1, step + 1), step + 1, walk, steps);
    const std::size_t first = next_.size();
    push_next_gpus(position, walk.back_to_net == -1 ? 0 : walk.back_to_net == step + 1 ? 1 : -1);
    const std::size_t end = next_.size();
    for (std::size_t i = first; i < end; ++i) try_gpu(gpu(position), next_[i], step + 1, walk, steps);
    next_.resize(first);
    return;
  }
  if (step == walk.back_to_first) {
    const int first = placed(plan_.channels, 0);
    if (!follow(gpu(position), gpu(first), 1)) return;
    visit(first, step + 1, {walk.back_to_net, -1, walk.order}, steps);
    follow(gpu(position), gpu(first), -1);
    return;
  }
  visit(position, count, {-1, -1, walk.order}, steps);
}

void Search::from_nets(Walk walk, int& steps) {
  const GBps rate = std::trunc(plan_.inter);  // rule 13
  const std::vector<int>& nets = nets_to_try(-1);
  const std::size_t count = nets.size();
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (plan_.pattern == Pattern::nvls && found) break;
    const int channel = plan_.channels;
    const int net = nets[(static_cast<std::size_t>(channel) + i) % count];
    const std::size_t index = static_cast<std::size_t>(net_index(net));
    if (net_rate_[index] < rate) continue;
    if (plan_.pattern == Pattern::ring && plan_.cross_nic == 2 && channel % 2 == 1 && net != net_of(channel - 1, 1)) continue;
    net_of(channel, 0) = net;
    plan_.latency = system_.vertex(net).net->latency_us;
    const auto use = [&](GBps amount) {
      for (std::size_t n = 0; n < system_.nets.size(); ++n) {
        const Machine::Net &a = *system_.vertex(system_.nets[n]).net, &b = *system_.vertex(net).net;
        if (a.asic == b.asic && a.port == b.port && system_.vertex(system_.nets[n]).host == system_.vertex(net).host) net_rate_[n] -= amount;
      }
    };
    const auto position_of = [&](int g) { return static_cast<int>(std::find(system_.gpus.begin(), system_.gpus.end(), g) - system_.gpus.begin()); };
    const auto start_at = [&](int position, Order order, int& left) { try_gpu(net, position, 0, {walk.back_to_net, walk.back_to_first, order}, left); };
    use(rate);
    const int local = net_gpu_[index];
    if (plan_.pattern == Pattern::nvls) {
      if (channel < static_cast<int>(count) && local >= 0) {
        bool is_head = false;
        for (int c = 0; c < channel; ++c) is_head |= gpu(placed(c, 0)) == local;
        if (!is_head) {
          start_at(position_of(local), Order::free, steps);
          found = true;
        }
      }
    } else if (channel > 0 && plan_.same_channels) {
      start_at(placed(channel - 1, 0), Order::replay, steps);
    } else {
      if (channel == 0 && system_.nvswitch < 0) {
        int left = kStepsPlainOrder;
        start_at(0, Order::plain, left);
        if (left == kPerfect) steps = kPerfect;
      }
      if (local >= 0) start_at(position_of(local), Order::free, steps);
      if (net_near_type_[index] != PathType::dis)
        for (const int g : net_near_[index])
          if (g != local) start_at(position_of(g), Order::free, steps);
    }
    use(-rate);
  }
}

void Search::search_channel(int& steps) {
  const int last = static_cast<int>(gpus()) - 1;
  if (system_.crosses) return from_nets({plan_.pattern == Pattern::ring ? last : 0, -1, Order::free}, steps);
  const Walk walk{-1, plan_.pattern == Pattern::ring ? last : -1, Order::free};
  if (plan_.pattern == Pattern::nvls) return try_gpu(-1, plan_.channels, 0, walk, steps);
  if (plan_.channels == 0) try_gpu(-1, 0, 0, {-1, walk.back_to_first, Order::plain}, steps);
  else try_gpu(-1, placed(plan_.channels - 1, 0), 0, {-1, walk.back_to_first, Order::replay}, steps);
  if (!plan_.same_channels || plan_.channels == 0)
    for (int g = 0; g <= last; ++g) try_gpu(-1, g, 0, walk, steps);
}

// Allowing a distance no path has changes nothing: the same steps would be taken, and nothing better found.
void Search::search_once(int& steps) {
  const auto farthest = [](unsigned types, PathType allowed) {
    int t = static_cast<int>(allowed);
    while (t > 0 && (types >> t & 1u) == 0) --t;
    return t;
  };
  Try now{plan_.inter, farthest(intra_types_, plan_.intra_type), farthest(inter_types_, plan_.inter_type), plan_.cross_nic, plan_.same_channels, plan_.pattern, 0};
  for (const Try& t : tries_)
    if (t.rate == now.rate && t.intra == now.intra && t.inter == now.inter && t.cross_nic == now.cross_nic && t.same_channels == now.same_channels && t.pattern == now.pattern) {
      steps = t.steps;
      return;
    }
  search_channel(steps);
  now.steps = steps;
  tries_.push_back(now);
}

// Exactly two groups of GPUs with NVLink inside and something slower between (rule 9).
bool Search::has_two_nvlink_islands() const {
  const std::size_t n = gpus();
  std::vector<std::size_t> island(n), members(n, 0);
  for (std::size_t g = 0; g < n; ++g) island[g] = g;
  for (std::size_t g = 0; g < n; ++g)
    for (std::size_t p = g + 1; p < n; ++p)
      if (system_.path(system_.gpus[g], system_.gpus[p]).type == PathType::nvl) island[p] = island[g];
  for (std::size_t g = 0; g < n; ++g) ++members[island[g]];
  return std::count_if(members.begin(), members.end(), [](std::size_t m) { return m > 1; }) == 2;
}

// Rule 10.
void Search::double_channels(int compute_capability) {
  if (best_.channels == 0 || best_.pattern == Pattern::nvls || best_.intra < 25) return;
  if (compute_capability > 80 && best_.intra < 50 && best_.channels > 4) return;
  const int doubled = std::min(best_.channels * 2, best_.most);
  for (int c = best_.channels; c < doubled; ++c) {
    const auto from = static_cast<std::ptrdiff_t>(c - best_.channels);
    const auto n = static_cast<std::ptrdiff_t>(gpus());
    std::copy_n(best_.order.begin() + from * n, n, best_.order.begin() + c * n);
    std::copy_n(best_.nets.begin() + from * 2, 2, best_.nets.begin() + c * 2);
  }
  const int times = (doubled + best_.channels - 1) / best_.channels;
  best_.intra /= static_cast<GBps>(times);
  best_.inter /= static_cast<GBps>(times);
  best_.channels = doubled;
}

Graph Search::graph() const {
  const std::size_t count = gpus();
  Graph g;
  g.pattern = best_.pattern;
  g.channels = best_.channels;
  g.intra = best_.intra;
  g.inter = best_.inter;
  g.latency_us = best_.latency;
  g.intra_type = best_.intra_type;
  g.inter_type = best_.inter_type;
  g.cross_nic = best_.cross_nic;
  g.same_channels = best_.same_channels;
  g.is_plain_order = best_.is_plain_order;
  for (std::size_t c = 0; c < static_cast<std::size_t>(best_.channels); ++c) {
    const auto first = best_.order.begin() + static_cast<std::ptrdiff_t>(c * count);
    g.order.emplace_back(first, first + static_cast<std::ptrdiff_t>(best_.pattern == Pattern::nvls ? 1 : count));
    const auto dev = [&](std::size_t end) { return best_.nets[c * 2 + end] < 0 ? 0 : system_.vertex(best_.nets[c * 2 + end]).net->dev; };
    if (system_.crosses) g.nets.push_back({dev(0), dev(1)});
  }
  return g;
}

// What the search starts from: the nearest paths there are, the fastest speed that a path can have at all.
void Search::start(Pattern pattern, int least, int most) {
  const int count = static_cast<int>(gpus());
  const auto range = [&](const std::vector<int>& to, Relax::Types& types) {
    types = {PathType::sys, PathType::loc};
    for (const int a : system_.gpus)
      for (const int b : to)
        if (a != b) types = {std::min(types.near, system_.path(a, b).type), std::max(types.far, system_.path(a, b).type)};
  };
  if (count > 1) range(system_.gpus, relax_.intra);
  if (system_.crosses) range(system_.nets, relax_.inter);
  relax_.cross_nic = system_.nets.size() > 1 && (pattern == Pattern::ring || pattern == Pattern::balanced_tree) ? environment_.cross_nic : 0;
  relax_.same_channels = pattern != Pattern::nvls;
  best_.pattern = count == 1 && pattern != Pattern::ring ? Pattern::tree : pattern;
  best_.least = least;
  best_.most = pattern == Pattern::nvls ? std::min(kMostNvlsHeads, count) : most;
  best_.cross_nic = relax_.cross_nic == 1 ? 1 : 0;
  best_.intra_type = relax_.intra.near;
  best_.inter_type = relax_.inter.near;
  best_.same_channels = relax_.same_channels;
  if (!system_.crosses && pattern == Pattern::nvls) best_.least = best_.most;
  if (best_.pattern == Pattern::ring && best_.most >= 2 && best_.least == 1 && has_two_nvlink_islands()) best_.least = 2;

  const int cc = system_.least_compute_capability();
  const auto list = std::find_if(release_.speeds.begin(), release_.speeds.end(), [&](const Release::Speeds& s) { return cc >= s.compute_capability; });
  speeds_ = system_.crosses ? &list->inter : &list->intra;
  GBps total = system_.total;
  if (count > 1 && best_.pattern != Pattern::ring) total = static_cast<GBps>(total * (count * 1.0 / (count - 1)));
  plan_ = best_;
  set_speed(first_speed([&](GBps rate) { return rate <= system_.most && rate * static_cast<GBps>(best_.least) <= total; }));
}

// The fastest that fits, else the slowest.
template <class Fits>
std::size_t Search::first_speed(Fits fits) const {
  return static_cast<std::size_t>(std::find_if(speeds_->begin(), speeds_->end() - 1, fits) - speeds_->begin());
}

void Search::set_speed(std::size_t speed) {
  speed_ = speed;
  plan_.intra = plan_.inter = (*speeds_)[speed];
}

// Channels that differ (not on AMD across sockets).
bool Search::let_channels_differ() {
  const bool is_kept = system_.vertex(system_.cpus.front()).cpu == CpuClass::amd && plan_.intra_type == PathType::sys;
  if (!plan_.same_channels || is_kept) return false;
  plan_.same_channels = false;
  return true;
}

// Rule 8: lets the first thing go farther that still can, and those before it start again. False: there is none.
bool Search::let_go_farther() {
  const auto farther = [](PathType& type) {
    type = static_cast<PathType>(static_cast<int>(type) + 1);
    return type < PathType::dis;
  };
  const bool is_found = best_.channels > 0;
  plan_.same_channels = relax_.same_channels;
  if (system_.least_compute_capability() >= 90 && plan_.pattern == Pattern::balanced_tree) {
    plan_.pattern = Pattern::tree;
    return true;
  }
  plan_.pattern = best_.pattern;
  if (plan_.intra_type < (system_.crosses ? plan_.inter_type : relax_.intra.far) && (!is_found || plan_.intra_type < best_.intra_type) && farther(plan_.intra_type)) return true;
  plan_.intra_type = relax_.intra.near;
  if (system_.crosses && plan_.inter_type < relax_.inter.far && (!is_found || plan_.inter_type < std::max(best_.inter_type, PathType::pxn)) && farther(plan_.inter_type)) return true;
  plan_.inter_type = relax_.inter.near;
  if (relax_.cross_nic == 2 && plan_.cross_nic == 0 && (best_.pattern == Pattern::ring || best_.pattern == Pattern::balanced_tree)) {
    plan_.cross_nic = 2;
    return true;
  }
  plan_.cross_nic = relax_.cross_nic == 1 ? 1 : 0;
  if (speed_ + 1 == speeds_->size() || (is_found && static_cast<double>((*speeds_)[speed_ + 1] / best_.inter) <= .49)) return false;
  set_speed(speed_ + 1);
  return true;
}

// The next higher speed on what was found: rings as a whole, of trees the links inside the node, of NVLS those to the NICs.
bool Search::go_faster() {
  if (speed_ == 0) return false;
  const GBps next = (*speeds_)[speed_ - 1];
  if (best_.pattern == Pattern::ring) {
    plan_.intra = plan_.inter = next;
  } else if (best_.pattern == Pattern::nvls && plan_.inter == best_.inter && plan_.inter < plan_.intra * 2) {
    plan_.least = plan_.most = best_.channels;
    plan_.inter = next;
  } else if (plan_.intra == best_.intra && plan_.intra < plan_.inter * 2) {
    plan_.intra = next;
  } else {
    return false;
  }
  --speed_;
  return true;
}

Graph Search::run(Pattern pattern, int least, int most) {
  best_.pattern = pattern;
  if (pattern == Pattern::nvls && (system_.nvswitch < 0 || system_.least_compute_capability() < 90)) return graph();
  start(pattern, least, most);
  const auto steps_of_try = [&] {
    plan_.channels = 0;
    return plan_.same_channels ? kStepsSameChannels : kSteps;
  };
  std::int64_t in_all = kStepsInAll;
  while (true) {
    int steps = steps_of_try();
    in_all -= steps;
    search_once(steps);
    if (steps == kPerfect || static_cast<GBps>(best_.channels) * best_.inter >= system_.total) break;
    if (let_channels_differ()) continue;
    in_all += steps;
    if ((in_all < 0 && best_.channels > 0) || !let_go_farther()) break;
  }
  double_channels(system_.least_compute_capability());
  plan_ = best_;
  plan_.least = best_.channels;
  set_speed(first_speed([&](GBps rate) { return rate <= best_.inter; }));
  for (int steps = kPerfect; steps != 0 && go_faster();) search_channel(steps = steps_of_try());

  if (best_.channels == 0 && best_.pattern != Pattern::nvls) {  // rule 14
    for (std::size_t g = 0; g < gpus(); ++g) best_.order[g] = static_cast<int>(g);
    best_.nets[0] = best_.nets[1] = -1;
    best_.intra = best_.inter = 0.1f;
    best_.intra_type = best_.inter_type = PathType::sys;
    best_.channels = 1;
    best_.is_plain_order = true;
  }
  return graph();
}

}  // namespace

Graph search(System& system, const Release& release, const Environment& environment, Pattern pattern, int least, int most) {
  return Search(system, release, environment).run(pattern, least, most);
}

}  // namespace wireplan::nccl
