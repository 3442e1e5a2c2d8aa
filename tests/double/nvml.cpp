// A test double of NVIDIA's library NVML: it answers as a file says that WIREPLAN_NVML_DOUBLE names, and asks no GPU. It is for tests alone,
// is never installed, and nothing that came out of it is a measurement.
//
// The file has a statement a line:
//   driver VERSION
//   gpu ADDRESS MEMORY_BYTES POWER_LIMIT_MW SM GENERATION LANES LANES_NOW NAME...
//   link GPU NUMBER UP VERSION END REMOTE     END: 0 GPU, 1 CPU, 2 switch, 255 unknown; REMOTE: an address or -
//   peers GPU GPU STATUS                      nvmlGpuP2PStatus_t, read and write; 0 where it is not stated
//   c2c GPU COUNT
//   mig GPU
//   share GPU
//   fail FUNCTION GPU STATUS                  GPU -1: whichever
//   raw GPU BYTES...                          a name of these bytes (hexadecimal), not ended
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "native/detect/nvml_api.hpp"

using namespace wireplan::nvml;

namespace {

struct Link { int up = 0; unsigned version = 0; int end = 255; std::string remote; };
struct Gpu {
  std::string address, name, raw;
  unsigned long long memory = 0;
  unsigned power = 0, sm = 0, generation = 0, lanes = 0, lanes_now = 0, c2c = 0;
  bool is_sliced = false, is_share = false;
  std::map<unsigned, Link> links;
};
struct Machine {
  std::string driver = "0";
  std::vector<Gpu> gpus;
  std::map<std::pair<int, int>, int> peers;
  std::map<std::pair<std::string, int>, Return> faults;
};

Machine read() {
  Machine m;
  const char* path = std::getenv("WIREPLAN_NVML_DOUBLE");
  std::ifstream file(path != nullptr ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    int gpu = -1, other = -1, value = 0;
    const auto of = [&]() -> Gpu& { return m.gpus.at(static_cast<std::size_t>(gpu)); };
    if (word == "driver") {
      in >> m.driver;
    } else if (word == "gpu") {
      Gpu g;
      in >> g.address >> g.memory >> g.power >> g.sm >> g.generation >> g.lanes >> g.lanes_now >> std::ws;
      std::getline(in, g.name);
      m.gpus.push_back(g);
    } else if (word == "link") {
      unsigned number = 0;
      Link l;
      in >> gpu >> number >> l.up >> l.version >> l.end >> l.remote;
      of().links[number] = l;
    } else if (word == "peers") {
      in >> gpu >> other >> value;
      m.peers[{gpu, other}] = value;
    } else if (word == "c2c") {
      in >> gpu >> value;
      of().c2c = static_cast<unsigned>(value);
    } else if (word == "mig") {
      in >> gpu;
      of().is_sliced = true;
    } else if (word == "share") {
      in >> gpu;
      of().is_share = true;
    } else if (word == "fail") {
      std::string function;
      in >> function >> gpu >> value;
      m.faults[{function, gpu}] = value;
    } else if (word == "raw") {
      in >> gpu;
      for (unsigned byte = 0; in >> std::hex >> byte;) of().raw += static_cast<char>(byte);
    }
  }
  return m;
}

const Machine& machine() {
  static const Machine m = read();
  return m;
}

int index_of(Device device) { return static_cast<int>(reinterpret_cast<std::size_t>(device)) - 1; }
const Gpu& gpu_of(Device device) { return machine().gpus.at(static_cast<std::size_t>(index_of(device))); }

Return fault(const char* function, int gpu = -1) {
  for (const int who : {gpu, -1})
    if (const auto found = machine().faults.find({function, who}); found != machine().faults.end()) return found->second;
  return kSuccess;
}

Return text(const std::string& from, char* to, unsigned size) {
  std::snprintf(to, size, "%s", from.c_str());
  return kSuccess;
}

Return number(const char* function, Device device, unsigned value, unsigned* to) {
  const Return status = fault(function, index_of(device));
  if (status == kSuccess) *to = value;
  return status;
}

// "0000:07:00.0" as the library writes it: "00000000:07:00.0".
void fill(const std::string& address, PciInfo* pci) {
  *pci = {};
  const std::size_t colon = address.find(':');
  std::string upper = std::string(8 - std::min<std::size_t>(colon, 8), '0') + address;
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'f' ? c - 'a' + 'A' : c);
  text(upper, pci->bus_id, sizeof(pci->bus_id));
}

