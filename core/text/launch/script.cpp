#include "core/text/launch/launch.hpp"

#include "core/text/answer_json.hpp"

namespace wireplan {
namespace {

// Comments end with their line, whatever a name in them holds.
std::string comment(std::string_view text) {
  std::string line;
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return line;
}

void add(std::string& script, std::string_view indent, const LaunchLine& line, std::string_view prefix) {
  if (!line.why.empty()) script.append(indent).append("# ").append(comment(line.why)).append(line.source.empty() ? "" : " (" + line.source + ")").append("\n");
  script.append(indent).append(prefix).append(line.text).append("\n");
}

Json lines_json(const std::vector<LaunchLine>& lines) {
  Json list = Json::array();
  for (const LaunchLine& line : lines) {
    Json j;
    put(j, "text", line.text);
    put(j, "why", line.why);
    put(j, "source", line.source.empty() ? Json(nullptr) : Json(line.source));
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

std::string launch_script(const Launch& l, std::string_view title) {
  std::string script = "#!/bin/bash\n# " + comment(title) + "\n# " + std::to_string(l.hosts) + (l.hosts == 1 ? " host, " : " hosts, ") + std::to_string(l.processes_per_host) + (l.processes_per_host == 1 ? " process each\n" : " processes each\n");
  for (const Inexpressible& i : l.inexpressible) script += "# NOT HERE: " + comment(i.path) + ": " + comment(i.text) + "\n";
  for (const Note& n : l.notes) script += "# " + comment(n.text) + "\n";
  script += "set -eu\n";
  for (const LaunchLine& v : l.variables) add(script += "\n", "", v, "export ");
  if (!l.before.empty()) script += "\n";
  for (const LaunchLine& b : l.before) add(script, "", b, "");
  script += "\nlauncher=(\n";
  for (const LaunchLine& o : l.options) add(script, "  ", o, "");
  return script + ")\nexec \"${launcher[@]}\" " + l.process.text + " \"$@\"\n";
}

Json write_launch(const Launch& l, const std::string& script) {
  Json inexpressible = Json::array(), notes = Json::array(), j;
  for (const Inexpressible& i : l.inexpressible) {
    Json item;
    put(item, "path", i.path);
    put(item, "value", i.value);
    put(item, "text", i.text);
    inexpressible.push_back(std::move(item));
  }
  for (const Note& n : l.notes) notes.push_back(write_note(n));
  put(j, "schema", "wireplan.launch/1");
  put(j, "launcher", name_of(l.launcher));
  put(j, "hosts", l.hosts);
  put(j, "processes_per_host", l.processes_per_host);
  put(j, "variables", lines_json(l.variables));
  put(j, "before", lines_json(l.before));
  put(j, "options", lines_json(l.options));
  put(j, "process", l.process.text);
  put(j, "inexpressible", std::move(inexpressible));
  put(j, "notes", std::move(notes));
  Json file;
  put(file, "name", "launch.sh");
  put(file, "text", script);
  put(j, "files", Json::array({std::move(file)}));
  return j;
}

}  // namespace wireplan
