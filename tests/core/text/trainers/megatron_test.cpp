// Megatron-LM's arguments: real scripts in, golden files out, there and back over many plans.
#include <catch2/catch_test_macros.hpp>

#include "core/count/parameters.hpp"
#include "core/text/read_model.hpp"
#include "core/text/trainers/megatron_arguments.hpp"
#include "core/text/trainers/trainer.hpp"
#include "tests/support/files.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

ImportedTrainer imported(const std::string& text, std::optional<Trainer> trainer = std::nullopt) {
  Result<ImportedTrainer> read = import_trainer(text, trainer);
  if (!read) {
    std::string all;
    for (const Error& e : read.errors()) all += e.path + ": " + e.text + "\n";
    FAIL(all);
  }
  CHECK(read.value().trainer == Trainer::megatron);
  return std::move(read.value());
}

ImportedTrainer sample(const std::string& name) { return imported(file_text("tests/data/trainers/megatron/" + name)); }

std::string at(const ImportedTrainer& i, std::string_view path) {
  const Json* here = &i.plan;
  for (std::string_view rest = path; here != nullptr && !rest.empty();) {
    const std::size_t point = std::min(rest.find('.'), rest.size());
    const auto found = here->is_object() ? here->find(std::string(rest.substr(0, point))) : here->end();
    here = here->is_object() && found != here->end() ? &*found : nullptr;
    rest.remove_prefix(std::min(point + 1, rest.size()));
  }
  return here == nullptr ? "-" : dump_json_compact(*here).substr(0, dump_json_compact(*here).find('\n'));
}

std::string from(const ImportedTrainer& i, std::string_view path) {
  for (const ReadField& f : i.fields)
    if (f.path == path) return f.from;
  return "-";
}

const UnreadKey* unread(const ImportedTrainer& i, std::string_view key) {
  for (const UnreadKey& u : i.unread)
    if (u.key == key) return &u;
  return nullptr;
}

Errors errors_of(const std::string& text) {
  const Result<ImportedTrainer> read = import_trainer(text, Trainer::megatron);
  return read ? Errors{} : read.errors();
}

// The imported parts on a node as a plan.
Plan completed_plan(const ImportedTrainer& parts, const std::string& node, int nodes, int gpus = 8) {
  Json onto{{"model", "gpt2"}, {"cluster", Json{{"nodes", nodes}, {"node", node}, {"gpus_per_node", gpus}, {"network", "infiniband-8x400"}}}};
  Result<Plan> plan = read_plan(completed(parts, onto), presets());
  if (!plan) {
    std::string all;
    for (const Error& e : plan.errors()) all += e.path + ": " + e.text + "\n";
    FAIL(all);
  }
  return plan.value();
}

constexpr const char* kSmall = "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 2 --vocab-size 1000 --bf16 ";

}  // namespace

