#include "core/text/read_nccl_case.hpp"

#include <algorithm>
#include <utility>

#include "core/text/nccl_request.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr std::size_t kMostOfList = 4096;      // ranks
constexpr double kLeast = 1e-12, kMost = 1e18;  // of times and rates, so that errors stay finite

// A name in the folder the files lie in, and nothing beside or above it.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' && name.find_first_of("/\\:") == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

class CaseReader {
 public:
  CaseReader(const Json& row, ReadLog& log) : log_(log), r_(log, row, "") {}

  void read(NcclCase& c) {
    int nodes = 0;
    if (r_.read_stated("nccl_nodes", nodes)) c.nodes = nodes;
    if (const Json* paths = r_.stated("paths")) read_paths(*paths, c);
    if (const Json* graphs = list("graphs", r_)) {
      c.graphs.emplace();
      for (std::size_t i = 0; i < graphs->size(); ++i) read_graph((*graphs)[i], "graphs." + std::to_string(i), *c.graphs);
    }
    if (const Json* rings = list("rings", r_)) {
      c.rings.emplace();
      for (std::size_t i = 0; i < rings->size(); ++i) {
        Reader r(log_, (*rings)[i], "rings." + std::to_string(i));
        c.rings->push_back({numbers(r, "channels"), numbers(r, "order")});
      }
    }
    if (const Json* trees = list("trees", r_)) {
      c.trees.emplace();
      for (std::size_t i = 0; i < trees->size(); ++i) {
        Reader r(log_, (*trees)[i], "trees." + std::to_string(i));
        c.trees->push_back({numbers(r, "channels"), numbers(r, "parent"), {}});
      }
    }
    const auto by_channel = [](const auto& a, const auto& b) { return a.channels < b.channels; };
    if (c.rings) std::stable_sort(c.rings->begin(), c.rings->end(), by_channel);
    if (c.trees) std::stable_sort(c.trees->begin(), c.trees->end(), by_channel);
    if (const Json* choices = list("choices", r_))
      for (std::size_t i = 0; i < choices->size(); ++i) read_choices((*choices)[i], "choices." + std::to_string(i), c.points);
  }

 private:
  const Json* list(std::string_view key, Reader& r) {
    const Json* json = r.stated(key);
    if (json != nullptr && json->is_array() && json->size() <= kMostOfList) return json;
    if (json != nullptr) r.fail_type(key, *json, "a list");
    return nullptr;
  }

  std::vector<int> numbers(Reader& r, std::string_view key) {
    std::vector<int> all;
    if (const Json* json = list(key, r))
      for (const Json& element : *json) {
        int number = 0;
        if (!r.read(key, &element, number)) break;
        all.push_back(number);
      }
    return all;
  }

  // A square of as many rows as `types` has.
  template <class T, class Read>
  void read_square(Reader& r, std::string_view key, std::size_t size, std::vector<std::vector<T>>& out, Read read) {
    const Json* rows = list(key, r);
    bool is_square = rows != nullptr && rows->size() == size;
    for (std::size_t i = 0; is_square && i < size; ++i) {
      const Json& row = (*rows)[i];
      is_square = row.is_array() && row.size() == size;
      out.emplace_back();
      for (std::size_t j = 0; is_square && j < size; ++j) {
        T value{};
        is_square = read(&row[j], value);
        out.back().push_back(value);
      }
    }
    if (!is_square) log_.add({r.path(key), rows != nullptr ? value_text(*rows) : "", "a row and a column for each GPU", r.path(key) + " is no square with a row for each GPU"});
  }

  void read_paths(const Json& json, NcclCase& c) {
    Reader r(log_, json, "paths");
    const Json* types = list("types", r);
    const std::size_t size = types != nullptr ? types->size() : 0;
    NcclCase::Paths paths;
    read_square(r, "types", size, paths.types, [&](const Json* j, PathType& out) { return r.name("types", j, out); });
    read_square(r, "bytes_per_s", size, paths.rates, [&](const Json* j, double& out) { return r.read("bytes_per_s", j, out); });
    read_square(r, "transport", size, paths.transports, [&](const Json* j, Transport& out) { return r.name("transport", j, out); });
    c.paths = std::move(paths);
  }

