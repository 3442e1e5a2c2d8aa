// The answer as a sentence in the reader's language.
#pragma once

#include <string>
#include <vector>

#include "core/answer/alternatives.hpp"
#include "web/language.hpp"

namespace wireplan {

// In English the core's own sentence, which the program prints too; in other languages the same two clauses from the
// texts "answer.*".
std::vector<SentencePiece> sentence_in(const Language& words, const Plan& plan, const Estimate& estimate,
                                       ByteUnit unit);

}  // namespace wireplan
