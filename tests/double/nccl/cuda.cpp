// libcuda.so.1 of the double: the functions that native/measure/nccl_api.hpp takes, no more.
#include <algorithm>
#include <cstring>

#include "native/measure/elements.hpp"
#include "native/measure/values.hpp"
#include "tests/double/nccl/stream.hpp"

using namespace wireplan_double;

namespace {

using Result = int;
constexpr Result kDone = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200, kInvalidContext = 201, kInvalidHandle = 400, kNotFound = 500,
                 kNotReady = 600;
constexpr double kKernelSeconds = 2e-6;

bool is_initialized = false;

// What every call begins with: a GPU, and one that is still there.
Result state() {
  if (!is_initialized) return kNotInitialized;
  Gpu* gpu = current_gpu();
  if (!gpu) return kInvalidContext;
  return gpu->error;
}

struct ModuleOf { std::string text; };
struct FunctionOf { std::string name, parameters; };
struct GraphOf { std::vector<Work> works; };

// "u64 u32 u32" of the entry's parameters in the PTX text; "" where there is no such entry.
std::string parameters_of(const std::string& text, const std::string& name) {
  const std::size_t entry = text.find(".entry " + name + "(");
  if (entry == std::string::npos) return "";
  const std::size_t end = text.find("\n)", entry);
  std::string found;
  for (std::size_t at = text.find(".param .", entry); at < end; at = text.find(".param .", at + 1)) {
    const std::size_t start = at + 8;
    found += (found.empty() ? "" : " ") + text.substr(start, text.find(' ', start) - start);
  }
  return found;
}

// Handles of functions last as long as the process.
std::deque<FunctionOf>& functions() {
  static std::deque<FunctionOf> all;
  return all;
}

template <class T>
T parameter(void** parameters, int i) {
  T value;
  std::memcpy(&value, parameters[i], sizeof value);
  return value;
}

}  // namespace

extern "C" {

Result cuInit(unsigned) {
  if (machine().gpus < 1) return kNoDevice;
  is_initialized = true;
  return kDone;
}
Result cuDriverGetVersion(int* version) { return *version = machine().driver, kDone; }
Result cuGetErrorName(Result error, const char** text) {
  *text = error == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : error == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : error == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : error == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_OF_THE_DOUBLE";
  return kDone;
}
Result cuGetErrorString(Result error, const char** text) {
  *text = error == 719 ? "unspecified launch failure" : error == kOutOfMemory ? "out of memory" : error == kNoDevice ? "no CUDA-capable device is detected" : "an error of the double";
  return kDone;
}
Result cuDeviceGetCount(int* count) { return *count = machine().gpus, is_initialized ? kDone : kNotInitialized; }
Result cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal >= 0 && ordinal < machine().gpus ? kDone : kInvalidDevice; }
Result cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Double GPU", static_cast<std::size_t>(length));
  return kDone;
}
Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 16 ? 4 : attribute == 33 ? device + 1 : attribute == 75 ? 9 : 0;
  return kDone;
}
Result cuDevicePrimaryCtxRetain(Gpu** context, int device) {
  *context = &gpu_at(device);
  ++alive().contexts;
  return kDone;
}
Result cuDevicePrimaryCtxRelease_v2(int) { return --alive().contexts, kDone; }
Result cuCtxSetCurrent(Gpu* context) {
  set_current_gpu(context);
  return context ? context->error.load() : kDone;
}
Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (const Result r = state(); r != kDone) return r;
  *total = machine().memory;
  *free = *total - current_gpu()->used;
  return kDone;
}
Result cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (const Result r = state(); r != kDone) return r;
  if (bytes == 0) return kInvalidValue;
  void* memory = allocate_on(*current_gpu(), bytes);
  *address = reinterpret_cast<unsigned long long>(memory);
  return memory ? kDone : kOutOfMemory;
}
Result cuMemFree_v2(unsigned long long address) {
  wait_for_streams();
  return free_of_gpu(reinterpret_cast<void*>(address)) ? kDone : kInvalidValue;
}
Result cuMemsetD8Async(unsigned long long address, unsigned char value, std::size_t bytes, Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  stream->add([=](Stream&) { std::memset(reinterpret_cast<void*>(address), value, bytes); });
  return kDone;
}
Result cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  stream->add([=](Stream& s) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    s.now += 2.0 * static_cast<double>(bytes) / machine().memory_rate;
  });
  return kDone;
}
Result cuMemcpyDtoHAsync_v2(void* host, unsigned long long address, std::size_t bytes, Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  stream->add([=](Stream&) { std::memcpy(host, reinterpret_cast<void*>(address), bytes); });
  return kDone;
}
Result cuStreamCreate(Stream** stream, unsigned) {
  if (const Result r = state(); r != kDone) return r;
  *stream = new Stream(*current_gpu());
  return kDone;
}
Result cuStreamDestroy_v2(Stream* stream) {
  delete stream;
  return kDone;
}
Result cuStreamQuery(Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  return stream->is_idle() ? kDone : kNotReady;
}
Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  if (const Result r = state(); r != kDone) return r;
  stream->wait(*event);
  return kDone;
}
Result cuEventCreate(Event** event, unsigned) {
  if (const Result r = state(); r != kDone) return r;
  *event = new Event{current_gpu(), nullptr};
  ++alive().events;
  return kDone;
}
Result cuEventDestroy_v2(Event* event) {
  delete event;
  --alive().events;
  return kDone;
}
Result cuEventRecord(Event* event, Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  if (event->gpu != &stream->gpu()) return kInvalidHandle;
  stream->record(*event);
  return kDone;
}
Result cuEventRecordWithFlags(Event* event, Stream* stream, unsigned) { return cuEventRecord(event, stream); }
Result cuEventQuery(Event* event) {
  if (const Result r = state(); r != kDone) return r;
  std::lock_guard lock(stream_guard());
  return !event->last || event->last->is_done ? kDone : kNotReady;
}
Result cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  if (const Result r = state(); r != kDone) return r;
  std::lock_guard lock(stream_guard());
  if (!start->last || !end->last) return kInvalidHandle;
  if (!start->last->is_done || !end->last->is_done) return kNotReady;
  *milliseconds = static_cast<float>((end->last->time - start->last->time) * 1e3);
  return kDone;
}
Result cuModuleLoadData(ModuleOf** module, const void* image) {
  if (const Result r = state(); r != kDone) return r;
  const std::string text = static_cast<const char*>(image);
  if (text.find(".version") == std::string::npos) return kInvalidImage;
  *module = new ModuleOf{text};
  ++alive().modules;
  return kDone;
}
Result cuModuleUnload(ModuleOf* module) {
  delete module;
  --alive().modules;
  return kDone;
}
Result cuModuleGetFunction(FunctionOf** function, ModuleOf* module, const char* name) {
  const std::string parameters = parameters_of(module->text, name);
  if (parameters.empty()) return kNotFound;
  functions().push_back({name, parameters});
  *function = &functions().back();
  return kDone;
}

