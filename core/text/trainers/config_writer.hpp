// JSON out as TOML, YAML or a call in Python: what trainers read.
#pragma once

#include <string>
#include <string_view>

#include "core/text/json.hpp"

namespace wireplan {

// object["a"]["b"]["c"] = value, objects made on the way.
void put_at(Json& object, std::string_view dotted, Json value);

// Each line of `head` is a comment in front. Null members are left out.
std::string dump_toml(const Json& object, std::string_view head);    // objects as tables, lists in one line
std::string dump_yaml(const Json& object, std::string_view head);    // block style; words that would read as another type in quotes
std::string dump_python(const Json& object, std::string_view head, std::string_view call);  // call(key=value, ...)

}  // namespace wireplan
