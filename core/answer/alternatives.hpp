// The same plan with one thing changed, ready to be shown side by side.
#pragma once

#include <string>
#include <vector>

#include "core/answer/estimate.hpp"
#include "core/base/format.hpp"

namespace wireplan {

struct Alternative {
  std::string key;      // stable: "ddp", "zero1", "nvswitch", "no-p2p"
  std::string label;    // for people: "DDP", "ZeRO-2", "FSDP", "HSDP 2 × 2", "NVSwitch", "PCIe without P2P"
  std::string implemented_by;  // what that is called in the plan's framework, e.g. "SHARD_GRAD_OP"
  bool chosen = false;  // this is the plan itself
  Plan plan;
  Estimate estimate;
};

// The plan under every data sharding its framework has (DDP, ZeRO-1, ZeRO-2, ZeRO-3/FSDP, and HSDP where the data group splits).
std::vector<Alternative> sharding_alternatives(const Plan& plan, const Constants& constants);

// Ranks of a shard group worth looking at with HSDP: a node's share of a data group over several nodes, else half of the group; 0: it cannot split.
Count hybrid_shard_group(const Plan& plan);

// The plan on a node with the same card and other wires: boards other than a switch are taken as two-socket hosts, GPUs split in order.
Plan with_wiring(const Plan& plan, WiringKind kind, int p2p);

// The plan on other wirings of the same card: all-to-all switch, NVLink pairs over PCIe, PCIe through the host, PCIe without P2P,
// plus the node as it is when none of them matches. The card is held fixed, so only the wires change.
std::vector<Alternative> wiring_alternatives(const Plan& plan, const Constants& constants);

// The three recipes people mean by "bytes per parameter": pure bf16 AdamW (8 B), bf16 with fp32 moments (12 B), and mixed precision with
// fp32 master weights and gradients (16 B in PyTorch, where the master is the parameter; 18 B where it is a copy). The bytes of each
// stand in its estimate.
std::vector<Alternative> recipe_alternatives(const Plan& plan, const Constants& constants);

// One piece of the answer sentence; `key` is the estimate path the piece can be looked up at, "" for plain words.
struct SentencePiece {
  enum class Tone : unsigned char { plain, number, good, bad, exposed } tone = Tone::plain;
  std::string text, key;
};
// "Does not fit: 86.9 GB of model states alone, of 85.1 GB per GPU with DDP …" — at most two sentences, numbers from the estimate.
std::vector<SentencePiece> answer_sentence(const Plan& plan, const Estimate& estimate, ByteUnit unit);

}  // namespace wireplan
