#include "core/cost/nccl/tune.hpp"

#include <algorithm>
#include <bit>

namespace wireplan::nccl {
namespace {

std::size_t index(Algorithm a) { return static_cast<std::size_t>(a); }
std::size_t index(Protocol p) { return static_cast<std::size_t>(p); }

// Latency and rate of one operation by one algorithm and protocol. Rates are those of the call's own bytes, GB/s; latencies µs.
class CostModel {
 public:
  CostModel(const Decision& d, const Release& release, Operation op, Algorithm a, Protocol p)
      : d_(d), release_(release), op_(op), algorithm_(a), protocol_(p), graph_(a == Algorithm::ring ? d.ring : is_nvls(a) ? d.nvls : d.tree) {}

  bool has(const Environment& environment) const;
  double rate() const;
  double latency() const;

 private:
  bool reduces_all() const { return op_ == Operation::all_reduce; }
  bool splits() const { return op_ == Operation::all_gather || op_ == Operation::reduce_scatter; }
  bool is_inside() const { return nodes_ == 1; }
  double at(const Release::ByNodes& row) const { return row[static_cast<std::size_t>(std::min(nodes_, 3) - 1)]; }
  double at(const std::array<Release::ByNodes, 4>& rows) const { return at(rows[generation_]); }
  // How often a ring hands a piece on until all have all.
  int ring_steps() const { return reduces_all() ? 2 * (d_.ranks - 1) : splits() ? d_.ranks - 1 : d_.ranks; }
  double planned() const { return graph_.channels * static_cast<double>(nodes_ <= 2 ? graph_.intra : graph_.inter); }

  double ll_most() const;
  double ring_rate() const;
  double tree_rate() const;
  double nvls_rate() const;

  double hop_inside(Algorithm a) const { return hardware(graph_.intra_type == PathType::nvl ? 0 : 1, a); }  // rule 17
  double hop_across() const;
  double hardware(std::size_t link, Algorithm a) const;
  double ring_latency() const;
  double chain_latency() const;

