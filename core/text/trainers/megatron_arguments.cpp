#include "core/text/trainers/megatron_arguments.hpp"

#include <algorithm>
#include <utility>

#include "core/text/capture.hpp"
#include "core/text/log_text.hpp"
#include "core/text/trainers/shell.hpp"

namespace wireplan {
namespace {

// Options whose name is not that of what they set.
struct Alias {
  std::string_view option, name;
  bool inverts = false;
};
constexpr Alias kAliases[] = {{"disable_bias_linear", "add_bias_linear", true},
                              {"no_overlap_p2p_communication", "overlap_p2p_comm", true},
                              {"overlap_p2p_communication", "overlap_p2p_comm"},
                              {"no_position_embedding", "add_position_embedding", true},
                              {"no_gradient_accumulation_fusion", "gradient_accumulation_fusion", true},
                              {"fp8_format", "fp8"},
                              {"fp4_format", "fp4"},
                              {"no_pin_cpu_grads", "pin_cpu_grads", true},
                              {"no_create_attention_mask_in_dataloader", "create_attention_mask_in_dataloader", true}};

// What is read, by whether a value follows.
constexpr std::string_view kFlags[] = {"group_query_attention", "apply_layernorm_1p", "squared_relu", "swiglu", "quick_geglu", "untie_embeddings_and_output_weights", "multi_latent_attention", "use_rotary_position_embeddings",
                                       "recompute_activations", "tp_comm_overlap", "cross_entropy_loss_fusion", "use_flash_attn", "add_bias_linear", "add_qkv_bias", "optimizer_cpu_offload", "sequence_parallel", "fp16", "bf16",
                                       "grad_reduce_in_bf16", "accumulate_allreduce_grads_in_fp32", "overlap_grad_reduce", "overlap_param_gather", "use_distributed_optimizer", "use_megatron_fsdp", "use_custom_fsdp", "use_torch_fsdp2",
                                       "use_tp_pp_dp_mapping", "enable_cuda_graph", "external_cuda_graph", "use_precision_aware_optimizer", "moe_router_enable_expert_bias", "moe_shared_expert_gate", "qk_layernorm", "qk_l2_norm",
                                       "overlap_p2p_comm", "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split", "add_position_embedding"};
constexpr std::string_view kValued[] = {"num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "kv_channels", "seq_length", "max_position_embeddings", "position_embedding_type", "normalization",
                                        "make_vocab_size_divisible_by", "vocab_size", "padded_vocab_size", "tokenizer_type", "tensor_model_parallel_size", "pipeline_model_parallel_size", "num_layers_per_virtual_pipeline_stage",
                                        "num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size", "micro_batch_size", "global_batch_size",
                                        "recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules", "fp8", "fp8_recipe", "fp4", "cross_entropy_fusion_impl", "num_experts", "moe_router_topk", "moe_ffn_hidden_size",
                                        "moe_shared_expert_intermediate_size", "moe_token_dispatcher_type", "moe_layer_freq", "q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "main_grads_dtype",
                                        "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype", "cuda_graph_impl", "attention_backend", "transformer_impl", "num_distributed_optimizer_instances", "data_parallel_sharding_strategy",
                                        "attention_dropout", "hidden_dropout", "optimizer", "sgd_momentum", "clip_grad", "ckpt_format", "softmax_type", "window_size", "window_attn_skip_freq", "cpu_offloading_num_layers"};
// Of the program that starts the processes.
constexpr std::string_view kLauncher[] = {"nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "nodes", "ntasks_per_node", "gpus_per_node", "world_size", "data_parallel_size"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) { return std::find(names.begin(), names.end(), name) != names.end(); }
bool is_read(std::string_view name) { return is_one_of(name, kFlags) || is_one_of(name, kValued); }

std::string underscored(std::string_view option) {
  std::string name;
  for (const char c : option) name += c == '-' ? '_' : c;
  return name;
}

Json typed(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  if (text == "None" || text == "null" || text.empty()) return nullptr;
  if (const std::optional<long long> n = whole_number(text)) return *n;
  if (const std::optional<double> d = decimal(text)) return number(*d);
  return std::string(text.substr(0, 4096));
}

// AttnBackend.flash, torch.bfloat16: the word after the point.
std::string_view last_part(std::string_view text) {
  const std::size_t point = text.rfind('.');
  return point == std::string_view::npos ? text : text.substr(point + 1);
}

class Collecting {
 public:
  MegatronArguments out;

  void set(std::string_view option, const std::vector<std::string>& values) {
    std::string name = underscored(option);
    bool inverts = false;
    for (const Alias& a : kAliases)
      if (a.option == name) {
        inverts = a.inverts;
        name = a.name;
        break;
      }
    std::erase(out.unresolved, name);
    if (values.empty() || (is_one_of(name, kFlags) && typed(values.front()) != Json(false))) {
      if (is_one_of(name, kValued)) {
        out.unresolved.push_back(name);
        out.values.erase(name);
        return;
      }
      out.values[name] = !inverts;
      return;
    }
    Json value = typed(values.front());
    if (inverts && value.is_boolean()) value = !value.get<bool>();
    if (values.size() > 1) {
      value = Json::array();
      for (const std::string& v : values) value.push_back(typed(v));
    }
    out.values[name] = std::move(value);
  }

  // Options among words, each with the words up to the next.
  void add(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_option(words[i])) continue;
      const std::size_t equals = words[i].find('=');
      std::vector<std::string> values;
      if (equals != std::string::npos) values.push_back(words[i].substr(equals + 1));
      const std::string option = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
      while (equals == std::string::npos && i + 1 < words.size() && !is_option(words[i + 1])) values.push_back(words[++i]);
      set(option, values);
    }
  }

