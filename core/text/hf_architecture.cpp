#include "core/text/hf_architecture.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/base/sort.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr const char* kKind = "architectures";
constexpr const char* kRoot = "transformers";
constexpr int kMostSteps = 8;    // of "like"
constexpr int kDeepest = 16;     // of an expression
constexpr double kMostValue = 1e15;

// What an object is when it is no operation.
bool is_operation(const Json& expression) {
  for (const char* key : {"if", "of", "over", "times", "plus", "not", "equal", "unequal", "less", "period", "leading"})
    if (expression.contains(key)) return true;
  return false;
}

bool holds_text(const Json& list, std::string_view text) {
  if (!list.is_array()) return false;
  for (const Json& one : list)
    if (one.is_string() && one.get_ref<const std::string&>() == text) return true;
  return false;
}

std::string text_at(const Json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Members of `more` over those of `base`; templates (moe, mla, sliding_window_pattern) member by member.
void put_over(Json& base, const Json& more) {
  for (auto it = more.begin(); it != more.end(); ++it) {
    Json& there = base[it.key()];
    if (there.is_object() && it->is_object() && !is_operation(there) && !is_operation(*it))
      put_over(there, *it);
    else
      there = *it;
  }
}

void append_texts(std::vector<std::string>& to, const Json& document, const char* key) {
  const auto list = document.find(key);
  if (list == document.end() || !list->is_array()) return;
  for (const Json& one : *list)
    if (one.is_string()) to.push_back(one.get<std::string>());
}

Error faulty(std::string_view id, const std::string& what) {
  return {joined_path(std::string(kKind) + "/" + std::string(id), ""), "", "a document as core/text/hf_architecture.hpp describes",
          "the description of architecture " + std::string(id) + " " + what};
}

Errors take_over(Architecture& a, std::string_view id, const Presets& presets, int steps) {
  const Result<Json> document = parse_json(presets.text(kKind, id));
  if (!document || !document.value().is_object()) return {faulty(id, "is not there or no JSON object")};
  const Json& d = document.value();
  if (const std::string like = text_at(d, "like"); !like.empty()) {
    if (steps == 0) return {faulty(id, "resembles others in a circle")};
    if (Errors errors = take_over(a, like, presets, steps - 1); !errors.empty()) return errors;
  }
  for (const char* key : {"name", "source"})
    if (text_at(d, key).empty()) return {faulty(id, "has no " + std::string(key))};
  for (auto it = d.begin(); it != d.end(); ++it) {
    const std::string_view key = it.key();
    const bool is_object = key == "defaults" || key == "aliases" || key == "model" || key == "other";
    const bool is_list = key == "remarks" || key == "ignored" || key == "also" || key == "architectural";
    const bool is_text = key == "name" || key == "source" || key == "like" || key == "text";
    if (!((is_object && it->is_object()) || (is_list && it->is_array()) || (is_text && it->is_string())))
      return {faulty(id, "has " + value_text(*it) + " at " + value_text(Json(key)))};
  }
  a.id = id;
  a.name = text_at(d, "name");
  a.source = text_at(d, "source");
  a.text = text_at(d, "text");
  for (const auto& [key, to] : {std::pair{"defaults", &a.defaults}, {"aliases", &a.aliases}, {"model", &a.model}})
    if (d.contains(key)) put_over(*to, d.at(key));
  if (d.contains("remarks"))
    for (const Json& remark : d.at("remarks")) a.remarks.push_back(remark);
  append_texts(a.ignored, d, "ignored");
  append_texts(a.architectural, d, "architectural");
  return {};
}

bool is_true(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  return !value.is_null() && !value.empty() && !(value.is_string() && value.get_ref<const std::string&>().empty());
}

// A member, or of "a.b" the member b of a; null where there is none.
const Json* member(const Json& object, const std::string& key) {
  const std::size_t dot = key.find('.');
  if (!object.is_object()) return nullptr;
  const auto found = object.find(dot == std::string::npos ? key : key.substr(0, dot));
  if (found == object.end()) return nullptr;
  return dot == std::string::npos ? &*found : member(*found, key.substr(dot + 1));
}

void add_keys(const Json& e, std::vector<std::string_view>& keys) {
  if (e.is_string() && e.get_ref<const std::string&>().starts_with("$")) keys.push_back(std::string_view(e.get_ref<const std::string&>()).substr(1));
  if (e.is_structured())
    for (const Json& one : e) add_keys(one, keys);
}

// The key an operation has just read; "" where the value is no key's, as a default is not.
std::string key_of(const ReadValue& read) { return read.keys.empty() ? "" : read.keys.back(); }

}  // namespace

