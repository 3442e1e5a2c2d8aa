// Answers as text for people: aligned text, Markdown, CSV. The same functions serve program, page and module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/answer/compare.hpp"
#include "core/answer/estimate.hpp"
#include "core/answer/explain.hpp"
#include "core/base/format.hpp"
#include "core/base/names.hpp"

namespace wireplan {

enum class RenderFormat : unsigned char { text, markdown, csv };
template <> inline constexpr std::array<std::string_view, 3> kNames<RenderFormat> = {"text", "markdown", "csv"};

// The answer first, then the three questions in their order, then what it rests on. Text is at most 100 columns wide (a word
// that is longer by itself excepted). CSV is one line for each plan with every number at full precision: RFC 4180, header of
// paths with units. `link` (format_link of the plan), where given, is shown so that the reader can open the same plan.
std::string render_estimate(const Plan& plan, const Estimate& estimate, RenderFormat format, ByteUnit unit, std::string_view link = {});
std::string render_comparison(const Comparison& comparison, RenderFormat format, ByteUnit unit, const std::vector<std::string>& links = {});
std::string render_explanation(const Explanation& explanation);
std::string render_errors(const Errors& errors);  // one line each: path: text

// "Mistral 7B v0.1, DDP on 4 of 8 GPUs of DGX/HGX A100 80 GB": what a plan is, in one line.
std::string plan_title(const Plan& plan);

}  // namespace wireplan
