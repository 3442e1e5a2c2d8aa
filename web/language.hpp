// The words of the page in one language: texts by key, with named places for numbers.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/presets.hpp"

namespace wireplan {

class Language {
 public:
  // Reads assets/languages/<id>.json; a text that is missing there is taken from English.
  Language(const Presets& presets, std::string_view id);

  // The text of a key; the key itself when nobody has written a text for it.
  std::string_view operator[](std::string_view key) const;
  bool has(std::string_view key) const { return texts_.find(key) != texts_.end(); }
  // The text with "{name}" replaced by the value given for name.
  std::string fill(std::string_view key, std::initializer_list<std::pair<std::string_view, std::string>> values) const;

  // A sentence of the core in this language: that of the key under `family` whose English text it is, with its one place filled as there.
  // The sentence itself when there is none.
  std::string said(std::string_view family, std::string_view sentence) const;

  const std::string& id() const { return id_; }
  const std::map<std::string, std::string, std::less<>>& texts() const { return texts_; }

 private:
  void read(const Presets& presets, std::string_view id);

  std::string id_;
  std::map<std::string, std::string, std::less<>> texts_, english_;  // english_: where the language is another
};

}  // namespace wireplan
