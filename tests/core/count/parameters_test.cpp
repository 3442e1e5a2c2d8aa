#include "core/count/parameters.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/count/tensors.hpp"
#include "core/text/presets.hpp"
#include "tests/core/count/shapes.hpp"

using namespace wireplan;

TEST_CASE("parameters: mistral 7b by hand", "[count]") {
  const ModelParameters p = count_parameters(shapes::mistral_7b());
  // q and o 2·4096·4096, k and v 2·4096·1024; gate, up and down 3·4096·14336; two norms.
  CHECK(p.dense_layer.attention_matrices == 41943040);
  CHECK(p.dense_layer.mlp_matrices == 176160768);
  CHECK(p.dense_layer.norms == 8192);
  CHECK(p.embedding == 131072000);
  CHECK(p.head == 131072000);
  CHECK(p.final_norm == 4096);
  CHECK(p.total == 7241732096);
  CHECK(p.active == p.total);
}

TEST_CASE("parameters: gpt2 with biases, learned positions and a tied table by hand", "[count]") {
  const ModelParameters p = count_parameters(shapes::gpt2());
  // 4·768² + 4·768 attention, 2·768·3072 + 3072 + 768 MLP, 4·768 norms: 7,087,872 a layer; 50257·768 + 1024·768; 2·768.
  CHECK(p.dense_layer.total() == 7087872);
  CHECK(p.embedding == 39383808);
  CHECK(p.head == 0);
  CHECK(p.total == 124439808);
}

TEST_CASE("parameters: deepseek-v3 by hand", "[count]") {
  const ModelParameters p = count_parameters(shapes::deepseek_v3());
  // q 7168·1536 + 1536 + 1536·128·192; kv 7168·576 + 512 + 512·128·256; output 128·128·7168: 187,107,328 a layer.
  CHECK(p.dense_layer.attention_matrices + p.dense_layer.attention_vectors == 187107328);
  CHECK(p.moe_layer.experts == 256.0 * 3 * 7168 * 2048);
  CHECK(p.moe_layer.router == 7168 * 256 + 256);
  CHECK(p.dense_layers == 3);
  CHECK(p.moe_layers == 58);
  CHECK(p.total == 671026419200);  // published, 58·256 correction biases included
  CHECK(p.active == 37552297472);  // embedding counted; the vendor's 37 B leaves it out
}

TEST_CASE("parameters: every preset counts to its exact and its published count", "[count]") {
  const Presets presets;
  int counted = 0;
  for (const std::string_view id : presets.ids("models")) {
    INFO(id);
    const Result<Model> model = presets.model(id);
    REQUIRE(model);
    const Result<Json> json = parse_json(presets.text("models", id));
    REQUIRE(json);
    const ModelParameters p = count_parameters(model.value());
    CHECK(p.total == json.value().at("exact_parameters").get<double>());
    if (json.value().value("count_check", "") == "equal")
      CHECK(p.total == json.value().at("published_parameters").get<double>());
    if (const auto active = json.value().find("active_parameters_computed");
        active != json.value().end() && active->is_number())
      CHECK(p.active == active->get<double>());
    ++counted;
  }
  CHECK(counted >= 100);
}

TEST_CASE("parameters: one expert that every token meets is a dense layer with a router", "[count]") {
  const Model dense = shapes::mistral_7b();
  Model moe = shapes::mixtral_8x7b();
  moe.moe->num_experts = moe.moe->experts_per_token = 1;
  const ModelParameters a = count_parameters(dense), b = count_parameters(moe);
  CHECK(b.total == a.total + 32.0 * 4096);
  CHECK(b.active == b.total);
}

TEST_CASE("parameters: each size adds parameters", "[count]") {
  const double base = count_parameters(shapes::mixtral_8x7b()).total;
  for (Count Model::* const size : {&Model::hidden_size, &Model::num_layers, &Model::num_attention_heads,
                                    &Model::num_key_value_heads, &Model::head_dim, &Model::vocab_size}) {
    Model m = shapes::mixtral_8x7b();
    m.*size += 1;
    CHECK(count_parameters(m).total > base);
  }
  Model more_experts = shapes::mixtral_8x7b();
  more_experts.moe->num_experts += 1;
  CHECK(count_parameters(more_experts).total > base);
  CHECK(count_parameters(more_experts).active > count_parameters(shapes::mixtral_8x7b()).active);  // its router row
}

TEST_CASE("parameters: which layers are mixture-of-experts layers", "[count]") {
  Model m = shapes::deepseek_v3();
  CHECK_FALSE(is_moe_layer(m, 2));
  CHECK(is_moe_layer(m, 3));
  m.moe->first_dense_layers = 0;
  m.moe->every = 2;
  CHECK_FALSE(is_moe_layer(m, 0));
  CHECK(is_moe_layer(m, 1));
  for (Count first = 0; first < 5; ++first) {
    for (Count every = 1; every < 5; ++every) {
      m.moe->first_dense_layers = first;
      m.moe->every = every;
      Count counted = 0;
      for (Count i = 4; i < 23; ++i) counted += is_moe_layer(m, i);
      CHECK(moe_layers_between(m, 4, 23) == counted);
    }
  }
}

