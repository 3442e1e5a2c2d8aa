// Share links: a plan as a readable URL fragment, decoded for ever (#v=1&m=...&c=...).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/describe/plan.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

struct ParsedLink {
  Json plan;                                              // a plan document, defaults left out
  std::vector<std::pair<std::string, std::string>> view;  // view, lang, theme, u, story
  std::vector<Note> notes;                                // unknown keys, newer versions
};

// Accepts a whole URL, "#v=1&..." or "v=1&...".
Result<ParsedLink> parse_link(std::string_view link);
// "#v=1&m=...": defaults omitted, order fixed; parse_link(format_link(p)) reads back as the same plan. What is long (a wiring
// graph, measurements) is packed into j=. Empty when even so the link would be longer than 4 kB; unlinkable() says why.
std::string format_link(const Plan& plan, const Presets& presets);
Errors unlinkable(const Plan& plan, const Presets& presets);
// True when the text looks like a link rather than a file name or scenario id.
bool looks_like_link(std::string_view text);

}  // namespace wireplan
