#include "core/text/render_nccl_log.hpp"

namespace wireplan {

Json write_log_comparison(const NcclLogComparison& comparison) {
  Json j = Json::object(), lines = Json::array(), notes = Json::array();
  for (const NcclLogLine& l : comparison.lines) {
    Json one = Json::object();
    put(one, "what", l.what);
    put(one, "log", l.log);
    put(one, "expected", l.expected);
    put(one, "agrees", l.agrees);
    put(one, "note", l.note + (l.note.empty() || l.cause.empty() ? "" : "; ") + l.cause);
    lines.push_back(std::move(one));
  }
  for (const Note& n : comparison.notes) notes.push_back(n.text);
  const std::size_t differ = comparison.differ();
  put(j, "verdict", comparison.verdict);
  put(j, "other_machine", comparison.is_other_machine);
  put(j, "lines", std::move(lines));
  put(j, "agree", static_cast<int>(comparison.lines.size() - differ));
  put(j, "differ", static_cast<int>(differ));
  put(j, "notes", std::move(notes));
  return j;
}

void add_log_comparison(Sheet& sheet, const NcclLogComparison& comparison) {
  sheet.heading("Beside the log");
  sheet.paragraph(comparison.verdict + (comparison.is_other_machine && comparison.lines.size() > 1 ? ". Line by line: --json." : "."));
  std::vector<std::string> items;
  std::string likely;
  for (const NcclLogLine& l : comparison.lines) {
    if (comparison.is_other_machine) break;
    std::string text = l.what + ": ";
    if (l.agrees) text += "agrees, " + l.log;
    else text += "differs: log says " + l.log + ", expected " + l.expected;
    if (!l.note.empty()) text += "; " + l.note;
    // The verdict ends with the likely cause.
    const std::size_t named = l.cause.find("cause: ");
    if (named != std::string::npos && comparison.verdict.ends_with(l.cause.substr(named))) likely = "cause as for " + l.what;
    else if (!l.cause.empty() && l.cause != likely) text += "; " + l.cause;
    items.push_back(std::move(text));
  }
  sheet.list(items);
  items.clear();
  for (const Note& n : comparison.notes) items.push_back(n.text);
  if (items.empty()) return;
  sheet.heading("Taken from the log");
  sheet.list(items);
}

}  // namespace wireplan
