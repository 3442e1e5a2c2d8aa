// A schedule on GPUs: a stream and communicators for each lane, events between them, everything enqueued by one thread.
//
// The list is enqueued behind a wait, so that the GPUs do not wait for the thread, and behind one all_reduce of all ranks, after which every
// rank takes its own clock's start. Starts differ by what that call's ends differ: microseconds.
#include <algorithm>

#include "native/measure/nccl_backend.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr double kToEnqueue = 20e-6;  // seconds that the thread needs for a job at most: what the wait before the start is long
constexpr std::size_t kMeetBytes = sizeof(float);

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

// Of each own rank its events: [0] the start, then start and end of each job.
struct NcclBackend::Stage {
  std::size_t lanes = 1;
  std::vector<std::vector<Buffer>> send, receive;       // [own rank][lane]
  std::vector<Buffer> meet;                             // [own rank]
  bool has_products = false, is_new = false;            // is_new: communicators that have not connected yet
  std::vector<Gpu*> gpus;

  ~Stage() {
    for (std::size_t own = 0; own < gpus.size(); ++own) {
      (void)gpus[own]->enter();
      for (auto* buffers : {&send, &receive})
        if (own < buffers->size())
          for (Buffer& b : (*buffers)[own]) gpus[own]->give_back(b, false);
      if (own < meet.size()) gpus[own]->give_back(meet[own], false);
    }
  }
  static std::size_t start_of(std::size_t job) { return 1 + 2 * job; }
  static std::size_t end_of(std::size_t job) { return 2 + 2 * job; }
};

Report NcclBackend::prepare_jobs(const std::vector<Job>& jobs, Stage& stage) {
  for (const Job& j : jobs) stage.lanes = std::max(stage.lanes, at(j.lane) + 1);
  for (const std::string& text : exchange(std::to_string(stage.lanes)))
    if (!text.empty()) stage.lanes = std::max(stage.lanes, static_cast<std::size_t>(std::stoul(text)));
  if (Report r = company(); !r) return r;
  words_.what = "making communicators of lanes";
  stage.is_new = lanes_.size() < stage.lanes;
  while (lanes_.size() < stage.lanes) {
    lanes_.emplace_back();
    if (Report r = comms_.split(groups_, lanes_.back()); !r) return r;
  }
  words_.what = "preparing a schedule";
  std::vector<Job::Product> products;
  for (const Job& j : jobs) products.insert(products.end(), j.products.begin(), j.products.end());
  stage.has_products = !products.empty() && Products::are_possible();
  stage.send.assign(gpus_.size(), std::vector<Buffer>(stage.lanes));
  stage.receive = stage.send;
  stage.meet.assign(gpus_.size(), {});
  for (std::size_t own = 0; own < gpus_.size(); ++own) {
    Gpu& gpu = *gpus_[own];
    stage.gpus.push_back(&gpu);
    if (Report r = gpu.enter(); !r) return r;
    if (Report r = gpu.hold_streams(stage.lanes); !r) return r;
    if (Report r = gpu.hold_events(1 + 2 * jobs.size()); !r) return r;
    if (Report r = gpu.hold(stage.meet[own], kMeetBytes, false); !r) return r;
    for (const Job& j : jobs) {
      if (j.copy_bytes > 0)
        for (auto* side : {&stage.send, &stage.receive})
          if (Report r = gpu.hold((*side)[own][at(j.lane)], static_cast<std::size_t>(j.copy_bytes), false); !r) return r;
      if (j.group < 0) continue;
      const Member& m = lanes_[at(j.lane)][own][at(j.group)];
      if (m.place < 0) continue;
      if (Report r = can_call(j.call, gpu); !r) return r;
      const BufferBytes bytes = buffer_bytes(j.call, m);
      if (Report r = gpu.hold(stage.send[own][at(j.lane)], bytes.send, false); !r) return r;
      if (Report r = gpu.hold(stage.receive[own][at(j.lane)], bytes.receive, false); !r) return r;
    }
    if (!stage.has_products) continue;
    while (products_.size() <= own) products_.push_back(std::make_unique<Products>(words_, *gpus_[products_.size()]));
    if (Report r = products_[own]->prepare(products, stage.lanes); !r) return r;
  }
  return {};
}

Report NcclBackend::start_together(const Stage& stage, std::size_t jobs) {
  words_.what = "starting a schedule together";
  for (const auto& gpu : gpus_) {
    if (Report r = gpu->enter(); !r) return r;
    if (Report r = gpu->spin(gpu->stream(), kToEnqueue * static_cast<double>(jobs)); !r) return r;
  }
  Report r = comms_.together(
      [&](std::size_t own) {
        void* value = reinterpret_cast<void*>(stage.meet[own].address);
        const Member& m = comms_.world(own);
        const NcclResult error = api_.nccl.all_reduce(value, value, 1, nccl_type(ElementType::float32), nccl_redop(Reduction::sum), m.comm, gpus_[own]->stream());
        return words_.nccl(gpus_[own]->rank(), "ncclAllReduce", error, m.comm);
      },
      false);
  Used worlds;
  for (std::size_t own = 0; own < gpus_.size(); ++own) worlds.emplace_back(own, comms_.world(own).comm);
  if (r) r = comms_.enqueued(worlds, "ncclAllReduce");
  for (const auto& gpu : gpus_) {
    if (r) r = gpu->enter();
    if (r) r = gpu->record(0, gpu->stream());
    for (std::size_t lane = 1; lane < stage.lanes && r; ++lane) r = words_.cuda(gpu->rank(), "cuStreamWaitEvent", api_.cuda.wait_event(gpu->stream(lane), gpu->event(0), 0));
  }
  return r;
}

