#include "core/answer/experiments.hpp"

#include <algorithm>
#include <cmath>

#include "core/answer/search_report.hpp"
#include "core/base/math.hpp"
#include "core/base/sort.hpp"
#include "core/cost/measured_tables.hpp"
#include "core/step/host_optimizer.hpp"
#include "core/step/step_wiring.hpp"

namespace wireplan {
namespace {

// Gauss-Hermite for a standard normal: exact to degree nine.
constexpr struct { double z, weight; } kOutcomes[] = {{-2.856970013872806, 0.011257411327720688}, {-1.355626179974266, 0.22207592200561266}, {0, 0.5333333333333333},
                                                      {1.355626179974266, 0.22207592200561266},   {2.856970013872806, 0.011257411327720688}};
constexpr double kTenth = 1.2815515655446004;  // of a normal's standard deviations, where a tenth lies beyond
constexpr double kMostFromAfar = 0.35;         // what a table says of other calls, see ask_tables()
constexpr int kDraws = 32;
constexpr int kTimed = 20, kWarmUp = 5, kForms = 2;  // calls of a size as `wireplan measure` makes them, out of place and in place

// Finer than format_percent(): what is worth a measurement is often less than a percent.
std::string percent(double share) { return format_fixed(100 * share, 2) + " %"; }

// ln of a factor at z standard deviations, of a band given by its ends.
double off(double low, double high, double z) { return z * (z < 0 ? low : high) / kTenth; }

struct Call {
  const StepWiring::Group* group;
  Collective collective;
  Bytes bytes;
  double low, high;   // its band, ln
  std::size_t input;  // that measures it
};

struct Input {
  Uncertain kind{};
  double low = 0, high = 0;  // ln
  std::vector<MeasuredCurve> sweep{};  // one of each operation
  Bytes least, most;
  std::vector<double> moves{};  // of every call: ln of its time over ln of the outcome
};

struct Rival {
  const Plan* plan;
  Estimate estimate;
  bool fits = false;
  std::vector<std::size_t> calls{};     // of its messages
  std::vector<Range<Seconds>> times{};  // of these as expected
  std::vector<StageParameters> trained{};
  Seconds optimizer{}, time{};
};

class Experimenter {
 public:
  Experimenter(const std::vector<Plan>& plans, Verdict worst, const Constants& constants)
      : constants_(constants), plans_(plans), cluster_(prepare(plans.front().cluster, constants.links)), wiring_(cluster_) {
    for (const Plan& plan : plans) add(plan, worst);
    for (std::size_t i = 0; i < rivals_.size(); ++i)
      if (rivals_[i].fits && (!chosen_ || rivals_[i].time < rivals_[*chosen_].time)) chosen_ = i;
  }

  Experiments run(ByteUnit unit) {
    Experiments answer;
    if (!chosen_) {
      answer.text = "Nothing fits, so no measurement chooses between layouts.";
      return answer;
    }
    answer.time = rivals_[*chosen_].time;
    std::size_t small = 0;
    add_others();
    for (Input& input : inputs_) {
      if (input.kind == Uncertain::collectives) {
        plan_sweep(input);
        answer.sweeps.push_back(input.sweep);
      }
      if (is_measured(input)) continue;
      if (std::optional<Experiment> e = experiment(input)) keep(std::move(*e), answer, small);
    }
    for (std::size_t i = 0; i < rivals_.size(); ++i)
      if (std::optional<Experiment> e = trial(i, unit)) keep(std::move(*e), answer, small);
    sort(answer.list, [](const Experiment& a, const Experiment& b) {
      const double of_a = a.saved / a.duration, of_b = b.saved / b.duration;
      return of_a != of_b ? of_a > of_b : a.input < b.input;
    });
    answer.regret = expected_regret();
    answer.text = summary(answer, small);
    return answer;
  }

 private:
  const Rival& chosen() const { return rivals_[*chosen_]; }

  void add(const Plan& plan, Verdict worst) {
    Rival r{&plan, brief_estimate(plan, wiring_, constants_)};
    const MemoryAnswer& memory = r.estimate.memory;
    r.fits = memory.verdict <= worst && memory.fits_host != 0;
    r.time = r.estimate.step.time.value;
    r.optimizer = r.estimate.cost.optimizer;
    if (plan.training.lora) r.trained = stage_adapters(plan.model, *plan.training.lora, plan.parallel);
    for (const MessageCost& m : r.estimate.cost.messages) {
      r.calls.push_back(call_of(wiring_.group(plan, m.message.group), m));
      r.times.push_back(m.call.time);
    }
    rivals_.push_back(std::move(r));
  }

