#include "core/step/pace.hpp"

#include <algorithm>

#include "core/base/math.hpp"

namespace wireplan {
namespace {

double together(double gpu, double host, double norm) {
  if (gpu <= 0 || host <= 0) return std::max(gpu, host);
  const double more = std::max(gpu, host), less = std::min(gpu, host);
  return less < 1e-3 * more ? more : more * power(1 + power(less / more, norm), 1 / norm);
}

}  // namespace

LayerPace layer_pace(const ComputeCost& c, const LayerWaits& waits, double norm) {
  return {Seconds(together((c.layer.forward + waits.forward).value, c.layer.launch_forward.value, norm)),
          Seconds(together((c.layer.backward + waits.backward).value, c.layer.launch_backward.value, norm))};
}

LayerPace stage_pace(const ComputeCost& c, const LayerPace& layer) {
  return {c.layers * layer.forward + c.first_end.forward + c.last_end.forward, c.layers * layer.backward + c.first_end.backward + c.last_end.backward};
}

}  // namespace wireplan
