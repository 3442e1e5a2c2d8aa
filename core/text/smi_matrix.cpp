#include "core/text/smi_matrix.hpp"

#include <algorithm>
#include <optional>

#include "core/text/capture.hpp"
#include "core/text/json.hpp"
#include "core/text/topology_draft.hpp"

namespace wireplan {
namespace {

struct Word { std::string_view word; Relation relation; };
constexpr Word kWords[] = {{"X", Relation::self},   {"PIX", Relation::pix},  {"PXB", Relation::pxb},       {"PHB", Relation::phb},
                           {"NODE", Relation::node}, {"SYS", Relation::sys},  {"SOC", Relation::sys},       {"OK", Relation::peers},
                           {"CNS", Relation::no_peers}, {"GNS", Relation::no_peers}, {"TNS", Relation::no_peers}, {"NS", Relation::no_peers},
                           {"DR", Relation::no_peers},  {"U", Relation::no_peers}};
constexpr std::string_view kListed = "X, NV#, PIX, PXB, PHB, NODE or SYS";

std::optional<SmiCell> cell_of(std::string_view word) {
  for (const Word& w : kWords)
    if (w.word == word) return SmiCell{w.relation, 0, false};
  if (word == "-" || word == "." || word == "?") return SmiCell{};
  if (word.substr(0, 2) == "NV" && word.size() > 2 && word.size() < 6)
    if (const auto links = small_number(word.substr(2)); links && *links >= 1 && *links <= 1024) return SmiCell{Relation::nvlink, *links, false};
  return std::nullopt;
}

bool is_beginning_of_a_word(std::string_view word) {
  if (word == "NV") return true;
  return std::any_of(std::begin(kWords), std::end(kWords), [&](const Word& w) { return w.word.substr(0, word.size()) == word; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The index of "GPU7", -1 for anything else.
int gpu_index(std::string_view word) {
  if (word.substr(0, 3) != "GPU" || word.size() < 4 || !std::all_of(word.begin() + 3, word.end(), is_digit)) return -1;
  return small_number(word.substr(3)).value_or(1'000'000'000);
}

// Devices are called GPU0, NIC0, mlx5_0, mlx5_bond_0, rocep1s0: a letter first, a digit somewhere.
bool is_device(std::string_view word) {
  if (word.size() < 3 || word.size() > 64 || !((word[0] >= 'a' && word[0] <= 'z') || (word[0] >= 'A' && word[0] <= 'Z')) || cell_of(word)) return false;
  bool has_digit = false;
  for (char c : word) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' || c == '.')) return false;
    has_digit = has_digit || is_digit(c);
  }
  return has_digit;
}

// "0-11,24-35", "0,2,4", "7": what affinity columns hold.
bool is_cpu_list(std::string_view word) {
  return !word.empty() && is_digit(word[0]) && std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '-' || c == ','; });
}

// Quote marks of mails and Markdown, comment signs and list marks before a pasted block.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> words = split_cells(line);
  while (!words.empty() && (words.front() == ">" || words.front() == "#" || words.front() == "//")) words.erase(words.begin());
  return words;
}

class Matrices {
 public:
  Result<std::vector<SmiMatrix>> read(const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      read_line(line);
      if (!errors_.empty()) return errors_;
    }
    finish();
    if (!errors_.empty()) return errors_;
    return std::move(done_);
  }

 private:
  struct Row {
    int device = -1;  // index into devices, -1: not among the columns
    std::string label;
    std::vector<SmiCell> cells;
    std::vector<std::string_view> rest;  // affinities
  };

  void read_line(std::string_view line) {
    if (const std::size_t option = line.find("-p2p"); option != std::string_view::npos) {
      finish();
      const std::string_view after = trimmed(line.substr(option + 4));
      letter_ = after.empty() ? ' ' : after[0];
    } else if (contains(line, "topo -m") || contains(line, "topo --matrix")) {
      finish();
    }
    const std::vector<std::string_view> words = cells_of(line);
    if (words.empty()) return;
    if (starts_header(words)) return header(words);
    if (is_row(words)) return row(words);
    if (!rows_.empty() && is_open_ && continues(words)) return more_of_row(words);
    is_open_ = false;
  }

  // Only devices, until the affinity columns begin. A header broken by a narrow terminal goes on in the next line.
  bool starts_header(const std::vector<std::string_view>& words) const {
    bool any = false;
    std::size_t i = 0;
    for (; i < words.size() && is_device(words[i]); ++i) any = any || gpu_index(words[i]) >= 0;
    const bool ends = i == words.size() || words[i] == "CPU" || words[i] == "NUMA" || words[i] == "GPU" || words[i] == "Affinity";
    return i > 0 && ends && (any || (!columns_.empty() && rows_.empty() && is_open_));
  }

