#include <algorithm>
#include <cmath>

#include "core/answer/nccl_finder.hpp"
#include "core/base/format.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr double kMiB = 1048576;

double cost_rate(const Decision& d, Algorithm algorithm, Protocol protocol) { return d.cost(Operation::all_reduce, algorithm, protocol).rate; }

// Whether a variable that holds by operation says anything.
template <class Table>
bool has_any(const Table& table) {
  return std::any_of(table.begin(), table.end(), [](const auto& row) { return std::any_of(row.begin(), row.end(), [](auto v) { return v != 0; }); });
}

std::string time_text(double us) { return format_seconds(Seconds(us / 1e6)); }
std::string size_text(double bytes) { return format_message_size(Bytes(bytes)); }

}  // namespace

// NCCL_ALGO and NCCL_PROTO without the name of an operation hold for all of them.
void NcclFinder::find_nothing_left() {
  const Environment& e = request_.environment;
  std::string left;
  int count = 0;
  bool has_ring = true;
  for (int op = 0; op < kOperations; ++op)
    if (choice_at(decision_, release_, static_cast<Operation>(op), kMiB).is_none) {
      left += (count++ == 0 ? "" : ", ") + std::string(name_of(static_cast<Operation>(op)));
      has_ring = has_ring && !e.algorithms[static_cast<std::size_t>(op)][static_cast<std::size_t>(Algorithm::ring)];
    }
  if (count == 0) return;
  const bool by_algo = has_any(e.algorithms), by_proto = has_any(e.protocols);
  const std::string who = by_algo && by_proto ? "NCCL_ALGO and NCCL_PROTO leave" : by_algo ? "NCCL_ALGO leaves" : "NCCL_PROTO leaves";
  add("nothing-left", Severity::error, who + " no algorithm for " + (count == kOperations ? "any operation" : left) + ": NCCL stops with an error at the first such call",
      !has_ring ? "name the operation it is meant for (NCCL_ALGO=allgather:pat, say), or add ring, which can do all of them" : "add Simple to NCCL_PROTO, which every algorithm has");
}

// Rule 16: reductions in the NVSwitch.
void NcclFinder::find_nvls() {
  if (decision_.nvls.channels == 0) return;
  const double nvls = std::max(cost_rate(decision_, Algorithm::nvls, Protocol::simple), cost_rate(decision_, Algorithm::nvls_tree, Protocol::simple));
  double other = 0;
  for (const Algorithm a : {Algorithm::ring, Algorithm::tree})
    for (const Protocol p : {Protocol::ll128, Protocol::simple}) other = std::max(other, cost_rate(decision_, a, p));
  if (nvls == 0 || other == 0) return;
  const Choice large = choice_at(decision_, release_, Operation::all_reduce, 16384 * kMiB);
  if (large.is_none) return;
  const Algorithm taken = large.algorithm;
  const bool takes_nvls = taken == Algorithm::nvls || taken == Algorithm::nvls_tree;
  const std::string with = format_rate(BytesPerSecond(nvls * 1e9)), without = format_rate(BytesPerSecond(other * 1e9));
  const std::string compare = takes_nvls ? "measure against NCCL_NVLS_ENABLE=0" : "measure against NCCL_ALGO=allreduce:NVLS" + std::string(is_inside() ? "" : "Tree");
  if (std::fabs(nvls - other) <= 0.01 * other)
    add("nvls-tie", Severity::info,
        "In NCCL's model large all_reduce calls are as fast with reductions in the NVSwitch (NVLS, " + with + ") as without (" + without + "): " + (takes_nvls ? "NVLS" : "the other") +
            " is taken for its latency alone, and another release of NCCL may decide otherwise",
        compare + ": NCCL's own numbers do not tell which is faster");
  else if (!takes_nvls)
    add("nvls-not-taken", Severity::info, "Reductions in the NVSwitch (NVLS) are possible, but large all_reduce calls do not use them: NCCL expects " + with + " with, " + without + " without. This changes with the number of GPUs and with the release",
        compare + "; by NCCL's own numbers nothing is to be gained");
}

// LL sends as many flags as data. Where nothing lies between it and Simple, it is kept beyond its best.
void NcclFinder::find_long_ll() {
  Choice before = choice_at(decision_, release_, Operation::all_reduce, 512);
  for (double size = 1024; size <= kLargeMessage; size *= 2) {
    const Choice now = choice_at(decision_, release_, Operation::all_reduce, size);
    if (before.algorithm == Algorithm::ring && before.protocol == Protocol::ll && now.algorithm == Algorithm::ring && now.protocol == Protocol::simple && size / 2 >= kMiB) {
      // The border itself, to 1 %.
      double low = size / 2, high = size;
      while (high > 1.01 * low) {
        const double middle = (low + high) / 2;
        (choice_at(decision_, release_, Operation::all_reduce, middle).protocol == Protocol::ll ? low : high) = middle;
      }
      std::string remedy = "messages (DDP or FSDP buckets) of " + size_text(size) + " and more";
      Request without = request_;
      for (auto& of_operation : without.environment.protocols)
        for (std::size_t p = 0; p < kProtocols; ++p) of_operation[p] = p == static_cast<std::size_t>(Protocol::ll) ? -1 : std::max<signed char>(of_operation[p], 0);
      const auto d = decided(without);
      if (const auto time = d ? expected_us(*d, release_, size / 2) : std::nullopt)
        remedy += "; NCCL_PROTO=^LL as a test: at " + size_text(size / 2) + " NCCL itself expects " + time_text(*time) + " instead of " + time_text(before.time_us) + ", so only a measurement shows a gain, and small messages lose";
      add("long-ll", Severity::info,
          "NCCL keeps its protocol for small messages, LL (half of what it sends are flags), for all_reduce up to " + size_text(std::round(high / (kMiB / 16)) * (kMiB / 16)) + " and goes from there to Simple at once. Measured, such a step is a kink: just before it twice the size takes 1.9 to 2.4 times as long, and behind it the time falls",
          remedy);
      return;
    }
    before = now;
  }
}

