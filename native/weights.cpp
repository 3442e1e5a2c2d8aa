#include "native/weights.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/base/format.hpp"
#include "native/files.hpp"

namespace wireplan {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 10'000;

Result<StoredWeights> read_safetensors(const std::string& path) {
  Result<std::string> length = read_start(path, kSafetensorsLengthBytes);
  if (!length) return length.errors();
  Result<std::size_t> bytes = safetensors_header_bytes(length.value());
  if (!bytes) return in_file(path, bytes.errors(), true);
  Result<std::string> start = read_start(path, kSafetensorsLengthBytes + bytes.value());
  if (!start) return start.errors();
  Result<StoredWeights> weights = read_stored_weights(std::string_view(start.value()).substr(kSafetensorsLengthBytes));
  if (!weights) return in_file(path, weights.errors(), true);
  std::error_code error;
  const double has = static_cast<double>(fs::file_size(path, error)), wants = static_cast<double>(kSafetensorsLengthBytes + bytes.value()) + weights.value().data_bytes;
  if (!error && has < wants)
    return Error{"", format_exact(has), "at least " + format_count(wants) + " bytes", path + " has " + format_count(has) + " bytes, and its header speaks of " + format_count(wants) + ": it is not whole"};
  return weights;
}

Result<StoredWeights> read_all(const std::vector<std::string>& paths) {
  StoredWeights all;
  for (const std::string& path : paths) {
    Result<StoredWeights> one = read_safetensors(path);
    if (!one) return one;
    all.total_bytes += one.value().total_bytes;
    for (StoredTensor& t : one.value().tensors) all.tensors.push_back(std::move(t));
  }
  return all;
}

Result<StoredWeights> read_index(const std::string& path) {
  Result<Json> document = read_document(path);
  if (!document) return document.errors();
  Result<StoredWeights> index = read_stored_weights(dump_json_compact(document.value()));
  if (!index || !index.value().is_index) return index;
  std::vector<std::string> paths;
  for (const std::string& name : index.value().files) {
    const fs::path file(name);
    if (file.has_parent_path() || file.extension() != ".safetensors") return index;  // never out of the folder
    paths.push_back((fs::path(path).parent_path() / file).string());
    if (!file_exists(paths.back()) || paths.size() > kMostFiles) return index;
  }
  return read_all(paths);
}

}  // namespace

Result<StoredWeights> read_weights(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::path(path).extension() == ".json" ? read_index(path) : read_safetensors(path);
  for (const char* name : {"model.safetensors.index.json", "pytorch_model.bin.index.json"})
    if (const fs::path index = fs::path(path) / name; file_exists(index.string())) return read_index(index.string());
  std::vector<std::string> paths;
  for (fs::directory_iterator it(path, error), end; !error && it != end && paths.size() < kMostFiles; it.increment(error))
    if (it->path().extension() == ".safetensors") paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) return Error{"", value_text(Json(path)), "a folder with .safetensors or an index", path + " holds no .safetensors and no model.safetensors.index.json"};
  return read_all(paths);
}

}  // namespace wireplan
