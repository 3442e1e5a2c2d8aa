// A decision of NCCL that is known, beside ours: what was asked of it, what it decided, and which parts are the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cost/nccl/decision.hpp"

namespace wireplan {

// One line of a file of NCCL's decisions (wireplan.nccl/1 with its input); parts the line does not give are not compared.
struct NcclCase {
  struct Paths {  // of the first GPUs of the first NCCL node
    std::vector<std::vector<nccl::PathType>> types;
    std::vector<std::vector<double>> rates;  // bytes/s
    std::vector<std::vector<nccl::Transport>> transports;
  };
  struct Point {
    nccl::Operation operation{};
    Bytes size;
    nccl::Algorithm algorithm{};
    nccl::Protocol protocol{};
    Seconds time;  // NCCL's own
  };
  std::string topology;  // name of the file
  nccl::Machine machine;
  nccl::Request request;
  nccl::Release release;

  std::optional<int> nodes;
  std::optional<Paths> paths;
  std::optional<std::vector<nccl::Graph>> graphs;  // those with channels; without order and NICs
  std::optional<std::vector<nccl::Ring>> rings;    // in order of their channels
  std::optional<std::vector<nccl::Tree>> trees;    // without children
  std::vector<Point> points;
};

enum class NcclPart : unsigned char { nodes, paths, graphs, rings, trees };

// One part of the decision: whether it is the same, and where it is not, the first thing that differs, as NCCL has it and as we do.
struct NcclPartResult {
  NcclPart part{};
  bool is_right = true;
  std::string where{}, seen{}, expected{};
};

struct NcclPointResult {
  const NcclCase::Point* point = nullptr;
  nccl::Choice choice;
  bool is_right = true;  // the same algorithm and protocol
};

struct NcclCaseResult {
  std::vector<NcclPartResult> parts;    // those the case gives
  std::vector<NcclPointResult> points;  // of NcclCase::points
};

// Rates are the same within 0.01 %, the rest exactly.
// Test: tests/core/answer/nccl_case_test.cpp.
NcclCaseResult compare_nccl(const NcclCase& known);

}  // namespace wireplan
