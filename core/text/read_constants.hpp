// The constants of assets/measurements, one reader a file. Every constant must be stated, with the data set it comes from.
#pragma once

#include "core/answer/estimate.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

LinkConstants read_link_constants(Reader& reader);              // links.json
void read_link_fit(Reader& reader, LinkConstants& constants);   // link_fit.json, over what was expected
EfficiencyConstants read_efficiency_constants(Reader& reader);  // efficiency.json
MemoryConstants read_memory_constants(Reader& reader);          // memory.json

}  // namespace wireplan
