#include "core/text/smi_gpus.hpp"

#include <algorithm>
#include <array>

#include "core/text/capture.hpp"
#include "core/text/topology_draft.hpp"

namespace wireplan {
namespace {

std::vector<std::string_view> fields_of(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  while (fields.size() < 64) {
    const std::size_t end = line.find(separator);
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return fields;
}

// The number a field begins with: "81920 MiB" -> 81920, "4" -> 4.
int leading_number(std::string_view field) {
  std::size_t end = 0;
  while (end < field.size() && field[end] >= '0' && field[end] <= '9') ++end;
  return small_number(field.substr(0, end)).value_or(0);
}

void keep(int& to, int value, int most) {
  if (to == 0 && value > 0 && value <= most) to = value;
}

class SmiGpus {
 public:
  std::map<int, SmiGpu> read(const std::vector<std::string_view>& lines) {
    for (const std::string_view whole : lines) {
      const std::string_view line = trimmed(whole);
      if (read_list_line(line) || read_table_line(line)) continue;
      if (const std::size_t query = line.find("--query-gpu="); query != std::string_view::npos) {
        std::string_view names = line.substr(query + 12);
        columns_ = lowered(fields_of(names.substr(0, names.find_first_of(" \t'\"")), ','));
        next_ = 0;
      } else if (is_csv_header(line)) {
        columns_ = lowered(fields_of(line, ','));
        next_ = 0;
      } else if (!columns_.empty()) {
        read_csv_row(line);
      }
    }
    return std::move(gpus_);
  }

 private:
  SmiGpu* gpu(int index) { return index >= 0 && index < kMostCapturedGpus ? &gpus_[index] : nullptr; }

  static std::vector<std::string> lowered(const std::vector<std::string_view>& fields) {
    std::vector<std::string> low;
    for (const std::string_view f : fields) low.push_back(lower(f));
    return low;
  }

  static bool is_csv_header(std::string_view line) {
    constexpr std::array<std::string_view, 7> kKnown = {"index", "name", "gpu_name", "uuid", "pci.bus_id", "memory.total", "pcie.link."};
    if (line.size() > 2000) return false;
    bool any = false;
    for (const std::string_view field : fields_of(line, ',')) {
      if (field.empty()) return false;
      for (char c : field)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ' ' || c == '[' || c == ']' || c == '%')) return false;
      for (const std::string_view known : kKnown) any = any || lower(field).substr(0, known.size()) == known;
    }
    return any;
  }

  void read_csv_row(std::string_view line) {
    const std::vector<std::string_view> fields = fields_of(line, ',');
    if (line.empty() || fields.size() != columns_.size()) {
      if (next_ > 0) columns_.clear();  // the block is over
      return;
    }
    int index = next_++;
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (columns_[i] == "index")
        if (const auto stated = small_number(fields[i])) index = *stated;
    SmiGpu* g = gpu(index);
    if (g == nullptr) return;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& column = columns_[i];
      if ((column == "name" || column == "gpu_name") && g->name.empty()) g->name = shown_name(fields[i]);
      else if (column.substr(0, 12) == "memory.total" && g->memory_mib == 0) g->memory_mib = leading_number(fields[i]);
      else if (column == "pcie.link.gen.max" || column == "pcie.link.gen.hostmax") keep(g->generation, leading_number(fields[i]), 16);
      else if (column == "pcie.link.width.max") keep(g->lanes, leading_number(fields[i]), 64);
      else if (column == "pcie.link.width.current") keep(g->lanes_now, leading_number(fields[i]), 64);
    }
    // What a slot does now counts only where nothing says what it can: an idle GPU lets its link fall back.
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (columns_[i] == "pcie.link.gen.current") keep(g->generation, leading_number(fields[i]), 16);
  }

  // "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-...)"
  bool read_list_line(std::string_view line) {
    if (line.substr(0, 4) != "GPU ") return false;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    const auto index = small_number(trimmed(line.substr(4, colon - 4)));
    if (!index) return false;
    std::string_view name = line.substr(colon + 1);
    name = trimmed(name.substr(0, name.find("(UUID")));
    if (SmiGpu* g = gpu(*index); g != nullptr && g->name.empty()) g->name = shown_name(name);
    return true;
  }

  // "|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |" and the line below it with
  // "0MiB / 81920MiB".
  bool read_table_line(std::string_view line) {
    if (line.empty() || line[0] != '|') return false;
    const std::vector<std::string_view> fields = fields_of(line, '|');
    if (fields.size() < 4) return false;
    if (table_gpu_ >= 0) {
      const std::size_t slash = fields[2].find("MiB /");
      if (slash != std::string_view::npos) {
        SmiGpu* g = gpu(table_gpu_);
        if (g != nullptr && g->memory_mib == 0) g->memory_mib = leading_number(trimmed(fields[2].substr(slash + 5)));
        table_gpu_ = -1;
        return true;
      }
    }
    std::vector<std::string_view> words = split_cells(fields[1]);
    const bool has_bus = std::count(fields[2].begin(), fields[2].end(), ':') >= 1 && contains(fields[2], ".");
    if (words.size() < 3 || !has_bus) return false;
    const auto index = small_number(words.front());
    if (!index) return false;
    if (words.back() == "On" || words.back() == "Off" || words.back() == "N/A") words.pop_back();
    std::string name;
    for (std::size_t i = 1; i < words.size(); ++i) name += (i > 1 ? " " : "") + std::string(words[i]);
    table_gpu_ = *index;
    if (SmiGpu* g = gpu(*index); g != nullptr && g->name.empty()) g->name = shown_name(name);
    return true;
  }

  std::map<int, SmiGpu> gpus_;
  std::vector<std::string> columns_;
  int next_ = 0;        // index of the next CSV row
  int table_gpu_ = -1;  // whose second line of the table comes next
};

}  // namespace

std::map<int, SmiGpu> read_smi_gpus(const std::vector<std::string_view>& lines) { return SmiGpus().read(lines); }

bool mentions_mig(const std::vector<std::string_view>& lines) {
  for (const std::string_view line : lines) {
    if (contains(line, "MIG-GPU-") || contains(line, "(UUID: MIG-")) return true;
    for (std::size_t at = line.find("MIG "); at != std::string_view::npos; at = line.find("MIG ", at + 4)) {
      const std::string_view after = line.substr(at + 4);  // "1g.10gb"
      if (after.size() > 3 && after[0] >= '1' && after[0] <= '9' && after[1] == 'g' && after[2] == '.') return true;
    }
  }
  return false;
}

}  // namespace wireplan
