#include "web/catalogue.hpp"

#include "core/text/preset_list.hpp"

namespace wireplan {

namespace {

double number_at(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text_at(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

template <class Describe>
std::vector<Choice> choices_of(const Presets& presets, std::string_view kind, Describe describe) {
  std::vector<Choice> choices;
  const Result<Json> list = preset_list(presets, kind);
  if (!list) return choices;
  for (const Json& row : list.value()["presets"]) {
    Choice choice{.value = text_at(row, "id"), .label = text_at(row, "name")};
    if (choice.label.empty()) choice.label = choice.value;
    describe(row, choice);
    choices.push_back(std::move(choice));
  }
  return choices;
}

}  // namespace

Catalogue read_catalogue(const Presets& presets) {
  Catalogue all;
  all.models = choices_of(presets, "models", [](const Json& row, Choice& c) {
    double parameters = number_at(row, "exact_parameters");
    if (parameters <= 0) parameters = number_at(row, "published_parameters");
    if (parameters > 0) c.detail = format_parameters(parameters);
    c.extra = "h " + format_exact(number_at(row, "hidden_size")) + " · " + format_exact(number_at(row, "num_layers")) +
              " layers";
  });
  all.nodes = choices_of(presets, "nodes", [](const Json& row, Choice& c) {
    c.detail = format_exact(number_at(row, "gpus")) + " GPUs";
    c.extra = text_at(row, "wiring");
  });
  all.implementations = choices_of(presets, "implementations", [](const Json&, Choice&) {});
  if (const Result<Json> references = parse_json(presets.text("references", "references"));
      references && references.value().is_object())
    for (const auto& [key, entry] : references.value().items())
      if (entry.is_object()) all.sources[key] = text_at(entry, "title");
  return all;
}

}  // namespace wireplan