  const Decision& d_;
  const Release& release_;
  const Operation op_;
  const Algorithm algorithm_;
  const Protocol protocol_;
  const Graph& graph_;
  const int nodes_ = d_.nccl_nodes();
  const std::size_t generation_ = generation_of(d_.least_compute_capability);
  const double per_node_ = static_cast<double>(d_.ranks) / nodes_;
  const int levels_ = std::bit_width(static_cast<unsigned>(nodes_)) - 1;  // of a tree of nodes
};

bool CostModel::has(const Environment& environment) const {
  const bool can = algorithm_ == Algorithm::ring || (reduces_all() && algorithm_ != Algorithm::pat) ||
                   (splits() && (algorithm_ == Algorithm::pat || algorithm_ == Algorithm::nvls));
  if (!can || (algorithm_ >= Algorithm::nvls && protocol_ != Protocol::simple)) return false;
  if (is_nvls(algorithm_) && (graph_.channels < (release_.nvls_is_pipelined ? 2 : 1) || is_inside() != (algorithm_ == Algorithm::nvls))) return false;
  if (algorithm_ == Algorithm::pat && (d_.least_compute_capability < 60 || nodes_ != d_.ranks)) return false;
  const std::size_t op = static_cast<std::size_t>(op_);
  if (environment.algorithms[op][index(algorithm_)] || environment.protocols[op][index(protocol_)] < 0) return false;
  if (protocol_ != Protocol::ll128 || environment.protocols[op][index(protocol_)] > 0) return true;
  // LL128 needs stores of 128 bytes that nothing on the way takes apart.
  const int cc = d_.least_compute_capability;
  return cc >= 70 && (cc >= 90 || cc == d_.most_compute_capability) && graph_.intra_type <= PathType::nvb && graph_.inter_type <= (cc >= 90 ? PathType::pxn : PathType::pxb);
}

double CostModel::rate() const {
  switch (algorithm_) {
    case Algorithm::ring: return ring_rate();
    case Algorithm::tree: return tree_rate();
    case Algorithm::nvls:
    case Algorithm::nvls_tree: return nvls_rate();
    case Algorithm::pat: return release_.pat * planned();
  }
  return 0;
}

// On one node the GPU limits LL, across nodes the CPU (the rows of Volta and Ampere stand for Intel and AMD there).
double CostModel::ll_most() const { return at(release_.ll_most[is_inside() ? generation_ : d_.cpu == CpuClass::amd ? 1 : 0]); }

double CostModel::ring_rate() const {
  double bus = planned();
  if (protocol_ == Protocol::ll) bus = std::min(bus * release_.ring_ll, ll_most());
  if (protocol_ == Protocol::ll128) bus = std::min(bus * release_.ring_ll128, graph_.channels * at(release_.ring_ll128_most));
  return bus * d_.ranks / ring_steps();
}

// Up and down again: every byte passes twice.
double CostModel::tree_rate() const {
  double bus = std::min(planned() * release_.tree, graph_.channels * at(release_.tree_most));
  if (protocol_ == Protocol::ll) bus = std::min(bus * release_.tree_ll, ll_most());
  if (protocol_ == Protocol::ll128) bus = std::min(bus * release_.tree_ll128[is_inside() ? 0 : 1], graph_.channels * at(release_.tree_ll128_most));
  if (graph_.pattern == Pattern::tree) bus *= release_.unbalanced_tree;
  return bus / 2;
}

// [nccl-tuning]: what the NVLinks of a node or its NICs pass on, the slower of both; the first channel is spent on filling the pipe.
double CostModel::nvls_rate() const {
  const double efficiency = release_.nvls_efficiency[generation_], own = (per_node_ - 1) / per_node_;  // of a split call its own part stays
  const double intra = static_cast<double>(graph_.intra), inter = static_cast<double>(graph_.inter);
  double rate = 0;
  if (release_.nvls_is_pipelined) {
    rate = std::min(intra * efficiency * (graph_.channels - 1) * (reduces_all() ? 2 : own), graph_.channels * inter * (algorithm_ == Algorithm::nvls_tree && nodes_ <= 2 ? 2 : 1));
    if (algorithm_ == Algorithm::nvls_tree) rate = std::min(rate, graph_.channels * at(release_.nvls_tree_most));
  } else {
    rate = graph_.channels * std::min(intra * (splits() ? own : 1), inter * (splits() ? 0.9 : algorithm_ == Algorithm::nvls_tree && nodes_ > 2 ? 0.5 : 1));
    if (reduces_all()) return rate * efficiency;
  }
  return reduces_all() ? rate * d_.ranks / ring_steps() : rate;
}

double CostModel::hardware(std::size_t link, Algorithm a) const {
  // POWER9 on PCIe: trees are given the ring's.
  if (d_.cpu == CpuClass::p9 && link == 1 && a == Algorithm::tree && protocol_ == Protocol::simple) a = Algorithm::ring;
  return release_.hardware_latency[link][index(a)][index(protocol_)];
}

// Simple passes the NIC twice: data, and the flush that makes it visible.
double CostModel::hop_across() const {
  return hardware(2, per_node_ == 1 ? Algorithm::tree : algorithm_) + static_cast<double>(graph_.latency_us) * (protocol_ == Protocol::simple ? 2 : 1);
}

double CostModel::ring_latency() const {
  const int across = is_inside() ? 0 : reduces_all() ? 2 * (nodes_ - 1) : nodes_ - 1;
  double inside = hop_inside(Algorithm::ring);
  if (!is_inside()) inside = std::max(inside, release_.ring_hop_least[d_.cpu == CpuClass::amd ? 0 : 1][index(protocol_)]);
  return (ring_steps() - across) * inside + across * hop_across();
}

// Broadcast and reduce: once round, in pieces that follow each other at once where all channels are alike.
double CostModel::chain_latency() const {
  const auto hop = [&](Algorithm a) { return is_inside() ? hop_inside(a) : hardware(2, a); };
  if (graph_.same_channels) return hop(Algorithm::ring);
  return ring_steps() * hop(protocol_ == Protocol::simple ? Algorithm::tree : Algorithm::ring);
}

double CostModel::latency() const {
  const double base = release_.base_latency[index(algorithm_)][index(protocol_)];
  switch (algorithm_) {
    case Algorithm::ring: return base + (reduces_all() || splits() ? ring_latency() : chain_latency());
    case Algorithm::tree: return base + 2 * ((d_.ranks / nodes_ - 1) * hop_inside(algorithm_) + levels_ * hop_across());
    case Algorithm::nvls: return base + hop_inside(algorithm_);
    case Algorithm::nvls_tree: return base + hop_inside(algorithm_) + 2 * levels_ * hop_across();
    case Algorithm::pat: return base + levels_ * release_.pat_network_share * hop_across() + d_.ranks * release_.pat_per_rank;
  }
  return 0;
}

}  // namespace

std::size_t generation_of(int compute_capability) { return compute_capability >= 100 ? 3 : compute_capability >= 90 ? 2 : compute_capability >= 80 ? 1 : 0; }

void tune(Decision& d, const Release& release, const Environment& environment) {
  if (d.ranks < 2) return;
  for (int o = 0; o < kOperations; ++o)
    for (int a = 0; a < kAlgorithms; ++a)
      for (int p = 0; p < kProtocols; ++p) {
        const Operation op = static_cast<Operation>(o);
        const Algorithm algorithm = static_cast<Algorithm>(a);
        const Protocol protocol = static_cast<Protocol>(p);
        const CostModel model(d, release, op, algorithm, protocol);
        // As floats: ties hang on their rounding.
        if (model.has(environment)) d.cost(op, algorithm, protocol) = {static_cast<float>(model.latency()), static_cast<float>(model.rate())};
      }
}

}  // namespace wireplan::nccl
