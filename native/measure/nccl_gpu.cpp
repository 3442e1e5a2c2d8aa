#include "native/measure/nccl_gpu.hpp"

#include <algorithm>
#include <cstdio>

#include "native/measure/values.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksOfOne = 8;  // of a multiprocessor: enough to hide memory's latency
constexpr int kAttributeMajor = 75, kAttributeMinor = 76;

}  // namespace

Report Gpu::open() {
  const Driver& cuda = words_.api->cuda;
  if (Report r = words_.cuda(rank_, "cuDeviceGet", cuda.device(&device_, ordinal_)); !r) return r;
  char name[256] = "";
  if (Report r = words_.cuda(rank_, "cuDeviceGetName", cuda.device_name(name, sizeof name - 1, device_)); !r) return r;
  name_ = name;
  int domain = 0, bus = 0, slot = 0, major = 0, minor = 0;
  const std::pair<int, int*> asked[] = {{kAttributePciDomain, &domain}, {kAttributePciBus, &bus}, {kAttributePciDevice, &slot}, {kAttributeMajor, &major}, {kAttributeMinor, &minor},
                                        {kAttributeMultiprocessors, &multiprocessors_}};
  for (const auto& [attribute, value] : asked)
    if (Report r = words_.cuda(rank_, "cuDeviceGetAttribute", cuda.device_attribute(value, attribute, device_)); !r) return r;
  char text[32] = "";
  std::snprintf(text, sizeof text, "%04x:%02x:%02x", static_cast<unsigned>(domain), static_cast<unsigned>(bus), static_cast<unsigned>(slot));
  bus_ = text;
  capability_ = major * 10 + minor;
  if (Report r = words_.cuda(rank_, "cuDevicePrimaryCtxRetain", cuda.retain_context(&context_, device_)); !r) return r;
  if (Report r = enter(); !r) return r;
  if (Report r = words_.cuda(rank_, "cuModuleLoadData", cuda.load_module(&module_, kKernels)); !r) return r;
  const std::pair<const char*, Function*> kernels[] = {{"wireplan_fill", &fill_}, {"wireplan_noise", &noise_}, {"wireplan_check", &check_}, {"wireplan_spin", &spin_}};
  for (const auto& [kernel, function] : kernels)
    if (Report r = words_.cuda(rank_, "cuModuleGetFunction", cuda.function(function, module_, kernel)); !r) return r;
  if (Report r = hold_streams(1); !r) return r;
  return hold(wrong_, sizeof(std::uint64_t), false);
}

// What fails on the way out is not told: what made it fail has been.
Gpu::~Gpu() {
  const Driver& cuda = words_.api->cuda;
  if (!context_) return;
  cuda.set_context(context_);
  for (const Event e : events_) cuda.destroy_event(e);
  for (const Stream s : streams_) cuda.destroy_stream(s);
  if (wrong_.address) cuda.free(wrong_.address);
  if (module_) cuda.unload_module(module_);
  cuda.release_context(device_);
}

Report Gpu::enter() const { return words_.cuda(rank_, "cuCtxSetCurrent", words_.api->cuda.set_context(context_)); }

Report Gpu::hold_streams(std::size_t count) {
  while (streams_.size() < count) {
    Stream stream = nullptr;
    if (Report r = words_.cuda(rank_, "cuStreamCreate", words_.api->cuda.create_stream(&stream, kStreamNonBlocking)); !r) return r;
    streams_.push_back(stream);
  }
  return {};
}

Report Gpu::hold_events(std::size_t count) {
  while (events_.size() < count) {
    Event event = nullptr;
    if (Report r = words_.cuda(rank_, "cuEventCreate", words_.api->cuda.create_event(&event, 0)); !r) return r;
    events_.push_back(event);
  }
  return {};
}

Report Gpu::record(std::size_t event, Stream stream, bool in_capture) const {
  const Driver& cuda = words_.api->cuda;
  if (in_capture) return words_.cuda(rank_, "cuEventRecordWithFlags", cuda.record_event_with_flags(events_[event], stream, kEventRecordExternal));
  return words_.cuda(rank_, "cuEventRecord", cuda.record_event(events_[event], stream));
}

double Gpu::free_bytes() const {
  std::size_t free = 0, total = 0;
  return words_.api->cuda.memory_info(&free, &total) == kCudaDone ? static_cast<double>(free) : 0;
}

