#include "core/text/render_csv.hpp"

#include <algorithm>
#include <utility>

#include "core/text/answer_json.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // column, value

void add_leaves(const std::string& path, const Json& json, Fields& fields) {
  if (json.is_object()) {
    for (auto it = json.begin(); it != json.end(); ++it) add_leaves(path.empty() ? it.key() : path + '.' + it.key(), it.value(), fields);
  } else if (json.is_array() && !json.empty() && json[0].is_object()) {
    const std::vector<std::string> names = element_names(json);
    for (std::size_t i = 0; i < json.size(); ++i) add_leaves(path + '.' + names[i], json[i], fields);
  } else if (!json.is_null()) {
    std::string_view unit = unit_of(path);
    fields.emplace_back(path + (unit.empty() ? "" : " [" + std::string(unit) + "]"),
                        json.is_string() ? json.get<std::string>() : dump_json_compact(json));
  }
}

bool ends_with(std::string_view text, std::string_view end) { return text.size() >= end.size() && text.substr(text.size() - end.size()) == end; }

}  // namespace

std::string_view unit_of(std::string_view path) {
  for (std::string_view member : {".low", ".value", ".high"})
    if (ends_with(path, member)) path.remove_suffix(member.size());
  if (ends_with(path, "bytes_per_s")) return "bytes/s";
  if (ends_with(path, "tokens_per_s") || ends_with(path, "tokens_per_s_per_gpu")) return "tokens/s";
  if (ends_with(path, "tflops_per_gpu")) return "TFLOP/s";
  if (ends_with(path, "flops_per_s")) return "FLOP/s";
  if (ends_with(path, "flops_per_token")) return "FLOP";
  if (ends_with(path, "_bytes") || ends_with(path, ".bytes")) return "bytes";
  if (ends_with(path, "_s")) return "s";
  for (std::string_view group : {"memory.states.", "memory.parts.", "memory.phases."})
    if (path.substr(0, group.size()) == group) return "bytes";
  return "";
}

std::string estimates_as_csv(const std::vector<const Plan*>& plans, const std::vector<const Estimate*>& estimates) {
  std::vector<Fields> lines;
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Json document = write_estimate(*plans[i], *estimates[i]);
    document.erase("assumed");
    document.erase("notes");
    for (Json& group : document["wiring"]["groups"])
      for (const char* list : {"order", "links"}) group.erase(list);  // as many as there are GPUs and links
    Fields fields;
    add_leaves("", document, fields);
    for (const auto& field : fields)
      if (std::find(columns.begin(), columns.end(), field.first) == columns.end()) columns.push_back(field.first);
    lines.push_back(std::move(fields));
  }
  std::string text = csv_line(columns);
  for (const Fields& fields : lines) {
    std::vector<std::string> values;
    for (const std::string& column : columns) {
      auto it = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == column; });
      values.push_back(it == fields.end() ? "" : it->second);
    }
    text += csv_line(values);
  }
  return text;
}

}  // namespace wireplan
