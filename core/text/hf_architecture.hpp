// How the config.json of one architecture is read: which key feeds which field of a model, what is the same in all its models, and what
// the configuration class takes where a key is left out. Data, one document for each model_type (assets/architectures).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/checks.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// A document states name, source (the class whose defaults these are), and where they differ from `like`, the architecture it resembles:
//   defaults  {key: value of the class}
//   aliases   {key: [other names of it]}
//   model     {field: value}, as the model object of a plan. A value is a constant; "$key"; a list, whose first value that is not null counts; or
//             {"if": v, "then": v, "else": v} · {"of": v, "<name>": v, …, "*": any other, with a note} · {"over": [a, b]} · {"times": [a, b]} ·
//             {"plus": [a, b]} · {"not": v} · {"equal"|"unequal"|"less": [a, b]} · {"period": list, "is": v}: n where elements n, 2n, … are v ·
//             {"leading": list}: n where the list is 0, 1, …, n−1. A quotient that is not whole is null.
//   remarks   [{"if": v, "text"}]: what a plan cannot say of such a configuration
//   ignored   keys that change neither parameters nor shapes
//   also      other model_types read by it;  text: the model_type of the inner text_config where that names none
// The document "transformers", which all others resemble, besides has `architectural`, parts of keys that may change the shape, and
// `other`, model_types that are no decoder transformers by what they are.
struct Architecture {
  std::string id, name, source, text;
  bool is_known = false;  // false: "transformers" stands in for a model_type of which there is no document
  std::string other;      // not empty: why it cannot be planned as a decoder transformer
  Json defaults = Json::object(), aliases = Json::object(), model = Json::object(), remarks = Json::array();
  std::vector<std::string> ignored, architectural;
};

// Of a model_type, with all that it takes over from others. Errors speak of the document, not of a configuration.
Result<Architecture> architecture_of(std::string_view model_type, const Presets& presets);

// Up to three model_types near to a mistyped one.
std::vector<std::string_view> nearest_architectures(std::string_view model_type, const Presets& presets);

// One value of a model read out of a configuration.
enum class FieldOrigin : unsigned char { stated, standard, constant, given };
template <>
inline constexpr std::array<std::string_view, 4> kNames<FieldOrigin> = {"key", "default", "constant", "given"};

struct ReadValue {
  Json value;                      // null: not there
  std::vector<std::string> keys;   // that decided it and stand in the configuration
  std::vector<std::string> absent; // the same, taken from the class's defaults
  FieldOrigin origin() const { return !keys.empty() ? FieldOrigin::stated : !absent.empty() ? FieldOrigin::standard : FieldOrigin::constant; }
};

// A configuration through the eyes of an architecture.
class ModelConfigReader {
 public:
  // `outer`: the configuration that holds this one as its text_config, or null; it decides tie_word_embeddings where this one does not.
  ModelConfigReader(const Architecture& architecture, const Json& config, const Json* outer, std::string path)
      : architecture_(architecture), config_(config), outer_(outer), path_(std::move(path)) {}

  // Never null-dereferences, never divides by zero, never makes a number that is not finite: those are errors.
  ReadValue value(const Json& expression);
  bool holds(const Json& expression);

  std::string path(std::string_view key) const { return joined_path(path_, key); }
  Errors errors;
  std::vector<Note> notes;

 private:
  Json evaluated(const Json& expression, ReadValue& into, int depth);
  Json operation(const Json& expression, ReadValue& into, int depth);
  Json looked_up(const std::string& key, ReadValue& into);
  double number_of(const Json& operand, const Json& expression);

  const Architecture& architecture_;
  const Json& config_;
  const Json* outer_;
  std::string path_;
};

// Every key that an expression of the architecture names, aliases included, sorted.
std::vector<std::string_view> keys_read(const Architecture& architecture);

}  // namespace wireplan
