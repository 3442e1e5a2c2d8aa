#include "core/text/hf_weights.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/hf_config.hpp"
#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

// Llama with 2 layers: h 8, a 2, k 1, d 4, f 16, V 32.
Model small(bool is_tied = false) {
  const Result<ImportedModel> m = import_config(std::string(R"({"model_type":"llama","hidden_size":8,"num_hidden_layers":2,"num_attention_heads":2,"num_key_value_heads":1,"intermediate_size":16,"vocab_size":32,"tie_word_embeddings":)") + (is_tied ? "true" : "false") + "}", Presets());
  REQUIRE(m);
  return m.value().model;
}

Json tensor(std::initializer_list<int> shape, const char* dtype = "BF16") { return Json{{"dtype", dtype}, {"shape", Json(shape)}, {"data_offsets", Json::array({0, 1000})}}; }

Json header(int layers = 2) {
  Json j{{"__metadata__", Json{{"format", "pt"}}}, {"model.embed_tokens.weight", tensor({32, 8})}, {"model.norm.weight", tensor({8})}, {"lm_head.weight", tensor({32, 8})}};
  for (int i = 0; i < layers; ++i) {
    const std::string l = "model.layers." + std::to_string(i) + '.';
    j[l + "self_attn.q_proj.weight"] = tensor({8, 8});
    j[l + "self_attn.k_proj.weight"] = tensor({4, 8});
    j[l + "self_attn.v_proj.weight"] = tensor({4, 8});
    j[l + "self_attn.o_proj.weight"] = tensor({8, 8});
    j[l + "mlp.gate_proj.weight"] = tensor({16, 8});
    j[l + "mlp.up_proj.weight"] = tensor({16, 8});
    j[l + "mlp.down_proj.weight"] = tensor({8, 16});
    j[l + "input_layernorm.weight"] = tensor({8});
    j[l + "post_attention_layernorm.weight"] = tensor({8});
  }
  return j;
}

StoredWeights stored(const Json& json) {
  Result<StoredWeights> found = read_stored_weights(dump_json(json));
  if (!found) FAIL(text_of(found.errors()));
  return found.value();
}

WeightsCheck checked(const Json& json, const Model& m = small(), const char* dtype = "bfloat16", bool is_quantised = false) { return check_weights(m, stored(json), dtype, is_quantised); }

}  // namespace

TEST_CASE("the header's length stands in the first 8 bytes", "[hf]") {
  CHECK(safetensors_header_bytes(std::string("\x10\x02\0\0\0\0\0\0", 8)).value() == 528);
  CHECK_FALSE(safetensors_header_bytes("1234567"));
  CHECK_FALSE(safetensors_header_bytes(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)));
  CHECK_FALSE(safetensors_header_bytes(std::string(8, '\0')));
}

TEST_CASE("weights that are the model agree with it", "[hf]") {
  const WeightsCheck check = checked(header());
  CHECK(check.agrees);
  CHECK(check.by_tensor);
  CHECK(check.stored == 32 * 8 * 2 + 8 + 2 * (8 * 8 * 2 + 4 * 8 * 2 + 3 * 8 * 16 + 16));
  CHECK(check.left_out.empty());
  CHECK(check.notes.empty());
  CHECK(stored(header()).total_bytes == 2 * check.stored);
  CHECK(stored(header()).data_bytes == 1000);
}

TEST_CASE("what differs is said by part and layer", "[hf]") {
  Json more = header();
  more["model.layers.1.self_attn.q_proj.bias"] = tensor({8});
  const WeightsCheck bias = checked(more);
  CHECK_FALSE(bias.agrees);
  CHECK(bias.stored - bias.counted == 8);
  REQUIRE(bias.notes.size() == 1);
  CHECK(bias.notes[0].find("1 of 2 layers differ; the first is layer 1") != std::string::npos);
  for (const WeightsCheck::Part& p : bias.parts) CHECK((p.stored == p.counted) == (p.name != "layers"));
  Json headless = header();
  headless.erase("lm_head.weight");
  CHECK(checked(headless).notes.back().find("no head is stored") != std::string::npos);
  CHECK(checked(headless, small(true)).agrees);
}

TEST_CASE("what is stored besides is not compared, and said", "[hf]") {
  Json more = header(3);  // the third layer predicts further tokens
  more["vision_tower.layers.0.weight"] = tensor({5, 5});
  more["model.layers.0.self_attn.rotary_emb.inv_freq"] = tensor({2}, "F32");
  more["model.layers.0.mlp.gate_proj.weight_scale_inv"] = tensor({1, 1}, "F32");
  const WeightsCheck check = checked(more);
  CHECK(check.agrees);
  CHECK(check.left_out.size() == 4);
  const WeightsCheck tied = checked(header(), small(true));
  CHECK(tied.agrees);
  REQUIRE(tied.left_out.size() == 1);
  CHECK(tied.left_out[0].elements == 32 * 8);
  CHECK(tied.left_out[0].example == "lm_head.weight");
}

TEST_CASE("an index says bytes", "[hf]") {
  const Model m = small();
  const double total = count_parameters(m).total;
  const auto index = [](double bytes) { return Json{{"metadata", Json{{"total_size", bytes}}}, {"weight_map", Json{{"a", "1.safetensors"}, {"b", "1.safetensors"}, {"c", "2.safetensors"}}}}; };
  CHECK(stored(index(10)).files == std::vector<std::string>{"1.safetensors", "2.safetensors"});
  CHECK(checked(index(2 * total)).agrees);
  CHECK_FALSE(checked(index(2 * total)).by_tensor);
  CHECK(checked(index(4 * total), m, "float32").agrees);
  CHECK_FALSE(checked(index(2 * total + 2)).agrees);
  CHECK(checked(index(2 * total + 2)).stored == total + 1);
  CHECK_FALSE(checked(index(2 * total), m, "").notes.empty());
  CHECK_FALSE(checked(index(total), m, "bfloat16", true).notes.empty());
  const Model tied = small(true);
  CHECK(checked(index(2 * (count_parameters(tied).total + 32 * 8)), tied).notes.at(0).find("tie_word_embeddings") != std::string::npos);
}

TEST_CASE("what are no weights is refused", "[hf]") {
  for (const char* bad : {"[]", "{", "{}", R"({"a": 1})", R"({"a": {"dtype": "F32"}})", R"({"a": {"dtype": "F32", "shape": [-1]}})", R"({"a": {"dtype": "F32", "shape": [1.5]}})", R"({"a": {"dtype": "F32", "shape": [1e12, 1e12]}})", R"({"weight_map": 1})",
                          R"({"weight_map": {}, "metadata": {"total_size": "x"}})", R"({"weight_map": {}, "metadata": {"total_size": -1}})"}) {
    INFO(bad);
    const Result<StoredWeights> found = read_stored_weights(bad);
    REQUIRE_FALSE(found);
    CHECK_FALSE(found.errors().front().text.empty());
  }
}
