#include "core/text/trainers/trainer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fstream>
#include <sstream>
#include <string>

#include "core/answer/estimate.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/trainers/difference.hpp"
#include "core/text/trainers/torchtitan_models.hpp"
#include "core/text/trainers/trainer_request.hpp"
#include "core/text/trainers/trainers.hpp"

using namespace wireplan;

namespace {

constexpr Trainer kOwn[] = {Trainer::torchtitan, Trainer::deepspeed, Trainer::accelerate, Trainer::training_arguments};

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ImportedTrainer imported(const std::string& name, std::optional<Trainer> trainer = std::nullopt) {
  const std::string text = file_text("tests/data/trainers/import/" + name);
  REQUIRE(!text.empty());
  Result<ImportedTrainer> found = import_trainer(text, trainer);
  REQUIRE(found);
  return found.value();
}

std::string at(const ImportedTrainer& i, std::string_view path) {
  const Json* value = member_at(i.plan, path);
  return value == nullptr ? "nothing" : dump_json_compact(*value);
}

std::string effect_of(const ImportedTrainer& i, std::string_view key) {
  for (const UnreadKey& u : i.unread)
    if (u.key == key) return std::string(name_of(u.effect));
  return "read";
}

Plan plan_of(const std::string& document) {
  static const Presets presets;
  Result<Plan> plan = read_plan_text(document, presets);
  if (!plan) UNSCOPED_INFO(document << "\n" << plan.errors().front().text);
  REQUIRE(plan);
  return plan.value();
}

Json document_of(const std::string& training, const std::string& parallel, int nodes, const std::string& model = "llama-3.1-8b") {
  const std::string text = R"({"model":")" + model + R"(","training":{)" + training + R"(},"parallel":{)" + parallel + R"(},"cluster":{"nodes":)" + std::to_string(nodes) +
                           R"(,"node":"hgx-h100-80gb","network":"infiniband-8x400"}})";
  Result<Json> json = parse_json(text);
  REQUIRE(json);
  return json.value();
}

// Plans of every framework, sharding, split, format and recomputation that a reader of plans takes.
std::vector<Plan> many_plans() {
  const Presets presets;
  const char* recipes[] = {
      R"("sequence_length":8192)",
      R"("gradient_dtype":"fp32","recompute":"selective","implementation":"torchtitan")",
      R"("gradient_dtype":"fp32","recompute":{"every":2},"kernels":"compiled")",
      R"("gradient_dtype":"bf16","master_weights_dtype":null,"optimizer_state_dtype":"bf16","recompute":"full")",
      R"("parameter_dtype":"fp32","gradient_dtype":"fp32","master_weights_dtype":null,"optimizer":"sgd-momentum")",
      R"("parameter_dtype":"fp16","gradient_dtype":"fp16","micro_batch_size":2,"offload":{"optimizer":true})",
      R"("parameter_dtype":"fp8","gradient_dtype":"fp32","kernels":"compiled","implementation":"torchtitan","load":"rank0","checkpoint":"full")",
      R"("optimizer":"adamw-8bit","loss":"chunked","details":{"optimizer_kernel":"foreach","gradient_clipping":false,"fsdp_version":1})",
      R"("optimizer":"adam","lora":{"rank":16,"targets":["q","v"]},"details":{"bucket_bytes":104857600})",
  };
  const char* layouts[] = {
      R"("data_sharding":"ddp")", R"("data_sharding":"zero1")", R"("data_sharding":"zero2")", R"("data_sharding":"fsdp")", R"("data_sharding":"hsdp","shard_group":8)",
      R"("data_sharding":"fsdp","tensor":4,"sequence_parallel":true)", R"("data_sharding":"fsdp","tensor":2,"context":2)", R"("data_sharding":"hsdp","shard_group":8,"context":2)",
      R"("data_sharding":"fsdp","pipeline":4)", R"("data_sharding":"zero2","pipeline":2,"pipeline_schedule":"interleaved","virtual_stages":2)",
      R"("data_sharding":"fsdp","pipeline":2,"pipeline_schedule":"zb-v","gradient_sync":"last")", R"("data_sharding":"ddp","gradient_sync":"every")", R"("data_sharding":"fsdp","order":"cp-tp-ep-dp-pp","fsdp_unit":"none")",
      R"("framework":"deepspeed","data_sharding":"ddp")", R"("framework":"deepspeed","data_sharding":"zero1")", R"("framework":"deepspeed","data_sharding":"zero2","overlap":{"gradient_reduce":true})",
      R"("framework":"deepspeed","data_sharding":"zero3")", R"("framework":"deepspeed","data_sharding":"zero3","tensor":2)",
      R"("framework":"deepspeed","deepspeed":{"zero_optimization":{"stage":3,"reduce_bucket_size":1000000,"overlap_comm":false,"zero_hpz_partition_size":8},"steps_per_print":5})",
      R"("framework":"megatron","data_sharding":"zero1","tensor":2)",
  };
  std::vector<Plan> plans;
  for (const char* recipe : recipes)
    for (const char* layout : layouts)
      for (const char* batch : {R"("global_batch_size":64,)", ""}) {
        const Result<Plan> plan = read_plan(document_of(std::string(batch) + recipe, layout, 2), presets);
        if (plan) plans.push_back(plan.value());
      }
  return plans;
}

const Constants& constants() {
  static const Constants found = Presets().constants().value();
  return found;
}

}  // namespace

