#include "core/text/hf_config.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/count/parameters.hpp"
#include "core/text/read_model.hpp"
#include "tests/core/describe/sound.hpp"
#include "tests/support/files.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

const Presets& shipped() {
  static const Presets presets;
  return presets;
}

ImportedModel imported(const Json& config, const ConfigHints& hints = {}) {
  Result<ImportedModel> found = import_config(dump_json(config), shipped(), hints);
  if (!found) FAIL(text_of(found.errors()) << " for " << dump_json_compact(config).substr(0, 300));
  CHECK(validate(found.value().model, "model") == Errors{});
  return found.value();
}

Errors refused(const std::string& text, const ConfigHints& hints = {}) {
  const Result<ImportedModel> found = import_config(text, shipped(), hints);
  REQUIRE_FALSE(found);
  for (const Error& e : found.errors()) {
    CHECK_FALSE(e.text.empty());
    CHECK(e.value.size() <= 80);
  }
  return found.errors();
}

std::string notes_of(const ImportedModel& m) {
  std::string all;
  for (const Note& n : m.notes) all += n.text + '\n';
  return all;
}

const ConfigField& field(const ImportedModel& m, const std::string& path) {
  for (const ConfigField& f : m.fields)
    if (f.path == path) return f;
  static const ConfigField none;
  FAIL("no field " << path);
  return none;
}

Model without_name(Model m) {
  m.id = m.name = "";
  return m;
}

bool has_path(const Errors& errors, const std::string& path) {
  return std::any_of(errors.begin(), errors.end(), [&](const Error& e) { return e.path == path; });
}

Json llama() {
  return Json{{"model_type", "llama"}, {"hidden_size", 4096}, {"num_hidden_layers", 32}, {"num_attention_heads", 32}, {"num_key_value_heads", 8}, {"intermediate_size", 14336}, {"vocab_size", 128256}, {"max_position_embeddings", 8192}};
}

Json with(Json config, const char* key, Json value) {
  config[key] = std::move(value);
  return config;
}

}  // namespace

TEST_CASE("published configurations give the published parameters and the preset of the same model", "[hf]") {
  std::set<std::string> types;
  std::size_t presets = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/configs")) {
    INFO(entry.path().string());
    const Result<Json> sample = parse_json(file_text(entry.path().string()));
    REQUIRE(sample);
    const ImportedModel m = imported(sample.value().at("config"));
    types.insert(m.model_type);
    CHECK(count_parameters(m.model).total == sample.value().at("parameters").get<double>());
    CHECK(notes_of(m).find("is not read") == std::string::npos);  // every key is known
    CHECK(notes_of(m).find("not known to change") == std::string::npos);
    if (sample.value().at("preset").is_null()) continue;
    const std::string id = sample.value().at("preset").get<std::string>();
    ++presets;
    CHECK(std::find(m.presets.begin(), m.presets.end(), id) != m.presets.end());
    const Result<Model> preset = shipped().model(id);
    REQUIRE(preset);
    CHECK(without_name(m.model) == without_name(preset.value()));
    CHECK_FALSE(m.nearest);
  }
  CHECK(types.size() >= 50);
  CHECK(presets >= 60);
}

// 150 small configurations, each with switches and sizes at random; counted by the classes of transformers 5.24 on the meta device.
TEST_CASE("switches and sizes at random give what the classes of transformers count", "[hf]") {
  std::istringstream lines(file_text("tests/data/configs_small.jsonl"));
  std::string line;
  std::set<std::string> types;
  while (std::getline(lines, line)) {
    INFO(line);
    const Result<Json> sample = parse_json(line);
    REQUIRE(sample);
    const ImportedModel m = imported(sample.value().at("config"));
    types.insert(m.model_type);
    CHECK(count_parameters(m.model).total == sample.value().at("parameters").get<double>());
  }
  CHECK(types.size() >= 48);
}

