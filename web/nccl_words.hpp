// What the page shows of NCCL's decisions, in words.
#pragma once

#include <string>
#include <vector>

#include "web/state.hpp"
#include "web/values.hpp"

namespace wireplan {

// Why there is nothing to draw, "" where there is: still being worked out, GPUs that NCCL does not run on, and the like.
std::string nccl_problem(const AppState& state);
// "What limits the rings: the PCIe link of 24.0 GB/s on the way from GPU 1 to GPU 2, used 2 times."
std::string nccl_limit(const Language& words, const NcclView& nccl);
// "24 channels, 16 for NVLS, 32 point to point".
std::string nccl_counts(const Language& words, const NcclView& nccl);
// "channels 0–11 of 24, alike".
std::string nccl_channels(const Language& words, const NcclView::Graph& graph, const NcclView::Picture& picture);
// "20.0", with the rate to the NICs "20.0 / 24.0".
std::string nccl_rates(const NcclView::Graph& graph);

void add_nccl(std::vector<Row>& rows, const AppState& state);

}  // namespace wireplan
