#include "core/describe/switches.hpp"

namespace wireplan {

void apply(const Details& d, Switches& s) {
  const auto put = [](const auto& from, auto& to) {
    if (from) to = *from;
  };
  put(d.autocast, s.autocast);
  put(d.gradient_clipping, s.gradient_clipping);
  put(d.repeat_kv, s.repeat_kv);
  put(d.padding, s.padding);
  put(d.logits_kept, s.logits_kept);
  put(d.loss_recompute, s.loss_recompute);
  put(d.loss_parallel, s.loss_parallel);
  put(d.loss_chunks, s.loss_chunks);
  put(d.optimizer_kernel, s.optimizer_kernel);
  put(d.norm_kernel, s.norm_kernel);
  put(d.attention_kernel, s.attention_kernel);
  put(d.gradient_as_bucket_view, s.gradient_as_bucket_view);
  put(d.bucket_bytes, s.bucket_bytes);
  put(d.fsdp_version, s.fsdp_version);
  if (d.fsdp_version && *d.fsdp_version == 1) s.fsdp_units = FsdpUnits::blocks;
  put(d.fsdp_units, s.fsdp_units);
  put(d.reshard_last_unit, s.reshard_last_unit);
  put(d.fsdp_backward_prefetch, s.fsdp_backward_prefetch);
  put(d.fsdp_use_orig_params, s.fsdp_use_orig_params);
  put(d.reduce_dtype, s.reduce_dtype);
  put(d.lora_dropout, s.lora_dropout);
  put(d.adapter_dtype, s.adapter_dtype);
  put(d.frozen_embedding, s.frozen_embedding);
  put(d.built, s.built);
}

}  // namespace wireplan
