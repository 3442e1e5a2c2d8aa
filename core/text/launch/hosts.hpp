// Hosts of a plan: which GPUs each of them shows to its processes, and where those hang.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/describe/plan.hpp"

namespace wireplan {

struct Hosts {
  int count = 1, gpus = 1, used = 1;  // GPUs a host has, and uses
  int per_node = 1;                   // hosts that a node of the plan is: trays of a rack, else 1
  int in_domain = 1;                  // hosts that share the switches of one NVLink domain
  // GPUs in the order in which processes take them, a list for each host; one list: all alike; none: 0, 1, … as they are.
  std::vector<std::vector<int>> visible;
  std::vector<int> numa;     // NUMA node of each GPU of a host; empty: not known, or all on one
  std::string numa_unknown;  // why, where a host has several
  std::string fault_path, fault;  // why processes and GPUs cannot be told here
};

// what: the hosts of a plan. Rank r sits on GPU placement[r] (or r), as in core/count/groups.hpp. NUMA nodes are those of the node's PCIe
// groups or of its graph; a layout that was only assumed decides nothing.
Hosts hosts_of(const Plan& plan);

// The most hosts that may be asked for in one piece: the largest divisor of `hosts` that is at most `in_domain`.
int segment_of(int hosts, int in_domain);

}  // namespace wireplan
