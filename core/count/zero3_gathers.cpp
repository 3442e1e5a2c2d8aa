// When DeepSpeed's ZeRO-3 gathers which parameters: a replay of its prefetcher over the modules of one micro-batch.
//
// The unit is the module that owns a parameter. In the steady state the order of modules (forward and backward) is known: after
// fetching a module the following ones are prefetched while fewer than prefetch_bucket elements are under way and fewer than
// max_live are present; a module is released after use unless it comes again within max_reuse elements of the order.
// [deepspeed-zero] partitioned_param_coordinator.py, release 0.19; release 0.14 groups its prefetches differently and keeps what a
// micro-batch ends with for the next. Checked against [framework-traces] (messages_test.cpp).
#include <algorithm>

#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"

namespace wireplan {
namespace {

constexpr int kNothing = 0;  // a module without parameters: its fetch still triggers prefetching

struct Event {
  int module = kNothing;
  bool fetch = true, backward = false;
};

struct ModuleState {
  double elements = 0, padded = 0;
  bool persistent = true;  // all its tensors are: gathered before, never released
  bool present = false, in_flight = false;
  int recent = -1;             // last place in the order that the prefetcher has passed for it
  int uses[3] = {-1, -1, -1};  // places in the order
};

struct LayerModules {
  int first = 0, count = 0;
  int attention = 0, output = 0, norm2 = 0, gate = 0,
      up = 0;  // places (from `first`) that parameterless modules stand before
};

class Replay {
 public:
  Replay(const StageTraffic& traffic, const DeepSpeedSettings& s)
      : t(traffic), settings(s), ranks(traffic.ranks(GroupKind::data)) {
    transformers =
        t.plan.training.implementation.empty() || t.plan.training.implementation.compare(0, 11, "huggingface") == 0;
    modules.emplace_back();
    build_order();
  }

  Gathers run() {
    Gathers sum;
    std::vector<double> passed(order.size() + 1);  // elements of the order before a place
    for (std::size_t i = 0; i < order.size(); ++i) passed[i + 1] = passed[i] + modules[std::size_t(order[i])].elements;
    double live = 0;
    std::size_t queue = 0;
    int step = 0;
    const auto gather = [&](double padded, bool backward) {
      (backward ? sum.backward_calls : sum.forward_calls) += 1;
      (backward ? sum.backward_elements : sum.forward_elements) += padded;
    };
    const auto skip_empty = [&] {
      while (queue < order.size() && !(modules[std::size_t(order[queue])].elements > 0)) ++queue;
      return queue < order.size();
    };
    for (const Event& e : events) {
      ModuleState& m = modules[std::size_t(e.module)];
      if (!e.fetch) {
        if (m.present && !m.persistent && m.recent <= step && !comes_again(m, step, passed)) {
          m.present = false;
          live -= m.elements;
        }
        continue;
      }
      if (m.elements > 0 && !m.present && !m.in_flight) {
        gather(m.padded, e.backward);
        live += m.elements;
        m.in_flight = true;
      }
      if (m.in_flight) {
        m.in_flight = false;
        m.present = true;
      }
      if (m.elements > 0 && m.recent < step && skip_empty()) {
        modules[std::size_t(order[queue])].recent = int(queue);
        ++queue;
      }
      if (settings.prefetch_bucket > 0) {
        const double room = std::min(settings.max_live - live, settings.prefetch_bucket);
        double got = 0, padded = 0;
        while (got < room && skip_empty()) {
          ModuleState& next = modules[std::size_t(order[queue])];
          next.recent = std::max(next.recent, int(queue));
          ++queue;
          if (next.present || next.in_flight) continue;
          next.in_flight = true;
          got += next.elements;
          padded += next.padded;
        }
        if (got > 0) gather(padded, e.backward);
        live += got;
      }
      ++step;
    }
    return sum;
  }

 private:
  const StageTraffic& t;
  const DeepSpeedSettings& settings;
  const double ranks;
  bool transformers = true;
  std::vector<ModuleState> modules;
  std::vector<Event> events;
  std::vector<int> order;

  bool comes_again(const ModuleState& m, int step, const std::vector<double>& passed) const {
    for (const int use : m.uses)
      if (use >= step) return passed[std::size_t(use)] - passed[std::size_t(step)] < settings.max_reuse;
    return false;
  }