TEST_CASE("Llama 3 8B in fp8, NVIDIA's script", "[megatron]") {
  const ImportedTrainer i = sample("llama3_8b_h100_fp8.sh");
  CHECK(at(i, "model.num_layers") == "32");
  CHECK(at(i, "model.num_key_value_heads") == "8");
  CHECK(at(i, "model.intermediate_size") == "14336");
  CHECK(at(i, "model.mlp") == "\"swiglu\"");
  CHECK(at(i, "model.norm") == "\"layernorm1p\"");  // the script asks for LayerNorm, unlike the model
  CHECK(at(i, "model.mlp_bias") == "false");
  CHECK(at(i, "model.tie_word_embeddings") == "false");
  CHECK(at(i, "model.vocab_size") == "128257");  // and one more token than it: NullTokenizer's own
  CHECK(at(i, "training.parameter_dtype") == "\"fp8\"");
  CHECK(at(i, "training.gradient_dtype") == "\"bf16\"");
  CHECK(at(i, "training.master_weights_dtype") == "\"fp32\"");
  CHECK(at(i, "training.loss") == "\"fused\"");
  CHECK(at(i, "training.details.attention_kernel") == "\"cudnn\"");
  CHECK(at(i, "training.details.gradient_clipping") == "true");
  CHECK(at(i, "training.hidden_dropout") == "0");
  CHECK(at(i, "parallel.data_sharding") == "\"zero1\"");
  CHECK(at(i, "parallel.overlap.gradient_reduce") == "true");
  CHECK(at(i, "parallel.overlap.parameter_gather") == "true");
  CHECK(at(i, "parallel.sequence_parallel") == "false");  // without tensor parallelism there is none
  CHECK(at(i, "parallel.pipeline") == "1");
  CHECK(from(i, "parallel.pipeline").find("default of Megatron-LM") == 0);
  CHECK(from(i, "parallel.tensor") == "tensor_model_parallel_size");
  CHECK(at(i, "cluster.nodes") == "1");
  CHECK(at(i, "cluster.gpus_per_node") == "8");
  CHECK(at(i, "parallel.data") == "8");
  CHECK(i.missing == std::vector<std::string>{"cluster.node"});
  REQUIRE(unread(i, "fp8_param_gather") != nullptr);
  CHECK(unread(i, "fp8_param_gather")->effect == KeyEffect::changes);
  REQUIRE(unread(i, "decoupled_lr") != nullptr);
  CHECK(unread(i, "decoupled_lr")->effect == KeyEffect::none);
  const Plan plan = completed_plan(i, "hgx-h100-80gb", 1);
  CHECK(plan.training.global_batch_size == 128);
  CHECK(micro_batches(plan) == 16);
}

TEST_CASE("GPT-3 175B, NVIDIA's script", "[megatron]") {
  const ImportedTrainer i = sample("gpt3_175b.sh");
  CHECK(at(i, "model.intermediate_size") == "49152");  // 4 · h
  CHECK(at(i, "model.mlp") == "\"gelu\"");
  CHECK(at(i, "model.position") == "\"learned\"");
  CHECK(at(i, "model.qkv_bias") == "true");
  CHECK(at(i, "model.tie_word_embeddings") == "true");
  CHECK(at(i, "training.parameter_dtype") == "\"fp16\"");
  CHECK(at(i, "training.gradient_dtype") == "\"fp16\"");
  CHECK(at(i, "training.hidden_dropout") == "0.1");  // Megatron-LM's default
  CHECK(at(i, "parallel.data_sharding") == "\"ddp\"");
  CHECK(at(i, "parallel.tensor") == "8");
  CHECK(at(i, "parallel.pipeline") == "16");
  CHECK(at(i, "parallel.pipeline_schedule") == "\"1f1b\"");
  // The script's one node is a placeholder.
  CHECK(at(i, "cluster") == "-");
  bool says = false;
  for (const Note& n : i.notes) says = says || (n.path == "cluster" && n.text.find("128") != std::string::npos);
  CHECK(says);
  CHECK(i.missing == std::vector<std::string>{"model.vocab_size", "cluster"});
  REQUIRE(unread(i, "rampup_batch_size") != nullptr);
  CHECK(unread(i, "rampup_batch_size")->effect == KeyEffect::changes);
  ImportedTrainer whole = i;
  whole.plan["model"]["vocab_size"] = 50257;
  const Plan plan = completed_plan(whole, "dgx-a100-80gb", 16);
  CHECK(plan.parallel.data == 1);
  // The preset of the same model has a vocabulary of 51,200.
  CHECK(count_parameters(plan.model).total == count_parameters(presets().model("megatron-gpt-175b").value()).total - (51200 - 50257) * 12288.0);
}

