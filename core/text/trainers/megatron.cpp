// Megatron-LM's arguments as a shell file of arrays.  [megatron-lm] megatron/training/arguments.py of autumn 2025
#include "core/text/trainers/megatron_arguments.hpp"
#include "core/text/trainers/megatron_fields.hpp"
#include "core/text/trainers/megatron_options.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr Reason kReasons[] = {
    {"training.sequence_length_mean", "Megatron-LM packs sequences to full length"},
    {"training.parameter_dtype", "Megatron-LM has bf16, fp16, fp32, fp8, mxfp8 and nvfp4"},
    {"training.gradient_dtype", "gradients are summed in fp32, with fp16 in fp16 and with --grad-reduce-in-bf16 in bf16"},
    {"training.master_weights_dtype", "Megatron-LM keeps fp32 master weights beside 16-bit parameters, and none beside fp32"},
    {"training.optimizer_state_dtype", "states are fp32, or 16 bit with the precision-aware optimizer, which shards them"},
    {"training.optimizer", "Megatron-LM has Adam, SGD and Muon"},
    {"training.recompute", "Megatron-LM recomputes attention, the first layers of a stage, or every layer in units of n"},
    {"training.attention", "the attention backend decides"},
    {"training.loss", "Megatron-LM computes the loss over all logits at once, fused or not"},
    {"training.kernels", "Megatron-Core's layers are fused kernels"},
    {"training.implementation", "these are the arguments of Megatron-LM; its release is what is installed"},
    {"training.lora", "Megatron-LM trains whole models; Megatron-Bridge has LoRA"},
    {"training.offload.parameters", "Megatron-LM keeps parameters on the GPU"},
    {"training.offload.activations", "activations are offloaded without pipeline and recomputation alone"},
    {"training.load", "each rank makes its own part"},
    {"training.checkpoint", "checkpoints are sharded, or whole with --ckpt-format torch; FSDP's are sharded"},
    {"training.details", "Megatron-LM has no argument for it"},
    {"training.cuda_graphs", "--cuda-graph-impl says it"},
    {"parallel.data_sharding", "Megatron-LM has DDP, the distributed optimizer and Megatron-FSDP"},
    {"parallel.shard_group", "groups of the distributed optimizer divide the data parallel ranks evenly"},
    {"parallel.fsdp_unit", "Megatron-FSDP shards by transformer layer"},
    {"parallel.order", "ranks run tp-cp-ep-dp-pp, or tp-cp-ep-pp-dp with --use-tp-pp-dp-mapping"},
    {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
    {"parallel.gradient_sync", "gradients are reduced with the last micro-batch"},
    {"parallel.pipeline_schedule", "Megatron-LM has 1F1B and its interleaved form"},
    {"parallel.virtual_stages", "virtual stages are those of the interleaved schedule"},
    {"parallel.overlap.pipeline", "1F1B does not overlap its sends; the interleaved schedule does"},
    {"parallel.overlap.tensor", "--tp-comm-overlap takes sequence parallelism"},
    {"parallel.overlap.parameter_gather", "--overlap-param-gather takes the distributed optimizer and --overlap-grad-reduce"},
    {"parallel.moe_dispatcher", "--moe-token-dispatcher-type says it"},
    {"parallel.deepspeed", "Megatron-LM does not read it"},
};

constexpr std::string_view kHeads[] = {"The model.", "Its experts.", "How it is split: tensor, pipeline, context.", "Data parallelism: who keeps and sends what.", "A step: batch, formats, optimizer, kernels.", "Memory for time."};