Report NcclBackend::enqueue_job(const Job& job, std::size_t j, const std::vector<Job>& jobs, const Stage& stage) {
  const std::size_t lane = at(job.lane);
  const auto takes_part = [&](const Job& one, std::size_t own) { return one.group < 0 || lanes_[at(one.lane)][own][at(one.group)].place >= 0; };
  for (std::size_t own = 0; own < gpus_.size(); ++own) {
    if (!takes_part(job, own)) continue;
    Gpu& gpu = *gpus_[own];
    if (Report r = gpu.enter(); !r) return r;
    for (const int before : job.after)
      if (takes_part(jobs[at(before)], own))
        if (Report r = words_.cuda(gpu.rank(), "cuStreamWaitEvent", api_.cuda.wait_event(gpu.stream(lane), gpu.event(Stage::end_of(at(before))), 0)); !r) return r;
    if (Report r = gpu.record(Stage::start_of(j), gpu.stream(lane)); !r) return r;
    if (job.group >= 0) continue;
    if (job.copy_bytes > 0) {
      if (Report r = gpu.copy(gpu.stream(lane), stage.receive[own][lane].address, stage.send[own][lane].address, static_cast<std::size_t>(job.copy_bytes)); !r) return r;
    } else if (!stage.has_products || job.products.empty())
      if (Report r = gpu.spin(gpu.stream(lane), job.seconds); !r) return r;
    for (const Job::Product& p : job.products)
      if (stage.has_products)
        if (Report r = products_[own]->enqueue(p, gpu.stream(lane), lane); !r) return r;
  }
  if (job.group >= 0) {
    const char* function = "ncclGroupEnd";
    Report r = comms_.together(
        [&](std::size_t own) -> Report {
          const Member& m = lanes_[lane][own][at(job.group)];
          if (m.place < 0) return {};
          const BufferPlaces places = buffer_places(job.call, m, stage.send[own][lane].address, stage.receive[own][lane].address);
          return words_.nccl(gpus_[own]->rank(), function, enqueue(api_.nccl, job.call, m, places, gpus_[own]->stream(lane), function), m.comm);
        },
        is_point_to_point(job.call.op));
    Used in_use;
    for (std::size_t own = 0; own < gpus_.size(); ++own)
      if (const Member& m = lanes_[lane][own][at(job.group)]; m.comm) in_use.emplace_back(own, m.comm);
    if (r) r = comms_.enqueued(in_use, function);
    if (!r) return r;
  }
  for (std::size_t own = 0; own < gpus_.size(); ++own)
    if (takes_part(job, own)) {
      if (Report r = gpus_[own]->enter(); !r) return r;
      if (Report r = gpus_[own]->record(Stage::end_of(j), gpus_[own]->stream(lane)); !r) return r;
    }
  return {};
}

Report NcclBackend::play_once(const std::vector<Job>& jobs, const Stage& stage) {
  Report r = start_together(stage, jobs.size());
  for (std::size_t j = 0; j < jobs.size() && r; ++j) {
    words_.what = jobs[j].group < 0 ? "compute of job " + std::to_string(j) : std::string(name_of(jobs[j].call.op)) + " of " + std::to_string(jobs[j].call.count * static_cast<std::size_t>(bytes_of(jobs[j].call.type))) + " bytes a rank (job " + std::to_string(j) + ")";
    r = enqueue_job(jobs[j], j, jobs, stage);
  }
  words_.what = "playing a schedule of " + std::to_string(jobs.size()) + " jobs";
  Used in_use;
  for (std::size_t own = 0; own < gpus_.size(); ++own) {
    in_use.emplace_back(own, comms_.world(own).comm);
    for (const auto& lane : lanes_)
      for (const Member& m : lane[own])
        if (m.comm) in_use.emplace_back(own, m.comm);
  }
  for (std::size_t own = 0; own < gpus_.size() && r; ++own)
    for (std::size_t lane = 0; lane < stage.lanes && r; ++lane)
      r = comms_.wait(
          [&](bool& done) -> Report {
            if (Report in = gpus_[own]->enter(); !in) return in;
            const CudaResult state = api_.cuda.query_stream(gpus_[own]->stream(lane));
            done = state == kCudaDone;
            return state == kCudaNotReady ? Report{} : words_.cuda(gpus_[own]->rank(), "cuStreamQuery", state);
          },
          in_use);
  return r;
}

Report NcclBackend::play(const std::vector<Job>& jobs, std::vector<std::vector<JobTime>>& times) {
  times.assign(gpus_.size(), std::vector<JobTime>(jobs.size()));
  deregister_buffers();
  Stage stage;
  if (Report r = prepare_jobs(jobs, stage); !r) return gave_up(r);
  Report r = play_once(jobs, stage);
  if (r && stage.is_new) r = play_once(jobs, stage);  // the first time communicators connect, and cuBLASLt loads its kernels
  const auto seconds_to = [&](std::size_t own, std::size_t event, double& seconds) {
    float milliseconds = 0;
    Report timed = words_.cuda(gpus_[own]->rank(), "cuEventElapsedTime", api_.cuda.elapsed(&milliseconds, gpus_[own]->event(0), gpus_[own]->event(event)));
    seconds = static_cast<double>(milliseconds) / 1e3;
    return timed;
  };
  for (std::size_t own = 0; own < gpus_.size() && r; ++own) {
    r = gpus_[own]->enter();
    for (std::size_t j = 0; j < jobs.size() && r; ++j) {
      if (jobs[j].group >= 0 && lanes_[at(jobs[j].lane)][own][at(jobs[j].group)].place < 0) continue;
      r = seconds_to(own, Stage::start_of(j), times[own][j].start);
      if (r) r = seconds_to(own, Stage::end_of(j), times[own][j].end);
    }
  }
  return gave_up(r);
}

}  // namespace wireplan::nccl_backend
