#include "native/measure/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace wireplan {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<int> number_in(const char* name) {
  const std::string text = variable(name);
  int value = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

constexpr int kMostProcesses = 100'000;

struct Launcher { const char *by, *rank, *processes, *local_rank, *local_processes; };
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

// The first host of Slurm's list: "node[03-07,9],gpu1" begins with node03.
std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

}  // namespace

Launch launch_from_environment() {
  Launch launch;
  for (const Launcher& l : kLaunchers) {
    if (variable(l.rank).empty() || variable(l.processes).empty()) continue;
    const std::optional<int> rank = number_in(l.rank), processes = number_in(l.processes);
    if (!processes || *processes < 1 || *processes > kMostProcesses) {
      launch.wrong = std::string(l.processes) + '=' + variable(l.processes) + ": a run has 1 to " + std::to_string(kMostProcesses) + " processes";
      break;
    }
    if (!rank || *rank >= *processes) {
      launch.wrong = std::string(l.rank) + '=' + variable(l.rank) + ": of " + std::to_string(*processes) + " processes the ranks are 0 to " + std::to_string(*processes - 1);
      break;
    }
    launch.by = l.by;
    launch.rank = *rank;
    launch.processes = *processes;
    launch.local_rank = number_in(l.local_rank).value_or(0);
    launch.local_processes = number_in(l.local_processes).value_or(1);
    break;
  }
  launch.address = variable("MASTER_ADDR");
  if (launch.address.empty()) launch.address = first_host(variable("SLURM_JOB_NODELIST"));
  launch.port = number_in("MASTER_PORT").value_or(0);
  if (!variable("MASTER_PORT").empty() && (launch.port < 1 || launch.port > 65535) && launch.wrong.empty() && launch.processes > 1)
    launch.wrong = "MASTER_PORT=" + variable("MASTER_PORT") + ": a port is 1 to 65535";
  return launch;
}

}  // namespace wireplan