Result<Architecture> architecture_of(std::string_view model_type, const Presets& presets) {
  std::string_view id = presets.text(kKind, model_type).empty() || model_type == kRoot ? std::string_view{} : model_type;
  const std::vector<std::string_view> all = presets.ids(kKind);
  for (std::size_t i = 0; i < all.size() && id.empty(); ++i) {
    const Result<Json> document = parse_json(presets.text(kKind, all[i]));
    if (document && document.value().is_object() && document.value().contains("also") && holds_text(document.value().at("also"), model_type)) id = all[i];
  }
  Architecture a;
  a.is_known = !id.empty();
  if (Errors errors = take_over(a, a.is_known ? id : kRoot, presets, kMostSteps); !errors.empty()) return errors;
  if (a.is_known) return a;
  if (const Result<Json> root = parse_json(presets.text(kKind, kRoot)); root && root.value().contains("other"))
    for (auto it = root.value().at("other").begin(); it != root.value().at("other").end(); ++it)
      if (holds_text(*it, model_type)) a.other = it.key();
  return a;
}

std::vector<std::string_view> nearest_architectures(std::string_view model_type, const Presets& presets) {
  std::vector<std::string_view> near = presets.nearest(kKind, model_type);
  for (std::size_t i = 0; i < near.size(); ++i)
    if (near[i] == kRoot) near.erase(near.begin() + static_cast<std::ptrdiff_t>(i--));
  return near;
}

Json ModelConfigReader::looked_up(const std::string& key, ReadValue& into) {
  const auto stated = [&](const Json& config, const std::string& name) {
    const Json* found = member(config, name);
    if (found != nullptr && !found->is_null()) into.keys.push_back(name);
    return found;
  };
  if (const Json* found = stated(config_, key)) return *found;
  if (const auto others = architecture_.aliases.find(key); others != architecture_.aliases.end() && others->is_array())
    for (const Json& other : *others)
      if (other.is_string())
        if (const Json* found = stated(config_, other.get_ref<const std::string&>())) return *found;
  if (outer_ != nullptr && key == "tie_word_embeddings")
    if (const Json* found = stated(*outer_, key)) return *found;
  const auto standard = architecture_.defaults.find(key);
  if (standard == architecture_.defaults.end()) return nullptr;
  if (!standard->is_null()) into.absent.push_back(key);
  return *standard;
}

// 0 and an error where the operand is no number.
double ModelConfigReader::number_of(const Json& operand, const Json& expression) {
  if (operand.is_number()) {
    const double n = operand.get<double>();
    if (std::abs(n) <= kMostValue) return n;
  }
  std::string key = dump_json_compact(expression);
  if (expression.is_string() && key.size() > 3) key = key.substr(2, key.size() - 3);  // "$key"
  errors.push_back({path(key), value_text(operand), "a number of at most 1e15", path(key) + " must be a number of at most 1e15, not " + value_text(operand)});
  return 0;
}