TEST_CASE("trainers: every difference of the way out and back is listed, and without one nothing of the estimate changes") {
  const Presets presets;
  const std::vector<Plan> plans = many_plans();
  REQUIRE(plans.size() > 150);
  int same = 0, exported_plans = 0;
  for (const Trainer trainer : kOwn)
    for (const Plan& plan : plans) {
      const Result<Export> exported = export_plan(plan, trainer);
      if (!exported) {
        CHECK(exported.errors().front().text.find("Nearest: --to") != std::string::npos);
        continue;
      }
      ++exported_plans;
      INFO(name_of(trainer) << "\n" << dump_json(write_plan(plan)) << exported.value().files.front().text);
      for (const Note& n : exported.value().notes) {
        INFO(n.text);
        CHECK(n.severity != Severity::error);
      }
      const Result<ImportedTrainer> read = import_trainer(exported.value().files.front().text);  // found by its content
      REQUIRE(read);
      CHECK(read.value().trainer == trainer);
      for (const UnreadKey& u : read.value().unread) {
        INFO(u.key);
        CHECK(u.effect != KeyEffect::unknown);
      }
      Json onto = Json::object();
      for (const char* part : {"model", "cluster"}) onto[part] = write_plan(plan).at(part);
      const Result<Plan> back = read_plan(completed(read.value(), onto), presets);
      if (!back) {  // only where the trainer cannot run it
        INFO(back.errors().front().text);
        CHECK(!exported.value().inexpressible.empty());
        continue;
      }
      if (!exported.value().inexpressible.empty()) {
        for (const Inexpressible& i : exported.value().inexpressible) CHECK(!i.text.empty());
        continue;
      }
      ++same;
      const Estimate before = estimate(plan, constants()), after = estimate(back.value(), constants());
      CHECK(after.memory.device.value.value == before.memory.device.value.value);
      CHECK(after.step.time.value.value == before.step.time.value.value);
    }
  CHECK(exported_plans > 300);
  CHECK(same > 10);
}

TEST_CASE("trainers: what is listed is what changes") {
  const Presets presets;
  for (const Trainer trainer : kOwn)
    for (const Plan& plan : many_plans()) {
      const Result<Export> exported = export_plan(plan, trainer);
      if (!exported) continue;
      const auto back = round_trip(plan, trainer, presets);
      if (!back) continue;
      for (const Inexpressible& i : exported.value().inexpressible) {
        INFO(name_of(trainer) << ' ' << i.path << ' ' << i.value << ' ' << i.text);
        bool changes = false;
        for (const RoundTripDifference& d : back.value()) changes = changes || d.path == i.path;
        CHECK(changes);
      }
    }
}

