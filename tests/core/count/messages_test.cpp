#include "core/count/messages.hpp"

#include <algorithm>
#include <chrono>

#include <catch2/catch_test_macros.hpp>

#include "core/count/parameters.hpp"
#include "tests/core/count/shapes.hpp"

using namespace wireplan;

namespace {

struct Sum {
  double calls = 0, bytes = 0, sent = 0;
};
Sum sum_of(const Plan& plan, const std::vector<Message>& messages, std::string_view begins_with = "") {
  Sum s;
  for (const Message& m : messages) {
    if (m.name.substr(0, begins_with.size()) != begins_with) continue;
    s.calls += m.calls;
    s.bytes += m.calls * m.bytes.value;
    s.sent += m.calls * m.bytes.value * bus_factor(m.collective, static_cast<int>(group_size(plan, m.group)));
  }
  return s;
}
Sum sum_of(const Plan& plan, std::string_view begins_with = "") {
  return sum_of(plan, step_messages(plan), begins_with);
}

Plan data_parallel(const Model& model, DataSharding sharding, Count data, Framework framework = Framework::pytorch) {
  Parallel p;
  p.framework = framework;
  p.data_sharding = sharding;
  p.data = data;
  p.gradient_sync = shards_gradients(sharding) ? GradientSync::every : GradientSync::last;
  Plan plan = shapes::plan(model, p);
  plan.training.master_weights_dtype.reset();
  return plan;
}

Plan model_parallel(const Model& model, Count tensor, Count pipeline, Count context = 1, Count data = 1) {
  Parallel p;
  p.framework = Framework::megatron;
  p.tensor = tensor;
  p.pipeline = pipeline;
  p.context = context;
  p.data = data;
  return shapes::plan(model, p);
}

}  // namespace

TEST_CASE("messages: bus factors", "[count]") {
  for (const Collective c :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
        Collective::reduce, Collective::all_to_all, Collective::send_recv, Collective::scatter, Collective::gather})
    CHECK(bus_factor(c, 1) == 0);
  CHECK(bus_factor(Collective::all_reduce, 4) == 1.5);
  CHECK(bus_factor(Collective::send_recv, 4) == 1);
  for (int n = 2; n < 2000; n *= 3)
    CHECK(bus_factor(Collective::all_reduce, n) ==
          bus_factor(Collective::reduce_scatter, n) + bus_factor(Collective::all_gather, n));
}

TEST_CASE("messages: one GPU sends nothing", "[count]") {
  for (const DataSharding s : {DataSharding::ddp, DataSharding::zero1, DataSharding::zero2, DataSharding::fsdp})
    CHECK(step_messages(data_parallel(shapes::mixtral_8x7b(), s, 1)).empty());
  for (const DataSharding s : {DataSharding::ddp, DataSharding::zero1, DataSharding::zero2, DataSharding::zero3})
    CHECK(step_messages(data_parallel(shapes::gpt2(), s, 1, Framework::deepspeed)).empty());
  CHECK(step_messages(model_parallel(shapes::deepseek_v3(), 1, 1)).empty());
}

TEST_CASE("messages: DDP buckets of mistral 7b by hand", "[count]") {
  const Plan plan = data_parallel(shapes::mistral_7b(), DataSharding::ddp, 4);
  const std::vector<Message> messages = step_messages(plan);
  const Sum all = sum_of(plan, messages);
  CHECK(all.bytes == 2 * 7241732096.0);
  // The head closes the first bucket alone; then down, up, gate (with the norm before them), attention, ... 5 a layer; the table last.
  CHECK(all.calls == 162);
  CHECK(messages.front().bytes == Bytes(262144000));
  CHECK(messages.back().calls == 1);
  CHECK(messages.back().bytes == Bytes(2 * (131072000.0 + 4096)));  // and the first layer's norm
}

