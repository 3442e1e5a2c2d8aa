// The model of Megatron-LM's arguments.  [megatron-lm] megatron/training/arguments.py
#include <algorithm>

#include "core/base/format.hpp"
#include "core/text/capture.hpp"
#include "core/text/trainers/megatron_arguments.hpp"
#include "core/text/trainers/megatron_fields.hpp"

namespace wireplan {
namespace {

constexpr Word kNorms[] = {{"RMSNorm", "rmsnorm"}, {"LayerNorm", "layernorm"}};
constexpr Word kPositions[] = {{"learned_absolute", "learned"}, {"rope", "rope"}, {"mrope", "rope"}, {"none", "none"}};
// Vocabularies that come with a kind of tokenizer: gpt2-vocab.json, Llama 2's tokenizer.model.
constexpr Word kVocabularies[] = {{"GPT2BPETokenizer", "50257"}, {"Llama2Tokenizer", "32000"}};
constexpr Count kUsualPadding = 128;  // --make-vocab-size-divisible-by

class ModelReading {
 public:
  explicit ModelReading(ConfigReader& r) : r_(r) {}

  bool read() {
    if (!r_.has("num_layers") || !r_.has("hidden_size") || !r_.has("num_attention_heads")) return false;
    layers_ = count("num_layers", "num_layers", 1);
    hidden_ = count("hidden_size", "hidden_size", 1);
    heads_ = count("num_attention_heads", "num_attention_heads", 1);
    const bool grouped = r_.flag("group_query_attention", false);
    const Count groups = r_.count("num_query_groups", 1);
    give("num_key_value_heads", grouped ? groups : heads_, grouped ? "num_query_groups" : "group_query_attention");
    read_feed_forward();
    read_heads();
    read_vocabulary();
    read_norms_and_biases();
    read_positions();
    read_experts();
    return true;
  }

 private:
  std::string from(std::string_view key) { return r_.has(key) ? std::string(key) : "default of Megatron-LM: " + std::string(key); }
  void give(std::string_view field, Json value, std::string_view key) { r_.give("model." + std::string(field), std::move(value), from(key)); }
  Count count(std::string_view field, std::string_view key, Count otherwise, Count least = 1) {
    const Count n = r_.count(key, otherwise, least);
    give(field, n, key);
    return n;
  }

  void read_feed_forward() {
    const bool swiglu = r_.flag("swiglu", false), geglu = r_.flag("quick_geglu", false), squared = r_.flag("squared_relu", false);
    give("mlp", swiglu ? "swiglu" : geglu ? "geglu" : squared ? "relu2" : "gelu", swiglu ? "swiglu" : geglu ? "quick_geglu" : squared ? "squared_relu" : "swiglu");
    // int((4 · h · 2/3) / 64) · 64 with SwiGLU, else 4 · h
    inner_ = count("intermediate_size", "ffn_hidden_size", swiglu ? std::max<Count>(64, 8 * hidden_ / 3 / 64 * 64) : 4 * hidden_);
  }

  void read_heads() {
    if (!r_.flag("multi_latent_attention", false)) {
      count("head_dim", "kv_channels", std::max<Count>(1, hidden_ / heads_));
      return;
    }
    const Count nope = count("mla.qk_nope_head_dim", "qk_head_dim", 128), rope = count("mla.qk_rope_head_dim", "qk_pos_emb_head_dim", 64, 0);
    count("mla.q_lora_rank", "q_lora_rank", 0, 0);
    count("mla.kv_lora_rank", "kv_lora_rank", 32);
    count("mla.v_head_dim", "v_head_dim", 128);
    give("head_dim", nope + rope, "qk_head_dim");
    give("num_key_value_heads", heads_, "multi_latent_attention");
    if (r_.has("kv_channels")) r_.leave("kv_channels", KeyEffect::none, "latent attention has sizes of its own");
  }

