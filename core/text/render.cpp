#include "core/text/render.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/answer/alternatives.hpp"
#include "core/answer/link_traffic.hpp"
#include "core/answer/utilization.hpp"
#include "core/text/render_csv.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {
namespace {

// Decimals at which `total` shows four significant digits, and at least `least`.
int decimals_for(double total, int least) {
  int decimals = least;
  for (double limit = 1000; limit > 1 && total < limit && decimals < 4; limit /= 10) ++decimals;
  while (decimals > 0 && total >= 1e4) { total /= 10; --decimals; }
  return decimals;
}

std::string low_to_high(const std::string& low, const std::string& high) { return low == high ? "" : low + " to " + high; }

struct ByteColumn {  // one unit and one number of decimals for a whole column
  double scale;
  int decimals;
  ByteColumn(Bytes largest, ByteUnit unit)
      : scale(unit == ByteUnit::GB ? 1e9 : 1024.0 * 1024 * 1024), decimals(decimals_for(largest.value / scale, 0)) {}
  std::string operator()(Bytes b) const { return format_fixed(b.value / scale, decimals); }
  std::string band(const Range<Bytes>& r) const { return low_to_high((*this)(r.low), (*this)(r.high)); }
};

std::string counted(Count n, std::string_view one, std::string_view many) {
  return format_count(static_cast<double>(n)) + ' ' + std::string(n == 1 ? one : many);
}

std::string layout_sentence(const Plan& plan) {
  const Parallel& p = plan.parallel;
  std::string text = "Layout: ";
  auto add = [&](std::string_view what, Count n) { text += std::string(text.back() == ' ' ? "" : ", ") + std::string(what) + ' ' + format_count(static_cast<double>(n)); };
  add("data", p.data);
  if (p.tensor > 1) add(p.sequence_parallel ? "tensor (with sequence parallelism)" : "tensor", p.tensor);
  if (p.pipeline > 1) add("pipeline (" + std::string(name_of(p.pipeline_schedule)) + ")", p.pipeline);
  if (p.context > 1) add("context", p.context);
  if (p.expert > 1) add("expert", p.expert);
  if (p.shard_group > 0) add("shards within groups of", p.shard_group);
  return text + "; " + std::string(name_of(p.framework)) + ", " + plan.training.implementation + '.';
}

std::string training_sentence(const Plan& plan) {
  const Training& t = plan.training;
  auto named = [](std::string_view what, auto value) { return std::string(what) + ' ' + std::string(name_of(value)) + ", "; };
  return "Training: sequence " + format_count(static_cast<double>(t.sequence_length)) + ", global batch " +
         format_count(static_cast<double>(t.global_batch_size)) + " in " + counted(micro_batches(plan), "micro-batch", "micro-batches") + " of " +
         format_count(static_cast<double>(t.micro_batch_size)) + "; " + named("weights", t.parameter_dtype) + named("gradients", t.gradient_dtype) +
         named(name_of(t.optimizer), t.optimizer_state_dtype) +
         (t.master_weights_dtype ? "master weights " + std::string(name_of(*t.master_weights_dtype)) : std::string("no master weights")) + '.';
}

// Neighbouring stages that hold the same share a row.
Table stage_table(const std::vector<RankMemory>& ranks, const ByteColumn& bytes, ByteUnit unit) {
  Table table{{{"stage", true}, {"allocated", true}, {"reserved", true}, {unit_name(unit) + " on the device", true}}, {}, {}};
  for (std::size_t first = 0, next; first < ranks.size(); first = next) {
    const RankMemory& r = ranks[first];
    for (next = first + 1; next < ranks.size(); ++next)
      if (ranks[next].allocated != r.allocated || ranks[next].reserved != r.reserved || ranks[next].device != r.device) break;
    std::string stages = std::to_string(r.stage);
    if (next - first > 1) stages += " to " + std::to_string(ranks[next - 1].stage);
    table.rows.push_back({stages, bytes(r.allocated), bytes(r.reserved), bytes(r.device)});
  }
  return table;
}

void memory_section(Sheet& sheet, const Plan& plan, const MemoryAnswer& m, ByteUnit unit) {
  sheet.heading("Will it fit?");
  const ByteColumn bytes(m.device.high < m.capacity ? m.capacity : m.device.high, unit);
  const std::pair<const char*, Bytes> named[] = {{"parameters", m.parts.parameters},
                                                 {"gradients", m.parts.gradients},
                                                 {"master weights", m.parts.master_weights},
                                                 {"optimizer states", m.parts.optimizer_states},
                                                 {"activations", m.parts.activations},
                                                 {"logits", m.parts.logits},
                                                 {"unsharded parameters", m.parts.unsharded_parameters},
                                                 {"communication buffers", m.parts.communication_buffers},
                                                 {"temporary", m.parts.temporary}};
  Table table{{{"on the fullest GPU", false}, {unit_name(unit), true}, {"low to high", true}}, {}, {}};
  std::vector<double> parts;
  for (const auto& [name, size] : named)
    if (size.value != 0) {
      table.rows.push_back({name});
      parts.push_back(size.value / bytes.scale);
    }
  std::vector<std::string> shown = parts_that_add_up(parts, m.allocated.value.value / bytes.scale, bytes.decimals);
  for (std::size_t i = 0; i < shown.size(); ++i) table.rows[i].push_back(shown[i]);
  table.totals.push_back(table.rows.size());
  table.rows.push_back({"allocated at the peak", bytes(m.allocated.value), bytes.band(m.allocated)});
  table.rows.push_back({"allocator slack", bytes(m.allocator_slack)});
  table.rows.push_back({"runtime: context, libraries, NCCL", bytes(m.runtime)});
  table.totals.push_back(table.rows.size());
  table.rows.push_back({"on the device", bytes(m.device.value), bytes.band(m.device)});
  table.rows.push_back({"needed at the least", bytes(m.need.value), bytes.band(m.need)});
  table.rows.push_back({"capacity of " + plan.cluster.node.gpu.name, bytes(m.capacity)});
  sheet.table(table);

  std::string text = "The peak is in the " + m.peak_at;
  if (m.ranks.size() > 1) text += ", stage " + std::to_string(m.worst_stage) + " (rank " + std::to_string(m.worst_rank) + ")";
  text += ". Loading takes " + format_bytes_with_unit(m.load, unit) + ", starting " + format_bytes_with_unit(m.initialize, unit) +
          ", the first step " + format_bytes_with_unit(m.first_step, unit) + ", between steps stay " + format_bytes_with_unit(m.between_steps, unit) +
          ", saving takes " + format_bytes_with_unit(m.save, unit) + '.';
  if (m.host.value > 0) {
    text += " Host memory of a node: " + format_bytes_with_unit(m.host, unit);
    text += m.fits_host == 1 ? ", which it has." : m.fits_host == 0 ? ", more than it has." : "; how much it has is not known.";
  }
  sheet.paragraph(text);
  if (m.ranks.size() > 1) sheet.table(stage_table(m.ranks, bytes, unit));
}

void wiring_section(Sheet& sheet, const Estimate& e) {
  sheet.heading("Will the wiring keep up?");
  if (e.communication.empty()) return sheet.paragraph("Nothing travels between GPUs.");
  const Seconds cost = e.step.time.value - e.step.on_ideal_wiring;
  sheet.paragraph("On infinitely fast links a step would take " + format_seconds(e.step.on_ideal_wiring) + "; on this wiring it takes " +
                  format_seconds(e.step.time.value) + ", " + format_seconds(cost) + " more" +
                  (cost.value > 0 ? ": " + format_seconds(e.step.wiring_bandwidth) + " for want of bandwidth, " + format_seconds(e.step.wiring_latency) + " of latency." : "."));
  Table table{{{"message", false}, {"among", false}, {"size", true}, {"calls", true}, {"bus", true}, {"time", true}, {"exposed", true}}, {}, {}};
  for (const CommunicationRow& r : e.communication)
    table.rows.push_back({std::string(r.name), std::string(name_of(r.dimension)) + ' ' + std::to_string(r.ranks), format_message_size(r.bytes),
                          format_count(r.calls), format_rate(r.bus_bandwidth), format_seconds(r.time.value), format_seconds(r.exposed)});
  sheet.table(table);
}

// A rate and what it is: a planning constant of NCCL unless it says otherwise.
std::string planning_text(const Estimate& e, const Bottleneck& b) {
  if (b.rate.value <= 0 || b.is_network) return "";
  const bool is_stated = b.link >= 0 && e.graph->links[static_cast<std::size_t>(b.link)].stated;
  return format_rate(b.rate) + (is_stated ? " (stated)" : "");
}

void rings_section(Sheet& sheet, const Plan& plan, const Estimate& e) {
  if (e.wiring.empty()) return;
  sheet.heading("Who talks over what?");
  std::vector<std::string> bottlenecks;
  for (const CommunicationRow& r : e.communication) {
    std::string line = std::string(name_of(r.dimension)) + ": slowest at " + r.bottleneck + " (" + std::string(r.algorithm) + ", " +
                       std::string(r.protocol) + "; by " + std::string(r.basis) + ")";
    if (!r.bottleneck.empty() && std::find(bottlenecks.begin(), bottlenecks.end(), line) == bottlenecks.end()) bottlenecks.push_back(std::move(line));
  }
  Table table{{{"groups", false}, {"first one's GPUs", false}, {"bus", true}, {"NCCL planning rate", true}, {"data sheet", true}}, {}, {}};
  for (const WiringGroup& group : e.wiring) {
    const MessageCost& c = e.cost.messages[group.message];
    const Bottleneck bottleneck = group_bottleneck(plan, e, group);
    std::string gpus;
    for (std::size_t i = 0; i < c.ring.order.size() && i < 8; ++i) gpus += (i ? " " : "") + std::to_string(c.ring.order[i]);
    table.rows.push_back({std::string(name_of(group.dimension)) + ' ' + std::to_string(c.ranks), gpus + (c.ring.order.size() > 8 ? " …" : ""), format_rate(group_bandwidth(c)),
                          planning_text(e, bottleneck), bottleneck.nominal.value > 0 ? format_rate(bottleneck.nominal) : ""});
  }
  sheet.table(table);
  sheet.list(bottlenecks);
}

// One line: the first convention is that of the MFU above it.
std::string conventions_sentence(const std::vector<Utilization>& all) {
  std::string text;
  for (std::size_t i = 1; i < all.size(); ++i)
    text += (i > 1 ? "; " : "MFU as others count FLOPs: ") + std::string(convention_label(all[i].convention)) + ' ' + format_percent(all[i].mfu);
  return text.empty() ? text : text + '.';
}

void step_section(Sheet& sheet, const Plan& plan, const Estimate& e) {
  const StepAnswer& s = e.step;
  sheet.heading("Where does the step go?");
  const double total = s.time.value.value;
  const double scale = total >= 1 ? 1 : total >= 1e-3 ? 1e3 : 1e6;
  const int decimals = decimals_for(total * scale, 0);
  const std::pair<const char*, Seconds> named[] = {{"compute", s.compute},
                                                   {"communication that nothing hides", s.exposed_communication},
                                                   {"pipeline bubble", s.bubble},
                                                   {"optimizer", s.optimizer},
                                                   {"host", s.host},
                                                   {"offload", s.offload},
                                                   {"waiting for stragglers", s.straggler}};
  Table table{{{"in one step", false}, {scale == 1 ? "s" : scale == 1e3 ? "ms" : "µs", true}, {"share", true}, {"low to high", true}}, {}, {}};
  std::vector<double> parts, shares;
  for (const auto& [name, time] : named)
    if (time.value != 0) {
      table.rows.push_back({name});
      parts.push_back(time.value * scale);
      shares.push_back(total > 0 ? 100 * time.value / total : 0);
    }
  std::vector<std::string> shown = parts_that_add_up(parts, total * scale, decimals);
  std::vector<std::string> shown_shares = parts_that_add_up(shares, 100, 0);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    table.rows[i].push_back(shown[i]);
    table.rows[i].push_back(shown_shares[i] + " %");
  }
  table.totals.push_back(table.rows.size());
  table.rows.push_back({"one step", format_fixed(total * scale, decimals), "100 %",
                        low_to_high(format_fixed(s.time.low.value * scale, decimals), format_fixed(s.time.high.value * scale, decimals))});
  sheet.table(table);
  sheet.paragraph(format_count(s.tokens_per_s) + " tokens/s, " + format_count(s.tokens_per_s_per_gpu) + " for each GPU; " +
                  format_flops_rate(s.model_tflops_per_gpu) + " of model work a GPU (MFU " + format_percent(s.mfu) + "), " +
                  format_flops_rate(s.hardware_tflops_per_gpu) + " with what is computed twice (HFU " + format_percent(s.hfu) + ").");
  if (const std::string others = conventions_sentence(utilization(plan, e)); !others.empty() && s.mfu > 0) sheet.paragraph(others);
}

