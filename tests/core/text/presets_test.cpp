#include "core/text/presets.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

// A preset as it stands, with one member replaced, added (by a new key) or, for a discarded value, removed.
std::string changed(const Presets& presets, std::string_view kind, std::string_view id, std::string key,
                    const Json* value) {
  Json json = parse_json(presets.text(kind, id)).value();
  if (value == nullptr)
    json.erase(key);
  else
    json[key] = *value;
  return dump_json(json);
}

}  // namespace

TEST_CASE("every preset passes its loader", "[text]") {
  const Presets presets;
  const Errors errors = presets.check_all();
  INFO(text_of(errors));
  CHECK(errors.empty());
  CHECK(presets.ids("models").size() >= 170);
  CHECK(presets.ids("gpus").size() == 88);
  CHECK(presets.ids("nodes").size() >= 92);
  CHECK(presets.ids("networks").size() == kNames<Fabric>.size());
  CHECK(presets.ids("implementations").size() == 14);
  CHECK(presets.ids("scenarios").size() >= 6);
  CHECK(presets.constants());
}

TEST_CASE("a preset is what its file says", "[text]") {
  const Presets presets;
  const Model m = presets.model("mistral-7b-v0.1").value();
  CHECK(m.id == "mistral-7b-v0.1");
  CHECK(m.hidden_size == 4096);
  CHECK(m.num_key_value_heads == 8);
  CHECK(m.mlp == Mlp::swiglu);
  CHECK(m.sliding_window == 4096);
  const Model v3 = presets.model("deepseek-v3").value();
  REQUIRE(v3.moe);
  CHECK(v3.moe->router_bias);
  CHECK(v3.moe->router_bias_is_correction);
  CHECK(v3.moe->first_dense_layers == 3);
  REQUIRE(v3.mla);
  CHECK(v3.mla->q_lora_rank == 1536);

  const Node node = presets.node("dgx-a100-80gb").value();
  CHECK(node.gpu.id == "a100-80gb-sxm");
  CHECK(node.gpu.memory == Bytes(85899345920.0));
  CHECK(capacity(node.gpu) == Bytes(85197848576.0));
  CHECK(node.gpu.nvlink == BytesPerSecond(300e9));
  CHECK(node.gpus == 8);
  CHECK(node.wiring.kind == WiringKind::nvswitch);
  CHECK(node.wiring.groups.size() == 4);
  CHECK(node.wiring.groups[1].numa == 1);
  CHECK(node.usual_network == "infiniband-8x200");
  CHECK(presets.node("dgx1-v100-16gb").value().wiring.mesh.size() == 16);
  CHECK(presets.implementation("megatron-core").value().kernels == Kernels::fused);
}

TEST_CASE("an unknown id is an error that lists near ones", "[text]") {
  const Presets presets;
  const auto model = presets.model("mistral-7b");
  REQUIRE_FALSE(model);
  CHECK(has_error(model.errors(), "models/mistral-7b", "", "mistral-7b-v0.1"));
  const auto gpu = presets.gpu("a100-80gb-smx");
  REQUIRE_FALSE(gpu);
  CHECK(has_error(gpu.errors(), "gpus/a100-80gb-smx", "", "a100-80gb-sxm"));
  CHECK(presets.nearest("models", "").empty());
  CHECK(presets.nearest("models", std::string(100000, 'x')).empty());
  CHECK(presets.nearest("nodes", "dgx-a100-80g").front() == "dgx-a100-80gb");
  CHECK(presets.text("models", "no-such-model").empty());
  CHECK(presets.ids("no-such-kind").empty());
}

