// Results of the libraries' functions as sentences: rank, what was under way, the function, the library's own words.
#pragma once

#include <string>

#include "native/measure/nccl_api.hpp"

namespace wireplan::nccl_backend {

struct Words {
  const Api* api;
  std::string what = "start";  // "all_reduce of 1048576 bytes"

  Report cuda(int rank, const char* function, CudaResult error) const {
    if (error == kCudaDone) return {};
    return failed(rank, std::string(function) + ": " + api->cuda.words_of(error));
  }
  // comm: whose last error NCCL is asked for; may be null.
  Report nccl(int rank, const char* function, NcclResult error, Comm comm) const {
    if (error == kNcclDone || error == kNcclInProgress) return {};
    const char *words = api->nccl.error_string(error), *last = api->nccl.last_error(comm);
    std::string text = std::string(function) + ": " + (words ? words : "unknown error") + " (ncclResult " + std::to_string(error) + ")";
    if (last && *last) text += ": " + std::string(last);
    return failed(rank, text);
  }
  Report failed(int rank, const std::string& text) const { return {CallOutcome::failed, "rank " + std::to_string(rank) + ": " + what + ": " + text}; }
};

}  // namespace wireplan::nccl_backend
