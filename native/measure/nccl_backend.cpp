#include "native/measure/nccl_backend.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "native/measure/launch.hpp"
#include "native/measure/module.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr double kMeetWithin = 120;  // seconds, where no --timeout says else
// Calls that lie enqueued at most: enough to keep a GPU busy, few enough that the driver never holds the thread which must hear of errors.
constexpr int kMostAhead = 64;

std::string host_name() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

// "550.54.15" of the kernel module, where it says so.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  if (!std::getline(file, line)) return {};
  const std::size_t at = line.find("Module");
  std::size_t start = at == std::string::npos ? at : line.find_first_of("0123456789", at);
  // "Kernel Module for x86_64  580.65.06": the version is the first word of digits and a dot.
  while (start != std::string::npos) {
    const std::size_t end = std::min(line.find(' ', start), line.size());
    const std::string word = line.substr(start, end - start);
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
    start = line.find_first_of("0123456789", end);
  }
  return {};
}

std::vector<std::string> words_apart(const std::string& text, char at) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(at, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

}  // namespace

NcclBackend::~NcclBackend() {
  if (comms_.is_stuck()) {  // the process is about to end, and nothing here may hold it up
    for (auto& products : products_) (void)products.release();
    for (const auto& gpu : gpus_) gpu->leave();
    return;
  }
  deregister_buffers();
  for (auto& lane : lanes_) comms_.free(lane);
  comms_.free(members_);
  comms_.close();
  products_.clear();
  for (const auto& gpu : gpus_) {
    (void)gpu->enter();
    gpu->give_back(gpu->send, request_.register_buffers);
    gpu->give_back(gpu->receive, request_.register_buffers);
  }
}

bool NcclBackend::choose_gpus(const Launch& launch, std::vector<int>& ordinals, std::string& why_not) const {
  int visible = 0;
  if (const CudaResult error = api_.cuda.device_count(&visible); error != kCudaDone) {
    why_not = "cuDeviceGetCount: " + api_.cuda.words_of(error);
    return false;
  }
  const bool is_launched = launch.processes > 1;
  const int count = request_.per_process > 0 ? request_.per_process : is_launched ? 1 : visible;
  int first = is_launched ? launch.local_rank * count : 0;
  if (first + count > visible && visible == count) first = 0;  // the launcher shows each process its own
  ordinals.clear();
  for (int i = 0; i < count; ++i) ordinals.push_back(first + i);
  for (const int o : ordinals) {
    if (o >= 0 && o < visible) continue;
    why_not = "process " + std::to_string(launch.rank) + " should drive " + std::to_string(ordinals.size()) + (ordinals.size() == 1 ? " GPU" : " GPUs") + " from number " + std::to_string(ordinals.front()) +
              " on (-g), but the driver shows " + std::to_string(visible) + ": 0 to " + std::to_string(visible - 1);
    return false;
  }
  return true;
}

bool NcclBackend::start(Refusal& refusal) {
  const Launch launch = launch_from_environment();
  if (!load_api(api_, refusal.text)) return false;
  refusal.is_missing = false;
  if (request_.register_buffers && !api_.nccl.can_register()) {
    refusal.text = "NCCL " + version_text(api_.nccl.version) + " cannot register buffers (-R): ncclCommRegister came with 2.19";
    return false;
  }
  MeetingPlace place;
  if (launch.processes > 1 && !meeting_place(launch, place, refusal.text)) return false;
  if (!meeting_.open(place, launch.rank, launch.processes, request_.timeout_s > 0 ? request_.timeout_s : kMeetWithin, refusal.text)) return false;

  // From here on the processes fail together: each says what it drives, or why it drives nothing.
  std::vector<int> ordinals;
  std::string told;
  if (choose_gpus(launch, ordinals, told)) {
    for (std::size_t i = 0; i < ordinals.size(); ++i) gpus_.push_back(std::make_unique<Gpu>(words_, static_cast<int>(i), ordinals[i]));
    told = "+" + host_name();
    for (const auto& gpu : gpus_) {
      if (const Report r = gpu->open(); !r) {
        told = "-process " + std::to_string(launch.rank) + ", " + r.message;
        break;
      }
      told += "\n" + gpu->name() + "\t" + gpu->bus();
    }
  } else {
    told = "-" + told;
  }
  std::vector<std::string> seen;
  int process = 0;
  for (const std::string& text : exchange(told)) {
    if (text.empty() || text[0] != '+') {
      refusal.text = text.empty() ? meeting_.notice() : text.substr(1);
      if (refusal.text.empty()) refusal.text = "process " + std::to_string(process) + " has gone";
      return false;
    }
    const std::vector<std::string> lines = words_apart(text.substr(1), '\n');
    if (process++ == meeting_.process())
      for (std::size_t i = 0; i < gpus_.size(); ++i) gpus_[i]->set_rank(ranks_ + static_cast<int>(i));
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::string gpu = lines[0] + "\t" + lines[i];
      if (const auto same = std::find(seen.begin(), seen.end(), gpu); same != seen.end()) {
        refusal.text = "ranks " + std::to_string(same - seen.begin()) + " and " + std::to_string(ranks_) + " have the same GPU of " + lines[0] + ", and NCCL takes a GPU once: start as many processes as there are GPUs, or say -g";
        return false;
      }
      seen.push_back(gpu);
      hosts_.push_back(lines[0]);
      gpu_names_.push_back(lines[i].substr(0, lines[i].find('\t')));
      ++ranks_;
    }
  }
  active_of_.assign(gpus_.size(), -1);
  return true;
}

