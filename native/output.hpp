// What the program prints and the status it ends with.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace wireplan {

enum ExitStatus : int { kDone = 0, kAnswerIsNo = 1, kBadInput = 2, kCannotRunHere = 77 };

// Writes the text to standard output and returns `status`, or kBadInput with a message when it cannot be written. A reader
// that has gone (a closed pipe) wants no more: that is no error.
int print(const std::string& text, ExitStatus status);

// The errors as text on standard error and, if asked, as a document on standard output. Returns `status`.
int print_errors(const Errors& errors, bool json, ExitStatus status = kBadInput);

}  // namespace wireplan
