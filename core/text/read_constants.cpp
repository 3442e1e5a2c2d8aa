#include "core/text/read_constants.hpp"

#include <algorithm>

#include "core/base/math.hpp"
#include "core/cost/wiring_rates.hpp"

namespace wireplan {
namespace {

// A constant is a number of its own that is not negative; upper limits are sanity only.
constexpr double kMost = 1e15;

void read_constant(Reader& r, std::string_view key, double& out) {
  r.require(key, "a number");
  if (r.read(key, out) && !(out >= 0 && out <= kMost))
    r.fail(key, *r.find(key), "0 to 1e15", r.path(key) + " is out of range. Nearest: a constant with a source");
}
template <class D>
void read_constant(Reader& r, std::string_view key, Quantity<D>& out) {
  read_constant(r, key, out.value);
}

std::string read_origin(Reader& r) {
  std::string source, text;
  for (const std::string_view key : {"source", "date"}) r.require(key, "text");
  r.read("source", source);
  for (const std::string_view key : {"date", "note"}) r.read(key, text);
  return source;
}

void read_rates(Reader& r, std::string_view key, std::vector<BytesPerSecond>& out) {
  r.require(key, "a list of numbers");
  const Json* json = r.stated(key);
  if (json == nullptr) return;
  if (!json->is_array() || json->empty()) {
    r.fail_type(key, *json, "a list of numbers");
    return;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    BytesPerSecond rate;
    const std::string place = std::string(key) + "." + std::to_string(i);
    if (r.read(place, &(*json)[i], rate) && !(rate.value >= 0 && rate.value <= kMost))
      r.fail_type(place, (*json)[i], "a rate");
    out.push_back(rate);
  }
}

// The constants of a class, of any generation unless it is a fitted one.
LinkConstants::Class read_class(Reader& r, bool is_fitted) {
  LinkConstants::Class c;
  r.require("name", "text");
  r.read("name", c.name);
  if (is_fitted) {
    for (const std::string_view key : {"generation", "points"}) r.require(key, "a whole number");
    r.read("generation", c.generation);
    r.read("points", c.points);
  } else {
    std::string basis;
    r.require("basis", "text");
    r.read("basis", basis);
  }
  read_constant(r, "launch_cycles", c.launch_cycles);
  read_constant(r, "hop_s", c.hop);
  read_constant(r, "efficiency", c.efficiency);
  read_constant(r, "copy_bytes_per_s", c.copy);
  read_constant(r, "fill_s", c.fill);
  read_constant(r, "fill_per_step_s", c.fill_per_step);
  read_constant(r, "low_latency_share", c.low_latency_share);
  read_constant(r, "all_to_all_efficiency", c.all_to_all_efficiency);
  read_constant(r, "all_to_all_fill_s", c.all_to_all_fill);
  read_constant(r, "all_to_all_low_latency_share", c.all_to_all_low_latency_share);
  if (r.has("one_way")) read_constant(r, "one_way", c.one_way);
  read_constant(r, "low_latency_channel_bytes_per_s", c.low_latency_channel);
  if (r.has("channel_bytes_per_s")) read_constant(r, "channel_bytes_per_s", c.channel);
  if (r.has("nvls_efficiency")) {
    read_constant(r, "nvls_efficiency", c.nvls_efficiency);
    read_constant(r, "nvls_fill_s", c.nvls_fill);
  }
  return c;
}

void read_fabric_constants(Reader& r, LinkConstants::FabricRate& f) {
  read_constant(r, "efficiency", f.efficiency);
  read_constant(r, "latency_s", f.latency);
  read_constant(r, "fill_s", f.fill);
  read_constant(r, "fill_bytes", f.fill_bytes);
}

LinkConstants::FabricRate read_fabric_rate(Reader& r) {
  LinkConstants::FabricRate f;
  std::string basis;
  r.require("fabric", names_listed<Fabric>());
  r.read_name("fabric", f.fabric);
  r.require("gpudirect", "true or false");
  r.read("gpudirect", f.gpudirect);
  read_constant(r, "node_bytes_per_s_from", f.node_from);
  read_constant(r, "nic_bytes_per_s_from", f.nic_from);
  read_fabric_constants(r, f);
  if (r.has("most_bytes_per_s")) read_constant(r, "most_bytes_per_s", f.most);
  r.require("basis", "text");
  r.read("basis", basis);
  return f;
}

LinkConstants::Band read_band(Reader& r) {
  LinkConstants::Band b;
  r.require("basis", "text");
  r.read("basis", b.basis);
  r.require("several_nodes", "true or false");
  r.read("several_nodes", b.several_nodes);
  read_constant(r, "from_bytes", b.from);
  read_constant(r, "low", b.low);
  read_constant(r, "high", b.high);
  return b;
}

// Sizes are those listed, or each twice the last from the first on; residuals are thousandths of ln(measured / formula).
void read_table_points(Reader& r, MeasuredTable& t) {
  const Json* residuals = r.stated("residuals");
  const Json* sizes = r.stated("sizes");
  double from = 0;
  const bool doubles = r.read("from", from);
  if (residuals == nullptr || !residuals->is_array() || residuals->empty() || doubles == (sizes != nullptr) ||
      (sizes && (!sizes->is_array() || sizes->size() != residuals->size())))
    return r.fail_type("residuals", residuals ? *residuals : Json(nullptr), "a list, with from or as many sizes");
  for (std::size_t i = 0; i < residuals->size(); ++i) {
    double residual = 0, size = from;
    if (!r.read("residuals." + std::to_string(i), &(*residuals)[i], residual)) return;
    if (sizes && !r.read("sizes." + std::to_string(i), &(*sizes)[i], size)) return;
    if (!(size > 0 && size < kMost && residual > -10'000 && residual < 10'000)) return r.fail_type("residuals", *residuals, "thousandths");
    t.points.push_back({log2_of(size) + (doubles ? static_cast<double>(i) : 0), residual / 1000});
  }
}

MeasuredTable read_table(Reader& r, const LinkConstants& k, const std::vector<std::string>& sources) {
  MeasuredTable t;
  std::string name;
  int generation = LinkConstants::kAny, source = -1;
  for (const std::string_view key : {"class", "collective", "machine", "ranks", "nodes", "source"}) r.require(key, "what was measured");
  r.read("class", name);
  r.read_stated("generation", generation);
  r.read_stated("fabric", t.fabric_row);
  r.read("by_tree", t.by_tree);
  r.read_name("collective", t.collective);
  r.read("ranks", t.ranks);
  r.read("nodes", t.nodes);
  r.read("machine", t.machine);
  if (r.read("source", source) && source >= 0 && static_cast<std::size_t>(source) < sources.size()) t.source = sources[static_cast<std::size_t>(source)];
  t.class_row = class_row(k, name, generation);
  t.ranks = std::max(2, t.ranks);
  t.nodes = std::max(1, t.nodes);
  t.log2_ranks = log2_of(t.ranks);
  t.log2_nodes = log2_of(t.nodes);
  read_table_points(r, t);
  return t;
}

}  // namespace

LinkConstants read_link_constants(Reader& r) {
  LinkConstants k;
  k.source = read_origin(r);
  std::string text;
  r.read("rates_are", text);
  read_rates(r, "nvlink_per_link_bytes_per_s", k.nvlink_per_link);
  read_rates(r, "nvlink_per_link_nominal_bytes_per_s", k.nvlink_per_link_nominal);
  read_rates(r, "pcie_x16_bytes_per_s", k.pcie_x16);
  read_rates(r, "pcie_x16_nominal_bytes_per_s", k.pcie_x16_nominal);
  read_constant(r, "nvlink_ga10x_per_link_bytes_per_s", k.nvlink_ga10x_per_link);
  read_constant(r, "launch_per_gpu_s", k.launch_per_gpu);
  read_constant(r, "staged_of_pcie", k.staged_of_pcie);
  read_constant(r, "plain_order_hop", k.plain_order_hop);
  read_constant(r, "ll128_share", k.ll128_share);
  read_constant(r, "ll128_fill", k.ll128_fill);
  read_constant(r, "nvls_fill_bytes", k.nvls_fill_bytes);
  read_constant(r, "xgmi_of_nominal", k.xgmi_of_nominal);
  read_constant(r, "c2c_bytes_per_s", k.c2c);
  read_constant(r, "c2c_nominal_bytes_per_s", k.c2c_nominal);
  for_each(r, "sockets", [&](Reader& socket) {
    LinkConstants::Socket s;
    socket.require("nccl_class", "text");
    socket.read("nccl_class", s.nccl_class);
    read_constant(socket, "bytes_per_s", s.rate);
    if (socket.has("measured_bytes_per_s")) {
      read_constant(socket, "measured_bytes_per_s", s.measured);
      socket.read("measured_from_pcie_generation", s.measured_from);
      std::string basis;
      socket.require("basis", "text");
      socket.read("basis", basis);
    }
    k.sockets.push_back(std::move(s));
  });
  for_each(r, "classes", [&](Reader& c) { k.classes.push_back(read_class(c, false)); });
  for_each(r, "fabrics", [&](Reader& f) { k.fabrics.push_back(read_fabric_rate(f)); });
  k.expected_fabrics = k.fabrics;
  for_each(r, "bands", [&](Reader& b) { k.bands.push_back(read_band(b)); });
  return k;
}

void read_link_fit(Reader& r, LinkConstants& k) {
  read_origin(r);
  for_each(r, "classes", [&](Reader& c) { k.classes.push_back(read_class(c, true)); });
  for_each(r, "fabrics", [&](Reader& f) {
    int stated = 0;
    f.require("row", "a whole number");
    if (!f.read("row", stated)) return;
    const auto row = static_cast<std::size_t>(stated);
    if (stated < 0 || row >= k.fabrics.size()) return f.fail("row", Json(stated), "a row of measurements/links fabrics", f.path("row") + " names no row of measurements/links");
    f.require("points", "a whole number");
    f.read("points", k.fabrics[row].points);
    read_fabric_constants(f, k.fabrics[row]);
  });
  std::vector<std::string> sources;
  if (const Json* list = r.stated("sources"); list && list->is_array())
    for (const Json& source : *list) sources.push_back(source.is_string() ? source.get<std::string>() : std::string());
  for_each(r, "tables", [&](Reader& t) { k.tables.push_back(read_table(t, k, sources)); });
}

EfficiencyConstants read_efficiency_constants(Reader& r) {
  EfficiencyConstants k;
  k.source = read_origin(r);
  const struct {
    std::string_view key;
    double& value;
  } constants[] = {{"reference", k.reference},
                   {"reference_w_per_tflops", k.reference_w_per_tflops},
                   {"power_exponent", k.power_exponent},
                   {"product_fill", k.product_fill},
                   {"kernel_s", k.kernel_s},
                   {"volta", k.volta},
                   {"ceiling", k.ceiling},
                   {"attention_matmul", k.attention_matmul},
                   {"attention_first", k.attention_first},
                   {"attention_synchronous", k.attention_synchronous},
                   {"attention_exponential", k.attention_exponential},
                   {"attention_backward", k.attention_backward},
                   {"attention_overlapped", k.attention_overlapped},
                   {"memory", k.memory},
                   {"elementwise_eager", k.elementwise_eager},
                   {"elementwise_compiled", k.elementwise_compiled},
                   {"elementwise_fused", k.elementwise_fused},
                   {"casts", k.casts},
                   {"casts_pytorch", k.casts_pytorch},
                   {"unpacking", k.unpacking},
                   {"optimizer", k.optimizer},
                   {"reference_fp8", k.reference_fp8},
                   {"reference_fp4", k.reference_fp4},
                   {"reference_w_per_tflops_fp8", k.reference_w_per_tflops_fp8},
                   {"host_per_layer_pytorch_s", k.host_per_layer_pytorch_s},
                   {"host_per_layer_megatron_s", k.host_per_layer_megatron_s},
                   {"host_per_layer_fused_s", k.host_per_layer_fused_s},
                   {"host_per_moe_layer_s", k.host_per_moe_layer_s},
                   {"host_backward", k.host_backward},
                   {"host_adapters", k.host_adapters},
                   {"host_norm", k.host_norm},
                   {"loss_logits_fp32", k.loss_logits_fp32},
                   {"loss_fused", k.loss_fused},
                   {"loss_chunked", k.loss_chunked},
                   {"host_with_graphs", k.host_with_graphs},
                   {"host_per_micro_batch_s", k.host_per_micro_batch_s},
                   {"host_per_step_s", k.host_per_step_s},
                   {"host_link_bytes_per_s", k.host_link_bytes_per_s},
                   {"host_memory_bytes_per_s", k.host_memory_bytes_per_s},
                   {"host_optimizer_plain", k.host_optimizer_plain},
                   {"tensor_exposed", k.tensor_exposed},
                   {"tensor_overlapped", k.tensor_overlapped},
                   {"overlap_slowdown", k.overlap_slowdown},
                   {"straggler", k.straggler},
                   {"scale", k.scale},
                   {"band", k.band},
                   {"band_moe", k.band_moe}};
  for (const auto& constant : constants) {
    read_constant(r, constant.key, constant.value);
    if (const Json* json = r.find(constant.key); json && constant.value < 1e-9)  // many of them divide
      r.fail(constant.key, *json, "more than 0", r.path(constant.key) + " is out of range. Nearest: a constant with a source");
  }
  for_each(r, "host_memory", [&](Reader& memory) {
    HostMemory m;
    std::string basis;
    memory.require("nccl_class", "text");
    memory.read("nccl_class", m.nccl_class);
    memory.read("from_pcie_generation", m.from_pcie_generation);
    read_constant(memory, "bytes_per_s", m.rate);
    if (const Json* json = memory.find("bytes_per_s"); json && m.rate.value < 1) memory.fail("bytes_per_s", *json, "1 to 1e15", memory.path("bytes_per_s") + " is out of range. Nearest: a rate with a source");
    memory.require("basis", "text");
    memory.read("basis", basis);
    k.host_memory.push_back(std::move(m));
  });
  return k;
}

MemoryConstants read_memory_constants(Reader& r) {
  MemoryConstants k;
  k.source = read_origin(r);
  read_constant(r, "unavoidable_fragmentation", k.unavoidable_fragmentation);
  read_constant(r, "band_fragmentation", k.band_fragmentation);
  read_constant(r, "slack_segments", k.slack_segments);
  read_constant(r, "slack_rocm", k.slack_rocm);
  read_constant(r, "slack_default", k.slack_default);
  read_constant(r, "slack_megatron", k.slack_megatron);
  read_constant(r, "band_exact", k.band_exact);
  read_constant(r, "band_default", k.band_default);
  read_constant(r, "band_moe", k.band_moe);
  read_constant(r, "context_bytes", k.context);
  for_each(r, "contexts", [&](Reader& context) {
    MemoryConstants::Context c;
    context.require("architecture", "text");
    context.read("architecture", c.architecture);
    read_constant(context, "bytes", c.bytes);
    read_constant(context, "workspaces_bytes", c.workspaces);
    k.contexts.push_back(std::move(c));
  });
  read_constant(r, "communicator_bytes", k.communicator);
  read_constant(r, "workspaces_bytes", k.workspaces);
  return k;
}

}  // namespace wireplan
