#include <utility>

#include "core/text/answer_json.hpp"
#include "core/text/plan_edits.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/search_request.hpp"

namespace wireplan {
namespace {

void put_numbers(Json& j, const Estimate& e) {
  put(j, "need_bytes", e.memory.need.value);
  put(j, "device_bytes", e.memory.device.value);
  put(j, "verdict", name_of(e.memory.verdict));
  put(j, "fits", e.memory.fits && e.memory.fits_host != 0);
  put(j, "time_s", e.step.time.value);
  put(j, "compute_s", e.step.compute);
  put(j, "exposed_communication_s", e.step.exposed_communication);
  put(j, "bubble_s", e.step.bubble);
  put(j, "optimizer_s", e.step.optimizer);
  put(j, "host_s", e.step.host);
  put(j, "offload_s", e.step.offload);
  put(j, "tokens_per_s", e.step.tokens_per_s);
  put(j, "tokens_per_s_per_gpu", e.step.tokens_per_s_per_gpu);
  put(j, "mfu", e.step.mfu);
  Json wait = nullptr;  // what shows most
  if (const CommunicationRow* row = most_exposed(e)) {
    wait = Json::object();
    put(wait, "collective", name_of(row->collective));
    put(wait, "dimension", name_of(row->dimension));
    put(wait, "exposed_s", row->exposed);
    put(wait, "bottleneck", row->bottleneck);
  }
  put(j, "waits_most", std::move(wait));
}

Json plan_json(const FoundPlan& f, Json edits) {
  Json j;
  put(j, "label", f.label);
  put(j, "gpus", f.candidate.gpus);
  put(j, "edits", std::move(edits));
  put_numbers(j, f.estimate);
  put(j, "why", f.why);
  put(j, "plan", write_plan(f.plan));
  return j;
}

Json experiment_json(const Experiment& e) {
  Json j;
  put(j, "kind", name_of(e.kind));
  put(j, "input", e.input);
  Json band = Json::array();
  band.push_back(e.low);
  band.push_back(e.high);
  put(j, "band", std::move(band));
  put(j, "flips", e.flips ? Json(*e.flips) : Json(nullptr));
  put(j, "regret_s", e.regret);
  put(j, "saved_s", e.saved);
  put(j, "seconds", e.duration);
  put(j, "command", e.command.empty() ? Json(nullptr) : Json(e.command));
  put(j, "text", e.text);
  return j;
}

Json counts_json(const SearchCounts& c) {
  Json j;
  put(j, "candidates", static_cast<double>(c.candidates));
  put(j, "pruned", static_cast<double>(c.pruned));
  put(j, "evaluated", static_cast<double>(c.evaluated));
  put(j, "fit", static_cast<double>(c.fit));
  put(j, "pruned_by_memory", static_cast<double>(c.pruned_by_memory));
  put(j, "pruned_by_time", static_cast<double>(c.pruned_by_time));
  return j;
}

Json vary_json(const NameSet<Vary>& vary) {
  Json list = Json::array();
  for (std::size_t i = 0; i < kNames<Vary>.size(); ++i)
    if (vary.has(static_cast<Vary>(i))) list.push_back(kNames<Vary>[i]);
  return list;
}

}  // namespace

Json write_search(const AskedSearch& asked, const Search& search, const SearchReport& r, const Presets& presets) {
  const PresetFilling filling(asked.base, presets);
  const auto edits_of = [&](const FoundPlan& f) { return edits_json(edits_between(asked.base, f.plan, filling)); };
  Json j;
  put(j, "schema", "wireplan.search/1");
  put(j, "engine", kEngineVersion);
  put(j, "base", write_plan(r.base));
  put(j, "objective", name_of(r.options.objective));
  put(j, "vary", vary_json(r.options.vary));
  put(j, "worst_verdict", name_of(r.options.worst));
  put(j, "complete", search.pieces() == 0);
  put(j, "counts", counts_json(r.counts));
  put(j, "text", r.text);
  put(j, "capacity_bytes", capacity(asked.plans.back().cluster.node.gpu));
  Json own = nullptr;
  if (r.own) put_numbers(own = Json::object(), *r.own);
  put(j, "yours", std::move(own));
  put(j, "top", static_cast<double>(r.top));
  Json plans = Json::array();
  for (const FoundPlan& f : r.plans) plans.push_back(plan_json(f, edits_of(f)));
  put(j, "plans", std::move(plans));
  Json front = Json::array();
  for (const std::size_t i : r.front) front.push_back(i);
  put(j, "pareto", std::move(front));
  put(j, "pareto_exact", r.is_front_exact);
  Json losers = Json::array();
  for (const LoserText& l : r.losers) {
    Json one;
    put(one, "reason", name_of(l.losers.reason));
    put(one, "count", static_cast<double>(l.losers.count));
    put(one, "edits", l.example ? edits_of(*l.example) : Json::array());
    Json example = nullptr;
    if (l.example) {
      put(example = Json::object(), "label", l.example->label);
      put_numbers(example, l.example->estimate);
    }
    put(one, "example", std::move(example));
    put(one, "at_least_s", l.losers.bound);  // of slower-at-least
    put(one, "text", l.text);
    losers.push_back(std::move(one));
  }
  put(j, "losers", std::move(losers));
  Json experiments = Json::array();
  for (const Experiment& e : r.experiments.list) experiments.push_back(experiment_json(e));
  put(j, "experiments", std::move(experiments));
  put(j, "experiments_regret_s", r.experiments.regret);
  put(j, "experiments_text", r.experiments.text);
  Json popular = Json::array();
  for (const PopularChoice& p : r.popular) {
    Json one;
    put(one, "name", p.name);
    put(one, "fits", p.best.has_value());
    put(one, "edits", p.best ? edits_of(*p.best) : Json::array());
    put(one, "label", p.best ? Json(p.best->label) : Json(nullptr));
    if (p.best) put_numbers(one, p.best->estimate);
    else if (p.least_need > 0) put(one, "need_bytes", p.least_need);
    put(one, "text", p.text);
    popular.push_back(std::move(one));
  }
  put(j, "popular", std::move(popular));
  if (asked.points) {
    Json points = Json::array();
    const std::vector<Candidate>& all = search.evaluated();
    const std::vector<Candidate> best = search.best();
    for (std::size_t i = 0; i < all.size() && i < kMostPoints; ++i) {
      const Candidate& c = all[i];
      if (!c.is_timed) continue;
      Json point = Json::array();  // need_bytes, time_s, exposed share, data sharding, reason
      point.push_back(c.need);
      point.push_back(c.time);
      point.push_back(c.time > 0 ? c.exposed / c.time : 0);
      point.push_back(name_of(c.variant.data_sharding));
      point.push_back(best.empty() ? (c.fits ? "fits" : name_of(LossReason::does_not_fit)) : name_of(search.reason_of(c, best.front())));
      points.push_back(std::move(point));
    }
    put(j, "points", std::move(points));
  }
  Json notes = Json::array();
  for (const Note& n : asked.notes) notes.push_back(write_note(n));
  put(j, "notes", std::move(notes));
  return j;
}

Json write_search_progress(const Search& search) {
  Json j;
  put(j, "progress", search.progress());
  put(j, "counts", counts_json(search.counts()));
  Json best = nullptr;
  if (const std::vector<Candidate> list = search.best(); !list.empty()) {
    const Plan plan = search.plan_of(list.front());
    best = Json::object();
    put(best, "label", layout_label(plan));
    put(best, "time_s", list.front().time);
    put(best, "need_bytes", list.front().need);
  }
  put(j, "best", std::move(best));
  return j;
}

}  // namespace wireplan
