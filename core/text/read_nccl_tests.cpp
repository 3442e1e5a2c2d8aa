// From text and JSON to tables.
#include <algorithm>
#include <cmath>

#include "core/base/format.hpp"
#include "core/text/import_nccl_tests.hpp"
#include "core/text/json.hpp"
#include "core/text/log_text.hpp"
#include "core/text/nccl_tests_table.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostRows = 100'000, kMostTables = 1'000, kMostDevices = 100'000;
constexpr int kMostRanks = 100'000, kMostGpus = 1'024;

bool is_type(std::string_view word) { return nccl_type(word).bytes > 0; }

// The word of letters and '_' that ends at text[end].
std::string_view name_before(std::string_view text, std::size_t end) {
  std::size_t start = end;
  while (start > 0 && ((text[start - 1] >= 'a' && text[start - 1] <= 'z') || text[start - 1] == '_')) --start;
  return text.substr(start, end - start);
}

class TextReader {
 public:
  NcclTestsLog log;

  void read(std::string_view text) {
    while (std::optional<std::string> line = next_line(text)) take(std::move(*line));
    close();
  }

 private:
  NcclTestsTable now_;
  std::string fragment_;  // a row that a message of NCCL has interrupted
  int fragment_lines_ = 0;
  std::size_t rows_ = 0;

  void close() {
    if (now_.rows.empty()) return;
    if (log.tables.size() < kMostTables) log.tables.push_back(std::move(now_));
    else log.is_cut = true;
    now_ = {};
  }

  // What comes now belongs to another table, which has these devices unless it lists its own.
  void next_table(bool keeps_devices) {
    if (now_.rows.empty()) return;
    NcclTestsTable next;
    if (keeps_devices) {
      next.devices = now_.devices;
      next.threads = now_.threads;
      next.gpus = now_.gpus;
      next.is_graph = now_.is_graph;
      next.is_blocking = now_.is_blocking;
      next.is_aggregated = now_.is_aggregated;
    }
    next.has_visible_devices = now_.has_visible_devices;
    close();
    now_ = std::move(next);
  }

  void take(std::string line) {
    // What Open MPI puts in front may touch a long number: "[1,0]<stdout>:137438953472".
    if (const std::size_t mark = line.find("<stdout>:"); mark != std::string::npos && mark < 40) line.erase(0, mark + 9);
    const std::size_t message = message_start(line);
    if (message != std::string::npos) {
      if (log.nccl.empty()) take_version(line);
      std::string before = line.substr(0, message);
      if (!before.empty() && before.find_first_not_of(' ') != std::string::npos) {
        const bool is_row = !fragment_.empty() || starts_row(before);
        if (is_row && fragment_.size() < 1000) {
          fragment_ += before + ' ';
          fragment_lines_ = 0;
        }
      }
      return;
    }
    if (!fragment_.empty()) {
      // The rest of the row: a line that is no row by itself. Something else may stand between a few times.
      if (!take_row(line) && take_row(fragment_ + line)) fragment_.clear();
      else if (++fragment_lines_ > 20) fragment_.clear();
      else take_heading(line);
      return;
    }
    if (!take_row(line)) take_heading(line);
  }

  static bool starts_row(std::string_view text) {
    const auto words = words_of(text);
    for (std::size_t i = 2; i < words.size(); ++i)
      if (is_type(words[i]) && whole_number(words[i - 1])) return true;
    return false;
  }

  static std::optional<double> figure(std::string_view word) { return word == "N/A" ? std::nullopt : decimal(word); }