TEST_CASE("trainers: files as they are written") {
  const Presets presets;
  const struct { Trainer trainer; const char *scenario, *file; } cases[] = {
      {Trainer::torchtitan, "llama-3-8b-fsdp", "torchtitan/llama-3-8b-fsdp.toml"},
      {Trainer::torchtitan, "llama-3-70b-megatron", "torchtitan/llama-3-70b-megatron.toml"},
      {Trainer::torchtitan, "story", "torchtitan/story.toml"},
      {Trainer::deepspeed, "codellama-34b-zero3", "deepspeed/codellama-34b-zero3.json"},
      {Trainer::accelerate, "llama-3-8b-fsdp", "accelerate/llama-3-8b-fsdp.yaml"},
      {Trainer::accelerate, "codellama-34b-zero3", "accelerate/codellama-34b-zero3.yaml"},
      {Trainer::accelerate, "story", "accelerate/story.yaml"},
      {Trainer::training_arguments, "llama-3-8b-fsdp", "training-arguments/llama-3-8b-fsdp.yaml"},
      {Trainer::training_arguments, "codellama-34b-zero3", "training-arguments/codellama-34b-zero3.yaml"},
      {Trainer::training_arguments, "story", "training-arguments/story.yaml"},
  };
  for (const auto& c : cases) {
    INFO(c.file);
    const Json request{{"plan", c.scenario}, {"trainer", name_of(c.trainer)}};
    const Result<Json> exported = answer_export(request, presets);
    REQUIRE(exported);
    CHECK(exported.value().at("files")[0].at("text").get<std::string>() == file_text(std::string("tests/data/trainers/golden/") + c.file));
  }
}

TEST_CASE("trainers: torchtitan's own configurations") {
  const ImportedTrainer small = imported("torchtitan_llama3_8b.toml");
  CHECK(small.trainer == Trainer::torchtitan);
  CHECK(at(small, "model") == "\"llama-3.1-8b\"");
  CHECK(at(small, "parallel.data_sharding") == "\"fsdp\"");
  CHECK(at(small, "parallel.data") == "nothing");  // -1: the ranks that are left
  CHECK(at(small, "training.sequence_length") == "8192");
  CHECK(at(small, "training.micro_batch_size") == "1");
  CHECK(at(small, "training.recompute") == "\"selective\"");
  CHECK(at(small, "training.parameter_dtype") == "\"bf16\"");
  CHECK(at(small, "training.gradient_dtype") == "\"fp32\"");
  CHECK(at(small, "training.kernels") == "\"eager\"");
  CHECK(small.open.rank_batch == 1);
  CHECK(effect_of(small, "optimizer.lr") == "none");
  CHECK(small.missing == std::vector<std::string>{"cluster"});

  const ImportedTrainer large = imported("torchtitan_llama3_405b.toml");
  CHECK(at(large, "parallel.tensor") == "8");
  CHECK(at(large, "parallel.sequence_parallel") == "true");
  CHECK(at(large, "parallel.overlap.tensor") == "true");
  CHECK(at(large, "training.parameter_dtype") == "\"fp8\"");
  CHECK(at(large, "training.kernels") == "\"compiled\"");
  CHECK(at(large, "training.micro_batch_size") == "2");
  CHECK(effect_of(large, "float8.filter_fqns") == "changes-memory-or-time");

  const ImportedTrainer experts = imported("torchtitan_deepseek_v3_671b.toml");
  CHECK(at(experts, "model") == "\"deepseek-v3\"");
  CHECK(at(experts, "parallel.pipeline_schedule") == "nothing");  // of one stage
  CHECK(effect_of(experts, "compile.components") == "changes-memory-or-time");
}

