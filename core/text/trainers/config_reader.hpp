// Reads a configuration key by key into parts of a plan, and says of every key that gave nothing why.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/trainers/trainer.hpp"

namespace wireplan {

// A word of the trainer and the word of the plan it stands for. The first pair of a word is the one that goes out.
struct Word {
  std::string_view theirs, ours;
};
// In any case of letters; empty: there is none.
std::string_view our_word(std::span<const Word> words, std::string_view theirs);
std::string_view their_word(std::span<const Word> words, std::string_view ours);

// What a key that gives no field does. `key` stands for everything below it too.
struct KeyNote {
  std::string_view key;
  KeyEffect effect = KeyEffect::none;
  std::string_view text;
};

// Why a trainer cannot say a field of the plan, or not with every value. `path` stands for everything below it too.
struct Reason {
  std::string_view path, text;
};

// The member at "a.b.c", or null. A whole key with points in it is found first.
const Json* member_at(const Json& object, std::string_view dotted);

// Whether the value is this text.
bool is_word(const Json& value, std::string_view word);

class ConfigReader {
 public:
  // `document` is an object and outlives the reader.
  ConfigReader(Trainer trainer, const Json& document) : document_(document) { out.trainer = trainer; }

  ImportedTrainer out;
  Errors errors;

  // The value at a dotted key, which counts as read from here on; null: absent, or null.
  const Json* find(std::string_view key);
  bool has(std::string_view key) { return find(key) != nullptr; }
  // Each reads the value, or returns `otherwise`: absent, or of the wrong type (an error).
  bool flag(std::string_view key, bool otherwise);
  // A whole number from `least` to 1e9; "auto" counts as absent and is said to be left to transformers.
  Count count(std::string_view key, Count otherwise, Count least = 1);
  std::string text(std::string_view key, std::string_view otherwise);  // numbers and booleans as JSON writes them

  // States a field of the plan. `from` names keys, or says in words what decides; keys that are not there are said to be defaults.
  void give(std::string_view path, Json value, std::string_view from);
  // A word of the trainer as a field: its own value, or unread with what there is.
  void give_word(std::string_view path, std::string_view key, std::span<const Word> words, std::string_view what);
  // A key that was looked at and gives no field.
  void leave(std::string_view key, KeyEffect effect, std::string_view text);
  void note(Severity severity, std::string_view path, std::string text);
  void fail(std::string_view key, std::string limit, std::string text);

  // Every key not read so far is unread, with the note of the longest key above it. Call it last.
  Result<ImportedTrainer> finish(std::span<const KeyNote> notes);

 private:
  const Json& document_;
  std::vector<std::string> read_, absent_;

  std::string origin(std::string_view from) const;
  std::string near_text(const std::string& key) const;

  void look_below(const Json& object, const std::string& prefix, std::span<const KeyNote> notes, std::size_t& more);
};

}  // namespace wireplan
