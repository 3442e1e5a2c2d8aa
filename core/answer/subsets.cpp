#include "core/answer/subsets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/answer/placement_note.hpp"
#include "core/base/sort.hpp"

namespace wireplan {

namespace {

constexpr int kEnumerated = 16, kMostRings = 4'000, kMostStarts = 64;
constexpr std::size_t kKept = 5;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// `planned`: with what NCCL decides for them, which takes too long where many are compared.
Subset judged(const PreparedCluster& cluster, const std::vector<int>& gpus, bool planned) {
  Subset s;
  s.gpus = gpus;
  const GroupShape shape = single_group(static_cast<int>(gpus.size()), 1, gpus);
  RingOnWiring ring = planned ? ring_on_wiring(cluster, shape) : unplanned_ring(cluster, shape);
  s.bus_bandwidth = ring.bus_bandwidth;
  s.all_to_all_bandwidth = ring.all_to_all_bandwidth;
  s.bottleneck = std::move(ring.bottleneck);
  s.bottleneck_rate = ring.bottleneck_rate;
  s.bottleneck_nominal = ring.bottleneck_nominal;
  for (int a : gpus)
    for (int b : gpus)
      if (a < b) s.distance += static_cast<int>(cluster.route(a, b).kind) * 16 + static_cast<int>(cluster.route(a, b).count);
  return s;
}

bool is_better(const Subset& a, const Subset& b) {
  if (a.bus_bandwidth != b.bus_bandwidth) return a.bus_bandwidth > b.bus_bandwidth;
  if (a.all_to_all_bandwidth != b.all_to_all_bandwidth) return a.all_to_all_bandwidth > b.all_to_all_bandwidth;
  return a.distance != b.distance ? a.distance < b.distance : a.gpus < b.gpus;
}

class Enumeration {
 public:
  Enumeration(const PreparedCluster& cluster, int k) : cluster_(cluster), k_(at(k)), alike_(alike_gpus(cluster)) {
    for (const LinkConstants::Class& c : cluster.constants->classes) reached_ = std::max(reached_, c.efficiency);
  }

  // False when the budget ran out.
  bool run(std::vector<Subset>& best) {
    best_ = &best;
    extend(0);
    return rings_ <= kMostRings;
  }

 private:
  void extend(int next) {
    if (rings_ > kMostRings) return;
    if (chosen_.size() == k_) return consider();
    if (chosen_.size() + at(cluster_.gpus - next) < k_) return;
    // Of GPUs that are alike the lowest are taken first.
    bool is_free = true;
    for (int g = alike_[at(next)]; g < next; ++g)
      if (alike_[at(g)] == alike_[at(next)] && std::find(chosen_.begin(), chosen_.end(), g) == chosen_.end()) is_free = false;
    if (is_free) {
      chosen_.push_back(next);
      extend(next + 1);
      chosen_.pop_back();
    }
    extend(next + 1);
  }

  // What a member sends leaves it over the first links of its ways to the others.
  double sends_at_most(int a) const {
    std::array<int, kEnumerated> links{};
    std::size_t count = 0;
    double sum = 0;
    for (int b : chosen_) {
      const PreparedCluster::Route& way = cluster_.route(a, b);
      if (b == a || way.count == 0) continue;
      const int link = cluster_.steps[way.first].link;
      if (std::find(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(count), link) != links.begin() + static_cast<std::ptrdiff_t>(count)) continue;
      links[count++] = link;
      sum += cluster_.graph.links[at(link)].rate.value;
    }
    return reached_ * sum;
  }

  void consider() {
    if (best_->size() == kKept)
      for (int a : chosen_)
        if (sends_at_most(a) < best_->back().bus_bandwidth.value) return;
    ++rings_;
    Subset s = judged(cluster_, chosen_, false);
    const auto place = std::find_if(best_->begin(), best_->end(), [&](const Subset& other) { return is_better(s, other); });
    best_->insert(place, std::move(s));
    if (best_->size() > kKept) best_->pop_back();
  }

