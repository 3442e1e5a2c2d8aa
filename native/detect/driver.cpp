#include "native/detect/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/text/topology_draft.hpp"
#include "native/detect/nvml_api.hpp"

namespace wireplan {
namespace {

using namespace nvml;

// The library. A function it does not have answers kFunctionNotFound, as an old driver's does.
class Library {
 public:
  explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* why = dlerror();
    fault_ = why != nullptr ? why : std::string(path) + " cannot be loaded";
  }
  // Stays loaded: its threads may outlive nvmlShutdown().

  const std::string& fault() const { return fault_; }

  template <class... Arguments>
  Return call(const char* name, Arguments... arguments) const {
    void* found = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    return found != nullptr ? reinterpret_cast<Return (*)(Arguments...)>(found)(arguments...) : kFunctionNotFound;
  }

  std::string words(Return status) const {
    void* found = handle_ != nullptr ? dlsym(handle_, "nvmlErrorString") : nullptr;
    const char* text = found != nullptr ? reinterpret_cast<const char* (*)(Return)>(found)(status) : nullptr;
    return text != nullptr && *text != '\0' ? text : "NVML error " + std::to_string(status);
  }

 private:
  void* handle_;
  std::string fault_;
};

// Text that a library was to end with a zero.
template <std::size_t N>
std::string text_of(const char (&buffer)[N]) { return {buffer, strnlen(buffer, N)}; }

class AskedGpu {
 public:
  AskedGpu(const Library& library, unsigned index, DriverGpuFacts& facts) : library_(library), facts_(facts) {
    facts_.index = static_cast<int>(index);
    if (const Return status = library_.call("nvmlDeviceGetHandleByIndex_v2", index, &device_); status != kSuccess) facts_.fault = library_.words(status);
  }

  void ask() {
    PciInfo pci{};
    if (const Return status = library_.call("nvmlDeviceGetPciInfo_v3", device_, &pci); status != kSuccess) {
      facts_.fault = "its PCI address: " + library_.words(status);
      return;
    }
    facts_.address = text_of(pci.bus_id);
    char name[96] = "";  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
    if (answers("its name", library_.call("nvmlDeviceGetName", device_, name, static_cast<unsigned>(sizeof(name))))) facts_.name = text_of(name);
    Memory memory{};
    if (answers("its memory", library_.call("nvmlDeviceGetMemoryInfo", device_, &memory))) facts_.memory_bytes = static_cast<double>(memory.total);
    int major = 0, minor = 0;
    if (answers("its compute capability", library_.call("nvmlDeviceGetCudaComputeCapability", device_, &major, &minor)) && major > 0 && major < 100 && minor >= 0 && minor < 10)
      facts_.sm = major * 10 + minor;
    unsigned milliwatts = 0;
    if (answers("its power limit", library_.call("nvmlDeviceGetEnforcedPowerLimit", device_, &milliwatts))) facts_.power_limit_w = milliwatts / 1000.0;
    facts_.generation = number("nvmlDeviceGetMaxPcieLinkGeneration", "its PCIe generation", 16);
    facts_.lanes = number("nvmlDeviceGetMaxPcieLinkWidth", "its PCIe lanes", 64);
    facts_.lanes_now = number("nvmlDeviceGetCurrPcieLinkWidth", "its PCIe lanes now", 64);
    unsigned now = 0, pending = 0;
    if (answers("whether it is cut into slices", library_.call("nvmlDeviceGetMigMode", device_, &now, &pending))) facts_.is_sliced = now == 1;
    unsigned mode = 0;
    if (answers("whether it is a virtual GPU", library_.call("nvmlDeviceGetVirtualizationMode", device_, &mode))) facts_.is_share = mode == kVirtualGpu;
    facts_.c2c_links = static_cast<int>(std::min(field(kFieldC2cCount, 0).value_or(0), 64u));
    ask_nvlinks();
  }

  Device device() const { return device_; }

 private:
  // False where there is no answer. What a GPU or a driver does not have is nothing to tell.
  bool answers(const char* what, Return status) {
    if (status == kSuccess) return true;
    if (status != kNotSupported && status != kNotFound && status != kFunctionNotFound && status != kInvalidArgument) facts_.unanswered.push_back(std::string(what) + ": " + library_.words(status));
    return false;
  }

  int number(const char* function, const char* what, unsigned most) {
    unsigned value = 0;
    return answers(what, library_.call(function, device_, &value)) && value <= most ? static_cast<int>(value) : 0;
  }

