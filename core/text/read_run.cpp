#include "core/text/read_run.hpp"

#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/read_profile.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostRows = 100'000, kMostCurves = 1'000, kMostPoints = 10'000, kMostRanks = 100'000;

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json* value) { return value && value->is_string() ? value->get<std::string>() : ""; }
std::string text_at(const Json& object, const char* key) { return text_of(member(object, key)); }
// otherwise: where there is no number
double number_at(const Json& object, const char* key, double otherwise) {
  const Json* value = member(object, key);
  return value && value->is_number() ? value->get<double>() : otherwise;
}

// Which ranks are on which host.
struct Hosts {
  std::vector<int> host, place, ranks;  // of each rank its host and its number there; of each host how many

  explicit Hosts(const Json& document) {
    const Json* environment = member(document, "environment");
    const Json* names = environment ? member(*environment, "hosts") : nullptr;
    if (!names || !names->is_array() || names->size() > kMostRanks) return;
    std::vector<std::string_view> known;
    for (const Json& name : *names) {
      if (!name.is_string()) return;
      const std::string_view text = name.get_ref<const std::string&>();
      const std::size_t h = known.empty() || known.back() != text ? static_cast<std::size_t>(std::find(known.begin(), known.end(), text) - known.begin()) : known.size() - 1;
      if (h == known.size()) known.push_back(text), ranks.push_back(0);
      host.push_back(static_cast<int>(h));
      place.push_back(ranks[h]++);
    }
  }
};

struct Place {
  int ranks = 0, nodes = 1;
  std::vector<int> gpus;
};

// Where a row's ranks are; ranks 0 where it does not say.
Place place_of(const Json& row, const Hosts& hosts, int gpus_per_node) {
  Place at;
  const Json* ranks = member(row, "ranks");
  if (ranks && ranks->is_number()) {
    const double n = ranks->get<double>(), of = number_at(row, "nodes", 1);
    if (n >= 2 && n <= static_cast<double>(kMostRanks) && of >= 1 && of <= n) at = {static_cast<int>(n), static_cast<int>(of), {}};
    return at;
  }
  if (!ranks || !ranks->is_array() || ranks->size() < 2 || ranks->size() > kMostRanks) return at;
  at.ranks = static_cast<int>(ranks->size());
  at.nodes = gpus_per_node > 0 ? (at.ranks + gpus_per_node - 1) / gpus_per_node : 1;
  std::vector<std::vector<int>> local(hosts.ranks.size());
  for (const Json& rank : *ranks) {
    const double r = rank.is_number() ? rank.get<double>() : -1;
    if (!(r >= 0 && r < static_cast<double>(hosts.host.size()))) return at;
    local[static_cast<std::size_t>(hosts.host[static_cast<std::size_t>(r)])].push_back(hosts.place[static_cast<std::size_t>(r)]);
  }
  bool is_all = true, is_alike = true;
  const std::vector<int>* first = nullptr;
  at.nodes = 0;
  for (std::size_t h = 0; h < local.size(); ++h) {
    if (local[h].empty()) continue;
    ++at.nodes;
    is_all = is_all && static_cast<int>(local[h].size()) == hosts.ranks[h];
    is_alike = is_alike && (!first || *first == local[h]);
    if (!first) first = &local[h];
  }
  if (!is_all && is_alike && first) at.gpus = *first;
  return at;
}

}  // namespace

bool is_run(const Json& document) {
  const Json* rows = member(document, "rows");
  if (!rows || !rows->is_array()) return false;
  return member(document, "schema") ? text_at(document, "schema") == "wireplan.run/1" : member(document, "findings") && member(document, "fit");
}