  const PreparedCluster& cluster_;
  std::size_t k_;
  std::vector<int> alike_;
  double reached_ = 1;
  std::vector<int> chosen_;
  std::vector<Subset>* best_ = nullptr;
  int rings_ = 0;
};

// From each start the nearest ones.
std::vector<Subset> grown(const PreparedCluster& cluster, int k) {
  std::vector<Subset> best;
  std::vector<std::vector<int>> seen;
  for (int start = 0; start < std::min(cluster.gpus, kMostStarts); ++start) {
    std::vector<int> others;
    for (int g = 0; g < cluster.gpus; ++g)
      if (g != start) others.push_back(g);
    std::vector<int> gpus = nearest_to(cluster, start, std::move(others), at(k));
    sort(gpus);
    if (std::find(seen.begin(), seen.end(), gpus) != seen.end()) continue;
    best.push_back(judged(cluster, gpus, false));
    seen.push_back(std::move(gpus));
  }
  sort(best, is_better);
  if (best.size() > kKept) best.resize(kKept);
  return best;
}

}  // namespace

std::vector<int> alike_gpus(const PreparedCluster& cluster) {
  using End = std::array<double, 5>;  // other component, kind, rate, data sheet, latency
  const Node& node = cluster.cluster->node;
  std::vector<std::vector<End>> ends(at(cluster.gpus));
  for (const Link& l : cluster.graph.links)
    for (auto [gpu, other] : {std::array{l.a, l.b}, std::array{l.b, l.a}})
      if (gpu < cluster.gpus) ends[at(gpu)].push_back({static_cast<double>(other), static_cast<double>(l.kind), l.rate.value, l.nominal.value, l.latency.value});
  const auto seen_by = [&](int gpu, int twin) {  // with its own twin under its own name
    std::vector<End> list = ends[at(gpu)];
    for (End& e : list)
      if (e[0] == twin) e[0] = gpu;
    sort(list);
    return list;
  };
  const auto may_swap = [&](int a, int b) {
    if (cluster.graph.components[at(a)].numa != cluster.graph.components[at(b)].numa) return false;
    std::vector<End> of_a = seen_by(a, b), of_b = seen_by(b, a);
    for (End& e : of_a)
      if (e[0] == a) e[0] = b;
    sort(of_a);
    if (of_a != of_b) return false;
    for (int g = 0; g < cluster.gpus; ++g)
      if (g != a && g != b && (peers_over_pcie(node, a, g) != peers_over_pcie(node, b, g) || peers_over_pcie(node, g, a) != peers_over_pcie(node, g, b))) return false;
    return peers_over_pcie(node, a, b) == peers_over_pcie(node, b, a);
  };
  std::vector<int> alike(at(cluster.gpus));
  for (int g = 0; g < cluster.gpus; ++g) {
    alike[at(g)] = g;
    for (int lower = 0; lower < g && alike[at(g)] == g; ++lower)
      if (alike[at(lower)] == lower && may_swap(lower, g)) alike[at(g)] = lower;
  }
  return alike;
}

Subsets best_subsets(const PreparedCluster& cluster, int k) {
  Subsets subsets;
  std::vector<int> first;
  for (int g = 0; g < std::min(k, cluster.gpus); ++g) first.push_back(g);
  subsets.first = judged(cluster, first, true);
  subsets.all_equal = cluster.switched;
  if (cluster.switched || k <= 1 || k >= cluster.gpus) {
    subsets.best.push_back(subsets.first);
  } else if (cluster.gpus <= kEnumerated) {
    subsets.exact = Enumeration(cluster, k).run(subsets.best);
  } else {
    subsets.exact = false;
    subsets.best = grown(cluster, k);
  }
  for (Subset& s : subsets.best) s = judged(cluster, std::vector<int>(s.gpus), true);
  sort(subsets.best, is_better);
  if (is_better(subsets.first, subsets.best.front())) subsets.best.insert(subsets.best.begin(), subsets.first);
  return subsets;
}

}  // namespace wireplan
