// A sheet of headings, paragraphs, lists and tables, written once and laid out as plain text or as Markdown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wireplan {

struct Table {
  struct Column {
    std::string title;
    bool right = false;  // numbers stand to the right
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> totals;  // rows that sum up those above them: text draws a line over, Markdown sets them bold
};

class Sheet {
 public:
  explicit Sheet(bool markdown) : markdown_(markdown) {}
  void heading(std::string_view text);
  void strong(std::string_view text);                        // a paragraph that carries the answer
  void paragraph(std::string_view text);
  void list(const std::vector<std::string>& items);
  void table(const Table& table);
  void drawing(const std::string& lines);                    // as it is, in a fixed pitch; without fences or a newline at its end
  const std::string& text() const { return text_; }          // ends with a newline, unless empty

  bool is_markdown() const { return markdown_; }
  std::string code(std::string_view text) const;             // `text` in Markdown, as it is in plain text

 private:
  void block(const std::string& lines);
  bool markdown_;
  std::string text_;
};

inline constexpr std::size_t kTextWidth = 100;

// Characters of a UTF-8 text; every one is taken to be one column wide.
std::size_t text_width(std::string_view text);

// Lines of at most `width` columns, broken at spaces; the second and later ones begin with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

// Parts as whole multiples of 10^-decimals that add up to the rounded total: the largest part takes what rounding leaves over.
// Valid for parts whose exact sum is `total`.
std::vector<std::string> parts_that_add_up(const std::vector<double>& parts, double total, int decimals);

// One line of CSV as RFC 4180 has it (quotes where needed, CR LF at the end).
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace wireplan
