#include "core/cost/step_memory.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/cost/data_parallel_memory.hpp"
#include "core/cost/layer_tape.hpp"
#include "core/cost/memory.hpp"
#include "core/count/parameters.hpp"

namespace wireplan {
namespace {

// In bytes of all logits.
LossBytes eager_loss(const Plan& p, double logits, double e) {
  LossBytes s;
  const double cap = has_soft_caps(p.model) ? e : 0;  // tanh of the soft cap stays
  // Returned in fp32: their log-softmax stands beside them, and of several sequences the shifted copy.
  const double chain = p.training.switches.logits_in_fp32 ? (p.training.micro_batch_size > 1 ? 4 + 4 + 4 : 4 + 4) : e + (e < 4 ? 4 : 0) + 4;
  s.forward = (cap + chain) * logits;
  s.kept = (cap + 4) * logits;
  s.backward = (cap + 12) * logits;
  s.gradient = e * logits;
  return s;
}

class Walk {
 public:
  Walk(PlayedModel& model, int stage) : p_(model.plan), how_(p_.training.switches), model_(model), stage_(stage), e_(compute_bytes(p_)) {
    const StageLayers held = stage_layers(p_.model, p_.parallel, stage);
    has_embedding_ = held.embeddings > 0;
    has_head_ = held.heads > 0 && !p_.model.opaque;
    for (int i = 0; i < held.embeddings; ++i) pieces_.embedding += model.bytes.embedding;
    for (int i = 0; i < held.heads; ++i) pieces_.head += model.bytes.head;
    const bool tied_copy = has_tied_copies(p_.model, p_.parallel) && held.heads > 0 && held.embeddings == 0;
    if (tied_copy) pieces_.head += model.bytes.embedding;  // a second table
    const bool has_copies = p_.parallel.pipeline > 1 && p_.parallel.pipeline_schedule == PipelineSchedule::dualpipe;
    const std::vector<LayerRange> ranges = stage_pieces(p_.model, p_.parallel, stage);
    pieces_.layers.reserve(std::size_t(held.total()));
    layers_.reserve(std::size_t(held.total()));
    for (const LayerRange& range : ranges)
      for (Count i = range.begin; i < range.end; ++i) {
        pieces_.layers.push_back(is_moe_layer(p_.model, i) ? &model.bytes.moe_layer : &model.bytes.dense_layer);
        if (has_copies && &range != &ranges.front()) continue;  // of two copies a micro-batch sees one
        layers_.push_back({i, &model.layer(i, runs_again(Count(layers_.size())))});
        layers_keep_ += layers_.back().play->forward.end.kept;
      }
    const bool is_sharded = sharding_of(p_).shards_parameters;
    const bool is_megatron = p_.parallel.framework == Framework::megatron && !is_sharded;
    data_ = p_.parallel.framework == Framework::deepspeed ? deepspeed_memory(p_, stage)
            : is_megatron ? megatron_memory(p_, stage, model.stages[std::size_t(stage)], model.trained[std::size_t(stage)])
            : !is_sharded ? replicated_memory(p_, pieces_) : how_.fsdp_version == 1 ? fsdp1_memory(p_, pieces_) : fsdp2_memory(p_, pieces_);
    T_ = tokens_per_micro_batch(p_);
    V_ = double(padded_vocabulary(p_.model, p_.parallel.framework, p_.parallel.tensor));
    stream_ = whole_blocks(tokens_of_stream(p_) * double(p_.model.hidden_size) * stream_bytes(p_));
    if (has_head_) head_ = &model.head();
  }

