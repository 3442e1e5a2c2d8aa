#include "core/answer/accuracy.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/plans.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Approx;

namespace {

Run run_of(std::string id, Plan plan, std::vector<Run::Value> measured) {
  Run run;
  run.id = std::move(id);
  run.source = "a report";
  run.plan = std::move(plan);
  run.measured = std::move(measured);
  return run;
}

Accuracy accuracy_of(std::vector<Run> runs) { return accuracy(Runs{std::move(runs), {}}, constants()); }

}  // namespace

TEST_CASE("the error of a prediction") {
  CHECK(relative_error(11, 10) == Approx(0.1));
  CHECK(relative_error(9, 10) == Approx(-0.1));
  CHECK(relative_error(0, 10) == -1);
  CHECK(relative_error(0, 0) == 0);
  CHECK(relative_error(5, 0) == 1);
  CHECK(relative_error(-11, -10) == Approx(0.1));
}

TEST_CASE("regret: what choosing by the prediction costs") {
  CHECK(regret({}, {}) == 0);
  CHECK(regret({1, 2, 3}, {10, 20, 30}) == 0);
  CHECK(regret({1, 2, 3}, {12, 10, 30}) == Approx(0.2));
  CHECK(regret({1, 1, 3}, {10, 15, 30}) == Approx(0.5));  // of equals the slower
}

TEST_CASE("places of the peak") {
  CHECK(is_same_place({StepPhase::loss, {}}, {StepPhase::loss, {}}));
  CHECK_FALSE(is_same_place({StepPhase::loss, {}}, {StepPhase::backward, {}}));
  CHECK(is_same_place({StepPhase::backward, 4}, {StepPhase::backward, 5}));
  CHECK(is_same_place({StepPhase::backward, 0}, {StepPhase::backward, -1}));  // the embedding is before layer 0
  CHECK_FALSE(is_same_place({StepPhase::backward, 4}, {StepPhase::backward, 6}));
  CHECK(is_same_place({StepPhase::backward, 4}, {StepPhase::backward, {}}));
}

TEST_CASE("every metric of a run, of the stage it names") {
  const Plan plan = scenario("story", {{"parallel.pipeline", "4"}, {"parallel.data", "1"}});
  const Estimate e = estimate(plan, constants());
  std::vector<Run::Value> measured;
  for (std::size_t m = 0; m <= static_cast<std::size_t>(Metric::states_optimizer_states); ++m) measured.push_back({static_cast<Metric>(m), 1000});
  Run run = run_of("a", plan, measured);
  run.stage = 2;
  Run by_rank = run_of("b", plan, {{Metric::allocated, 1000}});
  by_rank.rank = 3;
  const Accuracy a = accuracy_of({run, by_rank, run_of("c", plan, {{Metric::allocated, 1000}})});
  const auto predicted = [&](Metric m) { return a.rows[static_cast<std::size_t>(m)].predicted; };
  CHECK(predicted(Metric::step_time) == e.step.time.value.value);
  CHECK(predicted(Metric::tokens_per_s_per_gpu) == e.step.tokens_per_s_per_gpu);
  CHECK(predicted(Metric::mfu) == e.step.mfu);
  CHECK(predicted(Metric::allocated) == e.memory.ranks[2].allocated.value);
  CHECK(predicted(Metric::reserved) == e.memory.ranks[2].reserved.value);
  CHECK(predicted(Metric::device) == e.memory.ranks[2].device.value);
  CHECK(predicted(Metric::between_steps) == e.stage_memory[2].between_steps.value);
  CHECK(predicted(Metric::after_forward) == e.stage_memory[2].after_forward.value);
  CHECK(predicted(Metric::initialize_peak) == e.stage_memory[2].initialize.value);
  CHECK(predicted(Metric::states_parameters) == e.stage_memory[2].states.parameters.value);
  CHECK(predicted(Metric::states_optimizer_states) == e.stage_memory[2].states.optimizer_states.value);
  CHECK(a.rows[a.rows.size() - 2].predicted == e.memory.ranks[3].allocated.value);
  CHECK(a.rows.back().predicted == e.memory.allocated.value.value);  // the fullest GPU
  CHECK(e.memory.ranks[2].allocated != e.memory.allocated.value);
}

TEST_CASE("collectives: one entry each, what only one side has is an error of 1") {
  const Plan plan = scenario("story");  // DDP: all-reduces of bf16 among 4
  const std::vector<CollectiveSum> sums = collective_sums(plan, step_messages(plan));
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].collective == Collective::all_reduce);
  CHECK(sums[0].ranks == 4);
  CHECK(sums[0].bytes.value == 2 * 7241732096.0);

  Run run = run_of("a", plan, {});
  run.collectives = {{Collective::all_gather, Element::fp32, 4, 3, Bytes(8e9)}, {Collective::all_reduce, sums[0].element, 4, sums[0].calls, Bytes(7241732096.0)}};
  Run none = run_of("b", plan, {});
  none.collectives = std::vector<CollectiveSum>{};
  const Accuracy a = accuracy_of({run, none});
  REQUIRE(a.rows.size() == 6);
  CHECK(a.rows[0].error == 0);                // all_reduce: calls
  CHECK(a.rows[1].error == Approx(1));        // twice the bytes
  CHECK(a.rows[2].what == "all_gather fp32 4");
  CHECK(a.rows[2].error == -1);               // not predicted
  CHECK(a.rows[3].error == -1);
  CHECK(a.rows[4].error == 1);                // not measured
  CHECK(a.rows[5].error == 1);
}