TEST_CASE("every architecture is described soundly", "[hf]") {
  for (const std::string_view id : shipped().ids("architectures")) {
    INFO(id);
    const Result<Architecture> a = architecture_of(id, shipped());
    REQUIRE(a);
    CHECK(a.value().source.starts_with("https://"));
    if (id == "transformers") continue;
    CHECK(a.value().is_known);
    CHECK(a.value().id == id);
    // With nothing but its type, a configuration is the class's defaults; two classes leave a size open.
    const Result<ImportedModel> bare = import_config(R"({"model_type": ")" + std::string(id) + "\"}", shipped());
    if (id == "deepseek_v2") {
      REQUIRE_FALSE(bare);
      CHECK(has_path(bare.errors(), "model.moe.experts_per_token"));
    } else if (id == "glm4_moe") {
      REQUIRE_FALSE(bare);
      CHECK(has_path(bare.errors(), "model.head_dim"));
    } else {
      if (!bare) FAIL(text_of(bare.errors()));
      for (const ConfigField& f : bare.value().fields) CHECK(f.origin != FieldOrigin::stated);
    }
    const Result<Json> document = parse_json(shipped().text("architectures", id));
    REQUIRE(document);
    if (!document.value().contains("also")) continue;
    for (const Json& other : document.value().at("also")) CHECK(architecture_of(other.get<std::string>(), shipped()).value().id == id);
  }
}

TEST_CASE("a key that is null is not a key that is left out", "[hf]") {
  const Json mistral{{"model_type", "mistral"}};
  CHECK(imported(mistral).model.sliding_window == 4096);
  CHECK(imported(with(mistral, "sliding_window", nullptr)).model.sliding_window == 0);
  CHECK(imported(with(mistral, "num_key_value_heads", nullptr)).model.num_key_value_heads == 32);
}

TEST_CASE("every field says where it comes from", "[hf]") {
  const ImportedModel m = imported(llama(), {"", {{"model.qkv_bias", "true"}}});
  CHECK(field(m, "model.hidden_size").origin == FieldOrigin::stated);
  CHECK(field(m, "model.hidden_size").from == "hidden_size");
  CHECK(field(m, "model.head_dim").from == "hidden_size, num_attention_heads");
  CHECK(field(m, "model.tie_word_embeddings").origin == FieldOrigin::standard);
  CHECK(field(m, "model.norm").origin == FieldOrigin::constant);
  CHECK(field(m, "model.qkv_bias").origin == FieldOrigin::given);
  CHECK(m.model.qkv_bias);
  CHECK_FALSE(imported(llama()).model.qkv_bias);
  const Json document = write_imported_model(m);
  CHECK(document.at("schema") == "wireplan.model/1");
  CHECK(document.at("fields").size() == m.fields.size());
}

TEST_CASE("aliases of the class are read", "[hf]") {
  const ImportedModel m = imported({{"model_type", "gpt2"}, {"hidden_size", 1024}, {"num_hidden_layers", 24}, {"num_attention_heads", 16}});
  CHECK(m.presets == std::vector<std::string>{"gpt2-medium"});
  CHECK(field(m, "model.hidden_size").from == "hidden_size");
}

TEST_CASE("of a multimodal model the language model is read", "[hf]") {
  Json config{{"model_type", "llava"}, {"text_config", Json{{"hidden_size", 64}, {"num_attention_heads", 4}}}, {"vision_config", Json{{"hidden_size", 32}}}, {"tie_word_embeddings", true}};
  const ImportedModel m = imported(config);
  CHECK(m.model_type == "llama");  // what LLaVA's class takes
  CHECK(m.model.hidden_size == 64);
  CHECK(m.model.tie_word_embeddings);  // of the outer configuration, since the inner one does not say
  CHECK(field(m, "model.hidden_size").config_path == "text_config.hidden_size");
  CHECK(notes_of(m).find("vision_config is not") != std::string::npos);
  config["text_config"]["tie_word_embeddings"] = false;
  CHECK_FALSE(imported(config).model.tie_word_embeddings);
  config["text_config"]["hidden_size"] = -1;
  CHECK(has_path(refused(dump_json(config)), "text_config.hidden_size"));
}

TEST_CASE("an unknown model_type asks for what its keys do not say", "[hf]") {
  const Json config = with(llama(), "model_type", "lama");
  const Errors errors = refused(dump_json(config));
  CHECK(errors.front().path == "model_type");
  CHECK(errors.front().text.find("llama") != std::string::npos);
  for (const char* path : {"model.mlp", "model.norm", "model.qkv_bias", "model.mlp_bias", "model.position"}) CHECK(has_path(errors, path));
  for (const char* path : {"model.hidden_size", "model.num_layers", "model.vocab_size"}) CHECK_FALSE(has_path(errors, path));
  const ConfigHints stated{"", {{"model.mlp", "swiglu"}, {"model.norm", "rmsnorm"}, {"model.qkv_bias", "false"}, {"model.mlp_bias", "false"}, {"model.position", "rope"}, {"model.tie_word_embeddings", "false"}}};
  const ImportedModel m = imported(config, stated);
  CHECK(m.presets == std::vector<std::string>{"llama-3-8b"});
  CHECK(notes_of(m).find("\"lama\" is not known") != std::string::npos);
  CHECK(without_name(imported(config, {"llama", {}}).model) == without_name(m.model));
  CHECK(has_path(refused(dump_json(config), {"llama", {{"model.hiden_size", "1"}}}), "model.hiden_size"));
  CHECK(has_path(refused(dump_json(config), {"llama", {{"training.loss", "fused"}}}), "training.loss"));
}

