// Measured curves, and a machine beside its prediction, as documents and as text for people.
#pragma once

#include <string>

#include "core/answer/machine_report.hpp"
#include "core/text/import_nccl_tests.hpp"
#include "core/text/json.hpp"
#include "core/text/render.hpp"

namespace wireplan {

std::string render_measurements(const ImportedMeasurements& measured, RenderFormat format);

// {"rows","fit","findings","tolerance","within"}; `notes` are what importing said: wrong results are a finding.
Json write_machine_report(const MachineReport& report, const std::vector<Note>& notes = {});
std::string render_machine_report(const MachineReport& report, const std::vector<Note>& notes, RenderFormat format);

// Latency, rate and how far off the line through a curve is, as a sentence.
std::string fit_text(const MachineFit& fit);

// Within tolerance, and nothing computed wrong.
bool is_sound(const MachineReport& report, const std::vector<Note>& notes);

}  // namespace wireplan
