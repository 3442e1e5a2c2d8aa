// The parameter tensors of a model, in the order a forward pass uses them. Everything in this folder that needs sizes walks
// this one list: parameter counts, gradient buckets, sharding with its padding, adapters.
//
// Notation: h a k d f V E f_e as in describe/model.hpp; t tensor, e expert, e_t expert_tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/describe/model.hpp"
#include "core/describe/parallel.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

enum class Part : unsigned char {
  attention_matrix,
  attention_vector,
  mlp_matrix,
  mlp_vector,
  expert,
  router,
  norm,
  embedding,
  head
};

// How tensor and expert parallelism cut a tensor. `rows` is its first dimension (output features of a linear layer).
enum class Cut : unsigned char { whole, rows, kv_rows, qkv_rows, columns, expert, expert_rows, expert_columns };

enum class Module : unsigned char { own, with_previous };  // a bias belongs to the module of its weight

struct Tensor {  // sizes without a default, so that an empty list costs next to nothing
  Part part;
  Cut cut;
  Module module;
  double rows, columns;
  double copies;       // equal tensors of this shape (experts stored one by one)
  signed char target;  // LoraTarget whose adapter sits on it, -1: none
  bool is_buffer = false;  // counted as a parameter, but neither trained nor sharded (correction bias of a router)
  double elements() const { return rows * columns * copies; }
};

// How the code base stores what the arithmetic leaves open.
struct Storage {
  bool fused_qkv = false;        // one matrix for q, k and v
  bool fused_gate_up = false;    // one matrix for gate and up
  bool stacked_experts = false;  // all experts in one tensor, the first dimension counts experts
};

// megatron: fused linear layers, experts one by one. Others: separate ones, but GPT-2's and its relatives' fused q, k, v;
// experts stacked ([huggingface-transformers] v5; torchtitan's grouped experts).
Storage storage_of(const Model& model, Framework framework);

// A fixed list: no allocation, 40 is more than any layer accepted by validate() has.
class TensorList {
 public:
  TensorList() {}
  TensorList(const TensorList& o) : count_(o.count_) { std::copy(o.begin(), o.end(), items_.begin()); }
  TensorList& operator=(const TensorList& o) {
    count_ = o.count_;
    std::copy(o.begin(), o.end(), items_.begin());
    return *this;
  }
  void add(Tensor t) {
    if (count_ < items_.size()) items_[count_++] = t;
  }
  const Tensor* begin() const { return items_.data(); }
  const Tensor* end() const { return items_.data() + count_; }
  Tensor* begin() { return items_.data(); }
  Tensor* end() { return items_.data() + count_; }
  std::size_t size() const { return count_; }
  const Tensor& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::array<Tensor, 40> items_;
  std::size_t count_ = 0;
};

// Tensors of one layer, of what stands before the layers, and of what stands after them (head empty when tied).
TensorList layer_tensors(const Model& model, bool is_moe, const Storage& storage);
TensorList embedding_tensors(const Model& model, double vocabulary_rows);
TensorList head_tensors(const Model& model, double vocabulary_rows);

// The same tensors as one rank of tensor and expert parallelism holds them. Sizes that do not divide are rounded up
// (validate() lets only the vocabulary, padded before, and KV heads not divide).
TensorList on_rank(const TensorList& whole, const Model& model, const Parallel& parallel);

// Adapters that LoRA puts on the given tensors (of one rank): per target of in × out an r × in and an out × r matrix.
// The shared side of a cut matrix is replicated over t. Routed experts get none: they are stored as plain parameters, not as
// linear modules, and adapter libraries take only the latter unless told.  Source: [lora21] §4.1. Valid for unfused storage.
TensorList adapter_tensors(const TensorList& base, const Lora& lora);

double elements_of(const TensorList& list);
double tensors_of(const TensorList& list);  // number of tensors, copies counted

// KV heads a rank holds: k/t, or, where t does not divide k, one head if k divides t, else all of them.
Count kv_heads_on_rank(const Model& model, Count tensor);

}  // namespace wireplan
