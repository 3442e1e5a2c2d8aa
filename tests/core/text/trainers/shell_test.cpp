#include "core/text/trainers/shell.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/text/trainers/shell_arithmetic.hpp"

using namespace wireplan;

namespace {

using Words = std::vector<std::string>;

// Words of the last command.
Words last(std::string_view text) {
  const Result<ShellText> read = read_shell(text);
  REQUIRE(read);
  return read.value().commands.empty() ? Words{} : read.value().commands.back().words;
}

}  // namespace

TEST_CASE("arithmetic of a shell", "[shell]") {
  CHECK(shell_arithmetic("8*4") == 32);
  CHECK(shell_arithmetic(" 2 + 3 * (4 - 1) ") == 11);
  CHECK(shell_arithmetic("7 / 2 % 2") == 1);
  CHECK(shell_arithmetic("-3 < 2 && 1") == 1);
  CHECK(shell_arithmetic("1 >= 2 || 0") == 0);
  CHECK_FALSE(shell_arithmetic("1 / 0"));
  CHECK_FALSE(shell_arithmetic("NNODES * 8"));
  CHECK_FALSE(shell_arithmetic("999999999999999 * 99"));
  CHECK_FALSE(shell_arithmetic("1 +"));
  CHECK_FALSE(shell_arithmetic(""));
  CHECK_FALSE(shell_arithmetic(std::string(100, '(') + "1" + std::string(100, ')')));
}

TEST_CASE("words, quotes and lines that go on", "[shell]") {
  CHECK(last("a b\\\n  c 'd e' \"f g\" h\\ i # no\n") == Words{"a", "b", "c", "d e", "f g", "h i"});
  CHECK(last("a \\\r\n b") == Words{"a", "b"});
  CHECK(last("a '' \"\"") == Words{"a", "", ""});
  CHECK(last("a 2>&1 > log.txt | tee x; b c > d 2>e") == Words{"b", "c"});
  CHECK(last("cat <<EOF > x\nb c\nEOF\nd e\n") == Words{"d", "e"});
  CHECK(shell_words("--a 'b c' $d\n--e") == Words{"--a", "b c", "$d", "--e"});
}

TEST_CASE("variables, defaults and arrays", "[shell]") {
  CHECK(last("TP=8; run --tp $TP ${TP}x \"$TP\"") == Words{"run", "--tp", "8", "8x", "8"});
  CHECK(last("export TP=${TP:-4} PP=2\nrun $TP $PP") == Words{"run", "4", "2"});
  CHECK(last("N=2; W=$(($N*8)); run $W") == Words{"run", "16"});
  CHECK(last("run ${MBS:-${B:-3}}") == Words{"run", "3"});
  CHECK(last("run ${A:+x} y") == Words{"run", "y"});
  CHECK(last("A=\"--x 1 \\\n --y 2\"\nrun $A \"$A\"") == Words{"run", "--x", "1", "--y", "2", "--x 1  --y 2"});
  CHECK(last("A=(\n --x 1 # one\n #--z\n)\nA+=(--y \"2 3\")\nrun \"${A[@]}\"") == Words{"run", "--x", "1", "--y", "2 3"});
  CHECK(last("A=(\"--x 1\")\nrun ${A[@]}") == Words{"run", "--x", "1"});
  CHECK(last("A='a b'; A+=' c'; run $A") == Words{"run", "a", "b", "c"});
  CHECK(last("CUDA_VISIBLE_DEVICES=0 run x") == Words{"run", "x"});
  SECTION("what comes from outside is named") {
    const Result<ShellText> read = read_shell("P=$1\nrun $P ${HOST} $(hostname) `date` x");
    REQUIRE(read);
    CHECK(read.value().commands.back().words == Words{"run", "x"});
    CHECK(read.value().outside == Words{"$1", "${HOST}", "$(hostname)", "`date`"});
  }
}

TEST_CASE("conditions are decided where they can be", "[shell]") {
  CHECK(last("D=fp8\nif [[ \"$D\" == \"fp8\" ]]; then A=1; else A=2; fi\nrun $A") == Words{"run", "1"});
  CHECK(last("D=x\nif [ $D = fp8 ]\nthen\nA=1\nelif [ -n \"$D\" ]; then\nA=2\nelse\nA=3\nfi\nrun $A") == Words{"run", "2"});
  CHECK(last("T=${1:-M}\nif [[ \"$T\" == M ]] || [[ -z \"$T\" ]]; then A=1; else A=2; fi; run $A") == Words{"run", "1"});
  CHECK(last("if [[ $A == 1 && $B -gt 2 ]]; then run no; fi\nrun yes") == Words{"run", "yes"});
  CHECK(last("N=3\nif (( N > 2 )); then run big; else run small; fi") == Words{"run", "big"});
  CHECK(last("if [ -n \"${KEY}\" ]; then A+=(--w); fi\nrun \"${A[@]}\" x") == Words{"run", "x"});
  CHECK(last("A=1\nif [ x = y ]; then\nif [ a = a ]; then A=2; fi\nA=3\nfi\nrun $A") == Words{"run", "1"});
  SECTION("and read as if they held where not") {
    const Result<ShellText> read = read_shell("\nif [ ! -f x ]; then\n run a\nfi\nrun b");
    REQUIRE(read);
    CHECK(read.value().commands.size() == 2);
    CHECK(read.value().undecided == std::vector<int>{2});
  }
  CHECK(last("case $X in\n a) run 1;;\nesac\nrun 2") == Words{"run", "2"});
  CHECK(last("case $X in a) run 1;; esac; run 2\nrun 3") == Words{"run", "3"});
  CHECK(last("for i in 1 2; do run $i; done") == Words{"run"});
}

TEST_CASE("lines for Slurm", "[shell]") {
  const Result<ShellText> read = read_shell("#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH -t 1:00 # x\nrun");
  REQUIRE(read);
  CHECK(read.value().batch == Words{"--nodes=8", "-t", "1:00"});
}

TEST_CASE("hostile scripts end", "[shell]") {
  std::string doubling = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 64; ++i) doubling += "A=$A$A\n";
  CHECK_FALSE(read_shell(doubling));
  std::string arrays = "A=(x x x x)\n";
  for (int i = 0; i < 64; ++i) arrays += "A=(${A[@]} ${A[@]})\n";
  CHECK_FALSE(read_shell(arrays));
  std::string nested = "run ";
  for (int i = 0; i < 5000; ++i) nested += "${A:-";
  CHECK(read_shell(nested));
  std::string ifs;
  for (int i = 0; i < 5000; ++i) ifs += "if x; then ";
  CHECK_FALSE(read_shell(ifs));
  for (const char* text : {"'", "\"", "$", "${", "$(", "$((", "`", "\\", "A=(", "A+=(", "if", "((", "[[", "<<E", "case x in", "then", "fi", "else", "done", "A=", "$'", "${A[@]", "#SBATCH"}) CHECK(read_shell(text));
}