// Kernels are known by their names and done here; their parameters must be those of the PTX text.
Result cuLaunchKernel(FunctionOf* function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned, Stream* stream, void** p, void**) {
  if (const Result r = state(); r != kDone) return r;
  if (grid < 1 || block < 1 || block > 1024) return kInvalidValue;
  if (function->name == "wireplan_fill" && function->parameters == "u64 u32 u32 u32 u64") {
    auto* buffer = parameter<unsigned char*>(p, 0);
    const auto type = static_cast<wireplan::ElementType>(parameter<int>(p, 1));
    const auto redop = static_cast<wireplan::Reduction>(parameter<int>(p, 2));
    const int rank = parameter<int>(p, 3);
    const auto count = parameter<std::uint64_t>(p, 4);
    stream->add([=](Stream& s) {
      for (std::uint64_t i = 0; i < count; ++i) wireplan::write_element(type, buffer, i, wireplan::value_at(redop, rank, i));
      s.now += kKernelSeconds;
    });
    return kDone;
  }
  if (function->name == "wireplan_noise" && function->parameters == "u64 u64") {
    auto* matrix = parameter<std::uint16_t*>(p, 0);
    const auto count = parameter<std::uint64_t>(p, 1);
    stream->add([=](Stream& s) {
      for (std::uint64_t i = 0; i < count; ++i) matrix[i] = wireplan::noise_at(i);
      s.now += kKernelSeconds;
    });
    return kDone;
  }
  if (function->name == "wireplan_check" && function->parameters == "u64 u32 u32 u32 u32 u64 u32 u32 u64 u64") {
    const auto* buffer = parameter<unsigned char*>(p, 0);
    wireplan::Call call;
    call.op = static_cast<wireplan::Collective>(parameter<int>(p, 1));
    call.type = static_cast<wireplan::ElementType>(parameter<int>(p, 2));
    call.redop = static_cast<wireplan::Reduction>(parameter<int>(p, 3));
    call.root = parameter<int>(p, 4);
    call.count = parameter<std::uint64_t>(p, 5);
    const int ranks = parameter<int>(p, 6), rank = parameter<int>(p, 7);
    const auto count = parameter<std::uint64_t>(p, 8);
    auto* wrong = parameter<unsigned long long*>(p, 9);
    stream->add([=](Stream& s) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const double expected = wireplan::expected_at(call, ranks, rank, i);
        if (expected >= 0 && !wireplan::is_as_expected(call, buffer, i, expected)) ++*wrong;
      }
      s.now += kKernelSeconds;
    });
    return kDone;
  }
  if (function->name == "wireplan_spin" && function->parameters == "u64") {
    const double seconds = static_cast<double>(parameter<std::uint64_t>(p, 0)) * 1e-9;
    stream->add([=](Stream& s) { s.now += seconds; });
    return kDone;
  }
  return kInvalidValue;
}

Result cuStreamBeginCapture_v2(Stream* stream, int) {
  if (const Result r = state(); r != kDone) return r;
  stream->capture = std::make_unique<std::vector<Work>>();
  return kDone;
}
Result cuStreamEndCapture(Stream* stream, GraphOf** graph) {
  if (!stream->capture) return kInvalidValue;
  *graph = new GraphOf{std::move(*stream->capture)};
  stream->capture.reset();
  ++alive().graphs;
  return state();
}
Result cuGraphInstantiateWithFlags(GraphOf** exec, GraphOf* graph, unsigned long long) {
  *exec = new GraphOf(*graph);
  ++alive().graphs;
  return kDone;
}
Result cuGraphLaunch(GraphOf* exec, Stream* stream) {
  if (const Result r = state(); r != kDone) return r;
  for (const Work& w : exec->works) stream->add(w);
  return kDone;
}
Result cuGraphExecDestroy(GraphOf* exec) {
  delete exec;
  --alive().graphs;
  return kDone;
}
Result cuGraphDestroy(GraphOf* graph) { return cuGraphExecDestroy(graph); }
}
