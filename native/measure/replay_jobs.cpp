#include "native/measure/replay_jobs.hpp"

#include <algorithm>
#include <cmath>

#include "core/answer/curves.hpp"

namespace wireplan {
namespace {

ElementType type_of(Element e) {
  switch (e) {
    case Element::fp64: return ElementType::float64;
    case Element::fp32: return ElementType::float32;
    case Element::bf16: return ElementType::bfloat16;
    case Element::fp16: return ElementType::half;
    case Element::uint8: break;
  }
  return ElementType::uint8;
}

// The products of a share of a layer and of the head: fewer rows, or less depth where the sum runs over the rows.
void add_products(std::vector<Job::Product>& list, const std::vector<MatrixProduct>& products, double share, double rows) {
  if (share <= 0) return;
  const auto whole = [](double v) { return static_cast<int>(std::clamp(v + 0.5, 1.0, 2e9)); };
  for (const MatrixProduct& x : products) {
    const bool is_deep = x.k == rows;
    for (double b = 0; b < x.batch; ++b) list.push_back({whole(is_deep ? x.m : x.m * share), whole(x.n), whole(is_deep ? x.k * share : x.k)});
  }
}

bool is_alike(const std::vector<StepJob>& a, const std::vector<StepJob>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const StepJob& x, const StepJob& y) {
    return x.lane == y.lane && x.message == y.message && x.is_hop == y.is_hop && x.time == y.time && x.after == y.after;
  });
}

}  // namespace

Schedules::Schedules(const Plan& p, const StepCost& c, const EfficiencyConstants& k) : plan(p), cost(c), efficiency(k), groups(p, c) {
  const int world = static_cast<int>(total_gpus(p.cluster));
  for (int r = 0; r < world; ++r) gpu_of.push_back(p.parallel.placement.empty() ? r : static_cast<int>(p.parallel.placement[static_cast<std::size_t>(r)]));
  rank_on.resize(gpu_of.size());
  for (int r = 0; r < world; ++r) rank_on[static_cast<std::size_t>(gpu_of[static_cast<std::size_t>(r)])] = r;
  for (int r : rank_on) jobs.push_back(step_jobs(p, c, k, groups, r));
}

std::vector<std::vector<int>> Schedules::groups_of_gpus() const {
  std::vector<std::vector<int>> all = groups.groups();
  for (std::vector<int>& group : all)
    for (int& r : group) r = gpu_of[static_cast<std::size_t>(r)];
  return all;
}

Call call_of(const StepJob& job, const MessageCost& message) {
  Call call;
  call.op = job.is_hop ? Collective::broadcast : message.message.collective;
  call.in_place = job.is_hop;  // the sender needs no copy of its own
  call.type = type_of(message.message.element);
  call.count = static_cast<std::size_t>(std::max(1.0, call_size(call.op, message.message.bytes, call.type, job.is_hop ? 2 : message.ranks).count));
  return call;
}

Result<ProcessJobs> process_jobs(const Schedules& s, const std::vector<int>& own, bool with_products) {
  const std::vector<StepJob>& first = s.jobs[static_cast<std::size_t>(own.front())];
  for (int gpu : own)
    if (!is_alike(first, s.jobs[static_cast<std::size_t>(gpu)]))
      return Error{"parallel.pipeline", std::to_string(s.plan.parallel.pipeline), "one process for each GPU, or 1", "one process drives GPUs of several pipeline stages, which do different things. Nearest: start one process for each GPU"};
  const StepProducts products[2] = {step_products(s.plan, true), step_products(s.plan, false)};
  const ComputeRates rates = with_products ? compute_rates(s.plan, s.efficiency) : ComputeRates{};
  const double rows = with_products && !products[0].layer.empty() ? products[0].layer.front().m : 0;
  ProcessJobs out;
  out.jobs_of.assign(own.size(), std::vector<std::vector<int>>(first.size()));
  for (std::size_t j = 0; j < first.size(); ++j) {
    const StepJob& job = first[j];
    Job base;
    base.lane = job.lane;
    for (int a : job.after)  // the ends of the jobs it is made of, on whichever GPU
      for (std::size_t g = 0; g < own.size(); ++g)
        for (int part : out.jobs_of[g][static_cast<std::size_t>(a)])
          if (std::find(base.after.begin(), base.after.end(), part) == base.after.end()) base.after.push_back(part);
    const auto put = [&](const Job& made, std::size_t gpu, bool all) {
      const int at = static_cast<int>(out.list.size());
      out.list.push_back(made);
      for (std::size_t g = all ? 0 : gpu; g < (all ? own.size() : gpu + 1); ++g) out.jobs_of[g][j].push_back(at);
    };
    if (job.message >= 0) {
      base.call = call_of(job, s.cost.messages[static_cast<std::size_t>(job.message)]);
      std::vector<int> groups;  // of several GPUs of this process some are in the same
      for (std::size_t g = 0; g < own.size(); ++g) {
        const int group = s.jobs[static_cast<std::size_t>(own[g])][j].group;
        const auto known = std::find(groups.begin(), groups.end(), group);
        if (known != groups.end()) {
          out.jobs_of[g][j].push_back(static_cast<int>(out.list.size()) - static_cast<int>(groups.end() - known));
          continue;
        }
        groups.push_back(group);
        base.group = group;
        put(base, g, false);
      }
      continue;
    }
    base.seconds = job.time.value;
    if (with_products && (job.layers > 0 || job.heads > 0)) {
      const bool is_forward = job.kind == StepEventKind::forward;
      Job work = base;
      add_products(work.products, products[is_forward ? 0 : 1].layer, static_cast<double>(job.layers), rows);
      add_products(work.products, products[is_forward ? 0 : 1].head, static_cast<double>(job.heads), rows);
      Seconds time;
      for (const Job::Product& x : work.products) time += matrix_product_time({static_cast<double>(x.m), static_cast<double>(x.n), static_cast<double>(x.k)}, rates.matrix);
      work.seconds = time.value;
      put(work, 0, true);
      base.after.clear();  // the products before it in the lane waited
      base.seconds = std::max(0.0, (job.time - job.slowed - time).value);
    }
    put(base, 0, true);
  }
  // Every process has a job on every lane, so that all count the same lanes.
  for (int lane = 0; lane < static_cast<int>(s.groups.lanes().size()); ++lane) {
    Job rest;
    rest.lane = lane;
    out.list.push_back(rest);
  }
  return out;
}

}  // namespace wireplan
