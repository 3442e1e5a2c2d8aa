#include "core/text/read_profile.hpp"

#include <array>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/base/statistics.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostPoints = 10'000;
constexpr std::array<std::string_view, 2> kLaunches = {"process-per-gpu", "single-process"};

// The members of a list of objects, each read by `read`.
template <class Read>
void read_list(Reader& r, std::string_view key, Read read) {
  const Json* list = r.stated(key);
  if (list == nullptr) return;
  if (!list->is_array()) return r.fail_type(key, *list, "a list");
  for (std::size_t i = 0; i < list->size(); ++i) {
    Reader item(r.log(), (*list)[i], r.path(std::string(key) + '.' + std::to_string(i)));
    read(item);
    item.finish();
  }
}

std::vector<int> read_gpus(Reader& r) {
  const Json* list = r.stated("gpus");
  if (list == nullptr) return {};
  if (!list->is_array() || list->empty()) {
    r.fail_type("gpus", *list, "null, or a list of GPU indices");
    return {};
  }
  std::vector<int> gpus;
  for (std::size_t i = 0; i < list->size(); ++i) {
    int gpu = 0;
    if (!r.read("gpus." + std::to_string(i), &(*list)[i], gpu)) return {};
    gpus.push_back(gpu);
  }
  return gpus;
}

// What is no point is left out with an error of its own, so that places in errors are those of the document.
std::vector<MeasuredCurve::Point> read_points(Reader& r) {
  std::vector<MeasuredCurve::Point> points;
  r.require("points", "a list of [size_bytes, time_s]");
  const Json* list = r.stated("points");
  if (list == nullptr) return points;
  if (!list->is_array() || list->size() > kMostPoints) {
    r.fail_type("points", *list, "a list of 1 to 10,000 [size_bytes, time_s]");
    return points;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& pair = (*list)[i];
    MeasuredCurve::Point p;
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_number())
      p = {Bytes(pair[0].get<double>()), Seconds(pair[1].get<double>())};
    const bool is_sound = p.size.value >= 1 && p.size.value <= 1e15 && p.time.value >= 1e-9 && p.time.value <= 1e6;
    if (is_sound)
      points.push_back(p);
    else
      r.fail("points." + std::to_string(i), pair, "[1 to 1e15 bytes, 1e-9 to 1e6 s]",
             r.path("points." + std::to_string(i)) + " is not [size_bytes, time_s]: " + value_text(pair) + ". Nearest: leave it out");
  }
  merge_repeats(points);
  return points;
}

void read_launch(Reader& r, std::string& launch) {
  if (!r.read_stated("launch", launch)) return;
  for (const std::string_view known : kLaunches)
    if (launch == known) return;
  r.fail("launch", Json(launch), "null | " + listed(kLaunches),
         r.path("launch") + " " + value_text(Json(launch)) + " is no way to start ranks" + did_you_mean({kLaunches.begin(), kLaunches.end()}));
}

MeasuredCurve read_curve(Reader& r) {
  MeasuredCurve curve;
  r.require("op", names_listed<Collective>());
  r.read_name("op", curve.collective);
  r.require("ranks", "a whole number");
  r.read("ranks", curve.ranks);
  r.read_stated("nodes", curve.nodes);
  curve.gpus = read_gpus(r);
  r.read_stated("dtype", curve.dtype);
  read_launch(r, curve.launch);
  curve.points = read_points(r);
  return curve;
}

Profile::Gemm read_gemm(Reader& r) {
  Profile::Gemm g;
  r.read_stated("dtype", g.dtype);
  for (const char* key : {"m", "n", "k", "flops_per_s"}) r.require(key, "a number");
  r.read("m", g.m);
  r.read("n", g.n);
  r.read("k", g.k);
  r.read("flops_per_s", g.rate);
  return g;
}

Profile::Fit read_fit(Reader& r) {
  Profile::Fit f;
  r.require("op", names_listed<Collective>());
  r.read_name("op", f.collective);
  r.read_stated("link_class", f.link_class);
  for (const char* key : {"latency_s", "bytes_per_s"}) r.require(key, "a number");
  r.read("latency_s", f.latency);
  r.read("bytes_per_s", f.rate);
  return f;
}

