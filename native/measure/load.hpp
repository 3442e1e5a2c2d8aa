// Finds a back-end's module beside the program and opens it.
#pragma once

#include <memory>
#include <string>

#include "native/measure/module.hpp"

namespace wireplan {

struct CloseLoaded {
  CloseBackend close = nullptr;
  void operator()(Backend* backend) const { close(backend); }
};
using LoadedBackend = std::unique_ptr<Backend, CloseLoaded>;

// name: "mpi", "nccl". Nothing, with the reason in one sentence, where it is not there or cannot run here.
LoadedBackend load_backend(const std::string& name, const BackendRequest& request, Refusal& refusal);

}  // namespace wireplan