  // size count type [redop] [root] then time algbw busbw error, out-of-place and in-place; each of them may be missing.
  bool take_row(const std::string& line) {
    const auto words = words_of(line);
    std::size_t at = 2;
    while (at < words.size() && !(is_type(words[at]) && whole_number(words[at - 1]) && whole_number(words[at - 2]))) ++at;
    if (at >= words.size()) return false;
    NcclTestsRow row;
    row.size = Bytes(static_cast<double>(*whole_number(words[at - 2])));
    row.count = static_cast<double>(*whole_number(words[at - 1]));
    std::size_t first = at + 1;
    std::string redop;
    if (first < words.size() && words[first] != "N/A" && !decimal(words[first])) redop = words[first++];
    std::size_t end = first;
    while (end < words.size() && (words[end] == "N/A" || decimal(words[end]))) ++end;
    const std::size_t figures = end - first;
    if (figures < 3) return false;
    const bool has_root = has_root_column(words, first, figures, row.size);
    std::optional<int> root;
    if (has_root) root = words[first] == "-1" ? -1 : static_cast<int>(whole_number(words[first]).value_or(0) % 1'000'000);
    const std::size_t out = first + (has_root ? 1 : 0), left = end - out;
    if (left < 3) return false;
    row.time = figure(words[out]);
    row.algbw = figure(words[out + 1]).value_or(0);
    row.busbw = figure(words[out + 2]).value_or(0);
    // Columns of -T and of single iterations stand behind each half.
    const bool has_iterations = left >= 16;
    const std::size_t in = out + (has_iterations ? 8 : left == 7 ? 3 : 4);
    if (in + 3 <= end) {
      row.in_place = figure(words[in]);
      if (!row.time) {
        row.algbw = figure(words[in + 1]).value_or(0);
        row.busbw = figure(words[in + 2]).value_or(0);
      }
      if (in + 3 < end && !row.time) row.is_wrong = figure(words[in + 3]).value_or(0) >= 0.5;
    }
    // Differences of up to 1e-2 are rounding in half precision; a count of wrong elements is 1 and more.
    if (row.time && left != 7 && left > 3) row.is_wrong = figure(words[out + 3]).value_or(0) >= 0.5;
    if (rows_ >= kMostRows) {
      log.is_cut = true;
      return true;
    }
    const std::string type(words[at]);
    if (!now_.rows.empty() && (type != now_.type || (!redop.empty() && redop != now_.redop) || (root && now_.root && *root != *now_.root))) {
      // -o all, -d all and -r all print one table for each without a heading of their own.
      NcclTestsTable next = now_;
      next.rows.clear();
      close();
      now_ = std::move(next);
    }
    now_.type = type;
    if (!redop.empty()) now_.redop = redop;
    if (root) now_.root = root;
    now_.rows.push_back(row);
    ++rows_;
    return true;
  }

  // Whether the first figure is the root: by the number of columns, and where that says nothing by size = time · algbw.
  static bool has_root_column(const std::vector<std::string_view>& words, std::size_t first, std::size_t figures, Bytes size) {
    if (words[first] == "-1") return true;
    if (!whole_number(words[first]) || figures < 4) return false;
    if (figures == 8 || figures == 4) return false;
    if (figures == 9 || figures == 17) return true;
    const auto misfit = [&](std::size_t out) {
      const double time = figure(words[out]).value_or(0), rate = figure(words[out + 1]).value_or(0);
      return time > 0 && rate > 0 ? std::fabs(size.value / (time * rate * 1e3) - 1) : 1e9;
    };
    return misfit(first + 1) < misfit(first);
  }

  void take_version(std::string_view line) {
    const std::size_t found = line.find("NCCL version ");
    if (found == std::string_view::npos) return;
    const auto words = words_of(line.substr(found + 13));
    if (!words.empty() && words[0].size() < 40) log.nccl = std::string(words[0].substr(0, words[0].find('+')));
  }

  void take_heading(const std::string& line) {
    const auto words = words_of(line);
    if (words.empty()) return;
    if (log.nccl.empty()) take_version(line);
    if (contains(line, "CUDA_VISIBLE_DEVICES=")) now_.has_visible_devices = true;
    if (contains(line, "nccl-tests version ")) {
      next_table(false);
      const std::string_view rest = std::string_view(line).substr(line.find("nccl-tests version ") + 19);
      log.nccl_tests = std::string(rest.substr(0, std::min<std::size_t>(rest.find(' '), 40)));
      if (const auto code = number_behind(line, "nccl-library=")) log.nccl = version_of_code(*code);
    }
    if (contains(line, "minBytes")) {
      next_table(false);
      now_.threads = count_behind(line, "nThread", 1);
      now_.gpus = count_behind(line, "nGpus", 0);
      now_.is_graph = count_behind(line, "graph:", 0) > 0;
      now_.is_aggregated = count_behind(line, "agg iters:", 1) > 1;
    }
    if (contains(line, "Blocking Enabled")) now_.is_blocking = true;
    if (contains(line, "Using devices")) {
      next_table(true);
      now_.devices.clear();
    }
    if (take_device(line, words)) return;
    if (contains(line, "algbw") && contains(line, "size")) {
      next_table(true);
      now_.is_cpu_time = contains(line, "cputime");
      now_.has_heading = true;
      now_.has_redop_column = contains(line, "redop");
    }
    if (contains(line, "_perf")) take_program(line);
  }