TEST_CASE("trainers: batch and degrees of torchtitan") {
  const auto read = [](const std::string& text) { return import_trainer("[job]\n" + text, Trainer::torchtitan); };
  // HSDP: 2 copies of shards over 4 × context 2; a step is micro × accumulation × data.
  const Result<ImportedTrainer> hybrid = read("[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 4\ncontext_parallel_degree = 2\n[training]\nlocal_batch_size = 3");
  REQUIRE(hybrid);
  CHECK(at(hybrid.value(), "parallel.data_sharding") == "\"hsdp\"");
  CHECK(at(hybrid.value(), "parallel.data") == "8");
  CHECK(at(hybrid.value(), "parallel.shard_group") == "8");
  CHECK(at(hybrid.value(), "training.global_batch_size") == "24");
  // In a pipeline the local batch is cut: 8 sequences in micro-batches of 2.
  const Result<ImportedTrainer> piped = read("[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 2\ndata_parallel_shard_degree = 4\n[training]\nlocal_batch_size = 8");
  REQUIRE(piped);
  CHECK(at(piped.value(), "training.micro_batch_size") == "2");
  CHECK(at(piped.value(), "training.global_batch_size") == "32");
  CHECK(at(piped.value(), "parallel.data_sharding") == "\"zero2\"");  // a pipeline keeps parameters gathered unless told
  CHECK(at(piped.value(), "parallel.gradient_sync") == "\"last\"");
  // Left over: 16 GPUs, tensor 2, 2 copies: shards over 4, 8 data-parallel ranks.
  const Result<ImportedTrainer> open = read("[parallelism]\ndata_parallel_replicate_degree = 2\ntensor_parallel_degree = 2\n[training]\nlocal_batch_size = 1");
  REQUIRE(open);
  Json onto = Json::object();
  onto["cluster"] = Json{{"nodes", 2}, {"node", "hgx-h100-80gb"}, {"gpus_per_node", 8}};
  const Json whole = completed(open.value(), onto);
  CHECK(whole["parallel"]["shard_group"] == 4);
  CHECK(whole["training"]["global_batch_size"] == 8);
  // Stages: 126 layers and the two ends in stages of 4 over 8 ranks make 4 a rank.
  const std::string stages = "[model]\nname = \"llama3\"\nflavor = \"405B\"\n[parallelism]\npipeline_parallel_degree = 8\npipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = ";
  const Result<ImportedTrainer> looped = read(stages + "4");
  REQUIRE(looped);
  CHECK(at(looped.value(), "parallel.virtual_stages") == "4");
  const Result<ImportedTrainer> uneven = read(stages + "5");
  REQUIRE(!uneven);
  CHECK(uneven.errors().front().path == "parallelism.pipeline_parallel_layers_per_stage");
  for (const TorchtitanModel& m : kTorchtitanModels) {
    INFO(m.preset);
    const Result<Model> model = Presets().model(m.preset);
    REQUIRE(model);
    CHECK(model.value().num_layers == m.layers);
  }
}

TEST_CASE("trainers: DeepSpeed's configurations") {
  const ImportedTrainer own = imported("deepspeed_stage3.json");
  CHECK(own.trainer == Trainer::deepspeed);
  CHECK(at(own, "parallel.data_sharding") == "\"zero3\"");
  CHECK(at(own, "training.parameter_dtype") == "\"fp16\"");
  CHECK(at(own, "training.master_weights_dtype") == "\"fp32\"");
  CHECK(own.open.rank_batch == 8);
  // Sizes that are DeepSpeed's defaults are left out.
  CHECK(at(own, "parallel.deepspeed") == R"({"zero_optimization":{"reduce_bucket_size":67108860,"stage3_prefetch_bucket_size":60397980}})");
  // The file's misspelt key is not read, and the right one named.
  bool names_it = false;
  for (const UnreadKey& u : own.unread) names_it = names_it || (u.key == "zero_optimization.stage3_param_persitence_threshold" && u.text.find("stage3_param_persistence_threshold") != std::string::npos);
  CHECK(names_it);

  const auto read = [](const std::string& text) { return import_trainer(text, Trainer::deepspeed); };
  const Result<ImportedTrainer> batch = read(R"({"train_batch_size": 96, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})");
  REQUIRE(batch);
  CHECK(at(batch.value(), "parallel.data") == "12");
  CHECK(at(batch.value(), "training.parameter_dtype") == "\"fp32\"");
  CHECK(at(batch.value(), "training.master_weights_dtype") == "null");
  const Result<ImportedTrainer> odd = read(R"({"train_batch_size": 97, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})");
  REQUIRE(!odd);
  CHECK(odd.errors().front().path == "train_batch_size");
  const Result<ImportedTrainer> automatic = read(R"({"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})");
  REQUIRE(automatic);
  CHECK(at(automatic.value(), "training.parameter_dtype") == "nothing");
  CHECK(effect_of(automatic.value(), "train_micro_batch_size_per_gpu") == "changes-memory-or-time");
  CHECK(at(automatic.value(), "parallel.deepspeed") == R"({"zero_optimization":{"reduce_bucket_size":"auto"}})");
  for (const char* bad : {R"({"zero_optimization": {"stage": 4}})", R"({"zero_optimization": {"offload_optimizer": {"device": "tape"}}})", R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})",
                          R"({"train_batch_size": 0.5})", R"({"zero_optimization": {"reduce_bucket_size": -1}})"}) {
    INFO(bad);
    const Result<ImportedTrainer> wrong = read(bad);
    REQUIRE(!wrong);
    CHECK(!wrong.errors().front().path.empty());
    CHECK(!wrong.errors().front().limit.empty());
  }
}

