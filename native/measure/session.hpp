// What commands that measure do alike before they start.
#pragma once

#include "native/measure/backend.hpp"
#include "native/measure/launch.hpp"
#include "native/measure/run_document.hpp"

namespace wireplan {

// What the run document says of where and when. Waits for all processes.
Surroundings surroundings(Backend& backend, const Launch& launch);

}  // namespace wireplan