  void header(const std::vector<std::string_view>& words) {
    if (!rows_.empty() || !is_open_) finish();
    is_open_ = true;
    for (const std::string_view word : words) {
      if (!is_device(word)) break;
      if (std::find(columns_.begin(), columns_.end(), word) != columns_.end())
        return fail(word, "each device once", shown_name(word) + " heads two columns of the matrix");
      columns_.emplace_back(word);
      gpu_columns_ += gpu_index(word) >= 0;
      if (gpu_columns_ > kMostCapturedGpus || static_cast<int>(columns_.size()) - gpu_columns_ > kMostCapturedNics) return too_many();
    }
  }

  bool is_row(const std::vector<std::string_view>& words) const {
    if (words.size() < 2 || !is_device(words[0])) return false;
    const bool known = std::find(columns_.begin(), columns_.end(), words[0]) != columns_.end();
    if (!known && gpu_index(words[0]) < 0) return false;
    return cell_of(words[1]).has_value() || (known && is_open_ && is_beginning_of_a_word(words[1])) || is_foreign(words);
  }

  // A row of a matrix that has words of another vendor or of nobody.
  bool is_foreign(const std::vector<std::string_view>& words) const {
    return !columns_.empty() && is_open_ && words.size() > columns_.size() && gpu_index(words[0]) >= 0 && words[1].back() != ':';
  }

  void row(const std::vector<std::string_view>& words) {
    if (columns_.empty() && rows_.size() >= static_cast<std::size_t>(kMostCapturedGpus)) return too_many();
    if (rows_.size() > static_cast<std::size_t>(kMostCapturedGpus + kMostCapturedNics)) return too_many();
    is_open_ = true;
    Row r;
    r.label = words[0];
    rows_.push_back(std::move(r));
    add_cells(words, 1);
  }

  bool continues(const std::vector<std::string_view>& words) const {
    const Row& last = rows_.back();
    return !columns_.empty() && last.cells.size() < columns_.size() && last.rest.empty() && cell_of(words[0]).has_value();
  }
  void more_of_row(const std::vector<std::string_view>& words) { add_cells(words, 0); }

  void add_cells(const std::vector<std::string_view>& words, std::size_t from) {
    Row& r = rows_.back();
    const std::size_t most = columns_.empty() ? static_cast<std::size_t>(kMostCapturedGpus + kMostCapturedNics) : columns_.size();
    for (std::size_t i = from; i < words.size(); ++i) {
      std::optional<SmiCell> cell = r.rest.empty() && r.cells.size() < most ? cell_of(words[i]) : std::nullopt;
      if (cell) {
        r.cells.push_back(*cell);
        continue;
      }
      const bool affinity = is_cpu_list(words[i]) || words[i] == "N/A";
      if (!r.rest.empty() || affinity || r.cells.size() >= most) {
        if (r.rest.size() < 4) r.rest.push_back(words[i]);
        continue;
      }
      if (i + 1 == words.size() && is_beginning_of_a_word(words[i])) break;  // the text ends inside this word
      const std::string column = r.cells.size() < columns_.size() ? " in the column of " + columns_[r.cells.size()] : "";
      return fail(words[i], std::string(kListed), "the row of " + shown_name(r.label) + " has " + value_text(Json(shown_name(words[i]))) + column + ", which is none of " + std::string(kListed));
    }
  }

  // Where the header is cut off, each row's X stands in its own column.
  void guess_columns() {
    std::size_t width = 0;
    for (const Row& r : rows_) width = std::max(width, r.cells.size());
    columns_.assign(width, "");
    for (const Row& r : rows_) {
      const auto self = std::find_if(r.cells.begin(), r.cells.end(), [](const SmiCell& c) { return c.relation == Relation::self; });
      if (self != r.cells.end()) columns_[static_cast<std::size_t>(self - r.cells.begin())] = r.label;
    }
    for (std::size_t i = 0; i < width; ++i)
      if (columns_[i].empty() || std::count(columns_.begin(), columns_.end(), columns_[i]) > 1) columns_[i] = "column" + std::to_string(i);
  }

  void finish() {
    if (!rows_.empty()) build();
    columns_.clear();
    gpu_columns_ = 0;
    rows_.clear();
    is_open_ = false;
  }