TEST_CASE("trainers: Accelerate's configurations") {
  const ImportedTrainer first = imported("accelerate_fsdp.yaml");
  CHECK(first.trainer == Trainer::accelerate);
  CHECK(at(first, "training.details.fsdp_version") == "1");
  CHECK(at(first, "training.details.fsdp_backward_prefetch") == "true");
  CHECK(at(first, "parallel.data_sharding") == "\"fsdp\"");
  CHECK(at(first, "training.checkpoint") == "\"sharded\"");
  CHECK(at(first, "cluster.gpus_per_node") == "2");
  const ImportedTrainer split = imported("accelerate_nd.yaml");
  CHECK(at(split, "training.details.fsdp_version") == "2");
  CHECK(at(split, "parallel.context") == "4");
  CHECK(at(split, "parallel.data") == "2");
  CHECK(at(split, "training.load") == "\"every-rank\"");
  const ImportedTrainer zero = imported("accelerate_zero3.yaml");
  CHECK(at(zero, "parallel.framework") == "\"deepspeed\"");
  CHECK(at(zero, "parallel.data_sharding") == "\"zero3\"");
  CHECK(at(zero, "training.offload.parameters") == "true");
  CHECK(at(zero, "training.gradient_dtype") == "\"bf16\"");

  const auto read = [](const std::string& text) { return import_trainer(text, Trainer::accelerate); };
  const Result<ImportedTrainer> per_node = read("distributed_type: FSDP\nnum_machines: 4\nnum_processes: 32\nmixed_precision: bf16\nfsdp_config: {fsdp_sharding_strategy: HYBRID_SHARD}");
  REQUIRE(per_node);
  CHECK(at(per_node.value(), "parallel.data_sharding") == "\"hsdp\"");
  CHECK(completed(per_node.value(), Json::object())["parallel"]["shard_group"] == 8);
  CHECK(!read("distributed_type: FSDP\nnum_machines: 3\nnum_processes: 32"));
  CHECK(!read("distributed_type: MEGATRON_LM"));
  CHECK(!read("distributed_type: FSDP\nmixed_precision: int4"));
  CHECK(!read("distributed_type: FSDP\nfsdp_config: {fsdp_version: 3}"));
  CHECK(read("distributed_type: NO\nmixed_precision: no"));  // both are false to YAML
}

TEST_CASE("trainers: TrainingArguments of a recipe") {
  const ImportedTrainer sft = imported("arguments_zephyr_sft.yaml");
  CHECK(sft.trainer == Trainer::training_arguments);
  CHECK(at(sft, "model") == "\"mistral-7b-v0.1\"");
  CHECK(at(sft, "training.sequence_length") == "2048");
  CHECK(at(sft, "training.recompute") == "\"full\"");
  // bf16 weights and bf16 arithmetic: nothing is kept in fp32.
  CHECK(at(sft, "training.master_weights_dtype") == "null");
  CHECK(sft.open.rank_batch == 16);

  const auto read = [](const std::string& text) {
    Result<ImportedTrainer> found = import_trainer(text, Trainer::training_arguments);
    REQUIRE(found);
    return found.value();
  };
  const ImportedTrainer sharded = read("bf16: true\nfsdp: full_shard auto_wrap offload\nfsdp_config: {fsdp_version: 1}\noptim: adamw_8bit\ngradient_accumulation_steps: 4\nper_device_train_batch_size: 2");
  CHECK(at(sharded, "parallel.data_sharding") == "\"fsdp\"");
  CHECK(at(sharded, "training.offload.parameters") == "true");
  CHECK(at(sharded, "training.optimizer") == "\"adamw-8bit\"");
  CHECK(at(sharded, "training.master_weights_dtype") == "\"fp32\"");
  CHECK(sharded.open.rank_batch == 8);
  const ImportedTrainer zero = read(R"({"per_device_train_batch_size": 2, "bf16": true, "deepspeed": {"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}})");
  CHECK(at(zero, "parallel.data_sharding") == "\"zero2\"");
  CHECK(at(zero, "training.parameter_dtype") == "\"bf16\"");
  CHECK(at(zero, "training.micro_batch_size") == "2");
  const ImportedTrainer adapters = read("use_peft: true\nlora_r: 8\nlora_target_modules: [q_proj, v_proj]\nload_in_4bit: true");
  CHECK(at(adapters, "training.lora") == R"({"rank":8,"targets":["q","v"],"base_dtype":"nf4"})");
}

