// NeMo Megatron-Bridge and Lightning: configurations in Python.
#include <catch2/catch_test_macros.hpp>

#include "core/text/trainers/trainer.hpp"
#include "tests/support/files.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

ImportedTrainer imported(const std::string& text, Trainer expected) {
  Result<ImportedTrainer> read = import_trainer(text);
  if (!read) {
    std::string all;
    for (const Error& e : read.errors()) all += e.path + ": " + e.text + "\n";
    FAIL(all);
  }
  CHECK(name_of(read.value().trainer) == name_of(expected));
  return std::move(read.value());
}

std::string at(const ImportedTrainer& i, std::string_view path) {
  for (const ReadField& f : i.fields)
    if (f.path == path) {
      std::string text = dump_json_compact(f.value);
      while (!text.empty() && text.back() == '\n') text.pop_back();
      return text;
    }
  return "-";
}

bool is_unread(const ImportedTrainer& i, std::string_view key) {
  for (const UnreadKey& u : i.unread)
    if (u.key == key) return true;
  return false;
}

// Differences of the way out and back that no line of the export lists.
std::string unlisted(const Plan& plan, Trainer trainer) {
  const Result<Export> exported = export_plan(plan, trainer);
  REQUIRE(exported);
  for (const Note& n : exported.value().notes) CHECK(n.severity != Severity::error);
  std::string paths;
  for (const Inexpressible& x : exported.value().inexpressible) paths += x.path + ": " + x.text + "\n";
  return paths;
}

}  // namespace

TEST_CASE("a recipe of Megatron-Bridge, NVIDIA's own", "[bridge]") {
  const ImportedTrainer i = imported(file_text("tests/data/trainers/megatron_bridge/llama3_recipes.py"), Trainer::megatron_bridge);
  CHECK(at(i, "model") == "\"llama-3-8b\"");
  CHECK(at(i, "parallel.tensor") == "4");  // of the first function; the second is said to be there
  CHECK(at(i, "parallel.pipeline") == "2");
  CHECK(at(i, "parallel.context") == "2");
  CHECK(at(i, "parallel.sequence_parallel") == "true");
  CHECK(at(i, "training.sequence_length") == "16384");
  CHECK(at(i, "training.global_batch_size") == "512");
  CHECK(at(i, "training.loss") == "\"fused\"");
  CHECK(at(i, "parallel.data_sharding") == "\"zero1\"");
  CHECK(at(i, "parallel.overlap.gradient_reduce") == "true");
  CHECK(at(i, "training.parameter_dtype") == "-");  // the recipe's base decides
  CHECK(is_unread(i, "cross_entropy_fusion_impl"));
  CHECK(is_unread(i, "scheduler.lr_warmup_iters"));
  CHECK(i.missing == std::vector<std::string>{"cluster"});
}

TEST_CASE("overrides and YAML of Megatron-Bridge", "[bridge]") {
  const ImportedTrainer words = imported("torchrun --nproc_per_node=8 run.py model.tensor_model_parallel_size=8 model.sequence_parallel=true \\\n  train.micro_batch_size=2 ++ddp.overlap_grad_reduce=false optimizer.exp_avg_dtype=torch.bfloat16 optimizer.use_precision_aware_optimizer=true", Trainer::megatron_bridge);
  CHECK(at(words, "parallel.tensor") == "8");
  CHECK(at(words, "training.micro_batch_size") == "2");
  CHECK(at(words, "parallel.overlap.gradient_reduce") == "false");
  const ImportedTrainer yaml = imported("model:\n  _target_: megatron.bridge.models.LlamaProvider\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n  virtual_pipeline_model_parallel_size: 5\n  num_moe_experts: null\n  activation_func:\n    _target_: torch.nn.functional.silu\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 64\nmixed_precision: bf16_with_fp8_current_scaling_mixed\nddp:\n  grad_reduce_in_fp32: false\n", Trainer::megatron_bridge);
  CHECK(at(yaml, "parallel.virtual_stages") == "5");
  CHECK(at(yaml, "training.parameter_dtype") == "\"fp8\"");
  CHECK(at(yaml, "training.gradient_dtype") == "\"fp32\"");  // mixed_precision is set over it
  CHECK(is_unread(yaml, "first_last_layers_bf16"));
}

TEST_CASE("Megatron-Bridge out and back", "[bridge]") {
  CHECK(unlisted(scenario("llama-3-70b-megatron"), Trainer::megatron_bridge).empty());
  CHECK(export_plan(scenario("llama-3-70b-megatron"), Trainer::megatron_bridge).value().files.front().text == file_text("tests/data/trainers/megatron_bridge/llama-3-70b.golden.py"));
  CHECK_FALSE(export_plan(scenario("story"), Trainer::megatron_bridge));
  Random r(5);
  int seen = 0;
  for (int i = 0; i < 2000 && seen < 80; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(r));
    if (!plan || plan->parallel.framework != Framework::megatron || plan->model.opaque) continue;
    ++seen;
    unlisted(*plan, Trainer::megatron_bridge);
  }
  CHECK(seen == 80);
}

