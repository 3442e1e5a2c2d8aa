#include "core/text/trainers/config_reader.hpp"

#include <utility>

#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr double kMostCount = 1e9;
constexpr std::size_t kMostUnread = 500;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

// `key` itself, or a key below it.
bool is_under(std::string_view key, std::string_view above) {
  return key.starts_with(above) && (key.size() == above.size() || key[above.size()] == '.');
}

}  // namespace

std::string_view our_word(std::span<const Word> words, std::string_view theirs) {
  for (const Word& w : words)
    if (same_word(w.theirs, theirs)) return w.ours;
  return {};
}

std::string_view their_word(std::span<const Word> words, std::string_view ours) {
  for (const Word& w : words)
    if (w.ours == ours) return w.theirs;
  return {};
}

const Json* member_at(const Json& object, std::string_view dotted) {
  const Json* here = &object;
  for (std::string_view rest = dotted;;) {
    if (!here->is_object()) return nullptr;
    if (const auto whole = here->find(std::string(rest)); whole != here->end()) return &*whole;
    const std::size_t point = rest.find('.');
    if (point == std::string_view::npos) return nullptr;
    const auto found = here->find(std::string(rest.substr(0, point)));
    if (found == here->end()) return nullptr;
    here = &*found;
    rest.remove_prefix(point + 1);
  }
}

bool is_word(const Json& value, std::string_view word) { return value.is_string() && value.get_ref<const std::string&>() == word; }

const Json* ConfigReader::find(std::string_view key) {
  const Json* found = member_at(document_, key);
  if (found == nullptr) {
    absent_.push_back(std::string(key));
    return nullptr;
  }
  read_.push_back(std::string(key));
  return found->is_null() ? nullptr : found;
}

bool ConfigReader::flag(std::string_view key, bool otherwise) {
  const Json* found = find(key);
  if (found == nullptr) return otherwise;
  if (found->is_boolean()) return found->get<bool>();
  // PyYAML and argument parsers take these words too.
  if (found->is_string()) {
    constexpr Word kWords[] = {{"true", "1"}, {"false", "0"}, {"yes", "1"}, {"no", "0"}};
    if (const std::string_view w = our_word(kWords, found->get_ref<const std::string&>()); !w.empty()) return w == "1";
    if (is_word(*found, "auto")) {
      leave(key, KeyEffect::changes, "\"auto\" is filled in by transformers from its own arguments: import those");
      return otherwise;
    }
  }
  errors.push_back({std::string(key), value_text(*found), "true or false", std::string(key) + " must be true or false, not " + value_text(*found)});
  return otherwise;
}

Count ConfigReader::count(std::string_view key, Count otherwise, Count least) {
  const Json* found = find(key);
  if (found == nullptr) return otherwise;
  if (is_word(*found, "auto")) {
    leave(key, KeyEffect::changes, "\"auto\" is filled in by transformers from its own arguments: import those");
    return otherwise;
  }
  const double value = found->is_number() ? found->get<double>() : 0.5;
  if (value >= static_cast<double>(least) && value <= kMostCount && value == static_cast<double>(static_cast<Count>(value))) return static_cast<Count>(value);
  const std::string limit = "a whole number from " + std::to_string(least) + " to 1000000000";
  errors.push_back({std::string(key), value_text(*found), limit, std::string(key) + " must be " + limit + ", not " + value_text(*found)});
  return otherwise;
}

std::string ConfigReader::text(std::string_view key, std::string_view otherwise) {
  const Json* found = find(key);
  if (found == nullptr) return std::string(otherwise);
  if (found->is_string()) return found->get<std::string>();
  if (found->is_boolean() || found->is_number()) return dump_json_compact(*found);
  errors.push_back({std::string(key), value_text(*found), "a word", std::string(key) + " must be a word, not " + value_text(*found)});
  return std::string(otherwise);
}

// Keys that are not there decide by their default.
std::string ConfigReader::origin(std::string_view from) const {
  for (std::string_view rest = from; !rest.empty();) {
    const std::size_t end = rest.find(", ");
    const std::string_view key = rest.substr(0, end);
    const bool is_key = key.find(' ') == std::string_view::npos && key.find_first_of("._") != std::string_view::npos;
    if (!is_key || member_at(document_, key) != nullptr) return std::string(from);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
  }
  return "default of " + std::string(trainer_label(out.trainer)) + ": " + std::string(from);
}