TEST_CASE("summaries of absolute errors, with the way they lean") {
  const Plan plan = scenario("story");
  const double t = estimate(plan, constants()).step.time.value.value;
  // error = t/measured - 1: 0.25, -0.2, 1
  Accuracy a = accuracy_of({run_of("a", plan, {{Metric::step_time, t / 1.25}}), run_of("b", plan, {{Metric::step_time, t / 0.8}}),
                            run_of("c", plan, {{Metric::step_time, t / 2}})});
  REQUIRE(a.summary.size() == 1);
  const ErrorSummary& s = a.summary[0].summary;
  CHECK(s.count == 3);
  CHECK(s.median_abs == Approx(0.25));
  CHECK(s.p90_abs == Approx(0.25 + 0.8 * 0.75));
  CHECK(s.worst_abs == Approx(1));
  CHECK(s.median == Approx(0.25));
  CHECK(a.runs.runs[a.rows[s.worst_row].run].id == "c");

  a.runs.runs[2].source = "another";
  const auto by_source = summary_by(a, GroupBy::source);
  REQUIRE(by_source.size() == 2);
  CHECK(by_source[0].group == "a report");
  CHECK(by_source[0].summary.count == 2);
  CHECK(by_source[1].summary.worst_abs == Approx(1));
  CHECK(summary_by(a, GroupBy::machine).at(0).group == "dgx-a100-80gb");
  CHECK(summary_by(a, GroupBy::framework).at(0).group == "pytorch");
  CHECK(summary_by(a, GroupBy::size).empty());
}

TEST_CASE("ranking: layouts of one sweep, whatever was measured of time") {
  const Plan fsdp = scenario("story", {{"parallel.data_sharding", "fsdp"}});
  const Plan tensor = scenario("story", {{"parallel.tensor", "4"}, {"parallel.data", "1"}});
  const Plan longer = scenario("story", {{"training.sequence_length", "8192"}});
  const Estimate f = estimate(fsdp, constants()), x = estimate(tensor, constants());
  REQUIRE(f.step.time.value < x.step.time.value);
  // As predicted: fsdp took its time, tensor the predicted time by its rate.
  const Run a = run_of("a", fsdp, {{Metric::step_time, f.step.time.value.value}});
  const Run b = run_of("b", tensor, {{Metric::tokens_per_s_per_gpu, x.step.tokens_per_s_per_gpu}});
  Accuracy right = accuracy_of({a, b, run_of("c", longer, {{Metric::step_time, 1}})});
  REQUIRE(right.ranking.size() == 1);  // one alone is no group
  CHECK(right.ranking[0].runs == 2);
  CHECK(right.ranking[0].spearman == 1);
  CHECK(right.ranking[0].regret == 0);
  REQUIRE(right.timed.size() == 3);
  CHECK(right.timed[1].run == 1);
  CHECK(right.timed[1].predicted == x.step.time.value.value);
  CHECK(right.timed[1].measured == Approx(x.step.time.value.value));  // a rate as predicted goes with the seconds predicted
  CHECK(right.timed[2].measured == 1);
  // Other predictions of the same runs: tensor in half the time of fsdp.
  const std::vector<RankingGroup> turned = layout_ranking(right.runs, {{0, 2, f.step.time.value.value}, {1, 1, x.step.time.value.value}});
  REQUIRE(turned.size() == 1);
  CHECK(turned[0].spearman == -1);
  CHECK(turned[0].regret == Approx(x.step.time.value / f.step.time.value - 1));
  // The other way round: what was predicted slower ran twice as fast as fsdp.
  const double rate = 2 * f.step.tokens_per_s_per_gpu;
  const Accuracy wrong = accuracy_of({a, run_of("b", tensor, {{Metric::tokens_per_s_per_gpu, rate}})});
  CHECK(wrong.ranking.at(0).spearman == -1);
  CHECK(wrong.ranking.at(0).regret == Approx(1));
}

TEST_CASE("verdicts count runs once") {
  const Plan fits = scenario("story", {{"parallel.data_sharding", "fsdp"}}), does_not = scenario("story");
  const auto with = [](const Plan& plan, Outcome outcome) {
    Run run = run_of("a", plan, {});
    run.outcome = outcome;
    return run;
  };
  const Verdicts v = accuracy_of({with(fits, Outcome::fits), with(fits, Outcome::fits), with(fits, Outcome::oom), with(does_not, Outcome::oom),
                                  with(does_not, Outcome::oom), with(does_not, Outcome::oom), with(does_not, Outcome::fits), with(fits, Outcome::unknown)})
                         .verdicts;
  CHECK(v.fits_right == 2);
  CHECK(v.oom_wrong == 1);
  CHECK(v.oom_right == 3);
  CHECK(v.fits_wrong == 1);
  CHECK(v.undecided == 0);
}

TEST_CASE("times of single collectives come from the wiring") {
  const Plan plan = scenario("story");
  const Estimate e = estimate(plan, constants());
  const MessageCost& m = e.cost.messages.at(0);
  Run run;
  run.id = "c";
  run.collective = CollectiveRun{"", plan.cluster, m.message.collective, 4, 1, {}, {{m.message.bytes, m.call.time.value}, {Bytes(1024), Seconds(1)}}};
  const Accuracy a = accuracy_of({run});
  REQUIRE(a.rows.size() == 2);
  CHECK(a.rows[0].error == 0);  // as the estimate prices the message
  CHECK(a.rows[0].size == m.message.bytes);
  const auto by_size = summary_by(a, GroupBy::size);
  REQUIRE(by_size.size() == 2);
  CHECK(by_size[0].group == "from 1 MiB on");
  CHECK(by_size[1].group == "below 1 MiB");
}
