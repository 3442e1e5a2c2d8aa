// Measurements of a machine as a document (wireplan.profile/1): the `profile` of a cluster, or a file of its own.
#pragma once

#include <string>

#include "core/describe/profile.hpp"
#include "core/text/json.hpp"
#include "core/text/reader.hpp"

namespace wireplan {

// Points come in any order: they are sorted, and the times of one size become their median.
Profile read_profile_part(ReadLog& log, const Json& json, const std::string& path);
// A whole document, read and judged; errors start with `path`.
Result<Profile> read_profile(const Json& document, const std::string& path = "");

// Sorts by size and merges repeats by their median.
void merge_repeats(std::vector<MeasuredCurve::Point>& points);

// The object that reads back as the same profile.
Json write_profile(const Profile& profile);

}  // namespace wireplan