BackendFacts NcclBackend::facts() {
  BackendFacts f;
  f.name = "nccl";
  f.hosts = hosts_;
  f.gpus = gpu_names_;
  int version = 0;
  if (api_.cuda.driver_version(&version) == kCudaDone) {
    const std::string cuda = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10), module = kernel_module_version();
    f.driver = module.empty() ? cuda : module + " (" + cuda + ")";
  }
  f.nccl = version_text(api_.nccl.version);
  f.has_products = Products::are_possible();
  return f;
}

std::vector<int> NcclBackend::own_ranks() const {
  std::vector<int> ranks;
  for (const auto& gpu : gpus_) ranks.push_back(gpu->rank());
  return ranks;
}

Report NcclBackend::company() {
  if (meeting_.has_notice()) return {CallOutcome::failed, meeting_.notice()};
  return {};
}

Report NcclBackend::gave_up(Report report) {
  if (report.outcome != CallOutcome::failed) return report;
  meeting_.give_notice(report.message);
  comms_.abort();
  return report;
}

std::string NcclBackend::words_of_call(const Call& call, const Member& member) const {
  const double bytes = static_cast<double>(call.count) * bytes_of(call.type) * (is_split_by_rank(call.op) ? member.size : 1);
  return std::string(name_of(call.op)) + " of " + std::to_string(static_cast<unsigned long long>(bytes)) + " bytes" + (call.in_place ? " in place" : "");
}

Report NcclBackend::open(const std::vector<std::vector<int>>& groups) {
  words_.what = "making communicators";
  deregister_buffers();
  for (auto& lane : lanes_) comms_.free(lane);
  lanes_.clear();
  comms_.free(members_);
  active_of_.assign(gpus_.size(), -1);
  groups_ = groups;
  if (Report r = comms_.open(ranks_); !r) return gave_up(r);
  return gave_up(comms_.split(groups_, members_));
}

Report NcclBackend::can_call(const Call& call, const Gpu& gpu) const {
  if (call.type != ElementType::fp8_e4m3 && call.type != ElementType::fp8_e5m2) return {};
  if (api_.nccl.version < kLeastVersionFp8)
    return {CallOutcome::skipped, "NCCL " + version_text(api_.nccl.version) + " has no " + std::string(name_of(call.type)) + ": it came with " + version_text(kLeastVersionFp8)};
  constexpr int kLeastCapability = 90;
  if (reduces(call.op) && gpu.capability() < kLeastCapability) return {CallOutcome::skipped, "NCCL reduces " + std::string(name_of(call.type)) + " on GPUs of compute capability 9.0 and newer; " + gpu.name() + " is older"};
  return {};
}

template <class PerGpu>
Report NcclBackend::each_active(const PerGpu& act) {
  for (std::size_t own = 0; own < gpus_.size(); ++own) {
    if (!is_active(own)) continue;
    if (Report r = gpus_[own]->enter(); !r) return r;
    if (Report r = act(*gpus_[own], active(own), own); !r) return r;
  }
  return {};
}

NcclBackend::Used NcclBackend::used() const {
  Used used;
  for (std::size_t own = 0; own < gpus_.size(); ++own)
    if (is_active(own)) used.emplace_back(own, active(own).comm);
  return used;
}