  void read_vocabulary() {
    const std::string kind = r_.text("tokenizer_type", "");
    const Count stated = r_.count("vocab_size", 0), padded = r_.count("padded_vocab_size", 0);
    const std::string_view known = our_word(kVocabularies, kind);
    if (stated > 0) give("vocab_size", stated + (kind == "NullTokenizer" ? 1 : 0), "vocab_size");
    else if (padded > 0) give("vocab_size", padded, "padded_vocab_size");
    else if (!known.empty()) give("vocab_size", known == "50257" ? 50257 : 32000, "tokenizer_type");
    else r_.out.missing.push_back("model.vocab_size");
    if (kind == "NullTokenizer" && stated > 0) r_.note(Severity::info, "model.vocab_size", "NullTokenizer adds an end-of-document token to vocab_size");
    if (stated <= 0 && padded <= 0 && !known.empty()) r_.note(Severity::info, "model.vocab_size", "the text does not say the size of the vocabulary; " + std::string(known) + " is that of the model " + kind + " comes with");
    if (const Count multiple = r_.count("make_vocab_size_divisible_by", kUsualPadding); multiple != kUsualPadding)
      r_.leave("make_vocab_size_divisible_by", KeyEffect::changes, "wireplan pads the vocabulary to a multiple of 128 × tensor, the usual; state the padded size as vocab_size");
  }

  void read_norms_and_biases() {
    const std::string norm = r_.text("normalization", "LayerNorm");
    const std::string_view ours = our_word(kNorms, norm);
    if (ours.empty()) r_.fail("normalization", "LayerNorm | RMSNorm", "normalization must be LayerNorm or RMSNorm, not " + value_text(Json(norm)));
    const bool plus_one = r_.flag("apply_layernorm_1p", false);
    give("norm", plus_one && ours == "layernorm" ? "layernorm1p" : std::string(ours), "normalization");
    const bool biases = r_.flag("add_bias_linear", true), qkv = r_.flag("add_qkv_bias", false);
    give("qkv_bias", biases || qkv, "add_qkv_bias");
    give("o_bias", biases, "add_bias_linear");
    give("mlp_bias", biases, "add_bias_linear");
    give("tie_word_embeddings", !r_.flag("untie_embeddings_and_output_weights", false), "untie_embeddings_and_output_weights");
    const bool per_head = r_.flag("qk_layernorm", false), l2 = r_.flag("qk_l2_norm", false);
    // With latent attention it is the norm of the latent vectors, which the model has anyway.
    if (per_head && !r_.flag("multi_latent_attention", false)) give("qk_norm", "per-head", "qk_layernorm");
    else if (l2) give("qk_norm", "l2-no-weight", "qk_l2_norm");
    if (r_.text("softmax_type", "vanilla") == "learnable") give("attention_sinks", true, "softmax_type");
  }

  void read_positions() {
    const bool rotary = r_.flag("use_rotary_position_embeddings", false);
    const std::string kind = r_.text("position_embedding_type", r_.flag("add_position_embedding", true) ? "learned_absolute" : "none");
    const std::string_view ours = rotary ? "rope" : our_word(kPositions, kind);
    if (ours.empty()) r_.leave("position_embedding_type", KeyEffect::changes, "relative positions are not modelled; taken as none");
    give("position", ours.empty() ? "none" : std::string(ours), rotary ? "use_rotary_position_embeddings" : "position_embedding_type");
    if (const Count most = r_.count("max_position_embeddings", 0); most > 0) give("max_position_embeddings", most, "max_position_embeddings");
    read_window();
  }

