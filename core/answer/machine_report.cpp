#include "core/answer/machine_report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/format.hpp"
#include "core/base/statistics.hpp"
#include "core/cost/wiring_rates.hpp"
#include "core/count/groups.hpp"

namespace wireplan {
namespace {

constexpr double kKiB = 1024, kMiB = 1048576;

// What a sweep says of itself and of its prediction; 0 where it has too few sizes.
struct Numbers {
  double t0 = 0, t0_predicted = 0;
  double slope = 0, share = 0;  // Binc, and its share of the predicted one
  double dip = 1;
  double ratio = 0, ratio_middle = 0, ratio_large = 0;  // R; the same from 4 to 64 MiB, and from 128 MiB on
};

double median_ratio(const MachineCurve& c, double from, double to) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < c.measured.size(); ++i)
    if (c.measured[i].size.value >= from && c.measured[i].size.value <= to && c.predicted[i].value.value > 0)
      ratios.push_back(c.measured[i].time / c.predicted[i].value);
  return quantile(std::move(ratios), 0.5);
}

Numbers numbers_of(const MachineCurve& c) {
  Numbers n;
  const std::vector<MeasuredCurve::Point>& m = c.measured;
  std::vector<double> small, small_predicted;
  double fastest = 0;
  for (std::size_t i = 0; i < m.size(); ++i) {
    if (m[i].size.value <= 4 * kKiB) {
      small.push_back(m[i].time.value);
      small_predicted.push_back(c.predicted[i].value.value);
    }
    const double busbw = m[i].size / m[i].time / BytesPerSecond(1);
    if (m[i].size.value >= 4 * kMiB && fastest > 0) n.dip = std::min(n.dip, busbw / fastest);
    fastest = std::max(fastest, busbw);
  }
  n.t0 = quantile(small, 0.5);
  n.t0_predicted = quantile(small_predicted, 0.5);
  if (m.size() >= 2 && m[m.size() - 2].size.value >= 64 * kMiB) {
    const std::size_t last = m.size() - 1;
    const double grown = (m[last].time - m[last - 1].time).value, expected = (c.predicted[last].value - c.predicted[last - 1].value).value;
    const Bytes moved = bus_factor(c.collective, c.ranks) * (m[last].size - m[last - 1].size);
    if (grown > 0) n.slope = moved.value / grown;
    if (grown > 0 && expected > 0) n.share = expected / grown;
  }
  n.ratio = median_ratio(c, 16 * kMiB, 1e18);
  n.ratio_middle = median_ratio(c, 4 * kMiB, 64 * kMiB);
  n.ratio_large = median_ratio(c, 128 * kMiB, 1e18);
  return n;
}

bool is_near(double value, double target, double within) { return value > target * (1 - within) && value < target * (1 + within); }

bool is_pcie(const MachineCurve& c) { return c.link_class.starts_with("pcie") || c.link_class == "host-memory"; }
bool is_nvlink(const MachineCurve& c) { return c.link_class == "nvswitch" || c.link_class == "mesh" || c.link_class == "bridge"; }

std::string title(const MachineCurve& c) {
  return std::string(name_of(c.collective)) + " on " + std::to_string(c.ranks) + " ranks" + (c.nodes > 1 ? " of " + std::to_string(c.nodes) + " nodes" : "");
}

class Rules {
 public:
  explicit Rules(const std::vector<MachineCurve>& curves) : curves_(curves) {
    for (const MachineCurve& c : curves) numbers_.push_back(c.measured.size() == c.predicted.size() ? numbers_of(c) : Numbers{});
  }

  std::vector<MachineFinding> findings() {
    for (std::size_t i = 0; i < curves_.size(); ++i) judge(curves_[i], numbers_[i]);
    return std::move(list_);
  }

 private:
  const std::vector<MachineCurve>& curves_;
  std::vector<Numbers> numbers_;
  std::vector<MachineFinding> list_;

