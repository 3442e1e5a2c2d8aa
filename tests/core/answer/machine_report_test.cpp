// Healthy sweeps as they were published, and the same sweeps changed as the physics of a fault would change them.
#include "core/answer/machine_report.hpp"

#include <catch2/catch_test_macros.hpp>
#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "core/text/read_cluster.hpp"
#include "core/text/read_runs.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const std::map<std::string, CollectiveRun>& samples() {
  static const std::map<std::string, CollectiveRun> all = [] {
    std::ifstream file("tests/data/collectives_samples.jsonl");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::map<std::string, CollectiveRun> runs;
    const Result<Runs> read = read_runs(text, presets());
    for (const Run& run : read.value().runs) runs.emplace(run.id, *run.collective);
    return runs;
  }();
  return all;
}

std::vector<MeasuredCurve::Point> points_of(const std::string& id) {
  std::vector<MeasuredCurve::Point> points;
  for (const auto& p : samples().at(id).points)
    if (p.size.value > 0) points.push_back({p.size, p.time});
  return points;
}

// A sweep as its own prediction: "the machine is as it should be", in a table of its kind.
MachineCurve healthy(const std::string& id, std::string_view link_class) {
  const CollectiveRun& run = samples().at(id);
  MachineCurve c;
  c.collective = run.collective;
  c.ranks = run.gpus;
  c.nodes = run.nodes;
  c.measured = points_of(id);
  for (const auto& p : c.measured) c.predicted.push_back({p.time * 0.9, p.time, p.time * 1.1});
  c.basis = Basis::measured;
  c.link_class = link_class;
  c.launch = Seconds(5e-6);
  c.pcie_generation = 4;
  c.gpus_used = c.gpus_per_node = run.gpus / run.nodes;
  if (run.nodes > 1) {
    c.nics = run.cluster.network->nics_per_node;
    c.nic_sum = run.cluster.network->nic_rate * c.nics;
  }
  return c;
}

// T(S) of the fault from the healthy time: `late` seconds at the start, and beyond 4 KiB everything above the start `times` as long.
void slow_down(MachineCurve& c, double late, double times) {
  double t0 = c.predicted.front().value.value;
  for (const auto& p : c.predicted) t0 = std::min(t0, p.value.value);
  for (std::size_t i = 0; i < c.measured.size(); ++i) c.measured[i].time = Seconds(t0 + late + (c.predicted[i].value.value - t0) * (c.measured[i].size.value > 4096 ? times : 1));
}

std::string rules_of(const std::vector<MachineCurve>& curves) {
  std::string rules;
  for (const MachineFinding& f : machine_findings(curves)) {
    rules += (rules.empty() ? "" : " ") + f.rule;
    CHECK_FALSE(f.text.empty());
    CHECK_FALSE(f.check.empty());
  }
  return rules;
}

}  // namespace

TEST_CASE("healthy machines raise no finding: one library version against another", "[machine]") {
  const std::pair<const char*, const char*> twins[] = {{"aic-h100_sxm-2.27.3-allreduce-8", "aic-h100_sxm-2.29.2-allreduce-8"},
                                                       {"aic-h100_sxm-2.29.2-allreduce-8", "aic-h100_sxm-2.27.3-allreduce-8"},
                                                       {"aic-h100_sxm-2.27.3-allgather-8", "aic-h100_sxm-2.29.2-allgather-8"},
                                                       {"aic-b200_sxm-2.28.9-allreduce-8", "aic-b200_sxm-2.27.5-allreduce-8"}};
  for (const auto& [id, twin] : twins) {
    MachineCurve c = healthy(id, "nvswitch");
    c.may_use_nvls = true;
    c.measured = points_of(twin);
    INFO(id);
    CHECK(rules_of({c}) == "");
  }
}

TEST_CASE("healthy machines raise no fault against the formula", "[machine]") {
  for (const auto& [id, run] : samples()) {
    MeasuredCurve m;
    m.collective = run.collective;
    m.ranks = run.gpus;
    m.nodes = run.nodes;
    m.points = points_of(id);
    const PreparedCluster cluster = prepare(run.cluster, constants().links);
    const MachineReport report = machine_report({m}, cluster, 0);
    CHECK(report.left_out.empty());
    CHECK(report.rows.size() == m.points.size());
    std::string faults;
    for (const MachineFinding& f : report.findings)
      if (f.is_fault) faults += f.rule;
    INFO(id);
    // One third of the sizes of this run really are slower than larger ones.
    CHECK(faults == (id == "deepops-dgx1-2n-roce" ? "noise" : ""));
  }
}