TEST_CASE("the loader is strict", "[text]") {
  struct Row {
    const char* kind;
    const char* id;
    const char* key;
    Json value;  // discarded: the key is removed
    const char* path;
    const char* limit;
  };
  const Json removed(Json::value_t::discarded);
  const Row rows[] = {
      {"models", "gpt2", "hiden_size", 1, "models/gpt2:hiden_size", "hidden_size"},
      {"models", "gpt2", "source", removed, "models/gpt2:source", "where"},
      {"models", "gpt2", "hidden_size", removed, "models/gpt2:hidden_size", "a whole number"},
      {"models", "gpt2", "hidden_size", "768", "models/gpt2:hidden_size", "a whole number"},
      {"models", "gpt2", "hidden_size", -768, "models/gpt2:hidden_size", "1 to 1000000"},
      {"models", "gpt2", "mlp", "swish", "models/gpt2:mlp", "swiglu | geglu"},
      {"models", "gpt2", "exact_parameters", -1, "models/gpt2:exact_parameters", "1 to 1e14"},
      {"gpus", "a100-80gb-sxm", "bf16_tflops", 312, "gpus/a100-80gb-sxm:bf16_tflops", "bf16_flops_per_s"},
      {"gpus", "a100-80gb-sxm", "source", removed, "gpus/a100-80gb-sxm:source", "where"},
      {"gpus", "a100-80gb-sxm", "memory_bytes", 80, "gpus/a100-80gb-sxm:memory_bytes", "1000000 to"},
      {"gpus", "a100-80gb-sxm", "nvlink", Json{{"links", 12}}, "gpus/a100-80gb-sxm:nvlink.bytes_per_s_per_direction",
       "a number"},
      {"nodes", "dgx-a100-80gb", "source", removed, "nodes/dgx-a100-80gb:source", "where"},
      {"nodes", "dgx-a100-80gb", "gpu", "a100", "nodes/dgx-a100-80gb:gpu", "gpu preset"},
      {"nodes", "dgx-a100-80gb", "network", "infiniband-8", "nodes/dgx-a100-80gb:network", "<fabric>"},
      {"nodes", "dgx-a100-80gb", "gpus", 4, "nodes/dgx-a100-80gb:wiring.groups.2.gpus.0", "a GPU index, 0 to 3"},
      {"networks", "roce", "latency_s", removed, "networks/roce:latency_s", "a number"},
      {"implementations", "nanogpt", "kernels", "none", "implementations/nanogpt:kernels", "eager | compiled | fused"},
      {"scenarios", "story", "source", removed, "scenarios/story:source", "text"},
      {"scenarios", "story", "plan", Json::object(), "scenarios/story:plan.model", "the id of a model"},
      {"measurements", "efficiency", "band", removed, "measurements/efficiency:band", "a number"},
      {"measurements", "efficiency", "source", removed, "measurements/efficiency:source", "text"},
      {"measurements", "efficiency", "host_optimizer_plain", 0, "measurements/efficiency:host_optimizer_plain", "more than 0"},
      {"measurements", "efficiency", "host_memory", Json::array(), "measurements/efficiency:host_memory", "not empty"},
      {"measurements", "efficiency", "host_memory", Json::array({Json{{"nccl_class", "skl"}, {"bytes_per_s", 0}, {"basis", "own"}}}),
       "measurements/efficiency:host_memory.0.bytes_per_s", "1 to 1e15"},
      {"measurements", "efficiency", "host_memory", Json::array({Json{{"nccl_class", "skl"}, {"bytes_per_s", 1e11}}}),
       "measurements/efficiency:host_memory.0.basis", "text"},
      {"measurements", "links", "classes", Json::array(), "measurements/links:classes", "not empty"},
  };
  for (const Row& row : rows) {
    Presets presets;
    presets.add(row.kind, row.id,
                changed(presets, row.kind, row.id, row.key, row.value.is_discarded() ? nullptr : &row.value));
    const Errors errors = presets.check_all();
    INFO(row.path << "\n" << text_of(errors));
    CHECK(has_error(errors, row.path, row.limit));
  }
}

TEST_CASE("documents of the caller are added and replace embedded ones", "[text]") {
  Presets presets;
  const Json hidden = 1024;
  presets.add("models", "mine", changed(presets, "models", "gpt2", "hidden_size", &hidden));
  CHECK(presets.model("mine").value().hidden_size == 1024);
  presets.add("models", "gpt2", changed(presets, "models", "gpt2", "hidden_size", &hidden));
  CHECK(presets.model("gpt2").value().hidden_size == 1024);
  const auto ids = presets.ids("models");
  CHECK(std::is_sorted(ids.begin(), ids.end()));
  CHECK(std::count(ids.begin(), ids.end(), "gpt2") == 1);
  CHECK(std::count(ids.begin(), ids.end(), "mine") == 1);
  presets.add("models", "broken", "{");
  CHECK(has_error(presets.model("broken").errors(), "models/broken", "JSON"));
}

TEST_CASE("a network is short for its fabric's usual settings", "[text]") {
  const Presets presets;
  const Network n = parse_network("infiniband-8x400", presets, "network").value();
  CHECK(n.fabric == Fabric::infiniband);
  CHECK(n.nics_per_node == 8);
  CHECK(n.nic_rate == BytesPerSecond(50e9));  // 400 Gbit/s
  CHECK(n.latency.value > 0);
  CHECK(n.shorthand == "infiniband-8x400");
  CHECK(parse_network("ethernet-1x0.5", presets, "network").value().nic_rate == BytesPerSecond(62.5e6));
  for (const char* text : {"", "infiniband", "infiniband-8", "infiniband-8x", "infiniband-x400", "infiniband-0x400",
                           "infiniband-8x0", "infiniband-8x-400", "infiniband-1.5x400", "infiniband-9999999999x400",
                           "infiniband-8x1e9", "infiniband-8x4.0.0", "-8x400", "infinband-8x400", "INFINIBAND-8x400"}) {
    const auto network = parse_network(text, presets, "cluster.network");
    INFO(text);
    REQUIRE_FALSE(network);
    CHECK(has_error(network.errors(), "cluster.network", "<fabric>-<NICs per node>x<Gbit/s>", "Nearest"));
  }
  CHECK(has_error(parse_network("infinband-8x400", presets, "n").errors(), "n", "", "Nearest: infiniband"));
}
