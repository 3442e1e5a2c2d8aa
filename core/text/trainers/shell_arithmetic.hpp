// $(( … )) of a shell, numbers filled in: + - * / % comparisons, && || ! and brackets over whole numbers below 1e15.
#pragma once

#include <optional>
#include <string_view>

namespace wireplan {

// Nothing where the text is no such expression, divides by zero or leaves the range. test: tests/core/text/trainers/shell_test.cpp
std::optional<long long> shell_arithmetic(std::string_view text);

}  // namespace wireplan