void foundation_section(Sheet& sheet, const Plan& plan, const Estimate& e) {
  std::vector<std::string> notes;
  for (const Note& n : e.notes)
    notes.push_back((n.severity == Severity::info ? "" : n.severity == Severity::warning ? "Warning: " : "Error: ") +
                    (n.path.empty() ? "" : sheet.code(n.path) + ": ") + n.text);
  std::vector<std::string> assumed;
  for (const Assumption& a : plan.assumed) assumed.push_back(sheet.code(a.path + " = " + a.value) + ": " + a.why);
  if (!notes.empty()) {
    sheet.heading("Notes");
    sheet.list(notes);
  }
  if (!assumed.empty()) {
    sheet.heading("Assumed");
    sheet.list(assumed);
  }
}

}  // namespace

std::string plan_title(const Plan& plan) {
  const Model& m = plan.model;
  const Cluster& c = plan.cluster;
  std::string text = !m.name.empty() ? m.name : !m.id.empty() ? m.id : m.opaque ? "An opaque model" : "A model of its own";
  text += ", " + std::string(sharding_label(plan.parallel.data_sharding)) + " on ";
  const std::string node = !c.node.name.empty() ? c.node.name : !c.node.id.empty() ? c.node.id : c.node.gpu.name;
  if (c.nodes > 1) {
    text += counted(total_gpus(c), "GPU", "GPUs") + ": " + counted(c.nodes, "node", "nodes") + " of " + node;
    if (c.gpus_per_node < c.node.gpus) text += ", " + std::to_string(c.gpus_per_node) + " of " + std::to_string(c.node.gpus) + " GPUs each";
  } else if (c.gpus_per_node < c.node.gpus) {
    text += std::to_string(c.gpus_per_node) + " of " + counted(c.node.gpus, "GPU", "GPUs") + " of " + node;
  } else {
    text += counted(c.node.gpus, "GPU", "GPUs") + " of " + node;
  }
  for (std::size_t i = 0; i < c.gpus.size() && i < 16; ++i) text += (i == 0 ? " (GPUs " : ", ") + std::to_string(c.gpus[i]);
  if (!c.gpus.empty()) text += c.gpus.size() > 16 ? ", …)" : ")";
  return text;
}

