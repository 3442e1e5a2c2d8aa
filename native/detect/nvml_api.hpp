// The few functions and types of NVML that are asked, declared here so that nothing of CUDA is needed to build. Layouts and numbers are
// those of nvml.h, which keeps them: a function whose struct changed has a new name (_v2, _v3).
#pragma once

#include <cstddef>

namespace wireplan::nvml {

using Return = int;
inline constexpr Return kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kFunctionNotFound = 13, kUnknown = 999;

struct Opaque;
using Device = Opaque*;

struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct Memory { unsigned long long total, free, used; };  // nvmlMemory_t

struct FieldValue {  // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency;
  int type;  // of the value: 0 double, 1 unsigned int, 2 unsigned long, 3 unsigned long long, 4 signed long long
  Return status;
  union {
    double d;
    unsigned ui;
    unsigned long long ull;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

inline constexpr unsigned kFieldNvlinkCount = 91, kFieldNvlinkState = 165, kFieldC2cCount = 170;
inline constexpr unsigned kMostNvlinks = 18;        // NVML_NVLINK_MAX_LINKS
inline constexpr unsigned kCapabilityPeers = 0;     // NVML_NVLINK_CAP_P2P_SUPPORTED
inline constexpr int kEndGpu = 0, kEndCpu = 1, kEndSwitch = 2;  // nvmlIntNvLinkDeviceType_t
inline constexpr int kPeerRead = 0, kPeerWrite = 1;             // nvmlGpuP2PCapsIndex_t
inline constexpr int kPeerOk = 0, kPeerUnknown = 6;             // nvmlGpuP2PStatus_t
inline constexpr unsigned kVirtualGpu = 2;                      // NVML_GPU_VIRTUALIZATION_MODE_VGPU

// nvmlNvlinkVersion_t: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 as 1 to 7 -> the generation; 0 for others.
constexpr int nvlink_generation(unsigned version) {
  constexpr int kGenerations[] = {0, 1, 2, 2, 3, 3, 4, 5};
  return version < 8 ? kGenerations[version] : 0;
}

}  // namespace wireplan::nvml
