// Plans out as a trainer's configuration files, and such files in as parts of a plan. What one side cannot say is listed, never dropped.
//
// A trainer is one file of this folder behind the table of trainers.hpp. Nothing here reads or writes files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/plan.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

enum class Trainer : unsigned char { torchtitan, deepspeed, accelerate, megatron, training_arguments, megatron_bridge, lightning };
template <>
inline constexpr std::array<std::string_view, 7> kNames<Trainer> = {
    "torchtitan", "deepspeed", "accelerate", "megatron", "training-arguments", "megatron-bridge", "lightning"};

// What people call it; documents and options say kNames.
std::string_view trainer_label(Trainer trainer);

// Limits of a configuration: 1 MiB of text, 32 levels of nesting; YAML's aliases may not make it longer than kMaxConfigNodes values.
inline constexpr std::size_t kMaxConfigBytes = 1 << 20;
inline constexpr int kMaxConfigDepth = 32;
inline constexpr std::size_t kMaxConfigNodes = 100'000;

struct ExportedFile {
  std::string name;  // without a folder: "llama-3-8b.toml"
  std::string text;
  friend bool operator==(const ExportedFile&, const ExportedFile&) = default;
};

// A field of the plan that the target has no key for, or not with this value.
struct Inexpressible {
  std::string path;   // of the plan document: "training.recompute"
  std::string value;  // as JSON text
  std::string text;   // why, and what the exported files say instead
  friend bool operator==(const Inexpressible&, const Inexpressible&) = default;
};

struct Export {
  std::vector<ExportedFile> files;  // the first is the one that import_trainer reads
  std::vector<Inexpressible> inexpressible;
  std::vector<Note> notes;
};

// The plan as the files of a trainer.
// source: the trainer's own documentation of its keys, named at the table of each trainer
// valid: a valid plan; an error where the trainer cannot train it at all (its framework is another one), with the trainers that can
// test: trainer_test.cpp, golden files under tests/data/trainers
Result<Export> export_plan(const Plan& plan, Trainer trainer);

// A field of the plan that a configuration states, or decides by a default of its trainer.
struct ReadField {
  std::string path;   // of the plan document: "parallel.tensor"
  Json value;         // as it stands in ImportedTrainer::plan
  std::string from;   // the keys that gave it: "parallelism.tensor_parallel_degree", or "default of torchtitan"
};

// A key of the configuration that gave no field.
enum class KeyEffect : unsigned char { none, changes, unknown };  // on memory or time of a step
template <>
inline constexpr std::array<std::string_view, 3> kNames<KeyEffect> = {"none", "changes-memory-or-time", "unknown"};
struct UnreadKey {
  std::string key;    // as the configuration names it, levels joined by points
  std::string value;  // as JSON text, cut as an error's value
  KeyEffect effect = KeyEffect::unknown;
  std::string text;   // why it is not read
};

// What only the number of GPUs decides; `completed` works it out where the cluster is known.
struct OpenFields {
  Count rank_batch = 0;      // global_batch_size = this × data; 0: stated, or not known
  Count accumulation = 0;    // global_batch_size = this × micro_batch_size × data; 0: stated, or not known
  Count replicas = 0;        // hsdp: shard_group = GPUs / (this × tensor × pipeline); 0: no such rule
  bool shards_node = false;  // hsdp: shard_group = GPUs of a node
};

struct ImportedTrainer {
  Trainer trainer{};
  Json plan = Json::object();      // parts of a plan document: "training", "parallel"; "model", "cluster" where stated
  std::vector<ReadField> fields;   // one for every leaf of `plan`
  std::vector<UnreadKey> unread;
  std::vector<std::string> missing;  // paths that a plan needs and the configuration does not state: "model", "cluster"
  std::vector<Note> notes;
  OpenFields open;
};

// The trainer whose words are in the text; null: none, or beyond the limits.
std::optional<Trainer> detected_trainer(std::string_view text);

// Reads a configuration. Without a trainer the content decides; errors say which ones it could be.
// valid: text within the limits above; values out of range are errors with path, value and limit
Result<ImportedTrainer> import_trainer(std::string_view text, std::optional<Trainer> trainer = std::nullopt);

// `parts` put over `onto`: objects key by key, everything else as a whole.
Json overlaid(Json onto, const Json& parts);

// The plan document that the parts and a plan make: what the parts state, everything else from `onto`, but for fields that follow from
// others (data, global batch, overlap, code base, ...): those are left to their defaults. OpenFields are worked out.
Json completed(const ImportedTrainer& parts, const Json& onto);

// One field that the way out and back changes.
struct RoundTripDifference {
  std::string path;
  Json before, after;
};
// import(export(plan)) beside the plan; model, cluster and what no configuration states come from the plan's own document.
Result<std::vector<RoundTripDifference>> round_trip(const Plan& plan, Trainer trainer, const Presets& presets);

// The lines of the exported files of `after` that those of `before` do not have, without indentation, in order. Empty where the trainer
// says nothing about the difference, or cannot train one of the plans.
std::vector<std::string> changed_lines(const Plan& before, const Plan& after, Trainer trainer);

// The trainer that people with this framework and implementation use most.
Trainer usual_trainer(const Plan& plan);

Json write_export(const Export& exported, Trainer trainer);       // wireplan.export/1
Json write_imported(const ImportedTrainer& imported);             // wireplan.import/1

}  // namespace wireplan