  StepMemory run(bool is_first_step, std::vector<TimelinePoint>* timeline) {
    Ledger& l = ledger_;
    l = Ledger{};
    l.timeline = timeline;
    data_->is_first_step = is_first_step;
    data_->start(l);
    l.add(Term::constants, constants());
    logits_ = T_ * V_ / (how_.loss_parallel || p_.parallel.framework == Framework::megatron ? double(p_.parallel.tensor) : 1);
    if (keeps_over_steps() && !data_->is_first_step) l.add(Term::kept_logits, kept_logits() + 512);
    StepMemory result;
    result.between_steps = l.now;
    const Count m = micro_batches(p_);
    // The Trainer fetches the batches of a step first, counts their labels and holds both to its end; the loop around DeepSpeed
    // holds one tensor, tokens and labels at once.
    const bool is_deepspeed = p_.parallel.framework == Framework::deepspeed;
    const bool is_trainer = how_.modules == ModuleCode::huggingface && p_.parallel.framework == Framework::pytorch, holds_batches = is_trainer || is_deepspeed;
    const double batch = (is_deepspeed ? 1 : 2) * whole_blocks(8 * T_) * (is_trainer ? double(m) : 1) + (is_trainer ? 512 : 0);
    l.add(Term::outer_activations, batch);
    // Micro-batches between the second and the last are like the second, and the last may be (the line over time shows it all the same).
    const bool ends_alike = !timeline && data_->ends_like_others();
    const double in_flight = kept_in_flight();
    bool is_last = false;
    for (Count i = 0; i < m && !is_last; ++i) {
      if (i > 1) i = m - 1;  // not step by step: there may be a billion
      l.micro_batch = i;
      is_last = i + 1 == m || (i == 1 && ends_alike && is_whole(in_flight) && is_whole(l.now.total));  // fractions round anew each time
      const double before = l.now.total;
      const double others = i > 0 ? in_flight : 0;
      l.add(Term::in_flight, others);
      l.place = {StepPhase::forward, kNoLayer, {}};
      data_->before_micro_batch(l, i == 0, is_last);
      forward();
      loss_forward();
      // DeepSpeed's first micro-batch of a step: later ones may find parameters of the one before still gathered.
      if (p_.parallel.framework == Framework::deepspeed ? i == 0 : is_last) result.after_forward = l.now.total - before - others;
      loss_backward();
      backward();
      l.free(Term::in_flight, others);
      if (is_last) result.after_backward = l.now.total;
    }
    if (!holds_batches) l.free(Term::outer_activations, batch);
    result.layers_keep = layers_keep_;
    if (const double own = data_->initialize_peak(); own >= 0) result.initialize = own + constants();
    result.host = data_->host_bytes();
    result.states = data_->states();
    l.micro_batch = m - 1;
    l.place = {StepPhase::optimizer, kNoLayer, {}};
    data_->optimizer(l);
    if (holds_batches) l.free(Term::outer_activations, batch);
    l.point();
    for (StepPhase phase : {StepPhase::forward, StepPhase::loss, StepPhase::backward, StepPhase::optimizer}) result.peaks[std::size_t(phase)] = l.peak(phase);
    return result;
  }

  bool has_own_first_step() const { return data_->has_own_first_step() || how_.optimizer_kernel == OptimizerKernel::in_backward; }

 private:
  double constants() const {
    const double s = double(p_.training.sequence_length), d = double(p_.model.head_dim);
    const bool is_hf = how_.modules == ModuleCode::huggingface;
    if (is_hf && how_.tables_per_layer)  // cosines and sines of all positions, inverse frequencies
      return double(layers_.size()) * (whole_blocks(d / 2 * 4) + 2 * whole_blocks(e_ * double(p_.model.max_position_embeddings) * d));
    const double mask = is_hf && how_.padding ? whole_blocks(8 * T_) : 0;
    if (p_.model.opaque || p_.model.position != Position::rope) return mask;
    if (how_.modules == ModuleCode::torchtitan) return whole_blocks(s * d / 2 * 8);
    // Inverse frequencies, twice; Gemma's factor of the embedding.
    return mask + 2 * whole_blocks(d / 2 * 4) + (p_.model.mlp == Mlp::geglu ? 512 : 0);
  }
  double tables() const {  // made anew in every forward
    const double s = double(p_.training.sequence_length);
    if (p_.model.opaque || how_.modules == ModuleCode::torchtitan) return 0;
    if (how_.modules == ModuleCode::nanogpt || p_.model.position != Position::rope) return whole_blocks(8 * s);
    const double d = p_.model.mla ? double(p_.model.mla->qk_rope_head_dim) : double(p_.model.head_dim);
    return 2 * whole_blocks(s * d * stream_bytes(p_));
  }
  // Arguments of checkpointed layers that they do not keep otherwise: positions, masks of spelled-out or masked attention.
  double arguments() const {
    if (p_.model.opaque || how_.modules != ModuleCode::huggingface || p_.training.recompute.kind == RecomputeKind::none) return 0;
    const double b = double(p_.training.micro_batch_size), s = double(p_.training.sequence_length), masks = p_.model.sliding_window_global_every > 0 ? 2 : 1;
    const bool is_spelled = p_.training.attention == Attention::eager;
    const double boolean = masks_attention(p_) && !is_spelled ? whole_blocks(b * s * s) : 0;
    return whole_blocks(8 * s) + boolean + (is_spelled ? masks * whole_blocks(stream_bytes(p_) * b * s * s) : 0);
  }
  double embedding_mask() const {
    return p_.training.hidden_dropout > 0 && p_.model.position == Position::learned && has_embedding_ ? whole_blocks(T_ * double(p_.model.hidden_size)) : 0;
  }