  static bool is_option(std::string_view word) {
    return word.size() > 3 && word.starts_with("--") && ((word[2] >= 'a' && word[2] <= 'z') || (word[2] >= 'A' && word[2] <= 'Z'));
  }
};

// Words that hold several, as in "--fp8-format hybrid" or a command handed to another shell.
std::vector<std::string> loosened(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    const bool holds_options = word.find_first_of(" \n\t") != std::string::npos && (word.starts_with("--") || word.find(" --") != std::string::npos || word.find("\n--") != std::string::npos);
    if (!holds_options) all.push_back(word);
    else
      for (std::string& part : shell_words(word)) all.push_back(std::move(part));
  }
  return all;
}

int read_options(const std::vector<std::string>& words) {
  int count = 0;
  for (const std::string& word : words) {
    if (!Collecting::is_option(word)) continue;
    std::string name = underscored(std::string_view(word).substr(2, word.find('=') - 2));
    for (const Alias& a : kAliases)
      if (a.option == name) name = a.name;
    count += is_read(name);
  }
  return count;
}

Result<MegatronArguments> of_script(std::string_view text) {
  Result<ShellText> shell = read_shell(text);
  if (!shell) return shell.errors();
  const ShellText& script = shell.value();
  Collecting found;
  std::vector<std::string> best;
  int most = 0;
  for (const ShellCommand& command : script.commands) {
    std::vector<std::string> words = loosened(command.words);
    const int count = read_options(words);
    if (count <= most) continue;
    most = count;
    best = std::move(words);
  }
  // Arrays and strings alone, without the command that takes them.
  std::vector<std::string> held;
  for (const ShellVariable& v : script.variables)
    for (std::string& word : loosened(v.words)) held.push_back(std::move(word));
  if (read_options(held) > 2 * most) best = std::move(held);
  found.add(loosened(script.batch));
  found.add(best);
  if (!script.undecided.empty()) {
    std::string lines;
    for (std::size_t i = 0; i < script.undecided.size() && i < 10; ++i) lines += (i ? ", " : "") + std::to_string(script.undecided[i]);
    found.out.notes.push_back({Severity::warning, "", "conditions in line " + lines + " hang on what is outside the script; they were read as if they held"});
  }
  return std::move(found.out);
}

// "  tensor_model_parallel_size ...... 8", after whatever a launcher or logger puts in front.
MegatronArguments of_printed(std::string_view text) {
  Collecting found;
  found.out.is_printed = true;
  while (std::optional<std::string> line = next_line(text)) {
    const std::size_t dots = line->find(" ..");
    if (dots == std::string::npos) continue;
    std::size_t from = dots;
    const auto is_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
    while (from > 0 && is_name((*line)[from - 1])) --from;
    std::size_t after = dots + 1;
    while (after < line->size() && (*line)[after] == '.') ++after;
    if (from == dots || after >= line->size() || (*line)[after] != ' ') continue;
    const std::string_view value = trimmed(std::string_view(*line).substr(after));
    const std::string name = line->substr(from, dots - from);
    if (found.out.values.size() > 4096) break;
    if (!value.empty()) found.out.values[name] = typed(value.find(' ') == std::string_view::npos && (value.starts_with("AttnBackend.") || value.starts_with("torch.")) ? last_part(value) : value);
  }
  return std::move(found.out);
}