TEST_CASE("parameters: vocabulary padding", "[count]") {
  const Model m = shapes::gpt2();
  CHECK(padded_vocabulary(m, Framework::megatron, 1) == 50304);
  CHECK(padded_vocabulary(m, Framework::megatron, 8) == 51200);
  CHECK(padded_vocabulary(m, Framework::pytorch, 1) == 50257);
  CHECK(padded_vocabulary(m, Framework::pytorch, 8) == 50264);
}

TEST_CASE("parameters: stages hold every layer once, embedding first, head last", "[count]") {
  const Model m = shapes::mistral_7b();
  Parallel p;
  p.framework = Framework::megatron;
  p.pipeline = 4;
  for (const Count chunks : {1, 2, 4}) {
    p.virtual_stages = chunks;
    const std::vector<StageParameters> stages = stage_parameters(m, p);
    double sum = 0;
    for (const StageParameters& s : stages) {
      CHECK(s.layers == 8);
      sum += s.total();
    }
    CHECK(sum == count_parameters(m).total);
    CHECK(stages[0].embedding == 131072000);
    CHECK(stages[1].embedding + stages[1].head == 0);
    CHECK(stages[3].head == 131072000 + 4096);
  }
}

TEST_CASE("parameters: layers + 2 over the stages takes a layer from both ends", "[count]") {
  Model m = shapes::llama(1024, 30, 16, 16, 4096, 32000);
  Parallel p;
  p.pipeline = 8;
  const std::vector<StageParameters> stages = stage_parameters(m, p);
  const Count expected[] = {3, 4, 4, 4, 4, 4, 4, 3};
  for (std::size_t i = 0; i < 8; ++i) CHECK(stages[i].layers == expected[i]);
  p.pipeline = 4;  // with two chunks each: 8 pieces as above
  p.virtual_stages = 2;
  const std::vector<StageParameters> interleaved = stage_parameters(m, p);
  CHECK(interleaved[0].layers == 7);
  CHECK(interleaved[1].layers == 8);
  CHECK(interleaved[3].layers == 7);
}

TEST_CASE("parameters: a tied table stands twice when a pipeline parts its ends", "[count]") {
  Model m = shapes::gpt2();
  Parallel p;
  CHECK(stage_parameters(m, p)[0].total() == 124439808);
  p.pipeline = 2;
  const std::vector<StageParameters> stages = stage_parameters(m, p);
  CHECK(stages[0].total() + stages[1].total() == 124439808 + 50257.0 * 768);
  p.pipeline_schedule = PipelineSchedule::zb_v;  // both ends on the first stage
  const std::vector<StageParameters> folded = stage_parameters(m, p);
  CHECK(folded[0].total() + folded[1].total() == 124439808);
  CHECK(folded[1].embedding + folded[1].head == 0);
}

TEST_CASE("parameters: dualpipe holds the model twice", "[count]") {
  const Model m = shapes::mistral_7b();
  Parallel p;
  p.pipeline = 4;
  p.pipeline_schedule = PipelineSchedule::dualpipe;
  double sum = 0;
  for (const StageParameters& s : stage_parameters(m, p)) sum += s.total();
  CHECK(sum == 2 * count_parameters(m).total);
}

TEST_CASE("parameters: tensor ranks together hold the model and t - 1 more copies of what is replicated", "[count]") {
  for (const Model& m : {shapes::mistral_7b(), shapes::gpt2(), shapes::mixtral_8x7b(), shapes::deepseek_v3()}) {
    const ModelParameters all = count_parameters(m);
    for (const Count t : {2, 4}) {
      Parallel p;
      p.tensor = t;
      p.expert_tensor = t;
      const double sum = double(t) * stage_parameters(m, p)[0].total();
      // Replicated: norms, router, MLA down-projections, biases after row-parallel products, learned positions.
      double replicated = all.final_norm;
      for (const bool moe : {false, true}) {
        const double layers = double(moe ? all.moe_layers : all.dense_layers);
        for (const Tensor& x : layer_tensors(m, moe, {}))
          if (x.cut == Cut::whole) replicated += layers * x.elements();
      }
      if (m.position == Position::learned) replicated += 1024.0 * 768;
      const double padding = double(padded_vocabulary(m, p.framework, t) - m.vocab_size) * double(m.hidden_size) *
                             (m.tie_word_embeddings ? 1 : 2);
      CHECK(sum == all.total + double(t - 1) * replicated + padding);
    }
  }
}