  void add(const MachineCurve& c, std::string rule, bool is_fault, std::string text, std::string check) {
    for (MachineFinding& known : list_)
      if (known.rule == rule) {
        known.text = title(c) + ", " + known.text;
        return;
      }
    list_.push_back({std::move(rule), is_fault, title(c) + ": " + std::move(text), std::move(check)});
  }

  void judge(const MachineCurve& given, const Numbers& with_warm_up) {
    if (given.measured.size() != given.predicted.size() || given.measured.empty()) return;
    MachineCurve c = given;
    Numbers n = with_warm_up;
    if (c.measured.size() >= 3 && c.measured[0].time.value > 2 * c.measured[1].time.value) {
      add(c, "warm-up", false, "the first size took " + format_seconds(c.measured[0].time) + ", more than twice the next: the first calls set up connections",
          "leave the row out, or measure with more warm-up (-w 20)");
      c.measured.erase(c.measured.begin());
      c.predicted.erase(c.predicted.begin());
      n = numbers_of(c);
    }
    find_tree_artefact(c);
    const bool is_noisy = find_noise(c);
    const bool is_formula = c.basis == Basis::formula || c.basis == Basis::extrapolated;
    const bool is_slow = n.ratio > (is_formula ? 1.6 : 1.3), is_late = n.t0 > 1.5 * n.t0_predicted && n.t0_predicted > 0, dips = n.dip < 0.75;
    if (find_nvls(c, n, is_formula)) return;
    if (!is_slow && !is_late && !(dips && !is_noisy)) return;
    const bool is_named = find_launch(c, n, is_late) || (c.nodes <= 1 ? find_inside(c, n) : find_network(c, n)) || find_middle(c, n);
    if (!is_named && !is_noisy) find_nothing(c, n, is_slow, is_late);
  }

  void find_tree_artefact(const MachineCurve& c) {
    if (c.collective != Collective::all_reduce || c.nodes != 2 || c.nic_sum.value <= 0) return;
    double best = 0;
    for (const auto& p : c.measured) best = std::max(best, (bus_factor(c.collective, c.ranks) * p.size).value / p.time.value);
    if (best <= 1.05 * c.nic_sum.value) return;
    add(c, "two-node-tree", false,
        "reaches " + format_rate(BytesPerSecond(best)) + " of bus bandwidth where a node's NICs carry " + format_rate(c.nic_sum) +
            ": on two nodes the tree sends less than the bus factor counts. Not a fault, and gone from three nodes on",
        "compare all_gather_perf, or NCCL_ALGO=Ring");
  }

  bool find_noise(const MachineCurve& c) {
    std::size_t slow = 0;
    double least = c.measured.back().time.value;
    for (auto p = c.measured.rbegin(); p != c.measured.rend(); ++p) {
      slow += p->time.value > 1.25 * least;
      least = std::min(least, p->time.value);
    }
    if (slow * 5 <= c.measured.size() || slow < 2) return false;
    add(c, "noise", true,
        std::to_string(slow) + " of " + std::to_string(c.measured.size()) + " sizes took over 25 % longer than a larger one: " +
            (c.nodes > 1 ? "neighbours on the network, a link that flaps, or congestion" : "other work on the machine, or clocks that change"),
        c.nodes > 1 ? "repeat at a quiet time and by pairs of nodes; ibqueryerrors, ethtool -S, switch counters" : "nvidia-smi dmon during the run; nvidia-smi -q -d PERFORMANCE");
    return true;
  }

  // All-reduce as fast as the ring where the switch could add: by the predicted ring, or by all_gather of the same ranks.
  bool find_nvls(const MachineCurve& c, const Numbers& n, bool is_formula) {
    if (c.collective != Collective::all_reduce || !c.may_use_nvls || c.ranks < 5 || c.nodes > 1 || n.slope <= 0) return false;
    bool has_gather = false, is_no_better = false;
    for (const MachineCurve& other : curves_) {
      if (other.collective != Collective::all_gather || other.ranks != c.ranks || other.nodes > 1) continue;
      for (const auto& p : c.measured)
        for (const auto& q : other.measured)
          if (p.size == q.size && p.size.value >= 512 * kMiB) {
            has_gather = true;
            is_no_better = is_no_better || 2 * (q.time / p.time) < 1.1;
          }
    }
    const bool is_ring = c.ring_rate.value > 0 && is_near(n.slope, c.ring_rate.value, 0.07) && n.share > 0 && n.share < 0.85;
    if (has_gather ? !is_no_better : !(is_ring && !is_formula)) return false;
    add(c, "nvls-off", true, "grows at " + format_rate(BytesPerSecond(n.slope)) + ", as a ring does: the NVSwitch does not add (NVLS is off)",
        "NCCL_DEBUG=INFO: \"NVLS multicast support is available\" and nvls channels above 0; systemctl status nvidia-fabricmanager; NCCL_NVLS_ENABLE");
    return true;
  }