  // The command that was typed, or what newer releases say at start and end. A line with several programs (ls, make) says nothing.
  void take_program(std::string_view line) {
    std::optional<Collective> op;
    std::string_view other;
    for (std::size_t at = line.find("_perf"); at != std::string_view::npos; at = line.find("_perf", at + 5)) {
      const std::string_view name = name_before(line, at);
      const std::optional<Collective> known = operation_of_program(name);
      if (known && op && *known != *op) return;
      if (known) op = known;
      else other = name;
    }
    const bool is_end = contains(line, "concluded");
    if (is_end && (now_.collective || !op)) return;
    if (!is_end) next_table(false);
    now_.collective = op;
    now_.program = op ? std::string() : std::string(other.substr(0, 40));
  }

  // "nThread 1 nGpus 8" and "nThread: 1 nGpus: 8"
  static int count_behind(std::string_view line, std::string_view key, int otherwise) {
    std::size_t at = line.find(key);
    if (at == std::string_view::npos) return otherwise;
    at += key.size();
    if (at < line.size() && line[at] == ':') ++at;
    const auto n = number_at(line, at);
    return n && *n <= 100'000 ? static_cast<int>(*n) : otherwise;
  }

  static std::string version_of_code(long long code) {
    // Two digits for the minor number from 2.9 on.
    const long long wide = code >= 10'000 ? 10'000 : 1'000;
    return std::to_string(code / wide) + '.' + std::to_string(code % wide / 100) + '.' + std::to_string(code % 100);
  }

  // "Rank  0 Group  0 Pid 1006102 on node0 device  0 [0000:19:00] NVIDIA H100 80GB HBM3"
  bool take_device(const std::string& line, const std::vector<std::string_view>& words) {
    std::size_t at = 0;
    while (at < words.size() && words[at] != "Rank" && words[at] != "#Rank") ++at;
    if (at + 1 >= words.size()) return false;
    NcclTestsTable::Device d;
    const auto rank = whole_number(words[at + 1]);
    if (!rank || *rank >= kMostRanks) return false;
    d.rank = static_cast<int>(*rank);
    bool has_device = false;
    for (std::size_t i = at + 2; i + 1 < words.size() && !has_device; ++i) {
      const auto n = whole_number(words[i + 1]);
      if (words[i] == "Group" && n && *n < 1'000'000) d.group = static_cast<int>(*n);
      if (words[i] == "Pid") d.pid = std::string(words[i + 1].substr(0, 20));
      if (words[i] == "on") d.host = std::string(words[i + 1].substr(0, 255));
      if (words[i] == "device" && n && *n < kMostGpus) {
        d.device = static_cast<int>(*n);
        has_device = true;
      }
    }
    if (!has_device) return false;
    if (!now_.rows.empty()) {
      next_table(true);
      now_.devices.clear();
    }
    if (now_.devices.size() < kMostDevices) now_.devices.push_back(std::move(d));
    const std::size_t bracket = line.rfind(']');
    if (bracket != std::string::npos) add_gpu_name(std::string_view(line).substr(bracket + 1));
    return true;
  }

  void add_gpu_name(std::string_view name) {
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.empty() || name.size() > 80 || log.gpu_names.size() >= 16) return;
    if (std::find(log.gpu_names.begin(), log.gpu_names.end(), name) == log.gpu_names.end()) log.gpu_names.emplace_back(name);
  }

  friend struct JsonReader;
};

// --- the file of -J ---------------------------------------------------------------------------------------------------------

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}
double number_of(const Json& object, const char* key, double otherwise = 0) {
  const Json* value = member(object, key);
  return value && value->is_number() ? value->get<double>() : otherwise;
}
std::string text_of(const Json& object, const char* key) {
  const Json* value = member(object, key);
  return value && value->is_string() ? value->get<std::string>().substr(0, 255) : std::string();
}
int count_of(const Json& object, const char* key, int otherwise) {
  const double n = number_of(object, key, otherwise);
  return n >= 0 && n <= 1e6 ? static_cast<int>(n) : otherwise;
}