  std::size_t call_of(const StepWiring::Group& group, const MessageCost& m) {
    const Message& message = m.message;
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (calls_[i].group == &group && calls_[i].collective == message.collective && calls_[i].bytes == message.bytes) return i;
    const Range<Seconds>& time = m.call.time;
    const bool is_known = time.low.value > 0 && time.value.value > 0;
    // Of DeepSpeed's low end, which is that of more NICs, see ring_of(), a sweep says nothing.
    const double low = is_known ? natural_log(time.value / time.low * group.nic_share) : 0, high = is_known ? natural_log(time.high / time.value) : 0;
    calls_.push_back({&group, message.collective, message.bytes, std::max(0.0, low), high, input_of(group, message)});
    Input& input = inputs_[calls_.back().input];
    input.least = std::min(input.least, message.bytes);
    if (message.bytes >= input.most) {
      input.most = message.bytes;
      input.low = calls_.back().low;
      input.high = high;
    }
    return calls_.size() - 1;
  }

  // What measures a call: operations on its GPUs alone.
  std::size_t input_of(const StepWiring::Group& group, const Message& message) {
    MeasuredCurve curve;
    curve.collective = message.collective;
    curve.ranks = group.ranks;
    curve.nodes = group.nodes;
    curve.gpus = group.ring.order;
    sort(curve.gpus);
    if (static_cast<int>(curve.gpus.size()) * group.nodes != group.ranks) curve.gpus.clear();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::vector<MeasuredCurve>& sweep = inputs_[i].sweep;
      if (sweep[0].ranks != group.ranks || sweep[0].nodes != group.nodes || sweep[0].gpus != curve.gpus) continue;
      if (std::none_of(sweep.begin(), sweep.end(), [&](const MeasuredCurve& c) { return c.collective == curve.collective; })) sweep.push_back(std::move(curve));
      return i;
    }
    Input input;
    input.sweep.push_back(std::move(curve));
    input.least = message.bytes;
    inputs_.push_back(std::move(input));
    return inputs_.size() - 1;
  }

  void add_others() {
    const bool has_moe = plans_.front().model.moe.has_value();
    const double band = has_moe ? constants_.efficiency.band_moe : constants_.efficiency.band;
    Input products;
    products.kind = Uncertain::matrix_products;
    products.low = -natural_log(1 - band);
    products.high = natural_log(1 + band);
    inputs_.push_back(std::move(products));
    if (std::none_of(plans_.begin(), plans_.end(), [](const Plan& p) { return runs_optimizer_on_host(p); })) return;
    Input host;
    host.kind = Uncertain::host_optimizer;
    host.low = host.high = kHostBand;
    inputs_.push_back(std::move(host));
  }

  // Sizes from the least to the most that rivals send, the most exactly; and how every call moves with what they show.
  void plan_sweep(Input& input) {
    // Beyond a quarter of a GPU's memory there may be no room for what is sent and received; the rate is the same there.
    const Bytes most = std::min(input.most, Bytes(capacity(cluster_.cluster->node.gpu).value / 4));
    const double span = std::max(1.0, most / input.least);
    constexpr double kFew = 6;  // octaves
    const double step = log2_of(span) > kFew ? 4 : 2, steps = span < 1.1 ? 0 : std::ceil(log2_of(span) / log2_of(step) - 1e-9);
    double size = std::max(1.0, std::ceil(most.value / power(step, steps)));
    PreparedCluster& alone = moved_cluster();
    const MeasuredCurve& first = input.sweep.front();
    const int per_node = (first.ranks + first.nodes - 1) / first.nodes;
    const RingOnWiring ring = ring_on_wiring(alone, single_group(first.ranks, first.nodes, first.gpus.empty() ? used_gpus(*cluster_.cluster, per_node) : first.gpus));
    alone.own_tables = cluster_.own_tables;
    for (double i = 0; i <= steps; ++i, size *= step)
      for (MeasuredCurve& curve : input.sweep) curve.points.push_back({Bytes(size), collective_call(cluster_, ring, curve.collective, curve.ranks, Bytes(size)).time.value});
    input.moves.assign(calls_.size(), 0);
    const double shift = (input.low + input.high) / 2 / kTenth;
    if (shift <= 0) return;
    Profile outcome;
    outcome.curves = input.sweep;
    for (MeasuredCurve& curve : outcome.curves)
      for (MeasuredCurve::Point& p : curve.points) p.time = p.time * exponential(shift);
    const std::size_t before = alone.own_tables.size();
    for (MeasuredTable& table : profile_tables(alone, outcome)) alone.own_tables.push_back(std::move(table));
    if (alone.own_tables.size() == before) return;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const Call& c = calls_[i];
      const auto now = ask_profile(alone, c.group->ring, c.collective, c.group->ranks, c.bytes);
      if (!now) continue;
      const auto known = ask_profile(cluster_, c.group->ring, c.collective, c.group->ranks, c.bytes);
      input.moves[i] = (now->residual - (known ? known->residual : 0)) / shift;
    }
  }

