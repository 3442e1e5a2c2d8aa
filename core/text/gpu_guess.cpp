#include "core/text/gpu_guess.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/text/capture.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kMakers[] = {"nvidia", "tesla", "geforce", "generation", "edition"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_memory(std::string_view w) {  // "80gb"
  return w.size() > 2 && w.substr(w.size() - 2) == "gb" && std::all_of(w.begin(), w.end() - 2, is_digit);
}
bool is_form(std::string_view w) { return w == "pcie" || w.substr(0, 3) == "sxm"; }
bool is_hbm(std::string_view w) { return w.substr(0, 3) == "hbm"; }

struct Name {
  std::vector<std::string> words;  // but for makers, memory and form
  std::string form;
  double memory_gb = 0;
  std::string beginning;           // of a last word that was cut
};

// Letters and digits, parentheses with what is in them left out, "80 GB" as "80gb".
Name name_of_gpu(std::string_view text) {
  Name name;
  const bool is_cut = text.size() > 3 && text.substr(text.size() - 3) == "...";
  std::vector<std::string> words(1);
  int depth = 0;
  for (char c : lower(text)) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    const bool inside = depth > 0 || c == ')';
    if (!inside && ((c >= 'a' && c <= 'z') || is_digit(c))) words.back() += c;
    else if (!words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (i + 1 < words.size() && words[i + 1] == "gb" && std::all_of(word.begin(), word.end(), is_digit)) {
      word += "gb";
      ++i;
    }
    if (is_cut && i + 1 >= words.size()) name.beginning = word;
    else if (is_memory(word)) name.memory_gb = small_number(std::string_view(word).substr(0, word.size() - 2)).value_or(0);
    else if (is_form(word)) name.form = word;
    else if (!is_hbm(word) && std::find(std::begin(kMakers), std::end(kMakers), word) == std::end(kMakers)) name.words.push_back(word);
    if (is_hbm(word) && name.form.empty()) name.form = "sxm";  // "H100 80GB HBM3": only modules are named by their memory
  }
  return name;
}

bool holds(const std::vector<std::string>& words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

// How well a preset's name fits what the driver said; nothing where it cannot be that GPU. Less is better.
std::optional<double> distance(const Name& said, const Name& preset) {
  if (preset.words.empty() || said.words.empty()) return std::nullopt;
  double far = 0;
  for (const std::string& w : preset.words)
    if (!holds(said.words, w)) {
      if (said.beginning.empty() || w.substr(0, said.beginning.size()) != said.beginning) return std::nullopt;
      far += 0.5;
    }
  for (const std::string& w : said.words) far += holds(preset.words, w) ? 0 : 1;
  if (far >= 3) return std::nullopt;
  const bool may_be_card = said.form == "pcie" || (!said.beginning.empty() && std::string_view("pcie").substr(0, said.beginning.size()) == said.beginning);
  if (preset.form == "pcie" && !may_be_card) return std::nullopt;
  if (preset.form.substr(0, 3) == "sxm" && may_be_card) return std::nullopt;
  if (said.form.size() > 3 && preset.form.size() > 3 && said.form != preset.form) return std::nullopt;  // SXM2 is not SXM3
  return far;
}

struct Guess { int sm, links; std::string_view id; };
// Compute capability and NVLinks of a GPU [facts-gpus]; the commonest part where several have both. 0 links: none, as cards have.
constexpr Guess kGuesses[] = {
    {60, 4, "p100-16gb-sxm"},  {60, 0, "p100-16gb-pcie"}, {61, 0, "p40-24gb"},       {70, 6, "v100-32gb-sxm"},    {70, 0, "v100-32gb-pcie"},
    {75, 2, "rtx-2080ti-11gb"}, {75, 1, "rtx-2080-8gb"},   {75, 0, "t4-16gb"},        {80, 12, "a100-80gb-sxm"},   {80, 8, "a800-80gb-sxm"},
    {80, 4, "a30-24gb"},       {80, 0, "a100-80gb-pcie"}, {86, 4, "rtx-a6000-48gb"}, {86, 0, "a10-24gb"},         {89, 0, "l40s-48gb"},
    {90, 18, "h100-80gb-sxm"}, {90, 12, "h100-80gb-pcie"}, {90, 8, "h800-80gb-sxm"},  {90, 0, "h100-80gb-pcie"},   {100, 18, "b200-180gb-sxm"},
    {100, 0, "b200-180gb-sxm"}, {103, 18, "b300-288gb-sxm"}, {103, 0, "b300-288gb-sxm"}, {120, 0, "rtx-pro-6000-server-96gb"},
};
// The same where only the count of links is known, as nvidia-smi prints it.
constexpr Guess kByLinks[] = {{0, 18, "h100-80gb-sxm"}, {0, 12, "a100-80gb-sxm"}, {0, 8, "a800-80gb-sxm"}, {0, 6, "v100-32gb-sxm"},
                              {0, 4, "rtx-a6000-48gb"}, {0, 2, "rtx-2080ti-11gb"}, {0, 1, "rtx-2080ti-11gb"}};

template <std::size_t N>
std::string_view nearest(const Guess (&guesses)[N], int sm, int links) {
  const Guess* best = nullptr;
  for (const Guess& g : guesses)
    if (g.sm == sm && (best == nullptr || std::abs(g.links - links) < std::abs(best->links - links))) best = &g;
  return best != nullptr ? best->id : std::string_view{};
}

}  // namespace

