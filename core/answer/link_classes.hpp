// What a link of a given bandwidth is called: the slowest kind that people can buy that reaches it.
#pragma once

#include <string>

#include "core/answer/link_speed.hpp"

namespace wireplan {

// The link that a factor is put on, as a reader knows it.
struct AskedLink {
  LinkPlace place = LinkPlace::node;
  std::string name;         // "NVLink gpu0–nvswitch", "8 × 400 Gbit/s InfiniBand"
  BytesPerSecond rate;      // each way: of the link that binds, NCCL's planning rate unless stated; of one NIC
  BytesPerSecond nominal;   // of the data sheet, 0 where not known
  bool has_classes = false; // PCIe, NVLink and NICs have; links between sockets and others have none
  bool is_stated = false;   // the rate was stated by the user (that of NICs always is)
  int nics = 0;             // of a node; 0 inside it
};

// what: "PCIe 4 ×16", "NVLink 3, 12 links", "200 Gbit/s per NIC"; "" where no kind reaches the rate, or none is known for such links.
// formula: the slowest class whose rate is at least 0.99 · rate. Inside a node NCCL's planning rates of LinkConstants: PCIe of each generation,
// and NVLink with as many links as its parts have (4 on bridges of GA102 cards; 6, 12 and 18 on V100, A100, H100 and later); of NICs the
// speeds that Ethernet and InfiniBand come in.
// source: [nccl-topo], [facts-gpus].  valid: rate > 0.  test: crossover_test.cpp.
std::string link_class_name(const AskedLink& link, BytesPerSecond rate, const LinkConstants& constants);

}  // namespace wireplan
