#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "native/measure/nccl_meeting.hpp"

namespace wireplan::nccl_backend {
namespace {

constexpr int kFirstPort = 20000, kPorts = 10000;  // below the ports that Linux gives away (32768 on)

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// FNV-1a, 64 bits.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t h = 14695981039346656037ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

// What is the same for all processes of a start and differs between starts.
std::string job_id() {
  std::string id;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri", "PMI_JOBID", "TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"})
    id += variable(name) + '\n';
  return id;
}

}  // namespace

bool meeting_place(const Launch& launch, MeetingPlace& place, std::string& why_not) {
  const std::string id = job_id(), secret = variable("WIREPLAN_TOKEN");
  place.token = secret.empty() ? std::to_string(hash_of("wireplan\n" + id)) : secret;
  place.address = launch.address;
  if (place.address.empty() && launch.local_processes == launch.processes) place.address = "127.0.0.1";
  if (place.address.empty()) {
    why_not = launch.by + " does not say on which host process 0 runs: set MASTER_ADDR to its address for all processes" + (launch.by == "mpirun" ? " (mpirun -x MASTER_ADDR=...)" : "");
    return false;
  }
  const std::string asked = variable("WIREPLAN_PORT");
  if (!asked.empty()) {
    const auto [rest, fault] = std::from_chars(asked.data(), asked.data() + asked.size(), place.port);
    if (fault == std::errc() && rest == asked.data() + asked.size() && place.port >= 1 && place.port <= 65535) return true;
    why_not = "WIREPLAN_PORT=" + asked.substr(0, 40) + " is no port: 1 to 65535";
    return false;
  }
  if (launch.port > 0) place.port = launch.port + (variable("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0);
  else place.port = kFirstPort + static_cast<int>(hash_of(id) % kPorts);
  if (place.port > 65535) place.port = 65534;
  return true;
}

}  // namespace wireplan::nccl_backend