Report NcclBackend::prepare(const Call& call, const std::vector<int>& active_groups) {
  deregister_buffers();
  call_ = call;
  active_of_.assign(gpus_.size(), -1);
  int first = -1;
  for (std::size_t own = 0; own < gpus_.size(); ++own)
    for (const int g : active_groups)
      if (members_[own][static_cast<std::size_t>(g)].place >= 0) active_of_[own] = g, first = first < 0 ? static_cast<int>(own) : first;
  if (first < 0) return {};
  words_.what = words_of_call(call, active(static_cast<std::size_t>(first)));
  const bool for_nccl = request_.register_buffers;
  Report r = each_active([&](Gpu& gpu, const Member& m, std::size_t) {
    if (Report can = can_call(call, gpu); !can) return can;
    const BufferBytes bytes = buffer_bytes(call, m);
    if (bytes.send > gpu.send.bytes || bytes.receive > gpu.receive.bytes) {  // no old buffer takes the place of a larger one
      gpu.give_back(gpu.send, for_nccl);
      gpu.give_back(gpu.receive, for_nccl);
    }
    if (Report held = gpu.hold(gpu.send, bytes.send, for_nccl); !held) return held;
    return gpu.hold(gpu.receive, bytes.receive, for_nccl);
  });
  if (r && for_nccl) r = register_buffers();
  if (r) r = fill();
  if (r) r = wait_for_streams();
  return gave_up(r);
}

Report NcclBackend::register_buffers() {
  return each_active([&](Gpu& gpu, const Member& m, std::size_t own) -> Report {
    for (const Buffer* b : {&gpu.send, &gpu.receive}) {
      if (!b->address) continue;
      void* handle = nullptr;
      const NcclResult error = api_.nccl.register_buffer(m.comm, reinterpret_cast<void*>(b->address), b->bytes, &handle);
      if (Report r = words_.nccl(gpu.rank(), "ncclCommRegister", error, m.comm); !r) return r;
      if (handle) registered_.push_back({own, m.comm, handle});
    }
    return {};
  });
}

void NcclBackend::deregister_buffers() {
  for (const Registered& r : registered_) {
    if (comms_.is_aborted()) break;
    (void)gpus_[r.own]->enter();
    api_.nccl.deregister_buffer(r.comm, r.handle);
  }
  registered_.clear();
}

// The whole of what is received is made unlike every result first, so that what a call does not write is wrong.
Report NcclBackend::fill() {
  return each_active([&](Gpu& gpu, const Member& m, std::size_t) -> Report {
    const BufferCounts counts = buffer_counts(call_, m.size, m.place);
    if (Report r = gpu.fill_bytes(gpu.receive.address, buffer_bytes(call_, m).receive); !r) return r;
    return gpu.fill(buffer_places(call_, m, gpu.send.address, gpu.receive.address).send, call_, m.place, counts.send);
  });
}

Report NcclBackend::call_once() {
  const char* function = "ncclGroupEnd";
  Report r = comms_.together(
      [&](std::size_t own) -> Report {
        if (!is_active(own)) return {};
        Gpu& gpu = *gpus_[own];
        const Member& m = active(own);
        const NcclResult error = enqueue(api_.nccl, call_, m, buffer_places(call_, m, gpu.send.address, gpu.receive.address), gpu.stream(), function);
        return words_.nccl(gpu.rank(), function, error, m.comm);
      },
      is_point_to_point(call_.op));
  return r ? comms_.enqueued(used(), function) : r;
}

Report NcclBackend::wait_for_event(std::size_t event) {
  const Used in_use = used();
  for (const auto& [own, comm] : in_use) {
    Gpu& gpu = *gpus_[own];
    Report r = comms_.wait(
        [&](bool& done) -> Report {
          if (Report in = gpu.enter(); !in) return in;
          const CudaResult state = api_.cuda.query_event(gpu.event(event));
          done = state == kCudaDone;
          return state == kCudaNotReady ? Report{} : words_.cuda(gpu.rank(), "cuEventQuery", state);
        },
        in_use);
    if (!r) return r;
  }
  return {};
}

Report NcclBackend::wait_for_streams() {
  const Used in_use = used();
  for (const auto& [own, comm] : in_use) {
    Gpu& gpu = *gpus_[own];
    Report r = comms_.wait(
        [&](bool& done) -> Report {
          if (Report in = gpu.enter(); !in) return in;
          const CudaResult state = api_.cuda.query_stream(gpu.stream());
          done = state == kCudaDone;
          return state == kCudaNotReady ? Report{} : words_.cuda(gpu.rank(), "cuStreamQuery", state);
        },
        in_use);
    if (!r) return r;
  }
  return {};
}

Report NcclBackend::run_calls(int iterations) {
  for (int i = 0; i <= iterations; ++i) {
    if (Report r = call_once(); !r) return r;
    Report r = each_active([&](Gpu& gpu, const Member&, std::size_t) { return gpu.record(static_cast<std::size_t>(i), gpu.stream()); });
    if (r && i >= kMostAhead && i % (kMostAhead / 2) == 0) r = wait_for_event(static_cast<std::size_t>(i - kMostAhead / 2));
    if (!r) return r;
  }
  return {};
}

