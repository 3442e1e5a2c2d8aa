#include "core/cost/wiring_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/sort.hpp"

namespace wireplan {
namespace {

using Step = PreparedCluster::Step;
using Route = PreparedCluster::Route;

constexpr std::size_t kSearched = 8;  // 7!/2 rings at most
constexpr double kUnbounded = 1e300;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Nearness: the kind of way first, then its links.
int distance(const PreparedCluster& cluster, int a, int b) {
  const Route& r = cluster.route(a, b);
  return static_cast<int>(r.kind) * 16 + static_cast<int>(r.count);
}

class Search {
 public:
  Search(const PreparedCluster& cluster, const std::vector<int>& gpus, const HalfFlows& flows)
      : cluster_(cluster), gpus_(gpus), n_(gpus.size()), flows_(flows) {
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) distance_[i][j] = i == j ? 0 : distance(cluster, gpus[i], gpus[j]);
    for (std::size_t i = 0; i < n_; ++i) {
      nearest_[i] = second_[i] = 1 << 20;
      for (std::size_t j = 0; j < n_; ++j) {
        if (i == j) continue;
        const int d = distance_[i][j];
        if (d < nearest_[i]) { second_[i] = nearest_[i]; nearest_[i] = d; }
        else if (d < second_[i]) second_[i] = d;
      }
    }
  }

  std::vector<int> order() {
    for (std::size_t i = 0; i < n_; ++i) order_[i] = i;
    consider();
    for (std::size_t start = 0; start < n_; ++start) {
      follow_widest(start);
      consider();
    }
    // Of rings that are as wide the nearest: else which one is found would hang on the names of the GPUs.
    if (2 * best_far_ > least_far() || best_rate_ < rate_bound()) {
      order_[0] = 0;
      visited_ = 1;
      extend(1, kUnbounded, 0);
    }
    std::vector<int> order;
    for (std::size_t i = 0; i < n_; ++i) order.push_back(gpus_[best_[i]]);
    // From the first GPU towards the lower index: traffic runs round in both directions.
    std::rotate(order.begin(), std::min_element(order.begin(), order.end()), order.end());
    if (order[1] > order.back()) std::reverse(order.begin() + 1, order.end());
    return order;
  }

 private:
  // Puts an edge on the links; gives the least rate / flows of the links it touched.
  double put(std::size_t a, std::size_t b) {
    double least = kUnbounded;
    for (int direction = 0; direction < 2; ++direction) {
      const Route& r = direction == 0 ? cluster_.route(gpus_[a], gpus_[b]) : cluster_.route(gpus_[b], gpus_[a]);
      if (r.count == 0) least = 0;
      for (std::uint32_t s = r.first; s < r.first + r.count; ++s) {
        const Step step = cluster_.steps[s];
        const int halves = ++flows_[direction_of(step)];
        least = std::min(least, 2 * cluster_.graph.links[at(step.link)].rate.value / halves);
      }
    }
    return least;
  }
  void take(std::size_t a, std::size_t b) {
    add_edge(cluster_, gpus_[a], gpus_[b], -1, flows_);
  }

  void consider() {
    double rate = kUnbounded;
    int far = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      rate = std::min(rate, put(order_[i], order_[(i + 1) % n_]));
      far += distance_[order_[i]][order_[(i + 1) % n_]];
    }
    for (std::size_t i = 0; i < n_; ++i) take(order_[i], order_[(i + 1) % n_]);
    judge(rate, far);
  }

  void judge(double rate, int far) {
    if (rate > best_rate_ || (rate == best_rate_ && far < best_far_)) {
      best_rate_ = rate;
      best_far_ = far;
      best_ = order_;
    }
  }

