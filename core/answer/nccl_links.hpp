// Which link of a machine limits the way between two of its GPUs beside NVLink.
#pragma once

#include <string>
#include <vector>

#include "core/cost/nccl/decision.hpp"

namespace wireplan {

struct NcclLink {
  enum class Kind : unsigned char { slot, uplink, cpus };
  Kind kind = Kind::slot;
  nccl::GBps rate = 0;
  std::string name;  // "the PCIe link of GPU 3"
};

// The PCIe link upwards from a GPU or switch (index of Machine::parts); the link between the CPUs of two GPUs.
NcclLink link_above(const nccl::Machine& machine, const std::vector<int>& among, int part);
NcclLink link_between_cpus(const nccl::Machine& machine, const nccl::Release& release, int a, int b);

// The slowest link between GPUs a and b (indices of Machine::gpus); of equal ones the nearest to a. `by_cpu`: through host memory, so up
// to the CPU even where a switch joins them. `among`: the GPUs that names speak of.
NcclLink slowest_link(const nccl::Machine& machine, const nccl::Release& release, const std::vector<int>& among, int a, int b, bool by_cpu);

// The lowest PCIe switch above both, -1: none.
int common_switch(const nccl::Machine& machine, int a, int b);

// GPUs of `among` on one NUMA node, the largest such group; of equal ones the first.
std::vector<int> largest_on_one_cpu(const nccl::Machine& machine, const std::vector<int>& among);

// "GPU 3", "GPUs 0 to 3", "GPUs 0, 2 and 5".
std::string gpus_text(std::vector<int> gpus);
// "NIC 0", "NICs 0 and 1", by dev.
std::string nics_text(std::vector<int> nics);
// "0 to 3", "0, 2 and 5".
std::string numbers_text(std::vector<int> numbers);

}  // namespace wireplan
