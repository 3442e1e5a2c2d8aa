#include "core/describe/training.hpp"

#include <span>

#include "core/base/format.hpp"
#include "core/describe/checks.hpp"

namespace wireplan {
namespace {

constexpr double kMaxTokensPerMicroBatch = 1e9;

void check_dtype(Checks& check, std::string_view key, DType given, std::span<const DType> allowed) {
  std::string listed;
  for (const DType t : allowed) {
    if (t == given) return;
    listed += (listed.empty() ? "" : " | ") + std::string(name_of(t));
  }
  check.fail(key, quoted(name_of(given)), listed,
             std::string(key) + " cannot be " + std::string(name_of(given)) + ". Nearest: " + listed);
}

void check_lora(Checks& check, const Lora& lora) {
  check.range("lora.rank", static_cast<double>(lora.rank), 1, 1e5);
  check.require(!lora.targets.empty(), "lora.targets", "[]", "at least one of " + names_listed<LoraTarget>(),
                "lora.targets is empty. Nearest: [\"q\",\"v\"]");
  for (std::size_t i = 0; i < lora.targets.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (lora.targets[i] == lora.targets[j])
        check.fail("lora.targets", quoted(name_of(lora.targets[i])), "each target once",
                   "lora.targets names " + std::string(name_of(lora.targets[i])) + " twice. Nearest: once");
  check_dtype(check, "lora.base_dtype", lora.base_dtype, kLoraBaseDtypes);
  if (lora.quant_storage) check_dtype(check, "lora.quant_storage", *lora.quant_storage, kStateDtypes);
}

void check_details(Checks& check, const Details& d) {
  if (d.loss_chunks) check.range("details.loss_chunks", static_cast<double>(*d.loss_chunks), 1, 1e6);
  if (d.bucket_bytes) check.range("details.bucket_bytes", static_cast<double>(*d.bucket_bytes), 1, 1e12);
  if (d.fsdp_version) check.range("details.fsdp_version", static_cast<double>(*d.fsdp_version), 1, 2);
  if (d.lora_dropout) check.range("details.lora_dropout", *d.lora_dropout, 0, 1);
  if (d.reduce_dtype) check_dtype(check, "details.reduce_dtype", *d.reduce_dtype, kGradientDtypes);
  if (d.adapter_dtype) check_dtype(check, "details.adapter_dtype", *d.adapter_dtype, kAdapterDtypes);
}

}  // namespace

Errors validate(const Training& t, const std::string& prefix) {
  Errors errors;
  Checks check(errors, prefix);
  const bool sequence = check.range("sequence_length", static_cast<double>(t.sequence_length), 1, 1e8);
  if (t.sequence_length_mean && sequence)
    check.range("sequence_length_mean", *t.sequence_length_mean, 1, static_cast<double>(t.sequence_length));
  const bool micro = check.range("micro_batch_size", static_cast<double>(t.micro_batch_size), 1, 1e6);
  check.range("global_batch_size", static_cast<double>(t.global_batch_size), 1, 1e9);
  const double tokens = product_of(t.sequence_length, t.micro_batch_size);
  if (sequence && micro && tokens > kMaxTokensPerMicroBatch)
    check.fail("micro_batch_size", format_exact(static_cast<double>(t.micro_batch_size)),
               "at most 1e9 tokens in a micro-batch",
               "micro_batch_size " + format_count(static_cast<double>(t.micro_batch_size)) + " × sequence_length " +
                   format_count(static_cast<double>(t.sequence_length)) + " is more than 1e9 tokens. Nearest: " +
                   format_exact(static_cast<double>(static_cast<Count>(kMaxTokensPerMicroBatch) / t.sequence_length)));
  check_dtype(check, "parameter_dtype", t.parameter_dtype, kParameterDtypes);
  check_dtype(check, "gradient_dtype", t.gradient_dtype, kGradientDtypes);
  if (t.master_weights_dtype && *t.master_weights_dtype != DType::fp32)
    check.fail("master_weights_dtype", quoted(name_of(*t.master_weights_dtype)), "null | fp32",
               "master_weights_dtype cannot be " + std::string(name_of(*t.master_weights_dtype)) + ". Nearest: fp32");
  check_dtype(check, "optimizer_state_dtype", t.optimizer_state_dtype, kStateDtypes);
  if (t.recompute.kind == RecomputeKind::full_layers)
    check.range("recompute.full_layers", static_cast<double>(t.recompute.n), 1, 1e5);
  if (t.recompute.kind == RecomputeKind::every)
    check.range("recompute.every", static_cast<double>(t.recompute.n), 1, 1e5);
  check.range("hidden_dropout", t.hidden_dropout, 0, 1);
  check.range("attention_dropout", t.attention_dropout, 0, 1);
  if (t.lora) check_lora(check, *t.lora);
  if (t.details) check_details(check, *t.details);
  return errors;
}

}  // namespace wireplan
