#include "native/measure/nccl_api.hpp"

#include "native/measure/nccl_library.hpp"

namespace wireplan::nccl_backend {
namespace {

void find_all(Library& library, Driver& d) {
  library.find("cuInit", d.init);
  library.find("cuDriverGetVersion", d.driver_version);
  library.find("cuGetErrorName", d.error_name);
  library.find("cuGetErrorString", d.error_string);
  library.find("cuDeviceGetCount", d.device_count);
  library.find("cuDeviceGet", d.device);
  library.find("cuDeviceGetName", d.device_name);
  library.find("cuDeviceGetAttribute", d.device_attribute);
  library.find("cuDevicePrimaryCtxRetain", d.retain_context);
  library.find("cuDevicePrimaryCtxRelease_v2", d.release_context);
  library.find("cuCtxSetCurrent", d.set_context);
  library.find("cuMemGetInfo_v2", d.memory_info);
  library.find("cuMemAlloc_v2", d.allocate);
  library.find("cuMemFree_v2", d.free);
  library.find("cuMemsetD8Async", d.fill_bytes);
  library.find("cuMemcpyDtoDAsync_v2", d.copy);
  library.find("cuMemcpyDtoHAsync_v2", d.copy_to_host);
  library.find("cuStreamCreate", d.create_stream);
  library.find("cuStreamDestroy_v2", d.destroy_stream);
  library.find("cuStreamQuery", d.query_stream);
  library.find("cuStreamWaitEvent", d.wait_event);
  library.find("cuEventCreate", d.create_event);
  library.find("cuEventDestroy_v2", d.destroy_event);
  library.find("cuEventRecord", d.record_event);
  library.find("cuEventRecordWithFlags", d.record_event_with_flags);
  library.find("cuEventQuery", d.query_event);
  library.find("cuEventElapsedTime", d.elapsed);
  library.find("cuModuleLoadData", d.load_module);
  library.find("cuModuleUnload", d.unload_module);
  library.find("cuModuleGetFunction", d.function);
  library.find("cuLaunchKernel", d.launch);
  library.find("cuStreamBeginCapture_v2", d.begin_capture);
  library.find("cuStreamEndCapture", d.end_capture);
  library.find("cuGraphInstantiateWithFlags", d.instantiate);
  library.find("cuGraphLaunch", d.launch_graph);
  library.find("cuGraphExecDestroy", d.destroy_exec);
  library.find("cuGraphDestroy", d.destroy_graph);
}

void find_all(Library& library, Nccl& n) {
  library.find("ncclGetUniqueId", n.unique_id);
  library.find("ncclCommInitRankConfig", n.init_rank);
  library.find("ncclCommSplit", n.split);
  library.find("ncclCommFinalize", n.finalize);
  library.find("ncclCommDestroy", n.destroy);
  library.find("ncclCommAbort", n.abort);
  library.find("ncclCommGetAsyncError", n.async_error);
  library.find("ncclGetErrorString", n.error_string);
  library.find("ncclGetLastError", n.last_error);
  library.find("ncclAllReduce", n.all_reduce);
  library.find("ncclAllGather", n.all_gather);
  library.find("ncclReduceScatter", n.reduce_scatter);
  library.find("ncclBroadcast", n.broadcast);
  library.find("ncclReduce", n.reduce);
  library.find("ncclSend", n.send);
  library.find("ncclRecv", n.receive);
  library.find("ncclGroupStart", n.group_start);
  library.find("ncclGroupEnd", n.group_end);
  library.find_if_there("ncclMemAlloc", n.allocate);
  library.find_if_there("ncclMemFree", n.free);
  library.find_if_there("ncclCommRegister", n.register_buffer);
  library.find_if_there("ncclCommDeregister", n.deregister_buffer);
}

}  // namespace

std::string Driver::words_of(CudaResult error) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name) error_name(error, &name);
  if (error_string) error_string(error, &text);
  return std::string(text ? text : "unknown error") + " (" + (name ? name : "no name") + ", " + std::to_string(error) + ")";
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

bool load_api(Api& api, std::string& missing) {
  Library driver("libcuda.so.1");
  if (!driver) {
    missing = "no NVIDIA driver here: " + driver.why();
    return false;
  }
  find_all(driver, api.cuda);
  if (!driver.lacking().empty()) {
    missing = "this NVIDIA driver is too old: libcuda.so.1 has no " + driver.lacking() + ", which CUDA 11.4 brought";
    return false;
  }
  int devices = 0;
  if (const CudaResult error = api.cuda.init(0); error != kCudaDone) {
    missing = "the NVIDIA driver finds no GPU here: cuInit: " + api.cuda.words_of(error);
    return false;
  }
  if (const CudaResult error = api.cuda.device_count(&devices); error != kCudaDone || devices < 1) {
    missing = "the NVIDIA driver shows no GPU here: cuDeviceGetCount: " + (error != kCudaDone ? api.cuda.words_of(error) : std::string("0 devices"));
    return false;
  }
  Library nccl("libnccl.so.2");
  if (!nccl) {
    missing = "no NCCL here: " + nccl.why() + " (where it came with PyTorch, name its folder in LD_LIBRARY_PATH)";
    return false;
  }
  nccl.find("ncclGetVersion", api.nccl.get_version);
  if (!api.nccl.get_version || api.nccl.get_version(&api.nccl.version) != kNcclDone) {
    missing = "libnccl.so.2 does not say its version";
    return false;
  }
  if (api.nccl.version < kLeastVersion) {
    // Before 2.9 the number was written 2708 for 2.7.8.
    const int v = api.nccl.version;
    missing = "NCCL " + (v < 10000 ? std::to_string(v / 1000) + "." + std::to_string(v / 100 % 10) + "." + std::to_string(v % 100) : version_text(v)) + " is too old: groups need ncclCommSplit of NCCL " + version_text(kLeastVersion) + " or newer";
    return false;
  }
  find_all(nccl, api.nccl);
  if (!nccl.lacking().empty()) {
    missing = "libnccl.so.2 calls itself NCCL " + version_text(api.nccl.version) + " but has no " + nccl.lacking();
    return false;
  }
  return true;
}

}  // namespace wireplan::nccl_backend
