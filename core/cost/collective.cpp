#include "core/cost/collective.hpp"

#include "core/base/math.hpp"
#include "core/cost/measured_tables.hpp"

namespace wireplan {
namespace {

// How far off such a figure may be; the last row that matches counts.
const LinkConstants::Band* band_of(const LinkConstants& constants, std::string_view basis, bool several_nodes, Bytes size) {
  const LinkConstants::Band* band = nullptr;
  for (const LinkConstants::Band& b : constants.bands)
    if (b.basis == basis && b.several_nodes == several_nodes && size >= b.from) band = &b;
  return band;
}

// What a formula rests on where no table says anything.
std::string_view footing(const LinkConstants& constants, const RingOnWiring& ring) {
  const int points = ring.nodes > 1 ? (ring.fabric_row >= 0 ? constants.fabrics[static_cast<std::size_t>(ring.fabric_row)].points : 0)
                                    : constants.classes[static_cast<std::size_t>(ring.class_row)].points;
  return points > 0 ? "fitted" : "unknown";
}

}  // namespace

CollectiveCall collective_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  CollectiveCall call = collective_formula(cluster, ring, collective, ranks, size);
  if (call.time.value.value <= 0) return call;
  const LinkConstants& constants = *cluster.constants;
  std::string_view basis = footing(constants, ring);
  if (const auto tables = ask_tables(cluster, ring, collective, ranks, size)) {
    call.correction = exponential(tables->residual);
    const bool is_same = tables->distance == 0;
    call.basis = !tables->is_inside ? Basis::extrapolated : is_same ? Basis::measured : Basis::interpolated;
    basis = is_same && tables->is_inside ? "measured" : "interpolated";
  }
  const Seconds time = call.time.value * call.correction;
  call.time = {time, time, time};
  if (const LinkConstants::Band* band = band_of(constants, basis, ring.nodes > 1, size)) {
    call.time.low = time * exponential(-band->low);
    call.time.high = time * exponential(band->high);
  }
  return call;
}

}  // namespace wireplan
