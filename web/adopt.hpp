// Documents from outside: a machine, its measurements, a whole plan. One becomes part of the plan as a single edit, or nothing changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/state.hpp"

namespace wireplan {

struct Adopted {
  struct Followed {  // a field of the plan that had to follow
    std::string path, from, to;
  };
  Errors errors;
  bool changed = false;
  std::vector<Followed> followed;
};

// kind: "cluster": takes the place of the plan's node, which is used whole; sizes of the layout follow where they must.
// "profile": measurements of the plan's cluster; of what was measured before, other curves stay. "model": an id or a model
// object, the rest of the plan as it is. "plan": all of it.
Adopted adopt(AppState& state, std::string_view kind, std::string_view json);

}  // namespace wireplan