TEST_CASE("messages: a bucket closes when it reaches its cap", "[count]") {
  Model m;
  m.opaque = OpaqueModel{100 * 1048576, 100, 0, 0};  // 100 tensors of 1 Mi parameters, 2 MiB each
  Plan plan = data_parallel(m, DataSharding::ddp, 2);
  // First bucket 1 MiB: one tensor closes it. Then 13 tensors (26 MiB) reach 25 MiB: 99 = 7·13 + 8.
  CHECK(sum_of(plan).calls == 1 + 7 + 1);
  CHECK(sum_of(plan).bytes == 2 * 100.0 * 1048576);
  Details details;
  details.bucket_bytes = 2097152;
  plan.training.details = details;
  apply(details, plan.training.switches);
  CHECK(sum_of(plan).calls == 100);
}

TEST_CASE("messages: gradient accumulation repeats what the framework repeats", "[count]") {
  Plan plan = data_parallel(shapes::mistral_7b(), DataSharding::ddp, 4);
  const Sum once = sum_of(plan);
  plan.training.global_batch_size = 32;
  CHECK(sum_of(plan).bytes == once.bytes);
  plan.parallel.gradient_sync = GradientSync::every;
  CHECK(sum_of(plan).bytes == 8 * once.bytes);

  Plan fsdp = data_parallel(shapes::mistral_7b(), DataSharding::fsdp, 4);
  const Sum gathers = sum_of(fsdp, "fsdp-all-gather"), scatters = sum_of(fsdp, "fsdp-reduce-scatter");
  fsdp.training.global_batch_size = 32;
  fsdp.parallel.gradient_sync = GradientSync::last;
  CHECK(sum_of(fsdp, "fsdp-all-gather").bytes == 8 * gathers.bytes);
  CHECK(sum_of(fsdp, "fsdp-reduce-scatter").bytes == scatters.bytes);
}

TEST_CASE("messages: FSDP gathers blocks twice and the root once", "[count]") {
  const Plan plan = data_parallel(shapes::mistral_7b(), DataSharding::fsdp, 4);
  const double root = 2 * 131072000.0 + 4096, blocks = 7241732096.0 - root;
  CHECK(sum_of(plan, "fsdp-all-gather-forward").bytes == 2 * (root + blocks));
  CHECK(sum_of(plan, "fsdp-all-gather-backward").bytes == 2 * blocks);
  CHECK(sum_of(plan, "fsdp-all-gather").calls == 65);
  CHECK(sum_of(plan, "fsdp-reduce-scatter").bytes == 2 * 7241732096.0);
  CHECK(sum_of(plan, "fsdp-reduce-scatter").calls == 33);
  Plan kept = plan;
  kept.parallel.data_sharding = DataSharding::zero2;
  CHECK(sum_of(kept, "fsdp-all-gather").bytes == 2 * 7241732096.0);
  Plan one = plan;
  one.parallel.fsdp_unit.kind = FsdpUnit::Kind::none;
  CHECK(sum_of(one, "fsdp").calls == 2);
  CHECK(sum_of(one, "fsdp").bytes == 4 * 7241732096.0);
}

TEST_CASE("messages: sharding sends no less than DDP, FSDP at most half as much again", "[count]") {
  // [zero20] §7: stages 1 and 2 send as much as DDP, stage 3 1.5 times it.
  const double ddp = sum_of(data_parallel(shapes::mistral_7b(), DataSharding::ddp, 8)).sent;
  CHECK(sum_of(data_parallel(shapes::mistral_7b(), DataSharding::zero2, 8)).sent == ddp);
  const double fsdp = sum_of(data_parallel(shapes::mistral_7b(), DataSharding::fsdp, 8)).sent;
  CHECK(fsdp > ddp);
  CHECK(fsdp < 1.5 * ddp);
  CHECK(sum_of(data_parallel(shapes::mistral_7b(), DataSharding::fsdp, 1)).sent == 0);
}

