// Clusters as documents (wireplan.cluster/1).
#pragma once

#include "core/describe/cluster.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// A cluster object, or the id of a node: one of it. Defaults that depend on the node are recorded in the log.
Cluster read_cluster_part(ReadLog& log, const Json& json, const std::string& path, const Presets& presets);
Json write_cluster_part(const Cluster& cluster);

// The whole document, with its schema and its list of assumptions, be it empty.
Json write_cluster(const Cluster& cluster);

}  // namespace wireplan
