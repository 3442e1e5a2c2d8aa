// The functions of the CUDA driver and of NCCL that are called here, found at run time: no header and no library of either is needed to build.
//
// Declared from cuda.h 13.0 and nccl.h 2.28; tests/repository/test_nccl_api.py holds them against those headers where a machine has them.
// The driver's names carry their version (cuMemAlloc_v2), which is the ABI; NCCL's ABI is stable within version 2.
#pragma once

#include <climits>
#include <cstddef>
#include <string>

#include "native/measure/backend.hpp"

namespace wireplan::nccl_backend {

// --- the driver --------------------------------------------------------------------------------------------------------------------------
using CudaResult = int;
inline constexpr CudaResult kCudaDone = 0, kCudaOutOfMemory = 2, kCudaNotReady = 600;
using Device = int;
using Address = unsigned long long;  // in the memory of a GPU
using Context = struct ContextType*;
using Stream = struct StreamType*;
using Event = struct EventType*;
using Module = struct ModuleType*;
using Function = struct FunctionType*;
using Graph = struct GraphType*;
using GraphExec = struct GraphExecType*;
inline constexpr unsigned kStreamNonBlocking = 1, kEventRecordExternal = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr int kAttributeMultiprocessors = 16, kAttributePciBus = 33, kAttributePciDevice = 34, kAttributePciDomain = 50;

struct Driver {
  CudaResult (*init)(unsigned flags) = nullptr;
  CudaResult (*driver_version)(int* version) = nullptr;
  CudaResult (*error_name)(CudaResult error, const char** text) = nullptr;
  CudaResult (*error_string)(CudaResult error, const char** text) = nullptr;
  CudaResult (*device_count)(int* count) = nullptr;
  CudaResult (*device)(Device* device, int ordinal) = nullptr;
  CudaResult (*device_name)(char* name, int length, Device device) = nullptr;
  CudaResult (*device_attribute)(int* value, int attribute, Device device) = nullptr;
  CudaResult (*retain_context)(Context* context, Device device) = nullptr;
  CudaResult (*release_context)(Device device) = nullptr;
  CudaResult (*set_context)(Context context) = nullptr;
  CudaResult (*memory_info)(std::size_t* free, std::size_t* total) = nullptr;
  CudaResult (*allocate)(Address* address, std::size_t bytes) = nullptr;
  CudaResult (*free)(Address address) = nullptr;
  CudaResult (*fill_bytes)(Address address, unsigned char value, std::size_t bytes, Stream stream) = nullptr;
  CudaResult (*copy)(Address to, Address from, std::size_t bytes, Stream stream) = nullptr;
  CudaResult (*copy_to_host)(void* host, Address address, std::size_t bytes, Stream stream) = nullptr;
  CudaResult (*create_stream)(Stream* stream, unsigned flags) = nullptr;
  CudaResult (*destroy_stream)(Stream stream) = nullptr;
  CudaResult (*query_stream)(Stream stream) = nullptr;
  CudaResult (*wait_event)(Stream stream, Event event, unsigned flags) = nullptr;
  CudaResult (*create_event)(Event* event, unsigned flags) = nullptr;
  CudaResult (*destroy_event)(Event event) = nullptr;
  CudaResult (*record_event)(Event event, Stream stream) = nullptr;
  CudaResult (*record_event_with_flags)(Event event, Stream stream, unsigned flags) = nullptr;
  CudaResult (*query_event)(Event event) = nullptr;
  CudaResult (*elapsed)(float* milliseconds, Event start, Event end) = nullptr;
  CudaResult (*load_module)(Module* module, const void* image) = nullptr;
  CudaResult (*unload_module)(Module module) = nullptr;
  CudaResult (*function)(Function* function, Module module, const char* name) = nullptr;
  CudaResult (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream,
                       void** parameters, void** extra) = nullptr;
  CudaResult (*begin_capture)(Stream stream, int mode) = nullptr;
  CudaResult (*end_capture)(Stream stream, Graph* graph) = nullptr;
  CudaResult (*instantiate)(GraphExec* exec, Graph graph, unsigned long long flags) = nullptr;
  CudaResult (*launch_graph)(GraphExec exec, Stream stream) = nullptr;
  CudaResult (*destroy_exec)(GraphExec exec) = nullptr;
  CudaResult (*destroy_graph)(Graph graph) = nullptr;

