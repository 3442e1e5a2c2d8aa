#include "core/cost/tape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wireplan {
namespace {

constexpr int kForever = std::numeric_limits<int>::max();

struct Meter {
  Level now;
  Stretch stretch;
  bool is_empty = true;
  Stretch whole;  // of all stretches closed so far
  bool has_whole = false;
  void mark(std::string_view at, double scratch = 0) {
    if (!is_empty && now.total() + scratch <= stretch.highest.total()) return;
    stretch.highest = now;
    stretch.highest.work += scratch;
    stretch.at = at;
    is_empty = false;
  }
  Stretch close(const Weight& weight = {}) {
    mark({});
    stretch.end = now;
    stretch.weight = weight;
    stretch.ends_before_weight = false;
    is_empty = true;
    if (!has_whole || stretch.highest.total() > whole.highest.total()) whole = stretch;
    has_whole = true;
    whole.end = now;
    return stretch;
  }
  // Around operations that own parameters, where the caller tells them apart.
  void before(const Operation& o, std::vector<Stretch>* pieces) {
    if (!pieces || o.weight.elements <= 0) return;
    pieces->push_back(close());
    pieces->back().ends_before_weight = true;
  }
  void after(const Operation& o, std::vector<Stretch>* pieces) {
    if (pieces && o.weight.elements > 0) pieces->push_back(close(o.weight));
  }
  Stretch finish(std::vector<Stretch>* pieces) {
    const Stretch last = close();
    if (pieces) pieces->push_back(last);
    return whole;
  }
};

}  // namespace


Ref Tape::enter(std::string_view name, double bytes, bool needs_gradient) {
  values_.reserve(96);
  operations_.reserve(96);
  results_.reserve(96);
  values_.push_back({name, whole_blocks(bytes), 0, needs_gradient, -1, 0, false});
  return 0;
}

Ref Tape::add(const Operation& operation, std::string_view result, double bytes) {
  const Ref ref = Ref(values_.size());
  Operation o = operation;
  bool needs_gradient = o.weight.elements > 0;
  for (Input& input : o.inputs) {
    if (input.value == kNoValue) continue;
    if (!values_[std::size_t(input.value)].needs_gradient) input.flow = Flow::none;
    needs_gradient = needs_gradient || input.flow != Flow::none;
    values_[std::size_t(storage(input.value))].last_use = int(operations_.size());
  }
  o.keeps = whole_blocks(o.keeps);
  const bool is_view = bytes <= 0 && o.inputs[0].value != kNoValue;
  values_.push_back({result, whole_blocks(bytes), is_view ? storage(o.inputs[0].value) : ref, needs_gradient, int(operations_.size()), 0, o.is_cached});
  operations_.push_back(o);
  results_.push_back(ref);
  return ref;
}

void Tape::hold(Ref value) {
  int& last = values_[std::size_t(storage(value))].last_use;
  last = std::max(last, int(operations_.size()) - 1);
}

template <class F>
void Tape::each_kept(std::size_t i, F f) const {
  const Operation& o = operations_[i];
  if (!runs_back(o, results_[i])) return;
  for (const Input& input : o.inputs)
    if (input.value != kNoValue && input.kept) f(storage(input.value));
  if (o.keeps_result) f(storage(results_[i]));
}

void Tape::leave(Ref value) {
  result_ = value;
  values_[std::size_t(storage(value))].last_use = kForever;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    each_kept(i, [&](Ref s) {
      ++values_[std::size_t(s)].keepers;
      last_keeper_ = int(i);
    });
    if (runs_back(o, results_[i]) && (o.keeps > 0 || o.weight.cast_bytes > 0)) last_keeper_ = int(i);
  }
  forward_end_kept_ = forward().end.kept;
}