TEST_CASE("a mixture of experts, NVIDIA's script", "[megatron]") {
  const ImportedTrainer i = sample("tiny_mixtral.sh");
  CHECK(at(i, "model.moe.num_experts") == "2");
  CHECK(at(i, "model.moe.experts_per_token") == "2");
  CHECK(at(i, "model.moe.intermediate_size") == "896");
  CHECK(at(i, "model.moe.expert_bias") == "-");
  CHECK(at(i, "model.norm") == "\"rmsnorm\"");
  CHECK(at(i, "model.position") == "\"rope\"");
  CHECK(at(i, "model.vocab_size") == "32000");
  CHECK(at(i, "training.parameter_dtype") == "\"fp32\"");  // --bf16 is commented out
  CHECK(at(i, "training.master_weights_dtype") == "null");
  CHECK(at(i, "parallel.expert") == "2");
  CHECK(at(i, "parallel.expert_tensor") == "1");
  CHECK(at(i, "parallel.moe_dispatcher") == "\"alltoall\"");
  CHECK(at(i, "cluster.gpus_per_node") == "2");
  CHECK(unread(i, "wandb_project") == nullptr);
  CHECK(completed_plan(i, "dgx-a100-80gb", 1, 2).parallel.data == 2);
}

TEST_CASE("YAML of Megatron-LM's functional tests", "[megatron]") {
  const ImportedTrainer i = sample("moe_functional_test.yaml");
  CHECK(at(i, "parallel.tensor") == "4");
  CHECK(at(i, "parallel.expert_tensor") == "2");
  CHECK(at(i, "parallel.sequence_parallel") == "true");
  CHECK(at(i, "model.moe.intermediate_size") == "1024");
  CHECK(at(i, "model.moe.shared_intermediate_size") == "512");
  CHECK(at(i, "model.moe.num_shared_experts") == "1");
  CHECK(at(i, "model.mlp") == "\"gelu\"");
  CHECK(at(i, "training.global_batch_size") == "32");
  CHECK(unread(i, "deterministic_mode") != nullptr);
}

TEST_CASE("what the program prints of its arguments", "[megatron]") {
  const ImportedTrainer i = sample("printed_345m.txt");
  CHECK(at(i, "model.num_layers") == "24");
  CHECK(at(i, "model.position") == "\"learned\"");
  CHECK(at(i, "training.parameter_dtype") == "\"fp16\"");
  CHECK(at(i, "training.attention") == "\"eager\"");
  CHECK(at(i, "training.implementation") == "\"megatron-local\"");
  CHECK(at(i, "parallel.data") == "1");
  CHECK(at(i, "parallel.data_sharding") == "\"ddp\"");
  CHECK(i.unread.empty());
  const Plan plan = completed_plan(i, "dgx-a100-80gb", 1, 1);
  // The log's own count, with the padding of the vocabulary: 354,871,296.
  CHECK(count_parameters(plan.model).total + static_cast<double>(padded_vocabulary(plan.model, Framework::megatron, 1) - plan.model.vocab_size) * 1024 == 354871296);
  SECTION("behind a launcher's prefix") {
    CHECK(at(imported("0: [default0]:  tensor_model_parallel_size ...................... 8\n0:   num_layers ........ 24\n0:   hidden_size .... 8\n0:  num_attention_heads .. 4\n"), "parallel.tensor") == "8");
  }
}

TEST_CASE("defaults of Megatron-LM where an argument is left out", "[megatron]") {
  const ImportedTrainer i = imported(kSmall);
  CHECK(at(i, "parallel.data_sharding") == "\"ddp\"");
  CHECK(at(i, "training.gradient_dtype") == "\"fp32\"");
  CHECK(at(i, "parallel.overlap.gradient_reduce") == "false");
  CHECK(at(i, "training.recompute") == "\"none\"");
  CHECK(at(i, "training.optimizer") == "\"adamw\"");
  CHECK(at(i, "model.norm") == "\"layernorm\"");
  CHECK(at(i, "model.num_key_value_heads") == "8");
  CHECK(i.open.rank_batch == 2);  // global batch = micro batch × data
  CHECK(completed_plan(i, "dgx-a100-80gb", 1).training.global_batch_size == 16);
  // Experts are cut as other layers are, unless it is said otherwise.
  CHECK(at(imported(std::string(kSmall) + "--num-experts 4 --tensor-model-parallel-size 2"), "parallel.expert_tensor") == "2");
  CHECK(at(imported(std::string(kSmall) + "--num-experts 4"), "parallel.moe_dispatcher") == "\"allgather\"");
  CHECK(at(imported(std::string(kSmall) + "--swiglu"), "model.intermediate_size") == "1344");  // 64 · ⌊4 · 512 · 2/3 / 64⌋
}

