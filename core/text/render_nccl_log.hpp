// What a comparison with a log found, as a document and as text.
#pragma once

#include "core/text/nccl_log_compare.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

// {"verdict", "other_machine", "lines": [{"what", "log", "expected", "agrees", "note"}], "agree", "differ", "notes"}
Json write_log_comparison(const NcclLogComparison& comparison);
void add_log_comparison(Sheet& sheet, const NcclLogComparison& comparison);

}  // namespace wireplan
