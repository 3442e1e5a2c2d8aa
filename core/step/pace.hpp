// How long passes over a layer and over a stage take: GPU and host side by side.
#pragma once

#include "core/step/compute.hpp"
#include "core/step/exposure.hpp"

namespace wireplan {

struct LayerPace { Seconds forward, backward; };

// One layer, `waits` for communication inside it. GPU and host work side by side and wait for each other now and then: (G^q + H^q)^(1/q), q = `norm`.
// Grows with `waits`.  Source: [published-runs], least squares on runs small enough to show it. Kind: estimate.
LayerPace layer_pace(const ComputeCost& stage, const LayerWaits& waits, double norm);

// The whole pass of a stage. The host is met layer by layer.
LayerPace stage_pace(const ComputeCost& stage, const LayerPace& layer);

}  // namespace wireplan