const Link* link_of(Device device, unsigned link) {
  const auto& links = gpu_of(device).links;
  const auto found = links.find(link);
  return found == links.end() ? nullptr : &found->second;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() { return fault("nvmlInit_v2"); }
Return nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(Return status) {
  switch (status) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 9: return "Driver Not Loaded";
    case 15: return "GPU is lost";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
  }
}
Return nvmlSystemGetDriverVersion(char* version, unsigned size) { return text(machine().driver, version, size); }
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(machine().gpus.size());
  return fault("nvmlDeviceGetCount_v2");
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= machine().gpus.size()) return kInvalidArgument;
  *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
  return fault("nvmlDeviceGetHandleByIndex_v2", static_cast<int>(index));
}
Return nvmlDeviceGetName(Device device, char* name, unsigned size) {
  const Gpu& gpu = gpu_of(device);
  if (gpu.raw.empty()) text(gpu.name, name, size);
  else
    for (unsigned i = 0; i < size; ++i) name[i] = gpu.raw[i % gpu.raw.size()];
  return fault("nvmlDeviceGetName", index_of(device));
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  fill(gpu_of(device).address, pci);
  return fault("nvmlDeviceGetPciInfo_v3", index_of(device));
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  *memory = {gpu_of(device).memory, gpu_of(device).memory, 0};
  return fault("nvmlDeviceGetMemoryInfo", index_of(device));
}
Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  *major = static_cast<int>(gpu_of(device).sm / 10);
  *minor = static_cast<int>(gpu_of(device).sm % 10);
  return fault("nvmlDeviceGetCudaComputeCapability", index_of(device));
}
Return nvmlDeviceGetEnforcedPowerLimit(Device d, unsigned* to) { return number("nvmlDeviceGetEnforcedPowerLimit", d, gpu_of(d).power, to); }
Return nvmlDeviceGetMaxPcieLinkGeneration(Device d, unsigned* to) { return number("nvmlDeviceGetMaxPcieLinkGeneration", d, gpu_of(d).generation, to); }
Return nvmlDeviceGetMaxPcieLinkWidth(Device d, unsigned* to) { return number("nvmlDeviceGetMaxPcieLinkWidth", d, gpu_of(d).lanes, to); }
Return nvmlDeviceGetCurrPcieLinkWidth(Device d, unsigned* to) { return number("nvmlDeviceGetCurrPcieLinkWidth", d, gpu_of(d).lanes_now, to); }
Return nvmlDeviceGetMigMode(Device d, unsigned* now, unsigned* pending) {
  *now = *pending = gpu_of(d).is_sliced ? 1 : 0;
  return fault("nvmlDeviceGetMigMode", index_of(d));
}
Return nvmlDeviceGetVirtualizationMode(Device d, unsigned* mode) {
  *mode = gpu_of(d).is_share ? kVirtualGpu : 0;
  return fault("nvmlDeviceGetVirtualizationMode", index_of(d));
}
Return nvmlDeviceGetFieldValues(Device d, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    FieldValue& v = values[i];
    v.type = 1;
    v.status = kSuccess;
    if (v.field == kFieldNvlinkCount) {
      v.value.ui = static_cast<unsigned>(gpu_of(d).links.size());
    } else if (v.field == kFieldC2cCount && gpu_of(d).c2c > 0) {
      v.value.ui = gpu_of(d).c2c;
    } else if (v.field == kFieldNvlinkState && link_of(d, v.scope) != nullptr) {
      v.value.ui = static_cast<unsigned>(link_of(d, v.scope)->up);
    } else {
      v.status = kNotSupported;
    }
  }
  return fault("nvmlDeviceGetFieldValues", index_of(d));
}
Return nvmlDeviceGetNvLinkState(Device d, unsigned link, int* state) {
  if (link_of(d, link) == nullptr) return kInvalidArgument;
  *state = link_of(d, link)->up;
  return fault("nvmlDeviceGetNvLinkState", index_of(d));
}
Return nvmlDeviceGetNvLinkCapability(Device d, unsigned link, unsigned, unsigned* able) {
  *able = 1;
  return link_of(d, link) != nullptr ? fault("nvmlDeviceGetNvLinkCapability", index_of(d)) : kInvalidArgument;
}
Return nvmlDeviceGetNvLinkVersion(Device d, unsigned link, unsigned* version) {
  if (link_of(d, link) == nullptr) return kInvalidArgument;
  *version = link_of(d, link)->version;
  return fault("nvmlDeviceGetNvLinkVersion", index_of(d));
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Device d, unsigned link, int* end) {
  if (link_of(d, link) == nullptr) return kInvalidArgument;
  *end = link_of(d, link)->end;
  return fault("nvmlDeviceGetNvLinkRemoteDeviceType", index_of(d));
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device d, unsigned link, PciInfo* pci) {
  if (link_of(d, link) == nullptr || link_of(d, link)->remote == "-") return kNotSupported;
  fill(link_of(d, link)->remote, pci);
  return fault("nvmlDeviceGetNvLinkRemotePciInfo_v2", index_of(d));
}
Return nvmlDeviceGetP2PStatus(Device a, Device b, int, int* status) {
  const auto found = machine().peers.find({index_of(a), index_of(b)});
  *status = found == machine().peers.end() ? kPeerOk : found->second;
  return fault("nvmlDeviceGetP2PStatus", index_of(a));
}

}  // extern "C"
