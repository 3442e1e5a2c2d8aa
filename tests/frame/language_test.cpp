#include <set>

#include <catch2/catch_test_macros.hpp>

#include "tests/frame/page.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

std::set<std::string> places(std::string_view text) {
  std::set<std::string> names;
  for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1))
    names.insert(std::string(text.substr(open, text.find('}', open) - open)));
  return names;
}

Json texts_of(const char* id) {
  const Presets presets;
  return parse_json(presets.text("languages", id)).value();
}

}  // namespace

TEST_CASE("both languages say the same things with the same numbers") {
  const Json en = texts_of("en"), vi = texts_of("vi");
  for (const auto& [key, text] : en.items()) {
    INFO(key);
    REQUIRE(vi.contains(key));
    CHECK(places(text.get<std::string>()) == places(vi[key].get<std::string>()));
  }
  CHECK(en.size() == vi.size());
}

TEST_CASE("the faces have every letter of both languages") {
  const App& page = page_at(1440, 900);
  for (const char* id : {"en", "vi"}) {
    const Json texts = texts_of(id);
    for (const auto& [key, entry] : texts.items()) {
      const std::string& text = entry.get_ref<const std::string&>();
      for (std::size_t i = 0; i < text.size();) {
        const unsigned char lead = static_cast<unsigned char>(text[i]);
        const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        unsigned code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
        for (int k = 1; k < length; ++k)
          code = code << 6 | (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0x3Fu);
        INFO(key << " U+" << std::hex << code);
        CHECK(page.ui.fonts.regular->IsGlyphInFont(static_cast<ImWchar>(code)));
        CHECK(page.ui.fonts.semibold->IsGlyphInFont(static_cast<ImWchar>(code)));
        CHECK((code < 0x300 || code > 0x36F));  // composed letters only: marks are not shaped
        i += static_cast<std::size_t>(length);
      }
    }
  }
}
