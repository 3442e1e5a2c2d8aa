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
  steps_.reserve(96);
  values_.push_back({name, whole_blocks(bytes), 0, needs_gradient});
  return 0;
}

Ref Tape::add(const Operation& operation, std::string_view result, double bytes) {
  const Ref ref = Ref(values_.size());
  const int index = int(steps_.size());
  Step& step = steps_.emplace_back(Step{operation, ref});
  Operation& o = step.operation;
  bool needs_gradient = o.weight.elements > 0;
  for (Input& input : o.inputs) {
    if (input.value == kNoValue) continue;
    if (!values_[std::size_t(input.value)].needs_gradient) input.flow = Flow::none;
    needs_gradient = needs_gradient || input.flow != Flow::none;
    values_[std::size_t(storage(input.value))].last_use = index;
  }
  o.keeps = whole_blocks(o.keeps);
  step.runs_back = needs_gradient;
  weights_ += o.weight.elements > 0;
  const bool is_view = bytes <= 0 && o.inputs[0].value != kNoValue;
  values_.push_back({result, whole_blocks(bytes), is_view ? storage(o.inputs[0].value) : ref, needs_gradient, o.is_cached, index});
  return ref;
}

void Tape::hold(Ref value) {
  int& last = values_[std::size_t(storage(value))].last_use;
  last = std::max(last, int(steps_.size()) - 1);
}

template <class F>
void Tape::each_kept(const Step& step, F f) const {
  if (!step.runs_back) return;
  for (const Input& input : step.operation.inputs)
    if (input.value != kNoValue && input.kept) f(storage(input.value));
  if (step.operation.keeps_result) f(storage(step.result));
}

template <class F>
void Tape::each_freed(const Step& step, F f) const {
  for (Ref s = step.first_freed; s != kNoValue; s = values_[std::size_t(s)].next_freed) f(values_[std::size_t(s)]);
}

void Tape::leave(Ref value) {
  result_ = value;
  values_[std::size_t(storage(value))].last_use = kForever;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Operation& o = steps_[i].operation;
    each_kept(steps_[i], [&](Ref s) {
      ++values_[std::size_t(s)].keepers;
      last_keeper_ = int(i);
    });
    if (steps_[i].runs_back && (o.keeps > 0 || o.weight.cast_bytes > 0)) last_keeper_ = int(i);
  }
  for (Ref s = Ref(values_.size()); s-- > 0;) {
    Value& v = values_[std::size_t(s)];
    if (v.storage != s || v.last_use < 0 || v.last_use == kForever) continue;
    Ref& first = steps_[std::size_t(v.last_use)].first_freed;
    v.next_freed = first;
    first = s;
  }
  if (values_[0].keepers > 0) kept_.kept = values_[0].bytes;
  cached_ = values_[0].bytes;
  double again = 0;
  for (const Step& step : steps_) {
    const Operation& o = step.operation;
    const Value& v = values_[std::size_t(step.result)];
    const double own = v.storage == step.result ? v.bytes : 0, stays = values_[std::size_t(v.storage)].keepers > 0 ? own : 0, keeps = step.runs_back ? o.keeps : 0;
    kept_.kept += stays + keeps;
    if (step.runs_back) kept_.casts += o.weight.cast_bytes;
    if (o.is_cached) cached_ += own + o.keeps;
    else again += stays + keeps;
  }
  kept_.work = result_bytes();
  kept_again_ = cached_ + again;
}

Stretch Tape::forward(std::vector<Stretch>* pieces) const {
  Meter m;
  const auto level_of = [&](Ref s) -> double& { return values_[std::size_t(s)].keepers > 0 ? m.now.kept : m.now.work; };
  level_of(0) += values_[0].bytes;
  m.mark({});
  for (const Step& step : steps_) {
    const Operation& o = step.operation;
    m.before(o, pieces);
    if (storage(step.result) == step.result) level_of(step.result) += values_[std::size_t(step.result)].bytes;
    (step.runs_back ? m.now.kept : m.now.work) += o.keeps;
    m.now.casts += o.weight.cast_bytes;
    m.mark(o.name, o.forward_scratch);
    if (!step.runs_back) {
      m.now.work -= o.keeps;
      m.now.casts -= o.weight.cast_bytes;
    }
    each_freed(step, [&](const Value& v) {
      if (v.keepers == 0) m.now.work -= v.bytes;
    });
    m.after(o, pieces);
  }
  return m.finish(pieces);
}

