#include "core/text/read_run.hpp"

#include <algorithm>

#include "core/text/read_profile.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostRows = 100'000;

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

Result<std::vector<MeasuredCurve>> read_run_curves(const Json& document, int gpus_per_node) {
  std::vector<MeasuredCurve> curves;
  const Json* rows = document.is_object() ? member(document, "rows") : nullptr;
  if (rows == nullptr || !rows->is_array() || rows->size() > kMostRows)
    return Error{"rows", rows ? value_text(*rows) : "", "a list of at most 100,000 rows", "the run has no list of rows. Nearest: the document that measure -o has written"};
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Json& row = (*rows)[i];
    const std::string place = "rows." + std::to_string(i);
    if (!row.is_object()) return Error{place, value_text(row), "an object", place + " must be an object, not " + value_text(row)};
    const Json *status = member(row, "status"), *time = member(row, "time_s"), *wrong = member(row, "wrong"), *in_place = member(row, "in_place");
    if ((status && *status != "ok") || (wrong && wrong->is_number() && wrong->get<double>() > 0) || (in_place && *in_place == true)) continue;
    const Json *op = member(row, "op"), *ranks = member(row, "ranks"), *size = member(row, "size_bytes");
    const Json* median = time && time->is_object() ? member(*time, "median") : time;
    const auto collective = op && op->is_string() ? value_named<Collective>(op->get_ref<const std::string&>()) : std::nullopt;
    const std::size_t count = ranks && ranks->is_array() ? ranks->size() : 0;
    if (!collective || count < 2 || count > 100'000 || !size || !size->is_number() || !median || !median->is_number())
      return Error{place, value_text(row), "op, ranks, size_bytes and time_s", place + " is not whole: it needs op, a list of ranks, size_bytes and time_s.median. Nearest: leave the row out"};
    const MeasuredCurve::Point point{Bytes(size->get<double>()), Seconds(median->get<double>())};
    if (!(point.size.value >= 1 && point.size.value <= 1e15 && point.time.value >= 1e-9 && point.time.value <= 1e6)) continue;
    const int n = static_cast<int>(count);
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const MeasuredCurve& c) { return c.collective == *collective && c.ranks == n; });
    if (curve == curves.end()) {
      if (curves.size() >= 1'000) continue;
      curve = curves.insert(curves.end(), MeasuredCurve{});
      curve->collective = *collective;
      curve->ranks = n;
      curve->nodes = (n + gpus_per_node - 1) / std::max(gpus_per_node, 1);
    }
    if (curve->points.size() < 10'000) curve->points.push_back(point);
  }
  for (MeasuredCurve& c : curves) merge_repeats(c.points);
  return curves;
}

}  // namespace wireplan
