#include "core/answer/search_report.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/describe/defaults.hpp"

namespace wireplan {
namespace {

std::string text_of(Count n) { return format_exact(static_cast<double>(n)); }

// A part of a step, and how it is said that a plan spends less or more time with it.
struct StepPart { const char* what; Seconds StepAnswer::* of; };
constexpr StepPart kParts[] = {{"compute", &StepAnswer::compute},   {"waiting for communication", &StepAnswer::exposed_communication},
                               {"pipeline bubble", &StepAnswer::bubble}, {"optimizer", &StepAnswer::optimizer},
                               {"host", &StepAnswer::host},         {"offload", &StepAnswer::offload}};

std::string name_of_wait(const Estimate& e) {
  const CommunicationRow* row = most_exposed(e);
  if (!row) return "";
  return " (most: " + std::string(name_of(row->collective)) + " of " + std::string(name_of(row->dimension)) + " groups" + (row->bottleneck.empty() ? "" : " at " + row->bottleneck) + ")";
}

std::string times_text(double ratio) { return format_fixed(ratio, ratio < 10 ? 2 : 1) + " ×"; }

// Whatever was left open.
bool is_same(Plan a, Plan b) {
  a.assumed = b.assumed = {};
  a.left_open = b.left_open = {};
  return a == b;
}

// Candidates as whole estimates. A cluster is prepared once: that takes milliseconds, an estimate on it microseconds.
class Finder {
 public:
  Finder(const Search& search, const Plan& base, const Constants& constants) : search_(search), base_(base), constants_(constants) {}
  FoundPlan operator()(const Candidate& c) {
    FoundPlan f;
    f.candidate = c;
    f.plan = search_.plan_of(c);
    if (!is_ready_ || space_ != c.space) {
      cluster_ = f.plan.cluster;
      prepared_ = prepare(cluster_, constants_.links);
      space_ = c.space;
      is_ready_ = true;
    }
    f.estimate = estimate(f.plan, prepared_, constants_);
    f.is_own = is_same(base_, f.plan);
    f.label = layout_label(f.plan);
    return f;
  }

