// libcublasLt.so.13 of the double: products take their model's time on a stream, and compute nothing.
#include <cstring>

#include "tests/double/nccl/stream.hpp"

using namespace wireplan_double;

namespace {

struct Description { std::uint64_t rows = 0, columns = 0; };
int described(void** made, Description d) {
  *made = new Description(d);
  ++alive().descriptions;
  return 0;
}
int forgotten(void* made) {
  delete static_cast<Description*>(made);
  --alive().descriptions;
  return 0;
}

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) { return described(handle, {}); }
int cublasLtDestroy(void* handle) { return forgotten(handle); }
const char* cublasLtGetStatusString(int status) { return status == 0 ? "success" : "an invalid value"; }
int cublasLtMatmulDescCreate(void** made, int, int) { return described(made, {}); }
int cublasLtMatmulDescDestroy(void* made) { return forgotten(made); }
int cublasLtMatrixLayoutCreate(void** made, int, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) { return leading < static_cast<std::int64_t>(rows) ? 7 : described(made, {rows, columns}); }
int cublasLtMatrixLayoutDestroy(void* made) { return forgotten(made); }
int cublasLtMatmulPreferenceCreate(void** made) { return described(made, {}); }
int cublasLtMatmulPreferenceDestroy(void* made) { return forgotten(made); }
int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, std::size_t bytes) { return attribute == 1 && bytes == 8 ? 0 : 7; }
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int asked, void* results, int* found) {
  std::memset(results, 0, 96);  // sizeof(cublasLtMatmulHeuristicResult_t)
  *found = asked > 0 ? 1 : 0;
  return 0;
}
int cublasLtMatmul(void*, void*, const void*, const void* a, void* a_layout, const void* b, void*, const void*, const void*, void*, void* d, void* d_layout, const void*, void* workspace, std::size_t, Stream* stream) {
  if (!a || !b || !d || !workspace) return 7;
  const auto *left = static_cast<Description*>(a_layout), *result = static_cast<Description*>(d_layout);
  const double flops = 2.0 * static_cast<double>(result->rows) * static_cast<double>(result->columns) * static_cast<double>(left->columns);
  stream->add([flops](Stream& s) { s.now += flops / machine().flops; });
  return 0;
}
}