Stretch Tape::forward_without_keeping(std::vector<Stretch>* pieces) const {
  Meter m;
  m.now.kept = values_[0].bytes;
  m.mark({});
  for (const Step& step : steps_) {
    const Operation& o = step.operation;
    m.before(o, pieces);
    if (storage(step.result) == step.result) (o.is_cached ? m.now.kept : m.now.work) += values_[std::size_t(step.result)].bytes;
    (o.is_cached ? m.now.kept : m.now.work) += o.keeps;
    m.now.casts += o.weight.cast_bytes;
    m.mark(o.name, o.forward_scratch);
    if (!o.is_cached) m.now.work -= o.keeps;
    each_freed(step, [&](const Value& v) {
      if (&v != &values_[0] && !v.is_cached) m.now.work -= v.bytes;
    });
    m.after(o, pieces);
  }
  return m.finish(pieces);
}

Stretch Tape::forward_again(bool to_the_end, std::vector<Stretch>* pieces) const {
  Meter m;
  m.now.kept = cached_;
  m.now.work = result_bytes();  // the gradient that waits
  m.mark({});
  double unkept = 0;  // values in use that nothing keeps
  const std::size_t count = to_the_end ? steps_.size() : std::size_t(last_keeper_ + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = steps_[i];
    const Operation& o = step.operation;
    m.before(o, pieces);
    const bool is_last = !to_the_end && int(i) == last_keeper_ && !o.keeps_result && o.keeps <= 0;  // stops before it computes
    const double size = storage(step.result) == step.result && !o.is_cached && !is_last ? values_[std::size_t(step.result)].bytes : 0;
    const bool stays = values_[std::size_t(storage(step.result))].keepers > 0;
    (stays ? m.now.kept : m.now.work) += size;
    if (!stays) unkept += size;
    const double keeps = o.is_cached ? 0 : o.keeps;
    (step.runs_back ? m.now.kept : m.now.work) += keeps;
    m.now.casts += o.weight.cast_bytes;
    if (!o.is_cached) m.mark(o.name, is_last ? 0 : o.forward_scratch);
    if (!step.runs_back) {
      m.now.work -= keeps;
      m.now.casts -= o.weight.cast_bytes;
    }
    each_freed(step, [&](const Value& v) {
      if (&v == &values_[0] || v.keepers > 0 || v.is_cached) return;
      m.now.work -= v.bytes;
      unkept -= v.bytes;
    });
    m.after(o, pieces);
  }
  m.now.work -= unkept;
  return m.finish(pieces);
}

void Tape::backward(bool after_again, std::vector<Stretch>& stretches, bool apart) const {
  struct Gradient { double bytes; int users; };
  struct State { int waiting, keepers; };  // of a value: its gradient, or -1; of a storage: operations that still keep it
  std::vector<Gradient> gradients;
  gradients.reserve(steps_.size() * 2 + 2);
  std::vector<State> states;
  states.reserve(values_.size());
  for (const Value& v : values_) states.push_back({-1, v.keepers});
  stretches.reserve(weights_ * (apart ? 2 : 1) + 1);
  Meter m;
  m.now = kept_;
  if (after_again) m.now.kept = kept_again_;
  gradients.push_back({result_bytes(), 1});
  states[std::size_t(result_)].waiting = 0;
  m.mark({});
  const auto release = [&](int g) {
    if (--gradients[std::size_t(g)].users == 0) m.now.work -= gradients[std::size_t(g)].bytes;
  };
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    if (!step.runs_back) continue;
    const Operation& o = step.operation;
    const int incoming = states[std::size_t(step.result)].waiting;
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
    each_kept(step, [&](Ref s) {
      if (--states[std::size_t(s)].keepers == 0 && !(after_again && s == 0)) m.now.kept -= values_[std::size_t(s)].bytes;
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
      int& first = states[std::size_t(o.inputs[k].value)].waiting;
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
  for (const Step& step : steps_)
    if (step.operation.keeps > 0 && step.runs_back) list.push_back({step.operation.name, step.operation.keeps});
  return list;
}

}  // namespace wireplan
