// The matrices of `nvidia-smi topo -m` and `topo -p2p`, as they look after terminals, web pages and people have had them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace wireplan {

// How two devices meet. The words of nvidia-smi's own legend; `soc`, an older one for sys, is read as sys.
enum class Relation : unsigned char { unknown, self, nvlink, pix, pxb, phb, node, sys, peers, no_peers };

struct SmiCell {
  Relation relation = Relation::unknown;
  int links = 0;          // of nvlink
  bool is_cut = false;    // the last word of a row that is too short: may itself be cut
  friend bool operator==(const SmiCell&, const SmiCell&) = default;
};

struct SmiDevice {
  std::string name;
  int gpu = -1;           // its index, -1: a NIC
  bool has_row = false;
  std::string cpus;       // CPU affinity as written, "" where it is not said
  int numa = -1;          // NUMA affinity
};

struct SmiMatrix {
  bool is_p2p = false;
  char letter = ' ';      // of -p2p: r w n a p, blank where the command is not in the text
  std::vector<SmiDevice> devices;
  std::vector<SmiCell> cells;  // row by row
  const SmiCell& cell(int row, int column) const { return cells[static_cast<std::size_t>(row) * devices.size() + static_cast<std::size_t>(column)]; }
};

// All matrices of a text; the list is empty where there is none. Limits: kMostCapturedGpus, kMostCapturedNics.
Result<std::vector<SmiMatrix>> read_smi_matrices(const std::vector<std::string_view>& lines);

std::string relation_name(const SmiCell& cell);  // "NV12", "PIX", "OK"

}  // namespace wireplan
