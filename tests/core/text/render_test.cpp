#include "core/text/render.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "core/answer/alternatives.hpp"
#include "core/text/render_csv.hpp"
#include "core/text/request.hpp"
#include "core/text/sheet.hpp"

using namespace wireplan;

namespace {

const Presets presets;

struct Answer { Plan plan; Estimate estimate; };

Answer answer_of(const std::string& scenario) {
  Result<Constants> constants = presets.constants();
  Result<StatedPlan> stated = stated_plan(Json(scenario), presets);
  REQUIRE(constants);
  REQUIRE(stated);
  return {stated.value().plan, estimate(stated.value(), constants.value())};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) lines.push_back(text.substr(start, end - start));
  CHECK(start == text.size());  // the text ends with its last line
  return lines;
}

}  // namespace

TEST_CASE("text: the answer, three questions in order, what it rests on", "[render]") {
  for (std::string_view id : presets.ids("scenarios")) {
    DYNAMIC_SECTION(id) {
      const Answer a = answer_of(std::string(id));
      for (ByteUnit unit : {ByteUnit::GB, ByteUnit::GiB}) {
        const std::string text = render_estimate(a.plan, a.estimate, RenderFormat::text, unit);
        std::string sentence;
        for (const SentencePiece& piece : answer_sentence(a.plan, a.estimate, unit)) sentence += piece.text;
        CHECK(text.rfind(wrapped(sentence, kTextWidth, 0), 0) == 0);
        std::size_t place = 0;
        for (const char* part : {"Will it fit?", "Will the wiring keep up?", "Where does the step go?", "Notes\n"}) {
          const std::size_t at = text.find(part, place);
          REQUIRE(at != std::string::npos);
          place = at;
        }
        for (const std::string& line : lines_of(text)) {
          INFO(line);
          CHECK((text_width(line) <= kTextWidth || line.find(' ', line.find_first_not_of(" -")) == std::string::npos));
        }
        // One unit of memory in one text; message sizes are binary, as nccl-tests prints them.
        const std::string memory = text.substr(0, text.find("Will the wiring keep up?"));
        CHECK((memory.find(" GiB") == std::string::npos) == (unit == ByteUnit::GB));
      }
    }
  }
}

TEST_CASE("a part that is zero has no row, a plan on one GPU no messages", "[render]") {
  Answer a = answer_of("story");
  const std::string text = render_estimate(a.plan, a.estimate, RenderFormat::text, ByteUnit::GB);
  CHECK(text.find("\n  master weights") == std::string::npos);
  CHECK(text.find("\n  optimizer states") != std::string::npos);
  a.estimate.communication.clear();
  CHECK(render_estimate(a.plan, a.estimate, RenderFormat::text, ByteUnit::GB).find("Nothing travels between GPUs.") != std::string::npos);
}

TEST_CASE("the story in GB, as its article counts", "[render]") {
  const Answer a = answer_of("story");
  const std::string text = render_estimate(a.plan, a.estimate, RenderFormat::text, ByteUnit::GB, "#v=1&m=x");
  std::string words = text;  // without the line breaks
  for (char& c : words) if (c == '\n') c = ' ';
  CHECK(plan_title(a.plan) == "Mistral 7B v0.1, DDP on 4 of 8 GPUs of DGX/HGX A100 80 GB");
  CHECK(words.find("7.242 B parameters") != std::string::npos);
  CHECK(words.find("sequence 4,096, global batch 64 in 16 micro-batches of 1;") != std::string::npos);
  CHECK(words.find("no master weights") != std::string::npos);
  CHECK(text.find("This plan: #v=1&m=x\n") != std::string::npos);
  // 7,241,732,096 parameters of 2, 2 and 8 bytes; 85,197,848,576 bytes as the driver reports them.
  auto row = [&](const char* title) {
    std::string line = text.substr(text.find(std::string("\n  ") + title) + 1);
    return line.substr(0, line.find('\n'));
  };
  CHECK(row("parameters").find(" 14.5") != std::string::npos);
  CHECK(row("optimizer states").find(" 57.9") != std::string::npos);
  CHECK(row("capacity of A100 SXM4 80 GB").find(" 85.2") != std::string::npos);
}

TEST_CASE("units of the document's numbers", "[render]") {
  CHECK(unit_of("memory.states.parameters") == "bytes");
  CHECK(unit_of("memory.parts.logits") == "bytes");
  CHECK(unit_of("memory.phases.load") == "bytes");
  CHECK(unit_of("memory.need_bytes.high") == "bytes");
  CHECK(unit_of("communication.bucket.bytes") == "bytes");
  CHECK(unit_of("communication.bucket.bus_bandwidth_bytes_per_s") == "bytes/s");
  CHECK(unit_of("communication.bucket.calls").empty());
  CHECK(unit_of("step.time_s.low") == "s");
  CHECK(unit_of("step.tokens_per_s_per_gpu") == "tokens/s");
  CHECK(unit_of("step.model_tflops_per_gpu") == "TFLOP/s");
  CHECK(unit_of("model.flops_per_token") == "FLOP");
  CHECK(unit_of("model.parameters").empty());
  CHECK(unit_of("step.mfu").empty());
}

TEST_CASE("errors: one line each", "[render]") {
  CHECK(render_errors({{"a.b", "3", "even", "3 is odd."}, {"", "", "", "No plan."}}) == "a.b: 3 is odd.\nNo plan.\n");
}
