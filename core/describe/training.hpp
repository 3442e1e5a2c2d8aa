// How the model is trained on one rank: batch, number formats, optimizer, recompute (plan document, `training`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/describe/dtype.hpp"
#include "core/describe/model.hpp"
#include "core/describe/switches.hpp"

namespace wireplan {

enum class Optimizer : unsigned char {
  adamw,
  adam,
  adamw_8bit,
  adamw_8bit_paged,
  sgd,
  sgd_momentum,
  lion,
  adafactor,
  muon
};
template <>
inline constexpr std::array<std::string_view, 9> kNames<Optimizer> = {
    "adamw", "adam", "adamw-8bit", "adamw-8bit-paged", "sgd", "sgd-momentum", "lion", "adafactor", "muon"};

enum class RecomputeKind : unsigned char { none, selective, full, full_layers, every };
template <>
inline constexpr std::array<std::string_view, 5> kNames<RecomputeKind> = {"none", "selective", "full", "full_layers", "every"};
struct Recompute {
  RecomputeKind kind = RecomputeKind::none;
  Count n = 0;  // of {"full_layers": n} and {"every": n}
  friend bool operator==(const Recompute&, const Recompute&) = default;
};

enum class Attention : unsigned char { flash, eager };
template <>
inline constexpr std::array<std::string_view, 2> kNames<Attention> = {"flash", "eager"};
enum class Loss : unsigned char { logits_fp32, fused, chunked };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Loss> = {"logits-fp32", "fused", "chunked"};
enum class Kernels : unsigned char { eager, compiled, fused };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Kernels> = {"eager", "compiled", "fused"};
enum class Load : unsigned char { meta, rank0, every_rank };
template <>
inline constexpr std::array<std::string_view, 3> kNames<Load> = {"meta", "rank0", "every-rank"};
enum class Checkpoint : unsigned char { sharded, full };
template <>
inline constexpr std::array<std::string_view, 2> kNames<Checkpoint> = {"sharded", "full"};

enum class LoraTarget : unsigned char { q, k, v, o, gate, up, down };
template <>
inline constexpr std::array<std::string_view, 7> kNames<LoraTarget> = {"q", "k", "v", "o", "gate", "up", "down"};
struct Lora {
  Count rank = 0;
  std::vector<LoraTarget> targets{};
  DType base_dtype = DType::bf16;  // bf16 fp8 mxfp8 int8 nf4
  std::optional<DType> quant_storage{};
  friend bool operator==(const Lora&, const Lora&) = default;
};

struct Offload {
  bool optimizer = false, parameters = false, activations = false;
  friend bool operator==(const Offload&, const Offload&) = default;
};

// Formats each field may have (plan document).
inline constexpr std::array kParameterDtypes = {DType::fp32, DType::bf16,  DType::fp16,
                                                DType::fp8,  DType::mxfp8, DType::nvfp4};
inline constexpr std::array kGradientDtypes = {DType::fp32, DType::bf16, DType::fp16};
inline constexpr std::array kStateDtypes = {DType::fp32, DType::bf16, DType::fp16, DType::int8};
inline constexpr std::array kLoraBaseDtypes = {DType::bf16, DType::fp8, DType::mxfp8, DType::int8, DType::nf4};
inline constexpr std::array kAdapterDtypes = {DType::fp32, DType::bf16};

struct Training {
  Count sequence_length = 4096;
  std::optional<double> sequence_length_mean;
  Count micro_batch_size = 1, global_batch_size = 1;
  DType parameter_dtype = DType::bf16, gradient_dtype = DType::bf16;
  std::optional<DType> master_weights_dtype = DType::fp32;  // fp32 or none
  Optimizer optimizer = Optimizer::adamw;
  DType optimizer_state_dtype = DType::fp32;
  Recompute recompute;
  Attention attention = Attention::flash;
  Loss loss = Loss::logits_fp32;
  Kernels kernels = Kernels::eager;
  bool cuda_graphs = false;
  std::string implementation;  // "<id>" or "<id>@<YYYY[-MM]>"
  std::optional<Details> details;
  Switches switches;  // what the implementation does, with `details` put over it: filled in from both
  double hidden_dropout = 0, attention_dropout = 0;
  std::optional<Lora> lora;
  Offload offload;
  Load load = Load::meta;
  Checkpoint checkpoint = Checkpoint::sharded;
  friend bool operator==(const Training&, const Training&) = default;
};

// What is wrong with the recipe on its own (ranges, dtypes a field may not have). Paths start with `prefix` ("training").
Errors validate(const Training& training, const std::string& prefix);

}  // namespace wireplan