  bool find_launch(const MachineCurve& c, const Numbers& n, bool is_late) {
    if (!is_late || (n.share > 0 && n.share < 0.85)) return false;
    const double more = n.t0 - n.t0_predicted;
    if (more < 8e-6 || more > 40e-6) return false;
    for (std::size_t i = 0; i < c.measured.size(); ++i) {
      if (c.measured[i].size.value > 512 * kKiB) continue;
      const double here = (c.measured[i].time - c.predicted[i].value).value;
      if (here < 0.5 * more || here > 1.8 * more) return false;
    }
    add(c, "host-bound-launch", true,
        "every size to 512 KiB takes " + format_seconds(Seconds(more)) + " more than the wires need, large ones do not: the host launches too late" +
            (c.is_single_process ? "; one process drives several GPUs, a process for each is faster" : ""),
        "run one process per GPU (mpirun -np N … -g 1), CUDA graphs (-G 10), nvidia-smi -q -d CLOCK; governor performance, cores bound near the GPU");
    return true;
  }

  bool find_inside(const MachineCurve& c, const Numbers& n) {
    const double late = n.t0_predicted > 0 ? n.t0 / n.t0_predicted : 1, step = n.t0 > 0 ? (n.t0 - c.launch.value) / ring_steps(c.collective, c.ranks) : 0;
    if (is_pcie(c) && c.link_class != "host-memory") {
      const bool is_old = c.pcie_generation > 0 && c.pcie_generation <= 3;
      if (step >= (is_old ? 5e-6 : 2e-6) && n.share >= 0.35 && n.share <= 0.65) {
        add(c, "no-p2p", true,
            "each step takes " + format_seconds(Seconds(step)) + " and large sizes run at " + format_percent(n.share) + " of what the links carry: copies go through host memory (no P2P)",
            "nvidia-smi topo -p2p r; NCCL_DEBUG=INFO (\"via SHM\"); NCCL_P2P_DISABLE, NCCL_P2P_LEVEL");
        return true;
      }
      if (c.link_class == "pcie-switch" && n.share >= 0.6 && n.share <= 0.8 && late < 1.3) {
        add(c, "p2p-level", true, "small sizes are as they should be, large ones run at " + format_percent(n.share) + ": part of the GPUs is not allowed to reach each other (P2P level)",
            "repeat with NCCL_P2P_LEVEL=SYS; nvidia-smi topo -p2p r");
        return true;
      }
      if (c.is_pair_in_switch && n.share > 0 && n.share <= 0.55 && late < 1.5) {
        add(c, "acs-iommu", true, "two GPUs below one switch run at " + format_percent(n.share) + " of its rate: ACS or the IOMMU sends their traffic up to the root port and back",
            "lspci -vvv | grep -i ACSCtl (SrcValid+ is bad); cat /proc/cmdline for iommu; compare a pair across root ports");
        return true;
      }
      if (c.link_class == "pcie-switch" && c.ranks > 2 && n.dip < 0.6) {
        add(c, "posted-writes", true,
            "bus bandwidth falls to " + format_percent(n.dip) + " of what smaller sizes reach: writes of one switch to several root ports block each other", "compare pairs; another order of GPUs (CUDA_VISIBLE_DEVICES), NCCL_P2P_LEVEL=PXB");
        return true;
      }
      for (const double part : {0.5, 0.25, 0.125})
        if (late < 1.3 && is_near(n.share, part, 0.15)) {
          add(c, "pcie-downtrained", true, "runs at " + format_percent(n.share) + " of the links, about 1/" + format_exact(1 / part) + ": a PCIe link may run narrower or a generation slower than it can",
              "lspci -vvv | grep LnkSta (\"downgraded\"); nvidia-smi --query-gpu=index,pcie.link.gen.current,pcie.link.width.current --format=csv under load");
          return true;
        }
      if (n.share > 0.6 && n.share < 0.85 && (c.link_class == "pcie-host" || late > 1.2)) {
        add(c, "numa", true, "runs at " + format_percent(n.share) + ": memory of another NUMA node, NPS4 or processes bound to the wrong cores",
            "numactl -H and nvidia-smi topo -m (CPU and NUMA affinity); BIOS: NPS1; bind each process beside its GPU (numactl --cpunodebind)");
        return true;
      }
    }
    if (is_nvlink(c) && n.share > 0 && n.share < 0.25 && n.slope > 2e9 && n.slope < 60e9) {
      add(c, "nvlink-missing", true,
          "grows at " + format_rate(BytesPerSecond(n.slope)) + ", a rate of PCIe or host memory where NVLink should carry " + format_rate(BytesPerSecond(n.slope / n.share)) + ": NVLink is not used",
          "nvidia-smi nvlink -s; nvidia-smi topo -m; fabric manager; NCCL_TOPO_FILE and virtual machines; NCCL_DEBUG=INFO (\"via P2P\" or \"via SHM\")");
      return true;
    }
    return false;
  }