  std::optional<unsigned> field(unsigned id, unsigned scope) {
    FieldValue value{};
    value.field = id;
    value.scope = scope;
    if (library_.call("nvmlDeviceGetFieldValues", device_, 1, &value) != kSuccess || value.status != kSuccess) return std::nullopt;
    return value.value.ui;
  }

  void ask_nvlinks() {
    const unsigned count = std::min(field(kFieldNvlinkCount, 0).value_or(kMostNvlinks), kMostNvlinks);
    facts_.says_nvlinks = true;
    for (unsigned link = 0; link < count; ++link) {
      NvlinkFacts l;
      l.link = static_cast<int>(link);
      int state = 0;
      // From Hopper on the field is the one that is kept up to date, as NCCL asks it.
      if (const auto stated = facts_.sm >= 90 ? field(kFieldNvlinkState, link) : std::nullopt) {
        state = *stated == 1;
      } else if (const Return status = library_.call("nvmlDeviceGetNvLinkState", device_, link, &state); status != kSuccess) {
        // No such link, where the count was not said.
        if (status == kNotSupported || status == kInvalidArgument || status == kFunctionNotFound) break;
        facts_.says_nvlinks = answers("its NVLinks", status);
        break;
      }
      l.is_up = state == 1;
      if (l.is_up) ask_end(link, l);
      facts_.nvlinks.push_back(std::move(l));
    }
  }

  void ask_end(unsigned link, NvlinkFacts& l) {
    unsigned peers = 1, version = 0;
    if (library_.call("nvmlDeviceGetNvLinkCapability", device_, link, kCapabilityPeers, &peers) == kSuccess) l.carries_peers = peers != 0;
    if (library_.call("nvmlDeviceGetNvLinkVersion", device_, link, &version) == kSuccess) l.generation = nvlink_generation(version);
    int end = 255;
    if (library_.call("nvmlDeviceGetNvLinkRemoteDeviceType", device_, link, &end) == kSuccess)
      l.end = end == kEndGpu ? NvlinkFacts::End::gpu : end == kEndCpu ? NvlinkFacts::End::cpu : end == kEndSwitch ? NvlinkFacts::End::nvswitch : NvlinkFacts::End::unknown;
    PciInfo remote{};
    if (library_.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device_, link, &remote) == kSuccess) l.remote = text_of(remote.bus_id);
  }

  const Library& library_;
  DriverGpuFacts& facts_;
  Device device_ = nullptr;
};

PeerAnswer peer_answer(const Library& library, Device a, Device b) {
  PeerAnswer answer = PeerAnswer::yes;
  for (const int what : {kPeerRead, kPeerWrite}) {
    int status = kPeerUnknown;
    if (library.call("nvmlDeviceGetP2PStatus", a, b, what, &status) != kSuccess || status == kPeerUnknown) return PeerAnswer::unknown;
    if (status != kPeerOk) answer = PeerAnswer::no;
  }
  return answer;
}

}  // namespace

void ask_driver(MachineFacts& facts) {
  const char* stated = std::getenv(kNvmlVariable);
  const char* path = stated != nullptr && *stated != '\0' ? stated : "libnvidia-ml.so.1";
  const Library library(path);
  facts.library_fault = library.fault();
  if (!facts.library_fault.empty()) return;
  if (const Return status = library.call("nvmlInit_v2"); status != kSuccess) {
    facts.library_fault = std::string(path) + " is here, but does not start: " + library.words(status);
    return;
  }
  char version[80] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
  if (library.call("nvmlSystemGetDriverVersion", version, static_cast<unsigned>(sizeof(version))) == kSuccess) facts.driver_version = text_of(version);
  unsigned count = 0;
  if (const Return status = library.call("nvmlDeviceGetCount_v2", &count); status != kSuccess) {
    facts.library_fault = "the driver does not say how many GPUs there are: " + library.words(status);
    count = 0;
  }
  count = std::min(count, static_cast<unsigned>(kMostCapturedGpus) + 1);  // one more, so that the reader can tell that there were
  facts.gpus.resize(count);
  std::vector<Device> devices;
  for (unsigned i = 0; i < count; ++i) {
    AskedGpu gpu(library, i, facts.gpus[i]);
    if (facts.gpus[i].fault.empty()) gpu.ask();
    devices.push_back(gpu.device());
  }
  facts.peers.assign(devices.size() * devices.size(), PeerAnswer::unknown);
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = 0; b < devices.size(); ++b)
      if (a != b && facts.gpus[a].fault.empty() && facts.gpus[b].fault.empty()) facts.peers[a * devices.size() + b] = peer_answer(library, devices[a], devices[b]);
  library.call("nvmlShutdown");
}

}  // namespace wireplan
