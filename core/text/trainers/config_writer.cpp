#include "core/text/trainers/config_writer.hpp"

#include "core/text/yaml.hpp"

namespace wireplan {
namespace {

std::string commented(std::string_view head) {
  std::string text;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    ((text += "# ") += head.substr(0, end)) += '\n';
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return text;
}

std::string replaced_words(const Json& value, bool python);

std::string python_list(const Json& list) {
  std::string text = "[";
  for (const Json& value : list) text += (text.size() > 1 ? ", " : "") + replaced_words(value, true);
  return text + ']';
}

// A value in one line: as JSON, but for Python's own words.
std::string replaced_words(const Json& value, bool python) {
  if (!python) return dump_json_compact(value);
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (value.is_array()) return python_list(value);
  if (value.is_object()) {
    std::string text = "{";
    for (auto it = value.begin(); it != value.end(); ++it)
      text += (text.size() > 1 ? ", " : "") + dump_json_compact(Json(it.key())) + ": " + replaced_words(it.value(), true);
    return text + '}';
  }
  return dump_json_compact(value);
}

void toml_table(const Json& object, const std::string& name, std::string& text) {
  bool has_values = false;
  for (const Json& value : object) has_values = has_values || (!value.is_object() && !value.is_null());
  if (!name.empty() && has_values) ((text += text.empty() || text.back() != '\n' ? "[" : "\n[") += name) += "]\n";
  for (auto it = object.begin(); it != object.end(); ++it)
    if (!it.value().is_object() && !it.value().is_null()) ((text += it.key() + " = ") += dump_json_compact(it.value())) += '\n';
  for (auto it = object.begin(); it != object.end(); ++it)
    if (it.value().is_object()) toml_table(it.value(), name.empty() ? it.key() : name + '.' + it.key(), text);
}

// A plain scalar where it stands for itself, else in quotes as JSON has them, which YAML reads alike.
std::string yaml_scalar(const Json& value) {
  if (value.is_number_float()) {  // PyYAML takes 1e-05 for text
    std::string text = dump_json_compact(value);
    const std::size_t e = text.find('e');
    if (e != std::string::npos && text.find('.') == std::string::npos) text.insert(e, ".0");
    return text;
  }
  if (!value.is_string()) return dump_json_compact(value);
  const std::string& text = value.get_ref<const std::string&>();
  bool is_plain = !text.empty();
  for (const char c : text)
    is_plain = is_plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '.' || c == '-');
  if (is_plain && text.front() != '-' && text.front() != '.') {
    const Result<Json> read = parse_yaml(text);
    if (read && read.value() == value) return text;
  }
  return dump_json_compact(value);
}

void yaml_block(const Json& object, const std::string& indent, std::string& text) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const Json& value = it.value();
    if (value.is_null()) continue;
    (text += indent) += yaml_scalar(Json(it.key())) + ':';  // a key of the user's own may hold anything
    if (value.is_object() && !value.empty()) {
      text += '\n';
      yaml_block(value, indent + "  ", text);
    } else if (value.is_array() && !value.empty()) {
      for (const Json& one : value) text += '\n' + indent + "- " + yaml_scalar(one);
      text += '\n';
    } else
      text += ' ' + yaml_scalar(value) + '\n';
  }
}

}  // namespace

void put_at(Json& object, std::string_view dotted, Json value) {
  Json* here = &object;
  for (std::size_t point; (point = dotted.find('.')) != std::string_view::npos; dotted.remove_prefix(point + 1)) {
    here = &(*here)[std::string(dotted.substr(0, point))];
    if (!here->is_object()) *here = Json::object();
  }
  (*here)[std::string(dotted)] = std::move(value);
}

std::string dump_toml(const Json& object, std::string_view head) {
  std::string text = commented(head);
  toml_table(object, "", text);
  return text;
}

std::string dump_yaml(const Json& object, std::string_view head) {
  std::string text = commented(head);
  yaml_block(object, "", text);
  return text;
}

std::string dump_python(const Json& object, std::string_view head, std::string_view call) {
  std::string text = commented(head) + std::string(call) + "(\n";
  for (auto it = object.begin(); it != object.end(); ++it)
    if (!it.value().is_null()) text += "    " + it.key() + '=' + replaced_words(it.value(), true) + ",\n";
  return text + ")\n";
}

}  // namespace wireplan