  void follow_widest(std::size_t start) {
    std::uint32_t visited = 1u << start;
    order_[0] = start;
    for (std::size_t i = 1; i < n_; ++i) {
      std::size_t next = n_;
      for (std::size_t j = 0; j < n_; ++j) {
        if (visited >> j & 1) continue;
        if (next == n_) { next = j; continue; }
        const std::size_t last = order_[i - 1];
        const BytesPerSecond wide = cluster_.route(gpus_[last], gpus_[j]).rate, best = cluster_.route(gpus_[last], gpus_[next]).rate;
        const int far = distance_[last][j], near = distance_[last][next];
        if (wide > best || (wide == best && far < near)) next = j;
      }
      order_[i] = next;
      visited |= 1u << next;
    }
  }

  // No ring is wider than this. A link direction that every way from a GPU takes carries what that GPU sends, a whole flow in
  // two halves (the same for what reaches it); one that parts the group in two is crossed once each way at least.
  double rate_bound() const {
    std::vector<std::array<std::uint32_t, kSearched>> users(flows_.size());  // per direction of a link: from i, the j whose way uses it
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) {
        if (i == j) continue;
        const Route& r = cluster_.route(gpus_[i], gpus_[j]);
        for (std::uint32_t s = r.first; s < r.first + r.count; ++s) users[direction_of(cluster_.steps[s])][i] |= 1u << j;
      }
    const std::uint32_t all = (1u << n_) - 1;
    double bound = kUnbounded;
    for (std::size_t d = 0; d < users.size(); ++d) {
      std::uint32_t senders = 0, receivers = 0, always_received = all;
      int sending = 0, receiving = 0;
      for (std::size_t i = 0; i < n_; ++i) {
        const std::uint32_t others = all & ~(1u << i);
        if (users[d][i] != 0) senders |= 1u << i;
        receivers |= users[d][i];
        sending += users[d][i] == others;
        always_received &= users[d][i] | 1u << i;
      }
      if (senders == 0) continue;
      for (std::size_t i = 0; i < n_; ++i) receiving += always_received >> i & 1;
      bool parts = (senders & receivers) == 0 && (senders | receivers) == all;
      for (std::size_t i = 0; i < n_; ++i)
        if (senders >> i & 1) parts = parts && users[d][i] == receivers;
      const int least = std::max({sending, receiving, parts ? 1 : 0});
      if (least > 0) bound = std::min(bound, 2 * cluster_.graph.links[d / 2].rate.value / (flows_[d] + 2 * least));
    }
    return bound;
  }

  // Twice the least distance of any ring.
  int least_far() const {
    int twice = 0;
    for (std::size_t i = 0; i < n_; ++i) twice += nearest_[i] + second_[i];
    return twice;
  }

  // Twice the least distance the rest of a ring can still need: half of the two nearest ways of each GPU.
  int rest_bound(std::size_t last) const {
    int twice = nearest_[last] + nearest_[order_[0]];
    for (std::size_t i = 0; i < n_; ++i)
      if (!(visited_ >> i & 1)) twice += nearest_[i] + (n_ > 2 ? second_[i] : nearest_[i]);
    return twice;
  }

  void extend(std::size_t depth, double rate, int far) {
    if (depth == n_) {  // all edges but the last are on the links
      const std::size_t last = order_[n_ - 1];
      const double wide = std::min(rate, put(last, order_[0]));
      take(last, order_[0]);
      judge(wide, far + distance_[last][order_[0]]);
      return;
    }
    for (std::size_t next = 0; next < n_; ++next) {
      if (visited_ >> next & 1) continue;
      const std::size_t last = order_[depth - 1];
      const double wide = std::min(rate, put(last, next));
      const int near = far + distance_[last][next];
      order_[depth] = next;
      visited_ |= 1u << next;
      if (wide > best_rate_ || (wide == best_rate_ && 2 * near + rest_bound(next) < 2 * best_far_))
        extend(depth + 1, wide, near);
      visited_ &= ~(1u << next);
      take(last, next);
    }
  }

  const PreparedCluster& cluster_;
  const std::vector<int>& gpus_;
  std::size_t n_;
  HalfFlows flows_;
  std::array<std::array<int, kSearched>, kSearched> distance_{};
  std::array<int, kSearched> nearest_{}, second_{};
  std::array<std::size_t, kSearched> order_{}, best_{};
  std::uint32_t visited_ = 0;
  double best_rate_ = -1;
  int best_far_ = 0;
};