TEST_CASE("messages: megatron's distributed optimizer sends what its all-reduce would", "[count]") {
  Plan plan = model_parallel(shapes::mistral_7b(), 1, 1, 1, 8);
  const double ddp = sum_of(plan).sent;
  plan.parallel.data_sharding = DataSharding::zero1;
  CHECK(sum_of(plan).sent == ddp);
  CHECK(sum_of(plan).calls == 2);  // one buffer without overlap
  plan.parallel.overlap.gradient_reduce = true;
  // 40 M parameters a bucket: the head; then a layer's fc2 (58.7 M), fc1 (117 M), and its output projection with q, k, v
  // (41.9 M) close one each; the table.
  CHECK(sum_of(plan, "zero-reduce-scatter").bytes == 2 * 7241732096.0);
  CHECK(sum_of(plan, "zero-reduce-scatter").calls == 1 + 3 * 32 + 1);
  Plan shards = plan;
  shards.parallel.shard_group = 2;
  CHECK(sum_of(shards, "zero-all-reduce").bytes == sum_of(plan, "zero-reduce-scatter").bytes / 2);
}

TEST_CASE("messages: HSDP is FSDP in the shard group and an all-reduce of shards between", "[count]") {
  Plan hsdp = data_parallel(shapes::mistral_7b(), DataSharding::hsdp, 16);
  hsdp.parallel.shard_group = 4;
  const Plan fsdp = data_parallel(shapes::mistral_7b(), DataSharding::fsdp, 4);
  CHECK(sum_of(hsdp, "fsdp").bytes == sum_of(fsdp, "fsdp").bytes);
  CHECK(sum_of(hsdp, "fsdp").sent == sum_of(fsdp, "fsdp").sent);
  CHECK(sum_of(hsdp, "hsdp").bytes == 2 * 7241732096.0 / 4);
  CHECK(sum_of(hsdp, "hsdp").calls == 33);
}

TEST_CASE("messages: tensor parallelism, two all-reduces a layer each way", "[count]") {
  Plan plan = model_parallel(shapes::llama_31_8b(), 8, 1);
  plan.training.sequence_length = 8192;
  const double bytes = 2.0 * 8192 * 4096;
  const Sum forward = sum_of(plan, "tensor-forward"), backward = sum_of(plan, "tensor-backward");
  CHECK(forward.calls == 2 * 32 + 1);   // the embedding
  CHECK(backward.calls == 2 * 32 + 1);  // the head
  CHECK(forward.bytes == 65 * bytes);
  CHECK(sum_of(plan, "vocabulary-loss").bytes == 3 * 4.0 * 8192);
  plan.training.recompute = {RecomputeKind::full, 0};
  CHECK(sum_of(plan, "tensor-recompute").calls == 2 * 32);
}

TEST_CASE("messages: sequence parallelism splits each all-reduce and gathers inputs again", "[count]") {
  Plan plan = model_parallel(shapes::llama_31_8b(), 8, 1);
  const double whole = sum_of(plan, "tensor").sent;
  plan.parallel.sequence_parallel = true;
  const Sum gather = sum_of(plan, "tensor-all-gather"), scatter = sum_of(plan, "tensor-reduce-scatter");
  CHECK(scatter.calls == 130);
  CHECK(gather.calls == 130 + 65);  // [korthikanti22] §4.2.2
  const double again = 65.0 / 130 * scatter.sent;
  CHECK(gather.sent + scatter.sent == whole + again);
}

TEST_CASE("messages: pipeline hops", "[count]") {
  Plan plan = model_parallel(shapes::mistral_7b(), 2, 4);
  plan.training.global_batch_size = 16;
  CHECK(sum_of(plan, "pipeline-forward").calls == 16);
  CHECK(sum_of(plan, "pipeline-forward").bytes == 16 * 2.0 * 4096 * 4096);
  CHECK(sum_of(plan, "pipeline-backward").bytes == sum_of(plan, "pipeline-forward").bytes);
  plan.parallel.sequence_parallel = true;
  CHECK(sum_of(plan, "pipeline-forward").bytes == 8 * 2.0 * 4096 * 4096);
  plan.parallel.pipeline_schedule = PipelineSchedule::interleaved;
  plan.parallel.virtual_stages = 4;
  CHECK(sum_of(plan, "pipeline-forward").calls == 64);
}