  void read_graph(const Json& json, const std::string& path, std::vector<Graph>& out) {
    Reader r(log_, json, path);
    Graph g;
    double intra = 0, inter = 0;
    int same = 0;
    r.read("channels", g.channels);
    if (g.channels == 0) return;
    const bool is_whole = r.read_name("pattern", g.pattern) && r.read("intra_bytes_per_s", intra) && r.read("inter_bytes_per_s", inter) && r.read_name("intra_type", g.intra_type) &&
                          r.read_name("inter_type", g.inter_type) && r.read("cross_nic", g.cross_nic) && r.read("same_channels", same);
    if (!is_whole) return log_.add({path, value_text(json), "pattern, channels, rates, types, cross_nic, same_channels", path + " is not whole"});
    g.intra = static_cast<GBps>(intra / 1e9);
    g.inter = static_cast<GBps>(inter / 1e9);
    g.same_channels = same != 0;
    out.push_back(std::move(g));
  }

  void read_choices(const Json& json, const std::string& path, std::vector<NcclCase::Point>& out) {
    Reader r(log_, json, path);
    NcclCase::Point p;
    if (!r.read_name("op", p.operation)) return log_.add({r.path("op"), "", names_listed<Operation>(), path + " names no operation that is known"});
    const Json* points = list("points", r);
    for (std::size_t i = 0; points != nullptr && i < points->size(); ++i) {
      const Json& point = (*points)[i];
      const std::string key = "points." + std::to_string(i);
      const bool is_point = point.is_array() && point.size() >= 4 && r.read(key, &point[0], p.size.value) && r.name(key, &point[1], p.algorithm) && r.name(key, &point[2], p.protocol) && r.read(key, &point[3], p.time.value);
      if (is_point && is_sound(p.size.value) && is_sound(p.time.value)) out.push_back(p);
      else log_.add({r.path(key), value_text(point), "[size_bytes, algorithm, protocol, time_s]", r.path(key) + " is not [size_bytes, algorithm, protocol, time_s]: " + value_text(point)});
    }
  }

  static bool is_sound(double value) { return value >= kLeast && value <= kMost; }

  ReadLog& log_;
  Reader r_;
};

}  // namespace

Result<NcclCase> read_nccl_case(const Json& row, const Presets& presets, const TopologyText& topology) {
  ReadLog log;
  NcclCase c;
  {
    Reader r(log, row, "");
    if (!r.read_stated("topology_xml", c.topology))
      return Error{"topology_xml", "", "the name of a topology file", "the row names no topology file (topology_xml)"};
  }
  if (!is_plain_name(c.topology))
    return Error{"topology_xml", value_text(Json(c.topology)), "the name of a file, without a folder", "topology_xml is " + value_text(Json(c.topology)) + ": must be the name of a file in the folder of --xml-dir, without a path"};
  if (!topology) return Error{"topology_xml", value_text(Json(c.topology)), "with --xml-dir", "its topology " + value_text(Json(c.topology)) + " is a file: name the folder with --xml-dir"};
  Result<std::string> text = topology(c.topology);
  if (!text) {
    Error error = text.errors().front();
    error.path = "topology_xml";
    error.text = "topology_xml " + value_text(Json(c.topology)) + ": " + error.text;
    return error;
  }

  Json request = Json::object();
  for (const char* key : {"nccl", "nodes", "gpus", "p2p", "gpudirect", "rack_nodes", "env"})
    if (const auto stated = row.find(key); stated != row.end()) request[key] = *stated;
  request["xml"] = std::move(text.value());
  Result<NcclAnswer> stated = stated_nccl(request, presets);
  if (!stated) return stated.errors();
  c.machine = std::move(stated.value().machine);
  c.request = std::move(stated.value().request);
  c.release = std::move(stated.value().release);
  CaseReader(row, log).read(c);
  if (!log.errors.empty()) return log.finished();
  if (!c.nodes && !c.paths && !c.graphs && !c.rings && !c.trees && c.points.empty())
    return Error{"", "", "nccl_nodes, paths, graphs, rings, trees or choices", "it gives nothing NCCL decided"};
  return c;
}

}  // namespace wireplan