TEST_CASE("single arguments", "[megatron]") {
  const auto with = [](const std::string& more) { return imported(kSmall + more); };
  CHECK(at(with("--recompute-activations"), "training.recompute") == "\"selective\"");
  CHECK(at(with("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"), "training.recompute") == "\"full\"");
  CHECK(at(with("--recompute-granularity full --recompute-method uniform --recompute-num-layers 4"), "training.recompute") == "{\"every\":4}");
  CHECK(at(with("--recompute-granularity full --recompute-method block --recompute-num-layers 3"), "training.recompute") == "{\"full_layers\":3}");
  CHECK(at(with("--recompute-granularity selective --recompute-modules core_attn"), "training.recompute") == "\"selective\"");
  CHECK(at(with("--recompute-granularity selective --recompute-modules moe_act layernorm"), "training.recompute") == "\"none\"");
  CHECK(unread(with("--recompute-granularity selective --recompute-modules core_attn mlp"), "recompute_modules") != nullptr);
  CHECK(at(with("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2"), "parallel.virtual_stages") == "2");
  CHECK(at(with("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2"), "parallel.overlap.pipeline") == "true");
  CHECK(at(with("--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 --no-overlap-p2p-communication"), "parallel.overlap.pipeline") == "false");
  CHECK(at(with("--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 4"), "parallel.pipeline_schedule") == "\"1f1b\"");
  CHECK(at(with("--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params"), "parallel.data_sharding") == "\"fsdp\"");
  CHECK(at(with("--use-torch-fsdp2"), "parallel.data_sharding") == "\"fsdp\"");
  CHECK(at(with("--fp8-format e4m3 --fp8-recipe mxfp8"), "training.parameter_dtype") == "\"mxfp8\"");
  CHECK(at(with("--fp4-format e2m1"), "training.parameter_dtype") == "\"nvfp4\"");
  CHECK(at(with("--use-distributed-optimizer --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"), "training.optimizer_state_dtype") == "\"bf16\"");
  CHECK(unread(with("--use-precision-aware-optimizer --exp-avg-dtype fp8 --exp-avg-sq-dtype fp8"), "exp_avg_dtype") != nullptr);
  CHECK(at(with("--optimizer sgd --sgd-momentum 0.0"), "training.optimizer") == "\"sgd\"");
  CHECK(at(with("--optimizer-cpu-offload"), "training.offload.optimizer") == "true");
  CHECK(at(with("--cuda-graph-impl transformer_engine"), "training.cuda_graphs") == "true");
  CHECK(at(with("--attention-backend unfused"), "training.attention") == "\"eager\"");
  CHECK(at(with("--ckpt-format torch"), "training.checkpoint") == "\"full\"");
  CHECK(at(with("--use-tp-pp-dp-mapping"), "parallel.order") == "\"tp-cp-ep-pp-dp\"");
  CHECK(at(with("--tensor-model-parallel-size=4"), "parallel.tensor") == "4");
  CHECK(at(with("--tensor-model-parallel-size 2 --tensor-model-parallel-size 4"), "parallel.tensor") == "4");  // the last counts
  CHECK(at(with("--num-experts 4 --moe-layer-freq \"([0]*2+[1]*6)\""), "model.moe.first_dense_layers") == "2");
  CHECK(at(with("--num-experts 4 --moe-layer-freq \"([0]*1+[1]*1)*4\""), "model.moe.every") == "2");
  CHECK(unread(with("--num-experts 4 --moe-layer-freq \"[1,0,1,1,0,1,1,1]\""), "moe_layer_freq") != nullptr);
  CHECK(at(with("--window-size \"(4096,0)\""), "model.sliding_window") == "4096");
  CHECK(at(with("--multi-latent-attention --kv-lora-rank 64 --qk-head-dim 16 --qk-pos-emb-head-dim 8 --v-head-dim 16"), "model.head_dim") == "24");
  CHECK(with("--use-distributed-optimizer --num-distributed-optimizer-instances 2").open.replicas == 2);
  REQUIRE(unread(with("--frobnicate 3"), "frobnicate") != nullptr);
  CHECK(unread(with("--frobnicate 3"), "frobnicate")->effect == KeyEffect::unknown);
}

