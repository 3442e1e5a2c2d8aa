// Any bytes as a log of nccl-tests: read, or refused with errors; what is read is a sound profile that reads back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/text/import_nccl_tests.hpp"
#include "core/text/read_profile.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wireplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  looks_like_nccl_tests(text);
  const Result<ImportedMeasurements> found = import_nccl_tests(text);
  if (!found) {
    if (found.errors().empty()) std::abort();
    for (const Error& e : found.errors())
      if (e.text.empty() || e.value.size() > 80) std::abort();
    return 0;
  }
  const Profile& profile = found.value().profile;
  if (profile.curves.empty() || !validate(profile, "").empty()) std::abort();
  const Result<Json> written = parse_json(dump_json(write_profile(profile)));
  if (!written) std::abort();
  const Result<Profile> again = read_profile(written.value());
  // Text that is not UTF-8 is replaced when it is written: names may differ, measurements may not.
  if (!again || again.value().curves.size() != profile.curves.size()) std::abort();
  for (std::size_t i = 0; i < profile.curves.size(); ++i)
    if (again.value().curves[i].points != profile.curves[i].points) std::abort();
  dump_json(write_measurements(found.value()));
  return 0;
}
