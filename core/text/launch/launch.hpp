// The command that starts a plan's processes: one for each GPU, each on the GPU that the plan puts its rank on, on the CPUs near to that
// GPU, with the variables the wiring asks for. Every line says why it is there; what the plan does not need is not written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/plan.hpp"
#include "core/text/json.hpp"
#include "core/text/trainers/trainer.hpp"

namespace wireplan {

enum class Launcher : unsigned char { torchrun, srun, mpirun, deepspeed, accelerate };
template <>
inline constexpr std::array<std::string_view, 5> kNames<Launcher> = {"torchrun", "srun", "mpirun", "deepspeed", "accelerate"};

struct LaunchLine {
  std::string text, why, source;  // source: an address, "" where it follows from the plan
  friend bool operator==(const LaunchLine&, const LaunchLine&) = default;
};

// What each process runs: shell text behind `python`, and the lines it needs before.
struct LaunchProgram {
  std::string python = "train.py";
  std::vector<LaunchLine> before{};
  std::vector<LaunchLine> options{};  // of the launcher
};

struct Launch {
  Launcher launcher{};
  int hosts = 1, processes_per_host = 1;
  std::vector<LaunchLine> variables;  // NAME=value, of every process
  std::vector<LaunchLine> before;     // shell statements
  std::vector<LaunchLine> options;    // words of the launcher, its name first
  LaunchLine process;                 // what it starts for each rank, shell text
  std::vector<Inexpressible> inexpressible;
  std::vector<Note> notes;
};

// what: the launch lines of a plan.
// A rank r is process r mod g of host r div g, with g processes a host; it takes the GPU of its local number among the visible ones, as
// frameworks do. A node of the plan that is a rack (72 GPUs) is as many hosts as it has trays.
// source: at each line. valid: a valid plan; a placement that puts a rank on another host than its launcher does is inexpressible.
// kind: none, nothing is estimated. test: tests/core/text/launch_test.cpp
Launch launch(const Plan& plan, Launcher launcher, LaunchProgram program = {});

// The launcher that people use with a trainer.
Launcher usual_launcher(Trainer trainer);

// The launchers that a plan alone is enough for: torchrun, srun and mpirun; none for any other name.
std::optional<Launcher> plain_launcher(std::string_view name);

// launch.sh beside a trainer's files, the first of which is `config`.
ExportedFile trainer_launch(const Plan& plan, Trainer trainer, const std::string& config);

// As a shell script, each line below its reason; as a document (wireplan.launch/1).
std::string launch_script(const Launch& launch, std::string_view title);
Json write_launch(const Launch& launch, const std::string& script);

}  // namespace wireplan
