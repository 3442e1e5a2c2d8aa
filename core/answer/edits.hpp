// The fields of a plan document that tell one layout from another.
#pragma once

#include <string>
#include <vector>

#include "core/describe/plan.hpp"

namespace wireplan {

// A field of a plan document to set, `value` as JSON text.
struct Edit {
  std::string path, value;
  friend bool operator==(const Edit&, const Edit&) = default;
};

// What makes `base` the layout, micro-batch and cluster size of `plan`. Nothing else may differ between the two.
std::vector<Edit> layout_edits(const Plan& base, const Plan& plan);

// "TP 8, PP 16 interleaved × 2, ZeRO-1, micro-batch 1, full recompute".
std::string layout_label(const Plan& plan);

}  // namespace wireplan