// Channels other than the search and its doubling give.
void NcclFinder::find_channel_limits() {
  const Environment& e = request_.environment;
  const Environment defaults;
  if (e.min_channels == defaults.min_channels && e.max_channels == defaults.max_channels) return;
  if (decision_.channels > e.max_channels) {
    const bool by_variable = decision_.channels == e.min_channels;
    add("no-limit", Severity::warning,
        "NCCL_MAX_NCHANNELS=" + std::to_string(e.max_channels) + " does not hold: " + (by_variable ? "NCCL_MIN_NCHANNELS=" + std::to_string(e.min_channels) + " is applied after it" : "NVLS has more, and NCCL " + release_.version + " gives rings as many") +
            ", so " + std::to_string(decision_.channels) + " channels run",
        by_variable ? "unset one of the two" : "NCCL_NVLS_ENABLE=0, where the limit counts for more");
    return;
  }
  Request free = request_;
  free.environment.min_channels = defaults.min_channels;
  free.environment.max_channels = defaults.max_channels;
  const auto d = decided(free);
  if (!d || d->channels == decision_.channels) return;
  const std::string counts = std::to_string(decision_.channels) + (decision_.channels == 1 ? " channel instead of " : " channels instead of ") + std::to_string(d->channels);
  const bool leaves_out = decision_.channels < decision_.ring.channels;
  if (decision_.channels < d->channels)
    add("fewer-channels", Severity::warning, "NCCL_MAX_NCHANNELS cuts to " + counts + ": fewer blocks of a GPU drive the links, " + (leaves_out ? "and rings that were found stay unused" : "though each of the rings that were found still runs") + ", and NCCL goes on to plan " + plan_text(decision_), "unset it, where bandwidth counts for more than the GPU's own work");
  else
    add("copied-channels", Severity::info, "NCCL_MIN_NCHANNELS makes " + counts + ": the further ones repeat the same rings over the same links, and NCCL goes on to plan " + plan_text(decision_),
        "measure with and without: it helps where one block of a GPU cannot fill a link, and takes blocks from the GPU's own work");
}

// What a variable costs by NCCL's own numbers. Whether rails cross is another finding's.
void NcclFinder::find_variables() {
  const Environment& e = request_.environment;
  struct Variable { bool is_set; std::string name; void (*unset)(Environment&); };
  const Variable variables[] = {
      {e.p2p_level.has_value() && !is_found("uplink-twice") && !is_found("no-p2p"), e.p2p_level == PathType::loc ? "NCCL_P2P_DISABLE=1 (or NCCL_P2P_LEVEL=LOC)" : "NCCL_P2P_LEVEL", [](Environment& x) { x.p2p_level.reset(); }},
      {e.pxn_disable, "NCCL_PXN_DISABLE=1", [](Environment& x) { x.pxn_disable = false; }},
      {!e.nvls_enable, "NCCL_NVLS_ENABLE=0", [](Environment& x) { x.nvls_enable = true; }},
      {e.nvb_disable, "NCCL_NVB_DISABLE=1", [](Environment& x) { x.nvb_disable = false; }},
      {e.net_disable_intra, "NCCL_NET_DISABLE_INTRA=1", [](Environment& x) { x.net_disable_intra = false; }},
      {has_any(e.algorithms), "NCCL_ALGO", [](Environment& x) { x.algorithms = {}; }},
      {has_any(e.protocols), "NCCL_PROTO", [](Environment& x) { x.protocols = {}; }},
  };
  for (const Variable& v : variables) {
    if (!v.is_set) continue;
    Request without = request_;
    v.unset(without.environment);
    const auto d = decided(without);
    if (!d) return;
    std::string text;
    if (planned_rate(*d) > 1.02 * planned_rate(decision_)) text = "NCCL plans " + plan_text(decision_) + " with it, " + plan_text(*d) + " without";
    double worst = 1.05;
    if (text.empty())
      for (const double size : {kLargeMessage, kMiB, 32768.0}) {
        const auto with = expected_us(decision_, release_, size), free = expected_us(*d, release_, size);
        if (!with || !free || *with < worst * *free) continue;
        worst = *with / *free;
        text = "NCCL expects " + time_text(*with) + " for an all_reduce of " + size_text(size) + " with it, " + time_text(*free) + " without";
      }
    if (!text.empty()) add("variable-costs", Severity::warning, v.name + " costs speed by NCCL's own numbers: " + text, "unset it, unless a measurement says otherwise");
  }
}

}  // namespace wireplan