struct JsonReader {
  TextReader& out;

  void read(const Json& document, const Json& results) {
    NcclTestsTable table;
    out.log.date = text_of(document, "start_time");
    if (const double code = number_of(document, "nccl_version"); code > 0 && code < 1e6)
      out.log.nccl = TextReader::version_of_code(static_cast<long long>(code));
    if (const Json* env = member(document, "env"); env && env->is_array())
      for (const Json& e : *env)
        if (e.is_string() && e.get_ref<const std::string&>().starts_with("CUDA_VISIBLE_DEVICES=")) table.has_visible_devices = true;
    if (const Json* config = member(document, "config")) read_config(*config, table);
    if (const Json* args = member(document, "args"); args && args->is_array() && !args->empty() && (*args)[0].is_string())
      table.collective = operation_of_program((*args)[0].get_ref<const std::string&>());
    for (const Json& r : results) {
      if (table.rows.size() >= kMostRows) {
        out.log.is_cut = true;
        break;
      }
      read_row(r, table);
    }
    if (!table.rows.empty()) out.log.tables.push_back(std::move(table));
  }

  void read_config(const Json& config, NcclTestsTable& table) {
    table.threads = count_of(config, "nthreads", 1);
    table.gpus = count_of(config, "ngpus", 0);
    table.is_graph = number_of(config, "graph") > 0;
    table.is_aggregated = number_of(config, "aggregated_iterations", 1) > 1;
    table.is_blocking = text_of(config, "blocking_collectives") == "true";
    const Json* devices = member(config, "devices");
    if (devices == nullptr || !devices->is_array()) return;
    for (const Json& d : *devices) {
      if (!d.is_object() || table.devices.size() >= kMostDevices) break;
      if (count_of(d, "rank", 0) >= kMostRanks || count_of(d, "device", 0) >= kMostGpus) continue;
      table.devices.push_back({count_of(d, "rank", 0), count_of(d, "group", 0), count_of(d, "device", 0), format_exact(number_of(d, "pid")), text_of(d, "hostname")});
      out.add_gpu_name(text_of(d, "device_info"));
    }
  }

  void read_row(const Json& r, NcclTestsTable& table) {
    NcclTestsRow row;
    row.size = Bytes(number_of(r, "size"));
    row.count = number_of(r, "count");
    if (!(row.size.value >= 0 && row.size.value <= 1e15)) return;
    for (const char* key : {"out_of_place", "in_place"}) {
      const Json* half = member(r, key);
      if (half == nullptr) continue;
      if (member(*half, "cpu_time")) table.is_cpu_time = true;
      const Json* time = member(*half, "time");
      if (time == nullptr || !time->is_number()) continue;
      const bool is_out = key[0] == 'o';
      (is_out ? row.time : row.in_place) = time->get<double>();
      if (!is_out && row.time) continue;
      row.algbw = number_of(*half, "alg_bw");
      row.busbw = number_of(*half, "bus_bw");
      row.is_wrong = number_of(*half, "nwrong") >= 0.5;
    }
    table.type = text_of(r, "type");
    table.redop = text_of(r, "redop");
    const std::string root = text_of(r, "root");  // "    -1"
    const std::size_t start = root.find_first_not_of(' ');
    if (start != std::string::npos) table.root = root.substr(start) == "-1" ? -1 : static_cast<int>(whole_number(root.substr(start)).value_or(0) % 1'000'000);
    if (!table.collective)
      if (const std::string name = text_of(r, "experiment_name"); !name.empty()) table.collective = operation_of_program(name);
    table.rows.push_back(row);
  }
};

}  // namespace

Result<NcclTestsLog> read_nccl_tests(std::string_view text) {
  TextReader reader;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') {
    reader.read(text);
    return std::move(reader.log);
  }
  Result<Json> json = parse_json(text);
  if (!json) return json.errors();
  const Json* results = member(json.value(), "results");
  if (results == nullptr || !results->is_array())
    return Error{"results", results == nullptr ? "" : value_text(*results), "the file that nccl-tests writes with -J",
                 "this JSON has no list of results, so it is not from nccl-tests. Nearest: the file that -J has written"};
  JsonReader{reader}.read(json.value(), *results);
  return std::move(reader.log);
}

}  // namespace wireplan