TEST_CASE("messages: a tied table is summed between first and last stage", "[count]") {
  Plan plan = model_parallel(shapes::gpt2(), 1, 2);
  plan.training.gradient_dtype = DType::fp32;
  CHECK(sum_of(plan, stage_messages(plan, 0), "tied-embedding").bytes == 4 * 50304.0 * 768);
  CHECK(sum_of(plan, stage_messages(plan, 1), "tied-embedding").bytes == 4 * 50304.0 * 768);
  plan.parallel.pipeline = 1;
  CHECK(sum_of(plan, "tied-embedding").calls == 0);
}

TEST_CASE("messages: the context ring passes keys and values c - 1 times", "[count]") {
  Plan plan = model_parallel(shapes::mistral_7b(), 2, 1, 4);
  const Sum forward = sum_of(plan, "context-ring-forward");
  CHECK(forward.calls == 32 * 3);
  CHECK(forward.bytes == 32 * 3 * 2 * (2.0 * 1024 * 4 * 128));  // K and V of 1024 tokens, 4 of 8 heads
  CHECK(sum_of(plan, "context-ring-backward").bytes == 2 * forward.bytes);
}

TEST_CASE("messages: experts, dispatch and combine both ways", "[count]") {
  Plan plan = model_parallel(shapes::mixtral_8x7b(), 1, 1, 1, 8);
  plan.parallel.expert = 8;
  const Sum forward = sum_of(plan, "expert-all-to-all-forward");
  CHECK(forward.calls == 2 * 32);
  CHECK(forward.bytes == 64 * 2.0 * 2 * 4096 * 4096);  // two experts a token
  CHECK(sum_of(plan, "expert-all-to-all-backward").bytes == forward.bytes);
  // Experts are whole on one rank each: their gradients are not reduced.
  CHECK(sum_of(plan, "ddp-expert").calls == 0);
  CHECK(sum_of(plan, "ddp-bucket").bytes == 2 * stage_parameters(plan.model, plan.parallel)[0].dense);
  plan.parallel.moe_dispatcher = MoeDispatcher::flex;
  CHECK(sum_of(plan, "expert-all-to-all-forward").bytes ==
        64 * 2.0 * (8 * (1 - 49.0 / 64)) * 4096 * 4096);  // copies per token: 1.875
  plan.parallel.expert = 4;
  CHECK(sum_of(plan, "ddp-expert").bytes == 2 * stage_parameters(plan.model, plan.parallel)[0].experts);
}

TEST_CASE("messages: MoE layers leave only attention to tensor parallelism", "[count]") {
  Plan plan = model_parallel(shapes::mixtral_8x7b(), 2, 1);
  CHECK(sum_of(plan, "tensor-forward").calls == 32 + 1);
}

TEST_CASE("messages: adapters are all that is reduced", "[count]") {
  Plan plan = data_parallel(shapes::llama_31_8b(), DataSharding::ddp, 4);
  Lora lora;
  lora.rank = 16;
  lora.targets = {LoraTarget::q, LoraTarget::v};
  plan.training.lora = lora;
  CHECK(sum_of(plan).bytes == 2 * 6815744.0);
}

TEST_CASE("messages: deepspeed reduces stages 1 and 2 with all-reduce", "[count]") {
  Plan plan = data_parallel(shapes::mistral_7b(), DataSharding::zero2, 8, Framework::deepspeed);
  CHECK(sum_of(plan, "zero-all-reduce").bytes == 2 * 7241732096.0);
  CHECK(sum_of(plan, "zero-all-gather").calls == 1);
  // 1.5 times the traffic of a reduce-scatter design
  const double scalars = sum_of(plan, "gradient-norm").sent + sum_of(plan, "overflow-flag").sent;
  CHECK(sum_of(plan).sent - scalars == 1.5 * sum_of(data_parallel(shapes::mistral_7b(), DataSharding::ddp, 8)).sent);
  plan.parallel.deepspeed = R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})";
  CHECK(sum_of(plan, "zero-all-reduce").calls > 200);  // h² elements a bucket
  plan.parallel.deepspeed = "{broken";
  CHECK(sum_of(plan, "zero-all-reduce").bytes == 2 * 7241732096.0);
}