  // Measuring again what the profile has would say the same.
  bool is_measured(const Input& input) const {
    const std::optional<Profile>& profile = cluster_.cluster->profile;
    return input.kind == Uncertain::collectives && profile && std::all_of(input.sweep.begin(), input.sweep.end(), [&](const MeasuredCurve& s) { return covers(*profile, s); });
  }

  PreparedCluster& moved_cluster() {
    if (!moved_) moved_ = cluster_;
    return *moved_;
  }

  EfficiencyConstants with_products(double slower) const {
    EfficiencyConstants k = constants_.efficiency;
    for (double* rate : {&k.reference, &k.reference_fp8, &k.reference_fp4, &k.ceiling}) *rate /= slower;
    return k;
  }

  // t(r) where the inputs are off by so much; `of_calls` ln by call, the others factors on times.
  Seconds time_at(Rival& r, const std::vector<double>& of_calls, double products, double host) const {
    StepCost& cost = r.estimate.cost;
    const EfficiencyConstants* k = &constants_.efficiency;
    EfficiencyConstants slower;
    const std::vector<StageParameters>& trained = r.plan->training.lora ? r.trained : r.estimate.stages;
    const auto compute = [&] {
      compute_stages(*r.plan, r.estimate.stages, trained, sequence_work(*r.plan), *k, cost);
    };
    if (products != 1) {
      slower = with_products(products);
      k = &slower;
      compute();
    }
    cost.optimizer = r.optimizer * (runs_optimizer_on_host(*r.plan) ? host : 1);
    for (std::size_t i = 0; i < r.calls.size(); ++i) {
      const double factor = of_calls.empty() ? 1 : exponential(of_calls[r.calls[i]]);
      const Range<Seconds>& t = r.times[i];
      cost.messages[i].call.time = {t.low * factor, t.value * factor, t.high * factor};
    }
    settle(*r.plan, *k, cost);
    const Seconds time = cost.time.value;
    if (products != 1) {
      k = &constants_.efficiency;
      compute();
    }
    return time;
  }

  bool depends(const Rival& r, const Input& input) const {
    switch (input.kind) {
      case Uncertain::collectives: return std::any_of(r.calls.begin(), r.calls.end(), [&](std::size_t c) { return input.moves[c] != 0; });
      case Uncertain::host_optimizer: return runs_optimizer_on_host(*r.plan);
      case Uncertain::matrix_products: case Uncertain::memory: break;
    }
    return true;
  }

  struct Won { Seconds regret; std::size_t best; };
  Won won(const std::vector<Seconds>& times) const {
    Won w{Seconds(0), *chosen_};
    for (std::size_t i = 0; i < times.size(); ++i)
      if (rivals_[i].fits && times[*chosen_] - times[i] > w.regret) w = {times[*chosen_] - times[i], i};
    return w;
  }