  void read_window() {
    const Json* window = r_.find("window_size");
    if (window == nullptr) return;
    Count left = 0;
    if (window->is_array() && !window->empty()) left = (*window)[0].is_number_integer() ? (*window)[0].get<Count>() : 0;
    else if (window->is_number_integer()) left = window->get<Count>();
    else if (window->is_string())
      for (const char c : window->get_ref<const std::string&>()) {
        if (c >= '0' && c <= '9' && left < 100'000'000) left = left * 10 + (c - '0');
        else if (left > 0) break;
      }
    if (left <= 0 || left > 1'000'000'000) return r_.leave("window_size", KeyEffect::unknown, "no window is in it");
    give("sliding_window", left, "window_size");
    if (!r_.has("window_attn_skip_freq")) return;
    const Json* every = r_.find("window_attn_skip_freq");
    if (every->is_number_integer() && every->get<double>() >= 1) give("sliding_window_pattern.global_every", *every, "window_attn_skip_freq");
    else r_.leave("window_attn_skip_freq", KeyEffect::changes, "wireplan takes every n-th layer as global, not a pattern");
  }

  void read_experts() {
    const Count experts = r_.count("num_experts", 0, 0);
    if (experts == 0) return;
    give("moe.num_experts", experts, "num_experts");
    count("moe.experts_per_token", "moe_router_topk", 2);
    const Count each = count("moe.intermediate_size", "moe_ffn_hidden_size", inner_);
    const Count shared = r_.count("moe_shared_expert_intermediate_size", 0, 0);
    if (shared > 0) {
      give("moe.num_shared_experts", shared % each == 0 ? shared / each : 1, "moe_shared_expert_intermediate_size");
      give("moe.shared_intermediate_size", shared, "moe_shared_expert_intermediate_size");
      if (r_.flag("moe_shared_expert_gate", false)) give("moe.shared_gate", true, "moe_shared_expert_gate");
    }
    if (r_.flag("moe_router_enable_expert_bias", false)) give("moe.router_bias", "correction", "moe_router_enable_expert_bias");
    if (r_.flag("add_bias_linear", true)) give("moe.expert_bias", true, "add_bias_linear");
    read_layer_frequency();
  }

  void read_layer_frequency() {
    const Json* frequency = r_.find("moe_layer_freq");
    if (frequency == nullptr) return;
    std::vector<int> pattern;
    if (frequency->is_number_integer()) {
      const double n = frequency->get<double>();
      if (n < 1 || n > 1e5) return r_.fail("moe_layer_freq", "1 to 100000, or a pattern", "moe_layer_freq must be a whole number from 1 or a pattern of layers, not " + value_text(*frequency));
      // Layers 0, n, 2n, … ; here n-1, 2n-1, …: as many where n divides the layers.
      if (n > 1) {
        give("moe.every", *frequency, "moe_layer_freq");
        r_.note(Severity::info, "model.moe.every", "Megatron-LM puts experts on the first of every " + format_exact(n) + " layers, the plan on the last");
      }
      return;
    }
    if (frequency->is_string()) pattern = layer_pattern(frequency->get_ref<const std::string&>());
    if (frequency->is_array())
      for (const Json& v : *frequency) pattern.push_back(v == Json(0) ? 0 : 1);
    Count first = 0;
    while (first < static_cast<Count>(pattern.size()) && pattern[static_cast<std::size_t>(first)] == 0) ++first;
    Count every = 1;
    bool is_first = !pattern.empty() && first < static_cast<Count>(pattern.size());
    for (std::size_t i = static_cast<std::size_t>(first); i < pattern.size(); ++i) is_first = is_first && pattern[i] == 1;
    if (!is_first) {  // every n-th from the n-th on
      every = first + 1;
      bool is_every = every > 1;
      for (std::size_t i = 0; i < pattern.size(); ++i) is_every = is_every && pattern[i] == ((static_cast<Count>(i) + 1) % every == 0 ? 1 : 0);
      if (!is_every || pattern.empty()) return r_.leave("moe_layer_freq", KeyEffect::changes, "wireplan takes leading dense layers or every n-th layer with experts, not this pattern; all layers have experts here");
      return give("moe.every", every, "moe_layer_freq");
    }
    if (static_cast<Count>(pattern.size()) != layers_) r_.note(Severity::warning, "model.moe.first_dense_layers", "moe_layer_freq is a pattern of " + std::to_string(pattern.size()) + " layers, the model has " + std::to_string(layers_));
    if (first > 0) give("moe.first_dense_layers", first, "moe_layer_freq");
  }

  ConfigReader& r_;
  Count layers_ = 1, hidden_ = 1, heads_ = 1, inner_ = 1;
};

}  // namespace

bool read_megatron_model(ConfigReader& r) { return ModelReading(r).read(); }

}  // namespace wireplan
