// YAML in, as the JSON value it stands for: libyaml's events behind one function.
#pragma once

#include <string_view>

#include "core/base/error.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// One document. Plain words mean what PyYAML makes of them, since trainers read their files with it: yes, no, on, off are booleans
// (YAML 1.1); unlike it 1e-5 is a number here, and numbers in base 60 and dates stay text. Anchors, aliases and merge keys are followed.
// Errors (path "", with line and column): not YAML, a key given twice, a key that is no scalar, a second document, beyond 1 MiB, 32
// levels or 100,000 values with aliases written out.
// source: https://yaml.org/type/bool.html, int.html, float.html, merge.html
Result<Json> parse_yaml(std::string_view text);

}  // namespace wireplan
