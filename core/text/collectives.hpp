// Predicted curves of collectives: the request, the document (wireplan.collectives/1) and its texts.
#pragma once

#include <string>
#include <vector>

#include "core/answer/curves.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/render.hpp"
#include "core/text/stated_cluster.hpp"

namespace wireplan {

struct CollectivesAnswer {
  StatedCluster stated;
  ElementType type = ElementType::float32;
  std::string redop = "sum";
  std::vector<Curve> curves;
  std::vector<std::vector<double>> counts;  // of each curve: elements of each point
};

// {"cluster", "op": name or "all" (default all_reduce), "sizes": [bytes, …] or {"begin", "end", "factor" or "step"}, "gpus": of each
// node, "per_node": so many GPUs of each node instead, "nodes", "dtype": by nccl-tests' names, "redop"}. Sizes are rounded as
// nccl-tests does.
Result<CollectivesAnswer> asked_collectives(const Json& request, const Presets& presets);

Json write_collectives(const CollectivesAnswer& answer);

// nccl-tests' columns, then what the figure rests on. CSV: a line for each size, full precision.
std::string render_collectives(const CollectivesAnswer& answer, RenderFormat format);

}  // namespace wireplan