Report Gpu::hold(Buffer& buffer, std::size_t bytes, bool for_nccl) {
  if (bytes <= buffer.bytes) return {};
  give_back(buffer, for_nccl);
  const Api& api = *words_.api;
  bool is_enough = true;
  if (for_nccl) {
    void* address = nullptr;
    const NcclResult error = api.nccl.allocate(&address, bytes);
    buffer.address = reinterpret_cast<Address>(address);
    std::size_t free = 0, total = 0;
    // NCCL says "unhandled cuda error" where there is not so much.
    if (error != kNcclDone && (api.cuda.memory_info(&free, &total) != kCudaDone || free >= bytes)) return words_.nccl(rank_, "ncclMemAlloc", error, nullptr);
    is_enough = error == kNcclDone;
  } else {
    const CudaResult error = api.cuda.allocate(&buffer.address, bytes);
    if (error != kCudaDone && error != kCudaOutOfMemory) return words_.cuda(rank_, "cuMemAlloc", error);
    is_enough = error == kCudaDone;
  }
  if (!is_enough) {
    buffer.address = 0;
    return {CallOutcome::skipped, "rank " + std::to_string(rank_) + ": " + words_.what + ": a buffer of " + std::to_string(bytes) + " bytes does not fit: " +
                                  std::to_string(static_cast<unsigned long long>(free_bytes())) + " bytes of " + name_ + " are free"};
  }
  buffer.bytes = bytes;
  return {};
}

void Gpu::give_back(Buffer& buffer, bool for_nccl) {
  if (buffer.address && for_nccl) words_.api->nccl.free(reinterpret_cast<void*>(buffer.address));
  else if (buffer.address) words_.api->cuda.free(buffer.address);
  buffer = {};
}

Report Gpu::launch(Function kernel, const char* name, Stream stream, std::uint64_t threads, void** parameters) const {
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>((threads + kThreads - 1) / kThreads, 1, static_cast<std::uint64_t>(multiprocessors_) * kBlocksOfOne));
  return words_.cuda(rank_, name, words_.api->cuda.launch(kernel, blocks, 1, 1, threads == 1 ? 1 : kThreads, 1, 1, 0, stream, parameters, nullptr));
}

Report Gpu::fill_bytes(Address address, std::size_t bytes) const {
  return bytes == 0 ? Report{} : words_.cuda(rank_, "cuMemsetD8Async", words_.api->cuda.fill_bytes(address, 0xff, bytes, streams_[0]));
}

Report Gpu::fill(Address address, const Call& call, int place, std::uint64_t count) const {
  if (count == 0) return {};
  int type = static_cast<int>(call.type), redop = static_cast<int>(call.redop);
  void* parameters[] = {&address, &type, &redop, &place, &count};
  return launch(fill_, "cuLaunchKernel(wireplan_fill)", streams_[0], count, parameters);
}

Report Gpu::fill_noise(Address address, std::uint64_t count) const {
  void* parameters[] = {&address, &count};
  return launch(noise_, "cuLaunchKernel(wireplan_noise)", streams_[0], count, parameters);
}

Report Gpu::copy(Stream stream, Address to, Address from, std::size_t bytes) const {
  return words_.cuda(rank_, "cuMemcpyDtoDAsync", words_.api->cuda.copy(to, from, bytes, stream));
}

Report Gpu::start_check(Address address, const Call& call, int size, int place, std::uint64_t count) const {
  if (Report r = words_.cuda(rank_, "cuMemsetD8Async", words_.api->cuda.fill_bytes(wrong_.address, 0, wrong_.bytes, streams_[0])); !r) return r;
  if (count == 0) return {};
  int op = static_cast<int>(call.op), type = static_cast<int>(call.type), redop = static_cast<int>(call.redop), root = call.root;
  std::uint64_t of_call = call.count;
  Address wrong = wrong_.address;
  void* parameters[] = {&address, &op, &type, &redop, &root, &of_call, &size, &place, &count, &wrong};
  return launch(check_, "cuLaunchKernel(wireplan_check)", streams_[0], count, parameters);
}

Report Gpu::read_check(std::uint64_t& wrong) const {
  return words_.cuda(rank_, "cuMemcpyDtoHAsync", words_.api->cuda.copy_to_host(&wrong, wrong_.address, sizeof wrong, streams_[0]));
}

Report Gpu::spin(Stream stream, double seconds) const {
  std::uint64_t nanoseconds = static_cast<std::uint64_t>(std::max(seconds, 0.0) * 1e9 + 0.5);
  void* parameters[] = {&nanoseconds};
  return launch(spin_, "cuLaunchKernel(wireplan_spin)", stream, 1, parameters);
}

}  // namespace wireplan::nccl_backend
