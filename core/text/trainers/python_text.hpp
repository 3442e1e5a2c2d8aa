// Python as people configure trainers with it: assignments and calls with keywords, read as values; nothing is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// An assignment "cfg.model.x = 8", or a call as a statement.
struct PythonStatement {
  std::string target;  // "cfg.model.x"; "" for a call alone
  // Numbers, strings, true, false, null and lists as they are; names that were assigned before are filled in; others as
  // {"name": "torch.bfloat16"}; calls as {"call": "FSDPStrategy", "arguments": [...], "keywords": {...}}; dictionaries as
  // {"items": {...}}; what is none of these as {"code": "a + b"}.
  Json value;
  int line = 1;
  std::string function;  // the def around it, "" outside
};

// Statements in order; of branches and loops all.
// valid: text within the limits of trainer.hpp; brackets beyond 32 deep and what comes after 100,000 values are left out
// test: tests/core/text/trainers/python_text_test.cpp
std::vector<PythonStatement> read_python(std::string_view text);

// The word of a value: a string, or the last part of a name: "bfloat16" of torch.bfloat16, "FULL_SHARD" of
// ShardingStrategy.FULL_SHARD; "" for anything else.
std::string python_word(const Json& value);
// Whether it is a call of that name, with whatever in front: L.pytorch.Trainer(...) is one of Trainer.
bool is_python_call(const Json& value, std::string_view name);

}  // namespace wireplan