TEST_CASE("keys that are not understood are said", "[hf]") {
  const ImportedModel m = imported(with(with(with(llama(), "moe_gating", 4), "moe_other", nullptr), "favourite_colour", "red"));
  REQUIRE(m.notes.size() == 2);
  CHECK(m.notes[0].severity == Severity::warning);
  CHECK(m.notes[0].path == "moe_gating");
  CHECK(m.notes[1].severity == Severity::info);
  CHECK(m.notes[1].text.find("favourite_colour") != std::string::npos);
  CHECK(m.notes[1].text.find("moe_other") != std::string::npos);
  CHECK(imported(llama()).notes.empty());
  Json many = llama();
  for (int i = 0; i < 3000; ++i) many["moe_key_" + std::to_string(i)] = i + 1;
  const ImportedModel crowded = imported(many);
  CHECK(crowded.notes.size() < 30);
  CHECK(notes_of(crowded).find("2,980 more keys") != std::string::npos);
}

TEST_CASE("wrong values name the key of the file", "[hf]") {
  CHECK(has_path(refused(dump_json(with(llama(), "hidden_size", "4096"))), "hidden_size"));
  CHECK(has_path(refused(dump_json(with(llama(), "num_hidden_layers", 0))), "num_hidden_layers"));
  CHECK(has_path(refused(dump_json(with(llama(), "hidden_act", 7))), "hidden_act"));
  CHECK(has_path(refused(dump_json(with(llama(), "attention_bias", "yes"))), "attention_bias"));
  CHECK(has_path(refused(dump_json(with(llama(), "hidden_size", 1e300))), "hidden_size"));
  CHECK(has_path(refused(dump_json(with(llama(), "num_key_value_heads", 5))), "num_key_value_heads"));
  CHECK(has_path(refused(dump_json(with(llama(), "num_attention_heads", 33))), "model.head_dim"));
  CHECK(has_path(refused(dump_json(with(Json{{"model_type", "qwen3_moe"}}, "mlp_only_layers", 3))), "mlp_only_layers"));
  CHECK(refused(R"({"model_type": 3})").front().path == "model_type");
  CHECK(refused("[1]").front().text.find("object") != std::string::npos);
  CHECK_FALSE(refused("{\"model_type\": \"llama\"").empty());
  // One error for one key.
  const Errors errors = refused(dump_json(with(llama(), "hidden_size", "4096")));
  CHECK(std::count_if(errors.begin(), errors.end(), [](const Error& e) { return e.path == "hidden_size"; }) == 1);
}

TEST_CASE("what is no decoder transformer is refused by what it is", "[hf]") {
  const auto says = [](const char* text, const char* part) { CHECK(refused(text).front().text.find(part) != std::string::npos); };
  says(R"({"model_type": "bert"})", "encoder");
  says(R"({"model_type": "mamba"})", "state space");
  says(R"({"model_type": "llama", "is_encoder_decoder": true})", "encoder with a decoder");
  says(R"({"peft_type": "LORA", "model_type": null})", "adapter");
  says(R"({"tokenizer_class": "X"})", "tokenizer");
  says(R"({"_class_name": "UNet"})", "diffusers");
  says(R"({"weight_map": {}})", "--weights");
  says(R"({"dim": 4096, "n_layers": 32})", "params.json");
  says("{}", "model_type");
}

TEST_CASE("windows by layer_types", "[hf]") {
  const auto model = [](const std::vector<std::string>& types) { return imported({{"model_type", "gpt_oss"}, {"num_hidden_layers", types.size()}, {"layer_types", types}}); };
  const std::string s = "sliding_attention", f = "full_attention";
  CHECK(model({s, s, f, s, s, f}).model.sliding_window_global_every == 3);
  CHECK(model({f, f, f, f}).model.sliding_window == 0);
  CHECK(model({s, s, s, s}).model.sliding_window == 128);
  CHECK(model({s, s, s, s}).model.sliding_window_global_every == 0);
  CHECK(notes_of(model({s, f, s, f})).find("evenly") == std::string::npos);
  const ImportedModel odd = model({f, s, s, f, s, s});  // as often, elsewhere
  CHECK(odd.model.sliding_window_global_every == 3);
  CHECK(notes_of(odd).find("do not follow evenly") != std::string::npos);
  CHECK(imported({{"model_type", "exaone4"}, {"sliding_window_pattern", "LLG"}}).model.sliding_window_global_every == 3);
}

