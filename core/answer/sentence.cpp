#include <algorithm>

#include "core/answer/alternatives.hpp"
#include "core/base/format.hpp"

namespace wireplan {

using Tone = SentencePiece::Tone;

std::vector<SentencePiece> answer_sentence(const Plan& plan, const Estimate& e, ByteUnit unit) {
  std::vector<SentencePiece> pieces;
  const auto say = [&](Tone tone, std::string text, std::string key = "") { pieces.push_back({tone, std::move(text), std::move(key)}); };
  const MemoryAnswer& m = e.memory;

  switch (m.verdict) {
    case Verdict::fits: say(Tone::good, "Fits: "); break;
    case Verdict::tight: say(Tone::good, "Fits, tightly: "); break;
    case Verdict::may_not_fit: say(Tone::bad, "May not fit: "); break;
    case Verdict::does_not_fit: say(Tone::bad, "Does not fit: "); break;
  }
  say(Tone::number, format_bytes(m.need.value, unit), "memory.need_bytes");
  say(Tone::plain, " of ");
  say(Tone::number, format_bytes_with_unit(m.capacity, unit), "memory.capacity_bytes");
  say(Tone::plain, " per GPU with " + std::string(sharding_label(plan.parallel.data_sharding)) + " as " + plan.training.implementation + " runs it, ");
  say(Tone::number, format_bytes(m.states.total(), unit));
  say(Tone::plain, " of that model states");
  if (m.verdict == Verdict::tight) say(Tone::plain, "; the allocator will free cached blocks and retry");
  if (m.verdict == Verdict::may_not_fit) {
    say(Tone::plain, "; the band reaches ");
    say(Tone::number, format_bytes(m.need.high, unit), "memory.need_bytes.high");
  }
  if (m.fits_host == 0) {
    say(Tone::plain, "; ");
    say(Tone::bad, "the host's memory does not hold ");
    say(Tone::number, format_bytes_with_unit(m.host, unit), "memory.host_bytes");
    say(Tone::plain, " of offloaded data");
  }
  say(Tone::plain, ". ");

  const Seconds total = e.step.time.value, exposed = e.step.exposed_communication;
  const CommunicationRow* worst = most_exposed(e);
  if (!worst) {
    say(Tone::plain, total_gpus(plan.cluster) > 1 ? "Nothing waits for the wiring." : "One GPU sends nothing.");
    return pieces;
  }
  const WiringVerdict verdict = wiring_verdict(e.step);
  if (!m.fits) say(Tone::plain, "If it fitted, ");
  else if (verdict == WiringVerdict::keeps_up) say(Tone::good, "The wiring keeps up: ");
  else if (verdict == WiringVerdict::does_not_keep_up) say(Tone::exposed, "The wiring does not keep up: ");
  say(Tone::number, format_seconds(exposed), "step.exposed_communication_s");
  say(Tone::plain, " of ");
  say(Tone::number, format_seconds(total), "step.time_s");
  say(Tone::plain, " per step would wait for communication");
  if (m.fits) pieces.back().text = " per step wait for communication";
  if (!worst->bottleneck.empty()) say(Tone::plain, ", at " + worst->bottleneck);
  say(Tone::plain, ".");
  return pieces;
}

}  // namespace wireplan
