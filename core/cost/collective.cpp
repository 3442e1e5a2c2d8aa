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

void correct(CollectiveCall& call, double residual) {
  const double factor = exponential(residual);
  call.correction *= factor;
  call.time.value = call.time.value * factor;
}

void set_band(const LinkConstants& constants, std::string_view basis, const RingOnWiring& ring, Bytes size, CollectiveCall& call) {
  call.time.low = call.time.high = call.time.value;
  if (const LinkConstants::Band* band = band_of(constants, basis, ring.nodes > 1, size)) {
    call.time.low = call.time.value * exponential(-band->low);
    call.time.high = call.time.value * exponential(band->high);
  }
}

}  // namespace

CollectiveCall usual_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  CollectiveCall call = collective_formula(cluster, ring, collective, ranks, size);
  if (call.time.value.value <= 0) return call;
  std::string_view basis = footing(*cluster.constants, ring);
  if (const auto tables = ask_tables(cluster, ring, collective, ranks, size)) {
    const bool is_same = tables->distance == 0;
    call.basis = !tables->is_inside ? Basis::extrapolated : is_same ? Basis::measured : Basis::interpolated;
    basis = is_same && tables->is_inside ? "measured" : "interpolated";
    correct(call, tables->residual);
  }
  set_band(*cluster.constants, basis, ring, size, call);
  return call;
}

CollectiveCall collective_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  CollectiveCall call = usual_call(cluster, ring, collective, ranks, size);
  if (cluster.own_tables.empty() || call.time.value.value <= 0) return call;
  const auto own = ask_profile(cluster, ring, collective, ranks, size);
  if (!own) return call;
  const bool is_same = own->distance == 0;
  const Seconds usual = call.time.value;
  correct(call, own->residual);
  if (is_same) {
    call.basis = own->is_inside ? Basis::profile : Basis::extrapolated;
    set_band(*cluster.constants, own->is_inside ? "profile" : "interpolated", ring, size, call);
  } else {
    if (call.basis == Basis::measured) call.basis = Basis::interpolated;
    const double moved = call.time.value / usual;
    call.time.low = call.time.low * moved;
    call.time.high = call.time.high * moved;
  }
  return call;
}

}  // namespace wireplan
