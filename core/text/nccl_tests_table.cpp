#include "core/text/nccl_tests_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

constexpr int kMostRanks = 100'000;

struct TypeName {
  std::string_view name, dtype;
  double bytes;
};
constexpr std::array<TypeName, 18> kTypes = {{{"float", "fp32", 4},     {"half", "fp16", 2},         {"bfloat16", "bf16", 2},   {"double", "fp64", 8},
                                              {"int8", "int8", 1},      {"uint8", "uint8", 1},       {"int32", "int32", 4},     {"uint32", "uint32", 4},
                                              {"int64", "int64", 8},    {"uint64", "uint64", 8},     {"f8e4m3", "fp8", 1},      {"f8e5m2", "fp8", 1},
                                              {"fp8_e4m3", "fp8", 1},   {"fp8_e5m2", "fp8", 1},      {"char", "int8", 1},       {"int", "int32", 4},
                                              {"float8e4m3", "fp8", 1}, {"float8e5m2", "fp8", 1}}};

// Ranks by the count column: size / (element · count) where it is the number of elements of one rank. 1: it is that of all.
double ranks_by_count(const NcclTestsTable& t) {
  const double element = nccl_type(t.type).bytes;
  if (element <= 0) return 0;
  for (auto row = t.rows.rbegin(); row != t.rows.rend(); ++row)
    if (row->count > 0 && row->size.value > 0) return std::floor(row->size.value / (element * row->count) + 0.5);
  return 0;
}

// Ranks by busbw / algbw = 2(n-1)/n or (n-1)/n; 0 where that says too little. Old all_gather tables have a ratio of 1.
double ranks_by_ratio(const NcclTestsTable& t, Collective c) {
  const NcclTestsRow* row = fastest_row(t);
  if (row == nullptr || row->algbw < 1) return 0;
  const double ratio = row->busbw / row->algbw / (c == Collective::all_reduce ? 2 : 1), error = 0.02 / row->algbw;
  if (!(c == Collective::all_reduce || is_split_by_rank(c)) || ratio > 1 - 2 * error || ratio < 0.4) return 0;
  const double n = 1 / (1 - ratio), rounded = std::floor(n + 0.5);
  return rounded <= 64 && std::fabs(n - rounded) < 0.3 ? rounded : 0;
}

struct Counts {
  int distinct = 0, most = 0;  // different keys, times the commonest one stands there
};
Counts counts_of(std::vector<std::string> keys) {
  sort(keys);
  Counts counts;
  for (std::size_t i = 0, run = 0; i < keys.size(); ++i) {
    run = i > 0 && keys[i] == keys[i - 1] ? run + 1 : 1;
    counts.distinct += run == 1;
    counts.most = std::max(counts.most, static_cast<int>(run));
  }
  return counts;
}

NcclTestsPlace place_by_devices(const NcclTestsTable& t) {
  NcclTestsPlace p;
  // Where the ranks are split into groups, each group has a communicator of its own.
  int groups = 0;
  for (const auto& d : t.devices) groups = std::max(groups, d.group + 1);
  std::vector<NcclTestsTable::Device> members;
  for (const auto& d : t.devices)
    if (d.group == 0) members.push_back(d);
  if (members.empty()) return p;
  std::vector<std::string> hosts, pids, places;
  int highest = 0;
  for (const auto& d : members) {
    highest = std::max(highest, d.rank + 1);
    hosts.push_back(d.host);
    pids.push_back(d.host + ' ' + d.pid);
    places.push_back(d.host + ' ' + std::to_string(d.device));
  }
  p.ranks = groups > 1 ? static_cast<int>(members.size()) : highest;
  if (groups > 1) p.notes.push_back("its ranks ran as " + std::to_string(groups) + " groups at once: the curve is that of one group beside the others");
  const int named = counts_of(hosts).distinct;
  p.nodes = named;
  // Hosts that were renamed to one name: the same device turns up once for each of them.
  if (const int most = counts_of(places).most; named == 1 && most > 1) {
    p.nodes = most;
    p.notes.push_back("it lists one host name, yet device " + std::to_string(members.front().device) + " more than once: taken as " + std::to_string(most) + " nodes");
  }
  const int processes = counts_of(pids).distinct;
  if (members.size() > 1) p.launch = processes == static_cast<int>(members.size()) ? "process-per-gpu" : "single-process";
  const bool is_whole = static_cast<int>(members.size()) == p.ranks && counts_of(places).most == 1;
  if (p.nodes == 1 && is_whole && !t.has_visible_devices && groups <= 1)
    for (const auto& d : members) p.gpus.push_back(d.device);
  if (static_cast<int>(members.size()) < p.ranks && groups <= 1)
    p.notes.push_back("its list of devices is cut: ranks are those up to the highest, " + std::to_string(highest - 1));
  return p;
}

}  // namespace