// Every leaf of a mapping by its own key; lists as they are.
void flatten(const Json& object, Collecting& found, int depth) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const Json& value = it.value();
    if (value.is_object()) {
      if (depth < kMaxConfigDepth) flatten(value, found, depth + 1);
      continue;
    }
    std::string_view key = it.key();
    while (key.starts_with('-')) key.remove_prefix(1);
    std::vector<std::string> values;
    const auto put_text = [&](const Json& v) { values.push_back(v.is_string() ? v.get<std::string>() : v.is_null() ? "None" : dump_json_compact(v)); };
    if (value.is_array())
      for (const Json& v : value) put_text(v);
    else put_text(value);
    if (value == Json(true)) values.clear();
    if (value.is_boolean() && !value.get<bool>()) {
      // An option of a list of arguments is left out; a field is off.
      if (it.key().starts_with("--")) continue;
      values = {"False"};
    }
    found.set(key, values);
  }
}

int read_names(const Json& values) {
  int count = 0;
  for (auto it = values.begin(); it != values.end(); ++it) count += is_read(it.key());
  return count;
}

}  // namespace

bool is_megatron_argument(std::string_view name) { return is_read(name) || is_one_of(name, kLauncher); }

Result<MegatronArguments> megatron_arguments(const ConfigText& config) {
  MegatronArguments best;
  if (config.document.is_object()) {
    Collecting found;
    const auto args = config.document.find("MODEL_ARGS");
    flatten(args != config.document.end() && args->is_object() ? *args : config.document, found, 0);
    best = std::move(found.out);
  }
  const std::string text = plain_capture(config.text);
  MegatronArguments printed = of_printed(text);
  if (read_names(printed.values) > std::max(3, read_names(best.values))) best = std::move(printed);
  if (config.syntax == Syntax::json) return best;
  Result<MegatronArguments> script = of_script(text);
  if (!script) return best.values.empty() ? script : Result<MegatronArguments>(std::move(best));
  if (read_names(script.value().values) > read_names(best.values)) return script;
  return best;
}

std::vector<int> layer_pattern(std::string_view text) {
  constexpr std::size_t kMost = 100'000;
  // Terms joined by '+', each a list or a bracketed expression times a number.
  struct Reading {
    std::string_view rest;
    bool bad = false;
    void skip() { while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1); }
    bool take(char c) {
      skip();
      if (!rest.starts_with(c)) return false;
      rest.remove_prefix(1);
      return true;
    }
    std::size_t count() {
      skip();
      std::size_t n = 0, digits = 0;
      for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1), ++digits) n = std::min(n * 10 + static_cast<std::size_t>(rest.front() - '0'), kMost + 1);
      bad = bad || digits == 0;
      return n;
    }
    std::vector<int> sum(int depth) {
      std::vector<int> all = product(depth);
      while (!bad && take('+')) {
        const std::vector<int> more = product(depth);
        all.insert(all.end(), more.begin(), more.end());
        bad = bad || all.size() > kMost;
      }
      return all;
    }
    std::vector<int> product(int depth) {
      std::vector<int> unit;
      if (depth > 16) bad = true;
      else if (take('(')) {
        unit = sum(depth + 1);
        bad = bad || !take(')');
      } else if (take('[')) {
        do unit.push_back(count() > 0 ? 1 : 0);
        while (!bad && take(','));
        bad = bad || !take(']');
      } else bad = true;
      while (!bad && take('*')) {
        const std::size_t times = count();
        if (bad || times * unit.size() > kMost) { bad = true; break; }
        const std::vector<int> once = unit;
        unit.clear();
        for (std::size_t i = 0; i < times; ++i) unit.insert(unit.end(), once.begin(), once.end());
      }
      return bad ? std::vector<int>{} : unit;
    }
  };
  Reading r{text};
  std::vector<int> pattern = r.sum(0);
  r.skip();
  return r.bad || !r.rest.empty() ? std::vector<int>{} : pattern;
}

}  // namespace wireplan
