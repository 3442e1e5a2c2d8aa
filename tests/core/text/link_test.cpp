#include "core/text/link.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "core/text/deflate.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/plan_paths.hpp"
#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

const Presets& presets() {
  static const Presets all;
  return all;
}

Plan read(std::string_view text) {
  const Result<Plan> plan = read_plan_text(text, presets());
  if (!plan) FAIL(text_of(plan.errors()));
  return plan.value();
}

bool same(Plan a, Plan b) {
  a.assumed.clear();
  b.assumed.clear();
  return a == b;
}

// The link of a plan, which must lead back to the plan.
std::string link_of(const Plan& plan) {
  const std::string link = format_link(plan, presets());
  INFO(link);
  CHECK(unlinkable(plan, presets()).empty());
  const Result<ParsedLink> parsed = parse_link(link);
  REQUIRE(parsed);
  CHECK(parsed.value().notes.empty());
  const Result<Plan> back = read_plan(parsed.value().plan, presets());
  if (!back) FAIL(text_of(back.errors()));
  CHECK(same(plan, back.value()));
  CHECK(format_link(back.value(), presets()) == link);
  return link;
}

// The document of a link, without its schema.
Json plan_of(std::string_view link) {
  const Result<ParsedLink> parsed = parse_link(link);
  if (!parsed) FAIL(text_of(parsed.errors()));
  Json plan = parsed.value().plan;
  CHECK(plan["schema"] == "wireplan.plan/1");
  plan.erase("schema");
  return plan;
}

std::string note_of(std::string_view link) {
  const Result<ParsedLink> parsed = parse_link(link);
  REQUIRE(parsed);
  return parsed.value().notes.empty() ? "" : parsed.value().notes[0].text;
}

}  // namespace

TEST_CASE("links are short, in one order, without defaults", "[text]") {
  CHECK(link_of(read(R"({"model":"mistral-7b-v0.1","cluster":"dgx-a100-80gb"})")) ==
        "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb");
  const Json story = parse_json(presets().text("scenarios", "story")).value()["plan"];
  CHECK(link_of(read_plan(story, presets()).value()) == "#v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb~1~4&gbs=64&md=null");
  CHECK(
      link_of(read(
          R"({"model":"llama-3-70b","training":{"global_batch_size":512,"sequence_length":8192,"gradient_dtype":"fp32","recompute":{"every":2}},
    "parallel":{"framework":"megatron","data_sharding":"zero1","tensor":8,"pipeline":4,"sequence_parallel":true},"cluster":{"nodes":8,"node":"hgx-h100-80gb","network":"infiniband-8x400"}})")) ==
      "#v=1&m=llama-3-70b&c=hgx-h100-80gb~8~infiniband-8x400&ds=zero1&tp=8&pp=4&sp=1&gbs=512&seq=8192&gd=fp32&rc=every~"
      "2&fw=megatron");
  CHECK(
      link_of(read(
          R"({"model":"gpt2","training":{"details":{"autocast":false},"hidden_dropout":0.1},"cluster":{"nodes":2,"node":"dgx-a100-80gb","gpus_per_node":4}})")) ==
      "#v=1&m=gpt2&c=dgx-a100-80gb~2~infiniband-8x200~4&training.details.autocast=false&training.hidden_dropout=0.1");
}

TEST_CASE("every scenario has a link", "[text]") {
  for (const std::string_view id : presets().ids("scenarios")) {
    INFO(id);
    const Json scenario = parse_json(presets().text("scenarios", id)).value();
    CHECK(link_of(read_plan(scenario["plan"], presets()).value()).size() < 1500);
  }
}

TEST_CASE("parts given as objects are linked too", "[text]") {
  link_of(read(
      R"({"model":{"kind":"opaque","parameters":86000000,"units":12,"flops_per_sample":1e11,"saved_bytes_per_sample":2e8},"cluster":"hgx-h100-80gb"})"));
  link_of(read(
      R"({"model":{"name":"123","hidden_size":1024,"num_layers":4,"num_attention_heads":16,"intermediate_size":4096,"mlp":"gelu","vocab_size":50257,"tie_word_embeddings":true,
    "norm":"layernorm","qkv_bias":true,"mlp_bias":true,"o_bias":false,"position":"learned","moe":{"num_experts":8,"experts_per_token":2,"intermediate_size":64,"num_shared_experts":1,"router_bias":"correction"},
    "mla":{"kv_lora_rank":64,"qk_nope_head_dim":32,"qk_rope_head_dim":16,"v_head_dim":32}},"training":{"lora":{"rank":8,"targets":["q","v"],"base_dtype":"nf4"}},"cluster":"dgx-a100-80gb"})"));
  link_of(read(
      R"({"model":"gpt2","parallel":{"placement":[1,0]},"cluster":{"node":{"name":"my box & more","gpu":{"memory_bytes":25769803776,"hbm_bytes_per_s":936e9,"nvlink":{"links":4,"bytes_per_s_per_direction":56e9}},
    "gpus":2,"wiring":{"kind":"nvlink-pairs","pairs":[[0,1]]},"p2p":"01/10","sockets":2,"cpu":{"arch":"x86_64"}},"network":{"fabric":"roce","nics_per_node":1,"nic_bytes_per_s":12.5e9}}})"));
  link_of(read(
      R"({"model":"gpt2","parallel":{"framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":3,"reduce_bucket_size":5e7},"bf16":{"enabled":true}}},"cluster":{"node":"dgx-a100-80gb",
    "profile":{"schema":"wireplan.profile/1","machine":"mine","software":{"nccl":"2.28.3"},"collectives":[{"op":"all_gather","ranks":4,"gpus":[0,1,2,3],"dtype":"bf16","launch":"single-process",
    "points":[[1024,1.25e-5],[4e9,0.0163]]}],"gemm":[{"dtype":"bf16","m":4096,"n":4096,"k":4096,"flops_per_s":2.5e14}],"hbm_bytes_per_s":1.6e12,"fit":[{"op":"broadcast","latency_s":1.1e-5,"bytes_per_s":2e11}]},"assumed":[{"path":"node","value":1,"why":"seen"}]}})"));
}

