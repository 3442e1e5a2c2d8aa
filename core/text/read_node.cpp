#include "core/text/read_node.hpp"

#include <array>

#include "core/text/read_gpu.hpp"
#include "core/text/read_network.hpp"
#include "core/text/read_wiring.hpp"

namespace wireplan {
namespace {

constexpr std::array<std::string_view, 7> kNcclClasses = {"bdw", "skl", "srp", "erp", "amd", "arm", "p9"};
constexpr std::array<std::string_view, 2> kLaunches = {"process-per-gpu", "single-process"};

// One of a few words that stay text in the core.
void read_word(Reader& r, std::string_view key, std::span<const std::string_view> words, std::string& out) {
  const Json* json = r.stated(key);
  std::string text;
  if (json == nullptr || !r.read(key, json, text)) return;
  for (const std::string_view word : words)
    if (word == text) out = text;
  if (out != text)
    r.fail(key, *json, listed(words), r.path(key) + " cannot be " + value_text(*json) + ". Nearest: " + listed(words));
}

Cpu read_cpu(ReadLog& log, const Json& json, std::string path) {
  Cpu cpu;
  Reader r(log, json, std::move(path));
  r.read_stated("arch", cpu.arch);
  r.read_stated("vendor", cpu.vendor);
  read_word(r, "nccl_class", kNcclClasses, cpu.nccl_class);
  r.finish();
  return cpu;
}

Gpu read_gpu_of(Reader& r, const Presets& presets) {
  // Stands in for a GPU that could not be read, which has an error of its own: no rule about its links may add another.
  Gpu unread;
  unread.nvlink = BytesPerSecond(1);
  r.require("gpu", "the id of a GPU, or an object");
  const Json* json = r.stated("gpu");
  if (json == nullptr) return unread;
  if (json->is_object()) {
    Reader gpu(r.log(), *json, r.path("gpu"));
    Gpu result = read_gpu(gpu, false);
    gpu.finish();
    return result;
  }
  std::string id;
  if (!r.read("gpu", json, id)) {
    r.log().number_missing = true;
    return unread;
  }
  if (presets.text("gpus", id).empty()) {
    r.log().number_missing = true;
    r.log().add(unknown_preset(r.path("gpu"), "gpus", id, presets));
    return unread;
  }
  Result<Gpu> gpu = presets.gpu(id);
  if (gpu) return std::move(gpu.value());
  r.log().number_missing = true;
  for (const Error& error : gpu.errors()) r.log().add(error);
  return unread;
}

void read_p2p(Reader& r, Node& node) {
  const Json* json = r.stated("p2p");
  if (json == nullptr) return;
  if (json->is_boolean())
    node.p2p = json->get<bool>() ? 1 : 0;
  else if (json->is_string())
    node.p2p_matrix = json->get_ref<const std::string&>();
  else
    r.fail_type("p2p", *json, "true, false, null or a matrix such as \"01/10\"");
}

void read_preset_only(Reader& r, Node& node, const Presets& presets) {
  r.require("name", "the node's name");
  r.require("source", "where the node was read");
  r.read("source", node.source);
  r.read("verified", node.verified);
  r.read("note", node.note);
  if (r.read_stated("network", node.usual_network))
    read_network(r.log(), *r.find("network"), r.path("network"), presets);
  node.assumed = read_assumed(r, "assumed");
  if (const Json* layout = r.stated("layout")) {
    Reader l(r.log(), *layout, r.path("layout"));
    std::string text;
    for (const std::string_view key : {"pcie", "nvlink", "nics", "cpu"}) l.read(key, text);
    l.finish();
  }
}

}  // namespace

Error unknown_preset(const std::string& path, std::string_view kind, std::string_view id, const Presets& presets) {
  const std::string_view one = kind.substr(0, kind.size() - 1);
  const std::string shown = value_text(Json(id));
  const auto near = presets.nearest(kind, id);
  return {path, shown, "the id of a " + std::string(one) + " preset, or an object",
          "there is no " + std::string(one) + " preset " + shown +
              (near.empty() ? ". Nearest: an id that `presets " + std::string(kind) + "` lists" : did_you_mean(near))};
}

std::vector<Assumption> read_assumed(Reader& r, std::string_view key) {
  std::vector<Assumption> assumed;
  const Json* json = r.stated(key);
  if (json == nullptr) return assumed;
  if (!json->is_array()) {
    r.fail_type(key, *json, "a list");
    return assumed;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    Reader a(r.log(), (*json)[i], r.path(key) + "." + std::to_string(i));
    Assumption one;
    for (const std::string_view part : {"path", "why"}) a.require(part, "text");
    a.read("path", one.path);
    if (const Json* value = a.find("value")) one.value = dump_json_compact(*value);
    a.read("why", one.why);
    a.finish();
    assumed.push_back(std::move(one));
  }
  return assumed;
}

Json write_assumed(const std::vector<Assumption>& assumed) {
  Json list = Json::array();
  for (const Assumption& a : assumed) {
    Json j = Json::object();
    put(j, "path", a.path);
    Result<Json> value = parse_json(a.value);
    put(j, "value", value ? std::move(value.value()) : Json(nullptr));
    put(j, "why", a.why);
    list.push_back(std::move(j));
  }
  return list;
}

Node read_node(Reader& r, bool is_preset, const Presets& presets) {
  Node node;
  r.read("name", node.name);
  node.gpu = read_gpu_of(r, presets);
  r.require("gpus", "a whole number");
  r.read("gpus", node.gpus);
  r.read_stated("sockets", node.sockets);
  node.numa_nodes = node.sockets;
  r.read_stated("numa_nodes", node.numa_nodes);
  if (node.gpus != 1) r.require("wiring", "an object");
  if (const Json* json = r.stated("wiring")) {
    Reader wiring(r.log(), *json, r.path("wiring"));
    node.wiring = read_wiring(wiring);
    wiring.finish();
  }
  read_p2p(r, node);
  if (const Json* json = r.stated("cpu")) node.cpu = read_cpu(r.log(), *json, r.path("cpu"));
  r.read_stated("host_memory_bytes", node.host_memory);
  r.read_stated("power_limit_w", node.power_limit_w);
  read_word(r, "launch", kLaunches, node.launch);
  if (is_preset) read_preset_only(r, node, presets);
  return node;
}

Json write_node(const Node& node) {
  Json j = Json::object();
  if (!node.name.empty()) put(j, "name", node.name);
  put(j, "gpu", node.gpu.id.empty() ? write_gpu(node.gpu) : Json(node.gpu.id));
  put(j, "gpus", node.gpus);
  put(j, "wiring", write_wiring(node.wiring));
  put(j, "p2p", !node.p2p_matrix.empty() ? Json(node.p2p_matrix) : node.p2p >= 0 ? Json(node.p2p == 1) : Json(nullptr));
  put(j, "sockets", node.sockets);
  put(j, "numa_nodes", node.numa_nodes);
  put(j, "cpu", nullptr);
  if (!(node.cpu == Cpu{})) {
    const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
    Json cpu = Json::object();
    cpu["arch"] = text(node.cpu.arch);
    cpu["vendor"] = text(node.cpu.vendor);
    cpu["nccl_class"] = text(node.cpu.nccl_class);
    put(j, "cpu", std::move(cpu));
  }
  put_or_null(j, "host_memory_bytes", node.host_memory.value);
  put_or_null(j, "power_limit_w", node.power_limit_w);
  put(j, "launch", node.launch);
  return j;
}

}  // namespace wireplan
