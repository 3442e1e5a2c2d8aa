// The part of an accuracy that is about NCCL's decisions, for people.
#pragma once

#include "core/answer/accuracy.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

inline bool is_about_nccl(Metric metric) { return metric >= Metric::nccl_nodes && metric <= Metric::nccl_time; }

// What is wrong, NCCL's and ours beside each other, then how many are right of how many, by part. Nothing where no decision was compared.
void add_nccl_accuracy(const Accuracy& accuracy, Sheet& sheet);

}  // namespace wireplan