TEST_CASE("each fault is named by its physics", "[machine]") {
  struct {
    const char *name, *id, *link_class;
    std::function<void(MachineCurve&)> change;
    const char* rules;
  } rows[] = {
      {"as it should be", "aic-l40s-2.27.3-allreduce-2", "pcie-host", [](MachineCurve&) {}, ""},
      {"warm-up", "aic-h100_sxm-2.27.3-allreduce-8", "nvswitch", [](MachineCurve& c) { c.measured[0].time = Seconds(2.2e-3); }, "warm-up"},
      {"the host launches late", "aic-h100_sxm-2.27.3-allreduce-8", "nvswitch", [](MachineCurve& c) { for (auto& p : c.measured) p.time += Seconds(20e-6); }, "host-bound-launch"},
      // Eight cards through host memory: 2.35 µs a step instead of about 1.3, half the rate.
      {"no P2P", "aic-rtx_pro_6000_server-2.29.2-allreduce-8", "pcie-switch", [](MachineCurve& c) { slow_down(c, 14 * 1.3e-6, 2); }, "no-p2p"},
      {"P2P level", "aic-rtx_pro_6000_server-2.29.2-allreduce-8", "pcie-switch", [](MachineCurve& c) { slow_down(c, 0, 1 / 0.74); }, "p2p-level"},
      {"ACS", "aic-l40s-2.27.3-allreduce-2", "pcie-switch", [](MachineCurve& c) { c.is_pair_in_switch = true; slow_down(c, 0, 2); }, "acs-iommu"},
      {"posted writes", "aic-rtx_pro_6000_server-2.29.2-allreduce-8", "pcie-switch",
       [](MachineCurve& c) { for (auto& p : c.measured) if (p.size.value > 16 * 1048576) p.time = p.time * 14; }, "posted-writes"},
      {"x16 runs as x4", "aic-l40s-2.27.3-allreduce-2", "pcie-host", [](MachineCurve& c) { slow_down(c, 0, 4); }, "pcie-downtrained"},
      {"x16 runs as x8", "aic-l40s-2.27.3-allreduce-2", "pcie-host", [](MachineCurve& c) { slow_down(c, 0, 2); }, "pcie-downtrained"},
      {"NUMA", "aic-l40s-2.27.3-allreduce-2", "pcie-host", [](MachineCurve& c) { slow_down(c, 0, 1 / 0.72); }, "numa"},
      {"NVLink missing", "aic-h100_sxm-2.27.3-allreduce-8", "nvswitch", [](MachineCurve& c) { slow_down(c, 5e-6, 365.0 / 41); }, "nvlink-missing"},
      {"one NIC of eight", "deepops-dgxa100-2n", "nvswitch", [](MachineCurve& c) { c.nic_sum = BytesPerSecond(1e15); slow_down(c, 0, 8); }, "few-nics"},
      {"GPUDirect off", "deepops-dgxa100-2n", "nvswitch", [](MachineCurve& c) { slow_down(c, 30e-6, 3.2); }, "gpudirect-off"},
      {"sockets", "deepops-dgxa100-2n", "nvswitch", [](MachineCurve& c) { slow_down(c, 80e-6, 12); }, "socket-fallback"},
      {"noise", "deepops-dgxa100-2n", "nvswitch", [](MachineCurve& c) { for (std::size_t i = 1; i + 4 < c.measured.size(); i += 3) c.measured[i].time = c.measured[i].time * 9; }, "noise"},
      {"slow without a pattern", "aic-h100_sxm-2.27.3-allreduce-8", "nvswitch", [](MachineCurve& c) { slow_down(c, 0, 1.9); }, "slower"},
  };
  for (auto& row : rows) {
    MachineCurve c = healthy(row.id, row.link_class);
    row.change(c);
    INFO(row.name);
    std::string rules = rules_of({c});
    // What the sweep itself shows besides.
    if (const std::size_t found = rules.find("two-node-tree"); found != std::string::npos && std::string(row.name) != "as it should be") {
      rules.erase(found, 13);
      rules.erase(0, rules.find_first_not_of(' '));
    }
    CHECK(rules == row.rules);
  }
}

TEST_CASE("NVLS off shows beside the ring's rate, or beside all_gather", "[machine]") {
  MachineCurve reduce = healthy("aic-h100_sxm-2.27.3-allreduce-8", "nvswitch"), gather = healthy("aic-h100_sxm-2.27.3-allgather-8", "nvswitch");
  reduce.may_use_nvls = true;
  CHECK(rules_of({reduce, gather}) == "");
  // A ring of the same GPUs moves twice what all_gather does.
  MachineCurve off = reduce;
  for (auto& p : off.measured)
    for (const auto& q : gather.measured)
      if (p.size == q.size) p.time = std::max(p.time, q.time * 2);
  CHECK(rules_of({off, gather}) == "nvls-off");
  off.ring_rate = BytesPerSecond(371e9);
  CHECK(rules_of({off}) == "nvls-off");
  off.may_use_nvls = false;  // nothing that could be off: slower than predicted for another reason
  CHECK(rules_of({off}) == "slower");
}