  void build() {
    if (columns_.empty()) guess_columns();
    SmiMatrix m;
    for (const std::string& name : columns_) m.devices.push_back({name, gpu_index(name), false, "", -1});
    // A GPU that has a row but no column: the header is cut.
    for (const Row& r : rows_)
      if (std::find(columns_.begin(), columns_.end(), r.label) == columns_.end()) {
        columns_.push_back(r.label);
        m.devices.push_back({r.label, gpu_index(r.label), false, "", -1});
      }
    const std::size_t n = m.devices.size();
    m.cells.assign(n * n, {});
    for (Row& r : rows_) {
      r.device = static_cast<int>(std::find(columns_.begin(), columns_.end(), r.label) - columns_.begin());
      place(m, r);
      if (!errors_.empty()) return;
    }
    for (const SmiCell& c : m.cells) m.is_p2p = m.is_p2p || c.relation == Relation::peers || c.relation == Relation::no_peers;
    m.letter = m.is_p2p ? letter_ : ' ';
    if (m.is_p2p) letter_ = ' ';
    done_.push_back(std::move(m));
    if (done_.size() > 32) fail("", "at most 32 matrices", "the text holds more than 32 matrices: paste the output of one machine");
  }

  void place(SmiMatrix& m, const Row& r) {
    SmiDevice& device = m.devices[static_cast<std::size_t>(r.device)];
    const std::size_t n = m.devices.size();
    // A table typed by hand may leave out the half that the other half repeats: its X says where a row begins.
    std::size_t shift = 0;
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
      if (r.cells[i].relation != Relation::self) continue;
      const std::size_t own = static_cast<std::size_t>(r.device);
      if (i > own || r.cells.size() + own - i > n)
        return fail(r.label, "X in a device's own column", "the row of " + shown_name(r.label) + " has its X in the column of " + shown_name(m.devices[std::min(i, n - 1)].name) + ": the table is shifted or mistyped");
      shift = own - i;
      break;
    }
    const bool was_there = device.has_row;
    device.has_row = true;
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
      if (i + shift >= n) break;
      SmiCell& cell = m.cells[static_cast<std::size_t>(r.device) * n + i + shift];
      SmiCell given = r.cells[i];
      given.is_cut = i + 1 == r.cells.size() && i + shift + 1 < n && r.rest.empty();
      if (was_there && cell.relation != Relation::unknown && (cell.relation != given.relation || cell.links != given.links))
        return fail(r.label, "one row for each device", "the row of " + shown_name(r.label) + " stands twice, once with " + relation_name(cell) + " and once with " + relation_name(given) + " for " + shown_name(m.devices[i + shift].name));
      if (given.relation != Relation::unknown) cell = given;
    }
    if (!r.rest.empty() && is_cpu_list(r.rest[0])) device.cpus = std::string(r.rest[0].substr(0, 256));
    if (r.rest.size() > 1) device.numa = small_number(r.rest[1].substr(0, r.rest[1].find_first_of("-,"))).value_or(-1);
    if (device.numa > 1023) device.numa = -1;
  }

  void too_many() {
    fail("", "at most " + std::to_string(kMostCapturedGpus) + " GPUs and " + std::to_string(kMostCapturedNics) + " NICs",
         "the matrix has more than " + std::to_string(kMostCapturedGpus) + " GPUs or " + std::to_string(kMostCapturedNics) + " NICs; one machine has not so many");
  }

  void fail(std::string_view value, std::string limit, std::string text) {
    if (errors_.empty()) errors_.push_back({"", value.empty() ? "" : value_text(Json(shown_name(value))), std::move(limit), std::move(text)});
  }

  std::vector<std::string> columns_;
  int gpu_columns_ = 0;
  std::vector<Row> rows_;
  bool is_open_ = false;  // the line before belonged to the matrix
  char letter_ = ' ';
  std::vector<SmiMatrix> done_;
  Errors errors_;
};

}  // namespace

Result<std::vector<SmiMatrix>> read_smi_matrices(const std::vector<std::string_view>& lines) { return Matrices().read(lines); }

std::string relation_name(const SmiCell& cell) {
  switch (cell.relation) {
    case Relation::nvlink: return "NV" + std::to_string(cell.links);
    case Relation::self: return "X";
    case Relation::pix: return "PIX";
    case Relation::pxb: return "PXB";
    case Relation::phb: return "PHB";
    case Relation::node: return "NODE";
    case Relation::sys: return "SYS";
    case Relation::peers: return "OK";
    case Relation::no_peers: return "no peer access";
    case Relation::unknown: break;
  }
  return "nothing";
}

}  // namespace wireplan
