#include "native/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include "core/text/import_topology.hpp"
#include "core/text/link.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

namespace fs = std::filesystem;

Error unreadable(const std::string& path, const std::string& why) {
  return {"", value_text(Json(path)), "a file that can be read", "cannot read " + value_text(Json(path)) + ": " + why};
}

constexpr std::size_t kMaxLinesBytes = 256'000'000;

// At most one byte beyond the limit, so that the reader of the text can tell that there was more.
Result<std::string> read_text(const std::string& path, std::size_t most = kMaxDocumentBytes) {
  const bool standard = path == "-";
  std::error_code ignored;
  if (!standard && fs::is_directory(path, ignored)) return unreadable(path, "it is a directory");
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(standard ? stdin : std::fopen(path.c_str(), "rb"),
                                                       standard ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) return unreadable(path, std::strerror(errno));
  std::string text;
  for (std::size_t read = 1; read > 0 && text.size() <= most;) {
    constexpr std::size_t kPiece = 1 << 20;
    const std::size_t before = text.size();
    text.resize(std::min(before + kPiece, most + 1));
    read = std::fread(text.data() + before, 1, text.size() - before, file.get());
    text.resize(before + read);
  }
  if (std::ferror(file.get())) return unreadable(path, std::strerror(errno));
  return text;
}

}  // namespace

Result<Json> read_document(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text) return text.errors();
  return parse_json(text.value());
}

Result<std::string> read_lines(const std::string& path) {
  Result<std::string> text = read_text(path, kMaxLinesBytes);
  if (text && text.value().size() > kMaxLinesBytes) return unreadable(path, "it has more than 256 MB");
  return text;
}

Errors write_file(const std::string& option, const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  errno = 0;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::string why = errno != 0 ? std::strerror(errno) : "";
  std::error_code error;
  if (file) fs::rename(part, path, error);
  if (file && !error) return {};
  if (error) why = error.message();
  std::error_code ignored;
  fs::remove(part, ignored);
  return {Error{option, value_text(Json(path)), "a place that can be written", "cannot write " + value_text(Json(path)) + (why.empty() ? "" : ": " + why)}};
}

Errors folder_errors(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return {};
  const std::string given = value_text(Json(path));
  return {{option, given, "a folder", option + " is " + given + (fs::exists(path, ignored) ? ": that is no folder" : ": there is no such folder")}};
}

Errors in_file(const std::string& path, Errors errors, bool all) {
  const std::string name = path == "-" ? "standard input" : path;
  for (Error& e : errors)
    if ((all || e.path.empty()) && e.text.find(name) == std::string::npos) e.text = name + ": " + e.text;
  return errors;
}

Result<Json> plan_argument(const std::string& argument, const Presets& presets) {
  if (argument == "-") return read_document(argument);
  if (looks_like_link(argument) || !presets.text("scenarios", argument).empty()) return Json(argument);
  std::error_code ignored;
  if (fs::exists(argument, ignored)) return read_document(argument);
  return Error{"", value_text(Json(argument)), "a file, -, a scenario id or a link",
               value_text(Json(argument)) + " is neither a file nor a scenario" + did_you_mean(presets.nearest("scenarios", argument))};
}

namespace {

// A JSON document, or what nvidia-smi and NCCL print of a machine.
Result<Json> read_machine(const std::string& path, const Presets& presets) {
  Result<std::string> text = read_text(path);
  if (!text) return text.errors();
  const std::size_t first = text.value().find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos || text.value()[first] == '{' || text.value()[first] == '"') return parse_json(text.value());
  Result<Cluster> cluster = import_topology(text.value(), {}, presets);
  if (!cluster) return cluster.errors();
  return write_cluster(cluster.value());
}

}  // namespace

Result<Json> cluster_argument(const std::string& argument, const Presets& presets) {
  if (argument == "-") return read_machine(argument, presets);
  for (const char* kind : {"nodes", "scenarios"})
    if (!presets.text(kind, argument).empty()) return Json(argument);
  if (looks_like_link(argument)) return Json(argument);
  std::error_code ignored;
  if (fs::exists(argument, ignored)) return read_machine(argument, presets);
  return Error{"", value_text(Json(argument)), "a node id, a scenario id, a link, a file or -",
               value_text(Json(argument)) + " is neither a node nor a file" + did_you_mean(presets.nearest("nodes", argument))};
}

Errors add_presets(const std::string& folder, Presets& presets) {
  std::error_code error;
  fs::directory_iterator kinds(folder, error);
  if (error) return {unreadable(folder, error.message())};
  for (const fs::directory_entry& kind : kinds) {
    if (!kind.is_directory(error)) continue;
    fs::directory_iterator files(kind.path(), error);
    if (error) return {unreadable(kind.path().string(), error.message())};
    for (const fs::directory_entry& file : files) {
      if (file.path().extension() != ".json") continue;
      if (!file.is_regular_file(error)) return {unreadable(file.path().string(), "not a file")};
      Result<std::string> text = read_text(file.path().string());
      if (!text) return text.errors();
      presets.add(kind.path().filename().string(), file.path().stem().string(), std::move(text.value()));
    }
  }
  return presets.check_all();
}

}  // namespace wireplan