TEST_CASE("messages: the busiest stage sends most", "[count]") {
  Model m = shapes::llama(2048, 8, 16, 16, 8192, 256000);
  m.tie_word_embeddings = false;
  Parallel p;
  p.framework = Framework::megatron;
  p.pipeline = 4;
  p.data = 8;
  const Plan plan = shapes::plan(m, p);
  const double most = sum_of(plan).sent;
  CHECK(most == sum_of(plan, stage_messages(plan, 3)).sent);  // the head and its norm
  for (Count i = 0; i < 4; ++i) CHECK(sum_of(plan, stage_messages(plan, i)).sent <= most);
}

TEST_CASE("messages: more data ranks never send less", "[count]") {
  for (const DataSharding s : {DataSharding::ddp, DataSharding::zero2, DataSharding::fsdp}) {
    double last = 0;
    for (Count n = 2; n <= 64; n *= 2) {
      const double sent = sum_of(data_parallel(shapes::mistral_7b(), s, n)).sent;
      CHECK(sent > last);
      last = sent;
    }
  }
}

TEST_CASE("messages: recomputed layers of each stage repeat its tensor messages", "[count]") {
  Plan plan = model_parallel(shapes::mistral_7b(), 2, 4);  // 8 layers a stage
  for (const auto& [n, repeated] : {std::pair<Count, double>{1, 1}, {3, 3}, {8, 8}, {32, 8}}) {
    plan.training.recompute = {RecomputeKind::full_layers, n};
    for (Count stage = 0; stage < 4; ++stage)
      CHECK(sum_of(plan, stage_messages(plan, stage), "tensor-recompute").calls == 2 * repeated);
  }
}

TEST_CASE("messages: zero splits a tensor larger than its bucket at the partitions' borders", "[count]") {
  Model m;
  m.opaque = OpaqueModel{1000, 1, 1e9, 1e6};
  const auto sizes = [&](Count units, Count data, const char* bucket) {
    m.opaque->units = units;
    Plan plan = data_parallel(m, DataSharding::zero2, data, Framework::deepspeed);
    plan.parallel.deepspeed =
        std::string(R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": )") + bucket + "}}";
    std::vector<double> elements;
    for (const Message& message : step_messages(plan))
      if (message.name == "zero-all-reduce")
        elements.insert(elements.end(), std::size_t(message.calls), message.bytes.value / 2);
    std::sort(elements.begin(), elements.end());
    return elements;
  };
  using Sizes = std::vector<double>;
  CHECK(sizes(1, 10, "1000") == Sizes{1000});
  CHECK(sizes(1, 10, "950") == Sizes{1000});  // ten parts of 100, looked at where one ends
  CHECK(sizes(1, 10, "250") == Sizes{100, 300, 300, 300});
  CHECK(sizes(1, 10, "300") == Sizes{200, 400, 400});
  CHECK(sizes(1, 10, "40") == Sizes(10, 100));
  // Parts of 126 (1000 padded to 1008): the second tensor, 500 to 1000, is cut at 504, 630, 756 and 882.
  CHECK(sizes(2, 8, "300") == Sizes{118, 122, 378, 382});
}

TEST_CASE("messages: zero's buckets cost no work per rank", "[count]") {
  for (const char* round_robin : {"false", "true"}) {
    Plan plan = data_parallel(shapes::mistral_7b(), DataSharding::zero2, 100'000'000, Framework::deepspeed);
    plan.parallel.deepspeed =
        std::string(R"({"zero_optimization": {"stage": 2, "reduce_bucket_size": 1000, "round_robin_gradients": )") +
        round_robin + "}}";
    const auto begin = std::chrono::steady_clock::now();
    CHECK(sum_of(plan, "zero-all-reduce").bytes == 2 * 7241732096.0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(100));
  }
}
