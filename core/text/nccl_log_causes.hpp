// Why a log says otherwise than the decision: what the log itself names first, then what is usual.
#pragma once

#include <string>

#include "core/text/nccl_log.hpp"
#include "core/text/nccl_request.hpp"

namespace wireplan {

enum class LogSubject : unsigned char { nodes, graph, order, channels, nvls, p2p_channels, to_shm, to_p2p, inside_by_net, network, gpudirect, p2p, choice, none };

// "cause: …" where the log names it, else "usual cause: …".
std::string usual_cause(LogSubject subject, const NcclLog& log, const NcclAnswer& answer);

// Whether the log, beside its release, names what changes channels and the way they run.
bool are_channels_explained(const NcclLog& log, const NcclAnswer& answer);

}  // namespace wireplan
