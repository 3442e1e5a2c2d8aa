// What an NCCL_DEBUG=INFO log says about the communicator with the most ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/collective.hpp"

namespace wireplan {

struct NcclLog {
  struct Rank {
    int rank = 0, device = -1, nvml_device = -1;  // -1: not said
    std::string host, bus_id;
  };
  struct Ring {
    std::vector<int> channels, order;
  };
  struct Tree {
    std::vector<int> channels, parent;  // by rank; -1: the root, -2: not said
  };
  struct Graph {
    int pattern = 0;  // NCCL's number: 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS
    int channels = 0, cross_nic = 0, same_channels = 0;
    double intra = 0, inter = 0;  // planned rate of a channel, GB/s
    std::string intra_type, inter_type;
    std::vector<std::vector<int>> order{};  // per channel: ranks; empty where the log does not say
  };
  // All channels that join two ranks in the same way.
  struct Transport {
    int from = 0, to = 0;
    std::string via;  // "P2P/IPC", "SHM/direct/direct", "NET/IB/0/GDRDMA"
    std::vector<int> channels;
  };
  struct Choice {
    std::optional<Collective> collective;  // older logs do not say
    double size = 0;  // bytes
    Algorithm algorithm{};
    Protocol protocol{};
    double time = 0;   // s; 0: not said
    int channels = 0;  // 0: not said
  };
  std::string version, network;  // network: "IB", "Socket", "AWS Libfabric"
  std::string tuner;             // name of the plug-in that decides in place of NCCL's cost model
  int ranks = 0, nodes = 0;
  int hosts = 0;  // whose messages the log has
  int communicators = 0;  // that the log names: one job's, or several runs'
  std::string comm_id;    // NCCL's commId of this one; "": not said
  std::vector<Rank> members;  // by rank
  std::vector<Ring> rings;
  std::vector<Tree> trees;
  std::vector<Graph> graphs;
  std::vector<Transport> transports;
  std::vector<Choice> choices;
  int coll = -1, collnet = -1, nvls = -1, p2p = -1, p2p_per_peer = -1;  // channels; -1: not said
  std::vector<std::string> nics;
  std::vector<std::pair<std::string, std::string>> environment;
  // Messages that name a cause.
  std::vector<std::string> p2p_disabled, no_gpudirect, warnings, kernel;
  bool has_no_ib = false, has_gpudirect = false, has_multicast = false, lacks_multicast = false, has_mnnvl = false;
  bool is_ambiguous = false;  // rings of this size contradict each other: the first of each channel is shown
  bool is_cut = false;

  const Rank* member(int rank) const;
  // What a variable was set to; "" where the log does not say.
  std::string_view variable(std::string_view name) const;
  bool is_before(int minor) const;  // NCCL 2.`minor`; false where the log does not say its release
  // Whether two ranks are on one host, as far as it is known.
  bool on_one_host(int a, int b) const;
};

bool looks_like_nccl_log(std::string_view text);

// An error for text without a message of NCCL. Bounded: 100,000 ranks, 64 channels, 10,000 joined pairs and choices.
Result<NcclLog> read_nccl_log(std::string_view text);

}  // namespace wireplan
