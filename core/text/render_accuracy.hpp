// Accuracy as a document and as text for people.
#pragma once

#include <string>

#include "core/answer/accuracy.hpp"
#include "core/text/json.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// {"rows","skipped","summary","ranking","verdicts"}. With `left_out` also "leave_out": {"by","refitted": [],"groups"}: errors by
// what would be left out; no constant is refitted.
Json write_accuracy(const Accuracy& accuracy, GroupBy left_out);

// Text and Markdown: what is wrong of NCCL's decisions and how many are right, the other rows, what was skipped, then errors by
// source, framework and metric, ranking and verdicts. CSV: one line for each row at full precision.
std::string render_accuracy(const Accuracy& accuracy, GroupBy left_out, RenderFormat format);

}  // namespace wireplan
