// What DeepSpeed holds, against traces of the real engine.
//
// tests/data/deepspeed_traces.jsonl ([framework-traces]; its first line says what stands there): bytes between steps, the peak of
// initialize() and of the optimizer step, what the end of backward leaves, host bytes: all exact. Its marks are compared in pairs
// of rows with the same activations: what differs between them is the engine's alone, so buckets, own gradients and gathered
// parameters are checked to the byte at every border of a module.
#include "core/cost/deepspeed_memory.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core/base/blocks.hpp"
#include "core/cost/deepspeed_buckets.hpp"
#include "core/count/zero3_replay.hpp"
#include "tests/support/plans.hpp"

using namespace wireplan;
using wireplan::testing::plan_of;

namespace {

struct Row {
  std::string id;
  Plan plan;
  double between = 0, initialize = 0, after_backward = 0, first = 0, optimizer = 0, host = 0;
  std::map<std::string, double> marks;
};

std::vector<Row> read_rows() {
  std::ifstream file("tests/data/deepspeed_traces.jsonl");
  REQUIRE(file);
  std::vector<Row> rows;
  Json small;
  for (std::string line; std::getline(file, line);) {
    const Result<Json> read = parse_json(line);
    REQUIRE(read);
    Json row = read.value();
    if (row.contains("source")) {
      small = row.at("small");
      continue;
    }
    if (row.at("plan").at("model") == "small") row["plan"]["model"] = small;
    const auto number = [&](const char* key) { return row.contains(key) ? row.at(key).get<double>() : 0.0; };
    Row r{row.at("id").get<std::string>(),
          plan_of(dump_json(row.at("plan"))),
          number("between"),
          number("initialize"),
          number("after_backward"),
          number("first"),
          number("optimizer"),
          number("host"),
          {}};
    if (row.contains("marks"))
      for (const auto& [name, bytes] : row.at("marks").items()) r.marks[name] = bytes.get<double>();
    rows.push_back(std::move(r));
  }
  return rows;
}

struct Engine {
  explicit Engine(const Plan& plan) : traffic(plan, 0), settings(deepspeed_settings(plan)), zero(traffic, settings) {}
  StageTraffic traffic;
  DeepSpeedSettings settings;
  ZeroPlan zero;

  bool is_sharded() const { return zero.kind == ZeroKind::sharded; }
  Zero3Pass last_pass() const { return zero.micro_batches > 1 ? Zero3Pass::later : Zero3Pass::first; }
  Zero3Remains remains() const {
    if (!is_sharded()) return {};
    Zero3Replay replay(traffic, settings);
    replay.run(last_pass());
    return {replay.alive() - replay.persistent(), replay.secondary()};
  }
  void backward(ZeroBuckets& buckets, bool is_last) const {
    buckets.begin_backward(is_last);
    for (std::size_t i = 0; i < zero.parameters.ready.size(); ++i) buckets.gradient(i);
    buckets.end_backward();
  }
};

double tokens(const Plan& p) { return double(p.training.sequence_length * p.training.micro_batch_size); }
double batch(const Plan& p) { return whole_blocks(8 * tokens(p)); }  // input ids

// What the model itself keeps: rotary tables, in 2024 those of every layer.
double constants(const Plan& p) {
  if (p.training.implementation.compare(0, 11, "huggingface") != 0) return 0;
  if (deepspeed_settings(p).recent) return 1024;
  return double(p.model.num_layers) * (512 + 2 * whole_blocks(2.0 * 4096 * double(p.model.head_dim)));
}

// Logits and loss that the caller keeps.
double kept(const Plan& p) {
  const bool keeps = p.training.details && p.training.details->logits_kept.value_or(false);
  return keeps ? whole_blocks(4 * tokens(p) * double(p.model.vocab_size)) + 512 : 0;
}

// The engine's bytes at the marks of the last micro-batch.
std::map<std::string, double> engine_marks(const Plan& plan) {
  const Engine engine(plan);
  const ZeroPlan& z = engine.zero;
  const int layers = int(engine.traffic.layers.total());
  std::map<std::string, double> gathered;
  if (engine.is_sharded()) {
    Zero3Replay replay(engine.traffic, engine.settings);
    replay.begin(engine.last_pass());
    while (const Zero3Event* e = replay.next()) {
      const double bytes = replay.alive() - replay.persistent() + replay.secondary();
      const bool is_forward = e->part == Zero3Part::forward;
      const std::string layer = std::to_string(e->place);
      gathered[is_forward ? "f" : "b"] = bytes;
      if (is_forward && e->place >= 0) gathered["f " + layer] = bytes;
      if (is_forward && e->is_fetch && e->place == Zero3Event::kEmbedding) gathered["f embedding"] = bytes;
      if (is_forward && e->is_fetch && e->place == Zero3Event::kHead) gathered["f head"] = bytes;
      if (e->part != Zero3Part::backward) continue;
      if (e->is_fetch && e->place >= 0) gathered.emplace("b " + layer, bytes);
      if (e->is_fetch && e->place == Zero3Event::kHead) gathered.emplace("b head", bytes);
      if (e->is_fetch && e->place == Zero3Event::kEmbedding) gathered["b embedding"] = bytes;
    }
  }
  std::map<std::string, double> marks;
  ZeroBuckets buckets(z);
  buckets.begin_step();
  for (double k = 1; k < z.micro_batches; ++k) engine.backward(buckets, false);
  const double between = zero_between_steps(z).total();
  const auto mark = [&](const std::string& name) { marks[name] = between + buckets.alive() + gathered[name]; };
  mark("f embedding");
  for (int i = 0; i < layers; ++i) mark("f " + std::to_string(i));
  mark("f head");
  mark("f");
  buckets.begin_backward(true);
  mark("b head");
  std::size_t i = 0;
  for (; i < engine.traffic.head.size(); ++i) buckets.gradient(i);
  for (int layer = layers; layer-- > 0;) {
    mark("b " + std::to_string(layer));
    for (std::size_t n = engine.traffic.dense_layer.size(); n-- > 0;) buckets.gradient(i++);
  }
  mark("b embedding");
  for (; i < z.parameters.ready.size(); ++i) buckets.gradient(i);
  buckets.end_backward();
  mark("b");
  return marks;
}

bool same_activations(const Plan& a, const Plan& b) {
  return a.model == b.model && a.training.implementation == b.training.implementation &&
         a.training.sequence_length == b.training.sequence_length &&
         a.training.micro_batch_size == b.training.micro_batch_size &&
         (a.training.parameter_dtype == DType::fp32) == (b.training.parameter_dtype == DType::fp32) &&
         a.training.recompute == b.training.recompute && kept(a) == kept(b);
}

Plan zero_plan(const char* sharding, int data, const char* config = "null") {
  return plan_of(std::string(R"({"schema":"wireplan.plan/1","model":"llama-2-7b","training":{"global_batch_size":)") +
                 std::to_string(data) +
                 R"(,"implementation":"huggingface"},"parallel":{"framework":"deepspeed","data_sharding":")" +
                 sharding + R"(","data":)" + std::to_string(data) + R"(,"deepspeed":)" + config +
                 R"(},"cluster":{"nodes":)" + std::to_string((data + 7) / 8) +
                 R"(,"node":"dgx-a100-80gb","network":"infiniband-8x200","gpus_per_node":)" +
                 std::to_string(data < 8 ? data : 8) + "}}");
}

}  // namespace

