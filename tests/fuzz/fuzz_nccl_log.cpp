// Any bytes as a log of NCCL: read, or refused with an error; what is read can be written, and compared with a cluster.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/text/import_nccl_log.hpp"
#include "core/text/presets.hpp"

namespace {

using namespace wireplan;

struct Machine {
  Presets presets;
  Json request = parse_json(R"({"cluster":{"nodes":1,"node":"dgx1-v100-32gb","network":"infiniband-4x100"}})").value();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Machine machine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_nccl_log(text);
  const Result<NcclLog> log = read_nccl_log(text);
  if (!log) {
    if (log.errors().empty() || log.errors()[0].text.empty()) std::abort();
    return 0;
  }
  const NcclLog& l = log.value();
  for (const NcclLog::Ring& r : l.rings)
    if (static_cast<int>(r.order.size()) != l.ranks) std::abort();
  for (const NcclLog::Transport& t : l.transports)
    if (t.from >= l.ranks || t.to >= l.ranks) std::abort();
  const Result<NcclBesideLog> both = l.ranks <= 16 ? asked_nccl_beside_log(machine.request, l, machine.presets) : Result<NcclBesideLog>(Error{});
  if (!parse_json(dump_json(write_nccl_log(l, both ? &both.value().comparison : nullptr))) && l.ranks < 1000) std::abort();
  render_nccl_log(l);
  return 0;
}
