// The tables of nccl-tests as they were read, and what each is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/describe/collective.hpp"

namespace wireplan {

struct NcclTestsRow {
  Bytes size;
  double count = 0;                       // elements, as the column says
  std::optional<double> time, in_place;   // as printed; nothing: N/A
  double algbw = 0, busbw = 0;            // decimal GB/s, of the time that counts
  bool is_wrong = false;
};

struct NcclTestsTable {
  struct Device {
    int rank = 0, group = 0, device = 0;
    std::string pid, host;
  };
  std::optional<Collective> collective;
  std::string program;  // a name that is none of the operations
  std::string type, redop;
  std::optional<int> root;
  std::vector<NcclTestsRow> rows;
  std::vector<Device> devices;
  int threads = 1, gpus = 0;  // nThread, nGpus of the settings; gpus 0: not stated
  bool is_cpu_time = false, is_graph = false, is_blocking = false, is_aggregated = false;
  bool has_heading = false, has_redop_column = false;
  bool has_visible_devices = false;  // GPU numbers of the log are not those of the node
};

struct NcclTestsLog {
  std::vector<NcclTestsTable> tables;  // each has rows
  std::vector<std::string> gpu_names;
  std::string nccl, nccl_tests, date;
  bool is_cut = false;  // beyond the limits: 100,000 rows, 1,000 tables
};

// Text, or the file of -J. An error for JSON that is not from nccl-tests.
Result<NcclTestsLog> read_nccl_tests(std::string_view text);

// nccl-tests' names of types: {dtype, bytes of an element}, {"", 0} for others.
struct NcclType {
  std::string_view dtype;
  double bytes = 0;
};
NcclType nccl_type(std::string_view name);

// By operator, root and columns alone; nothing where several operations fit.
std::optional<Collective> guessed_operation(const NcclTestsTable& table);

struct NcclTestsPlace {
  int ranks = 0, nodes = 1;  // ranks 0: not told
  std::vector<int> gpus;
  std::string launch;
  std::vector<std::string> notes;
};
// Ranks in order of trust: the count column, the list of devices, the bandwidth columns, the settings.
NcclTestsPlace place_of(const NcclTestsTable& table, Collective collective);

// The row with the largest algbw, whose bandwidth columns therefore have the most digits; null where none has both.
const NcclTestsRow* fastest_row(const NcclTestsTable& table);

}  // namespace wireplan
