#include "core/text/sheet.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

std::string padded(const std::string& text, std::size_t width, bool right) {
  std::string space(width - std::min(width, text_width(text)), ' ');
  return right ? space + text : text + space;
}

// In a cell of Markdown a bar would end the cell, and markup of the data would become markup of the page.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '`' || c == '<') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

void drop_trailing_spaces(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (column > 0 && column + 1 + text_width(word) > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += text_width(word);
  }
  return out;
}

std::vector<std::string> parts_that_add_up(const std::vector<double>& parts, double total, int decimals) {
  double scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  std::vector<double> steps;
  double left = std::floor(total * scale + 0.5);
  for (double part : parts) {
    steps.push_back(std::floor(part * scale + 0.5));
    left -= steps.back();
  }
  if (!parts.empty()) steps[static_cast<std::size_t>(std::max_element(parts.begin(), parts.end()) - parts.begin())] += left;
  std::vector<std::string> texts;
  for (double s : steps) texts.push_back(format_fixed(s / scale, decimals));
  return texts;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    if (fields[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += fields[i];
      continue;
    }
    line += '"';
    for (char c : fields[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\r\n";
}

void Sheet::block(const std::string& lines) {
  if (!text_.empty()) text_ += '\n';
  text_ += lines + '\n';
}

std::string Sheet::code(std::string_view text) const {
  return markdown_ ? "`" + std::string(text) + "`" : std::string(text);
}

void Sheet::heading(std::string_view text) {
  block(markdown_ ? "## " + std::string(text) : std::string(text) + '\n' + std::string(text_width(text), '-'));
}

void Sheet::strong(std::string_view text) {
  block(markdown_ ? "**" + std::string(text) + "**" : wrapped(text, kTextWidth, 0));
}

void Sheet::paragraph(std::string_view text) { block(markdown_ ? std::string(text) : wrapped(text, kTextWidth, 0)); }

void Sheet::list(const std::vector<std::string>& items) {
  std::string lines;
  for (const std::string& item : items) {
    if (!lines.empty()) lines += '\n';
    lines += markdown_ ? "- " + item : wrapped("- " + item, kTextWidth, 2);
  }
  if (!lines.empty()) block(lines);
}

void Sheet::drawing(const std::string& lines) {
  if (!lines.empty()) block(markdown_ ? "```text\n" + lines + "\n```" : lines);
}

void Sheet::table(const Table& table) {
  const std::size_t count = table.columns.size();
  auto is_total = [&](std::size_t row) { return std::find(table.totals.begin(), table.totals.end(), row) != table.totals.end(); };
  auto cell = [&](std::size_t row, std::size_t column) {
    return column < table.rows[row].size() ? table.rows[row][column] : std::string();
  };
  std::string lines;
  if (markdown_) {
    for (const auto& column : table.columns) lines += "| " + escaped(column.title) + ' ';
    lines += "|\n";
    for (const auto& column : table.columns) lines += column.right ? "|---:" : "|---";
    lines += '|';
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      lines += '\n';
      for (std::size_t c = 0; c < count; ++c) {
        std::string text = escaped(cell(r, c));
        lines += "| " + (is_total(r) && !text.empty() ? "**" + text + "**" : text) + ' ';
      }
      lines += '|';
    }
    return block(lines);
  }
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < count; ++c) {
    width.push_back(text_width(table.columns[c].title));
    for (std::size_t r = 0; r < table.rows.size(); ++r) width[c] = std::max(width[c], text_width(cell(r, c)));
  }
  auto line = [&](auto&& text_of) {
    std::string text = " ";
    for (std::size_t c = 0; c < count; ++c) text += ' ' + padded(text_of(c), width[c], table.columns[c].right) + (c + 1 < count ? " " : "");
    drop_trailing_spaces(text);
    return text;
  };
  lines = line([&](std::size_t c) { return table.columns[c].title; });
  drop_trailing_spaces(lines);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (is_total(r)) lines += '\n' + line([&](std::size_t c) { return table.columns[c].right ? std::string(width[c], '-') : std::string(); });
    lines += '\n' + line([&](std::size_t c) { return cell(r, c); });
  }
  block(lines);
}

}  // namespace wireplan
