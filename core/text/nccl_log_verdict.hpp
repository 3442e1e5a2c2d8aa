// What a comparison with a log comes to, in a sentence: it agrees, it differs for a likely cause, or the log is of another machine.
#pragma once

#include <string>
#include <vector>

#include "core/text/nccl_log_compare.hpp"

namespace wireplan {

// What tells another machine from the same one set up otherwise.
struct LogMisfits {
  std::vector<std::string> structure;  // "channels: 2, expected 24": what only other hardware, or a part of it that is not seen, explains
  bool are_far = false;                // most channels run otherwise, by paths of another kind, or there are three times as many or as few
  bool are_buses_foreign = false;      // no GPU of the log is at a bus id of the topology file
  bool is_explained = false;           // the GPUs are at their bus ids, or log or request names what changes rings
};

// Sets `verdict`; a cause stays at the first line it concerns, later ones point there. Of another machine no causes are said.
void conclude(NcclLogComparison& comparison, const LogMisfits& misfits);

}  // namespace wireplan
