#include "core/text/xml.hpp"

#include <algorithm>
#include <utility>

#include "core/text/json.hpp"

namespace wireplan {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':'; }

void append_utf8(std::string& to, unsigned code) {
  const auto tail = [&](int shift) { to += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    to += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

class XmlParser {
 public:
  explicit XmlParser(std::string_view text) : text_(text) {}

  Result<XmlDocument> parse() {
    if (text_.size() > kMaxDocumentBytes)
      return Error{"", "", "at most 4 MB", "the XML has more than 4 MB; a topology file has a few kB"};
    skip("\xef\xbb\xbf");
    bool first = true;
    while (ok_ && at_ < text_.size()) {
      const std::size_t open = std::min(text_.find('<', at_), text_.size());
      pass_text(open);
      if (!ok_ || at_ >= text_.size()) break;
      if (skip("<?")) {
        if (!first || !skip("xml") || at_ >= text_.size() || !is_space(text_[at_])) fail("only an XML declaration at the very start may begin with <?");
        else skip_to("?>", "the XML declaration");
      } else if (skip("<!--")) {
        skip_to("-->", "a comment");
      } else if (text_.substr(at_, 2) == "<!") {
        fail("document types, entity declarations and CDATA are not read: nothing outside the file, and nothing that grows, is ever taken in");
      } else if (skip("</")) {
        close();
      } else {
        skip("<");
        open_element();
      }
      first = false;
    }
    if (ok_ && !open_.empty()) fail("the text ends inside <" + document_.elements[static_cast<std::size_t>(open_.back())].name + ">");
    if (ok_ && document_.elements.empty()) fail("there is no element");
    if (!ok_) return error_;
    return std::move(document_);
  }

 private:
  bool skip(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void skip_to(std::string_view end, const char* what) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return fail(std::string(what) + " is not closed");
    count_lines(found);
    at_ = found + end.size();
  }

  void count_lines(std::size_t end) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
  }

  void pass_text(std::size_t end) {
    for (std::size_t i = at_; i < end && open_.empty(); ++i)
      if (!is_space(text_[i])) return fail("there is text outside the root element");
    count_lines(end);
    at_ = end;
  }

  void skip_space() {
    for (; at_ < text_.size() && is_space(text_[at_]); ++at_) line_ += text_[at_] == '\n';
  }

  std::string name() {
    const std::size_t start = at_;
    if (at_ < text_.size() && starts_name(text_[at_])) {
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    }
    if (at_ == start) fail("a name was expected");
    return std::string(text_.substr(start, at_ - start));
  }

  void open_element() {
    if (open_.empty() && !document_.elements.empty()) return fail("there is a second root element");
    if (document_.elements.size() >= kMaxXmlElements) return fail("there are more than 100,000 elements");
    if (open_.size() >= static_cast<std::size_t>(kMaxDocumentDepth)) return fail("elements lie more than 64 deep");
    const int index = static_cast<int>(document_.elements.size());
    XmlElement element;
    element.line = line_;
    element.parent = open_.empty() ? -1 : open_.back();
    element.name = name();
    while (ok_) {
      const std::size_t before = at_;
      skip_space();
      if (at_ >= text_.size()) return fail("the text ends inside <" + element.name + ">");
      const bool closed = skip("/>");
      if (closed || skip(">")) {
        if (element.parent >= 0) document_.elements[static_cast<std::size_t>(element.parent)].children.push_back(index);
        document_.elements.push_back(std::move(element));
        if (!closed) open_.push_back(index);
        return;
      }
      if (before == at_) return fail("<" + element.name + "> has attributes without a blank between");
      attribute(element);
    }
  }

  void attribute(XmlElement& element) {
    std::string key = name();
    skip_space();
    if (ok_ && !skip("=")) fail("attribute " + key + " has no value");
    skip_space();
    if (!ok_) return;
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '"' && quote != '\'') return fail("the value of " + key + " stands in no quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail("the value of " + key + " is not closed");
    std::string value = decoded(text_.substr(at_ + 1, end - at_ - 1));
    count_lines(end);
    at_ = end + 1;
    if (!ok_) return;
    if (element.attributes.size() >= 64) return fail("<" + element.name + "> has more than 64 attributes");
    if (element.has(key)) return fail("<" + element.name + "> has " + key + " twice");
    element.attributes.emplace_back(std::move(key), std::move(value));
  }

  std::string decoded(std::string_view raw) {
    std::string value;
    for (std::size_t i = 0; i < raw.size() && ok_; ++i) {
      if (raw[i] == '<') fail("a value holds <");
      if (raw[i] != '&') {
        value += raw[i];
        continue;
      }
      const std::size_t end = raw.substr(i, 12).find(';');
      if (end == std::string_view::npos) {
        fail("& begins no entity");
        break;
      }
      append_entity(value, raw.substr(i + 1, end - 1));
      i += end;
    }
    return value;
  }

  void append_entity(std::string& value, std::string_view entity) {
    constexpr std::pair<std::string_view, char> kNamed[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [word, letter] : kNamed)
      if (entity == word) {
        value += letter;
        return;
      }
    const bool hex = entity.substr(0, 2) == "#x";
    const std::string_view digits = entity.substr(std::min<std::size_t>(entity.size(), hex ? 2 : 1));
    unsigned code = 0;
    bool sound = entity.substr(0, 1) == "#" && !digits.empty();
    for (char c : digits) {
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
      sound = sound && digit < (hex ? 16 : 10) && code < 0x110000;
      if (sound) code = code * (hex ? 16 : 10) + static_cast<unsigned>(digit);
    }
    sound = sound && code < 0x110000 && !(code >= 0xd800 && code < 0xe000) && (code >= 0x20 || code == '\t' || code == '\n' || code == '\r');
    if (sound) append_utf8(value, code);
    else fail("&" + std::string(entity) + "; is none of the entities XML has itself");
  }

  void close() {
    const std::string closed = name();
    skip_space();
    if (ok_ && !skip(">")) fail("</" + closed + " is not closed");
    if (!ok_) return;
    if (open_.empty()) return fail("</" + closed + "> closes nothing");
    const XmlElement& element = document_.elements[static_cast<std::size_t>(open_.back())];
    if (element.name != closed) return fail("</" + closed + "> stands where <" + element.name + "> of line " + std::to_string(element.line) + " is open");
    open_.pop_back();
  }

  void fail(const std::string& what) {
    if (!ok_) return;
    ok_ = false;
    std::string near(text_.substr(std::min(at_, text_.size()), 40));
    for (char& c : near)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = ' ';
    error_ = {"", value_text(Json(near)), "XML of elements and attributes", "line " + std::to_string(line_) + " of the XML: " + what};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool ok_ = true;
  Error error_;
  XmlDocument document_;
  std::vector<int> open_;
};

}  // namespace

bool XmlElement::has(std::string_view attribute) const {
  return std::any_of(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == attribute; });
}

std::string_view XmlElement::get(std::string_view attribute) const {
  for (const auto& [key, value] : attributes)
    if (key == attribute) return value;
  return {};
}

Result<XmlDocument> parse_xml(std::string_view text) { return XmlParser(text).parse(); }

}  // namespace wireplan
