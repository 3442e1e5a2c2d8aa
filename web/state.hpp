// The state of the page, and the one place where it changes: an edit is applied to the plan document, the document is
// read and judged, and only a plan without errors is answered. Until then the last valid answer stays.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/answer/alternatives.hpp"
#include "core/answer/explain.hpp"
#include "core/answer/placement.hpp"
#include "core/answer/scaling.hpp"
#include "core/answer/timeline.hpp"
#include "core/cost/wiring.hpp"
#include "core/text/presets.hpp"
#include "web/catalogue.hpp"
#include "web/chart.hpp"
#include "web/nccl_view.hpp"
#include "web/step_timeline.hpp"
#include "web/ui.hpp"

namespace wireplan {

// What the reader looks at, apart from the plan.
struct ViewState {
  bool is_dark = false, more_contrast = false;
  ByteUnit unit = ByteUnit::GiB;  // what every tool beside the page prints; the story counts in GB, as its article does
  std::string language = "en";
  std::string explain = "memory.states.optimizer_states";  // path of the number in the drawer, "" when it is closed
  bool asked = false;  // the reader asked for that number: then it may cover results where there is no room beside them
  int stage = -1;      // pipeline stage whose memory is drawn over time; -1: the fullest
  TimeWindow time{0, 0};  // of the step, on its time line; empty: where it begins to be shown
  std::string section;  // of the inputs, where they are folded into a strip
  bool nccl = false;    // the wiring shows what NCCL builds, not what the plan loads
  std::string nccl_graph = "ring";  // of its graphs: ring, tree, nvls
  int nccl_picture = 0;             // of the graph's
  std::string panels;   // inside another page: names of those that stand there, separated by commas, in their order; "": a page of its own
  bool readonly = false;  // the plan changes by what the page around hands in, not by the reader
  std::string shown;    // what wiring and curves are drawn for, a key of chart_choices(); "": what is waited for most
};

// Everything that follows from one valid plan.
struct Answer {
  Plan plan;
  Estimate estimate;
  std::vector<Alternative> shardings, wirings, recipes;
  std::vector<MemoryLine> lines;  // one per pipeline stage
  StepTimeline timeline;
  TimePlace pressed;              // on it
  PreparedCluster wiring;
  std::vector<SentencePiece> sentence;
  std::optional<Explanation> explanation;
  int shown_message = -1;  // row of communication that the wiring is drawn for
  CollectiveChart chart;
  std::optional<PlacementAnswer> mapping;  // the best one, once find_mapping() has looked for it
  std::optional<Scaling> scaling;  // once find_scaling() has looked for it
  std::string nccl_request;  // what to ask the module, "" when the reader does not want to know
};

struct AppState {
  Presets presets;
  Constants constants;
  Catalogue catalogue;
  Language words{presets, "en"};
  ViewState view;
  Json document;  // the plan as edited, possibly wrong
  Errors errors;  // what is wrong with it
  Answer answer;  // of the last document without errors
  NcclView nccl;  // the last that came
  std::vector<Json> history;
  std::size_t moment = 0;  // index into history

  bool is_stale() const { return !errors.empty(); }
  // What NCCL decides on the plan's cluster, once it is known and while it is wanted.
  const NcclView* known_nccl() const { return !answer.nccl_request.empty() && nccl.request == answer.nccl_request ? &nccl : nullptr; }
};

// Reads constants and the scenario or link to begin with.
void start(AppState& state, std::string_view link);
// Another plan, by link or by the id of a scenario, as one edit. False when it cannot be read.
bool open_plan(AppState& state, std::string_view link);
// Applies an edit of the plan or of the view. True when anything changed.
bool apply(AppState& state, const Edit& edit);
// Another document as one edit, if it can be read; else its errors, and nothing changes.
Errors take_document(AppState& state, Json document);
// Looks for the best mapping of ranks to GPUs, once for an answer: for when nothing else waits. True when it found a better one.
bool find_mapping(AppState& state);
// Looks what fewer and more GPUs would do, once for an answer: for when nothing else waits. True when it has.
bool find_scaling(AppState& state);
// What of the step its time line shows.
TimeWindow shown_time(const AppState& state);
// The module's answer to a request for NCCL's decisions. False when nobody waits for it any more.
bool take_nccl(AppState& state, std::string_view request, std::string_view answer);
bool undo(AppState& state);
bool redo(AppState& state);
void reset(AppState& state);

// "#v=1&…" of the last valid plan, with what of the view differs from the default.
std::string link_of(const AppState& state);
// Text of the document's value at a path ("training.micro_batch_size"), empty when it is left out.
std::string document_text(const AppState& state, std::string_view path);

}  // namespace wireplan