TEST_CASE("a tree over two nodes is no fault", "[machine]") {
  const std::vector<MachineFinding> found = machine_findings({healthy("oci-a100-16-2023", "nvswitch")});
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == "two-node-tree");
  CHECK_FALSE(found[0].is_fault);
}

TEST_CASE("a library that changes algorithm too late", "[machine]") {
  MachineCurve c = healthy("deepops-dgxa100-2n", "nvswitch");
  c.nic_sum = BytesPerSecond(0);
  for (std::size_t i = 0; i < c.measured.size(); ++i)
    if (c.measured[i].size.value >= 4 * 1048576 && c.measured[i].size.value <= 64 * 1048576) c.measured[i].time = std::max(c.measured[i].time, Seconds(2.6e-3));
  CHECK(rules_of({c}) == "wrong-algorithm");
}

TEST_CASE("more nodes slower than two alone", "[machine]") {
  MachineCurve two = healthy("deepops-dgxa100-2n", "nvswitch"), eight = two;
  eight.nodes = 8;
  eight.ranks = 64;
  slow_down(eight, 0, 1.5);
  CHECK(rules_of({two, eight}) == "oversubscribed");
  CHECK(rules_of({eight}) == "slower");
}

TEST_CASE("the fit of a sweep", "[machine]") {
  MachineCurve c;
  c.ranks = 2;  // bus factor 1
  for (double size = 1024; size <= 1 << 28; size *= 2) c.measured.push_back({Bytes(size), Seconds(1e-5 + size / 20e9)});
  c.predicted.resize(c.measured.size());
  c.measured[15].time = Seconds(1);  // one point that is off
  const MachineFit fit = fit_of(c);
  CHECK(std::abs(fit.latency.value - 1e-5) < 2e-7);
  CHECK(std::abs(fit.rate.value / 20e9 - 1) < 0.01);
  REQUIRE(fit.bands.size() == 3);
  CHECK(std::abs(fit.bands[0].median) < 0.01);
  CHECK(std::abs(fit.bands[0].worst) < 0.03);
  CHECK(fit.bands[0].sizes == 6);
  CHECK(fit.bands[2].worst < -0.9);  // the point that is off
  CHECK(std::abs(fit.bands[2].median) < 0.01);
}

TEST_CASE("the fit knows latency and rate of slow links, where 4 KiB take longer than the latency", "[machine]") {
  for (const double rate : {12.5e6, 62.5e6, 1e9})
    for (const double latency : {2e-5, 3e-4}) {
      MachineCurve c;
      c.ranks = 4;  // bus factor 1.5
      for (double size = 1024; size <= 1 << 22; size *= 2) c.measured.push_back({Bytes(size), Seconds(latency + 1.5 * size / rate)});
      c.predicted.resize(c.measured.size());
      const MachineFit fit = fit_of(c);
      CHECK(std::abs(fit.latency.value / latency - 1) < 0.02);
      CHECK(std::abs(fit.rate.value / rate - 1) < 0.02);
    }
}

TEST_CASE("a report says what is within, and what is not in the cluster", "[machine]") {
  const Result<Cluster> cluster = read_cluster(parse_json(R"("hgx-h100-80gb")").value(), presets(), "cluster");
  REQUIRE(cluster);
  const PreparedCluster prepared = prepare(cluster.value(), constants().links);
  MeasuredCurve gather;
  gather.collective = Collective::all_gather;
  gather.ranks = 8;
  gather.points = points_of("aic-h100_sxm-2.27.3-allgather-8");
  MeasuredCurve nodes = gather;
  nodes.nodes = 2;
  const MachineReport report = machine_report({gather, nodes}, prepared, 0);
  CHECK(report.is_within);
  REQUIRE(report.left_out.size() == 1);
  CHECK(report.left_out[0] == "all_gather on 8 ranks of 2 nodes is not in this cluster");
  REQUIRE(report.curves.size() == 1);
  CHECK(report.curves[0].link_class == "nvswitch");
  CHECK_FALSE(machine_report({gather}, prepared, 0.001).is_within);
  CHECK(machine_report({gather}, prepared, 0.5).is_within);
}