TEST_CASE("deepspeed: states, start and optimizer step of traced runs", "[cost]") {
  int rows = 0, firsts = 0;
  for (const Row& r : read_rows()) {
    INFO(r.id);
    const Engine engine(r.plan);
    const ZeroPlan& z = engine.zero;
    const Zero3Remains remains = engine.remains();
    CHECK(zero_between_steps(z).total() + constants(r.plan) + kept(r.plan) == r.between);
    CHECK(zero_initialize_peak(z) + constants(r.plan) == r.initialize);
    CHECK(zero_host_bytes(z) == r.host);
    const double after = zero_between_steps(z).total() + z.after_backward() + remains.gathered + remains.secondary;
    CHECK(after + constants(r.plan) + kept(r.plan) + batch(r.plan) == r.after_backward);
    // Stage 1 that accumulates holds more between its micro-batches than in the optimizer step.
    const double step = zero_optimizer_peak(z, false, remains) + constants(r.plan) + kept(r.plan) + batch(r.plan);
    if (r.optimizer > 0 && !(z.stage1 && z.kind == ZeroKind::partitioned && z.micro_batches > 1))
      CHECK(step == r.optimizer);
    // The first step peaks here or in its layers.
    const double first = zero_optimizer_peak(z, true, remains) + constants(r.plan) + batch(r.plan);
    CHECK(first <= r.first);
    firsts += first == r.first;
    ++rows;
  }
  CHECK(rows == 108);
  CHECK(firsts == 65);
}

TEST_CASE("deepspeed: buckets and gathered parameters at the borders of modules", "[cost]") {
  const std::vector<Row> rows = read_rows();
  int pairs = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].marks.empty()) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[j].marks.empty() || !same_activations(rows[i].plan, rows[j].plan)) continue;
      INFO(rows[i].id << " against " << rows[j].id);
      const std::map<std::string, double> a = engine_marks(rows[i].plan), b = engine_marks(rows[j].plan);
      for (const auto& [name, bytes] : rows[i].marks) {
        INFO(name);
        // The caller keeps the loss of the micro-batch before.
        const double loss = kept(rows[i].plan) > 0 ? 512 : 0;
        const double more = a.at(name) - b.at(name), traced = bytes - rows[j].marks.at(name);
        CHECK(more - traced <= loss);
        CHECK(traced - more <= loss);
      }
      ++pairs;
      break;
    }
  }
  CHECK(pairs > 75);
}