TEST_CASE("values from outside are missing, not defaults", "[megatron]") {
  const ImportedTrainer i = imported(std::string("torchrun pretrain_gpt.py ") + kSmall + "--tensor-model-parallel-size $TP --sequence-parallel");
  CHECK(at(i, "parallel.tensor") == "-");
  CHECK(i.missing == std::vector<std::string>{"parallel.tensor", "cluster"});
  REQUIRE(unread(i, "tensor_model_parallel_size") != nullptr);
  CHECK(at(i, "parallel.sequence_parallel") == "true");
}

TEST_CASE("wrong values are errors with path, value and limit", "[megatron]") {
  for (const char* more : {"--tensor-model-parallel-size zero", "--micro-batch-size -3", "--hidden-dropout 7", "--normalization BatchNorm", "--recompute-granularity full", "--recompute-granularity half", "--fp16", "--num-experts 4 --moe-token-dispatcher-type pigeon",
                           "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 3", "--num-experts 2 --moe-layer-freq 0", "--tensor-model-parallel-size 99999999999"}) {
    INFO(more);
    const Errors errors = errors_of(std::string(kSmall) + more);
    REQUIRE(errors.size() >= 1);
    CHECK_FALSE(errors[0].path.empty());
    CHECK_FALSE(errors[0].limit.empty());
    CHECK_FALSE(errors[0].text.empty());
  }
  CHECK(errors_of("nothing of the kind").size() == 1);
}

TEST_CASE("patterns of layers", "[megatron]") {
  CHECK(layer_pattern("[0]*3+[1]*5") == std::vector<int>{0, 0, 0, 1, 1, 1, 1, 1});
  CHECK(layer_pattern("([1]*2 + [0])*2") == std::vector<int>{1, 1, 0, 1, 1, 0});
  CHECK(layer_pattern("[1,0]") == std::vector<int>{1, 0});
  for (const char* bad : {"", "[", "[0]*", "[0]*9999999", "([0]*999)*999", "[0]+", "x", "[0]]", "(((((((((((((((((((([0]))))))))))))))))))))"}) CHECK(layer_pattern(bad).empty());
}

namespace {

const struct { const char *scenario, *name; } kGolden[] = {{"llama-3-70b-megatron", "llama-3-70b"}, {"mixtral-8x7b-experts", "mixtral-8x7b"}, {"deepseek-v3-2048", "deepseek-v3"}};

}  // namespace

TEST_CASE("golden files of Megatron-LM", "[megatron]") {
  for (const auto& golden : kGolden) {
    INFO(golden.name);
    const Result<Export> exported = export_plan(scenario(golden.scenario), Trainer::megatron);
    REQUIRE(exported);
    CHECK(exported.value().files.front().text == file_text("tests/data/trainers/megatron/" + std::string(golden.name) + ".golden.sh"));
  }
}

