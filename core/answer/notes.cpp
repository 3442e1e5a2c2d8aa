#include <string>

#include "core/answer/estimate.hpp"
#include "core/base/format.hpp"
#include "core/step/host_optimizer.hpp"

namespace wireplan {

namespace {

class Notes {
 public:
  void info(std::string path, std::string text) { list_.push_back({Severity::info, std::move(path), std::move(text)}); }
  void warning(std::string path, std::string text) { list_.push_back({Severity::warning, std::move(path), std::move(text)}); }
  std::vector<Note> take() { return std::move(list_); }

 private:
  std::vector<Note> list_;
};

std::string of(Count n) { return std::to_string(n); }

// What is legal but costs something the reader may not expect.
void note_layout(const Plan& p, Notes& n) {
  const Model& m = p.model;
  const Parallel& l = p.parallel;
  if (!m.opaque) {
    if (l.tensor > 1 && m.num_key_value_heads % l.tensor != 0)
      n.warning("parallel.tensor", of(m.num_key_value_heads) + " KV heads do not divide by tensor " + of(l.tensor) + ": they are replicated on the ranks that share one");
    if (const Count padded = padded_vocabulary(m, l.framework, l.tensor); padded != m.vocab_size)
      n.info("model.vocab_size", "vocabulary of " + of(m.vocab_size) + " is padded to " + of(padded));
    if (l.pipeline * l.virtual_stages > 1 && m.num_layers % (l.pipeline * l.virtual_stages) != 0)
      n.info("parallel.pipeline", "embedding and head each take the place of a layer: first and last stage hold one layer less");
    if (m.max_position_embeddings > 0 && p.training.sequence_length > m.max_position_embeddings)
      n.warning("training.sequence_length", "sequence of " + of(p.training.sequence_length) + " is longer than the " + of(m.max_position_embeddings) + " positions the model was made for");
  }
  if (l.data_sharding == DataSharding::zero1 && l.data * l.context == 1)
    n.info("parallel.data_sharding", "zero1 over one rank shards nothing");
  if (l.sequence_parallel && l.tensor == 1) n.info("parallel.sequence_parallel", "has no effect with tensor 1");
}

// What of the memory a reader would not look for in the totals: phases that need more than a steady step, units that hold everything.
void note_memory(const Plan& p, const Estimate& e, Notes& n) {
  const MemoryAnswer& m = e.memory;
  const struct {
    const char* path;
    Bytes bytes;
    const char* what;
  } phases[] = {{"load", m.load, "loading"}, {"initialize", m.initialize, "starting the framework"}, {"first_step", m.first_step, "the first step"}, {"save", m.save, "saving"}};
  for (const auto& phase : phases)
    if (phase.bytes + m.runtime > m.capacity && m.need.value <= m.capacity)
      n.warning(std::string("memory.phases.") + phase.path, std::string(phase.what) + " needs " + format_bytes(phase.bytes + m.runtime, ByteUnit::GiB) + " on the GPU, more than it has, though a steady step would fit");
  if (m.verdict == Verdict::tight)
    n.warning("memory.verdict", "the caching allocator will fill the card, give back its cached blocks and try again (each time the GPU waits for cudaFree and cudaMalloc); expandable segments or a smaller micro-batch avoid it");
  const bool gathers = shards_parameters(p.parallel.data_sharding) && p.parallel.framework == Framework::pytorch;
  if (gathers && p.parallel.fsdp_unit.kind == FsdpUnit::Kind::none)
    n.warning("parallel.fsdp_unit", "the model is wrapped whole: every gather brings all parameters and all gradients wait for one reduction; wrap each block");
}

// Stated switches of mechanisms the plan does not have.
void note_details(const Plan& p, Notes& n) {
  if (!p.training.details) return;
  const Details& d = *p.training.details;
  const bool is_pytorch = p.parallel.framework == Framework::pytorch, is_deepspeed = p.parallel.framework == Framework::deepspeed;
  const bool is_sharded = !is_deepspeed && (shards_parameters(p.parallel.data_sharding) || (is_pytorch && p.parallel.data_sharding == DataSharding::zero2));
  const auto note = [&](bool is_stated, bool has_effect, const char* key, const char* where) {
    if (is_stated && !has_effect) n.info(std::string("training.details.") + key, std::string("has an effect only ") + where);
  };
  const char* fsdp = "where FSDP shards the parameters";
  note(d.fsdp_version.has_value(), is_sharded, "fsdp_version", fsdp);
  note(d.fsdp_units.has_value(), is_sharded, "fsdp_units", fsdp);
  note(d.reshard_last_unit.has_value(), is_sharded, "reshard_last_unit", fsdp);
  note(d.fsdp_backward_prefetch.has_value(), is_sharded, "fsdp_backward_prefetch", fsdp);
  note(d.fsdp_use_orig_params.has_value(), is_sharded, "fsdp_use_orig_params", fsdp);
  note(d.bucket_bytes.has_value(), is_pytorch && !is_sharded, "bucket_bytes", "with DistributedDataParallel of PyTorch");
  note(d.gradient_as_bucket_view.has_value(), is_pytorch && !is_sharded, "gradient_as_bucket_view", "with DistributedDataParallel of PyTorch");
  note(d.autocast.has_value(), is_pytorch, "autocast", "with framework pytorch");
  note(d.built.has_value(), is_deepspeed, "built", "with framework deepspeed");
  note(d.loss_chunks.has_value(), p.training.loss == Loss::chunked, "loss_chunks", "with loss chunked");
  note(d.loss_recompute.has_value(), p.training.loss == Loss::chunked, "loss_recompute", "with loss chunked");
  note(d.lora_dropout.has_value(), p.training.lora.has_value(), "lora_dropout", "with lora");
  note(d.adapter_dtype.has_value(), p.training.lora.has_value(), "adapter_dtype", "with lora");
}

// What the times of collectives rest on, where they go beyond what was measured, and what slows them that a setting can change.
void note_collectives(const Plan& p, const Estimate& e, Notes& n) {
  if (e.communication.empty()) return;
  int own = 0, measured = 0, formula = 0, outside = 0;
  for (const CommunicationRow& row : e.communication) {
    own += row.basis == name_of(Basis::profile);
    measured += row.basis == name_of(Basis::measured) || row.basis == name_of(Basis::interpolated);
    formula += row.basis == name_of(Basis::formula);
    outside += row.basis == name_of(Basis::extrapolated);
  }
  std::string text = "times of collectives, " + of(static_cast<Count>(e.communication.size())) + " in all: ";
  if (own > 0) text += of(own) + " by the cluster's profile, ";
  text += of(measured) + " by published measurements of such machines, " + of(formula) + " by formula alone";
  if (outside > 0) text += ", " + of(outside) + " beyond the sizes that were measured";
  n.info("communication", text + "; what runs beside compute waits while layers send over the same links, other kinds of groups that send at once do not slow each other");
  if (outside > 0) n.warning("communication", of(outside) + (outside == 1 ? " message is" : " messages are") + " of a size that was not measured on such machines: the time is extrapolated");
  bool copies = false;
  const RingOnWiring* plain = nullptr;
  for (const MessageCost& c : e.cost.messages) {
    copies = copies || c.ring.uses_host_memory;
    if (plain == nullptr && c.ring.is_plain_order) plain = &c.ring;
  }
  if (plain != nullptr)
    n.warning("cluster.node", "NCCL's search finds no ring fast enough between these GPUs: it takes rank order on " + of(plain->plan->channels) + " channels, plans 0.1 GB/s and so leaves the protocols for small messages early; NCCL_MIN_NCHANNELS=8 or a graph file helps, wireplan topology nccl says why");
  else if (copies && peers_over_pcie(p.cluster.node, 0, p.cluster.node.gpus - 1))
    n.info("cluster.node", "past a host bridge NCCL copies through host memory though peers could reach each other: NCCL_P2P_LEVEL=SYS changes that");
}

// What this version calculates coarsely, or carries without using it.
void note_depth(const Plan& p, const Estimate& e, Notes& n) {
  n.info("memory.reserved_bytes", "provisional: allocator slack and runtime are typical shares, not measured on this machine");
  n.info("step.time_s", "estimated kernel by kernel at the part's attainable clock; on published runs nothing was fitted on, the median error is 6 %, nine of ten are within 20 %, experts and runs bound by their host further off");
  for (const MessageCost& c : e.cost.messages)
    if (nic_share(p, c.message.group, c.ring.nodes) < 1) {
      n.warning("communication", "DeepSpeed's data-parallel traffic between nodes is taken to use one of " + of(p.cluster.network->nics_per_node) + " NICs of a node, as in the published runs that show it (two sites); should yours use all, the low ends of these times hold: a profile of the cluster, or a look at the NICs' counters, tells");
      break;
    }
  note_collectives(p, e, n);
  if (p.model.moe) n.info("model.moe", "routing is taken as balanced over the experts");
  const Training& t = p.training;
  if (t.kernels == Kernels::compiled) n.info("training.kernels", "what compiled kernels keep for the backward is fitted on published peaks, not read from their code");
  if (t.lora && p.parallel.data_sharding == DataSharding::zero3) n.info("training.lora", "the modules that adapters add to ZeRO-3's order of gathers are left out");
  if (t.lora && t.lora->quant_storage) n.warning("training.lora.quant_storage", "is carried but not used yet");
  if (t.load == Load::rank0) n.info("training.load", "the whole model that rank 0 builds in host memory is not counted");
  if (p.cluster.network && p.cluster.network->shorthand.empty())
    n.warning("cluster.network", "latency_s and rail_optimized are carried but not used yet: latency is that of the fabric");
  if (p.cluster.profile && (!p.cluster.profile->gemms.empty() || p.cluster.profile->hbm.value > 0))
    n.info("cluster.profile", "its rates of matrix products and memory are carried but not used yet");
  if (t.sequence_length_mean) n.warning("training.sequence_length_mean", "is carried but not used yet: every sequence counts at its full length");
  const std::string engine = std::string(name_of(p.parallel.framework)) + " with data_sharding " + std::string(name_of(p.parallel.data_sharding));
  if (t.offload.parameters && e.memory.states.parameters.value > 0) n.warning("training.offload.parameters", "has no effect: " + engine + " does not offload parameters");
  if (t.offload.optimizer && e.memory.states.optimizer_states.value > 0) n.warning("training.offload.optimizer", "has no effect: " + engine + " does not offload the optimizer");
  if (t.offload.optimizer || t.offload.parameters || t.offload.activations)
    n.warning("training.offload", "copies of sharded parameters run beside compute, those of the optimizer and of activations do not");
  if (runs_optimizer_on_host(p))
    n.warning("step.optimizer_s", "the optimizer on the host is taken to have all cores and local memory: with one thread a rank, which torchrun gives where OMP_NUM_THREADS is not set, or memory of the other socket, published runs took three to seven times as long");
  if (is_low_precision(t.parameter_dtype))
    n.warning("training.parameter_dtype", "the copies and casts of " + std::string(name_of(t.parameter_dtype)) + " recipes are not counted yet: weights as 16 bit, activations as 16 bit");
  if (t.optimizer == Optimizer::adafactor) n.info("training.optimizer", "adafactor's factored states are counted per matrix of an average layer");
  if (t.optimizer == Optimizer::adamw_8bit_paged) n.warning("training.optimizer", "paged states are counted on the GPU: the driver moves them to the host only under pressure");
}

// Whether figures of the machine are guesses.
void note_machine(const Plan& p, Notes& n) {
  for (const Assumption& a : p.cluster.node.assumed) n.info("cluster.node." + a.path, "assumed " + a.value + ": " + a.why);
  if (matrix_peak(p.cluster.node.gpu, p.training.parameter_dtype).value <= 0)
    n.warning("cluster.node.gpu", "no matrix-product rate is known for " + p.cluster.node.gpu.name + ": compute time is left out");
  if (p.cluster.node.gpu.reported.value <= 0)
    n.info("memory.capacity_bytes", "nominal size: what a process sees on " + p.cluster.node.gpu.name + " is not known");
}

}  // namespace

std::vector<Note> notes(const Plan& plan, const Estimate& estimate) {
  Notes n;
  note_layout(plan, n);
  note_memory(plan, estimate, n);
  note_details(plan, n);
  note_depth(plan, estimate, n);
  note_machine(plan, n);
  return n.take();
}

}  // namespace wireplan