TEST_CASE("a long wiring is packed", "[text]") {
  std::string components, links;
  for (int i = 0; i < 8; ++i) {
    components += R"({"id":"gpu)" + std::to_string(i) + R"(","kind":"gpu","numa":0},)";
    links += std::string(i > 0 ? "," : "") + R"({"a":"gpu)" + std::to_string(i) +
             R"(","b":"cpu0","kind":"pcie","generation":4,"lanes":16})";
  }
  const Plan plan = read(
      R"({"model":"gpt2","cluster":{"node":{"gpu":"a100-80gb-pcie","gpus":8,"wiring":{"kind":"graph","components":[)" +
      components + R"({"id":"cpu0","kind":"cpu","numa":0}],"links":[)" + links + "]}}}}");
  const std::string link = link_of(plan);
  CHECK(link.find("&j=") != std::string::npos);
  CHECK(link.size() < 600);
}

TEST_CASE("what is too long for a link says so", "[text]") {
  Plan plan = read(R"({"model":"gpt2","cluster":"dgx-a100-80gb"})");
  std::mt19937 random(8);
  std::string noise;
  for (int i = 0; i < 6000; ++i) noise += static_cast<char>('!' + random() % 90 + (random() % 90 == 1));
  plan.cluster.profile.emplace().machine = noise;
  CHECK(format_link(plan, presets()).empty());
  const Errors errors = unlinkable(plan, presets());
  REQUIRE(errors.size() == 1);
  CHECK(has_error(errors, "cluster.profile", "at most 4,096 bytes", "Nearest"));
}

TEST_CASE("golden links are read for ever", "[text]") {
  std::ifstream file("tests/data/golden_links.txt");
  REQUIRE(file);
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with("//")) continue;
    const std::size_t space = line.find(' ');
    REQUIRE(space != std::string::npos);
    const std::string link = line.substr(0, space);
    INFO(link);
    const Json plan = plan_of(link);
    CHECK(dump_json_compact(plan) == line.substr(space + 1));
    CHECK(read_plan(plan, presets()));
    ++count;
  }
  CHECK(count >= 12);
}

TEST_CASE("links are read from wherever they stand", "[text]") {
  const std::string expected = R"({"model":"gpt2","cluster":{"node":"dgx-a100-80gb"}})";
  for (const char* link :
       {"#v=1&m=gpt2&c=dgx-a100-80gb", "v=1&m=gpt2&c=dgx-a100-80gb",
        "https://example.org/plan/index.html#v=1&m=gpt2&c=dgx-a100-80gb", "  #m=gpt2&c=dgx-a100-80gb\n",
        "#v=1&&m=gpt2&c=dgx-a100-80gb&", "#v=1&m=%67pt2&c=dgx%2Da100-80gb", "#v=1&m=gpt2&c=dgx-a100-80gb~~~"})
    CHECK(dump_json_compact(plan_of(link)) == expected);
  CHECK(dump_json_compact(plan_of("#m=gpt2&c=x~2~roce-8x100~4")) ==
        R"({"model":"gpt2","cluster":{"node":"x","nodes":2,"network":"roce-8x100","gpus_per_node":4}})");
  CHECK(dump_json_compact(plan_of("#c=x~~roce-8x100~4~2")) ==
        R"({"cluster":{"node":"x","network":"roce-8x100","nodes":4,"gpus_per_node":2}})");
  CHECK(dump_json_compact(plan_of("#c=x~00099999999999999999")) == R"({"cluster":{"node":"x","nodes":999999999999}})");
}

TEST_CASE("view keys are kept apart", "[text]") {
  const ParsedLink parsed = parse_link("#v=1&m=gpt2&lang=vi&u=gb&story=3").value();
  CHECK(parsed.plan["model"] == "gpt2");
  REQUIRE(parsed.view.size() == 3);
  CHECK(parsed.view[0] == std::pair<std::string, std::string>{"lang", "vi"});
  CHECK(parsed.view[2].second == "3");
  CHECK(parsed.notes.empty());
}

