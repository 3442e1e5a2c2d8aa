#include "core/text/render_model.hpp"

#include "core/base/format.hpp"
#include "core/count/parameters.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value_text(value); }

std::string origin_of(const ConfigField& f, const ImportedModel& m) {
  switch (f.origin) {
    case FieldOrigin::stated: return f.from;
    case FieldOrigin::standard: return "default of the class for " + f.from;
    case FieldOrigin::given: return "as stated with --set";
    case FieldOrigin::constant: break;
  }
  return "so in every " + m.architecture;
}

std::string difference(double stored, double counted) {
  return stored == counted ? "equal" : (stored > counted ? "+" : "-") + format_count(stored > counted ? stored - counted : counted - stored);
}

void render_weights(Sheet& sheet, const WeightsCheck& w) {
  sheet.heading("Stored weights");
  if (w.agrees)
    sheet.paragraph("They agree: " + format_count(w.stored) + " parameters" + (w.by_tensor ? "." : ", by the bytes of the index."));
  else if (w.stored > 0)
    sheet.paragraph("They differ: stored " + format_count(w.stored) + ", counted " + format_count(w.counted) + " (" + difference(w.stored, w.counted) + ").");
  if (!w.parts.empty() && !w.agrees) {
    Table table{{{"part"}, {"counted", true}, {"stored", true}, {"difference", true}}, {}, {}};
    for (const WeightsCheck::Part& p : w.parts) table.rows.push_back({p.name, format_count(p.counted), format_count(p.stored), difference(p.stored, p.counted)});
    sheet.table(table);
  }
  std::vector<std::string> items = w.notes;
  for (const WeightsCheck::LeftOut& l : w.left_out)
    items.push_back("not compared: " + l.what + ", " + format_count(static_cast<double>(l.tensors)) + " tensors of " + format_count(l.elements) + " elements, as " + sheet.code(l.example));
  if (!items.empty()) sheet.list(items);
}

}  // namespace

std::string render_imported_model(const ImportedModel& m, const WeightsCheck* weights, RenderFormat format) {
  Sheet sheet(format == RenderFormat::markdown);
  const ModelParameters count = count_parameters(m.model);
  std::string found = m.architecture + " (" + m.model_type + "): " + format_count(count.total) + " parameters";
  if (count.active != count.total) found += ", of which a token meets " + format_count(count.active);
  sheet.strong((m.model.name.starts_with(m.architecture) ? "" : m.model.name + ", ") + found + ".");
  if (!m.presets.empty()) {
    std::string ids;
    for (const std::string& id : m.presets) ids += (ids.empty() ? "" : ", ") + sheet.code(id);
    sheet.paragraph("Equal, field by field, to the preset " + ids + ".");
  } else if (m.nearest) {
    std::string list;
    for (const NearPreset::Difference& d : m.nearest->differences) list += (list.empty() ? "" : "; ") + d.path + " " + shown(d.here) + " (there " + shown(d.preset) + ")";
    sheet.paragraph("Near the preset " + sheet.code(m.nearest->id) + ", but for " + list + ".");
  }
  sheet.heading("What was read");
  Table table{{{"field"}, {"value"}, {"from"}}, {}, {}};
  for (const ConfigField& f : m.fields) {
    const bool is_left_out = f.value.is_null() || (f.origin == FieldOrigin::constant && (f.value == false || f.value == 0 || f.value == "none"));
    if (!is_left_out) table.rows.push_back({f.path.substr(f.path.find('.') + 1), shown(f.value), origin_of(f, m)});
  }
  sheet.table(table);
  sheet.paragraph("Defaults and what is the same in every " + m.architecture + ": " + m.source);
  if (weights != nullptr) render_weights(sheet, *weights);
  std::vector<std::string> notes;
  if (!m.stored_dtype.empty()) notes.push_back("the weights are stored as " + m.stored_dtype + "; a plan's training.parameter_dtype says what is trained in");
  for (const Note& n : m.notes) notes.push_back((n.severity == Severity::warning ? "Warning: " : "") + n.text);
  if (!notes.empty()) {
    sheet.heading("Notes");
    sheet.list(notes);
  }
  return sheet.text();
}

}  // namespace wireplan