Stretch Tape::forward(std::vector<Stretch>* pieces) const {
  Meter m;
  const auto level_of = [&](Ref s) -> double& { return values_[std::size_t(s)].keepers > 0 ? m.now.kept : m.now.work; };
  level_of(0) += values_[0].bytes;
  m.mark({});
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    m.before(o, pieces);
    const Ref result = results_[i];
    if (storage(result) == result) level_of(result) += values_[std::size_t(result)].bytes;
    const bool keeps = runs_back(o, result);
    (keeps ? m.now.kept : m.now.work) += o.keeps;
    m.now.casts += o.weight.cast_bytes;
    m.mark(o.name, o.forward_scratch);
    if (!keeps) {
      m.now.work -= o.keeps;
      m.now.casts -= o.weight.cast_bytes;
    }
    for (std::size_t s = 0; s <= std::size_t(result); ++s)
      if (values_[s].storage == Ref(s) && values_[s].last_use == int(i) && values_[s].keepers == 0) m.now.work -= values_[s].bytes;
    m.after(o, pieces);
  }
  return m.finish(pieces);
}

Stretch Tape::forward_without_keeping(std::vector<Stretch>* pieces) const {
  Meter m;
  m.now.kept = values_[0].bytes;
  m.mark({});
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const Operation& o = operations_[i];
    m.before(o, pieces);
    const Ref result = results_[i];
    if (storage(result) == result) (o.is_cached ? m.now.kept : m.now.work) += values_[std::size_t(result)].bytes;
    (o.is_cached ? m.now.kept : m.now.work) += o.keeps;
    m.now.casts += o.weight.cast_bytes;
    m.mark(o.name, o.forward_scratch);
    if (!o.is_cached) m.now.work -= o.keeps;
    for (std::size_t s = 1; s <= std::size_t(result); ++s)
      if (values_[s].storage == Ref(s) && values_[s].last_use == int(i) && !values_[s].is_cached) m.now.work -= values_[s].bytes;
    m.after(o, pieces);
  }
  return m.finish(pieces);
}

Stretch Tape::forward_again(bool to_the_end, std::vector<Stretch>* pieces) const {
  Meter m;
  m.now.kept = forward_without_keeping().end.kept;
  m.now.work = result_bytes();  // the gradient that waits
  m.mark({});
  double unkept = 0;  // values in use that nothing keeps
  const std::size_t count = to_the_end ? operations_.size() : std::size_t(last_keeper_ + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const Operation& o = operations_[i];
    m.before(o, pieces);
    const Ref result = results_[i];
    const bool is_last = !to_the_end && int(i) == last_keeper_ && !o.keeps_result && o.keeps <= 0;  // stops before it computes
    const double size = storage(result) == result && !o.is_cached && !is_last ? values_[std::size_t(result)].bytes : 0;
    const bool stays = values_[std::size_t(storage(result))].keepers > 0;
    (stays ? m.now.kept : m.now.work) += size;
    if (!stays) unkept += size;
    const double keeps = o.is_cached ? 0 : o.keeps;
    const bool runs = runs_back(o, result);
    (runs ? m.now.kept : m.now.work) += keeps;
    m.now.casts += o.weight.cast_bytes;
    if (!o.is_cached) m.mark(o.name, is_last ? 0 : o.forward_scratch);
    if (!runs) {
      m.now.work -= keeps;
      m.now.casts -= o.weight.cast_bytes;
    }
    for (std::size_t s = 1; s <= std::size_t(result); ++s)
      if (values_[s].storage == Ref(s) && values_[s].last_use == int(i) && values_[s].keepers == 0 && !values_[s].is_cached) {
        m.now.work -= values_[s].bytes;
        unkept -= values_[s].bytes;
      }
    m.after(o, pieces);
  }
  m.now.work -= unkept;
  return m.finish(pieces);
}

