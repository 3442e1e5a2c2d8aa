// Sentences of advice.
#pragma once

#include <string>

#include "core/answer/advice.hpp"
#include "core/base/format.hpp"

namespace wireplan {

// "Fits: needs 40.1 of 85.1 GB …", "12 % more tokens/s: …".
std::string benefit_text(const Advice& advice, const Change& change, ByteUnit unit);
// What the change takes: its terms, then what of memory, host memory and time is worse than before.
std::string price_text(const Advice& advice, const Change& change, ByteUnit unit);
// One sentence over all changes.
std::string advice_text(const Advice& advice);

}  // namespace wireplan