TEST_CASE("what is not known is reported, never fatal", "[text]") {
  CHECK(note_of("#v=1&m=gpt2&x=1") == "1 key is not known here: x");
  CHECK(note_of("#v=1&m=gpt2&parallel.warp=2&training.lora.ranks=8") ==
        "2 keys are not known here: parallel.warp, training.lora.ranks");
  CHECK(note_of("#v=2&m=gpt2") == "this link was made by a newer version (v=\"2\")");
  CHECK(note_of("#v=2&m=gpt2&warp=9").ends_with("1 key is not known here: warp"));
  CHECK(dump_json_compact(plan_of("#v=1&m=gpt2&parallel.warp=2")) == R"({"model":"gpt2"})");
  const std::string packed = base64url(deflated(R"({"model":"gpt2","parallel":{"warp":1,"tensor":2},"news":{}})"));
  CHECK(note_of("#v=1&j=" + packed) == "2 keys are not known here: parallel.warp, news");
  CHECK(dump_json_compact(plan_of("#v=1&j=" + packed)) == R"({"model":"gpt2","parallel":{"tensor":2}})");
  // What is readable wins over what is packed.
  CHECK(dump_json_compact(plan_of("#v=1&tp=4&j=" + packed)) == R"({"model":"gpt2","parallel":{"tensor":4}})");
}

TEST_CASE("broken links are errors", "[text]") {
  const std::pair<std::string, const char*> rows[] = {
      {"", ""},
      {"plan.json", ""},
      {"#", ""},
      {"https://example.org/", ""},
      {"#v=1&j=***", "j"},
      {"#v=1&j=" + base64url("nonsense"), "j"},
      {"#v=1&j=" + base64url(deflated("[1]")), "j"},
      {"#v=1&j=" + base64url(deflated("{")), "j"},
      {"#v=1&j=" + base64url(deflated(std::string(1'000'001, ' '))), "j"},
      {"#v=1&c=a~1~b~2~c", "c"},
      {"#v=1&m=gpt2&model.hidden_size=4", "model.hidden_size"},
      {"#v=1&" + std::string(70'000, 'x') + "=1", ""},
  };
  for (const auto& [link, path] : rows) {
    const Result<ParsedLink> parsed = parse_link(link);
    INFO(link.substr(0, 80));
    REQUIRE_FALSE(parsed);
    CHECK(has_error(parsed.errors(), path));
  }
}

TEST_CASE("a link is told from a file and from an id", "[text]") {
  for (const char* text : {"#v=1&m=gpt2", "v=1&m=gpt2", "https://example.org/#v=1", "index.html#m=gpt2"})
    CHECK(looks_like_link(text));
  for (const char* text :
       {"story", "plan.json", "./v1/plan.json", "-", "", "#", "notes#1.json", "{\"model\":\"gpt2\"}"})
    CHECK_FALSE(looks_like_link(text));
}

TEST_CASE("every leaf of a written plan is a path that links know", "[text]") {
  const Json outline = plan_outline();
  for (const char* path :
       {"model", "model.hidden_size", "model.moe.num_experts", "model.mla.v_head_dim", "model.units",
        "training.lora.rank", "training.details.autocast", "training.recompute.every", "training.offload.optimizer",
        "parallel.overlap.tensor", "parallel.deepspeed", "parallel.deepspeed.zero_optimization.stage",
        "cluster.node.gpu.nvlink.links", "cluster.node.wiring.pcie.lanes", "cluster.node.cpu.nccl_class",
        "cluster.network.nic_bytes_per_s", "cluster.rack_nodes", "cluster.profile.machine"})
    CHECK(is_plan_path(outline, path));
  for (const char* path : {"", "models", "model.", "training.details.x", "parallel.tensor.x", "cluster.node.gpus.x"})
    CHECK_FALSE(is_plan_path(outline, path));
}

TEST_CASE("no mutation of a link crashes the reader", "[text]") {
  const std::string sound =
      "#v=1&m=gpt2&c=dgx-a100-80gb~2~infiniband-8x200~4&ds=fsdp&dp=8&rc=every~2&training.lora.rank=8&training.lora."
      "targets=%5B%22q%22%5D&j=" +
      base64url(deflated(R"({"cluster":{"profile":{"machine":"mine"}},"parallel":{"placement":[1,0]}})"));
  std::mt19937 random(9);
  for (int i = 0; i < 2000; ++i) {
    std::string link = sound;
    for (unsigned k = 0; k <= random() % 3; ++k) link[random() % link.size()] = static_cast<char>(random());
    const Result<ParsedLink> parsed = parse_link(link);
    if (parsed) {
      const Result<Plan> plan = read_plan(parsed.value().plan, presets());
      if (!plan) CHECK_FALSE(plan.errors().empty());
    } else {
      CHECK_FALSE(parsed.errors().empty());
    }
  }
}