  bool runs_again(Count layer) const {
    const Recompute& r = p_.training.recompute;
    switch (r.kind) {
      case RecomputeKind::none: return false;
      case RecomputeKind::selective: return how_.modules != ModuleCode::megatron;  // attention alone: part of its tape
      case RecomputeKind::full: return true;
      case RecomputeKind::full_layers: return layer < r.n;
      case RecomputeKind::every: return layer % r.n == 0;
    }
    return false;
  }
  const PlayedPiece& played(Count layer) const { return *layers_[std::size_t(layer)].play; }

  // What the other micro-batches in flight keep at the stage's deepest point.
  double kept_in_flight() const {
    const double layers = double(layers_.size()), passes = layer_passes_in_flight(p_, stage_, Count(pieces_.layers.size())) - layers;
    return passes <= 0 || p_.training.offload.activations ? 0 : passes * layers_keep_ / layers;
  }

  static bool is_whole(double bytes) { return bytes == std::floor(bytes); }

  // A level of a play: what is kept stands as `term`.
  void add(const Level& level, Term term, double sign = 1) {
    ledger_.add(term, sign * level.kept);
    ledger_.add(Term::operations, sign * level.work);
    ledger_.add(Term::weight_copies, sign * level.casts);
  }
  // A forward told apart by modules: the level stands while data parallelism acts between them.
  // `staying`: a module that its own backward follows at once.
  void walk(const std::vector<Stretch>& pieces, Term term, const Piece& piece, ModulePass pass, std::size_t staying = std::size_t(-1)) {
    std::size_t module = 0;
    for (const Stretch& s : pieces) {
      mark(s, term);
      if (!s.ends_before_weight && s.weight.elements <= 0) continue;
      add(s.end, term);
      if (s.ends_before_weight) data_->before_module(ledger_, piece, module);
      if (s.weight.elements > 0 && module++ != staying) data_->after_module(ledger_, piece, module - 1, pass);
      add(s.end, term, -1);
    }
  }
  void mark(const Stretch& s, Term term) {
    if (ledger_.is_lower(s.highest.total())) return;
    add(s.highest, term);
    ledger_.mark(s.at);
    add(s.highest, term, -1);
  }

  void forward() {
    Ledger& l = ledger_;
    l.add(Term::outer_activations, tables() + arguments() + embedding_mask());
    if (has_embedding_) {
      l.place.layer = kEmbeddingLayer;
      data_->before_forward(l, {Piece::Kind::embedding, 0});
      l.add(Term::stream, stream_);
      l.mark("embedding");
      data_->after_forward(l, {Piece::Kind::embedding, 0});
    } else {
      l.add(Term::stream, stream_);
      l.mark("input of the stage");  // received from the stage before
    }
    copies_until_end_ = 0;
    for_each_layer(false);
    l.place.layer = kNoLayer;
    if (!has_head_) {
      data_->after_root_forward(l);
      return;
    }
    const Piece piece{Piece::Kind::head, 0};
    data_->before_forward(l, piece);
    l.clear(Term::stream);
    if (model_.walks_modules) walk(head_->forward_pieces, Term::outer_activations, piece, ModulePass::forward);
    else mark(head_->forward, Term::outer_activations);
    add(head_->forward.end, Term::outer_activations);
    l.free(Term::operations, head_->result_bytes);  // the logits, which the loss accounts for
    l.add(model_.computes_chunks ? Term::stream : Term::logits, head_->result_bytes);
    data_->after_forward(l, piece);
    if (!loss_inside()) data_->after_root_forward(l);
  }