TEST_CASE("parameters: KV heads that tensor ranks share are replicated", "[count]") {
  const Model m = shapes::mistral_7b();  // 8 KV heads
  CHECK(kv_heads_on_rank(m, 4) == 2);
  CHECK(kv_heads_on_rank(m, 8) == 1);
  CHECK(kv_heads_on_rank(m, 16) == 1);
  Parallel p;
  p.tensor = 16;
  // Per layer: q and o 2·4096·256, one KV head 2·4096·128, MLP 3·4096·896, norms.
  CHECK(stage_parameters(m, p)[0].largest_layer == 2.0 * 4096 * 256 + 2.0 * 4096 * 128 + 3.0 * 4096 * 896 + 8192);
}

TEST_CASE("parameters: expert parallelism divides experts and nothing else", "[count]") {
  const Model m = shapes::mixtral_8x7b();
  Parallel p;
  const StageParameters whole = stage_parameters(m, p)[0];
  CHECK(whole.experts == 32.0 * 8 * 3 * 4096 * 14336);
  p.data = 8;
  p.expert = 8;
  const StageParameters share = stage_parameters(m, p)[0];
  CHECK(share.experts == whole.experts / 8);
  CHECK(share.dense == whole.dense);
  p.expert = 4;
  p.expert_tensor = 2;
  CHECK(stage_parameters(m, p)[0].experts == whole.experts / 8);
}

TEST_CASE("parameters: tensors as optimizers and norms count them", "[count]") {
  Parallel p;
  CHECK(stage_parameters(shapes::llama_31_8b(), p)[0].tensors == 291);  // 32·9 + 3, [framework-traces]
  CHECK(stage_parameters(shapes::gpt2(), p)[0].tensors == 148);         // 12·12 + 4: q, k, v in one matrix
  p.framework = Framework::megatron;
  CHECK(stage_parameters(shapes::llama_31_8b(), p)[0].tensors == 195);  // 32·6 + 3: qkv, proj, fc1, fc2, two norms
}

TEST_CASE("parameters: adapters", "[count]") {
  Lora lora;
  lora.rank = 16;
  lora.targets = {LoraTarget::q,    LoraTarget::k,  LoraTarget::v,   LoraTarget::o,
                  LoraTarget::gate, LoraTarget::up, LoraTarget::down};
  const StageParameters all = stage_adapters(shapes::llama_31_8b(), lora, Parallel{})[0];
  CHECK(all.total() == 41943040);  // trained parameters of Llama-3-8B, rank 16, all linear layers ([framework-traces])
  CHECK(all.tensors == 448);
  lora.targets = {LoraTarget::q, LoraTarget::v};
  // r·(h + a·d) + r·(h + k·d) a layer
  CHECK(stage_adapters(shapes::llama_31_8b(), lora, Parallel{})[0].total() == 32.0 * 16 * (8192 + 5120));
}

TEST_CASE("parameters: an opaque model has its totals", "[count]") {
  Model m;
  m.opaque = OpaqueModel{1000, 10, 6e9, 1e6};
  CHECK(count_parameters(m).total == 1000);
  const StageParameters s = stage_parameters(m, Parallel{})[0];
  CHECK(s.total() == 1000);
  CHECK(s.layers == 10);
  CHECK(s.largest_layer == 100);
}

TEST_CASE("parameters: recomputed layers are the first of each piece, by kind", "[count]") {
  const Model m = shapes::deepseek_v3();  // layers 0 to 2 are dense
  Parallel p;
  const auto layers = [&](const Model& model, Recompute r, Count stage) {
    const StageLayers s = recomputed_layers(model, p, r, stage);
    return std::pair<Count, Count>{s.dense, s.moe};
  };
  using Kinds = std::pair<Count, Count>;
  CHECK(layers(m, {RecomputeKind::none, 0}, 0) == Kinds{0, 0});
  CHECK(layers(m, {RecomputeKind::selective, 0}, 0) == Kinds{0, 0});
  CHECK(layers(m, {RecomputeKind::full, 0}, 0) == Kinds{3, 58});
  CHECK(layers(m, {RecomputeKind::full_layers, 4}, 0) == Kinds{3, 1});
  CHECK(layers(m, {RecomputeKind::every, 10}, 0) == Kinds{1, 6});  // 0, 10, ... 60
  p.pipeline = 7;                                                  // 8, 9, ... 9, 8 layers
  CHECK(layers(m, {RecomputeKind::full_layers, 4}, 0) == Kinds{3, 1});
  CHECK(layers(m, {RecomputeKind::full_layers, 4}, 3) == Kinds{0, 4});
  CHECK(layers(m, {RecomputeKind::full_layers, 9}, 6) == Kinds{0, 8});
  p.pipeline = 4;
  p.pipeline_schedule = PipelineSchedule::interleaved;
  p.virtual_stages = 2;  // two pieces of 4 layers a stage
  Model every_second = shapes::mixtral_8x7b();
  every_second.moe->every = 2;  // 1, 3, ...
  CHECK(layers(every_second, {RecomputeKind::full_layers, 3}, 1) == Kinds{4, 2});
  CHECK(layers(every_second, {RecomputeKind::every, 2}, 1) == Kinds{4, 0});
  CHECK(layers(every_second, {RecomputeKind::full, 0}, 1) == Kinds{4, 4});
}
