// Advice and the smallest clusters as documents and as text.
#pragma once

#include "core/answer/smallest_cluster.hpp"
#include "core/base/format.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

// What "advise" of a request asks for: `true` both. Who waits for an answer asks for `changes`: the clusters take longer.
enum class AdviseWhat : unsigned char { changes, smallest };
template <> inline constexpr std::array<std::string_view, 2> kNames<AdviseWhat> = {"changes", "smallest"};

struct AdviceAnswer {
  std::optional<Advice> advice;
  std::optional<SmallestClusters> smallest;  // of every kind of node there is a preset of
};
// `only`: none is both.
Result<AdviceAnswer> advice_answer(const Plan& plan, const Estimate& estimate, const Presets& presets, const Constants& constants, std::optional<AdviseWhat> only = {});

// `advice` of an estimate: {"text", "changes"} and {"smallest", "smallest_left_out"}, as asked.
Json write_advice(const Plan& plan, const AdviceAnswer& answer, const Presets& presets);
void render_advice(Sheet& sheet, const Plan& plan, const AdviceAnswer& answer, const Presets& presets, ByteUnit unit);

}  // namespace wireplan