TEST_CASE("experts: where they begin, and where there are none", "[hf]") {
  const Json qwen{{"model_type", "qwen3_moe"}};
  CHECK(imported(with(qwen, "mlp_only_layers", Json::array({0, 1}))).model.moe->first_dense_layers == 2);
  const ImportedModel odd = imported(with(qwen, "mlp_only_layers", Json::array({3})));
  CHECK(odd.model.moe->first_dense_layers == 1);
  CHECK(notes_of(odd).find("not the first layers") != std::string::npos);
  CHECK(imported(with(qwen, "decoder_sparse_step", 2)).model.moe->every == 2);
  CHECK_FALSE(imported(with(with(Json{{"model_type", "deepseek_v2"}}, "n_routed_experts", nullptr), "num_experts_per_tok", 1)).model.moe);
}

TEST_CASE("what cannot be stated is a note", "[hf]") {
  CHECK(notes_of(imported({{"model_type", "stablelm"}, {"qk_layernorm", true}})).find("not counted") != std::string::npos);
  CHECK(notes_of(imported({{"model_type", "stablelm"}, {"qk_layernorm", false}})).find("not counted") == std::string::npos);
  CHECK(notes_of(imported({{"model_type", "stablelm"}, {"hidden_size", 1280}})).find("those of the class: num_hidden_layers = 32, num_attention_heads = 32, intermediate_size = 6912, vocab_size = 50304") != std::string::npos);
  CHECK(notes_of(imported(with(llama(), "hidden_act", "xielu"))).find("\"xielu\" is taken as") != std::string::npos);
  const ImportedModel stored = imported(with(with(llama(), "torch_dtype", "torch.bfloat16"), "quantization_config", Json{{"quant_method", "fp8"}}));
  CHECK(stored.stored_dtype == "bfloat16");
  CHECK(stored.is_quantised);
  CHECK(notes_of(stored).find("(fp8)") != std::string::npos);
}

TEST_CASE("names, and the preset that is nearest", "[hf]") {
  CHECK(imported(with(llama(), "_name_or_path", "meta-llama/Meta-Llama-3-8B/")).model.name == "Meta-Llama-3-8B");
  CHECK(imported(with(llama(), "_name_or_path", "a b")).model.name == "Llama 8.030 B");
  CHECK(imported(with(llama(), "_name_or_path", std::string(5000, 'x'))).model.name == "Llama 8.030 B");
  const ImportedModel near = imported(with(llama(), "vocab_size", 128320));
  CHECK(near.presets.empty());
  REQUIRE(near.nearest);
  CHECK(near.nearest->id == "llama-3-8b");
  REQUIRE(near.nearest->differences.size() == 1);
  CHECK(near.nearest->differences[0].path == "model.vocab_size");
  CHECK_FALSE(imported(with(llama(), "hidden_size", 320)).nearest);
}

TEST_CASE("architectures of one's own, sound or not", "[hf]") {
  Presets presets;
  presets.add("architectures", "mine", R"({"name": "Mine", "source": "own", "like": "llama", "defaults": {"vocab_size": 7}})");
  const Result<ImportedModel> mine = import_config(R"({"model_type": "mine"})", presets);
  REQUIRE(mine);
  CHECK(mine.value().model.vocab_size == 7);
  for (const char* bad : {R"({"name": "a", "source": "b", "like": "bad"})", R"({"name": "a", "source": "b", "like": "nowhere"})", R"({"name": "a"})", "[]", "{", R"({"name": "a", "source": "b", "modle": {}})"}) {
    INFO(bad);
    presets.add("architectures", "bad", bad);
    CHECK_FALSE(import_config(R"({"model_type": "bad"})", presets));
  }
}

TEST_CASE("a configuration is told from other texts", "[hf]") {
  CHECK(looks_like_config(dump_json(llama())));
  CHECK_FALSE(looks_like_config(R"({"schema": "wireplan.plan/1", "model": {"num_hidden_layers": 1}})"));
  CHECK_FALSE(looks_like_config("model_type"));
  CHECK_FALSE(looks_like_config(""));
}