  // `layer` counts within the stage.
  void layer_forward(Count layer) {
    Ledger& l = ledger_;
    const Piece piece{Piece::Kind::layer, layer};
    l.place.layer = layers_[std::size_t(layer)].number;
    data_->before_forward(l, piece);
    const PlayedPiece& played_layer = played(layer);
    const Stretch& s = played_layer.forward;
    l.clear(Term::stream);
    if (model_.walks_modules) walk(played_layer.forward_pieces, Term::layer_activations, piece, ModulePass::forward);
    else mark(s, Term::layer_activations);
    add(s.end, Term::layer_activations);
    const double result = played_layer.result_bytes;
    l.free(Term::operations, result);
    l.add(Term::stream, result);
    if (played_layer.again) copies_until_end_ += s.end.casts;
    // Offloaded: this layer's stay while they leave, those of the one before have left.
    if (p_.training.offload.activations && layer > 0) l.free(Term::layer_activations, played(layer - 1).forward.end.kept);
    data_->after_forward(l, piece);
    l.point();
  }

  void layer_backward(Count layer) {
    Ledger& l = ledger_;
    const Piece piece{Piece::Kind::layer, layer};
    l.place.layer = layers_[std::size_t(layer)].number;
    data_->before_backward(l, piece);
    const PlayedPiece& played_layer = played(layer);
    // Offloaded: those of the next layer come back while this one runs.
    if (p_.training.offload.activations && layer > 0) l.add(Term::layer_activations, played(layer - 1).forward.end.kept);
    l.clear(Term::stream);
    const Term term = played_layer.again ? Term::recomputed_activations : Term::layer_activations;
    l.free(Term::layer_activations, played_layer.forward.end.kept);
    if (!played_layer.again) l.free(Term::weight_copies, played_layer.forward.end.casts);
    if (played_layer.again && model_.walks_modules) walk(played_layer.second_pieces, term, piece, ModulePass::again, how_.reentrant_checkpoint ? std::size_t(-1) : played_layer.modules - 1);
    else if (played_layer.again) mark(played_layer.second, term);
    walk_back(played_layer.backward, term, piece, played_layer.modules);
    l.add(Term::stream, played_layer.backward.back().end.work);
    data_->after_backward(l, piece);
    l.point();
  }

  // Runs of one kind: the first three, then the rest but two at once, then the last two.
  void for_each_layer(bool is_backward) {
    const auto run = [&](Count i) { is_backward ? layer_backward(i) : layer_forward(i); };
    const Count layers = Count(layers_.size());
    const auto at = [&](Count k) { return is_backward ? layers - 1 - k : k; };
    const Count unit = p_.parallel.fsdp_unit.kind == FsdpUnit::Kind::layers && sharding_of(p_).shards_parameters ? p_.parallel.fsdp_unit.layers : 1;
    Count k = 0;
    while (k < layers) {
      const PlayedPiece* kind = &played(at(k));
      Count end = k + 1;
      while (end < layers && &played(at(end)) == kind) ++end;
      const Count length = end - k;
      if (length < 7 || unit > 1 || ledger_.timeline || !data_->counts_layers_alike()) {
        for (; k < end; ++k) run(at(k));
        continue;
      }
      run(at(k));
      run(at(k + 1));
      const Holdings before = ledger_.now;
      run(at(k + 2));
      const double skipped = double(length - 5);
      if (kind->again && !is_backward) copies_until_end_ += skipped * kind->forward.end.casts;
      for (std::size_t t = 0; t < kTerms; ++t) {
        const double step = ledger_.now.bytes[t] - before.bytes[t];
        if (step != 0) ledger_.add(static_cast<Term>(t), skipped * step);
      }
      run(at(end - 2));
      run(at(end - 1));
      k = end;
    }
  }