  // "unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, 719)"
  std::string words_of(CudaResult error) const;
};

// --- NCCL --------------------------------------------------------------------------------------------------------------------------------
using NcclResult = int;
inline constexpr NcclResult kNcclDone = 0, kNcclInProgress = 7;
using Comm = struct CommType*;
struct UniqueId { char bytes[128]; };
inline constexpr int kNoColor = -1;
// ncclConfig_t as of 2.18; NCCL reads as many bytes as `size` says and gives what comes after its defaults.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = 0, cluster_size = INT_MIN, least_blocks = INT_MIN, most_blocks = INT_MIN;
  const char* network = nullptr;
  int split_share = INT_MIN;
};

struct Nccl {
  NcclResult (*get_version)(int* version) = nullptr;
  NcclResult (*unique_id)(UniqueId* id) = nullptr;
  NcclResult (*init_rank)(Comm* comm, int ranks, UniqueId id, int rank, Config* config) = nullptr;
  NcclResult (*split)(Comm comm, int color, int key, Comm* made, Config* config) = nullptr;
  NcclResult (*finalize)(Comm comm) = nullptr;
  NcclResult (*destroy)(Comm comm) = nullptr;
  NcclResult (*abort)(Comm comm) = nullptr;
  NcclResult (*async_error)(Comm comm, NcclResult* error) = nullptr;
  const char* (*error_string)(NcclResult error) = nullptr;
  const char* (*last_error)(Comm comm) = nullptr;
  NcclResult (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int redop, Comm comm, Stream stream) = nullptr;
  NcclResult (*all_gather)(const void* send, void* receive, std::size_t count, int type, Comm comm, Stream stream) = nullptr;
  NcclResult (*reduce_scatter)(const void* send, void* receive, std::size_t count, int type, int redop, Comm comm, Stream stream) = nullptr;
  NcclResult (*broadcast)(const void* send, void* receive, std::size_t count, int type, int root, Comm comm, Stream stream) = nullptr;
  NcclResult (*reduce)(const void* send, void* receive, std::size_t count, int type, int redop, int root, Comm comm, Stream stream) = nullptr;
  NcclResult (*send)(const void* from, std::size_t count, int type, int peer, Comm comm, Stream stream) = nullptr;
  NcclResult (*receive)(void* to, std::size_t count, int type, int peer, Comm comm, Stream stream) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  // From 2.19 on; null where the library is older.
  NcclResult (*allocate)(void** address, std::size_t bytes) = nullptr;
  NcclResult (*free)(void* address) = nullptr;
  NcclResult (*register_buffer)(Comm comm, void* address, std::size_t bytes, void** handle) = nullptr;
  NcclResult (*deregister_buffer)(Comm comm, void* handle) = nullptr;

  int version = 0;  // 22809: 2.28.9
  bool can_register() const { return allocate && free && register_buffer && deregister_buffer; }
};

inline constexpr int kLeastVersion = 21800;     // ncclCommSplit
inline constexpr int kLeastVersionFp8 = 22400;  // ncclFloat8e4m3, ncclFloat8e5m2
std::string version_text(int version);          // 22809: "2.28.9"

// Numbers of nccl.h: ncclInt8 = 0 … ncclBfloat16 = 9 stand in the order of ElementType; sum, prod, max, min, avg.
constexpr int nccl_type(ElementType type) { return static_cast<int>(type); }
constexpr int nccl_redop(Reduction redop) { return redop == Reduction::min ? 3 : redop == Reduction::max ? 2 : static_cast<int>(redop); }

struct Api {
  Driver cuda;
  Nccl nccl;
};

// Opens libcuda.so.1 and libnccl.so.2 and starts the driver. False, with what is missing in one sentence.
bool load_api(Api& api, std::string& missing);

}  // namespace wireplan::nccl_backend
