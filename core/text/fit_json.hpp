// The command fit: read from a request, as a document and as text.
#pragma once

#include <string>

#include "core/answer/fit_largest.hpp"
#include "core/base/error.hpp"
#include "core/text/json.hpp"
#include "core/text/render.hpp"

namespace wireplan {

// The value of "max": "micro_batch_size" or "sequence_length", with or without "training." before it.
Result<FitField> read_fit_field(const Json& value);

// {"path", "largest": null where nothing fits, "limit", "next", "next_need_bytes", "global_batch_size", "moves_batch", "text", "estimate"}.
Json write_fit(const LargestFit& fit);
std::string render_fit(const LargestFit& fit, RenderFormat format, ByteUnit unit);

}  // namespace wireplan
