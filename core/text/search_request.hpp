// Requests that search layouts (core/text/request.hpp).
#pragma once

#include <memory>
#include <vector>

#include "core/answer/search_report.hpp"
#include "core/text/json.hpp"
#include "core/text/presets.hpp"
#include "core/text/sheet.hpp"

namespace wireplan {

// {"plan", "set"?, "objective"?, "gpus"?: how many, "cluster"?, "vary"?: names, "fix"?: [[path, value], …], "top"?, "verdict"?: "tight" | "may-not-fit", "points"?}.
// Layout, micro-batch, recomputation, loss and offload of the plan are replaced, but for what "fix" states; with "vary" only what it names is.
struct AskedSearch {
  Constants constants;
  Plan base;                        // as stated
  std::vector<Plan> plans;          // on each cluster that may be chosen
  SearchOptions options;
  ByteUnit unit = ByteUnit::GiB;
  bool points = false;              // the document has every candidate that was evaluated, for a picture
  std::vector<Note> notes;
};
Result<std::unique_ptr<AskedSearch>> asked_search(const Json& request, const Presets& presets);

inline constexpr std::size_t kMostPoints = 20'000;

// wireplan.search/1: {"schema","base","objective","vary","counts","top","plans","pareto","pareto_exact","losers","experiments","experiments_regret_s","experiments_text","popular","text","complete"}.
Json write_search(const AskedSearch& asked, const Search& search, const SearchReport& report, const Presets& presets);
void render_search(Sheet& sheet, const AskedSearch& asked, const SearchReport& report, const Presets& presets);
std::string search_csv(const AskedSearch& asked, const SearchReport& report, const Presets& presets);

// All in one go, on one thread.
Result<Json> answer_search(const Json& request, const Presets& presets);

// What is known while a search runs: {"progress": 0..1, "counts", "best": {"label","time_s","need_bytes"} | null}.
Json write_search_progress(const Search& search);

}  // namespace wireplan
