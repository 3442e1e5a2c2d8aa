// Stored weights beside the count of a model: the header of a .safetensors file, or the index of several.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/count/parameters.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// A .safetensors file begins with the length of its header, 8 bytes, least first; the header is JSON. source: safetensors README, Format.
inline constexpr std::size_t kSafetensorsLengthBytes = 8;
Result<std::size_t> safetensors_header_bytes(std::string_view first_bytes);

struct StoredTensor {
  std::string name, dtype;  // dtype as the file has it: "BF16"
  double elements = 0;
};

struct StoredWeights {
  std::vector<StoredTensor> tensors;  // empty where only the total is known
  double total_bytes = 0;             // of an index, else of the tensors
  double data_bytes = 0;              // that follow the header
  std::vector<std::string> files;     // of an index: those it names, each once
  bool is_index = false;
};

// A header, or an index (model.safetensors.index.json, pytorch_model.bin.index.json). Errors name the tensor.
Result<StoredWeights> read_stored_weights(std::string_view json);

struct WeightsCheck {
  bool agrees = false;
  bool by_tensor = false;  // false: from the bytes of the index and the stored dtype
  double counted = 0, stored = 0;
  struct Part {
    std::string name;
    double counted = 0, stored = 0;
  };
  std::vector<Part> parts;  // by tensor: embedding, layers, head, final norm and the rest
  struct LeftOut {
    std::string what;
    double elements = 0;
    Count tensors = 0;
    std::string example;
  };
  std::vector<LeftOut> left_out;  // tensors that are no parameters of the language model, by what they are
  std::vector<std::string> notes;
};

// what: the count of the model beside what is stored, part by part where tensors are known.
// formula: stored = Σ elements of tensors that belong to the language model; of an index without its files: total_size / bytes of the dtype.
// where: left out are towers for images and sound, causal masks and rotary tables stored as buffers, scales of quantised weights, layers
// beyond num_layers, and a head stored although it is tied.
// valid: count, unless weights are stored quantised, which is said.  test: tests/core/text/hf_weights_test.cpp.
WeightsCheck check_weights(const Model& model, const StoredWeights& weights, std::string_view stored_dtype, bool is_quantised);

Json write_weights_check(const WeightsCheck& check);

}  // namespace wireplan