  // What the choice costs where the input is off by z standard deviations.
  Won won_at(const Input& input, double z) {
    const double shift = off(input.low, input.high, z);
    std::vector<double> of_calls;
    if (input.kind == Uncertain::collectives) {
      of_calls.assign(calls_.size(), 0);
      for (std::size_t i = 0; i < of_calls.size(); ++i) {
        const double moved = input.moves[i] * shift;
        of_calls[i] = is_own(input, i) ? moved : std::clamp(moved, -kMostFromAfar, kMostFromAfar);
      }
    }
    const double factor = exponential(shift);
    std::vector<Seconds> times(rivals_.size());
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      Rival& r = rivals_[i];
      times[i] = r.fits && depends(r, input) ? time_at(r, of_calls, input.kind == Uncertain::matrix_products ? factor : 1, input.kind == Uncertain::host_optimizer ? factor : 1) : r.time;
    }
    return won(times);
  }

  bool is_own(const Input& input, std::size_t call) const { return &inputs_[calls_[call].input] == &input; }

  std::optional<Experiment> experiment(const Input& input) {
    if (input.low <= 0 && input.high <= 0) return std::nullopt;
    Won ends[2] = {won_at(input, kOutcomes[0].z), won_at(input, kOutcomes[4].z)};
    double saved = kOutcomes[0].weight * ends[0].regret.value + kOutcomes[4].weight * ends[1].regret.value;
    if (saved <= 0) return std::nullopt;
    for (const std::size_t i : {1, 3}) saved += kOutcomes[i].weight * won_at(input, kOutcomes[i].z).regret.value;
    const Won band[2] = {won_at(input, -kTenth), won_at(input, kTenth)};
    const Won& worst = band[0].regret > band[1].regret ? band[0] : band[1];
    Experiment e;
    e.kind = input.kind;
    e.low = exponential(-input.low);
    e.high = exponential(input.high);
    if (worst.regret.value > 0) e.flips = worst.best;
    e.regret = worst.regret;
    e.saved = Seconds(saved);
    describe(input, e);
    if (e.flips) {
      const bool is_slower = &worst == &band[1];
      const double end = is_slower ? e.high : e.low;
      e.text = e.input + ", expected within " + format_fixed(e.low, 2) + " to " + format_fixed(e.high, 2) + " × " + expected_text(input) + ": at " + format_fixed(end, 2) + " × " +
               layout_label(*rivals_[*e.flips].plan) + " is " + format_seconds(e.regret) + " a step faster than the first";
    } else {
      e.text = e.input + ": only beyond its band of " + format_fixed(e.low, 2) + " to " + format_fixed(e.high, 2) + " × " + expected_text(input) + " is another layout faster";
    }
    return e;
  }

  std::string expected_text(const Input& input) const {
    if (input.kind != Uncertain::collectives) return "the time that is estimated";
    std::string text;
    for (const MeasuredCurve& c : input.sweep) text += (text.empty() ? "" : ", ") + format_seconds(c.points.back().time);
    return text + " a call" + (input.sweep.front().points.size() > 1 ? " at the largest" : "");
  }

  void describe(const Input& input, Experiment& e) const {
    switch (input.kind) {
      case Uncertain::collectives: {
        e.sweep = input.sweep;
        e.input = sweep_text(input);
        e.command = sweep_command(input);
        Seconds calls;
        for (const MeasuredCurve& c : input.sweep)
          for (const MeasuredCurve::Point& p : c.points) calls += kForms * (kTimed + kWarmUp) * p.time;
        e.duration = kMeasureStart + calls;
        return;
      }
      case Uncertain::matrix_products:
        e.input = "matrix products of " + chosen().plan->cluster.node.gpu.name;
        e.command = "wireplan measure gemm";
        e.duration = kGemmTime;
        return;
      case Uncertain::host_optimizer:
        e.input = "the optimizer in host memory";
        e.duration = kTrainerStart + 3 * chosen().time;
        return;
      case Uncertain::memory: return;
    }
  }

  static std::string operations(const Input& input, const char* between) {
    std::string text;
    for (const MeasuredCurve& c : input.sweep) text += (text.empty() ? "" : between) + std::string(name_of(c.collective));
    return text;
  }

  std::string sweep_text(const Input& input) const {
    const MeasuredCurve& s = input.sweep.front();
    std::string text = operations(input, ", ") + " of " + std::to_string(s.ranks) + " ranks";
    if (s.nodes > 1) text += " on " + std::to_string(s.nodes) + " nodes";
    if (static_cast<Count>(s.gpus.size()) < chosen().plan->cluster.gpus_per_node && !s.gpus.empty()) {
      text += s.gpus.size() == 1 ? ", GPU" : ", GPUs";
      for (std::size_t i = 0; i < s.gpus.size(); ++i) text += (i == 0 ? " " : ",") + std::to_string(s.gpus[i]);
      if (s.nodes > 1) text += " of each";
    }
    text += ", " + format_message_size(s.points.front().size);
    if (s.points.size() > 1) text += " to " + format_message_size(s.points.back().size);
    return text;
  }

  static std::string size_argument(Bytes size) {
    constexpr struct { double unit; const char* letter; } kUnits[] = {{0x1p30, "G"}, {0x1p20, "M"}, {0x1p10, "K"}};
    for (const auto& u : kUnits)
      if (size.value >= u.unit && std::fmod(size.value, u.unit) == 0) return format_exact(size.value / u.unit) + u.letter;
    return format_exact(size.value);
  }

  std::string sweep_command(const Input& input) const {
    const MeasuredCurve& s = input.sweep.front();
    const Cluster& cluster = chosen().plan->cluster;
    std::vector<int> gpus = s.gpus.empty() ? used_gpus(cluster, (s.ranks + s.nodes - 1) / s.nodes) : s.gpus;
    // Ranks are the GPUs of a node by index, node by node.
    const int ranks_of_node = cluster.gpus.empty() && s.nodes > 1 ? cluster.gpus_per_node : *std::max_element(gpus.begin(), gpus.end()) + 1;
    const int ranks = ranks_of_node * s.nodes;
    std::string text = "mpirun -n " + std::to_string(ranks);
    if (s.nodes > 1) text += " --map-by ppr:" + std::to_string(ranks_of_node) + ":node";
    text += " wireplan measure --op " + operations(input, ",");
    if (s.ranks < ranks) text += " --group " + group_argument(gpus, s, ranks_of_node);
    text += " -b " + size_argument(s.points.front().size) + " -e " + size_argument(s.points.back().size);
    if (s.points.size() > 1 && s.points[1].size / s.points[0].size > 3) text += " -f 4";
    return text;
  }

  static std::string group_argument(const std::vector<int>& gpus, const MeasuredCurve& s, int ranks_of_node) {
    constexpr int kMostListed = 64;
    if (s.ranks > kMostListed && gpus.size() == 1)
      return "$(seq -s, " + std::to_string(gpus[0]) + " " + std::to_string(ranks_of_node) + " " + std::to_string(gpus[0] + ranks_of_node * (s.nodes - 1)) + ")";
    std::string list;
    int count = 0;
    for (int node = 0; node < s.nodes; ++node)
      for (std::size_t i = 0; i < gpus.size() && count < s.ranks; ++i, ++count) list += (count > 0 ? "," : "") + std::to_string(node * ranks_of_node + gpus[i]);
    return list;
  }

  // Whether a faster plan fits after all.
  std::optional<Experiment> trial(std::size_t index, ByteUnit unit) const {
    const Rival& r = rivals_[index];
    const MemoryAnswer& m = r.estimate.memory;
    if (r.fits || m.fits_host == 0 || m.need.low > m.capacity || r.time >= chosen().time) return std::nullopt;
    const Bytes below = m.need.value - m.need.low, above = m.need.high - m.need.value;
    const double share = m.need.value <= m.capacity ? 0.5 + (above.value > 0 ? 0.5 * std::min(1.0, (m.capacity - m.need.value) / above) : 0.5)
                                                    : (below.value > 0 ? 0.5 * std::max(0.0, (m.capacity - m.need.low) / below) : 0);
    Experiment e;
    e.kind = Uncertain::memory;
    e.input = "memory of " + layout_label(*r.plan);
    e.low = m.need.low / m.need.value;
    e.high = m.need.high / m.need.value;
    e.flips = index;
    e.regret = chosen().time - r.time;
    e.saved = share * e.regret;
    e.duration = kTrainerStart + 3 * r.time;
    e.text = e.input + ": needs " + format_bytes_with_unit(m.need.low, unit) + " to " + format_bytes_with_unit(m.need.high, unit) + " of " + format_bytes_with_unit(m.capacity, unit) +
             "; if it fits it is " + format_seconds(e.regret) + " a step faster than the first. Three steps of the trainer show it: wireplan has no command for that";
    return e;
  }

  void keep(Experiment e, Experiments& answer, std::size_t& small) const {
    if (e.saved < kWorthwhile * answer.time) {
      ++small;
      return;
    }
    if (e.kind == Uncertain::matrix_products) e.text += ". A profile carries what is measured, times do not use it yet: compare by hand";
    if (e.kind == Uncertain::host_optimizer) e.text += ". Three steps of the trainer with offload show it: wireplan has no command for that";
    // Of plans that may fit one is tried at a time: the one that is worth most.
    const auto other = std::find_if(answer.list.begin(), answer.list.end(), [&](const Experiment& o) { return e.kind == Uncertain::memory && o.kind == e.kind; });
    if (other == answer.list.end()) answer.list.push_back(std::move(e));
    else if (e.saved / e.duration > other->saved / other->duration) *other = std::move(e);
  }

  // Sums of twelve uniform numbers by Marsaglia's xorshift: a normal without tails beyond six, the same everywhere.
  double draw() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state_ ^= state_ << 13U;
      state_ ^= state_ >> 7U;
      state_ ^= state_ << 17U;
      sum += static_cast<double>(state_ >> 11U) * 0x1p-53;
    }
    return sum;
  }

  Seconds expected_regret() {
    const double half = std::sqrt(0.5);
    Seconds sum;
    for (int n = 0; n < kDraws; ++n) {
      const double inside = draw(), network = draw();  // what calls on one kind of wires share
      std::vector<double> z(inputs_.size()), of_calls(calls_.size());
      for (double& one : z) one = draw();
      for (std::size_t i = 0; i < calls_.size(); ++i) {
        const Call& c = calls_[i];
        of_calls[i] = off(c.low, c.high, half * (z[c.input] + (c.group->ring.nodes > 1 ? network : inside)));
      }
      double products = 1, host = 1;
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].kind == Uncertain::matrix_products) products = exponential(off(inputs_[i].low, inputs_[i].high, z[i]));
        if (inputs_[i].kind == Uncertain::host_optimizer) host = exponential(off(inputs_[i].low, inputs_[i].high, z[i]));
      }
      std::vector<Seconds> times;
      for (Rival& r : rivals_) times.push_back(r.fits ? time_at(r, of_calls, products, host) : r.time);
      sum += won(times).regret;
    }
    return sum / static_cast<double>(kDraws);
  }

  std::string summary(const Experiments& a, std::size_t small) const {
    const std::string remaining = percent(a.regret / a.time) + " of a step";
    std::string text;
    if (a.list.empty()) {
      text = "No measurement would change the plan: no input alone, however its measurement ends, makes another of the " + std::to_string(rivals_.size()) + " layouts that were compared faster by more than " +
             percent(kWorthwhile) + " of a step";
      return text + ". All rates off at once, the first is expected to cost " + remaining + " more than the best of those that fit.";
    }
    const Experiment& e = a.list.front();
    text = "Measure " + e.input + ": " + format_seconds(e.duration) + " save " + percent(e.saved / a.time) + " of a step on average (" + format_seconds(e.saved) + "), and " +
           format_fixed(36e2 * (e.saved / a.time), 1) + " s of every GPU-hour. All rates off at once, the first is expected to cost " + remaining + " more than the best of those that fit";
    if (small > 0) text += "; " + std::to_string(small) + " more measurements could change the plan but save less than " + percent(kWorthwhile) + " of a step";
    return text + ".";
  }

  const Constants& constants_;
  const std::vector<Plan>& plans_;
  PreparedCluster cluster_;
  StepWiring wiring_;
  std::optional<PreparedCluster> moved_;
  std::vector<Rival> rivals_;
  std::vector<Call> calls_;
  std::vector<Input> inputs_;
  std::optional<std::size_t> chosen_;
  std::uint64_t state_ = 0x9E3779B97F4A7C15;  // any but 0
};

}  // namespace

bool covers(const Profile& profile, const MeasuredCurve& s) {
  return std::any_of(profile.curves.begin(), profile.curves.end(), [&](const MeasuredCurve& c) {
    return c.collective == s.collective && c.ranks == s.ranks && c.nodes == s.nodes && c.gpus == s.gpus && c.points.front().size <= s.points.front().size && c.points.back().size >= s.points.back().size;
  });
}

Experiments experiments(const std::vector<Plan>& rivals, Verdict worst, const Constants& constants, ByteUnit unit) {
  if (rivals.empty()) return {{}, {}, {}, {}, "Nothing fits, so no measurement chooses between layouts."};
  return Experimenter(rivals, worst, constants).run(unit);
}

}  // namespace wireplan
