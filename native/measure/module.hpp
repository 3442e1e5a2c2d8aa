// The border between the program and a back-end that is loaded when it is asked for, because its library must be there to load it.
#pragma once

#include "native/measure/backend.hpp"

namespace wireplan {

// What a module offers under kOpenBackend. Null with a reason in `refusal` where it cannot run here. One a process, closed by close_backend.
using OpenBackend = Backend* (*)(const BackendRequest& request, Refusal& refusal);
using CloseBackend = void (*)(Backend* backend);
inline constexpr const char *kOpenBackend = "wireplan_open_backend", *kCloseBackend = "wireplan_close_backend";

}  // namespace wireplan
