#include "core/text/trainers/shell.hpp"

#include <algorithm>
#include <optional>

#include "core/text/capture.hpp"
#include "core/text/log_text.hpp"
#include "core/text/trainers/shell_arithmetic.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostExpanded = 4u << 20;  // bytes that all expansions together may come to
constexpr std::size_t kMostVariables = 4096, kMostWords = 100'000;
constexpr int kMostNested = 16;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Length of the name at the front.
std::size_t name_length(std::string_view text) {
  std::size_t n = 0;
  if (text.empty() || !is_name_start(text[0])) return 0;
  while (n < text.size() && is_name(text[n])) ++n;
  return n;
}

// One past the bracket that closes the one at text[at - 1]; quotes inside count.
std::size_t closing(std::string_view text, std::size_t at, char open, char close) {
  int depth = 1;
  for (char quote = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') { ++at; continue; }
    if (quote != 0) { if (c == quote) quote = 0; continue; }
    if (c == '\'' || c == '"') quote = c;
    else if (c == open) ++depth;
    else if (c == close && --depth == 0) return at + 1;
  }
  return text.size();
}

class Shell {
 public:
  explicit Shell(std::string_view text) : text_(text) {}

  Result<ShellText> read() {
    while (at_ < text_.size() && !overflow_) step();
    end_command();
    if (overflow_)
      return Error{"", "", "expansions of at most 4 MiB", "the variables of the script expand to more than 4 MiB of text. Nearest: the arguments as the program prints them"};
    return std::move(out_);
  }

  // Without variables: words of one string.
  std::vector<std::string> words_of_string() {
    while (at_ < text_.size()) {
      skip_blanks();
      if (at_ >= text_.size()) break;
      if (text_[at_] == '\n') { ++at_; continue; }
      const std::size_t from = at_;
      skip_word();
      if (at_ == from) ++at_;
      else for (std::string& w : expand(text_.substr(from, at_ - from), true)) command_.push_back(std::move(w));
    }
    return std::move(command_);
  }

 private:
  enum class Truth : unsigned char { no, yes, unknown };
  struct Frame {  // of if … fi, or of a loop
    bool outer = true, active = true, taken = false, is_loop = false;
    bool in_condition = false;
    Truth condition = Truth::yes;
    char joint = 0;  // '&' or '|' before the next part of the condition
  };

