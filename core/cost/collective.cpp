#include "core/cost/collective.hpp"

namespace wireplan {

CollectiveCall collective_call(const PreparedCluster& cluster, const RingOnWiring& ring, Collective collective, int ranks, Bytes size) {
  CollectiveCall call;
  call.parts = collective_parts(cluster, ring, collective, ranks, ring.nodes, size);
  call.time = call.parts.range();
  if (collective == Collective::send_recv || collective == Collective::all_to_all) call.algorithm = Algorithm::direct;
  return call;
}

}  // namespace wireplan
