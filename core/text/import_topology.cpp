#include "core/text/import_topology.hpp"

#include <algorithm>

#include "core/text/capture.hpp"
#include "core/text/topology_xml.hpp"
#include "core/text/smi_tree.hpp"

namespace wireplan {
namespace {

constexpr std::string_view kWanted = "the output of `nvidia-smi topo -m`, or an NCCL topology XML";

Error refused(std::string_view text, std::string why) {
  return {"", value_text(Json(shown_name(trimmed(text.substr(0, 400)), 60))), std::string(kWanted), std::move(why)};
}

// What other makers' tools print looks alike and means something else.
std::string other_maker(std::string_view text) {
  if (has_word(text, "XGMI") || contains(text, "ROCm System Management") || has_word(text, "rocm-smi") || has_word(text, "amd-smi"))
    return "this is the topology of AMD GPUs (rocm-smi or amd-smi): its words and weights are not nvidia-smi's. Name a preset such as mi300x-8x instead, or write the node as a graph";
  if (has_word(text, "mthreads-gmi") || has_word(text, "MTLINK") || has_word(text, "SPB") || has_word(text, "MPB"))
    return "this is the topology of Moore Threads GPUs (mthreads-gmi): only nvidia-smi's is read";
  if (has_word(text, "HCCS") || has_word(text, "npu-smi")) return "this is the topology of Ascend NPUs (npu-smi): only nvidia-smi's is read";
  return {};
}

Result<Cluster> import_xml(std::string_view text, const TopologyHints& hints, const Presets& presets) {
  // A file may stand in a YAML or Markdown page.
  const std::size_t begin = std::min({text.find("<?xml"), text.find("<system"), text.find("<graphs")});
  std::string_view xml = text.substr(begin), after;
  for (const std::string_view end : {"</system>", "</graphs>"})
    if (const std::size_t last = xml.rfind(end); last != std::string_view::npos) {
      after = xml.substr(last + end.size());
      xml = xml.substr(0, last + end.size());
    }
  Result<XmlDocument> document = parse_xml(xml);
  if (!document) return document.errors();
  if (document.value().elements.front().name == "graphs")
    return refused(xml, "this is an NCCL graph file (NCCL_GRAPH_DUMP_FILE): the rings and trees NCCL chose, not how the machine is wired. The topology is what NCCL_TOPO_DUMP_FILE writes; `wireplan import` reads NCCL's choices from a log");
  Result<TopologyDraft> draft = draft_of(document.value());
  if (!draft) return draft.errors();
  // Names and peer access, pasted before or after it.
  std::vector<std::string_view> lines = lines_of(text.substr(0, begin));
  for (const std::string_view line : lines_of(after)) lines.push_back(line);
  add_known(read_smi_gpus(lines), draft.value());
  if (const Result<std::vector<SmiMatrix>> matrices = read_smi_matrices(lines))
    draft.value().p2p_matrix = peer_matrix(matrices.value(), static_cast<int>(draft.value().gpus.size()));
  return cluster_of(std::move(draft.value()), hints, presets);
}

Error nothing_found(std::string_view text, const std::map<int, SmiGpu>& gpus) {
  if (!gpus.empty())
    return refused(text, "the text names GPUs (" + std::to_string(gpus.size()) + ") and does not say how they are wired: paste `nvidia-smi topo -m` with it");
  const std::string_view start = trimmed(text.substr(0, 4000));
  if (!start.empty() && start.front() == '{')
    return refused(text, "this is JSON, no capture: a cluster document is taken as it is wherever a cluster is wanted (wireplan topology show FILE)");
  if (!start.empty() && start.front() == '<') return refused(text, "this is XML, but no NCCL topology file: its root would be <system>");
  if (start.empty()) return refused(text, "the text is empty: paste " + std::string(kWanted));
  return refused(text, "there is no topology in the text: paste " + std::string(kWanted));
}

}  // namespace

Result<Cluster> import_topology(std::string_view raw, const TopologyHints& hints, const Presets& presets) {
  if (raw.size() > kMaxDocumentBytes) return refused(raw, "the text has more than 4 MB; a topology has a few kB");
  if (is_binary(raw)) return refused("", "the file is binary, not text");
  const std::string text = plain_capture(raw);
  if (contains(text, "<system") || contains(text, "<graphs")) return import_xml(text, hints, presets);

  const std::vector<std::string_view> lines = lines_of(text);
  if (mentions_mig(lines))
    return refused(text, "this machine's GPUs are cut into MIG slices: slices reach each other neither by NVLink nor peer to peer, and NCCL does not join them. Plan with one GPU, or turn MIG off");
  Result<std::vector<SmiMatrix>> matrices = read_smi_matrices(lines);
  const bool found = matrices && !matrices.value().empty();
  if (!found) {
    if (std::string why = other_maker(text); !why.empty()) return refused(text, std::move(why));
    if (contains(text, "NCCL INFO") || contains(text, "NCCL WARN"))
      return refused(text, "this is a log of NCCL (NCCL_DEBUG=INFO): `wireplan import` reads what NCCL chose from it. The wiring is in NCCL_TOPO_DUMP_FILE, or in `nvidia-smi topo -m`");
    if (contains(text, "# nThread") || contains(text, "busbw"))
      return refused(text, "this is the output of nccl-tests: `wireplan import` reads the measured times from it. The wiring is in `nvidia-smi topo -m`");
    if (!matrices) return matrices.errors();
  }
  const std::map<int, SmiGpu> gpus = read_smi_gpus(lines);
  if (!found) return nothing_found(text, gpus);
  if (std::string why = other_maker(text); !why.empty() && (has_word(text, "XGMI") || has_word(text, "SPB") || has_word(text, "MPB"))) return refused(text, std::move(why));
  Result<TopologyDraft> draft = draft_of(matrices.value(), gpus);
  if (!draft) return draft.errors();
  return cluster_of(std::move(draft.value()), hints, presets);
}

}  // namespace wireplan