  bool find_network(const MachineCurve& c, const Numbers& n) {
    const double late = n.t0_predicted > 0 ? n.t0 / n.t0_predicted : 1;
    if (n.share <= 0) return false;
    if (n.share < 0.2 && late > 2) {
      add(c, "socket-fallback", true, "small sizes take " + format_exact(std::max(2.0, std::floor(late))) + " times as long as they should, and large ones run at " + format_percent(n.share) + " of the NICs: traffic goes over TCP sockets",
          "NCCL_DEBUG=INFO: \"Using network\" must not say Socket; ibv_devinfo in the container; the cloud's network plugin");
      return true;
    }
    const double more = n.t0 - n.t0_predicted;
    if (n.share >= 0.2 && n.share <= 0.45 && (more >= 20e-6 || c.nics == 1)) {
      add(c, "gpudirect-off", true, (more >= 20e-6 ? "starts " + format_seconds(Seconds(more)) + " later and " : std::string()) + "runs at " + format_percent(n.share) + " of the NICs: they copy through host memory (GPUDirect is off)",
          "NCCL_DEBUG=INFO: \"via NET/…/GDRDMA\"; lsmod | grep nvidia_peermem; NCCL_NET_GDR_LEVEL=SYS; ACS off");
      return true;
    }
    for (int k = 2; k <= c.nics; ++k)
      if (c.nics % k == 0 && late < 1.5 && is_near(n.share, 1.0 / k, 0.15)) {
        add(c, "few-nics", true,
            "runs at " + format_percent(n.share) + " of what " + std::to_string(c.nics) + " NICs carry, about 1/" + std::to_string(k) + ": " + std::to_string(c.nics / k) + " of " + std::to_string(c.nics) + " NICs seem to be used" +
                (c.gpus_used < c.gpus_per_node ? " (with " + std::to_string(c.gpus_used) + " of " + std::to_string(c.gpus_per_node) + " GPUs that may be as it must be)" : ""),
            "NCCL_DEBUG=INFO: \"NET/IB : Using\" must list all; NCCL_IB_HCA; ibstat for ports that are down");
        return true;
      }
    if (c.nodes >= 4)
      for (std::size_t i = 0; i < curves_.size(); ++i)
        if (curves_[i].nodes == 2 && curves_[i].collective == c.collective && numbers_[i].share > 0.85 && n.share < 0.8) {
          add(c, "oversubscribed", true, "runs at " + format_percent(n.share) + " where two nodes are as fast as they should be: oversubscribed switches, flows that collide, or one bad node",
              "bisect by pairs of nodes; nodes below one leaf switch against others; adaptive routing");
          return true;
        }
    return false;
  }