void put_text(Json& j, const char* key, const std::string& text) {
  if (text.empty())
    put(j, key, nullptr);
  else
    put(j, key, text);
}

Json write_curve(const MeasuredCurve& c) {
  Json j = Json::object(), gpus = nullptr, points = Json::array();
  if (!c.gpus.empty()) gpus = c.gpus;
  for (const MeasuredCurve::Point& p : c.points) points.push_back(Json::array({number(p.size.value), number(p.time.value)}));
  put(j, "op", name_of(c.collective));
  put(j, "ranks", c.ranks);
  put(j, "nodes", c.nodes);
  put(j, "gpus", std::move(gpus));
  put_text(j, "dtype", c.dtype);
  put_text(j, "launch", c.launch);
  put(j, "points", std::move(points));
  return j;
}

}  // namespace

void merge_repeats(std::vector<MeasuredCurve::Point>& points) {
  sort(points, [](const MeasuredCurve::Point& a, const MeasuredCurve::Point& b) { return a.size < b.size; });
  std::vector<MeasuredCurve::Point> merged;
  std::vector<double> times;
  for (std::size_t i = 0; i < points.size(); ++i) {
    times.push_back(points[i].time.value);
    if (i + 1 < points.size() && points[i + 1].size == points[i].size) continue;
    merged.push_back({points[i].size, Seconds(quantile(std::move(times), 0.5))});
    times.clear();
  }
  points = std::move(merged);
}

Profile read_profile_part(ReadLog& log, const Json& json, const std::string& path) {
  Profile profile;
  Reader r(log, json, path);
  std::string schema;
  if (r.read("schema", schema) && schema != "wireplan.profile/1")
    r.fail("schema", *r.find("schema"), "wireplan.profile/1", r.path("schema") + " is not that of a profile. Nearest: wireplan.profile/1");
  r.read_stated("machine", profile.machine);
  r.read_stated("date", profile.date);
  if (const Json* software = r.stated("software")) profile.software = dump_json_compact(*software);
  read_list(r, "collectives", [&](Reader& item) { profile.curves.push_back(read_curve(item)); });
  read_list(r, "gemm", [&](Reader& item) { profile.gemms.push_back(read_gemm(item)); });
  if (r.read_stated("hbm_bytes_per_s", profile.hbm) && profile.hbm.value == 0)
    r.fail("hbm_bytes_per_s", 0, "null, or a rate", r.path("hbm_bytes_per_s") + " 0 moves nothing. Nearest: null");
  read_list(r, "fit", [&](Reader& item) { profile.fits.push_back(read_fit(item)); });
  if (json.is_object()) r.finish();
  return profile;
}

Result<Profile> read_profile(const Json& document, const std::string& path) {
  ReadLog log;
  Profile profile = read_profile_part(log, document, path);
  log.add_new(validate(profile, path));
  if (!log.errors.empty()) return log.finished();
  return profile;
}

Json write_profile(const Profile& profile) {
  Json j = Json::object(), curves = Json::array(), gemms = Json::array(), fits = Json::array();
  for (const MeasuredCurve& c : profile.curves) curves.push_back(write_curve(c));
  for (const Profile::Gemm& g : profile.gemms) {
    Json one = Json::object();
    put_text(one, "dtype", g.dtype);
    put(one, "m", g.m);
    put(one, "n", g.n);
    put(one, "k", g.k);
    put(one, "flops_per_s", g.rate);
    gemms.push_back(std::move(one));
  }
  for (const Profile::Fit& f : profile.fits) {
    Json one = Json::object();
    put(one, "op", name_of(f.collective));
    put_text(one, "link_class", f.link_class);
    put(one, "latency_s", f.latency);
    put(one, "bytes_per_s", f.rate);
    fits.push_back(std::move(one));
  }
  put(j, "schema", "wireplan.profile/1");
  put_text(j, "machine", profile.machine);
  put_text(j, "date", profile.date);
  put(j, "software", nullptr);
  if (!profile.software.empty())
    if (Result<Json> software = parse_json(profile.software)) put(j, "software", std::move(software.value()));
  put(j, "collectives", std::move(curves));
  put(j, "gemm", std::move(gemms));
  put_or_null(j, "hbm_bytes_per_s", profile.hbm.value);
  put(j, "fit", std::move(fits));
  return j;
}

}  // namespace wireplan
