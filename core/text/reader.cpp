#include "core/text/reader.hpp"

#include <algorithm>
#include <limits>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMaxErrors = 100;
constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

// Fewest single-character edits, swaps of neighbours included, that turn a into b; stops counting above `most`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
  if (a.size() > b.size() + most || b.size() > a.size() + most) return most + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

void ReadLog::add(Error error) {
  // One error a field: the first says what is wrong.
  for (const Error& known : errors)
    if (!error.path.empty() && known.path == error.path) return;
  if (errors.size() < kMaxErrors)
    errors.push_back(std::move(error));
  else
    ++left_out;
}

void ReadLog::add_new(const Errors& found) {
  const auto is_within = [](std::string_view outer, std::string_view inner) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || outer.empty() || inner[outer.size()] == '.');
  };
  const std::size_t read = errors.size();
  for (const Error& error : found) {
    bool known = false;
    for (std::size_t i = 0; i < read && !known; ++i)
      known =
          is_within(error.path, errors[i].path) || (!errors[i].path.empty() && is_within(errors[i].path, error.path));
    if (!known) add(error);
  }
}

void ReadLog::assume(std::string path, const Json& value, std::string why) {
  assumed.push_back({std::move(path), dump_json_compact(value), std::move(why)});
}

Errors ReadLog::finished() {
  Errors all = std::move(errors);
  if (left_out > 0)
    all.push_back(
        {"", "", "",
         format_count(static_cast<double>(left_out)) + " more errors are not listed. Nearest: correct these first"});
  return all;
}

std::vector<std::string_view> nearest_words(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;  // no name of ours is longer
  if (word.size() > kLongestWord || word.empty()) return {};
  std::string lower(word);  // our names have no capitals
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  word = lower;
  const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const std::string_view candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate, most);
    // "mistral-7b" for "mistral-7b-v0.1": a part of the name, in order of what is left over.
    const bool part = word.size() >= 3 && candidate.find(word) != std::string_view::npos;
    if (part)
      distance = std::min(distance, most) + (candidate.size() - word.size()) / 8;
    else if (distance > most)
      continue;
    found.emplace_back(distance, candidate);
  }
  sort(found);
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < found.size() && i < 3; ++i) words.push_back(found[i].second);
  return words;
}

std::string did_you_mean(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? ". Nearest: " : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return text;
}

Reader::Reader(ReadLog& log, const Json& json, std::string path) : log_(log), json_(&json), path_(std::move(path)) {
  if (json.is_object()) return;
  json_ = nullptr;
  log_.number_missing = true;
  fail_type("", json, "an object");
}

const Json* Reader::find(std::string_view key) {
  known_.push_back(key);
  if (json_ == nullptr) return nullptr;
  for (const auto& [name, value] : json_->get_ref<const Json::object_t&>())
    if (name == key) return &value;
  return nullptr;
}

const Json* Reader::stated(std::string_view key) {
  const Json* json = find(key);
  return json != nullptr && json->is_null() ? nullptr : json;
}

void Reader::require(std::string_view key, std::string_view what) {
  if (json_ == nullptr || stated(key) != nullptr) return;
  log_.number_missing = true;
  log_.add({path(key), has(key) ? "null" : "", std::string(what), path(key) + " is missing: " + std::string(what)});
}

void Reader::fail(std::string_view key, const Json& value, std::string limit, std::string text) {
  log_.add({path(key), value_text(value), std::move(limit), std::move(text)});
}

void Reader::fail_type(std::string_view key, const Json& value, std::string limit) {
  const std::string where = path(key);
  std::string text = (where.empty() ? "the document" : where) + " must be " + limit + ", not " + value_text(value);
  fail(key, value, std::move(limit), std::move(text));
}

bool Reader::read(std::string_view key, const Json* json, bool& out) {
  if (json == nullptr) return false;
  if (!json->is_boolean()) {
    fail_type(key, *json, "true or false");
    return false;
  }
  out = json->get<bool>();
  return true;
}

bool Reader::read(std::string_view key, const Json* json, double& out) {
  if (json == nullptr) return false;
  if (!json->is_number()) {
    log_.number_missing = true;
    fail_type(key, *json, "a number");
    return false;
  }
  out = json->get<double>();
  return true;
}

bool Reader::read(std::string_view key, const Json* json, Count& out) {
  double value = 0;
  if (json != nullptr && !json->is_number()) {
    log_.number_missing = true;
    fail_type(key, *json, "a whole number");
    return false;
  }
  if (!read(key, json, value)) return false;
  if (std::fabs(value) > kExactIntegers || value != std::floor(value)) {
    log_.number_missing = true;
    const bool large = std::fabs(value) > kExactIntegers;
    const std::string given = value_text(*json);
    fail(key, *json, large ? "a whole number below 2^53" : "a whole number",
         path(key) + (large ? " is too large: " + given + ". Nearest: a whole number below 2^53"
                            : " must be a whole number, not " + given + ". Nearest: " +
                                  format_exact(std::floor(value)) + " or " + format_exact(std::ceil(value))));
    return false;
  }
  out = static_cast<Count>(value);
  return true;
}

bool Reader::read(std::string_view key, const Json* json, int& out) {
  Count value = 0;
  if (!read(key, json, value)) return false;
  constexpr Count kMost = std::numeric_limits<int>::max();
  if (value > kMost || value < -kMost) {
    log_.number_missing = true;
    fail(key, *json, "a whole number below 2^31",
         path(key) + " is too large: " + value_text(*json) + ". Nearest: a whole number below 2^31");
    return false;
  }
  out = static_cast<int>(value);
  return true;
}

bool Reader::read(std::string_view key, const Json* json, std::string& out) {
  if (json == nullptr) return false;
  if (!json->is_string()) {
    fail_type(key, *json, "text");
    return false;
  }
  out = json->get_ref<const std::string&>();
  return true;
}

std::size_t Reader::index_of(std::string_view key, const Json* json, std::span<const std::string_view> names) {
  if (json == nullptr) return names.size();
  if (!json->is_string()) {
    fail_type(key, *json, listed(names));
    return names.size();
  }
  const std::string& given = json->get_ref<const std::string&>();
  const auto found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) {
    const auto words = nearest_words(given, names);
    fail(key, *json, listed(names),
         path(key) + " cannot be " + value_text(*json) +
             (words.empty() ? ". Nearest: " + listed(names) : did_you_mean(words)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

bool Reader::dtype(std::string_view key, const Json* json, DType& out, std::span<const DType> allowed) {
  std::vector<std::string_view> names;
  for (const DType t : allowed) names.push_back(name_of(t));
  return one_of(key, json, names, [&](std::size_t i) { out = allowed[i]; });
}

void Reader::finish() {
  if (json_ == nullptr) return;
  for (const auto& [name, value] : json_->get_ref<const Json::object_t&>()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    if (log_.errors.size() >= kMaxErrors) {
      ++log_.left_out;
      continue;
    }
    const auto words = nearest_words(name, known_);
    std::vector<std::string_view> sorted = known_;
    sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const std::string shown = value_text(Json(name));
    log_.add({path(name.size() <= 80 ? name : name.substr(0, 80)), value_text(value), "one of " + listed(sorted),
              (path_.empty() ? "the document" : path_) + " has no key " + shown +
                  (words.empty() ? ". Nearest: remove it" : did_you_mean(words))});
  }
}

}  // namespace wireplan