std::string gpu_named(std::string_view name, double memory_mib, const Presets& presets) {
  Name said = name_of_gpu(name);
  if (holds(said.words, "gh200") && said.memory_gb != 144) said.memory_gb = 96;  // "GH200 480GB" counts the CPU's memory
  std::string best;
  double least = 1e9;
  for (const std::string_view id : presets.ids("gpus")) {
    const Result<Gpu> gpu = presets.gpu(id);
    if (!gpu) continue;
    std::optional<double> far = distance(said, name_of_gpu(gpu.value().name));
    if (!far) continue;
    // What the driver reports is a little below the nominal size, and some names count in 10^9, some in 2^30.
    const double size = gpu.value().memory.value / (1024.0 * 1024.0);
    const double seen = memory_mib > 0 ? memory_mib : said.memory_gb * 1024;
    const double off = seen > 0 && size > 0 ? std::min(std::abs(seen / size - 1), 2.0) : 0;
    const double total = *far * 10 + (off > 0.12 ? 4 * off : off);
    if (total < least) {
      least = total;
      best = id;
    }
  }
  return best;
}

std::string_view gpu_with(const GpuSigns& s) {
  if (s.has_c2c) return s.sm >= 103 ? "gb300-288gb" : s.sm >= 100 ? "gb200-186gb" : "gh200-96gb";
  if (s.sm == 0 && s.links == 0 && !s.says_nvlink && (s.gpus == 8 || s.gpus == 16)) return s.generation >= 5 ? "h100-80gb-sxm" : "a100-80gb-sxm";
  if (s.sm == 0 && s.links == 0) return "l40s-48gb";
  if (s.sm == 80 && s.links > 0 && !s.has_nvswitch && s.is_pair) return s.links >= 12 ? "a100-80gb-pcie" : s.links == 8 ? "a800-80gb-pcie" : "a30-24gb";
  if (s.sm == 90 && s.links > 0 && !s.has_nvswitch && s.is_pair) return "h100-80gb-pcie";
  if (s.sm == 70 && s.has_nvswitch) return "v100-32gb-sxm3";
  if (s.sm == 0 && s.has_nvswitch && s.links == 6) return "v100-32gb-sxm3";
  if (s.sm == 0 && s.is_pair && s.links >= 12) return "a100-80gb-pcie";
  if (s.sm == 0 && !s.is_pair && s.links == 4) return "p100-16gb-sxm";
  const std::string_view known = s.sm > 0 ? nearest(kGuesses, s.sm, s.links) : std::string_view{};
  if (!known.empty()) return known;
  if (s.links > 0) return nearest(kByLinks, 0, s.links);
  return s.sm >= 100 ? "rtx-pro-6000-server-96gb" : "l40s-48gb";
}

}  // namespace wireplan
