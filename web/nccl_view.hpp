// What the page shows of NCCL's decisions on the plan's cluster. They are worked out in the module, which the frame loads when a reader
// first asks for them; the page reads its document (wireplan.nccl/1).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/describe/cluster.hpp"
#include "core/text/json.hpp"

namespace wireplan {

struct NcclView {
  static constexpr int kNetwork = -1;
  struct Hop { int from, to; };      // GPUs of the first node; kNetwork: out of it
  struct Picture {                   // channels that look alike
    std::string channels;            // "0–3, 8–11"
    int count = 0;
    std::vector<Hop> hops;
    int nic_in = -1, nic_out = -1;   // -1: stays in the node
    int head = -1;                   // NVLS: the GPU through which this channel's data comes and goes
  };
  struct Graph {
    std::string_view kind;           // "ring", "tree", "nvls"
    std::string pattern, types;      // types: inside the node, to the NICs
    int channels = 0, all_channels = 0;  // found; after NCCL has joined the nodes
    double intra = 0, inter = 0;     // bytes/s of each
    std::vector<Picture> pictures;
  };
  struct Limit {                     // rate 0: nothing limits
    std::string from, to, link;
    double rate = 0;
    int uses = 0;
    int from_gpu = -1, to_gpu = -1;  // -1: a NIC
  };
  struct Way {                       // from a size on
    double size = 0;
    std::string algorithm, protocol;
    std::string text() const { return algorithm + ' ' + protocol; }
  };
  struct Finding { std::string severity, text, remedy; };

  std::string request;               // what it answers
  Errors errors;                     // why there is no answer
  std::string release;
  int ranks = 0, collective_channels = 0, nvls_channels = 0, peer_channels = 0;
  std::vector<Graph> graphs;
  Limit limit;
  std::vector<std::pair<std::string, std::vector<Way>>> ways;  // by operation
  std::vector<Finding> findings;

  const Graph* graph(std::string_view kind) const;
  const std::vector<Way>* ways_of(std::string_view operation) const;
};

// The request for a cluster as text: the same text, the same answer. "" where there is nothing to decide.
std::string nccl_request(const Cluster& cluster);
// Whatever `answer` holds; of what is not as expected, nothing.
NcclView nccl_view(const Cluster& cluster, std::string request, const Json& answer);

// "LL → LL128", "ring LL → nvls Simple".
std::string nccl_switch_text(const NcclView::Way& before, const NcclView::Way& after);

}  // namespace wireplan