// Switch and socket a GPU hangs from, as component indices.
std::array<int, 2> home(const PreparedCluster& cluster, int gpu) {
  std::array<int, 2> home{-1, -1};  // socket, switch
  int c = gpu;
  for (int depth = 0; depth < 8; ++depth) {
    int up = -1;
    for (const Link& l : cluster.graph.links) {
      if (l.kind != LinkKind::pcie && l.kind != LinkKind::c2c) continue;
      const int other = l.a == c ? l.b : l.b == c ? l.a : -1;
      if (other < 0 || other == home[1]) continue;
      const ComponentKind kind = cluster.graph.components[at(other)].kind;
      if (kind == ComponentKind::cpu || kind == ComponentKind::root) { home[0] = other; return home; }
      if (kind == ComponentKind::pcie_switch && up < 0) up = other;
    }
    if (up < 0) return home;
    c = home[1] = up;
  }
  return home;
}

}  // namespace

void add_edge(const PreparedCluster& cluster, int a, int b, int halves, HalfFlows& flows) {
  for (int direction = 0; direction < 2; ++direction) {
    const Route& r = direction == 0 ? cluster.route(a, b) : cluster.route(b, a);
    for (std::uint32_t s = r.first; s < r.first + r.count; ++s) flows[direction_of(cluster.steps[s])] += halves;
  }
}

std::vector<int> ring_order(const PreparedCluster& cluster, const std::vector<int>& gpus, const HalfFlows& flows) {
  if (gpus.size() <= 2 || cluster.switched) return gpus;
  if (gpus.size() <= kSearched) return Search(cluster, gpus, flows).order();
  std::vector<std::array<int, 3>> keys;
  for (int g : gpus) {
    const std::array<int, 2> h = home(cluster, g);
    keys.push_back({h[0], h[1], g});
  }
  sort(keys);
  std::vector<int> order;
  for (const std::array<int, 3>& k : keys) order.push_back(k[2]);
  return order;
}

MeshBound mesh_bound(const PreparedCluster& cluster, const std::vector<int>& order) {
  const std::size_t n = order.size();
  for (std::size_t i = 0; i < n; ++i)
    if (cluster.route(order[i], order[(i + 1) % n]).kind != PathKind::nvlink) return {};
  auto rates = [&](std::size_t i, std::size_t j) -> std::array<double, 2> {
    const Route& r = cluster.route(order[i], order[j]);
    if (i == j || r.kind != PathKind::nvlink) return {0, 0};
    return {r.rate.value, cluster.graph.links[at(cluster.steps[r.first].link)].nominal.value};
  };
  MeshBound best;
  best.rate = BytesPerSecond(kUnbounded);
  auto consider = [&](double rate, double nominal, std::uint32_t side) {
    if (rate >= best.rate.value) return;
    best = {BytesPerSecond(rate), BytesPerSecond(nominal), {}};
    for (std::size_t i = 0; i < n && i < 32; ++i)
      if (side >> i & 1) best.tight.push_back(order[i]);
  };
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0, nominal = 0, widest = 0, widest_nominal = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const std::array<double, 2> r = rates(i, j);
      sum += r[0];
      nominal += r[1];
      if (r[0] > widest) { widest = r[0]; widest_nominal = r[1]; }
    }
    const std::uint32_t side = i < 32 ? 1u << i : 0;
    consider(sum, nominal, side);
    if (n > 2) consider(2 * (sum - widest), 2 * (nominal - widest_nominal), side);
  }
  if (n > 3 && n <= 12)
    for (std::uint32_t side = 1; side < (1u << (n - 1)); ++side) {
      double sum = 0, nominal = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          if ((side >> i & 1) && !(side >> j & 1)) {
            const std::array<double, 2> r = rates(i, j);
            sum += r[0];
            nominal += r[1];
          }
      consider(sum, nominal, side);
    }
  return best;
}

}  // namespace wireplan
