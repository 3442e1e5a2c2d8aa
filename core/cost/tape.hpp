// What one piece of a model (a layer, the head) holds while it runs forward and backward, operation by operation, as an
// automatic-differentiation engine runs it: an operation allocates its result, keeps what its backward needs, and in backward
// turns the gradient of its result into gradients of its inputs and of its weight.
//
// A tape is written once per kind of layer and then played: the forward frees a value after its last use unless something keeps
// it, the backward frees what an operation kept as soon as that operation is done. Sizes are bytes of one rank and one
// micro-batch.  [pytorch-autograd]: operations run back in reverse order; a second gradient of a value is added in place when the
// first one belongs to nobody else.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/base/blocks.hpp"

namespace wireplan {


using Ref = int;  // a value of a tape
inline constexpr Ref kNoValue = -1;

// What the backward of an operation makes of the gradient of its result, for one input.
enum class Flow : unsigned char {
  none,     // no gradient
  fresh,    // a new tensor as large as the input
  through,  // the gradient of the result itself, or a view of it
  part,     // a new tensor for a piece of the input; the pieces stand side by side until the input's own backward joins them
};

struct Input {
  Ref value = kNoValue;
  Flow flow = Flow::fresh;
  bool kept = false;  // the backward needs its value
  double bytes = -1;  // of a fresh gradient; -1: as large as the input
};

struct Weight {
  double elements = 0;      // trained; their gradient appears in this operation's backward
  double tensors = 1;       // parameter tensors they are
  double bytes = 0;         // of the gradient as the kernel writes it
  double stored_bytes = 0;  // of the gradient after its cast to the stored type; 0: no cast
  double cast_bytes = 0;    // copy of the weight in the type of the arithmetic, made in forward and kept until here; 0: none
};

struct Operation {
  std::string_view name;
  std::array<Input, 4> inputs{};
  double keeps = 0;  // bytes it keeps besides values: statistics, masks, indices
  double forward_scratch = 0, backward_scratch = 0;  // inside the call
  Weight weight{};
  bool keeps_result = false;
  bool is_cached = false;  // per-operator checkpointing keeps its result instead of running it again
};

// Bytes during a stretch of a play, at its highest moment and at its end.
struct Level {
  double kept = 0;   // stays for a backward
  double work = 0;   // everything else: values in use, gradients on their way
  double casts = 0;  // copies of weights
  double total() const { return kept + work + casts; }
};
struct Stretch {
  Level highest, end;
  std::string_view at;  // operation of the highest moment
  bool ends_before_weight = false;  // the next operation is one of a module that owns parameters (only where these are told apart)
  Weight weight;        // whose gradient is finished at the end (elements 0: none); from then on it is not in `work`
};

struct KeptTensor {
  std::string_view name;
  double bytes = 0;
};

class Tape {
 public:
  bool sums_out_of_place = false;  // gradients are wrappers that are never added in place (PyTorch's DTensor)

  // The value that enters. `needs_gradient`: something before it is trained.
  Ref enter(std::string_view name, double bytes, bool needs_gradient);
  // An operation and its result, which needs a gradient when an input does or a weight is trained. bytes 0: a view of the first input.
  Ref add(const Operation& operation, std::string_view result, double bytes);
  // The caller's variable for it lives until the operation added last.
  void hold(Ref value);
  // The value that leaves; after this call the tape can be played.
  void leave(Ref value);

  bool needs_gradient(Ref value) const { return values_[std::size_t(value)].needs_gradient; }
  double bytes(Ref value) const { return values_[std::size_t(storage(value))].bytes; }
  double entered_bytes() const { return bytes(0); }
  double result_bytes() const { return bytes(result_); }

  // Forward. The level starts with what entered and ends with what is kept (what entered only if an operation keeps it) and the result.
  // `pieces`: filled with one stretch up to each operation that owns parameters, one for it, and the rest.
  Stretch forward(std::vector<Stretch>* pieces = nullptr) const;
  // Forward whose backward will run it again: keeps what entered and the cached results.
  Stretch forward_without_keeping(std::vector<Stretch>* pieces = nullptr) const;
  // The second forward, during backward, with the gradient of the result already there; it stops where nothing more is kept, or,
  // `to_the_end` (re-entrant checkpoints), computes the result too.
  Stretch forward_again(bool to_the_end = false, std::vector<Stretch>* pieces = nullptr) const;
  // Backward, from the kept and the gradient of the result to the gradient of what entered (if it needs one). A stretch ends where a
  // weight's gradient is finished. `after_again`: what entered is held to the end.
  // `apart`: a stretch ends also before an operation that owns a trained weight.
  void backward(bool after_again, std::vector<Stretch>& stretches, bool apart = false) const;

  std::vector<KeptTensor> kept_tensors() const;
  double kept_bytes() const { return kept_.kept; }

 private:
  struct Value {
    std::string_view name;
    double bytes = 0;
    Ref storage = 0;
    bool needs_gradient = true;
    bool is_cached = false;
    int last_use = -1;  // of a storage: operation after which forward is done with it
    int keepers = 0;    // of a storage: operations that keep it
    Ref next_freed = kNoValue;  // of a storage: the next one that forward is done with after the same operation
  };
  struct Step {
    Operation operation;
    Ref result = kNoValue;
    bool runs_back = false;
    Ref first_freed = kNoValue;  // storage that forward is done with after it
  };
  Ref storage(Ref value) const { return values_[std::size_t(value)].storage; }
  template <class F>
  void each_kept(const Step& step, F f) const;
  template <class F>
  void each_freed(const Step& step, F f) const;

  std::vector<Value> values_;
  std::vector<Step> steps_;
  Ref result_ = 0;
  int last_keeper_ = -1;
  std::size_t weights_ = 0;  // operations that own trained parameters
  Level kept_;               // what forward leaves for the backward
  double cached_ = 0;        // what forward_without_keeping leaves
  double kept_again_ = 0;    // what forward_again leaves, `cached_` included
};

}  // namespace wireplan