TEST_CASE("deepspeed: the end of the last backward leaves what the optimizer step finds", "[cost]") {
  for (const Row& r : read_rows()) {
    INFO(r.id);
    const Engine engine(r.plan);
    ZeroBuckets buckets(engine.zero);
    for (int step = 0; step < 2; ++step) {
      buckets.begin_step();
      CHECK(buckets.alive() == 0);
      for (double k = engine.zero.micro_batches; k-- > 0;) engine.backward(buckets, k == 0);
      CHECK(buckets.alive() == engine.zero.after_backward());
      CHECK(buckets.peak() >= buckets.alive());
    }
  }
}

TEST_CASE("deepspeed: states divide over the ranks", "[cost]") {
  const double P = 6738415616;
  for (const int n : {1, 2, 8, 64}) {
    const ZeroBytes one = zero_between_steps(Engine(zero_plan("zero1", n)).zero);
    CHECK(one.parameters == 2 * P);
    CHECK(one.master_weights == whole_blocks(4 * P / n));
    CHECK(one.optimizer_states == 2 * whole_blocks(4 * P / n));
    const ZeroBytes three = zero_between_steps(Engine(zero_plan("zero3", n)).zero);
    CHECK(three.parameters == whole_blocks(2 * P / n));
    CHECK(three.gradients == whole_blocks(2 * P / n));
    CHECK(three.optimizer_states == 2 * whole_blocks(4 * P / n));
    CHECK(three.bucket == 1e9);
  }
  const ZeroBytes none = zero_between_steps(Engine(zero_plan("ddp", 8)).zero);
  CHECK(none.parameters + none.master_weights + none.optimizer_states == 14 * P);
}

TEST_CASE("deepspeed: the optimizer step by hand", "[cost]") {
  const double P = 6738415616, m = 131072000 + 3 * 202383360 + 4 * 16777216 + 45088768;  // what touches an eighth
  const Plan planned = zero_plan("zero2", 8);  // the engine refers to it
    const Engine engine(planned);
  const double between = zero_between_steps(engine.zero).total();
  CHECK(engine.zero.own_elements() == m);
  CHECK(zero_optimizer_peak(engine.zero, false, {}) == between + 2 * m + 2 * P / 8 + 4 * P / 8 + 1024);
  // Many small shares: the norm of the largest piece in double precision is larger.
  const Engine many(zero_plan("zero2", 64));
  CHECK(zero_optimizer_peak(many.zero, false, {}) ==
        zero_between_steps(many.zero).total() + 2 * 131072000 + 8 * P / 64 + 512);
  // Smaller sub-groups are updated one after the other.
  const Engine whole(zero_plan("zero3", 8)),
      parts(zero_plan("zero3", 8, R"({"zero_optimization":{"stage":3,"sub_group_size":100000000}})"));
  CHECK(whole.zero.sub_groups().size() == 1);
  CHECK(parts.zero.sub_groups().size() == 9);
  CHECK(zero_optimizer_peak(whole.zero, false, {}) - zero_optimizer_peak(parts.zero, false, {}) > 4e9);
}

TEST_CASE("deepspeed: what stage 3 gathers", "[cost]") {
  const auto run = [](const char* zero, Zero3Pass pass) {
    const Plan planned = zero_plan("zero3", 8, zero);  // the engine refers to it
    const Engine engine(planned);
    Zero3Replay replay(engine.traffic, engine.settings);
    double most = 0;
    replay.begin(pass);
    while (replay.next()) most = std::max(most, replay.peak());
    CHECK(replay.alive() == (pass == Zero3Pass::first ? replay.persistent() : 0));
    return most;
  };
  // Recording gathers one module at a time: the embedding is the largest.
  CHECK(run("null", Zero3Pass::recording) == 2 * 131072000);
  const char* alone =
      R"({"zero_optimization":{"stage":3,"stage3_prefetch_bucket_size":0,"stage3_max_reuse_distance":0,"stage3_param_persistence_threshold":0}})";
  CHECK(run(alone, Zero3Pass::first) == 2 * 131072000);
  // By default a billion parameters, the flat buffers of a prefetch and the parameters copied out of one.
  const double most = run("null", Zero3Pass::first);
  CHECK(most > 2e9);
  CHECK(most < 2.5e9);
}

TEST_CASE("deepspeed: buckets cost no work per rank", "[cost]") {
  Plan plan = zero_plan("zero2", 8, R"({"zero_optimization":{"stage":2,"reduce_bucket_size":1000}})");
  plan.parallel.data = 100'000'000;
  const Engine engine(plan);
  ZeroBuckets buckets(engine.zero);
  buckets.begin_step();
  engine.backward(buckets, true);
  CHECK(buckets.alive() == engine.zero.after_backward());
}
