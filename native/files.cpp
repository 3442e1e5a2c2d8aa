#include "native/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "core/text/hf_config.hpp"
#include "core/text/import_topology.hpp"
#include "core/text/link.hpp"
#include "core/text/read_cluster.hpp"
#include "core/text/read_model.hpp"
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
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // the byte-order mark that editors on Windows write
  return text;
}

}  // namespace

Result<Json> read_document(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text) return text.errors();
  return parse_json(text.value());
}

Result<std::string> read_start(const std::string& path, std::size_t bytes) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return unreadable(path, "it is a directory");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) return unreadable(path, std::strerror(errno));
  std::string text(bytes, '\0');
  text.resize(std::fread(text.data(), 1, bytes, file.get()));
  if (std::ferror(file.get())) return unreadable(path, std::strerror(errno));
  return text;
}

Result<std::string> read_lines(const std::string& path) {
  Result<std::string> text = read_text(path, kMaxLinesBytes);
  if (text && text.value().size() > kMaxLinesBytes) return unreadable(path, "it has more than 256 MB");
  return text;
}

namespace {

// False with errno where it cannot all be written.
bool write_all(std::FILE* file, const std::string& text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int why = errno;
  const bool is_closed = std::fclose(file) == 0;
  if (!is_written) errno = why;
  return is_written && is_closed;
}

// Beside the file, then in its place.
bool replace(const fs::path& path, const std::string& text) {
  std::string beside = path.native() + ".XXXXXX";
  const int descriptor = mkstemp(beside.data());
  if (descriptor < 0) return false;
  // mkstemp() lets nobody else read; the file gets what it had, or what any new file has.
  struct stat old {};
  const mode_t mask = umask(0);
  umask(mask);
  bool is_done = fchmod(descriptor, stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask) == 0;
  std::FILE* file = fdopen(descriptor, "wb");
  is_done = file != nullptr && write_all(file, text) && is_done && std::rename(beside.c_str(), path.c_str()) == 0;
  if (is_done) return true;
  const int why = errno;
  if (file == nullptr) close(descriptor);
  std::remove(beside.c_str());
  errno = why;
  return false;
}

}  // namespace

Errors write_file(const std::string& option, const std::string& path, const std::string& text) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  bool is_done = false;
  errno = 0;
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (std::FILE* file = std::fopen(path.c_str(), "wb")) is_done = write_all(file, text);
  } else {
    is_done = replace(fs::is_symlink(path, error) && fs::exists(status) ? fs::canonical(path, error) : fs::path(path), text);
  }
  if (is_done) return {};
  const std::string given = value_text(Json(path));
  return {{option, given, "a place that can be written", "cannot write " + given + ": " + std::strerror(errno)}};
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
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

// "model=config.json" is the model of that file, a configuration with the fields that edits of it state; nothing where the value names no file.
Result<std::optional<Json>> model_in_file(const std::string& value, const std::vector<std::string>& edits, const Presets& presets, bool& is_configuration) {
  const bool is_named_as_file = value == "-" || value.ends_with(".json") || value.find('/') != std::string::npos;
  if (!presets.text("models", value).empty() || value.starts_with('{') || !(is_named_as_file || file_exists(value))) return std::optional<Json>();
  Result<std::string> text = read_text(value);
  if (!text) return text.errors();
  if (!looks_like_config(text.value())) {  // what import printed, or a model as plans state it
    Result<Json> document = parse_json(text.value());
    if (!document) return in_file(value, document.errors(), true);
    const Json& stated = document.value();
    if (stated.is_object() && stated.contains("schema") && stated.at("schema") == "wireplan.model/1" && stated.contains("model")) return std::optional<Json>(stated.at("model"));
    if (stated.is_object() && (stated.contains("num_layers") || stated.contains("kind"))) return std::optional<Json>(stated);
  }
  ConfigHints hints;
  is_configuration = true;
  for (const std::string& edit : edits)
    if (edit.starts_with("model.") && edit.find('=') != std::string::npos) hints.fields.emplace_back(edit.substr(0, edit.find('=')), edit.substr(edit.find('=') + 1));
  Result<ImportedModel> found = import_config(text.value(), presets, hints);
  if (!found) return in_file(value, found.errors(), true);
  for (const Note& n : found.value().notes)
    if (n.severity == Severity::warning) std::fprintf(stderr, "wireplan: %s: %s\n", value.c_str(), n.text.c_str());
  return std::optional<Json>(found.value().presets.empty() ? write_model(found.value().model) : Json(found.value().presets.front()));
}

}  // namespace

Result<Json> plan_with_edits(const std::string& argument, const std::vector<std::string>& edits, const Presets& presets) {
  Result<Json> plan = plan_argument(argument, presets);
  if (!plan || edits.empty()) return plan;
  Json list = Json::array();
  bool is_imported = false;
  for (const std::string& edit : edits) {
    const std::size_t sign = edit.find('=');
    if (sign == std::string::npos || sign == 0)
      return Error{"--set", value_text(Json(edit)), "path=value", "--set takes path=value, not " + value_text(Json(edit))};
    const std::string path = edit.substr(0, sign), value = edit.substr(sign + 1);
    if (is_imported && path.starts_with("model.")) continue;  // read with the file
    if (path == "model") {
      is_imported = false;
      Result<std::optional<Json>> model = model_in_file(value, edits, presets, is_imported);
      if (!model) return model.errors();
      if (model.value()) {
        list.push_back(Json::array({path, std::move(*model.value())}));
        continue;
      }
    }
    list.push_back(Json::array({path, value}));
  }
  return Json{{"plan", std::move(plan.value())}, {"set", std::move(list)}};
}

namespace {

// A JSON document, or what nvidia-smi and NCCL print of a machine.
Result<Json> read_machine(const std::string& path, const Presets& presets) {
  Result<std::string> text = read_text(path);
  if (!text) return text.errors();
  const std::size_t first = text.value().find_first_not_of(" \t\r\n");
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