void Tape::backward(bool after_again, std::vector<Stretch>& stretches, bool apart) const {
  struct Gradient { double bytes; int users; };
  std::vector<Gradient> gradients;
  gradients.reserve(operations_.size() * 2 + 2);
  std::vector<int> waiting(values_.size(), -1);  // gradient of a value
  std::vector<int> keepers(values_.size());
  for (std::size_t s = 0; s < values_.size(); ++s) keepers[s] = values_[s].keepers;
  Meter m;
  m.now = after_again ? forward_again().end : forward().end;
  if (!after_again) m.now.work = result_bytes();
  gradients.push_back({result_bytes(), 1});
  waiting[std::size_t(result_)] = 0;
  m.mark({});
  const auto release = [&](int g) {
    if (--gradients[std::size_t(g)].users == 0) m.now.work -= gradients[std::size_t(g)].bytes;
  };
  for (std::size_t i = operations_.size(); i-- > 0;) {
    const Operation& o = operations_[i];
    const int incoming = waiting[std::size_t(results_[i])];
    if (!runs_back(o, results_[i])) continue;
    if (apart) m.before(o, &stretches);
    std::array<int, 4> made{-1, -1, -1, -1};
    if (incoming >= 0) {
      for (std::size_t k = 0; k < o.inputs.size(); ++k) {
        const Input& input = o.inputs[k];
        if (input.value == kNoValue || input.flow == Flow::none) continue;
        if (input.flow == Flow::through) {
          made[k] = incoming;
          ++gradients[std::size_t(incoming)].users;
        } else {
          made[k] = int(gradients.size());
          const double size = input.bytes < 0 ? bytes(input.value) : whole_blocks(input.bytes);
          gradients.push_back({size, 1});
          m.now.work += size;
        }
      }
      m.now.work += o.weight.elements > 0 ? o.weight.bytes : 0;
      m.mark(o.name, o.backward_scratch);
      release(incoming);
    }
    // What it kept goes with it.
    m.now.kept -= o.keeps;
    m.now.casts -= o.weight.cast_bytes;
    each_kept(i, [&](Ref s) {
      if (--keepers[std::size_t(s)] == 0 && !(after_again && s == 0)) m.now.kept -= values_[std::size_t(s)].bytes;
    });
    if (o.weight.elements > 0 && incoming >= 0) {
      if (o.weight.stored_bytes > 0) {
        m.now.work += o.weight.stored_bytes;
        m.mark("cast of a weight's gradient");
        m.now.work -= o.weight.stored_bytes;
      }
      m.mark(o.name);
      m.now.work -= o.weight.bytes;
    }
    for (std::size_t k = 0; k < o.inputs.size(); ++k) {
      if (made[k] < 0) continue;
      int& first = waiting[std::size_t(o.inputs[k].value)];
      if (first < 0) {
        first = made[k];
        continue;
      }
      if (o.inputs[k].flow == Flow::part) {
        gradients[std::size_t(first)].bytes += gradients[std::size_t(made[k])].bytes;
        continue;
      }
      const bool in_place = gradients[std::size_t(first)].users == 1 && !sums_out_of_place;
      if (in_place) {
        release(made[k]);
        continue;
      }
      const int sum = int(gradients.size());
      gradients.push_back({bytes(o.inputs[k].value), 1});
      m.now.work += bytes(o.inputs[k].value);
      m.mark("sum of gradients");
      release(first);
      release(made[k]);
      first = sum;
    }
    if (o.weight.elements > 0 && incoming >= 0) stretches.push_back(m.close(o.weight));
  }
  if (after_again) m.now.kept -= values_[0].bytes;
  stretches.push_back(m.close());
}

std::vector<KeptTensor> Tape::kept_tensors() const {
  std::vector<KeptTensor> list;
  for (std::size_t s = 0; s < values_.size(); ++s)
    if (values_[s].storage == Ref(s) && values_[s].keepers > 0) list.push_back({values_[s].name, values_[s].bytes});
  for (std::size_t i = 0; i < operations_.size(); ++i)
    if (operations_[i].keeps > 0 && runs_back(operations_[i], results_[i])) list.push_back({operations_[i].name, operations_[i].keeps});
  return list;
}

}  // namespace wireplan