  bool find_middle(const MachineCurve& c, const Numbers& n) {
    if (!(n.ratio_middle > 1.5 && n.ratio_large > 0 && n.ratio_large < 1.3)) return false;
    bool has_step = false;
    for (std::size_t i = 1; i < c.measured.size(); ++i)
      has_step = has_step || (c.measured[i].size.value > 4 * kMiB && c.measured[i].size.value >= 1.9 * c.measured[i - 1].size.value && c.measured[i].time.value < 1.2 * c.measured[i - 1].time.value);
    if (!has_step) return false;
    add(c, "wrong-algorithm", true, "sizes of 4 to 64 MiB take " + format_percent(n.ratio_middle) + " of the predicted time, larger ones do not: the library changes algorithm too late",
        "NCCL_DEBUG_SUBSYS=TUNING; compare NCCL_ALGO=Ring and Tree; another NCCL release or tuner plugin");
    return true;
  }

  void find_nothing(const MachineCurve& c, const Numbers& n, bool is_slow, bool is_late) {
    const std::string seen = is_slow   ? "large sizes take " + format_percent(n.ratio) + " of the predicted time"
                             : is_late ? "small sizes take " + format_percent(n.t0 / n.t0_predicted) + " of the predicted time"
                                       : "bus bandwidth falls to " + format_percent(n.dip) + " of what smaller sizes reach";
    add(c, "slower", true, seen + ", by a pattern that no rule names", c.nodes > 1 ? "NCCL_DEBUG=INFO; nvidia-smi topo -m; compare one node and two" : "NCCL_DEBUG=INFO; nvidia-smi topo -m; nvidia-smi -q -d PERFORMANCE; compare pairs of GPUs");
  }
};

}  // namespace

std::vector<MachineFinding> machine_findings(const std::vector<MachineCurve>& curves) { return Rules(curves).findings(); }

namespace {

// Median of the slopes between all pairs of sizes from `from` on, in seconds a byte; 0: fewer than two.
double slope_from(const std::vector<MeasuredCurve::Point>& points, double from) {
  std::vector<MeasuredCurve::Point> large;
  for (const auto& p : points)
    if (p.size.value >= from) large.push_back(p);
  const std::size_t every = large.size() / 64 + 1;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < large.size(); i += every)
    for (std::size_t j = i + every; j < large.size(); j += every) slopes.push_back((large[j].time - large[i].time).value / (large[j].size - large[i].size).value);
  return quantile(std::move(slopes), 0.5);
}

}  // namespace

MachineFit fit_of(const MachineCurve& c) {
  constexpr double kSmall = 64 * kKiB;
  MachineFit fit{c.collective, c.ranks, c.nodes, std::string(c.link_class), {}, {}, {}};
  double slope = slope_from(c.measured, kMiB);
  if (slope <= 0) slope = slope_from(c.measured, 0);
  if (slope > 0) fit.rate = BytesPerSecond(bus_factor(c.collective, c.ranks) / slope);
  for (const double most : {4 * kKiB, kSmall}) {
    std::vector<double> starts;
    for (const auto& p : c.measured)
      if (p.size.value <= most) starts.push_back(p.time.value - std::max(slope, 0.0) * p.size.value);
    if (starts.empty()) continue;
    fit.latency = Seconds(std::max(0.0, quantile(std::move(starts), 0.5)));
    break;
  }
  const double borders[] = {0, kSmall, kMiB, 1e15};
  for (std::size_t b = 0; b + 1 < std::size(borders) && slope > 0; ++b) {
    MachineFit::Band band{Bytes(borders[b]), Bytes(borders[b + 1]), 0, 0, 0};
    std::vector<double> off;
    for (const auto& p : c.measured) {
      if (p.size < band.from || p.size >= band.to) continue;
      off.push_back((fit.latency.value + slope * p.size.value) / p.time.value - 1);
      if (std::fabs(off.back()) > std::fabs(band.worst)) band.worst = off.back();
    }
    band.sizes = off.size();
    band.median = quantile(std::move(off), 0.5);
    if (band.sizes > 0) fit.bands.push_back(band);
  }
  return fit;
}

