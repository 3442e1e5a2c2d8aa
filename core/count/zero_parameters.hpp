// The trained parameters of a rank as DeepSpeed's optimizers see them: the order in which their gradients become ready, and their
// places in the flat buffer that stages 1 and 2 cut into partitions.
//
// Notation: P parameters, N data ranks, p partition of one rank (stages 1, 2).
#pragma once

#include <cstdint>
#include <vector>

#include "core/count/deepspeed_settings.hpp"
#include "core/count/stage_traffic.hpp"

namespace wireplan {

struct ZeroParameter {
  double elements = 0;
  double offset = 0;  // in the flat buffer
  double end() const { return offset + elements; }
};

struct ZeroParameters {
  ZeroParameters(const StageTraffic& traffic, const DeepSpeedSettings& settings);

  double ranks = 1;                      // N
  double total = 0;                      // P
  double padded = 0;                     // P rounded up to 2N
  double partition = 0;                  // p = padded / N
  double largest = 0;                    // elements of the largest one
  std::vector<ZeroParameter> ready;      // in the order their gradients become ready
  std::vector<std::int32_t> registered;  // the same in the order of the model, as places in `ready`
  std::vector<std::int32_t> flat;  // in the order of the flat buffer (round_robin_gradients deals them to the ranks)

  double shard(const ZeroParameter& p) const;  // ⌈n / N⌉: of a parameter that stage 3 shards
  // Elements of a parameter inside the partition of a rank.
  double inside(const ZeroParameter& p, double rank) const;
};

}  // namespace wireplan
