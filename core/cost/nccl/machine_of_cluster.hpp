// From a cluster document to what NCCL reads of it: one host as a machine, and the part of a request that the document states.
#pragma once

#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/cost/wiring.hpp"

namespace wireplan::nccl {

struct ClusterMachine {
  Machine machine;                  // one host
  Request request;                  // all but the environment
  std::vector<Assumption> assumed;  // what the document leaves open and the decision may hang on
};

// Times ten, of the architecture and, where one has several, of what tells them apart; 0: no GPU of NVIDIA, or not known.
int compute_capability(const Gpu& gpu);

// The order of parts is that of the wiring graph: what hangs on a CPU or switch comes in the order of its links. NICs have the cluster's
// rate; on a single node without a network, where NCCL sees them all the same, their own, else that of `usual`, the network such nodes
// come with, else (assumed) what a card for their slot has. Cards are one device with one port each: a document does not say otherwise.
// A rack drawn as one node is its trays, each a host.
// Errors (path "cluster…"): GPUs that NCCL does not run on, more parts than a host has, a rack whose trays are used unevenly.
// `cluster` has passed validate(). Test: tests/core/cost/nccl_machine_test.cpp.
Result<ClusterMachine> machine_of(const Cluster& cluster, const std::optional<Network>& usual, const LinkConstants& constants);

}  // namespace wireplan::nccl
