// A log of NCCL (NCCL_DEBUG=INFO) beside what is decided for the machine: what agrees, what differs, and the usual cause.
#pragma once

#include <string>
#include <vector>

#include "core/text/nccl_log.hpp"
#include "core/text/nccl_request.hpp"

namespace wireplan {

// One thing that the log says, in the order in which NCCL says them.
struct NcclLogLine {
  std::string what, log, expected;  // what: "ring of channels 0-11", "0 -> 1"
  bool agrees = true;
  std::string note, cause;          // what to know, "" mostly; where they differ the likely cause, or which line has it
};

struct NcclLogComparison {
  std::string verdict;              // a sentence without its full stop
  bool is_other_machine = false;    // so much differs that causes line by line would mislead
  std::vector<NcclLogLine> lines;
  std::vector<Note> notes;  // what was taken from the log, and what could not be
  std::size_t differ() const;
};

// What a request and a log say of the same things.
struct LogMatch {
  bool are_buses_same = false, are_buses_foreign = false;  // all, none of the log's GPUs are at bus ids of the topology file
  bool has_own_variables = false;                          // the request sets variables that the log does not have
};

// The request (as asked_nccl takes it) with what the log says and the request does not: release, hosts, GPUs of each host by bus id or
// number, variables. Notes say what was taken.
Json request_of_log(const NcclLog& log, Json request, const Presets& presets, std::vector<Note>& notes, LogMatch* match = nullptr);

// `notes` go in front of the comparison's own. Bounded: 1,000 lines; a note says where the log has more.
NcclLogComparison compare_with_log(const NcclLog& log, const NcclAnswer& answer, std::vector<Note> notes = {}, const LogMatch& match = {});

// Both: the decision for the log's communicator on the machine of `request`, and the comparison. Where the machine cannot have the
// log's hosts and GPUs, the decision is the machine's own.
struct NcclBesideLog {
  NcclAnswer answer;
  NcclLogComparison comparison;
};
Result<NcclBesideLog> asked_nccl_beside_log(const Json& request, const NcclLog& log, const Presets& presets);

}  // namespace wireplan