// All calls with their events as one graph, so that no call waits for the thread that makes it.
Report NcclBackend::run_graph(int iterations) {
  std::vector<Graph> graphs(gpus_.size(), nullptr);
  std::vector<GraphExec> execs(gpus_.size(), nullptr);
  // A communicator connects with its first call, which is no part of a graph.
  if (Report connected = call_once(); !connected) return connected;
  if (Report idle = wait_for_streams(); !idle) return idle;
  Report r = each_active([&](Gpu& gpu, const Member&, std::size_t) { return words_.cuda(gpu.rank(), "cuStreamBeginCapture", api_.cuda.begin_capture(gpu.stream(), kCaptureThreadLocal)); });
  for (int i = 0; i <= iterations && r; ++i) {
    r = call_once();
    if (r) r = each_active([&](Gpu& gpu, const Member&, std::size_t) { return gpu.record(static_cast<std::size_t>(i), gpu.stream(), true); });
  }
  // Captures end whatever happened, or the streams stay captured.
  const Report ended = each_active([&](Gpu& gpu, const Member&, std::size_t own) { return words_.cuda(gpu.rank(), "cuStreamEndCapture", api_.cuda.end_capture(gpu.stream(), &graphs[own])); });
  if (r) r = ended;
  if (r) r = each_active([&](Gpu& gpu, const Member&, std::size_t own) { return words_.cuda(gpu.rank(), "cuGraphInstantiate", api_.cuda.instantiate(&execs[own], graphs[own], 0)); });
  if (r) r = each_active([&](Gpu& gpu, const Member&, std::size_t own) { return words_.cuda(gpu.rank(), "cuGraphLaunch", api_.cuda.launch_graph(execs[own], gpu.stream())); });
  if (r) r = wait_for_streams();
  for (std::size_t own = 0; own < gpus_.size(); ++own) {
    if (!execs[own] && !graphs[own]) continue;
    (void)gpus_[own]->enter();
    if (execs[own]) api_.cuda.destroy_exec(execs[own]);
    if (graphs[own]) api_.cuda.destroy_graph(graphs[own]);
  }
  return r;
}

Report NcclBackend::run(int iterations, std::vector<std::vector<double>>& seconds) {
  seconds.assign(gpus_.size(), {});
  Report r = each_active([&](Gpu& gpu, const Member&, std::size_t) { return gpu.hold_events(static_cast<std::size_t>(iterations) + 1); });
  if (r) r = request_.use_graphs ? run_graph(iterations) : run_calls(iterations);
  if (r) r = wait_for_streams();
  if (r)
    r = each_active([&](Gpu& gpu, const Member&, std::size_t own) -> Report {
      for (int i = 0; i < iterations; ++i) {
        float milliseconds = 0;
        const auto at = static_cast<std::size_t>(i);
        if (Report timed = words_.cuda(gpu.rank(), "cuEventElapsedTime", api_.cuda.elapsed(&milliseconds, gpu.event(at), gpu.event(at + 1))); !timed) return timed;
        seconds[own].push_back(static_cast<double>(milliseconds) / 1e3);
      }
      return {};
    });
  return gave_up(r);
}

Report NcclBackend::check(std::vector<std::uint64_t>& wrong) {
  wrong.assign(gpus_.size(), 0);
  Report r = fill();
  if (r) r = call_once();
  if (r)
    r = each_active([&](Gpu& gpu, const Member& m, std::size_t) {
      const Address at = buffer_places(call_, m, gpu.send.address, gpu.receive.address).receive;
      return gpu.start_check(at, call_, m.size, m.place, buffer_counts(call_, m.size, m.place).receive);
    });
  if (r) r = wait_for_streams();
  if (r) r = each_active([&](Gpu& gpu, const Member&, std::size_t own) { return gpu.read_check(wrong[own]); });
  if (r) r = wait_for_streams();
  return gave_up(r);
}

}  // namespace wireplan::nccl_backend

extern "C" {

__attribute__((visibility("default"))) wireplan::Backend* wireplan_open_backend(const wireplan::BackendRequest& request, wireplan::Refusal& refusal) {
  auto backend = std::make_unique<wireplan::nccl_backend::NcclBackend>(request);
  return backend->start(refusal) ? backend.release() : nullptr;
}

__attribute__((visibility("default"))) void wireplan_close_backend(wireplan::Backend* backend) { delete backend; }
}