  void loss_forward() {
    Ledger& l = ledger_;
    if (!has_head_) {
      l.free(Term::weight_copies, copies_until_end_);
      return;
    }
    l.place = {StepPhase::loss, kNoLayer, {}};
    const double logits = logits_;
    if (model_.computes_chunks) return chunked_loss_forward();
    loss_ = eager_loss(p_, logits, e_);
    if (p_.training.loss != Loss::logits_fp32 || how_.loss.forward > 0) {
      const LossBytes& b = how_.loss;
      if (b.forward > 0) loss_ = {std::max(b.forward, e_) * logits, b.kept * logits, std::max(b.backward, e_) * logits, std::max(b.gradient, e_) * logits};
    }
    if (how_.loss_parallel && p_.parallel.tensor > 1 && how_.loss.forward <= 0) loss_.backward = 16 * logits;
    l.clear(Term::logits);
    l.add(Term::logits, loss_.forward);
    // A frozen head does not keep its input; the caller's variable does until the forward ends.
    l.mark("loss, forward", Term::operations, p_.training.lora && how_.modules == ModuleCode::huggingface ? whole_blocks(e_ * T_ * double(p_.model.hidden_size)) : 0);
    l.add(Term::logits, loss_.kept - loss_.forward);
    if (how_.logits_kept && !keeps_over_steps()) l.add(Term::logits, kept_logits());
    if (keeps_over_steps() && l[Term::kept_logits] <= 0) l.add(Term::kept_logits, kept_logits() + 512);
    l.place.layer = kNoLayer;
    after_loss_forward();
  }

  void after_loss_forward() {
    Ledger& l = ledger_;
    l.add(Term::outer_activations, loss_leftovers());
    l.free(Term::weight_copies, copies_until_end_);  // autocast's cache goes when forward leaves it
    if (loss_inside()) data_->after_root_forward(l);
    l.point();
  }
  // A loop that keeps the model's outputs in a variable: under DeepSpeed until the next ones replace them.
  double kept_logits() const { return whole_blocks((how_.logits_in_fp32 ? 4 : e_) * logits_); }
  bool keeps_over_steps() const { return how_.logits_kept && p_.parallel.framework == Framework::deepspeed && has_head_; }
  bool loss_inside() const { return how_.loss_in_forward || model_.computes_chunks; }
  // Scalars and the shifted labels that the loss keeps.
  double loss_leftovers() const {
    return 512 + (how_.modules == ModuleCode::huggingface ? 512 + labels() : model_.computes_chunks ? 0 : 512);
  }
  double labels() const {  // of one sequence: a view of the padded ones
    return how_.modules == ModuleCode::huggingface ? whole_blocks(8 * (p_.training.micro_batch_size > 1 ? T_ : T_ + 1)) : 0;
  }

  // Chunks of the sequence: each chunk's head and loss run again in backward (loss_recompute), or the list of all logits is made first
  // and every chunk keeps its log-softmax.
  void chunked_loss_forward() {
    Ledger& l = ledger_;
    const double n = double(how_.loss_chunks), wide = e_ < 4 ? 4 : 0, hidden = l[Term::stream];
    // Autocast's 16-bit copy of the head: in a list until the last chunk's backward, else until the forward leaves autocast.
    const double copy = copy_of_head();
    l.add(Term::weight_copies, copy);
    if (how_.loss_recompute) {
      copies_until_end_ += copy;
      l.mark("loss of a chunk", Term::logits, (e_ + wide + 4) * logits_ / n + chunk_inputs(hidden) / n);
    } else {
      l.mark("loss of the last chunk", Term::logits, (e_ + 4 + wide / n) * logits_ + chunk_inputs(hidden));
      l.add(Term::logits, 4 * logits_);
      if (copy > 0) l.add(Term::stream, chunk_inputs(hidden) - hidden);
    }
    after_loss_forward();
  }
  double copy_of_head() const {
    const double V = V_ / double(p_.parallel.tensor);
    return casts_weights(p_) ? whole_blocks(2 * V * double(p_.model.hidden_size)) : 0;
  }
  // Autocast's 16-bit copies; else pieces of the sequence, which are not contiguous.
  double chunk_inputs(double hidden) const { return casts_weights(p_) ? hidden / 2 : p_.training.micro_batch_size > 1 ? hidden : 0; }
  void chunked_loss_backward() {
    Ledger& l = ledger_;
    const double n = double(how_.loss_chunks), V = V_ / double(p_.parallel.tensor);
    const Piece piece{Piece::Kind::head, 0};
    const bool trained = !p_.training.lora && (!p_.model.tie_word_embeddings || !how_.frozen_embedding);
    const double kept = l[Term::stream], copy = copy_of_head(), hidden = copy > 0 && !how_.loss_recompute ? 2 * kept : kept, again = how_.loss_recompute ? copy : 0;
    const double table = trained ? whole_blocks(e_ * V * double(p_.model.hidden_size)) : 0;
    data_->before_loss_backward(l, loss_inside());
    l.add(Term::outer_activations, 512);  // the gradient of the loss
    if (!how_.loss_recompute) {
      l.mark("loss of a chunk, backward", Term::logits, 8 * logits_ / n);
      l.add(Term::logits, (e_ - 4) * logits_);
    }
    l.place = how_.loss_recompute ? Place{StepPhase::loss, kNoLayer, {}} : Place{StepPhase::backward, kNoLayer, {}};
    data_->before_backward(l, piece);
    double inputs = 0;  // gradients of the chunks' inputs
    for (Count i = 0; i < how_.loss_chunks; ++i) {
      if (how_.loss_recompute) l.mark("loss of a chunk, backward", Term::logits, 12 * logits_ / n + chunk_inputs(hidden) / n + again);
      const double gradient = how_.loss_recompute ? e_ * logits_ / n : 0;
      l.mark("head of a chunk, backward", Term::operations, gradient + hidden / n + table + again);
      if (i == 0) l.add(Term::unsharded_gradients, table);
      inputs += hidden / n;
      l.add(Term::operations, hidden / n);
      if (!how_.loss_recompute) l.add(Term::logits, -e_ * logits_ / n);
    }
    l.place = {StepPhase::backward, kNoLayer, {}};
    l.mark("join of the chunks' gradients", Term::operations, hidden);
    l.free(Term::operations, inputs);
    l.free(Term::unsharded_gradients, table);
    Weight w;
    w.elements = V * double(p_.model.hidden_size);
    w.bytes = table;
    w.stored_bytes = casts_weights(p_) ? 2 * table : 0;
    if (trained) take_gradient(piece, w);
    l.free(Term::stream, kept);
    if (!how_.loss_recompute) l.free(Term::weight_copies, copy);
  }