  bool active() const {
    for (const Frame& f : frames_)
      if (!f.outer || (!f.in_condition && !f.active)) return false;
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) ++at_;
      else if (text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == '\n' || text_.substr(at_, 3) == "\\\r\n")) {
        at_ = text_.find('\n', at_) + 1;
        ++line_;
      } else break;
    }
  }

  // To the end of the word at at_, quotes and brackets of expansions included.
  void skip_word() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_blank(c) || c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '<' || c == '>') return;
      if (c == '\\') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') return;
        at_ += 2;
      } else if (c == '\'' || c == '"' || c == '`') {
        const std::size_t from = at_++;
        while (at_ < text_.size() && text_[at_] != c) at_ += c != '\'' && text_[at_] == '\\' ? 2 : 1;
        at_ = std::min(at_ + 1, text_.size());
        count_lines(from);
      } else if (c == '$' && at_ + 1 < text_.size() && (text_[at_ + 1] == '{' || text_[at_ + 1] == '(')) {
        const std::size_t from = at_;
        const char open = text_[at_ + 1];
        at_ = closing(text_, at_ + 2, open, open == '{' ? '}' : ')');
        count_lines(from);
      } else ++at_;
      at_ = std::min(at_, text_.size());
    }
  }

  void count_lines(std::size_t from) { line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(from), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n')); }

  void skip_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    if (line.starts_with("#SBATCH"))
      for (const std::string_view word : words_of(line.substr(7))) {
        if (word.starts_with('#') || out_.batch.size() > kMostWords) break;
        out_.batch.emplace_back(word);
      }
    at_ = end;
  }

  // Raw words of the command so far begin with [[ that is not closed.
  bool in_test() const {
    for (std::size_t i = 0; i < raw_.size(); ++i)
      if (raw_[i] == "[[") {
        for (std::size_t j = i; j < raw_.size(); ++j)
          if (raw_[j] == "]]") return false;
        return true;
      }
    return false;
  }

  void step() {
    skip_blanks();
    if (at_ >= text_.size()) return;
    const char c = text_[at_];
    if (c == '\n') { end_command(); ++at_; ++line_; skip_heredoc(); return; }
    if (c == '#') return skip_comment();
    if (in_test() && (c == '&' || c == '|' || c == '<' || c == '>' || c == '(' || c == ')')) {
      const std::size_t n = at_ + 1 < text_.size() && text_[at_ + 1] == c ? 2 : 1;
      raw_.push_back(text_.substr(at_, n));
      at_ += n;
      return;
    }
    if (c == '(' && raw_begins() && text_.substr(at_, 2) == "((") {
      const std::size_t end = std::min(text_.find("))", at_), text_.size());
      raw_.push_back(text_.substr(at_, end - at_));
      at_ = std::min(end + 2, text_.size());
      return;
    }
    if (c == ';' || c == '(' || c == ')' || c == '|' || c == '&') {
      const bool twice = at_ + 1 < text_.size() && text_[at_ + 1] == c;
      end_command(twice && (c == '|' || c == '&') ? c : 0);
      at_ += twice ? 2 : 1;
      return;
    }
    if (c == '<' || c == '>') return skip_redirection();
    if (starts_array()) {
      if (raw_begins()) end_command();  // "then A+=(": the branch is chosen first
      return read_array();
    }
    const std::size_t from = at_;
    const int line = line_;
    skip_word();
    if (at_ == from) { ++at_; return; }
    if (raw_.empty()) command_line_ = line;
    if (raw_.size() < kMostWords) raw_.push_back(text_.substr(from, at_ - from));
    // A number that says which stream is redirected.
    if (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>') && whole_number(raw_.back())) raw_.pop_back();
  }

  // The command's first word is still to come, keywords aside.
  bool raw_begins() const {
    for (const std::string_view w : raw_)
      if (w != "if" && w != "elif" && w != "while" && w != "then" && w != "else" && w != "do" && w != "!") return false;
    return true;
  }

  void skip_redirection() {
    const bool heredoc = text_.substr(at_, 2) == "<<" && text_.substr(at_, 3) != "<<<";
    while (at_ < text_.size() && (text_[at_] == '<' || text_[at_] == '>' || text_[at_] == '&' || text_[at_] == '-')) ++at_;
    skip_blanks();
    const std::size_t from = at_;
    skip_word();
    if (!heredoc) return;
    for (const char c : text_.substr(from, at_ - from))
      if (is_name(c)) heredoc_ += c;
  }

  void skip_heredoc() {
    if (heredoc_.empty()) return;
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const bool last = trimmed(text_.substr(at_, end - at_)) == heredoc_;
      at_ = std::min(end + 1, text_.size());
      ++line_;
      if (last) break;
    }
    heredoc_.clear();
  }

  bool starts_array() const {
    const std::string_view rest = text_.substr(at_);
    const std::size_t n = name_length(rest);
    return n > 0 && (rest.substr(n, 2) == "=(" || rest.substr(n, 3) == "+=(");
  }

  void read_array() {
    const std::size_t n = name_length(text_.substr(at_));
    const std::string name(text_.substr(at_, n));
    const bool appends = text_[at_ + n] == '+';
    at_ += n + (appends ? 3 : 2);
    std::vector<std::string> words;
    while (at_ < text_.size() && text_[at_] != ')') {
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] == ')') break;
      if (text_[at_] == '\n') { ++at_; ++line_; continue; }
      if (text_[at_] == '#') { skip_comment(); continue; }
      const std::size_t from = at_;
      skip_word();
      if (at_ == from) { ++at_; continue; }
      if (active())
        for (std::string& w : expand(text_.substr(from, at_ - from), false)) words.push_back(std::move(w));
      if (words.size() > kMostWords) overflow_ = true;
    }
    if (at_ < text_.size()) ++at_;
    if (!active()) return;
    ShellVariable* v = variable(name, true);
    if (v == nullptr) return;
    if (!appends) v->words.clear();
    v->is_array = true;
    for (std::string& w : words) v->words.push_back(std::move(w));
    if (v->words.size() > kMostWords) overflow_ = true;
  }

  // --- commands -------------------------------------------------------------------------------------------------------------

  void end_command(char joint = 0) {
    std::vector<std::string_view> raw = std::move(raw_);
    raw_.clear();
    run(raw);
    if (!frames_.empty() && frames_.back().in_condition) frames_.back().joint = joint;
  }

  void run(std::span<const std::string_view> raw) {
    for (;;) {
      if (raw.empty()) return;
      const std::string_view first = raw.front();
      if (first == "if") {
        Frame f;
        f.outer = active();
        f.in_condition = true;
        f.joint = 0;
        frames_.push_back(f);
        if (frames_.size() > 1000) overflow_ = true;
      } else if (first == "for" || first == "while" || first == "until") {
        Frame f;
        f.outer = active();
        f.is_loop = true;
        frames_.push_back(f);
        if (frames_.size() > 1000) overflow_ = true;
        return;
      } else if (first == "then") {
        if (!frames_.empty() && frames_.back().in_condition) {
          Frame& f = frames_.back();
          f.in_condition = false;
          if (f.condition == Truth::unknown && f.outer) out_.undecided.push_back(command_line_);
          f.active = f.condition != Truth::no && !f.taken;
          f.taken = f.taken || f.active;
        }
      } else if (first == "elif") {
        if (!frames_.empty()) {
          Frame& f = frames_.back();
          f.in_condition = true;
          f.condition = Truth::yes;
          f.joint = 0;
        }
      } else if (first == "else") {
        if (!frames_.empty()) {
          frames_.back().active = !frames_.back().taken;
          frames_.back().taken = true;
        }
      } else if (first == "fi" || first == "done") {
        if (!frames_.empty()) frames_.pop_back();
      } else if (first == "case") {
        return skip_case();
      } else if (first != "do" && first != "{" && first != "}" && first != "time" && first != "exec" && first != "nohup" && first != "eval") {
        break;
      }
      raw = raw.subspan(1);
    }
    if (!frames_.empty() && frames_.back().in_condition) return judge(raw);
    if (active()) execute(raw);
  }

  void skip_case() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const bool last = has_word(text_.substr(at_, end - at_), "esac");
      at_ = end;
      if (last) break;  // before its line's end, which the caller passes
      at_ = std::min(end + 1, text_.size());
      ++line_;
    }
    if (active()) out_.undecided.push_back(command_line_);
  }

  // The commands of a condition in turn, joined by && and ||.
  void judge(std::span<const std::string_view> raw) {
    Frame& f = frames_.back();
    const Truth part = f.outer && !f.taken ? truth_of(raw) : Truth::no;
    if (f.joint == 0) f.condition = part;
    else if (f.joint == '&') f.condition = both(f.condition, part);
    else f.condition = either(f.condition, part);
  }

  static Truth both(Truth a, Truth b) { return a == Truth::no || b == Truth::no ? Truth::no : a == Truth::yes && b == Truth::yes ? Truth::yes : Truth::unknown; }
  static Truth either(Truth a, Truth b) { return a == Truth::yes || b == Truth::yes ? Truth::yes : a == Truth::no && b == Truth::no ? Truth::no : Truth::unknown; }
  static Truth truth(bool b) { return b ? Truth::yes : Truth::no; }

  Truth truth_of(std::span<const std::string_view> raw) {
    if (raw.empty()) return Truth::yes;
    if (raw.front() == "!") {
      const Truth t = truth_of(raw.subspan(1));
      return t == Truth::unknown ? t : truth(t == Truth::no);
    }
    if (raw.front().starts_with("((")) {
      const std::optional<long long> value = shell_arithmetic(arithmetic_text(raw.front().substr(2)));
      return value ? truth(*value != 0) : Truth::unknown;
    }
    if (raw.front() != "[" && raw.front() != "[[" && raw.front() != "test") return Truth::unknown;
    Truth all = Truth::no, term = Truth::yes;  // a && b || c
    std::size_t from = 1;
    for (std::size_t i = 1; i <= raw.size(); ++i) {
      const bool ends = i == raw.size() || raw[i] == "]" || raw[i] == "]]";
      if (!ends && raw[i] != "&&" && raw[i] != "-a" && raw[i] != "||" && raw[i] != "-o") continue;
      term = both(term, comparison(raw.subspan(from, i - from)));
      if (ends || raw[i] == "||" || raw[i] == "-o") {
        all = either(all, term);
        term = Truth::yes;
      }
      if (ends) break;
      from = i + 1;
    }
    return all;
  }

  Truth comparison(std::span<const std::string_view> raw) {
    if (!raw.empty() && raw.front() == "!") {
      const Truth t = comparison(raw.subspan(1));
      return t == Truth::unknown ? t : truth(t == Truth::no);
    }
    if (raw.size() == 1) return truth(!joined(raw[0]).empty());
    if (raw.size() == 2 && (raw[0] == "-z" || raw[0] == "-n")) return truth(joined(raw[1]).empty() == (raw[0] == "-z"));
    if (raw.size() != 3) return Truth::unknown;
    const std::string a = joined(raw[0]), b = joined(raw[2]);
    const std::string_view how = raw[1];
    if (how == "==" || how == "=") return b.find_first_of("*?[") == std::string::npos ? truth(a == b) : Truth::unknown;
    if (how == "!=") return b.find_first_of("*?[") == std::string::npos ? truth(a != b) : Truth::unknown;
    const std::optional<long long> x = whole_number(a), y = whole_number(b);
    if (!x || !y) return Truth::unknown;
    if (how == "-eq") return truth(*x == *y);
    if (how == "-ne") return truth(*x != *y);
    if (how == "-gt") return truth(*x > *y);
    if (how == "-ge") return truth(*x >= *y);
    if (how == "-lt") return truth(*x < *y);
    if (how == "-le") return truth(*x <= *y);
    return Truth::unknown;
  }

  void execute(std::span<const std::string_view> raw) {
    while (!raw.empty()) {
      const std::string_view word = raw.front();
      const std::size_t n = name_length(word);
      if (n > 0 && (word.substr(n, 1) == "=" || word.substr(n, 2) == "+=")) assign(word, n);
      else if (word != "export" && word != "local" && word != "declare" && word != "readonly" && word != "typeset") break;
      else
        while (raw.size() > 1 && raw[1].starts_with('-')) raw = raw.subspan(1);
      raw = raw.subspan(1);
    }
    if (raw.empty()) return;
    ShellCommand command;
    command.line = command_line_;
    for (const std::string_view word : raw)
      for (std::string& w : expand(word, false)) command.words.push_back(std::move(w));
    words_ += command.words.size();
    if (words_ > kMostWords) overflow_ = true;
    else if (!command.words.empty()) out_.commands.push_back(std::move(command));
  }

  void assign(std::string_view word, std::size_t n) {
    const bool appends = word[n] == '+';
    std::string value = joined(word.substr(n + (appends ? 2 : 1)));
    ShellVariable* v = variable(word.substr(0, n), true);
    if (v == nullptr) return;
    if (appends && v->is_array) return v->words.push_back(std::move(value));
    if (appends && !v->words.empty()) value = v->words.front() + value;
    if (value.size() > kMaxValue) overflow_ = true;
    v->is_array = false;
    v->words.assign(1, std::move(value));
  }

  ShellVariable* variable(std::string_view name, bool make) {
    for (ShellVariable& v : out_.variables)
      if (v.name == name) return &v;
    if (!make) return nullptr;
    if (out_.variables.size() >= kMostVariables) {
      overflow_ = true;
      return nullptr;
    }
    out_.variables.push_back({std::string(name), {}, false});
    return &out_.variables.back();
  }

  // --- expansions -----------------------------------------------------------------------------------------------------------

  void from_outside(std::string_view name) {
    if (out_.outside.size() >= 100) return;
    std::string shown = shown_name(name, 40);
    if (std::find(out_.outside.begin(), out_.outside.end(), shown) == out_.outside.end()) out_.outside.push_back(std::move(shown));
  }

  std::string arithmetic_text(std::string_view text) {
    std::string filled;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '$') { filled += parameter(text, i, 1, false).text; continue; }
      const std::size_t n = name_length(text.substr(i));
      if (n == 0) { filled += text[i++]; continue; }
      const ShellVariable* v = variable(text.substr(i, n), false);
      filled += v != nullptr && !v->words.empty() ? v->words.front() : std::string(text.substr(i, n));
      i += n;
    }
    return filled;
  }

  struct Value {
    std::string text;
    const std::vector<std::string>* list = nullptr;  // ${name[@]}
  };

  // What begins with '$' at text[i]; i goes past it.
  Value parameter(std::string_view text, std::size_t& i, int depth, bool plain) {
    const std::size_t from = i++;
    if (plain || i >= text.size() || depth > kMostNested) {
      i = std::min(i, text.size());
      return {"$"};
    }
    if (text.substr(i, 2) == "((") {
      std::size_t end = closing(text, i + 1, '(', ')');
      const std::size_t inner = i + 2;
      i = end;
      const std::string_view body = text.substr(inner, end > inner + 1 ? end - inner - 2 : 0);
      const std::optional<long long> value = shell_arithmetic(arithmetic_text(body));
      if (!value) { from_outside(text.substr(from, end - from)); return {}; }
      return {std::to_string(*value)};
    }
    if (text[i] == '(') {
      i = closing(text, i + 1, '(', ')');
      from_outside(text.substr(from, i - from));
      return {};
    }
    if (text[i] != '{') {
      std::size_t n = name_length(text.substr(i));
      if (n == 0) {
        if (std::string_view("0123456789@*#?$!-").find(text[i]) == std::string_view::npos) return {"$"};
        n = 1;
      }
      const std::string_view name = text.substr(i, n);
      i += n;
      return value_of(name, text.substr(from, i - from));
    }
    const std::size_t end = closing(text, i + 1, '{', '}');
    const std::string_view whole = text.substr(from, end - from);
    std::string_view body = text.substr(i + 1, end > i + 2 ? end - i - 2 : 0);
    i = end;
    std::size_t n = name_length(body);
    if (n == 0 && !body.empty() && std::string_view("0123456789@*").find(body[0]) != std::string_view::npos) n = 1;
    if (n == 0) { from_outside(whole); return {}; }
    const std::string_view name = body.substr(0, n);
    std::string_view how = body.substr(n);
    if (how.empty()) return value_of(name, whole);
    const ShellVariable* v = variable(name, false);
    if (how == "[@]" || how == "[*]") {
      if (v == nullptr) from_outside(whole);
      return {"", v != nullptr ? &v->words : &nothing_};
    }
    if (how.starts_with(':')) how = how.substr(1);
    const bool is_set = v != nullptr && !v->words.empty() && !(v->words.size() == 1 && v->words[0].empty() && body[n] == ':');
    if (how.starts_with('-') || how.starts_with('=') || how.starts_with('?')) {
      if (is_set) return {v->words.front()};
      if (how[0] == '?') { from_outside(whole); return {}; }
      return {inner(how.substr(1), depth + 1)};
    }
    if (how.starts_with('+')) return {is_set ? inner(how.substr(1), depth + 1) : ""};
    from_outside(whole);
    return {};
  }

  Value value_of(std::string_view name, std::string_view whole) {
    const ShellVariable* v = variable(name, false);
    if (v == nullptr || v->words.empty()) {
      if (v == nullptr) from_outside(whole);
      return {};
    }
    return {v->words.front()};
  }

  // Text of a default, as one word.
  std::string inner(std::string_view text, int depth) {
    std::string all;
    for (const std::string& w : expand(text, false, depth, true)) all += w;
    return all;
  }

  std::string joined(std::string_view raw) {
    std::string all;
    for (const std::string& w : expand(raw, false, 0, true)) all += (all.empty() ? "" : " ") + w;
    return all;
  }

  // The words that a raw word comes to. plain: '$' is a character. whole: blanks of expansions stay, as in an assignment.
  std::vector<std::string> expand(std::string_view raw, bool plain, int depth = 0, bool whole = false) {
    std::vector<std::string> words;
    std::string word;
    bool has_word = false, in_quotes = false;
    const auto finish = [&] {
      if (has_word || !word.empty()) words.push_back(std::move(word));
      word.clear();
      has_word = false;
    };
    const auto put = [&](const std::string& value) {
      expanded_ += value.size();
      if (expanded_ > kMostExpanded) overflow_ = true;
      if (overflow_) return;
      if (in_quotes || whole) { word += value; return; }
      for (const char c : value)
        if (is_blank(c) || c == '\n') finish();
        else word += c;
    };
    for (std::size_t i = 0; i < raw.size() && !overflow_;) {
      const char c = raw[i];
      if (c == '\'' && !in_quotes) {
        const std::size_t end = std::min(raw.find('\'', i + 1), raw.size());
        word += raw.substr(i + 1, end - i - 1);
        has_word = true;
        i = end + 1;
      } else if (c == '"') {
        in_quotes = !in_quotes;
        has_word = has_word || in_quotes;
        ++i;
      } else if (c == '\\' && i + 1 < raw.size()) {
        const char next = raw[i + 1];
        if (next == '\n') {}
        else if (in_quotes && next != '"' && next != '\\' && next != '$' && next != '`') (word += c) += next;
        else word += next;
        i += 2;
      } else if (c == '`') {
        const std::size_t end = std::min(raw.find('`', i + 1), raw.size());
        from_outside(raw.substr(i, end - i + 1));
        i = end + 1;
      } else if (c == '$') {
        if (!in_quotes && i + 1 < raw.size() && raw[i + 1] == '\'') { ++i; continue; }
        const Value value = parameter(raw, i, depth, plain);
        if (value.list == nullptr) { put(value.text); continue; }
        const std::vector<std::string> list = *value.list;
        for (std::size_t k = 0; k < list.size() && !overflow_; ++k) {
          if (k > 0 && whole) word += ' ';
          else if (k > 0) finish();
          if (in_quotes && !whole) has_word = true;
          put(list[k]);
        }
        if (list.empty()) has_word = false;
      } else {
        word += c;
        ++i;
      }
    }
    finish();
    expanded_ += raw.size();
    if (expanded_ > kMostExpanded) overflow_ = true;
    return words;
  }

  static constexpr std::size_t kMaxValue = 1u << 20;
  std::string_view text_;
  std::size_t at_ = 0, expanded_ = 0, words_ = 0;
  int line_ = 1, command_line_ = 1;
  bool overflow_ = false;
  std::vector<std::string_view> raw_;
  std::vector<std::string> command_;
  std::vector<Frame> frames_;
  std::string heredoc_;
  const std::vector<std::string> nothing_;
  ShellText out_;
};

}  // namespace

Result<ShellText> read_shell(std::string_view text) { return Shell(text).read(); }

std::vector<std::string> shell_words(std::string_view text) { return Shell(text).words_of_string(); }

}  // namespace wireplan
