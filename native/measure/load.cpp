#include "native/measure/load.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace wireplan {
namespace {

namespace fs = std::filesystem;

// Beside the program, or where an installed one has its parts.
fs::path module_path(const std::string& name) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string file = "wireplan_" + name + ".so";
  for (const fs::path& path : {folder / file, folder / ".." / "lib" / "wireplan" / file})
    if (fs::exists(path, error)) return path;
  return {};
}

}  // namespace

LoadedBackend load_backend(const std::string& name, const BackendRequest& request, Refusal& refusal) {
  const fs::path path = module_path(name);
  if (path.empty()) {
    refusal = {"this program was built without --backend " + name + ": " + (name == "mpi" ? "there was no MPI to build with" : "its module wireplan_" + name + ".so is missing"), true};
    return nullptr;
  }
  // Open MPI's own plug-ins look for its symbols among the global ones.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module) {
    const char* why = dlerror();
    refusal = {"--backend " + name + " cannot be loaded here: " + (why ? why : "no reason is known"), true};
    return nullptr;
  }
  const auto open = reinterpret_cast<OpenBackend>(dlsym(module, kOpenBackend));
  const auto close = reinterpret_cast<CloseBackend>(dlsym(module, kCloseBackend));
  if (!open || !close) {
    refusal = {path.string() + " is no back-end of this program", true};
    return nullptr;
  }
  return LoadedBackend(open(request, refusal), {close});  // the module stays until the process ends: libraries leave threads behind
}

}  // namespace wireplan
