// NCCL's decisions as text, in the order and wording of its own log (NCCL_DEBUG=INFO), so that the two can be held side by side.
#pragma once

#include <string>

#include "core/text/nccl_log_compare.hpp"
#include "core/text/nccl_request.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// CSV: a line for each operation and size. `comparison`: the same machine's log beside it, said behind the summary.
std::string render_nccl(const NcclAnswer& answer, RenderFormat format, const NcclLogComparison* comparison = nullptr);

// "0 1 2 3", of more than `most` "0 1 2 …".
std::string ranks_text(const std::vector<int>& ranks, std::size_t most = static_cast<std::size_t>(-1));
// "Channel 00/24 : 0 1 2 3": rings as NCCL prints them, in order of channels.
std::vector<std::string> nccl_channel_lines(const nccl::Decision& decision);
// "Trees [0] 1/-1/-1->0->-1 [1] …": of one rank.
std::string nccl_trees_line(const nccl::Decision& decision, int rank);
// "Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, sameChannels 1".
std::string nccl_graph_line(const nccl::Graph& graph);
// NCCL's numbers of patterns.
int pattern_number(nccl::Pattern pattern);

// "What limits the rings: the PCIe link of 24.0 GB/s on the way from GPU 1 to GPU 2, used 2 times."; "" where nothing does.
std::string nccl_limit_text(const nccl::Node& node);
// The same without the sentence: "PCIe link of 24.0 GB/s on the way from GPU 1 to GPU 2, used 2 times", "nothing".
std::string nccl_limit_link(const nccl::Node& node);

// "Ring LL128", "NVLSTree Simple": as NCCL names them.
std::string nccl_choice_name(const nccl::Choice& choice);

}  // namespace wireplan