TEST_CASE("out and back: the model is the same, every other difference is listed", "[megatron]") {
  Random r(11);
  int seen = 0;
  for (int i = 0; i < 4000 && seen < 250; ++i) {
    const Json document = random_document(r);
    if (document.at("parallel").at("framework") != "megatron") continue;
    const std::optional<Plan> plan = read_if_valid(document);
    if (!plan || plan->model.opaque) continue;
    ++seen;
    INFO(dump_json(document));
    const Result<Export> exported = export_plan(*plan, Trainer::megatron);
    REQUIRE(exported);
    for (const Note& n : exported.value().notes) CHECK(n.severity != Severity::error);
    const ImportedTrainer back = imported(exported.value().files.front().text);
    CHECK(back.missing == std::vector<std::string>{"cluster"});
    ReadLog log;
    Reader reader(log, back.plan.at("model"), "model");
    Model model = read_model(reader, false), expected = plan->model;
    bool model_differs = false;
    for (const Inexpressible& x : exported.value().inexpressible) {
      model_differs = model_differs || x.path.starts_with("model.");
      CHECK_FALSE(x.text.empty());
    }
    if (!model_differs) {
      expected.id = expected.name = "";
      model.max_position_embeddings = expected.max_position_embeddings;  // raised to the sequence
      if (!expected.moe || expected.moe->first_dense_layers == 0) model.intermediate_size = expected.intermediate_size;
      CHECK(count_parameters(model).total == count_parameters(expected).total);
      if (model.moe && expected.moe) model.moe->num_shared_experts = expected.moe->num_shared_experts;
      if (!expected.mla) CHECK(write_model(model) == write_model(expected));
    }
    const auto difference = round_trip(*plan, Trainer::megatron, presets());
    if (!difference) continue;  // what is left does not make a plan, e.g. another schedule
    for (const RoundTripDifference& d : difference.value()) {
      bool listed = false;
      for (const Inexpressible& x : exported.value().inexpressible)  // another code base brings kernels of its own
        listed = listed || x.path == d.path || (d.path == "training.kernels" && x.path == "training.implementation");
      INFO(d.path);
      CHECK(listed);
    }
  }
  CHECK(seen == 250);
}

TEST_CASE("plans Megatron-LM has everything for come back whole", "[megatron]") {
  for (const char* id : {"llama-3-70b-megatron", "mixtral-8x7b-experts"}) {
    const Plan plan = scenario(id);
    const Result<Export> exported = export_plan(plan, Trainer::megatron);
    REQUIRE(exported);
    for (const Inexpressible& x : exported.value().inexpressible) CHECK(x.path + " " + x.text == "");
    const auto difference = round_trip(plan, Trainer::megatron, presets());
    REQUIRE(difference);
    for (const RoundTripDifference& d : difference.value()) CHECK(d.path + " " + dump_json_compact(d.before) + " " + dump_json_compact(d.after) == "");
  }
}

TEST_CASE("what Megatron-LM cannot say is listed", "[megatron]") {
  const auto listed = [](std::initializer_list<std::pair<const char*, const char*>> edits) {
    const Result<Export> exported = export_plan(scenario("llama-3-70b-megatron", edits), Trainer::megatron);
    REQUIRE(exported);
    std::string paths;
    for (const Inexpressible& x : exported.value().inexpressible) paths += x.path + ";";
    return paths;
  };
  CHECK(listed({{"parallel.pipeline_schedule", "zb-h1"}, {"parallel.virtual_stages", "1"}}).find("parallel.pipeline_schedule;") != std::string::npos);
  CHECK(listed({{"training.optimizer", "lion"}}).find("training.optimizer;") != std::string::npos);
  CHECK(listed({{"training.master_weights_dtype", "null"}}).find("training.master_weights_dtype;") != std::string::npos);
  CHECK(listed({{"training.optimizer_state_dtype", "int8"}}).find("training.optimizer_state_dtype;") != std::string::npos);
  CHECK(listed({{"training.loss", "chunked"}}).find("training.loss;") != std::string::npos);
  CHECK(listed({{"training.offload.parameters", "true"}}).find("training.offload.parameters;") != std::string::npos);
  CHECK(listed({{"model", "bloom-560m"}, {"parallel.pipeline_schedule", "1f1b"}, {"parallel.virtual_stages", "1"}, {"training.sequence_length", "2048"}}).find("model.position;") != std::string::npos);
  CHECK_FALSE(export_plan(scenario("story"), Trainer::megatron));
}

TEST_CASE("what changed is told in the trainer's lines", "[megatron]") {
  const Plan before = scenario("llama-3-70b-megatron"), after = scenario("llama-3-70b-megatron", {{"training.recompute", "full"}});
  CHECK(changed_lines(before, after, Trainer::megatron) ==
        std::vector<std::string>{"--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"});
}