  void fetch(int module, bool backward) {
    events.push_back({module, true, backward});
    if (module != kNothing) {
      for (int& use : modules[std::size_t(module)].uses) {
        if (use >= 0) continue;
        use = int(order.size());
        break;
      }
    }
    order.push_back(module);
  }
  void release(int module, bool backward) { events.push_back({module, false, backward}); }
  void use(int module, bool backward) {
    fetch(module, backward);
    release(module, backward);
  }

  // Tensors up to the threshold stay gathered; beside a larger one (a bias) they do not count.
  void add_tensor(const Tensor& x) {
    if (x.module == Module::own || modules.size() == 1) modules.emplace_back();
    ModuleState& m = modules.back();
    const bool stays = x.elements() <= settings.persistence_threshold;
    if (stays && !m.persistent) return;
    if (!stays && m.persistent) m.elements = m.padded = 0;
    m.persistent = m.present = stays;
    m.elements += x.elements();
    m.padded += std::ceil(x.elements() / ranks) * ranks;
  }

  LayerModules add_layer(const TensorList& list) {
    LayerModules layer;
    layer.first = int(modules.size());
    bool in_attention = false, in_mlp = false;
    int rows_in_mlp = 0;
    for (const Tensor& x : list) {
      add_tensor(x);
      if (x.module != Module::own) continue;
      const int place = int(modules.size()) - 1 - layer.first;
      const bool is_attention = x.part == Part::attention_matrix || x.part == Part::attention_vector;
      if (is_attention && !in_attention) {
        layer.attention = place;
        in_attention = true;
      }
      if (is_attention) layer.output = place;
      if (x.part == Part::norm && in_attention && !in_mlp) layer.norm2 = place;
      if (x.part == Part::mlp_matrix || x.part == Part::router) {
        if (!in_mlp) layer.gate = place;
        in_mlp = true;
        if (rows_in_mlp++ == 1) layer.up = place;
      }
    }
    layer.count = int(modules.size()) - layer.first;
    return layer;
  }

  // Forward of a block; recomputation stops inside the last module, which stays fetched for its backward.
  void walk(const LayerModules& layer, bool backward, bool to_the_end) {
    fetch(kNothing, backward);
    for (int i = 0; i < layer.count; ++i) {
      if (i == layer.attention) fetch(kNothing, backward);
      if (transformers && (i == layer.gate || i == layer.up)) fetch(kNothing, backward);
      if (i + 1 == layer.count && !to_the_end)
        fetch(layer.first + i, backward);
      else
        use(layer.first + i, backward);
    }
  }

  void walk_back(const LayerModules& layer, bool recompute) {
    fetch(kNothing, true);
    if (transformers) fetch(kNothing, true);
    int last = layer.count - 1;
    if (recompute && !settings.recent) {  // re-entrant checkpoints run the whole block
      walk(layer, true, true);
    } else if (recompute) {
      fetch(layer.first + last, true);
      walk(layer, true, false);
      release(layer.first + last, true);
      --last;
    }
    for (int i = last; i >= 0; --i) {
      if (i == layer.output) fetch(kNothing, true);
      use(layer.first + i, true);
    }
  }

  void build_order() {
    const std::size_t total = std::size_t(t.layers.total());
    std::vector<LayerModules> layers;
    layers.reserve(total);
    for (const Tensor& x : t.embedding) add_tensor(x);
    const int embeddings = int(modules.size());
    for (Count i = 0; i < t.layers.total(); ++i) layers.push_back(add_layer(t.is_moe(i) ? t.moe_layer : t.dense_layer));
    const int heads = int(modules.size());
    for (const Tensor& x : t.head) add_tensor(x);
    const int end = int(modules.size());
    events.reserve(60 * total + 20);
    order.reserve(40 * total + 20);

    const bool recompute = t.plan.training.recompute.kind == RecomputeKind::full;
    fetch(kNothing, false);
    if (transformers) fetch(kNothing, false);
    for (int m = 1; m < embeddings; ++m) use(m, false);
    for (const LayerModules& layer : layers) walk(layer, false, true);
    for (int m = heads; m < end; ++m) use(m, false);
    fetch(kNothing, true);
    for (int m = end - 1; m >= heads; --m) {
      use(m, true);
      if (transformers && m == end - 1) fetch(kNothing, true);
    }
    for (std::size_t i = layers.size(); i-- > 0;) walk_back(layers[i], recompute);
    for (int m = embeddings - 1; m >= 1; --m) use(m, true);
  }
};

}  // namespace

Gathers zero3_gathers(const StageTraffic& traffic, const DeepSpeedSettings& settings) {
  return Replay(traffic, settings).run();
}

}  // namespace wireplan
