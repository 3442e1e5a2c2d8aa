// Plays a small schedule on the double through the back-end's module, and prints the times: play MODULE.
//
// Four ranks in one process. Lane 0: compute 1 ms, then a product; lane 1: an all_reduce of all after the first compute, then one of neighbours;
// lane 0 again: compute after the first all_reduce. One line a rank: start and end of each job in seconds.
#include <dlfcn.h>

#include <cstdio>

#include "native/measure/module.hpp"

using namespace wireplan;

int main(int, char** argv) {
  void* module = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!module) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const auto open = reinterpret_cast<OpenBackend>(dlsym(module, kOpenBackend));
  const auto close = reinterpret_cast<CloseBackend>(dlsym(module, kCloseBackend));
  Refusal refusal;
  Backend* backend = open({}, refusal);
  if (!backend) return std::fprintf(stderr, "%s\n", refusal.text.c_str()), 77;
  Report report = backend->open({{0, 1, 2, 3}, {0, 1}, {2, 3}});
  Call call;
  call.type = ElementType::bfloat16;
  call.count = 1 << 16;
  std::vector<Job> jobs(6);
  jobs[0].seconds = 1e-3;
  jobs[1].products = {{256, 512, 1024}, {128, 128, 128}};
  jobs[1].seconds = 7e-3;
  for (int j : {2, 3, 4}) jobs[static_cast<std::size_t>(j)].lane = 1, jobs[static_cast<std::size_t>(j)].call = call;
  jobs[2].group = 0;
  jobs[2].after = {0};
  jobs[3].group = 1;
  jobs[4].group = 2;
  jobs[4].call.op = Collective::send_recv;
  jobs[5].seconds = 2e-3;
  jobs[5].after = {2};
  for (int repeat = 0; repeat < 2 && report; ++repeat) {
    std::vector<std::vector<JobTime>> times;
    report = backend->play(jobs, times);
    for (const auto& of_rank : times) {
      for (const JobTime& t : of_rank) std::printf("%.9g %.9g ", t.start, t.end);
      std::printf("\n");
    }
  }
  if (!report) std::fprintf(stderr, "%s\n", report.message.c_str());
  close(backend);
  return report ? 0 : 1;
}
