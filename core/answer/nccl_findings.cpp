#include "core/answer/nccl_findings.hpp"

#include <algorithm>
#include <cmath>

#include "core/answer/nccl_finder.hpp"
#include "core/base/format.hpp"

namespace wireplan {

using namespace nccl;

namespace {

constexpr int kMostTries = 8, kMostTriesOfRacks = 3, kManyRanks = 64;  // a rack takes tens of times as long

}  // namespace

double planned_rate(const Decision& d) { return d.ring.channels * static_cast<double>(d.nccl_nodes() <= 2 ? d.ring.intra : d.ring.inter); }

std::string rate_text(double gb_per_s) { return format_exact(std::round(gb_per_s * 100) / 100) + " GB/s"; }

std::string plan_text(const Decision& d) {
  const double rate = static_cast<double>(d.nccl_nodes() <= 2 ? d.ring.intra : d.ring.inter);
  return (d.ring.channels > 1 ? std::to_string(d.ring.channels) + " x " : "") + rate_text(rate);
}

std::optional<double> expected_us(const Decision& d, const Release& release, double size) {
  const Choice choice = choice_at(d, release, Operation::all_reduce, size);
  return choice.is_none ? std::nullopt : std::optional(choice.time_us);
}

bool NcclFinder::is_found(std::string_view rule) const {
  return std::any_of(list_.begin(), list_.end(), [&](const NcclFinding& f) { return f.rule == rule; });
}

std::optional<Decision> NcclFinder::decided(const Machine& machine, const Request& request) {
  if (tries_ >= (decision_.most_ranks_of_node > kManyRanks ? kMostTriesOfRacks : kMostTries)) return std::nullopt;
  ++tries_;
  return decide_costs(machine, request, release_);
}

std::optional<Decision> NcclFinder::decided_for(const std::vector<int>& gpus) {
  if (gpus.size() * static_cast<std::size_t>(request_.hosts) < 2) return std::nullopt;
  Request fewer = request_;
  fewer.gpus = gpus;
  return decided(fewer);
}

void NcclFinder::add(std::string_view rule, Severity severity, std::string text, std::string remedy) {
  const auto behind = std::find_if(list_.begin(), list_.end(), [&](const NcclFinding& f) { return f.severity < severity; });
  list_.insert(behind, {rule, severity, std::move(text), std::move(remedy)});
}

std::vector<NcclFinding> NcclFinder::all() {
  find_nothing_left();
  find_no_p2p();
  find_several_nodes();
  find_no_graph();
  find_unknown_speeds();
  find_missing_nvlinks();
  find_narrow_slots();
  find_narrow_nics();
  find_islands();
  find_far_cpus();
  find_host_memory();
  find_no_gpudirect();
  find_crossed_rails();
  find_slow_network();
  find_shared_nics();
  find_idle_nics();
  find_nvls();
  find_long_ll();
  find_channel_limits();
  find_variables();
  return std::move(list_);
}

std::vector<NcclFinding> nccl_findings(const Machine& machine, const Request& request, const Release& release, const Decision& decision) {
  if (decision.ranks < 2 || decision.nodes.empty()) return {};
  return NcclFinder(machine, request, release, decision).all();
}

}  // namespace wireplan
