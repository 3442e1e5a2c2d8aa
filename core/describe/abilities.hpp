// What a code base can do at all.
#pragma once

#include <cstdint>

#include "core/base/names.hpp"
#include "core/describe/parallel.hpp"
#include "core/describe/training.hpp"

namespace wireplan {

// A set of names of an enumeration.
template <class E>
class NameSet {
 public:
  constexpr NameSet() = default;
  static constexpr NameSet all() {
    NameSet c;
    c.bits_ = (1u << kNames<E>.size()) - 1;
    return c;
  }
  constexpr bool has(E e) const { return (bits_ >> static_cast<unsigned>(e) & 1u) != 0; }
  constexpr void set(E e, bool in = true) { bits_ = in ? bits_ | 1u << static_cast<unsigned>(e) : bits_ & ~(1u << static_cast<unsigned>(e)); }
  friend constexpr bool operator==(NameSet, NameSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

// What a code base can do at all (`can` of assets/implementations): a layout that nobody can run is no answer.
struct Abilities {
  NameSet<DataSharding> data_sharding = NameSet<DataSharding>::all();
  NameSet<PipelineSchedule> pipeline_schedule = NameSet<PipelineSchedule>::all();
  NameSet<RecomputeKind> recompute = NameSet<RecomputeKind>::all();
  NameSet<Loss> loss = NameSet<Loss>::all();
  bool mixes_ddp = true;  // DDP beside tensor, pipeline and context parallelism
  bool tensor = true, pipeline = true, context = true, expert = true, offload = true;
};

}  // namespace wireplan