Result<std::vector<MeasuredCurve>> read_run_curves(const Json& document, int gpus_per_node) {
  std::vector<MeasuredCurve> curves;
  const Json* rows = member(document, "rows");
  if (rows == nullptr || !rows->is_array() || rows->size() > kMostRows)
    return Error{"rows", rows ? value_text(*rows) : "", "a list of at most 100,000 rows", "the run has no list of rows. Nearest: the document that measure -o has written"};
  const Hosts hosts(document);
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const Json& row = (*rows)[i];
    const std::string path = "rows." + std::to_string(i);
    if (!row.is_object()) return Error{path, value_text(row), "an object", path + " must be an object, not " + value_text(row)};
    const Json *status = member(row, "status"), *in_place = member(row, "in_place"), *time = member(row, "time_s");
    const Json* own = member(row, "ranks");  // of one rank: a trial of an installation (--group 0), no curve
    if ((own && own->is_array() && own->size() == 1) || (status && text_of(status) != "ok") || number_at(row, "wrong", 0) > 0 || (in_place && in_place->is_boolean() && in_place->get<bool>())) continue;
    const auto collective = value_named<Collective>(text_at(row, "op"));
    const double size = number_at(row, "size_bytes", -1), median = time && time->is_object() ? number_at(*time, "median", -1) : number_at(row, "time_s", -1);
    Place at = place_of(row, hosts, gpus_per_node);
    if (!collective || at.ranks < 2 || size < 0 || median < 0)
      return Error{path, value_text(row), "op, ranks, size_bytes and time_s", path + " is not whole: it needs op, a list of ranks, size_bytes and time_s.median. Nearest: leave the row out"};
    const MeasuredCurve::Point point{Bytes(size), Seconds(median)};
    if (!(size >= 1 && size <= 1e15 && median >= 1e-9 && median <= 1e6)) continue;
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const MeasuredCurve& c) { return c.collective == *collective && c.ranks == at.ranks && c.nodes == at.nodes && c.gpus == at.gpus; });
    if (curve == curves.end()) {
      if (curves.size() >= kMostCurves) continue;
      curve = curves.insert(curves.end(), MeasuredCurve{});
      curve->collective = *collective;
      curve->ranks = at.ranks;
      curve->nodes = at.nodes;
      curve->gpus = std::move(at.gpus);
      curve->dtype = plain_text(text_at(row, "dtype"), 20);
    }
    if (curve->points.size() < kMostPoints) curve->points.push_back(point);
  }
  for (MeasuredCurve& c : curves) merge_repeats(c.points);
  return curves;
}

Result<ImportedMeasurements> import_run(const Json& document, int gpus_per_node) {
  Result<std::vector<MeasuredCurve>> curves = read_run_curves(document, gpus_per_node);
  if (!curves) return curves.errors();
  ImportedMeasurements found;
  found.profile.curves = std::move(curves.value());
  if (const Json* environment = member(document, "environment")) {
    const std::string date = text_at(*environment, "date");
    found.profile.date = plain_text(date.substr(0, date.find('T')), 40);
    if (const Json* hosts = member(*environment, "hosts"); hosts && hosts->is_array() && !hosts->empty()) found.profile.machine = plain_text(text_of(&hosts->front()), 200);
    Json software = Json::object();
    for (const char* key : {"backend", "mpi", "nccl", "driver"})
      if (const std::string text = text_at(*environment, key); !text.empty()) put(software, key, plain_text(text, 200));
    if (!software.empty()) found.profile.software = dump_json_compact(software);
    if (const Json* gpus = member(*environment, "gpus"); gpus && gpus->is_array())
      for (const Json& gpu : *gpus)
        if (const std::string name = plain_text(text_of(&gpu), 200); !name.empty() && std::find(found.gpu_names.begin(), found.gpu_names.end(), name) == found.gpu_names.end() && found.gpu_names.size() < 16) found.gpu_names.push_back(name);
  }
  if (const Json* whole = member(document, "complete"); whole && whole->is_boolean() && !whole->get<bool>())
    found.notes.push_back({Severity::warning, "", "the run was broken off: it holds what was measured until then"});
  for (const Json& row : *member(document, "rows")) {
    const double wrong = number_at(row, "wrong", 0), size = number_at(row, "size_bytes", 0);
    const bool has_failed = text_at(row, "status") == "failed";
    if ((!has_failed && wrong <= 0) || found.notes.size() >= 100) continue;
    const std::string what = plain_text(text_at(row, "op"), 40) + " of " + format_message_size(Bytes(size));
    found.notes.push_back({Severity::error, "", what + (has_failed ? " failed: " + plain_text(text_at(row, "message"), 300) : ": " + format_count(wrong) + " elements were wrong")});
  }
  return found;
}

Result<ImportedMeasurements> import_measurements(std::string_view text, std::optional<Collective> op) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{')
    if (Result<Json> json = parse_json(text); json && is_run(json.value())) return import_run(json.value());
  return import_nccl_tests(text, op);
}

}  // namespace wireplan
