// What a machine's wiring lets its GPUs do: the way between any two of them, and what a ring of some of them reaches.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cost/wiring.hpp"

namespace wireplan {

// The way between two GPUs in the words of nvidia-smi's matrix [nvidia-smi topo -m]: X itself, NV# a bond of # NVLinks, PIX through one
// PCIe switch at most, PXB through several, PHB through a host bridge, NODE between host bridges of one NUMA node, SYS between NUMA
// nodes. XGMI: direct links of AMD GPUs, as rocm-smi names them.
enum class PathType : unsigned char { self, nv, xgmi, pix, pxb, phb, node, sys, none };

struct PathBetween {
  PathType type = PathType::none;
  int links = 0;        // of NV#: the bond's, the narrower end's where a switch stands between
  BytesPerSecond rate;  // planning rate of the slowest link on the way that is taken
  bool p2p = false;     // may reach each other's memory; else copies go through host memory
};
std::string path_name(const PathBetween& path);  // "NV12", "PHB", "X"

// A group of GPUs of one node, or the same ones of every node, and its ring.
struct GroupRing {
  std::vector<int> gpus;
  int nodes = 1;
  RingOnWiring ring;
};

// Pairs of GPUs that are joined alike: same type, bandwidth and kind of bottleneck.
struct PairKind {
  PathBetween path;
  int a = 0, b = 0;  // the first of them
  int count = 0;
  RingOnWiring ring;
};

struct Topology {
  std::vector<PathBetween> paths;  // gpus × gpus, row by row; empty beyond kMostPathGpus GPUs
  GroupRing node;                  // all GPUs of a node, or those that were asked for
  GroupRing cluster;               // the same over all nodes; empty where there is one node
  std::vector<PairKind> pairs;     // from fast to slow; beyond kMostPairGpus GPUs those of the first GPU alone
  bool all_pairs = true;           // they are counted all
  std::vector<Assumption> assumed;  // about the wiring, beside what reading the document assumed; paths begin with "cluster.node"
};

inline constexpr int kMostPathGpus = 256, kMostPairGpus = 32;

// gpus: those the rings join, {} for all that are used. Errors name "gpus".
// Work: a search from each GPU over the links; rings of all pairs of up to kMostPairGpus GPUs.
Result<Topology> topology(const PreparedCluster& cluster, std::vector<int> gpus);

}  // namespace wireplan
