#include "core/answer/advice_text.hpp"

#include <algorithm>


namespace wireplan {
namespace {

std::string step_text(const Effect& e) { return "a step takes " + format_seconds(e.time) + ", " + format_count(e.tokens_per_s) + " tokens/s"; }
double gain(const Effect& now, const Effect& then) { return now.tokens_per_s > 0 ? then.tokens_per_s / now.tokens_per_s - 1 : 0; }

}  // namespace

std::string benefit_text(const Advice& advice, const Change& change, ByteUnit unit) {
  const Effect &now = advice.now, &then = change.effect;
  const auto gb = [unit](Bytes b) { return format_bytes_with_unit(b, unit); };
  const std::string need = "needs " + gb(then.need) + " of " + gb(capacity(change.plan.cluster.node.gpu));
  const std::string step = step_text(then) + '.';
  if (!then.fits) return "Still does not fit: " + need + " instead of " + gb(now.need) + "; " + step;
  if (!now.fits) return (then.verdict == Verdict::may_not_fit ? "May fit, inside the error of the estimate: " : "Fits: ") + need + " instead of " + gb(now.need) + "; " + step;
  const double faster = gain(now, then);
  if (faster > kHelps) return format_percent(faster) + " more tokens/s: " + step;
  return "Frees " + gb(now.need - then.need) + ": " + need + "; " + step;
}

std::string price_text(const Advice& advice, const Change& change, ByteUnit unit) {
  const Effect &now = advice.now, &then = change.effect;
  const auto gb = [unit](Bytes b) { return format_bytes_with_unit(b, unit); };
  std::string text;
  const auto add = [&](const std::string& cost) { text += (text.empty() ? "" : ", ") + cost; };
  constexpr double kShows = 1e-4;  // less is not told
  if (then.time > (1 + kShows) * now.time) add(format_seconds(then.time - now.time) + " more a step" + (now.fits ? "" : " than the plan as it is would take if it fitted"));
  if (then.need > (1 + kShows) * now.need) add(gb(then.need - now.need) + " more memory of each GPU");
  if (then.host > (1 + kShows) * now.host) add(gb(then.host - now.host) + " more host memory of each node");
  if (text.empty() && change.kind == ChangeKind::hardware && !change.terms.empty()) return change.terms;
  text = text.empty() ? "Costs no time or memory in this estimate." : "Costs " + text + '.';
  return change.terms.empty() ? text : change.terms + ' ' + text;
}

std::string advice_text(const Advice& a) {
  const auto best = std::find_if(a.changes.begin(), a.changes.end(), [&](const Change& c) { return c.kind == ChangeKind::free && (c.effect.fits || a.now.fits); });
  if (!a.now.fits) {
    if (best != a.changes.end()) return "Does not fit. Of what leaves the training as it is, this fits and is the fastest: " + best->label + '.';
    const auto other = std::find_if(a.changes.begin(), a.changes.end(), [](const Change& c) { return c.effect.fits; });
    if (other != a.changes.end()) return std::string("Does not fit, and no setting that leaves the training as it is makes it fit on this machine. ") + (other->kind == ChangeKind::numerics ? "This does, and changes the training: " : "This does: ") + other->label + '.';
    return "Does not fit, and nothing that is looked at makes it fit: see the smallest clusters that can hold it.";
  }
  if (a.changes.empty()) return "Nothing that is looked at brings more than 1 %.";
  if (best == a.changes.end()) return "Fits. No setting that leaves the training as it is brings more than 1 %.";
  const double faster = gain(a.now, best->effect);
  if (faster > kHelps) return "Fits. The most of what leaves the training as it is: " + best->label + ", " + format_percent(faster) + " more tokens/s.";
  return "Fits, and nothing that leaves the training as it is makes it more than 1 % faster.";
}

}  // namespace wireplan
