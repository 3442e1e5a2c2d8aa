// Nodes as documents: presets under assets/nodes, and the `node` of a cluster when it is given as an object.
#pragma once

#include "core/describe/cluster.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// The error for an id that is no preset of its kind; lists near ones.
Error unknown_preset(const std::string& path, std::string_view kind, std::string_view id, const Presets& presets);

// A preset must also name its source, and may say the network such nodes come with.
Node read_node(Reader& reader, bool is_preset, const Presets& presets);

// The object that reads back as the same node (its preset's usual network aside).
Json write_node(const Node& node);

// A list of {"path","value","why"}.
std::vector<Assumption> read_assumed(Reader& reader, std::string_view key);
Json write_assumed(const std::vector<Assumption>& assumed);

}  // namespace wireplan