 private:
  const Search& search_;
  const Plan& base_;
  const Constants& constants_;
  Cluster cluster_;
  PreparedCluster prepared_;
  std::uint32_t space_ = 0;
  bool is_ready_ = false;
};

std::string memory_change(const Estimate& e, const Estimate& other, ByteUnit unit) {
  const Bytes more = e.memory.need.value - other.memory.need.value;
  if (std::fabs(more.value) < 5e7) return "";
  return ", needs " + format_bytes_with_unit(Bytes(std::fabs(more.value)), unit) + (more.value > 0 ? " more" : " less");
}

std::string why_best(const FoundPlan& f, const std::optional<Estimate>& own, bool is_own, ByteUnit unit) {
  if (is_own) return "your plan as it is: nothing that was looked at is better";
  const Seconds time = f.estimate.step.time.value;
  if (!own) return format_seconds(time) + " per step, " + format_percent(f.estimate.step.mfu) + " MFU";
  const bool own_fits = own->memory.fits && own->memory.fits_host != 0;
  if (!own_fits) return "fits where your plan needs " + format_bytes_with_unit(own->memory.need.value, unit) + " of " + format_bytes_with_unit(own->memory.capacity, unit);
  const double ratio = time.value > 0 ? own->step.time.value / time : 1;
  if (ratio < 1) return format_percent(1 / ratio - 1) + " slower than your plan" + memory_change(f.estimate, *own, unit);
  return times_text(ratio) + " as fast as your plan: " + difference_text(f.estimate, *own) + memory_change(f.estimate, *own, unit);
}

std::string why_next(const FoundPlan& f, const FoundPlan& best, ByteUnit unit) {
  const double slower = f.estimate.step.time.value / best.estimate.step.time.value - 1;
  const std::string speed = std::fabs(slower) < 5e-4 ? "as fast as the first" : format_percent(std::fabs(slower)) + (slower > 0 ? " slower than the first" : " faster than the first");
  const std::string difference = difference_text(f.estimate, best.estimate);
  return speed + (difference.empty() ? "" : ": " + difference) + memory_change(f.estimate, best.estimate, unit);
}

std::string loser_text(const LoserText& l, const FoundPlan* best, Objective objective, ByteUnit unit) {
  const Losers& losers = l.losers;
  if (!l.example) {
    if (losers.reason == LossReason::does_not_fit) return "parameters, master weights and optimizer states alone are larger than the GPU";
    if (objective == Objective::memory) return "cannot need less than " + format_bytes_with_unit(Bytes(losers.bound), unit);
    if (objective == Objective::gpus) return "on more GPUs, or slower on as many";
    if (objective == Objective::cost) return "cannot cost less than " + format_count(static_cast<double>(static_cast<Count>(losers.bound))) + " GPU-seconds a step";
    return "cannot take less than " + format_seconds(Seconds(losers.bound)) + ": compute, the pipeline's schedule and what layers wait for take that long";
  }
  const FoundPlan& e = *l.example;
  const StepAnswer& s = e.estimate.step;
  const std::string example = e.label;
  switch (losers.reason) {
    case LossReason::does_not_fit:
      if (e.estimate.memory.fits_host == 0) return "the host's memory does not hold what is offloaded: " + example + " needs " + format_bytes_with_unit(e.estimate.memory.host, unit) + " a node";
      return "the smallest of them, " + example + ", needs " + format_bytes_with_unit(e.estimate.memory.need.value, unit) + " of " + format_bytes_with_unit(e.estimate.memory.capacity, unit) +
             (e.candidate.verdict == Verdict::may_not_fit ? ", and the band of that reaches beyond" : "");
    case LossReason::nearly_as_fast: return "within " + format_percent(kNearlyAsFast - 1) + " of the best; pick by memory left";
    case LossReason::waits_for_wires:
      return example + " waits " + format_seconds(s.exposed_communication) + " of " + format_seconds(s.time.value) + " for communication" + name_of_wait(e.estimate);
    case LossReason::computes_twice:
      return "recomputation adds " + format_seconds(s.compute - best->estimate.step.compute) + " of compute to " + example;
    case LossReason::splits_matrices:
      return "smaller products and more passes over memory: " + example + " computes " + format_seconds(s.compute - best->estimate.step.compute) + " longer";
    case LossReason::bubble:
      return example + " idles " + format_seconds(s.bubble) + " of " + format_seconds(s.time.value) + " in the pipeline, " + text_of(micro_batches(e.plan)) + " micro-batches on " + text_of(e.plan.parallel.pipeline) + " stages";
    case LossReason::rest: return example + ": " + difference_text(e.estimate, best->estimate);
    case LossReason::slower_at_least: break;
  }
  return "";
}

// --- what people take --------------------------------------------------------------------------------------------------------

struct Popular {
  std::string name;
  Plan plan;
  NameSet<Vary> vary;
};

void spread(Plan& p, Count tensor, Count pipeline) {
  Parallel& l = p.parallel;
  l.tensor = tensor;
  l.pipeline = pipeline;
  l.context = l.expert = l.expert_tensor = l.virtual_stages = 1;
  l.pipeline_schedule = PipelineSchedule::one_f_one_b;
  l.data = total_gpus(p.cluster) / (tensor * pipeline);
  if (l.data_sharding == DataSharding::hsdp) l.data_sharding = DataSharding::fsdp;  // its groups were of another layout
  l.shard_group = 0;
  l.placement.clear();
}

std::vector<Popular> popular_plans(const Plan& plan, const SearchOptions& options) {
  std::vector<Popular> list;
  NameSet<Vary> vary;
  for (const Vary v : {Vary::micro_batch_size, Vary::recompute, Vary::loss, Vary::sequence_parallel, Vary::pipeline_schedule})
    if (options.vary.has(v)) vary.set(v);
  const Count gpus = total_gpus(plan.cluster), on_node = plan.cluster.gpus_per_node, heads = plan.model.num_attention_heads;
  const bool is_free = options.vary.has(Vary::data_sharding) && plan.parallel.deepspeed.empty();
  for (const DataSharding kind : shardings_of(plan.parallel.framework)) {
    if (gpus < 2 || (is_free ? !options.can.data_sharding.has(kind) : kind != plan.parallel.data_sharding)) continue;
    Popular p{"", plan, vary};
    spread(p.plan, 1, 1);
    if (kind == DataSharding::hsdp) {
      if (plan.cluster.nodes < 2 || on_node < 2) continue;
      p.plan.parallel.shard_group = on_node;
    }
    p.plan.parallel.data_sharding = kind;
    p.name = std::string(sharding_label(kind)) + (kind == DataSharding::hsdp ? " inside nodes" : "") + " on all GPUs";
    list.push_back(std::move(p));
  }
  const bool has_tensor = options.vary.has(Vary::tensor) && options.can.tensor && !plan.model.opaque && on_node > 1 && heads % on_node == 0 && gpus % on_node == 0;
  if (has_tensor && gpus > on_node) {
    Popular p{"TP " + text_of(on_node) + ", data parallel between nodes", plan, vary};
    spread(p.plan, on_node, 1);
    if (options.vary.has(Vary::data_sharding)) p.vary.set(Vary::data_sharding);
    list.push_back(p);
    if (options.vary.has(Vary::pipeline) && options.can.pipeline) {
      p.name = "TP " + text_of(on_node) + " with a pipeline between nodes";
      p.vary.set(Vary::pipeline);
      list.push_back(std::move(p));
    }
  } else if (has_tensor) {
    Popular p{"TP " + text_of(on_node) + " on all GPUs", plan, vary};
    spread(p.plan, on_node, 1);
    if (options.vary.has(Vary::data_sharding)) p.plan.parallel.data_sharding = DataSharding::ddp;
    list.push_back(std::move(p));
  }
  for (Popular& p : list) decide_again(p.plan);
  return list;
}

PopularChoice choice_of(const Popular& popular, const Plan& base, const SearchOptions& options, const FoundPlan* best, const Constants& constants, ByteUnit unit) {
  SearchOptions own = options;
  own.vary = popular.vary;
  own.top = 1;
  Search search({popular.plan}, own, constants);
  const std::shared_ptr<Search::Worker> worker = search.worker();
  while (search.pieces() > 0) {
    for (std::size_t i = 0; i < search.pieces(); ++i) search.work(i, *worker);
    search.finish_block();
  }
  PopularChoice choice;
  choice.name = popular.name;
  const std::string capacity_text = format_bytes_with_unit(capacity(popular.plan.cluster.node.gpu), unit);
  if (const std::vector<Candidate> fastest = search.best(); !fastest.empty()) {
    choice.best = Finder(search, base, constants)(fastest.front());
    if (!best) return choice;
    const Seconds time = choice.best->estimate.step.time.value;
    choice.slower = best->estimate.step.time.value.value > 0 ? time / best->estimate.step.time.value - 1 : 0;
    choice.best->why = choice.slower < 5e-4 ? "as fast as the best" : difference_text(choice.best->estimate, best->estimate);
    const bool shows = choice.best->estimate.step.exposed_communication > best->estimate.step.exposed_communication;
    choice.text = format_seconds(time) + " with " + choice.best->label + ", " + (choice.slower < 5e-4 ? "as fast as the best" : format_percent(choice.slower) + " slower than the best: " + choice.best->why + (shows ? name_of_wait(choice.best->estimate) : ""));
    return choice;
  }
  for (const Candidate& c : search.evaluated())
    if (choice.least_need <= 0 || c.need < choice.least_need) choice.least_need = c.need;
  choice.text = choice.least_need > 0 ? "does not fit: needs " + format_bytes_with_unit(Bytes(choice.least_need), unit) + " of " + capacity_text + " at least"
                : search.counts().pruned_by_memory > 0 ? "does not fit: parameters, master weights and optimizer states alone are larger than " + capacity_text
                                                       : "cannot be laid out: batch or layers do not divide";
  return choice;
}

// Into r.plans, at its end if it is not there.
std::size_t index_of(Finder& found, const Candidate& c, SearchReport& r) {
  const auto same = std::find_if(r.plans.begin(), r.plans.end(), [&](const FoundPlan& f) { return f.candidate.space == c.space && f.candidate.shape == c.shape && f.candidate.variant == c.variant; });
  const auto index = static_cast<std::size_t>(same - r.plans.begin());
  if (same == r.plans.end()) r.plans.push_back(found(c));
  return index;
}

Experiments experiments_of(const Search& search, Finder& finder, const Constants& constants, ByteUnit unit, SearchReport& r) {
  if (search.options().objective == Objective::memory) return {{}, {}, {}, {}, "The smallest layout was asked for: no measurement of time changes that."};
  const std::vector<Candidate> rivals = search.rivals(kMostRivals);
  std::vector<Plan> plans;
  for (const Candidate& c : rivals) plans.push_back(search.plan_of(c));
  Experiments found = experiments(plans, search.options().worst, constants, unit);
  for (Experiment& e : found.list)
    if (e.flips) e.flips = index_of(finder, rivals[*e.flips], r);
  return found;
}

}  // namespace

std::string layout_label(const Plan& plan) {
  const Parallel& p = plan.parallel;
  const Training& t = plan.training;
  std::vector<std::string> words;
  if (p.tensor > 1) words.push_back("TP " + text_of(p.tensor) + (p.sequence_parallel ? " + SP" : ""));
  if (p.pipeline > 1) {
    std::string stages = "PP " + text_of(p.pipeline);
    if (p.pipeline_schedule != PipelineSchedule::one_f_one_b) stages += ' ' + std::string(name_of(p.pipeline_schedule));
    if (p.virtual_stages > 1) stages += " × " + text_of(p.virtual_stages);
    words.push_back(std::move(stages));
  }
  if (p.context > 1) words.push_back("CP " + text_of(p.context));
  if (p.expert > 1) words.push_back("EP " + text_of(p.expert) + (p.expert_tensor > 1 ? " × " + text_of(p.expert_tensor) : ""));
  const Count ranks = p.data * p.context;
  if (ranks > 1 || words.empty() || p.data_sharding != DataSharding::ddp) {
    std::string data(sharding_label(p.data_sharding));
    if (p.shard_group > 0 && p.shard_group < ranks) data += ' ' + text_of(p.shard_group) + " × " + text_of(ranks / p.shard_group);
    else if (p.data > 1) data += ' ' + text_of(p.data);
    words.push_back(std::move(data));
  }
  if (p.order != "tp-cp-ep-dp-pp") words.push_back("order " + p.order);
  words.push_back("micro-batch " + text_of(t.micro_batch_size));
  switch (t.recompute.kind) {
    case RecomputeKind::none: break;
    case RecomputeKind::selective: words.push_back("selective recompute"); break;
    case RecomputeKind::full: words.push_back("full recompute"); break;
    case RecomputeKind::full_layers: words.push_back("full recompute of " + text_of(t.recompute.n) + (p.pipeline > 1 ? " layers a piece" : " layers")); break;
    case RecomputeKind::every: words.push_back("recompute of every " + text_of(t.recompute.n) + ". layer"); break;
  }
  if (t.loss != Loss::logits_fp32) words.push_back(std::string(name_of(t.loss)) + " loss");
  if (t.offload.parameters) words.push_back("parameters and optimizer on the host");
  else if (t.offload.optimizer) words.push_back("optimizer on the host");
  std::string label;
  for (const std::string& w : words) label += (label.empty() ? "" : ", ") + w;
  return label;
}

std::string difference_text(const Estimate& plan, const Estimate& other) {
  struct Change { const char* what; double seconds; };
  std::vector<Change> changes;
  for (const StepPart& part : kParts) {
    const double more = (plan.step.*part.of - other.step.*part.of).value;
    if (std::fabs(more) > 0.005 * other.step.time.value.value) changes.push_back({part.what, more});
  }
  sort(changes, [](const Change& a, const Change& b) { return std::fabs(a.seconds) > std::fabs(b.seconds); });
  std::string text;
  for (std::size_t i = 0; i < changes.size() && i < 3; ++i)
    text += (i == 0 ? "" : ", ") + format_seconds(Seconds(std::fabs(changes[i].seconds))) + (changes[i].seconds > 0 ? " more " : " less ") + changes[i].what;
  return text;
}

SearchReport search_report(const Search& search, const Plan& base, const Plan& searched, const Constants& constants, ByteUnit unit) {
  SearchReport r;
  r.base = base;
  r.options = search.options();
  r.counts = search.counts();
  r.is_front_exact = search.is_front_exact();
  const bool is_valid = validate(base).empty();
  if (is_valid) r.own = estimate(base, constants);

  Finder found(search, base, constants);
  for (const Candidate& c : search.best()) r.plans.push_back(found(c));
  r.top = r.plans.size();
  const std::vector<Candidate> front = search.front();
  const std::size_t shown = std::min(front.size(), kMostFront);
  for (std::size_t i = 0; i < shown; ++i) {
    const Candidate& c = front[shown < front.size() ? i * (front.size() - 1) / (shown - 1) : i];
    r.front.push_back(index_of(found, c, r));
  }
  r.experiments = experiments_of(search, found, constants, unit, r);
  for (std::size_t i = 0; i < r.plans.size(); ++i) {
    FoundPlan& f = r.plans[i];
    f.why = i == 0 ? why_best(f, r.own, f.is_own, unit) : why_next(f, r.plans.front(), unit);
  }
  const FoundPlan* best = r.plans.empty() ? nullptr : &r.plans.front();

  for (const Losers& losers : search.losers()) {
    LoserText l{losers, {}, {}};
    if (losers.best) l.example = found(*losers.best);
    l.text = loser_text(l, best, search.options().objective, unit);
    r.losers.push_back(std::move(l));
  }
  // Of other numbers of GPUs nothing common is comparable.
  const bool on_all = search.options().objective == Objective::throughput || search.options().objective == Objective::memory;
  for (const Popular& p : on_all ? popular_plans(searched, search.options()) : std::vector<Popular>{}) r.popular.push_back(choice_of(p, base, search.options(), best, constants, unit));

  if (!best) {
    const std::string looked_at = format_count(static_cast<double>(r.counts.candidates));
    if (search.pieces() > 0) r.text = "Stopped before anything was found that fits, after " + looked_at + " layouts.";
    else if (r.counts.candidates == 0)
      r.text = "No layout: " + text_of(searched.training.global_batch_size) + " sequences, layers and heads do not divide over " + text_of(total_gpus(searched.cluster)) + " GPUs with what may vary.";
    else r.text = "Nothing fits: none of " + looked_at + " layouts holds this training in " + format_bytes_with_unit(capacity(searched.cluster.node.gpu), unit) + " a GPU.";
    return r;
  }
  const char* what = "Fastest that fits: ";
  if (r.options.objective == Objective::memory) what = "Smallest that fits: ";
  if (r.options.objective == Objective::gpus) what = "On fewest GPUs: ";
  if (r.options.objective == Objective::cost) what = "Cheapest that fits: ";
  const double gpus = best->candidate.gpus;
  r.text = what + best->label + (r.options.objective == Objective::gpus || r.options.objective == Objective::cost ? " on " + format_count(gpus) + (gpus == 1 ? " GPU" : " GPUs") : "") + ", " +
           format_seconds(best->estimate.step.time.value) + " per step at " + format_bytes_with_unit(best->estimate.memory.need.value, unit);
  r.text += r.own ? "; your plan takes " + format_seconds(r.own->step.time.value) + (r.own->memory.fits && r.own->memory.fits_host != 0 ? "." : " and does not fit.") : ".";
  return r;
}

}  // namespace wireplan
