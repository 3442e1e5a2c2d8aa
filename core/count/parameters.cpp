#include "core/count/parameters.hpp"

#include <algorithm>

#include "core/count/tensors.hpp"

namespace wireplan {
namespace {

constexpr Storage kPlain{false, false, true};

LayerParameters by_part(const TensorList& list) {
  LayerParameters p;
  for (const Tensor& x : list) {
    switch (x.part) {
      case Part::attention_matrix:
        p.attention_matrices += x.elements();
        break;
      case Part::attention_vector:
        p.attention_vectors += x.elements();
        break;
      case Part::mlp_matrix:
        p.mlp_matrices += x.elements();
        break;
      case Part::mlp_vector:
        p.mlp_vectors += x.elements();
        break;
      case Part::expert:
        p.experts += x.elements();
        break;
      case Part::router:
        p.router += x.elements();
        break;
      case Part::norm:
      case Part::embedding:
      case Part::head:
        p.norms += x.elements();
        break;
    }
  }
  return p;
}

bool is_v_shaped(PipelineSchedule s) { return s == PipelineSchedule::zb_v || s == PipelineSchedule::dualpipe_v; }

// Calls visit(piece) for every piece a stage holds.
template <class Visit>
void visit_pieces(const Parallel& parallel, Count stage, Visit visit) {
  const Count p = std::max<Count>(parallel.pipeline, 1), pieces = pieces_of(parallel);
  if (p > 1 && is_v_shaped(parallel.pipeline_schedule)) {
    visit(stage);
    visit(2 * p - 1 - stage);
  } else if (p > 1 && parallel.pipeline_schedule == PipelineSchedule::dualpipe) {
    visit(stage);
    visit(p - 1 - stage);
  } else {
    for (Count piece = stage; piece < pieces; piece += p) visit(piece);
  }
}

// First layer of piece `piece` of `pieces`.
Count first_layer(Count layers, Count pieces, Count piece) {
  if (layers % pieces == 0) return layers / pieces * piece;
  if ((layers + 2) % pieces == 0) return std::clamp<Count>((layers + 2) / pieces * piece - 1, 0, layers);
  return layers / pieces * piece + std::min(piece, layers % pieces);
}

struct Share {
  double dense = 0, experts = 0, buffers = 0, tensors = 0;
};
Share share_of(const TensorList& list) {
  Share s;
  for (const Tensor& x : list) {
    (x.part == Part::expert ? s.experts : s.dense) += x.elements();
    if (x.is_buffer) s.buffers += x.elements();
  }
  s.tensors = tensors_of(list);
  return s;
}

}  // namespace

bool is_moe_layer(const Model& m, Count layer) {
  return m.moe && layer >= m.moe->first_dense_layers && (layer + 1) % std::max<Count>(m.moe->every, 1) == 0;
}

Count moe_layers_between(const Model& m, Count begin, Count end) {
  if (!m.moe || m.opaque) return 0;
  const Count every = std::max<Count>(m.moe->every, 1);
  begin = std::max(begin, m.moe->first_dense_layers);
  return begin < end ? end / every - begin / every : 0;
}

Count layers_of(const Model& m) { return m.opaque ? std::max<Count>(m.opaque->units, 1) : m.num_layers; }

Count padded_vocabulary(const Model& m, Framework framework, Count tensor) {
  const Count multiple = framework == Framework::megatron ? 128 * tensor : tensor;
  return multiple > 0 ? (m.vocab_size + multiple - 1) / multiple * multiple : m.vocab_size;
}

ModelParameters count_parameters(const Model& m) {
  ModelParameters p;
  if (m.opaque) {
    p.dense_layers = layers_of(m);
    p.total = p.active = double(m.opaque->parameters);
    return p;
  }
  p.moe_layers = moe_layers_between(m, 0, m.num_layers);
  p.dense_layers = m.num_layers - p.moe_layers;
  p.dense_layer = by_part(layer_tensors(m, false, kPlain));
  if (m.moe) p.moe_layer = by_part(layer_tensors(m, true, kPlain));
  p.embedding = elements_of(embedding_tensors(m, double(m.vocab_size)));
  for (const Tensor& x : head_tensors(m, double(m.vocab_size)))
    (x.part == Part::head ? p.head : p.final_norm) += x.elements();
  p.total = double(p.dense_layers) * p.dense_layer.total() + double(p.moe_layers) * p.moe_layer.total() + p.embedding +
            p.head + p.final_norm;
  p.active = p.total;
  if (m.moe) {
    const double idle = double(m.moe->num_experts - m.moe->experts_per_token) / double(m.moe->num_experts);
    p.active -= double(p.moe_layers) * p.moe_layer.experts * idle;
  }
  return p;
}

Count pieces_of(const Parallel& parallel) {
  const Count p = std::max<Count>(parallel.pipeline, 1);
  if (p == 1) return 1;
  if (is_v_shaped(parallel.pipeline_schedule)) return 2 * p;
  return parallel.pipeline_schedule == PipelineSchedule::dualpipe ? p : p * std::max<Count>(parallel.virtual_stages, 1);
}

LayerRange piece_layers(const Model& model, Count pieces, Count piece) {
  const Count layers = layers_of(model);
  return {first_layer(layers, pieces, piece), piece + 1 == pieces ? layers : first_layer(layers, pieces, piece + 1)};
}

std::vector<LayerRange> stage_pieces(const Model& model, const Parallel& parallel, Count stage) {
  std::vector<LayerRange> list;
  const Count pieces = pieces_of(parallel);
  visit_pieces(parallel, stage, [&](Count piece) { list.push_back(piece_layers(model, pieces, piece)); });
  return list;
}

StageLayers stage_layers(const Model& model, const Parallel& parallel, Count stage) {
  StageLayers s;
  const Count pieces = pieces_of(parallel);
  visit_pieces(parallel, stage, [&](Count piece) {
    const LayerRange layers = piece_layers(model, pieces, piece);
    const Count moe = moe_layers_between(model, layers.begin, layers.end);
    s.moe += moe;
    s.dense += layers.size() - moe;
    s.embeddings += piece == 0;
    s.heads += piece + 1 == pieces;
  });
  return s;
}

Count recomputed_of(const Recompute& recompute, Count count) {
  switch (recompute.kind) {
    case RecomputeKind::none:
    case RecomputeKind::selective:
      return 0;
    case RecomputeKind::full:
      return count;
    case RecomputeKind::full_layers:
      return std::clamp<Count>(recompute.n, 0, count);
    case RecomputeKind::every: {
      const Count n = std::max<Count>(recompute.n, 1);
      return (count + n - 1) / n;
    }
  }
  return 0;
}

StageLayers recomputed_layers(const Model& model, const Parallel& parallel, const Recompute& recompute, Count stage) {
  StageLayers s;
  const Count pieces = pieces_of(parallel);
  const Count step = recompute.kind == RecomputeKind::every ? std::max<Count>(recompute.n, 1) : 1;
  visit_pieces(parallel, stage, [&](Count piece) {
    const LayerRange layers = piece_layers(model, pieces, piece);
    const Count again = recomputed_of(recompute, layers.size());
    Count moe = 0;
    if (step == 1)
      moe = moe_layers_between(model, layers.begin, layers.begin + again);
    else if (model.moe && !model.opaque)
      for (Count i = 0; i < again; ++i) moe += is_moe_layer(model, layers.begin + i * step);
    s.moe += moe;
    s.dense += again - moe;
  });
  return s;
}

double recomputed_share(const Model& model, const Parallel& parallel, const Recompute& recompute, Count stage) {
  if (recompute.kind == RecomputeKind::selective) return 1;
  const Count layers = stage_layers(model, parallel, stage).total();
  return layers > 0 ? double(recomputed_layers(model, parallel, recompute, stage).total()) / double(layers) : 0;
}

bool has_tied_copies(const Model& model, const Parallel& parallel) {
  return !model.opaque && model.tie_word_embeddings && parallel.pipeline > 1 &&
         !is_v_shaped(parallel.pipeline_schedule);
}

std::vector<StageParameters> stage_parameters(const Model& m, const Parallel& parallel) {
  const Storage storage = storage_of(m, parallel.framework);
  const double rows = double(padded_vocabulary(m, parallel.framework, parallel.tensor));
  const Share dense_layer = share_of(on_rank(layer_tensors(m, false, storage), m, parallel));
  const Share moe_layer =
      m.moe && !m.opaque ? share_of(on_rank(layer_tensors(m, true, storage), m, parallel)) : Share{};
  const TensorList embedding_list = on_rank(embedding_tensors(m, rows), m, parallel);
  const Share embedding = share_of(embedding_list), head = share_of(on_rank(head_tensors(m, rows), m, parallel));
  const bool copies = has_tied_copies(m, parallel);
  std::vector<StageParameters> stages(std::size_t(std::max<Count>(parallel.pipeline, 1)));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageLayers layers = stage_layers(m, parallel, Count(i));
    StageParameters& s = stages[i];
    s.layers = layers.total();
    s.embedding = layers.embeddings * embedding.dense;
    s.head = layers.heads * head.dense;
    double tensors = double(layers.dense) * dense_layer.tensors + double(layers.moe) * moe_layer.tensors +
                     layers.embeddings * embedding.tensors + layers.heads * head.tensors;
    const int tied =
        copies ? std::max(layers.heads - layers.embeddings, 0) : 0;  // dualpipe stages hold both ends: one tensor
    if (tied > 0 && embedding_list.size() > 0) {
      s.head += tied * embedding_list[0].elements();
      tensors += tied;
    }
    s.dense = double(layers.dense) * dense_layer.dense + double(layers.moe) * moe_layer.dense + s.embedding + s.head;
    s.experts = double(layers.dense) * dense_layer.experts + double(layers.moe) * moe_layer.experts;
    s.buffers = double(layers.moe) * moe_layer.buffers;
    s.largest_layer = std::max(layers.dense > 0 ? dense_layer.dense + dense_layer.experts : 0,
                               layers.moe > 0 ? moe_layer.dense + moe_layer.experts : 0);
    s.tensors = Count(tensors);
  }
  return stages;
}

std::vector<StageParameters> stage_adapters(const Model& m, const Lora& lora, const Parallel& parallel) {
  const Share dense_layer = share_of(adapter_tensors(on_rank(layer_tensors(m, false, kPlain), m, parallel), lora));
  const Share moe_layer = m.moe && !m.opaque
                              ? share_of(adapter_tensors(on_rank(layer_tensors(m, true, kPlain), m, parallel), lora))
                              : Share{};
  std::vector<StageParameters> stages(std::size_t(std::max<Count>(parallel.pipeline, 1)));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageLayers layers = stage_layers(m, parallel, Count(i));
    StageParameters& s = stages[i];
    s.layers = layers.total();
    s.dense = double(layers.dense) * dense_layer.dense + double(layers.moe) * moe_layer.dense;
    s.largest_layer = std::max(layers.dense > 0 ? dense_layer.dense : 0, layers.moe > 0 ? moe_layer.dense : 0);
    s.tensors = Count(double(layers.dense) * dense_layer.tensors + double(layers.moe) * moe_layer.tensors);
  }
  return stages;
}

}  // namespace wireplan
