#include "core/text/nccl_log_verdict.hpp"

#include <algorithm>

namespace wireplan {
namespace {

// The cause most lines have, one that the log names before usual ones; nothing where no line has one.
const NcclLogLine* likely_cause(const std::vector<NcclLogLine>& lines) {
  const NcclLogLine* likely = nullptr;
  std::ptrdiff_t most = 0;
  for (const NcclLogLine& l : lines) {
    if (l.cause.empty()) continue;
    const std::ptrdiff_t weight = std::count_if(lines.begin(), lines.end(), [&](const NcclLogLine& o) { return o.cause == l.cause; }) + (l.cause.starts_with("cause") ? 10'000 : 0);
    if (weight > most) likely = &l;
    most = std::max(most, weight);
  }
  return likely;
}

void say_causes_once(std::vector<NcclLogLine>& lines) {
  for (std::size_t i = lines.size(); i-- > 0;)
    for (std::size_t first = 0; first < i && !lines[i].cause.empty(); ++first)
      if (lines[first].cause == lines[i].cause) {
        lines[i].cause = "cause as for " + lines[first].what;
        break;
      }
}

}  // namespace

void conclude(NcclLogComparison& comparison, const LogMisfits& misfits) {
  auto& [verdict, is_other_machine, lines, notes] = comparison;
  const std::size_t differ = comparison.differ();
  is_other_machine = !misfits.is_explained && !misfits.structure.empty() && (misfits.are_far || misfits.are_buses_foreign);
  if (is_other_machine) {
    verdict = "This log looks to be of another machine, or NCCL did not see all of this one there (virtual machine, NVLinks that are down, P2P off). What does not fit: ";
    if (misfits.are_buses_foreign) verdict += "no bus id of its GPUs is in the topology file; ";
    for (std::size_t i = 0; i < misfits.structure.size() && i < 5; ++i) verdict += (i > 0 ? "; " : "") + misfits.structure[i];
    for (NcclLogLine& l : lines) l.cause.clear();
    return;
  }
  verdict = std::to_string(lines.size() - differ) + " of " + std::to_string(lines.size()) + " things that the log says agree, " + std::to_string(differ) + (differ == 1 ? " differs" : " differ");
  if (const NcclLogLine* likely = likely_cause(lines); likely != nullptr) {
    verdict += "; likely " + likely->cause.substr(likely->cause.find("cause"));
    say_causes_once(lines);
  }
}

}  // namespace wireplan
