// How this process was started: alone, or as one of many by a launcher that people have.
#pragma once

#include <string>

namespace wireplan {

struct Launch {
  std::string by = "one process";  // mpirun, srun, torchrun
  int rank = 0, processes = 1;     // of all
  int local_rank = 0, local_processes = 1;  // on this host
  std::string address;             // of the process of rank 0, where the launcher says it
  int port = 0;                    // 0: not said
  std::string wrong;               // why the variables cannot be believed, naming one; "": they can
};

// From the variables that Open MPI's mpirun, MPICH's and other PMI launchers, Slurm's srun and torchrun set, in that order.
// A rank is 0 to processes - 1 of at most 100,000, a port 1 to 65,535; anything else there is `wrong`.
Launch launch_from_environment();

}  // namespace wireplan
