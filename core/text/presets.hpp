// Presets: models, GPUs, nodes, networks, scenarios by id, embedded in the binary, or from a folder the caller has read.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/describe/abilities.hpp"
#include "core/answer/estimate.hpp"
#include "core/base/error.hpp"
#include "core/cost/nccl/decision.hpp"
#include "core/describe/plan.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// What a code base does differently on an architecture, in some releases, or with one kind of kernels: every stated condition must
// hold. A plan that names no release is of the newest, which the document itself describes: no dated variant holds for it.
struct Variant {
  std::string architecture, from, until;  // "": any; from <= release < until as YYYY-MM
  std::optional<Kernels> kernels;
  Details details;
  std::array<LossBytes, kNames<Loss>.size()> loss{};  // forward 0: not stated
  std::optional<bool> reentrant_checkpoint, tables_per_layer, logits_in_fp32;
  std::optional<bool> fused_weight_gradients, batch_has_mask, keeps_quantised_inputs, separate_adapter_units, first_flash_attention;
  std::optional<double> workspace_bytes, grouped_workspace_bytes, elementwise_traffic;
};

// A code base that trains (assets/implementations).
struct Implementation {
  std::string id, name;
  std::vector<Framework> frameworks;
  Kernels kernels = Kernels::eager;  // unless the plan says otherwise
  Switches switches;
  std::array<LossBytes, kNames<Loss>.size()> loss{};  // by Loss; forward 0: the eager chain
  std::vector<Variant> variants;
  std::optional<GradientSync> gradient_sync;  // where it is not the framework's
  Abilities can;
};

// The implementation on one architecture, release ("" unless the plan names one) and kind of kernels.
Implementation variant_of(Implementation implementation, std::string_view architecture, std::string_view release, Kernels kernels);

// Lookup by kind ("models", "gpus", "nodes", "networks", "clusters", "scenarios", "implementations", "architectures", "measurements") and id.
class Presets {
 public:
  Presets();  // the embedded ones
  // Adds or replaces one document (native: --presets DIR). It is checked when it is used or by check_all().
  void add(std::string kind, std::string id, std::string json);
  std::vector<std::string_view> ids(std::string_view kind) const;  // sorted
  // The text of one preset; empty when there is none.
  std::string_view text(std::string_view kind, std::string_view id) const;
  // Up to three ids of a kind that are near to a mistyped one.
  std::vector<std::string_view> nearest(std::string_view kind, std::string_view id) const;

  // Loaded and validated. Errors name "models/<id>" and the JSON path; an unknown id is an error that lists near ones.
  Result<Model> model(std::string_view id) const;
  Result<Gpu> gpu(std::string_view id) const;
  Result<Node> node(std::string_view id) const;
  Result<Implementation> implementation(std::string_view id) const;
  Result<LinkConstants> expected_links() const;  // before any fit
  Result<Constants> constants() const;
  Result<nccl::Release> nccl_release(std::string_view version) const;  // "2.28.9"
  Errors check_all() const;  // every preset through its loader: unknown keys, ranges, missing sources

 private:
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> added_;
};

// "<fabric>-<count>x<gbit>" → network. Error text names the form.
Result<Network> parse_network(std::string_view shorthand, const Presets& presets, const std::string& path);

}  // namespace wireplan