  // A backward: gradients are handed over as they are finished.
  void walk_back(const std::vector<Stretch>& stretches, Term term, const Piece& piece, std::size_t modules) {
    for (const Stretch& s : stretches) {
      mark(s, term);
      if (!s.ends_before_weight && s.weight.elements <= 0) continue;
      add(s.end, term);
      if (s.ends_before_weight) data_->before_module(ledger_, piece, modules - 1);
      if (s.weight.elements > 0) {
        take_gradient(piece, s.weight);
        data_->after_module(ledger_, piece, --modules, ModulePass::backward);
      }
      add(s.end, term, -1);
    }
  }
  // The gradient of a tied table waits for the embedding's own.
  void take_gradient(const Piece& piece, const Weight& w) {
    const bool is_table = piece.kind == Piece::Kind::head && w.elements > double(p_.model.hidden_size) * 4;
    if (is_table && p_.model.tie_word_embeddings && how_.frozen_embedding) return;
    if (!is_table || !p_.model.tie_word_embeddings || !has_embedding_) return data_->gradient(ledger_, piece, w);  // a copy on another stage has its own
    tied_ = whole_blocks(w.stored_bytes > 0 ? w.stored_bytes : w.bytes);
    ledger_.add(Term::unsharded_gradients, tied_);
    ledger_.mark("gradient");
  }

  void loss_backward() {
    tied_ = 0;
    if (!has_head_) {
      ledger_.place = {StepPhase::backward, kNoLayer, {}};
      data_->before_loss_backward(ledger_, loss_inside());
      return;  // the gradient of what left comes from the next stage, in the place of what left
    }
    if (model_.computes_chunks) chunked_loss_backward();
    else whole_loss_backward();
    head_backward();
  }

  void whole_loss_backward() {
    Ledger& l = ledger_;
    data_->before_loss_backward(l, loss_inside());
    l.free(Term::outer_activations, labels());  // the selection's backward is done with them
    l.add(Term::logits, loss_.backward - loss_.kept);
    if (how_.loss_parallel && p_.parallel.tensor > 1) l.place.phase = StepPhase::backward;  // its backward is written in Python
    l.mark("loss, backward", Term::outer_activations, labels() > 0 && p_.parallel.framework == Framework::deepspeed ? 512 : 0);
    l.add(Term::logits, whole_blocks(loss_.gradient) - loss_.backward);
    l.place = {StepPhase::backward, kNoLayer, {}};
    l.free(Term::logits, head_->result_bytes);
    data_->before_backward(l, {Piece::Kind::head, 0});
  }

