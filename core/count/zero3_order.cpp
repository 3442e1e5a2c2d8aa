// The order in which a micro-batch uses the modules of a stage: what zero3_replay.cpp replays.
#include <algorithm>
#include <cmath>

#include "core/base/blocks.hpp"
#include "core/count/zero3_replay.hpp"

namespace wireplan {
namespace {

constexpr int kNothing = 0;  // the module of all that own no parameter

bool is_of_transformers(const Training& training) {
  return training.implementation.empty() || training.implementation.compare(0, 11, "huggingface") == 0;
}

}  // namespace

// Modules of a layer, and the places (from `first`) before which modules without parameters stand.
struct Zero3Replay::Layer {
  int first = 0, count = 0;
  int attention = -1, output = -1, gate = -1, up = -1;
};

Zero3Replay::Zero3Replay(const StageTraffic& t, const DeepSpeedSettings& settings)
    : settings_(settings),
      ranks_(t.ranks(GroupKind::data)),
      element_bytes_(bytes_of(t.activation)),
      secondary_ranks_(t.ranks(GroupKind::secondary)),
      is_transformers_(is_of_transformers(t.plan.training)),
      accumulates_(t.micro_batches > 1),
      recomputes_(t.plan.training.recompute.kind == RecomputeKind::full) {
  modules_.emplace_back();
  build_order(t);
}

void Zero3Replay::add_tensors(const TensorList& list) {
  const int first = int(modules_.size());
  signed char index = -1;
  for (const Tensor& x : list) {
    ++index;
    if (x.module == Module::own || int(modules_.size()) == first) {
      Owner& m = modules_.emplace_back();
      m.begin = m.end = std::int32_t(parameters_.size());
      m.tensor = index;
    }
    const double elements = x.rows * x.columns, shard = std::ceil(elements / ranks_);
    for (double copy = 0; copy < x.copies; ++copy) {
      Parameter& p = parameters_.emplace_back();
      p.elements = elements;
      p.padded = shard * ranks_;
      p.whole_bytes = whole_blocks(elements * element_bytes_);
      p.padded_bytes = whole_blocks(p.padded * element_bytes_);
      p.is_linear = x.columns > 1 && x.part != Part::embedding;
      p.persists = elements <= settings_.persistence_threshold;
      if (p.persists) persistent_ += p.padded_bytes;
    }
    modules_.back().end = std::int32_t(parameters_.size());
    modules_.back().elements += x.elements();
  }
}

Zero3Replay::Layer Zero3Replay::add_layer(const TensorList& list) {
  Layer layer;
  layer.first = int(modules_.size());
  add_tensors(list);
  layer.count = int(modules_.size()) - layer.first;
  int of_mlp = 0;
  for (int i = 0; i < layer.count; ++i) {
    const Part part = list[std::size_t(modules_[std::size_t(layer.first + i)].tensor)].part;
    if (part == Part::attention_matrix || part == Part::attention_vector) {
      if (layer.attention < 0) layer.attention = i;
      layer.output = i;
    }
    if (part == Part::mlp_matrix || part == Part::router) {
      if (of_mlp == 0) layer.gate = i;
      if (of_mlp == 1) layer.up = i;
      ++of_mlp;
    }
  }
  return layer;
}

void Zero3Replay::fetch(int place, int module, Zero3Part part) {
  Owner& m = modules_[std::size_t(module)];
  const std::int32_t step = std::int32_t(passed_.size()) - 1;
  events_.push_back({module, place, m.tensor, true, part});
  if (module != kNothing) {
    for (std::int32_t& use : m.uses) {
      if (use >= 0) continue;
      use = step;
      break;
    }
    for (std::int32_t p = m.begin; p < m.end; ++p) order_.push_back({p, step});
  }
  passed_.push_back(passed_.back() + m.elements);
}

void Zero3Replay::release(int place, int module, Zero3Part part) {
  const Owner& m = modules_[std::size_t(module)];
  events_.push_back({module, place, m.tensor, false, part});
  decisions_.resize(decisions_.size() + std::size_t(m.end - m.begin), open);
}

void Zero3Replay::use(int place, int module, Zero3Part part) {
  fetch(place, module, part);
  release(place, module, part);
}

// Forward of a block. Where recomputation stops early it stops inside the last module, which stays fetched for its backward.
void Zero3Replay::walk(const Layer& layer, int place, Zero3Part part, bool to_the_end) {
  fetch(place, kNothing, part);
  for (int i = 0; i < layer.count; ++i) {
    if (i == layer.attention) fetch(place, kNothing, part);
    // Positions were a module of every attention in 2024.
    if (i == layer.output && is_transformers_ && !settings_.recent) fetch(place, kNothing, part);
    // The MLP and its activation function are modules.
    if (is_transformers_ && (i == layer.gate || i == layer.up)) fetch(place, kNothing, part);
    if (i + 1 == layer.count && !to_the_end)
      fetch(place, layer.first + i, part);
    else
      use(place, layer.first + i, part);
  }
}

void Zero3Replay::walk_back(const Layer& layer, int place) {
  const Zero3Part back = Zero3Part::backward;
  const bool reentrant = recomputes_ && !settings_.recent;  // runs the whole block again before its backward begins
  if (reentrant) walk(layer, place, Zero3Part::recompute, true);
  fetch(place, kNothing, back);
  if (is_transformers_) fetch(place, kNothing, back);
  int last = layer.count - 1;
  if (recomputes_ && !reentrant) {  // when the last module's backward asks for its input
    fetch(place, layer.first + last, back);
    walk(layer, place, Zero3Part::recompute, false);
    release(place, layer.first + last, back);
    --last;
  }
  for (int i = last; i >= 0; --i) {
    if (is_transformers_ && i == layer.gate && layer.up >= 0) fetch(place, kNothing, back);
    if (i == layer.output) fetch(place, kNothing, back);
    use(place, layer.first + i, back);
  }
}

void Zero3Replay::build_order(const StageTraffic& t) {
  const std::size_t total = std::size_t(t.layers.total());
  std::vector<Layer> layers;
  layers.reserve(total);
  parameters_.reserve(10 * total + 16);
  modules_.reserve(10 * total + 16);
  events_.reserve(72 * total + 32);
  passed_.reserve(40 * total + 32);
  order_.reserve(40 * total + 32);
  decisions_.reserve(30 * total + 32);
  passed_.push_back(0);

  add_tensors(t.embedding);
  const int embeddings = int(modules_.size());
  for (Count i = 0; i < t.layers.total(); ++i) layers.push_back(add_layer(t.is_moe(i) ? t.moe_layer : t.dense_layer));
  const int heads = int(modules_.size());
  add_tensors(t.head);
  const int end = int(modules_.size());

  const Zero3Part forward = Zero3Part::forward, back = Zero3Part::backward;
  fetch(Zero3Event::kRoot, kNothing, forward);
  if (is_transformers_) fetch(Zero3Event::kRoot, kNothing, forward);
  for (int m = 1; m < embeddings; ++m) use(Zero3Event::kEmbedding, m, forward);
  if (is_transformers_ && settings_.recent && t.plan.model.position == Position::rope)
    fetch(Zero3Event::kRoot, kNothing, forward);
  for (std::size_t i = 0; i < layers.size(); ++i) walk(layers[i], int(i), forward, true);
  for (int m = heads; m < end; ++m) use(Zero3Event::kHead, m, forward);
  fetch(Zero3Event::kRoot, kNothing, back);
  for (int m = end - 1; m >= heads; --m) {
    use(Zero3Event::kHead, m, back);
    if (is_transformers_ && m == end - 1) fetch(Zero3Event::kRoot, kNothing, back);
  }
  for (std::size_t i = layers.size(); i-- > 0;) walk_back(layers[i], int(i));
  // The embedding's input has no gradient, so nothing tells when its backward is over: it is released at the end of the
  // backward, or (2024) stays.
  for (int m = embeddings - 1; m >= 1; --m) {
    fetch(Zero3Event::kEmbedding, m, back);
    if (settings_.recent) {
      release(Zero3Event::kEmbedding, m, back);
      continue;
    }
    for (std::int32_t p = modules_[std::size_t(m)].begin; p < modules_[std::size_t(m)].end; ++p)
      parameters_[std::size_t(p)].stays = true;
  }
}

}  // namespace wireplan
