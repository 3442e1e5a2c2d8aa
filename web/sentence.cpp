#include "web/sentence.hpp"

#include <algorithm>
#include <utility>

namespace wireplan {

namespace {

using Tone = SentencePiece::Tone;

struct Value {
  std::string_view name;
  std::string text, key;
};

// Splits "**Fits:** {d} of {c}" into pieces: what stands between ** gets `tone`, {d} the number of that name.
void say(std::vector<SentencePiece>& pieces, std::string_view text, Tone tone, const std::vector<Value>& values) {
  bool is_strong = false;
  std::string run;
  const auto flush = [&] {
    if (!run.empty()) pieces.push_back({is_strong ? tone : Tone::plain, std::exchange(run, {}), ""});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "**") {
      flush();
      is_strong = !is_strong;
      ++i;
    } else if (const std::size_t close = text.find('}', i); text[i] == '{' && close != text.npos) {
      const auto value = std::find_if(values.begin(), values.end(),
                                      [&](const Value& v) { return v.name == text.substr(i + 1, close - i - 1); });
      i = close;
      if (value == values.end()) continue;
      if (value->key.empty()) {
        run += value->text;
        continue;
      }
      flush();
      pieces.push_back({Tone::number, value->text, value->key});
    } else {
      run += text[i];
    }
  }
  run += ' ';
  flush();
}

}  // namespace

std::vector<SentencePiece> sentence_in(const Language& words, const Plan& plan, const Estimate& e, ByteUnit unit) {
  if (words.id() == "en") return answer_sentence(plan, e, unit);
  const MemoryAnswer& m = e.memory;
  std::vector<SentencePiece> pieces;
  const std::vector<Value> values = {
      {"d", format_bytes(m.need.value, unit), "memory.need_bytes"},
      {"c", format_bytes_with_unit(m.capacity, unit), "memory.capacity_bytes"},
      {"h", format_bytes(m.need.high, unit), "memory.need_bytes.high"},
      {"m", format_bytes(m.states.total(), unit), ""},
      {"s", std::string(sharding_label(plan.parallel.data_sharding)), ""},
      {"i", plan.training.implementation, ""},
      {"e", format_seconds(e.step.exposed_communication), "step.exposed_communication_s"},
      {"t", format_seconds(e.step.time.value), "step.time_s"},
      {"link", most_exposed(e) ? most_exposed(e)->bottleneck : "", ""},
  };
  constexpr const char* kMemory[] = {"answer.fits", "answer.tight", "answer.may_not_fit", "answer.no_fit"};
  const bool is_good = m.verdict == Verdict::fits || m.verdict == Verdict::tight;
  say(pieces, words[kMemory[static_cast<std::size_t>(m.verdict)]], is_good ? Tone::good : Tone::bad, values);
  switch (wiring_verdict(e.step)) {
    case WiringVerdict::nothing_waits:
      say(pieces, words[total_gpus(plan.cluster) > 1 ? "answer.wires_idle" : "answer.one_gpu"], Tone::plain, values);
      break;
    case WiringVerdict::keeps_up:
      say(pieces, words[m.fits ? "answer.wires_ok" : "answer.wires_if"], Tone::good, values);
      break;
    case WiringVerdict::waits_a_little:
      say(pieces, words[m.fits ? "answer.wires_some" : "answer.wires_if"], Tone::plain, values);
      break;
    case WiringVerdict::does_not_keep_up:
      say(pieces, words[m.fits ? "answer.wires_bad" : "answer.wires_if"], Tone::exposed, values);
      break;
  }
  return pieces;
}

}  // namespace wireplan
