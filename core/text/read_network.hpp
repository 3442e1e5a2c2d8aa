// Networks as documents: the short-hand "<fabric>-<NICs per node>x<Gbit/s>", or an object.
#pragma once

#include <string>

#include "core/describe/cluster.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// A short-hand or an object; what it does not say comes from the preset of its fabric.
Network read_network(ReadLog& log, const Json& json, const std::string& path, const Presets& presets);
// The preset of a fabric (assets/networks): latency, GPUDirect and rails as they usually are.
Network read_fabric(Reader& reader, Fabric fabric);

// The short-hand, or an object when there is none.
Json write_network(const Network& network);

}  // namespace wireplan
