// The rules behind nccl_findings(), by subject: inside a host, the network, what is chosen at a size.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/answer/nccl_findings.hpp"
#include "core/answer/nccl_links.hpp"

namespace wireplan {

class NcclFinder {
 public:
  NcclFinder(const nccl::Machine& machine, const nccl::Request& request, const nccl::Release& release, const nccl::Decision& decision)
      : machine_(machine), request_(request), release_(release), decision_(decision) {}

  std::vector<NcclFinding> all();

 private:
  // nccl_findings_inside.cpp
  void find_no_graph();
  void find_unknown_speeds();
  void find_narrow_slots();
  void find_missing_nvlinks();
  void find_islands();
  void find_far_cpus();
  void find_no_p2p();
  void find_host_memory();
  // nccl_findings_network.cpp
  void find_several_nodes();
  void find_crossed_rails();
  void find_no_gpudirect();
  void find_shared_nics();
  void find_idle_nics();
  void find_narrow_nics();
  void find_slow_network();
  // nccl_findings_choice.cpp
  void find_nothing_left();
  void find_nvls();
  void find_long_ll();
  void find_channel_limits();
  void find_variables();

  // GPUs joined by NVLink may not use it, since P2P is off.
  bool loses_nvlink() const;
  // The PCIe link or link between CPUs that limits the rings of a node on one host.
  std::optional<NcclLink> limiting_link(const nccl::Node& node) const;
  bool is_inside() const { return decision_.nccl_nodes() == 1; }  // all ranks in one node: NICs play no part
  bool is_found(std::string_view rule) const;
  void add(std::string_view rule, Severity severity, std::string text, std::string remedy);  // behind those as serious

  // Decisions to compare with, without rings and trees; nothing once there have been enough.
  std::optional<nccl::Decision> decided(const nccl::Machine& machine, const nccl::Request& request);
  std::optional<nccl::Decision> decided(const nccl::Request& request) { return decided(machine_, request); }
  std::optional<nccl::Decision> decided_for(const std::vector<int>& gpus);

  const nccl::Machine& machine_;
  const nccl::Request& request_;
  const nccl::Release& release_;
  const nccl::Decision& decision_;
  std::vector<NcclFinding> list_;
  int tries_ = 0;
};

inline constexpr double kWorthIt = 1.1;  // plans that differ by less are not told apart
// Channels x rate of the ring, GB/s.
double planned_rate(const nccl::Decision& decision);
// "2 x 24 GB/s"; of one channel "24 GB/s".
std::string plan_text(const nccl::Decision& decision);
// "17.5 GB/s", of NCCL's own rates.
std::string rate_text(double gb_per_s);
// Largest ring or tree traffic: what "large messages" are here.
inline constexpr double kLargeMessage = 256.0 * 1024 * 1024;
// What NCCL expects of an all_reduce; nothing where no algorithm is left for it.
std::optional<double> expected_us(const nccl::Decision& decision, const nccl::Release& release, double size);

}  // namespace wireplan
