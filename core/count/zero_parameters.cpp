#include "core/count/zero_parameters.hpp"

#include <algorithm>
#include <cmath>

namespace wireplan {
namespace {

// transformers registers the norms of a layer after its matrices: decides where partitions are cut.
bool norms_come_last(const Training& training) { return training.switches.modules == ModuleCode::huggingface; }

}  // namespace

ZeroParameters::ZeroParameters(const StageTraffic& t, const DeepSpeedSettings& settings)
    : ranks(t.ranks(GroupKind::data)) {
  std::size_t count = 0;
  t.in_gradient_order([&](double, double copies, bool) { count += std::size_t(copies); });
  ready.reserve(count);
  t.in_gradient_order([&](double elements, double copies, bool) {
    ready.insert(ready.end(), std::size_t(copies), {elements, 0});
    total += elements * copies;
    largest = std::max(largest, elements);
  });
  padded = std::ceil(total / (2 * ranks)) * 2 * ranks;
  partition = padded / ranks;

  registered.reserve(ready.size());
  std::size_t end = ready.size();  // place after the list's last tensor: `ready` is the model backwards
  const auto add = [&](const TensorList& list, bool norms_last) {
    std::size_t index = end;
    for (const bool norms : {false, true}) {
      index = end;
      for (const Tensor& x : list) {
        const bool is_norm = norms_last && x.part == Part::norm;
        for (double copy = 0; copy < x.copies; ++copy) {
          --index;
          if (is_norm == norms) registered.push_back(std::int32_t(index));
        }
      }
    }
    end = index;
  };
  add(t.trained_embedding, false);
  for (Count i = 0; i < t.layers.total(); ++i)
    add(t.is_moe(i) ? t.trained_moe_layer : t.trained_dense_layer, norms_come_last(t.plan.training));
  add(t.trained_head, false);

  flat = registered;
  if (settings.round_robin) {
    const std::size_t dealt_to = std::size_t(ranks);
    flat.clear();
    for (std::size_t rank = 0; rank < std::min(dealt_to, registered.size()); ++rank)
      for (std::size_t i = rank; i < registered.size(); i += dealt_to) flat.push_back(registered[i]);
  }
  double offset = 0;
  for (const std::int32_t i : flat) {
    ready[std::size_t(i)].offset = offset;
    offset += ready[std::size_t(i)].elements;
  }
}

double ZeroParameters::shard(const ZeroParameter& p) const { return std::ceil(p.elements / ranks); }

double ZeroParameters::inside(const ZeroParameter& p, double rank) const {
  return std::max(0.0, std::min(p.end(), (rank + 1) * partition) - std::max(p.offset, rank * partition));
}

}  // namespace wireplan
