#include "core/text/read_network.hpp"

#include <cstdlib>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kForm = "<fabric>-<NICs per node>x<Gbit/s>, e.g. \"infiniband-8x400\"";

Network network_of(Fabric fabric, const Presets& presets, ReadLog& log) {
  const std::string id(name_of(fabric));
  Result<Json> json = parse_json(presets.text("networks", id));
  if (!json) {  // no such preset among those given: the defaults of the type
    Network network;
    network.fabric = fabric;
    return network;
  }
  Reader reader(log, json.value(), "networks/" + id + ":");
  Network network = read_fabric(reader, fabric);
  reader.finish();
  return network;
}

// Digits with at most one point; 0 when it is anything else or longer than any sensible number.
double plain_number(std::string_view text) {
  if (text.empty() || text.size() > 9 || text.front() == '.' || text.back() == '.') return 0;
  double whole = 0, unit = 0;
  for (const char c : text) {
    if (c == '.' && unit == 0)
      unit = 1;
    else if (c >= '0' && c <= '9') {
      whole = whole * 10 + (c - '0');
      unit *= 10;
    } else
      return 0;
  }
  return unit > 0 ? whole / unit : whole;
}

// EFA reaches into GPUs from the instances with four adapters of 100 Gbit/s on; smaller ones (g4dn, g5) copy through host memory.
bool has_gpudirect(const Network& n) { return n.fabric != Fabric::efa || n.nic_rate * n.nics_per_node >= BytesPerSecond(50e9); }

struct ShortHand {
  std::string_view fabric;
  double count = 0, gigabits = 0;
};

ShortHand parts_of(std::string_view text) {
  ShortHand parts;
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return parts;
  parts.fabric = text.substr(0, dash);
  const std::string_view rest = text.substr(dash + 1);
  const std::size_t x = rest.find('x');
  if (x == std::string_view::npos) return parts;
  const std::string_view count = rest.substr(0, x);
  parts.count = count.find('.') == std::string_view::npos ? plain_number(count) : 0;
  parts.gigabits = plain_number(rest.substr(x + 1));
  return parts;
}

Network read_shorthand(ReadLog& log, const std::string& text, const std::string& path, const Presets& presets) {
  const ShortHand parts = parts_of(text);
  const auto fabric = value_named<Fabric>(parts.fabric);
  if (!fabric || !(parts.count >= 1 && parts.count <= 1024) || !(parts.gigabits >= 0.1 && parts.gigabits <= 100'000)) {
    std::string hint = ". Nearest: infiniband-8x400";
    if (!fabric && !parts.fabric.empty()) {
      const auto words = nearest_words(parts.fabric, kNames<Fabric>);
      hint = words.empty() ? ". Nearest: " + names_listed<Fabric>() : did_you_mean(words);
    }
    log.number_missing = true;
    log.add({path, value_text(Json(text)), std::string(kForm),
             "network " + value_text(Json(text)) + " is not of the form " + std::string(kForm) + hint});
    return {};
  }
  Network network = network_of(*fabric, presets, log);
  network.nics_per_node = static_cast<int>(parts.count);
  network.nic_rate = BytesPerSecond(parts.gigabits * 1e9 / 8);
  network.shorthand = text;
  network.gpudirect = network.gpudirect && has_gpudirect(network);
  return network;
}

}  // namespace

Network read_fabric(Reader& r, Fabric fabric) {
  Network network;
  network.fabric = fabric;
  std::string text;
  for (const std::string_view key : {"name", "source"}) r.require(key, "text");
  for (const std::string_view key : {"name", "source", "verified", "note"}) r.read(key, text);
  r.require("latency_s", "a number");
  r.read("latency_s", network.latency);
  r.read("gpudirect", network.gpudirect);
  r.read("rail_optimized", network.rail_optimized);
  return network;
}

Network read_network(ReadLog& log, const Json& json, const std::string& path, const Presets& presets) {
  if (json.is_string()) return read_shorthand(log, json.get_ref<const std::string&>(), path, presets);
  Reader r(log, json, path);
  Fabric fabric = Fabric::infiniband;
  if (json.is_object()) r.require("fabric", names_listed<Fabric>());
  r.read_name("fabric", fabric);
  Network network = network_of(fabric, presets, log);
  const bool usual_gpudirect = network.gpudirect;
  r.require("nics_per_node", "a whole number");
  r.read("nics_per_node", network.nics_per_node);
  r.require("nic_bytes_per_s", "a number");
  r.read("nic_bytes_per_s", network.nic_rate);
  r.read_stated("latency_s", network.latency);
  r.read_stated("rail_optimized", network.rail_optimized);
  r.read_stated("oversubscription", network.oversubscription);
  network.gpudirect = usual_gpudirect && has_gpudirect(network);
  r.read_stated("gpudirect", network.gpudirect);
  if (json.is_object()) r.finish();
  return network;
}

Result<Network> parse_network(std::string_view shorthand, const Presets& presets, const std::string& path) {
  ReadLog log;
  Network network = read_shorthand(log, std::string(shorthand), path, presets);
  if (!log.errors.empty()) return log.finished();
  return network;
}

Json write_network(const Network& n) {
  if (!n.shorthand.empty()) return n.shorthand;
  Json j = Json::object();
  put(j, "fabric", name_of(n.fabric));
  put(j, "nics_per_node", n.nics_per_node);
  put(j, "nic_bytes_per_s", n.nic_rate.value);
  put(j, "latency_s", n.latency.value);
  put(j, "rail_optimized", n.rail_optimized);
  put(j, "oversubscription", n.oversubscription);
  put(j, "gpudirect", n.gpudirect);
  return j;
}

}  // namespace wireplan