NcclType nccl_type(std::string_view name) {
  for (const TypeName& type : kTypes)
    if (type.name == name) return {type.dtype, type.bytes};
  return {};
}

const NcclTestsRow* fastest_row(const NcclTestsTable& t) {
  const NcclTestsRow* best = nullptr;
  for (const NcclTestsRow& row : t.rows)
    if (row.algbw > 0 && row.busbw > 0 && (best == nullptr || row.algbw > best->algbw)) best = &row;
  return best;
}

std::optional<Collective> guessed_operation(const NcclTestsTable& t) {
  const bool reduces = t.redop == "sum" || t.redop == "prod" || t.redop == "max" || t.redop == "min" || t.redop == "avg" || t.redop == "mulsum";
  const double parts = ranks_by_count(t);
  if (reduces && t.root && *t.root >= 0) return Collective::reduce;
  if (reduces && parts > 1) return Collective::reduce_scatter;
  const NcclTestsRow* row = fastest_row(t);
  const double ratio = row != nullptr && row->algbw >= 0.5 ? row->busbw / row->algbw : 0;
  if (reduces && parts == 1 && (ratio > 1.05 || ratio == 0 || t.root)) return Collective::all_reduce;
  if (!reduces && t.root && *t.root >= 0 && parts == 1) return Collective::broadcast;
  if (!t.redop.empty() && !reduces && t.root && *t.root == -1 && parts == 1 && ratio > 0.95 && ratio < 1.05) return Collective::send_recv;
  // Before 2.13 only all_gather's heading lacks redop; under alltoall's and sendrecv's the cells are blank.
  if (t.has_heading && t.redop.empty() && !t.root) {
    if (!t.has_redop_column && parts > 1) return Collective::all_gather;
    if (t.has_redop_column && parts >= 1) return parts > 1 ? Collective::all_to_all : Collective::send_recv;
  }
  return std::nullopt;
}

NcclTestsPlace place_of(const NcclTestsTable& t, Collective c) {
  NcclTestsPlace p = place_by_devices(t);
  const double by_count = is_split_by_rank(c) ? ranks_by_count(t) : 0, by_ratio = ranks_by_ratio(t, c);
  const double seen = by_count >= 2 ? by_count : by_ratio;
  const bool is_sound = seen >= 2 && seen <= kMostRanks;
  if (is_sound && static_cast<int>(seen) != p.ranks) {
    if (p.ranks > 1) p.notes.push_back("its list of devices has " + std::to_string(p.ranks) + " ranks, its columns say " + format_exact(seen) + ": those count");
    // A list cut at the end still shows how many GPUs a node has.
    const int listed = p.ranks;
    p.ranks = static_cast<int>(seen);
    if (p.nodes == 1 && listed > 1 && p.ranks > listed) p.nodes = (p.ranks + listed - 1) / listed;
    p.gpus.clear();
  }
  const long long own = static_cast<long long>(t.threads) * t.gpus;
  if (p.ranks < 2 && own > 1 && own <= kMostRanks && t.devices.empty()) p.ranks = static_cast<int>(own);
  if (p.launch.empty() && t.gpus > 0) p.launch = own > 1 ? "single-process" : "process-per-gpu";
  p.nodes = std::clamp(p.nodes, 1, std::max(p.ranks, 1));
  return p;
}

}  // namespace wireplan