std::optional<MachineCurve> machine_curve(const MeasuredCurve& curve, const PreparedCluster& prepared) {
  const Cluster& cluster = *prepared.cluster;
  const int per_node = (curve.ranks + curve.nodes - 1) / std::max(curve.nodes, 1);
  if (curve.ranks < 2 || curve.nodes < 1 || curve.nodes > cluster.nodes || per_node > prepared.gpus) return std::nullopt;
  const bool has_gpus = static_cast<int>(curve.gpus.size()) == per_node && std::all_of(curve.gpus.begin(), curve.gpus.end(), [&](int g) { return g >= 0 && g < prepared.gpus; });
  const GroupShape shape = single_group(curve.ranks, curve.nodes, has_gpus ? curve.gpus : used_gpus(cluster, per_node));
  const RingOnWiring ring = ring_on_wiring(prepared, shape);

  MachineCurve c;
  c.collective = curve.collective;
  c.ranks = curve.ranks;
  c.nodes = curve.nodes;
  c.measured = curve.points;
  c.basis = Basis::profile;
  for (const auto& p : curve.points) {
    const CollectiveCall call = usual_call(prepared, ring, curve.collective, curve.ranks, p.size);
    c.predicted.push_back(call.time);
    c.basis = std::max(c.basis, call.basis);
  }
  c.is_single_process = curve.launch == "single-process";
  if (ring.class_row >= 0) {
    const LinkConstants::Class& row = prepared.constants->classes[static_cast<std::size_t>(ring.class_row)];
    c.link_class = row.name;
    c.launch = launch_of(row, cluster.node.gpu);
  }
  c.pcie_generation = pcie_generation_of(cluster.node);
  c.ring_rate = ring.bus_bandwidth;
  const bool is_hopper = cluster.node.gpu.nvlink_generation >= 4 && !cluster.node.gpu.is_xgmi;
  c.may_use_nvls = is_hopper && c.link_class == "nvswitch";
  const std::vector<int>& gpus = shape.local.back();
  c.is_pair_in_switch = per_node == 2 && prepared.route(gpus[0], gpus[1]).kind == PathKind::pcie_switch;
  c.gpus_used = per_node;
  c.gpus_per_node = cluster.node.gpus;
  if (curve.nodes > 1 && cluster.network) {
    c.nics = cluster.network->nics_per_node;
    c.nic_sum = cluster.network->nic_rate * cluster.network->nics_per_node;
  }
  return c;
}

MachineReport machine_report(const std::vector<MeasuredCurve>& curves, const PreparedCluster& cluster, double tolerance) {
  MachineReport report;
  report.tolerance = tolerance;
  for (const MeasuredCurve& curve : curves) {
    std::optional<MachineCurve> c = machine_curve(curve, cluster);
    if (!c) {
      report.left_out.push_back(std::string(name_of(curve.collective)) + " on " + std::to_string(curve.ranks) + " ranks of " + std::to_string(curve.nodes) + (curve.nodes == 1 ? " node" : " nodes") + " is not in this cluster");
      continue;
    }
    std::size_t within = 0;
    for (std::size_t i = 0; i < c->measured.size(); ++i) {
      const Seconds measured = c->measured[i].time;
      MachineReport::Row row{report.curves.size(), i, c->predicted[i].value / measured - 1, false};
      row.is_within = tolerance > 0 ? row.error <= tolerance && row.error >= -tolerance : measured >= c->predicted[i].low && measured <= c->predicted[i].high;
      within += row.is_within;
      report.rows.push_back(row);
    }
    report.is_within = report.is_within && 4 * within >= 3 * c->measured.size();
    report.fits.push_back(fit_of(*c));
    report.curves.push_back(std::move(*c));
  }
  report.findings = machine_findings(report.curves);
  return report;
}

}  // namespace wireplan
