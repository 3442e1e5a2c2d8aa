// Reading what the user names: files, standard input, folders of presets.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"

namespace wireplan {

// The document in a file, or on standard input for "-". Never reads more than the limit of a document.
Result<Json> read_document(const std::string& path);

// The text of a file of lines, or of standard input for "-"; at most 256 MB.
Result<std::string> read_lines(const std::string& path);

// The first `bytes` of a file, fewer where it ends before.
Result<std::string> read_start(const std::string& path, std::size_t bytes);

// Writes the text beside its place and moves it there, so that nobody ever reads half of it and what was there stays when this fails (disk
// full, no rights). A link stays and leads to the new text, rights stay; what is no plain file (/dev/stdout, a pipe) is written to. Errors name `option`.
Errors write_file(const std::string& option, const std::string& path, const std::string& text);

bool file_exists(const std::string& path);

// Nothing where `path` is a folder; `option` asked for it.
Errors folder_errors(const std::string& option, const std::string& path);

// Errors of the file as a whole name it, where they did not: "topo.xml: line 12: ..."; `all`: so do those of fields.
Errors in_file(const std::string& path, Errors errors, bool all = false);

// What the argument PLAN stands for, as stated_plan() takes it: in this order standard input, link, scenario id, file.
Result<Json> plan_argument(const std::string& argument, const Presets& presets);

// The same with the edits of --set, path=value each.
Result<Json> plan_with_edits(const std::string& argument, const std::vector<std::string>& edits, const Presets& presets);

// What the argument CLUSTER stands for, as stated_cluster() takes it: in this order standard input, node id, scenario id, link, file. Text that is no
// JSON is read as import_topology() does.
Result<Json> cluster_argument(const std::string& argument, const Presets& presets);

// Adds every DIR/<kind>/<id>.json, and checks all presets then.
Errors add_presets(const std::string& folder, Presets& presets);

}  // namespace wireplan
