#include "core/text/trainers/trainer.hpp"

#include "core/text/trainers/trainers.hpp"

namespace wireplan {
namespace {

// By Trainer; null: not there yet.
constexpr const TrainerCode* kCode[kNames<Trainer>.size()] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

Error unknown(Trainer trainer) {
  const std::string name(name_of(trainer));
  return {"to", value_text(Json(name)), "a trainer that is built", "the trainer " + name + " is not built yet"};
}

}  // namespace

Result<Export> export_plan(const Plan& plan, Trainer trainer) {
  const TrainerCode* code = kCode[static_cast<std::size_t>(trainer)];
  if (code == nullptr) return unknown(trainer);
  return code->write(plan);
}

}  // namespace wireplan
