#include "core/capi/wireplan.h"

#include <cstdlib>
#include <string>

#include "core/capi/copied.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/request.hpp"

char* wireplan_call(const char* command, const char* json) {
  using namespace wireplan;
  Result<Json> request = parse_json(json == nullptr ? "" : json);
  if (!request) return copied(dump_json(write_errors(request.errors())));
  Result<Json> document = answer(command == nullptr ? "" : command, request.value(), Presets());
  return copied(dump_json(document ? document.value() : write_errors(document.errors())));
}

void wireplan_free(char* text) { std::free(text); }

const char* wireplan_version(void) { return wireplan::kEngineVersion.data(); }
