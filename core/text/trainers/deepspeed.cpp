// DeepSpeed's JSON, given to deepspeed.initialize or --deepspeed_config. Model, sequences, recomputation and every parallelism but data
// are the training code's, so the plan's are listed as inexpressible.
// source: [deepspeed-config]
#include "core/text/trainers/deepspeed_config.hpp"
#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

constexpr Reason kReasons[] = {
    {"training.sequence_length", "the data decides it, in the training code"},
    {"training.sequence_length_mean", "the data decides it, in the training code"},
    {"training.recompute", "the training code switches it on (model.gradient_checkpointing_enable())"},
    {"training.attention", "the model's code decides it"},
    {"training.loss", "the model's code decides it"},
    {"training.kernels", "the training code compiles (engine.compile())"},
    {"training.implementation", "the configuration does not say whose code trains"},
    {"training.details", "the training code decides it"},
    {"training.hidden_dropout", "the model's code decides it"},
    {"training.attention_dropout", "the model's code decides it"},
    {"training.lora", "the training code adds adapters"},
    {"training.parameter_dtype", "DeepSpeed trains in fp32, bf16 or fp16"},
    {"training.gradient_dtype", "DeepSpeed keeps gradients in data_types.grad_accum_dtype"},
    {"training.master_weights_dtype", "DeepSpeed keeps an fp32 master copy of 16-bit parameters unless bf16_master_weights_and_grads is set, and none of fp32"},
    {"training.optimizer_state_dtype", "states are fp32 unless bf16_optimizer_states is set"},
    {"training.optimizer", "the training code passes this optimizer to deepspeed.initialize"},
    {"training.offload", "the configuration moves optimizer and parameters; activations are the training code's"},
    {"training.load", "the training code loads the model (deepspeed.zero.Init)"},
    {"training.checkpoint", "DeepSpeed writes sharded checkpoints"},
    {"training.cuda_graphs", "the configuration has no key for it in training"},
    {"parallel.tensor", "the training code splits the model (tensor_parallel.autotp_size is DeepSpeed's own way)"},
    {"parallel.pipeline", "the training code makes the pipeline (deepspeed.PipelineModule)"},
    {"parallel.pipeline_schedule", "deepspeed.PipelineModule runs 1F1B"},
    {"parallel.context", "the training code splits sequences"},
    {"parallel.expert", "the training code spreads experts (deepspeed.moe)"},
    {"parallel.expert_tensor", "the training code spreads experts"},
    {"parallel.sequence_parallel", "the training code splits the model"},
    {"parallel.order", "the training code numbers the ranks"},
    {"parallel.deepspeed", "the plan's overlap stands as overlap_comm in DeepSpeed's configuration, where it has buffers of its own"},
    {"parallel.placement", "the launch decides which GPU a rank gets (CUDA_VISIBLE_DEVICES)"},
    {"parallel.fsdp_unit", "stage 3 gathers by module and its prefetch bucket"},
    {"parallel.gradient_sync", "DeepSpeed reduces in every micro-batch from stage 2 on, once a step below"},
    {"parallel.overlap", "overlap_comm switches reductions; stage 3 prefetches always"},
};

Result<Export> write(const Plan& plan) {
  if (plan.parallel.framework != Framework::deepspeed)
    return Error{"to", "\"deepspeed\"", "a plan with parallel.framework deepspeed",
                 "the plan trains with " + std::string(name_of(plan.parallel.framework)) + ". Nearest: --to " + std::string(name_of(usual_trainer(plan)))};
  Export out;
  out.files.push_back({"ds_config.json", dump_json(deepspeed_document(plan))});
  out.notes.push_back({Severity::info, "model", "the model and its data stay in the training code; optimizer and learning rate too, unless the file names an optimizer"});
  return out;
}

Result<ImportedTrainer> read(const ConfigText& config) {
  if (!config.document.is_object()) return other_syntax(config, "DeepSpeed", "JSON");
  ConfigReader r(Trainer::deepspeed, config.document);
  read_deepspeed(r, "", config.document);
  for (const char* path : {"model", "training.sequence_length", "cluster"}) r.out.missing.emplace_back(path);
  return r.finish(deepspeed_notes());
}

int likeness(const ConfigText& config) {
  int found = 0;
  for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization", "zero_optimization.stage", "bf16.enabled", "fp16.enabled", "zero_allow_untested_optimizer", "steps_per_print", "gradient_clipping"})
    found += config.document.is_object() && member_at(config.document, key) != nullptr ? 1 : 0;
  return found;
}

}  // namespace

constexpr TrainerCode kDeepSpeed = {write, read, likeness, kReasons};

}  // namespace wireplan
