// A sound plan to break one field at a time, and what an error must say.
#pragma once

#include <string>
#include <string_view>

#include "core/describe/plan.hpp"

namespace wireplan {

inline Model sound_model() {
  Model m;
  m.hidden_size = 4096;
  m.num_layers = m.num_attention_heads = 32;
  m.num_key_value_heads = 8;
  m.head_dim = 128;
  m.intermediate_size = 14336;
  m.vocab_size = 32000;
  return m;
}

inline Cluster sound_cluster(int gpus = 8) {
  Cluster c;
  c.node.gpu.name = "a GPU";
  c.node.gpu.memory = Bytes(80e9);
  c.node.gpu.hbm = BytesPerSecond(2e12);
  c.node.gpu.bf16 = FlopsPerSecond(312e12);
  c.node.gpu.nvlink = BytesPerSecond(300e9);
  c.node.gpus = c.gpus_per_node = gpus;
  c.node.wiring.kind = WiringKind::nvswitch;
  return c;
}

inline Plan sound_plan() {
  Plan p;
  p.model = sound_model();
  p.cluster = sound_cluster();
  p.parallel.data = 8;
  p.training.global_batch_size = 64;
  return p;
}

// Whether there is an error at `path` whose limit and text both hold these words.
inline bool has_error(const Errors& errors, std::string_view path, std::string_view in_limit = "",
                      std::string_view in_text = "") {
  for (const Error& e : errors)
    if (e.path == path && e.limit.find(in_limit) != std::string::npos && e.text.find(in_text) != std::string::npos)
      return true;
  return false;
}

// For failure messages.
inline std::string text_of(const Errors& errors) {
  std::string text;
  for (const Error& e : errors) text += e.path + " [" + e.value + "] {" + e.limit + "}: " + e.text + "\n";
  return text.empty() ? "no errors" : text;
}

}  // namespace wireplan
