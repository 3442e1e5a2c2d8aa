// The wiring of a node as a document.
#pragma once

#include "core/describe/wiring.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

Wiring read_wiring(Reader& reader);
Json write_wiring(const Wiring& wiring);

}  // namespace wireplan
