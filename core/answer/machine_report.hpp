// Measured curves beside predicted ones: where a machine is below what its wires allow, and the likeliest cause.
//
// Three numbers of a sweep, not single points: t0 the median time up to 4 KiB, Binc = ΔV/ΔT between the two largest sizes (from
// 64 MiB on), dip the least busbw(S) over the largest busbw of a smaller size (S from 4 MiB on); R the median of measured over
// predicted time from 16 MiB on. A curve is looked at closer where R > 1.3 (1.6 where the prediction is a formula alone),
// t0 > 1.5 × predicted, or dip < 0.75; the first rule that fits names the cause. On published sweeps, all taken as healthy, R > 1.3
// in 2 % where the kind of machine was known, t0 > 1.5 × in 2 %, and dip was never below 0.80. No published sweep has a known
// fault: signatures are physics, see tests/core/answer/machine_report_test.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cost/collective.hpp"
#include "core/describe/profile.hpp"

namespace wireplan {

// One measured curve with its prediction and as much of the machine as the rules ask for.
struct MachineCurve {
  Collective collective = Collective::all_reduce;
  int ranks = 2, nodes = 1;
  std::vector<MeasuredCurve::Point> measured;  // sizes rising
  std::vector<Range<Seconds>> predicted;       // of the same sizes
  Basis basis = Basis::formula;                // the weakest among them
  bool is_single_process = false;
  std::string_view link_class;      // inside a node: "nvswitch", "mesh", "bridge", "pcie-switch", "pcie-host", "host-memory"
  int pcie_generation = 0;
  Seconds launch;                   // L0 of that class
  BytesPerSecond ring_rate;         // bus bandwidth of the ring alone, where the prediction may be another algorithm; 0: not known
  bool may_use_nvls = false;        // NVSwitch and Hopper or newer
  bool is_pair_in_switch = false;   // two GPUs below one PCIe switch
  int nics = 0, gpus_used = 0, gpus_per_node = 0;  // of a node
  BytesPerSecond nic_sum;           // rate of a node's NICs; 0: one node
};

struct MachineFinding {
  std::string rule;   // "no-p2p": one word for programs
  bool is_fault = true;
  std::string text;   // curves, what is seen and what it means
  std::string check;  // the command to run next
};

// Findings over all curves of a machine, in order of the curves; the same rule on several curves is one finding.
std::vector<MachineFinding> machine_findings(const std::vector<MachineCurve>& curves);

// A measured curve on a cluster: ranks spread evenly over its nodes, on the stated GPUs or the first ones. Nothing where it has
// more nodes than the cluster, or more GPUs of a node than `cluster` was prepared with. The cluster's own profile must not be in it, else a
// curve is compared with itself. `link_class` points into the constants of `cluster`.
std::optional<MachineCurve> machine_curve(const MeasuredCurve& curve, const PreparedCluster& cluster);

// T = latency + V / rate on one curve, V = bus factor · size.
struct MachineFit {
  Collective collective{};
  int ranks = 2, nodes = 1;
  std::string link_class;
  Seconds latency;      // 0: no size up to 64 KiB
  BytesPerSecond rate;  // 0: fewer than two sizes
  struct Band {         // how well the line says the sizes from `from` to below `to`
    Bytes from, to;
    std::size_t sizes = 0;
    double median = 0, worst = 0;  // of (latency + V / rate) / measured - 1: the middle, and the farthest off
  };
  std::vector<Band> bands;  // below 64 KiB, to 1 MiB, above; those without sizes left out
};

// formula: rate = V over time, median of the slopes between all pairs of sizes from 1 MiB on (of all sizes where fewer than two are so
//   large) (Theil and Sen); latency = median of T - V / rate over the sizes up to 64 KiB, of 4 KiB where there are some, at least 0.
// valid: sizes rising.  kind: estimate, not moved by a third of the points being off.  test: machine_report_test.cpp
MachineFit fit_of(const MachineCurve& curve);

struct MachineReport {
  struct Row {
    std::size_t curve = 0, point = 0;
    double error = 0;  // predicted / measured - 1
    bool is_within = false;
  };
  std::vector<MachineCurve> curves;
  std::vector<Row> rows;
  std::vector<MachineFit> fits;
  std::vector<MachineFinding> findings;
  std::vector<std::string> left_out;  // curves that the cluster cannot have
  double tolerance = 0;               // 0: the prediction's own band
  bool is_within = true;              // of each curve at least three quarters of the rows: bands hold 83 % of healthy points
};
MachineReport machine_report(const std::vector<MeasuredCurve>& curves, const PreparedCluster& cluster, double tolerance);

}  // namespace wireplan