TEST_CASE("Lightning's Trainer", "[lightning]") {
  const ImportedTrainer fsdp = imported("strategy = FSDPStrategy(\n  auto_wrap_policy={Block},\n  activation_checkpointing_policy={Block},\n  sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,\n  cpu_offload=True,\n)\ntrainer = L.Trainer(devices=8, num_nodes=2, precision=\"bf16-true\", accumulate_grad_batches=4, strategy=strategy, max_epochs=3)\nloader = DataLoader(data, batch_size=2)\n", Trainer::lightning);
  CHECK(at(fsdp, "parallel.data_sharding") == "\"zero2\"");
  CHECK(at(fsdp, "parallel.fsdp_unit") == "\"block\"");
  CHECK(at(fsdp, "training.recompute") == "\"full\"");
  CHECK(at(fsdp, "training.offload.parameters") == "true");
  CHECK(at(fsdp, "training.parameter_dtype") == "\"bf16\"");
  CHECK(at(fsdp, "training.master_weights_dtype") == "null");
  CHECK(at(fsdp, "training.micro_batch_size") == "2");
  CHECK(fsdp.open.accumulation == 4);
  CHECK(at(fsdp, "cluster.nodes") == "2");
  CHECK(is_unread(fsdp, "trainer.max_epochs"));
  const ImportedTrainer deepspeed = imported("Trainer(accelerator='gpu', devices=4, strategy='deepspeed_stage_3_offload', precision='bf16-mixed')", Trainer::lightning);
  CHECK(at(deepspeed, "parallel.framework") == "\"deepspeed\"");
  CHECK(at(deepspeed, "parallel.data_sharding") == "\"zero3\"");
  CHECK(at(deepspeed, "training.offload.optimizer") == "true");
  CHECK(at(deepspeed, "training.parameter_dtype") == "\"bf16\"");
  const ImportedTrainer split = imported("pl.Trainer(devices=8, num_nodes=4, strategy=ModelParallelStrategy(), precision=32)", Trainer::lightning);
  CHECK(at(split, "parallel.tensor") == "8");  // "auto": a node each
  CHECK(at(split, "parallel.data") == "4");
  CHECK(at(split, "training.parameter_dtype") == "\"fp32\"");
  const ImportedTrainer ddp = imported("class M:\n  def configure_optimizers(self):\n    return torch.optim.AdamW(self.parameters())\ntrainer = Trainer(devices=[0, 2], strategy='ddp', precision='16-mixed')\n", Trainer::lightning);
  CHECK(at(ddp, "parallel.data_sharding") == "\"ddp\"");
  CHECK(at(ddp, "cluster.gpus") == "[0,2]");
  CHECK(at(ddp, "training.optimizer") == "\"adamw\"");
  CHECK(at(ddp, "training.master_weights_dtype") == "\"fp32\"");
  for (const char* wrong : {"Trainer(precision='int3', devices=2)", "Trainer(num_nodes=0, devices=2)", "Trainer(devices=2, strategy=FSDPStrategy(sharding_strategy='HALF'))"}) {
    const Result<ImportedTrainer> read = import_trainer(wrong, Trainer::lightning);
    REQUIRE_FALSE(read);
    CHECK_FALSE(read.errors()[0].path.empty());
    CHECK_FALSE(read.errors()[0].limit.empty());
  }
}

TEST_CASE("Lightning out and back", "[lightning]") {
  CHECK(export_plan(scenario("llama-3-8b-fsdp"), Trainer::lightning).value().files.front().text == file_text("tests/data/trainers/lightning/llama-3-8b-fsdp.golden.py"));
  CHECK_FALSE(export_plan(scenario("llama-3-70b-megatron"), Trainer::lightning));
  Random r(9);
  int seen = 0;
  for (int i = 0; i < 2000 && seen < 120; ++i) {
    const std::optional<Plan> plan = read_if_valid(random_document(r));
    if (!plan || plan->parallel.framework == Framework::megatron) continue;
    ++seen;
    const std::string paths = unlisted(*plan, Trainer::lightning);
    CHECK(paths.find("cluster.") == std::string::npos);
    if (plan->parallel.pipeline > 1) CHECK(paths.find("parallel.pipeline:") != std::string::npos);
  }
  CHECK(seen == 120);
}

TEST_CASE("every trainer's export ends with its launch", "[launch]") {
  const Plan plan = scenario("llama-3-70b-megatron");
  const Result<Export> exported = export_plan(plan, Trainer::megatron);
  REQUIRE(exported);
  CHECK(exported.value().files.back().name == "launch.sh");
  const std::string& text = exported.value().files.back().text;
  CHECK(text == file_text("tests/data/trainers/launch/llama-3-70b.golden.sh"));
  CHECK(text.find("export CUDA_DEVICE_MAX_CONNECTIONS=1\n") != std::string::npos);
  CHECK(text.find("source ./megatron_args.sh\n") != std::string::npos);
}