void ConfigReader::give(std::string_view path, Json value, std::string_view given_by) {
  std::string from = origin(given_by);
  Json* here = &out.plan;
  for (std::string_view rest = path;;) {
    const std::size_t point = rest.find('.');
    Json& next = (*here)[std::string(rest.substr(0, point))];
    if (point == std::string_view::npos) {
      next = value;
      break;
    }
    if (!next.is_object()) next = Json::object();
    here = &next;
    rest.remove_prefix(point + 1);
  }
  for (ReadField& field : out.fields) {
    if (field.path != path) continue;
    field.value = std::move(value);
    field.from = std::move(from);
    return;
  }
  out.fields.push_back({std::string(path), std::move(value), std::move(from)});
}

void ConfigReader::give_word(std::string_view path, std::string_view key, std::span<const Word> words, std::string_view what) {
  const std::string given = text(key, "");
  if (given.empty()) return;
  if (const std::string_view ours = our_word(words, given); !ours.empty())
    give(path, Json(ours), key);
  else
    leave(key, KeyEffect::changes, std::string(what) + " that wireplan does not model");
}

void ConfigReader::leave(std::string_view key, KeyEffect effect, std::string_view text) {
  const Json* found = member_at(document_, key);
  read_.push_back(std::string(key));
  for (const UnreadKey& u : out.unread)
    if (u.key == key) return;
  out.unread.push_back({std::string(key), found == nullptr ? "null" : value_text(*found), effect, std::string(text)});
}

void ConfigReader::note(Severity severity, std::string_view path, std::string text) {
  out.notes.push_back({severity, std::string(path), std::move(text)});
}

void ConfigReader::fail(std::string_view key, std::string limit, std::string text) {
  const Json* found = member_at(document_, key);
  errors.push_back({std::string(key), found == nullptr ? "null" : value_text(*found), std::move(limit), std::move(text)});
}

// ". Did you mean a?" of a key that was looked for and is not there, beside this one.
std::string ConfigReader::near_text(const std::string& key) const {
  const std::size_t parent = key.rfind('.') + 1;  // 0 where there is none
  std::vector<std::string_view> beside;
  for (const std::string& a : absent_)
    if (a.compare(0, parent, key, 0, parent) == 0 && a.find('.', parent) == std::string::npos) beside.push_back(std::string_view(a).substr(parent));
  std::vector<std::string_view> near = nearest_words(std::string_view(key).substr(parent), beside);
  if (near.size() > 1) near.resize(1);
  return did_you_mean(near);
}

// Recursion ends at kMaxConfigDepth.
void ConfigReader::look_below(const Json& object, const std::string& prefix, std::span<const KeyNote> notes, std::size_t& more) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const std::string key = prefix + it.key();
    const Json& value = it.value();
    if (value.is_object() && !value.empty()) {
      look_below(value, key + '.', notes, more);
      continue;
    }
    bool is_read = value.is_null() || (value.is_structured() && value.empty());  // these state nothing
    for (const std::string& r : read_) is_read = is_read || is_under(key, r);
    if (is_read) continue;
    if (out.unread.size() >= kMostUnread) {
      ++more;
      continue;
    }
    const KeyNote* known = nullptr;
    for (const KeyNote& n : notes)
      if (is_under(key, n.key) && (known == nullptr || n.key.size() > known->key.size())) known = &n;
    std::string text = known == nullptr ? "wireplan does not know this key" : std::string(known->text);
    if (known == nullptr || known->key != key) text += near_text(key);
    out.unread.push_back({key, value_text(value), known == nullptr ? KeyEffect::unknown : known->effect, std::move(text)});
  }
}

Result<ImportedTrainer> ConfigReader::finish(std::span<const KeyNote> notes) {
  if (!errors.empty()) return errors;
  std::size_t more = 0;
  look_below(document_, "", notes, more);
  if (more > 0) note(Severity::warning, "", std::to_string(more) + " more keys are not read");
  return std::move(out);
}

}  // namespace wireplan