std::string render_estimate(const Plan& plan, const Estimate& estimate, RenderFormat format, ByteUnit unit, std::string_view link) {
  if (format == RenderFormat::csv) return estimates_as_csv({&plan}, {&estimate});
  Sheet sheet(format == RenderFormat::markdown);
  std::string sentence;
  for (const SentencePiece& piece : answer_sentence(plan, estimate, unit)) sentence += piece.text;
  sheet.strong(sentence);
  sheet.paragraph(plan_title(plan) + " (" + format_parameters(estimate.parameters) + " parameters). " + training_sentence(plan) + ' ' + layout_sentence(plan));
  memory_section(sheet, plan, estimate.memory, unit);
  wiring_section(sheet, estimate);
  rings_section(sheet, plan, estimate);
  step_section(sheet, plan, estimate);
  foundation_section(sheet, plan, estimate);
  std::string last = "Wireplan " + std::string(kEngineVersion) + '.';
  if (!link.empty()) last += " This plan: " + sheet.code(link);
  sheet.paragraph(last);
  return sheet.text();
}

std::string render_explanation(const Explanation& e) {
  Sheet sheet(false);
  std::string claim = e.kind == Claim::count ? "exact count" : std::string(name_of(e.kind));
  sheet.paragraph(e.key + " = " + format_exact(e.result) + (e.unit.empty() ? "" : " " + e.unit) + " (" + claim + ")");
  if (e.has_band) sheet.paragraph("Between " + format_exact(e.band.low.value) + " and " + format_exact(e.band.high.value) + '.');
  sheet.paragraph(e.symbol + " = " + e.formula);
  Table table{{{"symbol", false}, {"value", true}, {"unit", false}, {"kind", false}, {"meaning", false}}, {}, {}};
  for (const ExplainedValue& v : e.values)
    table.rows.push_back({v.symbol, format_exact(v.value), v.unit, std::string(name_of(v.kind)), v.meaning + (v.key.empty() ? "" : " [" + v.key + "]")});
  if (!table.rows.empty()) sheet.table(table);
  std::string sources;
  for (const std::string& s : e.sources) sources += (sources.empty() ? "Sources: " : ", ") + s;
  if (!sources.empty()) sheet.paragraph(sources);
  return sheet.text();
}

std::string render_errors(const Errors& errors) {
  std::string text;
  for (const Error& e : errors) text += (e.path.empty() ? "" : e.path + ": ") + e.text + '\n';
  return text;
}

}  // namespace wireplan