Result<Export> write(const Plan& plan) {
  if (plan.parallel.framework != Framework::megatron)
    return Error{"parallel.framework", value_text(Json(name_of(plan.parallel.framework))), "megatron", "Megatron-LM trains plans of framework megatron, not " + std::string(name_of(plan.parallel.framework)) + ". Nearest: parallel.framework megatron, or another trainer"};
  if (plan.model.opaque)
    return Error{"model", value_text(Json(plan.model.name)), "a transformer", "Megatron-LM's arguments describe a transformer; this model is given by its totals alone"};
  MegatronOptions made = megatron_options(plan);
  std::string text = "#!/bin/bash\n# Arguments of Megatron-LM (pretrain_gpt.py): source this, then pass \"${MEGATRON_ARGS[@]}\".\n";
  std::string all;
  for (std::size_t g = 0; g < kNames<OptionGroup>.size(); ++g) {
    std::string lines;
    for (const MegatronOption& o : made.options)
      if (o.group == static_cast<OptionGroup>(g)) ((lines += "  --") += o.name) += (o.value.empty() ? "" : " " + o.value) + "\n";
    if (lines.empty() && static_cast<OptionGroup>(g) == OptionGroup::experts) continue;
    const std::string name(kNames<OptionGroup>[g]);
    text += "\n# " + std::string(kHeads[g]) + "\n" + name + "=(\n" + lines + ")\n";
    all += "  \"${" + name + "[@]}\"\n";
  }
  // NullTokenizer counts an end-of-document token of its own.
  text += "\n# Not part of a plan, and yours to choose: data, tokenizer, length, learning rate. With these it runs on made-up data.\nRUN_ARGS=(\n  --mock-data\n  --tokenizer-type NullTokenizer\n  --vocab-size " +
          std::to_string(plan.model.vocab_size - 1) + "\n  --train-iters 100\n  --lr 1e-4\n  --log-interval 1\n  --eval-iters 0\n)\n\nMEGATRON_ARGS=(\n" + all + "  \"${RUN_ARGS[@]}\"\n)\n";
  Export out;
  out.files.push_back({"megatron_args.sh", std::move(text)});
  out.inexpressible = std::move(made.inexpressible);
  out.notes = std::move(made.notes);
  return out;
}

// Keys of a printed list that a plan has nothing to do with, or that have their default.
bool says_nothing(const std::string& key, const Json& value) {
  if (is_megatron_argument(key)) return false;
  constexpr Word kDefaults[] = {{"cp_comm_type", "\"['p2p']\""}, {"cuda_graph_scope", "\"full\""}, {"optimizer_offload_fraction", "1"}, {"num_layers_at_start_in_bf16", "1"}, {"num_layers_at_end_in_bf16", "1"}, {"moe_deepep_num_sms", "20"},
                                {"gradient_accumulation_fusion", "true"}, {"masked_softmax_fusion", "true"}, {"create_attention_mask_in_dataloader", "true"}, {"torch_fsdp2_reshard_after_forward", "true"}};
  if (value.is_null() || value == Json(false) || value == Json(0) || our_word(kDefaults, key) == dump_json_compact(value).substr(0, dump_json_compact(value).find('\n'))) return true;
  for (const KeyNote& n : megatron_key_notes())
    if (n.key == key) return n.effect == KeyEffect::none;
  return true;
}

Result<ImportedTrainer> read(const ConfigText& config) {
  Result<MegatronArguments> found = megatron_arguments(config);
  if (!found) return found.errors();
  MegatronArguments& arguments = found.value();
  std::size_t known = 0, left_out = 0;
  Json values = Json::object();
  for (auto it = arguments.values.begin(); it != arguments.values.end(); ++it) {
    known += is_megatron_argument(it.key());
    if (arguments.is_printed && says_nothing(it.key(), it.value())) ++left_out;
    else values[it.key()] = it.value();
  }
  if (known == 0 && arguments.unresolved.empty()) return other_syntax(config, "Megatron-LM", "a script or list of its arguments, or what the program prints of them");
  ConfigReader r(Trainer::megatron, values);
  for (Note& n : arguments.notes) r.out.notes.push_back(std::move(n));
  read_megatron_fields(r, {&values, arguments.unresolved, true});
  for (const std::string& name : arguments.unresolved) r.out.unread.push_back({name, "null", KeyEffect::changes, "its value comes from outside this text"});
  if (left_out > 0) r.note(Severity::info, "", std::to_string(left_out) + " of the printed arguments decide nothing of a plan, or have their default");
  return r.finish(megatron_key_notes());
}

int likeness(const ConfigText& config) {
  const Result<MegatronArguments> found = megatron_arguments(config);
  if (!found) return 0;
  int known = 0;
  for (auto it = found.value().values.begin(); it != found.value().values.end(); ++it) known += is_megatron_argument(it.key());
  return known;
}

}  // namespace

const TrainerCode kMegatron{write, read, likeness, kReasons};

}  // namespace wireplan
