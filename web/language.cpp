#include "web/language.hpp"

namespace wireplan {

Language::Language(const Presets& presets, std::string_view id) : id_(id) {
  read(presets, "en");
  if (id != "en") read(presets, id);
}

void Language::read(const Presets& presets, std::string_view id) {
  const Result<Json> document = parse_json(presets.text("languages", id));
  if (!document || !document.value().is_object()) return;
  for (const auto& [key, text] : document.value().items())
    if (text.is_string()) texts_[key] = text.get_ref<const std::string&>();
}

std::string_view Language::operator[](std::string_view key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? key : std::string_view(found->second);
}

std::string Language::fill(std::string_view key,
                           std::initializer_list<std::pair<std::string_view, std::string>> values) const {
  const std::string_view text = (*this)[key];
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t open = text.find('{', i), close = text.find('}', open == text.npos ? i : open);
    if (open == text.npos || close == text.npos) return filled.append(text.substr(i));
    filled.append(text.substr(i, open - i));
    for (const auto& [name, value] : values)
      if (name == text.substr(open + 1, close - open - 1)) filled += value;
    i = close + 1;
  }
  return filled;
}

}  // namespace wireplan