  void head_backward() {
    Ledger& l = ledger_;
    const Piece piece{Piece::Kind::head, 0};
    l.free(Term::outer_activations, head_->forward.end.kept);
    l.free(Term::weight_copies, head_->forward.end.casts);
    walk_back(head_->backward, Term::outer_activations, piece, head_->modules);
    l.add(Term::stream, head_->backward.back().end.work);
    data_->after_backward(l, piece);
    l.point();
  }

  void backward() {
    Ledger& l = ledger_;
    for_each_layer(true);
    l.place.layer = kEmbeddingLayer;
    l.free(Term::outer_activations, tables() + arguments());
    const Piece piece{Piece::Kind::embedding, 0};
    // Row-parallel embeddings of DTensor return a gradient of the whole table on every rank.
    const bool is_replicated = p_.parallel.tensor > 1 && p_.parallel.framework == Framework::pytorch;
    const double V = V_ / (is_replicated ? 1 : double(p_.parallel.tensor));
    const bool trained = !how_.frozen_embedding && !p_.training.lora && has_embedding_ && !p_.model.opaque;
    if (trained) {
      data_->before_backward(l, piece);
      const double type = casts_weights(p_) ? 4 : e_, table = whole_blocks(V * double(p_.model.hidden_size) * type);
      Weight w;
      w.elements = V * double(p_.model.hidden_size);
      w.bytes = table;
      if (p_.model.position == Position::learned && p_.parallel.framework == Framework::pytorch) {
        Weight positions;
        positions.elements = double(p_.model.max_position_embeddings + p_.model.extra_position_rows) * double(p_.model.hidden_size);
        positions.bytes = whole_blocks(positions.elements * type);
        data_->gradient(l, piece, positions);
      }
      l.mark("gradient of the embedding", Term::operations, table);
      l.clear(Term::stream);
      if (tied_ > 0) {
        // Two gradients of one table and, where the first is a view, their sum beside them.
        const double sum = how_.modules == ModuleCode::huggingface && !casts_weights(p_) ? table : 0;  // a cast is nobody's view
        l.mark("sum of the table's gradients", Term::operations, table + sum);
        l.free(Term::unsharded_gradients, tied_);
      }
      data_->gradient(l, piece, w);
      data_->after_backward(l, piece);
    }
    l.clear(Term::stream);
    l.clear(Term::logits);
    l.free(Term::outer_activations, (has_head_ ? loss_leftovers() + (model_.computes_chunks ? 512 : -labels()) : 0) + embedding_mask());
    data_->end_of_backward(l);
    l.point();
  }

  struct Layer {
    Count number;  // in the model
    const PlayedPiece* play;
  };

  const Plan& p_;
  const Switches& how_;
  const PlayedModel& model_;
  const int stage_;
  const double e_;
  std::vector<Layer> layers_;  // of the stage, those that a micro-batch runs through
  double layers_keep_ = 0;     // of them for one micro-batch
  bool has_embedding_ = true, has_head_ = true;
  StagePieces pieces_;
  std::unique_ptr<DataParallelMemory> data_;
  Ledger ledger_;
  double T_ = 0, V_ = 0, stream_ = 0, copies_until_end_ = 0, tied_ = 0, logits_ = 0;
  const PlayedPiece* head_ = nullptr;
  LossBytes loss_;  // in bytes of all logits
};

}  // namespace

const Ledger::Peak& StepMemory::highest() const {
  return *std::max_element(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) { return a.holdings.total < b.holdings.total; });
}

StepMemory step_memory(PlayedModel& model, int stage, std::vector<TimelinePoint>* timeline) {
  Walk walk(model, stage);
  StepMemory step = walk.run(false, timeline);
  if (walk.has_own_first_step()) step.first_step = walk.run(true, nullptr).highest().holdings.total;
  return step;
}

StepMemory step_memory(const Plan& plan, int stage, std::vector<TimelinePoint>* timeline) {
  const std::vector<StageParameters> stages = stage_parameters(plan.model, plan.parallel);
  const std::vector<StageParameters> trained = plan.training.lora ? stage_adapters(plan.model, *plan.training.lora, plan.parallel) : stages;
  PlayedModel model(plan, stages, trained);
  return step_memory(model, stage, timeline);
}

}  // namespace wireplan
