// Answers as documents: estimate, compare, explain, errors.
#pragma once

#include <string>
#include <vector>

#include "core/answer/compare.hpp"
#include "core/answer/estimate.hpp"
#include "core/answer/explain.hpp"
#include "core/answer/timeline.hpp"
#include "core/step/streams.hpp"
#include "core/text/json.hpp"

namespace wireplan {

// {"low","value","high"}, as every range in a document.
Json write_range(double low, double value, double high);
inline Json write_range(const Range<double>& r) { return write_range(r.low, r.value, r.high); }
template <class Q>
Json write_range(const Range<Q>& r) { return write_range(r.low.value, r.value.value, r.high.value); }

// The `timeline` of an estimate document: what the streams do, and allocated bytes, over one step for each pipeline stage.
Json write_timeline(const Plan& plan, const std::vector<StepStream>& streams, const std::vector<MemoryLine>& lines);
Json write_estimate(const Plan& plan, const Estimate& estimate);     // wireplan.estimate/1
Json write_comparison(const Comparison& comparison);                 // wireplan.compare/1
Json write_explanation(const Explanation& explanation);
Json write_note(const Note& note);                                   // {"severity","path","text"}
Json write_errors(const Errors& errors);                             // {"errors":[...]}

// What to call the elements of an array of objects when two documents have different ones: rows of communication by name,
// assumptions by path, ranks by stage, groups by dimension, links by their ends, others by place. A name that comes again gets "#2", "#3", ….
std::vector<std::string> element_names(const Json& array);

}  // namespace wireplan