TEST_CASE("trainers: a text of none, and one beyond the limits") {
  for (const std::string& text : {std::string("hello"), std::string("a: 1"), std::string(""), std::string("{\"x\": 1}"), std::string("[a]\nb = 1"), std::string("{"), std::string(2 << 20, 'a')}) {
    const Result<ImportedTrainer> found = import_trainer(text);
    REQUIRE(!found);
    CHECK(!found.errors().front().text.empty());
  }
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += "{\"a\":";
  CHECK(!import_trainer(deep + "1" + std::string(40, '}')));
  // A configuration of one trainer read as another's is refused or gives its own fields, and never those of the other.
  const Result<ImportedTrainer> other = import_trainer("[training]\nseq_len = 1", Trainer::accelerate);
  CHECK((!other || member_at(other.value().plan, "training.sequence_length") == nullptr));
}

TEST_CASE("trainers: a change of the plan is a line of the file") {
  const Plan before = plan_of(dump_json(document_of(R"("gradient_dtype":"fp32","implementation":"torchtitan","global_batch_size":64)", R"("data_sharding":"fsdp")", 1)));
  Plan after = before;
  after.training.recompute = {RecomputeKind::full, 0};
  CHECK(changed_lines(before, after, Trainer::torchtitan) == std::vector<std::string>{"mode = \"full\""});
  CHECK(changed_lines(before, before, Trainer::torchtitan).empty());
  after = before;
  after.training.micro_batch_size = 2;
  CHECK(changed_lines(before, after, Trainer::training_arguments).front() == "per_device_train_batch_size: 2");
}

TEST_CASE("trainers: a configuration put over a plan") {
  const Presets presets;
  const Json request{{"text", file_text("tests/data/trainers/import/torchtitan_llama3_8b.toml")}, {"onto", "llama-3-8b-fsdp"}};
  const Result<Json> answer = answer_import_trainer(request, presets);
  REQUIRE(answer);
  CHECK(answer.value().at("problems").empty());
  CHECK(answer.value().at("document").at("training").at("global_batch_size") == 8);
  // A model that no preset has is asked for.
  const Result<Json> unknown = answer_import_trainer(Json{{"text", "model_name_or_path: nobody/Mistral-7B-v0.2\nlearning_rate: 1"}}, presets);
  REQUIRE(unknown);
  CHECK(unknown.value().at("missing")[0] == "model");
  bool names_near = false;
  for (const Json& u : unknown.value().at("unread")) names_near = names_near || u.at("text").get<std::string>().find("mistral-7b-v0.1") != std::string::npos;
  CHECK(names_near);
}

TEST_CASE("trainers: layouts that a trainer refuses are said to be so") {
  const std::string ddp = R"("data_sharding":"ddp","tensor":2)";
  const Plan plan = plan_of(dump_json(document_of(R"("gradient_dtype":"fp32","implementation":"torchtitan")", ddp, 1)));
  for (const Trainer trainer : {Trainer::torchtitan, Trainer::accelerate}) {
    const Result<Export> exported = export_plan(plan, trainer);
    REQUIRE(exported);
    bool warns = false;
    for (const Note& n : exported.value().notes) warns = warns || (n.severity == Severity::warning && n.path == "parallel.data_sharding");
    CHECK(warns);
  }
  CHECK(!import_trainer("[training]\nglobal_batch_size = 0", Trainer::torchtitan));
}
