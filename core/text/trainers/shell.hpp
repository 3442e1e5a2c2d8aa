// Shell scripts as people paste them, read for the words of their commands: assignments, arrays, defaults, arithmetic and simple conditions
// are carried out; nothing is run. What a script takes from outside (arguments, commands, the environment) is empty here.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace wireplan {

struct ShellVariable {
  std::string name;
  std::vector<std::string> words;  // one, or those of an array
  bool is_array = false;
};

struct ShellCommand {
  std::vector<std::string> words;
  int line = 1;
};

struct ShellText {
  std::vector<ShellCommand> commands;      // those that would run, in order; of a loop's body once
  std::vector<ShellVariable> variables;    // as they stand at the end
  std::vector<std::string> batch;          // words of #SBATCH lines
  std::vector<std::string> outside;        // names that were used and not set: "$1", "$HOSTFILE", "$(...)"
  std::vector<int> undecided;              // lines of conditions that hang on what is outside; read as if they held
};

// valid: text within the limits of trainer.hpp; an error where expansions grow beyond 4 MiB in all
// test: tests/core/text/trainers/shell_test.cpp
Result<ShellText> read_shell(std::string_view text);

// Words of a string by the same rules, without expansions.
std::vector<std::string> shell_words(std::string_view text);

}  // namespace wireplan