Json ModelConfigReader::operation(const Json& e, ReadValue& into, int depth) {
  const auto of = [&](const Json& part) { return evaluated(part, into, depth - 1); };
  const auto at = [&](const char* key) { return e.contains(key) ? of(e.at(key)) : Json(nullptr); };
  if (e.contains("if")) return is_true(at("if")) ? at("then") : at("else");
  if (e.contains("not")) return !is_true(at("not"));
  if (e.contains("of")) {
    const Json name = at("of");
    const std::string last_key = key_of(into);
    if (name.is_null()) return nullptr;
    if (name.is_string()) {
      const std::string& text = name.get_ref<const std::string&>();
      if (text != "of" && e.contains(text)) return of(e.at(text));
    }
    if (!name.is_string() || !e.contains("*")) {
      errors.push_back({path(last_key), value_text(name), "a name", path(last_key) + " must be a name, not " + value_text(name)});
      return nullptr;
    }
    const Json taken = of(e.at("*"));
    notes.push_back({Severity::warning, path(last_key), value_text(name) + " is taken as " + value_text(taken) + ": as many parameters, other traffic and memory"});
    return taken;
  }
  if (e.contains("leading")) {
    const Json list = at("leading");
    const std::string last_key = key_of(into);
    if (list.is_null()) return 0;
    if (!list.is_array()) {
      errors.push_back({path(last_key), value_text(list), "a list of layers", "the layers without experts must be a list, not " + value_text(list)});
      return nullptr;
    }
    bool leads = true;
    for (std::size_t i = 0; i < list.size(); ++i) leads = leads && list[i].is_number() && list[i].get<double>() == static_cast<double>(i);
    if (!leads) notes.push_back({Severity::warning, path(last_key), value_text(list) + " are not the first layers; a plan has as many dense layers, but at the beginning"});
    return static_cast<double>(list.size());
  }
  if (e.contains("period")) {
    const Json list = at("period"), wanted = at("is");
    const std::string last_key = key_of(into);
    if (list.is_number() || list.is_null()) return list;
    std::size_t size = list.size(), found = 0, first = 0;
    const std::string letters = list.is_string() ? list.get<std::string>() : std::string();  // "LLLG"
    if (list.is_string()) size = letters.size();
    const auto is_it = [&](std::size_t i) { return list.is_string() ? wanted.is_string() && wanted.get_ref<const std::string&>() == letters.substr(i, 1) : list.is_array() && list[i] == wanted; };
    for (std::size_t i = 0; i < size; ++i)
      if (is_it(i) && found++ == 0) first = i + 1;
    if (found == 0) return 0;
    bool repeats = true;
    for (std::size_t i = 0; i < size; ++i) repeats = repeats && is_it(i) == ((i + 1) % first == 0);
    if (repeats) return static_cast<double>(first);
    const std::size_t about = (size + found / 2) / found;
    notes.push_back({Severity::warning, path(last_key),
                     "layers that attend globally do not follow evenly; a plan has every " + format_exact(static_cast<double>(about)) + (about == 1 ? "st" : "th") + " of them attend so"});
    return static_cast<double>(about);
  }
  for (const char* name : {"over", "times", "plus", "equal", "unequal", "less"}) {
    if (!e.contains(name)) continue;
    const Json& two = e.at(name);
    if (!two.is_array() || two.size() != 2) return nullptr;
    const Json a = of(two[0]), b = of(two[1]);
    const std::string_view op = name;
    if (op == "equal") return a == b;
    if (op == "unequal") return a != b;
    if (a.is_null() || b.is_null()) return op == "less" ? Json(false) : Json(nullptr);
    const std::size_t before = errors.size();
    const double x = number_of(a, two[0]), y = number_of(b, two[1]);
    if (errors.size() > before) return nullptr;
    if (op == "less") return x < y;
    if (op == "times") return number(x * y);
    if (op == "plus") return number(x + y);
    return y >= 1 && std::floor(x / y) * y == x ? number(x / y) : Json(nullptr);
  }
  return nullptr;
}

Json ModelConfigReader::evaluated(const Json& e, ReadValue& into, int depth) {
  if (depth == 0) return nullptr;
  if (e.is_string() && e.get_ref<const std::string&>().starts_with("$")) return looked_up(e.get_ref<const std::string&>().substr(1), into);
  if (e.is_object()) return operation(e, into, depth);
  if (!e.is_array()) return e;
  for (const Json& one : e) {
    const std::size_t keys = into.keys.size(), absent = into.absent.size();
    Json value = evaluated(one, into, depth - 1);
    if (!value.is_null()) return value;
    into.keys.resize(keys);
    into.absent.resize(absent);
  }
  return nullptr;
}

ReadValue ModelConfigReader::value(const Json& expression) {
  ReadValue read;
  read.value = evaluated(expression, read, kDeepest);
  return read;
}

bool ModelConfigReader::holds(const Json& expression) { return is_true(value(expression).value); }

std::vector<std::string_view> keys_read(const Architecture& a) {
  std::vector<std::string_view> keys;
  add_keys(a.model, keys);
  add_keys(a.remarks, keys);
  for (const Json& others : a.aliases)
    for (const Json& other : others)
      if (other.is_string()) keys.push_back(other.get_ref<const std::string&>());
  sort(keys);
  return keys;
}

}  // namespace wireplan
