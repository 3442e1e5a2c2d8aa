#include "core/text/read_constants.hpp"

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

// Calls read(Reader&) for each object of a list; the list must not be empty.
template <class Read>
void for_each(Reader& r, std::string_view key, Read read) {
  r.require(key, "a list");
  const Json* json = r.stated(key);
  if (json == nullptr) return;
  if (!json->is_array() || json->empty()) {
    r.fail_type(key, *json, "a list that is not empty");
    return;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    Reader element(r.log(), (*json)[i], r.path(key) + "." + std::to_string(i));
    read(element);
    element.finish();
  }
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

LinkConstants::Class read_class(Reader& r) {
  LinkConstants::Class c;
  std::string basis;
  for (const std::string_view key : {"name", "basis"}) r.require(key, "text");
  r.read("name", c.name);
  r.require("generation", "a whole number");
  r.read("generation", c.generation);
  read_constant(r, "launch_s", c.launch);
  read_constant(r, "hop_s", c.hop);
  read_constant(r, "efficiency", c.efficiency);
  read_constant(r, "efficiency_many", c.efficiency_many);
  read_constant(r, "copy_bytes_per_s", c.copy);
  read_constant(r, "fill_s", c.fill);
  read_constant(r, "fill_per_step_s", c.fill_per_step);
  read_constant(r, "low_latency_share", c.low_latency_share);
  read_constant(r, "all_to_all_efficiency", c.all_to_all_efficiency);
  read_constant(r, "all_to_all_fill_s", c.all_to_all_fill);
  read_constant(r, "all_to_all_low_latency_share", c.all_to_all_low_latency_share);
  read_constant(r, "band", c.band);
  r.read("basis", basis);
  return c;
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
  read_constant(r, "efficiency", f.efficiency);
  read_constant(r, "latency_s", f.latency);
  read_constant(r, "fill_s", f.fill);
  read_constant(r, "fill_bytes", f.fill_bytes);
  r.require("basis", "text");
  r.read("basis", basis);
  return f;
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
  read_constant(r, "xgmi_of_nominal", k.xgmi_of_nominal);
  read_constant(r, "c2c_bytes_per_s", k.c2c);
  read_constant(r, "c2c_nominal_bytes_per_s", k.c2c_nominal);
  for_each(r, "sockets", [&](Reader& socket) {
    LinkConstants::Socket s;
    socket.require("nccl_class", "text");
    socket.read("nccl_class", s.nccl_class);
    read_constant(socket, "bytes_per_s", s.rate);
    k.sockets.push_back(std::move(s));
  });
  for_each(r, "classes", [&](Reader& c) { k.classes.push_back(read_class(c)); });
  for_each(r, "fabrics", [&](Reader& f) { k.fabrics.push_back(read_fabric_rate(f)); });
  return k;
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
                   {"ceiling", k.ceiling},
                   {"attention_matmul", k.attention_matmul},
                   {"attention_exponential", k.attention_exponential},
                   {"attention_backward", k.attention_backward},
                   {"memory", k.memory},
                   {"elementwise_eager", k.elementwise_eager},
                   {"elementwise_compiled", k.elementwise_compiled},
                   {"elementwise_fused", k.elementwise_fused},
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
                   {"pipeline_exposed", k.pipeline_exposed},
                   {"pipeline_overlapped", k.pipeline_overlapped},
                   {"host_with_graphs", k.host_with_graphs},
                   {"host_per_micro_batch_s", k.host_per_micro_batch_s},
                   {"host_per_step_s", k.host_per_step_s},
                   {"host_link_bytes_per_s", k.host_link_bytes_per_s},
                   {"tensor_exposed", k.tensor_exposed},
                   {"tensor_overlapped", k.tensor_overlapped},
                   {"overlap_window", k.overlap_window},
                   {"straggler", k.straggler},
                   {"scale", k.scale},
                   {"band", k.band},
                   {"band_moe", k.band_moe}};
  for (const auto& constant : constants) {
    read_constant(r, constant.key, constant.value);
    if (const Json* json = r.find(constant.key); json && constant.value < 1e-9)  // many of them divide
      r.fail(constant.key, *json, "more than 0", r.path(constant.key) + " is out of range. Nearest: a constant with a source");
  }
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
