#include "core/text/fit_json.hpp"

#include <utility>

#include "core/text/answer_json.hpp"
#include "core/text/reader.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

std::string path_of(FitField f) { return "training." + std::string(name_of(f)); }

}  // namespace

Result<FitField> read_fit_field(const Json& value) {
  const std::string limit = names_listed<FitField>();
  std::string near;
  if (value.is_string()) {
    std::string_view name = value.get_ref<const std::string&>();
    constexpr std::string_view kPart = "training.";
    if (name.substr(0, kPart.size()) == kPart) name.remove_prefix(kPart.size());
    if (const std::optional<FitField> field = value_named<FitField>(name)) return *field;
    near = did_you_mean(nearest_words(std::string(name), {kNames<FitField>.begin(), kNames<FitField>.end()}));
  }
  return Error{"max", value_text(value), limit, "fit finds the largest " + limit + ", not " + value_text(value) + near};
}

Json write_fit(const LargestFit& f) {
  Json j;
  put(j, "path", path_of(f.field));
  put(j, "largest", f.largest > 0 ? Json(f.largest) : Json(nullptr));
  put(j, "limit", name_of(f.limit));
  put(j, "next", f.next > 0 ? Json(f.next) : Json(nullptr));
  put(j, "next_need_bytes", f.next > 0 ? number(f.next_need.value) : Json(nullptr));
  put(j, "global_batch_size", f.plan.training.global_batch_size);
  put(j, "moves_batch", f.moves_batch);
  put(j, "text", fit_text(f, ByteUnit::GB));
  put(j, "estimate", write_estimate(f.plan, f.estimate));
  return j;
}

std::string render_fit(const LargestFit& f, RenderFormat format, ByteUnit unit) {
  if (format == RenderFormat::csv) {
    const auto whole = [](Count n) { return n > 0 ? format_exact(static_cast<double>(n)) : std::string(); };
    return csv_line({"path", "largest", "limit", "next", "need_bytes", "next_need_bytes", "capacity_bytes", "time_s", "tokens_per_s"}) +
           csv_line({path_of(f.field), whole(f.largest), std::string(name_of(f.limit)), whole(f.next), format_exact(f.estimate.memory.need.value.value), f.next > 0 ? format_exact(f.next_need.value) : "",
                     format_exact(f.estimate.memory.capacity.value), format_exact(f.estimate.step.time.value.value), format_exact(f.estimate.step.tokens_per_s)});
  }
  Sheet sheet(format == RenderFormat::markdown);
  sheet.strong(fit_text(f, unit));
  if (f.largest > 0) {
    sheet.paragraph("A step takes " + format_seconds(f.estimate.step.time.value) + ", " + format_count(f.estimate.step.tokens_per_s) + " tokens/s.");
    std::string set = "--set " + path_of(f.field) + '=' + format_exact(static_cast<double>(f.largest));
    if (f.moves_batch) set += " --set training.global_batch_size=" + format_exact(static_cast<double>(f.plan.training.global_batch_size));
    sheet.paragraph("To use it: " + sheet.code(set));
  }
  return sheet.text();
}

}  // namespace wireplan
