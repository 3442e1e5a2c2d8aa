#include "web/language.hpp"

namespace wireplan {

Language::Language(const Presets& presets, std::string_view id) : id_(id) {
  read(presets, "en");
  if (id == "en") return;
  english_ = texts_;
  read(presets, id);
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

std::string Language::said(std::string_view family, std::string_view sentence) const {
  for (auto at = english_.lower_bound(family); at != english_.end() && at->first.starts_with(family); ++at) {
    const std::string_view text = at->second;
    const std::size_t open = text.find('{'), close = text.find('}');
    if (open == text.npos || close == text.npos) {
      if (text == sentence) return std::string((*this)[at->first]);
      continue;
    }
    const std::string_view before = text.substr(0, open), after = text.substr(close + 1);
    if (sentence.size() < before.size() + after.size() || !sentence.starts_with(before) || !sentence.ends_with(after)) continue;
    return fill(at->first, {{text.substr(open + 1, close - open - 1), std::string(sentence.substr(before.size(), sentence.size() - before.size() - after.size()))}});
  }
  return std::string(sentence);
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
