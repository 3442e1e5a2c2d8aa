#include "native/measure/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "core/base/format.hpp"
#include "core/base/statistics.hpp"
#include "native/measure/company.hpp"
#include "native/measure/values.hpp"
#include "native/measure/watchdog.hpp"

namespace wireplan {
namespace {

using Clock = std::chrono::steady_clock;

double now_s() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

std::string what_of(const Call& call, Bytes size) {
  return std::string(name_of(call.op)) + " of " + format_message_size(size) + (call.in_place ? " in place" : "");
}

class Sweeper {
 public:
  Sweeper(Backend& backend, const Sweep& sweep, const Predict& predict, const SweepEvents& events)
      : backend_(backend), company_(backend), sweep_(sweep), predict_(predict), events_(events), watchdog_(sweep.timeout_s, [this](const std::string& what) { hang(what); }) {
    company_.meet();
  }

  std::vector<RunRow> rows() {
    std::vector<std::vector<int>> rounds;  // groups that call at the same time
    for (std::size_t g = 0; g < sweep_.groups.size(); ++g) {
      if (sweep_.one_by_one || rounds.empty()) rounds.emplace_back();
      rounds.back().push_back(static_cast<int>(g));
    }
    const std::size_t forms = static_cast<std::size_t>(sweep_.out_of_place) + static_cast<std::size_t>(sweep_.in_place);
    for (const Collective op : sweep_.ops) all_ += rounds.size() * (has_in_place(op) ? forms : 1);
    for (const Bytes size : sweep_.sizes) rows_left_[size.value] += all_;
    all_ *= sweep_.sizes.size();
    watch("making communicators", {});
    if (const Report opened = company_.agreed(backend_.open(sweep_.groups)); !opened) {
      Call first;
      if (!sweep_.ops.empty()) first.op = sweep_.ops.front();
      first.type = sweep_.type;
      first.redop = sweep_.redop;
      add_rows(first, rounds.front(), Bytes(0), opened);
      return std::move(rows_);
    }
    for (const std::vector<int>& round : rounds)
      for (const Collective op : sweep_.ops)
        for (const Bytes size : sweep_.sizes)
          for (const bool in_place : {false, true}) {
            const bool is_asked = has_in_place(op) ? (in_place ? sweep_.in_place : sweep_.out_of_place) : !in_place;
            if (is_asked && !measure(round, op, size, in_place)) return std::move(rows_);
          }
    watchdog_.rest();
    return std::move(rows_);
  }

 private:
  bool is_first() const { return company_.is_first(); }

  void watch(const std::string& what, const Call& call) {
    under_way_ = call;
    watchdog_.watch(what);
  }

  // False where the run cannot go on.
  bool measure(const std::vector<int>& round, Collective op, Bytes asked, bool in_place) {
    const int n = static_cast<int>(sweep_.groups[static_cast<std::size_t>(round.front())].size());
    const CallSize size = call_size(op, asked, sweep_.type, n);
    const Call call{op, sweep_.type, sweep_.redop, sweep_.root, in_place, static_cast<std::size_t>(size.count)};
    tell_progress(call, size.size);
    watch(what_of(call, size.size), call);
    round_ = round;
    size_ = size.size;
    const double start = now_s();
    Report report = size.count < 1 ? Report{CallOutcome::skipped, "fewer elements than ranks"} : company_.agreed(backend_.prepare(call, round));
    std::vector<std::vector<double>> seconds;
    std::vector<std::uint64_t> wrong;
    const bool looks = sweep_.looks_at_results && (!reduces(op) || is_exact(call.type, call.redop, n));
    if (report) {
      if (sweep_.warm_up > 0) report = backend_.run(sweep_.warm_up, seconds);
      if (report) report = backend_.run(sweep_.iterations, seconds);
      if (report && looks) report = backend_.check(wrong);
      std::vector<double> numbers;  // of each own rank: wrong elements, how many times, the times
      for (std::size_t r = 0; r < seconds.size(); ++r) {
        numbers.push_back(r < wrong.size() ? static_cast<double>(wrong[r]) : 0);
        numbers.push_back(static_cast<double>(seconds[r].size()));
        numbers.insert(numbers.end(), seconds[r].begin(), seconds[r].end());
      }
      report = company_.agreed(report, std::move(numbers));
    }
    watchdog_.rest();
    took_[asked.value] = now_s() - start;
    --rows_left_[asked.value];
    add_rows(call, round, size.size, report, looks);
    ++done_;
    return report.outcome != CallOutcome::failed;
  }

  void add_rows(const Call& call, const std::vector<int>& round, Bytes size, const Report& report, bool looks = false) {
    if (!is_first()) {
      if (const Report r = backend_.company(); !r) std::fprintf(stderr, "wireplan: process %d stops: %s\n", backend_.process(), r.message.c_str());
      return;
    }
    std::vector<std::vector<int>> together;
    for (int g : round) together.push_back(sweep_.groups[static_cast<std::size_t>(g)]);
    for (const std::vector<int>& group : together) {
      RunRow row{call, group, size, sweep_.iterations, 0, 0, 0, {}, {}, report};
      if (report) {
        const std::vector<double> times = slowest_of(group, looks ? &row.wrong : nullptr);
        row.least = quantile(times, 0);
        row.median = quantile(times, 0.5);
        row.p95 = quantile(times, 0.95);
        if (predict_) row.predicted = predict_(call.op, group, together, size);
      }
      rows_.push_back(row);
      if (events_.on_row) events_.on_row(rows_.back());
    }
  }

  // Of each iteration the longest time of the group's ranks; wrong elements of them all.
  std::vector<double> slowest_of(const std::vector<int>& group, std::optional<std::uint64_t>* wrong) const {
    std::vector<double> times;
    if (wrong) *wrong = 0;
    for (std::size_t p = 0; p < company_.told().size(); ++p) {
      const std::vector<double>& numbers = company_.told()[p].numbers;
      std::size_t at = 0;
      for (const int rank : company_.owners()[p]) {
        if (at + 2 > numbers.size()) break;
        const std::size_t count = static_cast<std::size_t>(numbers[at + 1]), first = at + 2;
        const bool is_in = std::find(group.begin(), group.end(), rank) != group.end();
        if (is_in && wrong) *wrong = **wrong + static_cast<std::uint64_t>(numbers[at]);
        if (is_in && times.size() < count) times.resize(count);
        for (std::size_t i = 0; i < count && is_in; ++i) times[i] = std::max(times[i], numbers[first + i]);
        at = first + count;
      }
    }
    return times;
  }

  // What the rows that are left take, by what one of the same size took last; larger ones in proportion to the largest so far. -1: not known yet.
  double left_s() const {
    if (took_.empty()) return -1;
    const auto [largest, longest] = *took_.rbegin();
    double all = 0;
    for (const auto& [size, rows] : rows_left_) {
      const auto known = took_.lower_bound(size);
      all += static_cast<double>(rows) * (known != took_.end() ? known->second : longest * size / largest);
    }
    return all;
  }

  void tell_progress(const Call& call, Bytes size) {
    if (!is_first() || !events_.on_progress) return;
    events_.on_progress(done_, all_, what_of(call, size), left_s());
  }

  void hang(const std::string& what) {
    company_.give_up(what + " has not returned", sweep_.timeout_s, !events_.on_hang ? std::function<void(const std::string&)>() : [this](const std::string& text) {
      events_.on_hang({under_way_, round_.empty() ? std::vector<int>{} : sweep_.groups[static_cast<std::size_t>(round_.front())], size_, sweep_.iterations, 0, 0, 0, {}, {}, {CallOutcome::failed, text}});
    });
  }

  Backend& backend_;
  Company company_;
  const Sweep& sweep_;
  const Predict& predict_;
  const SweepEvents& events_;
  std::vector<RunRow> rows_;
  std::size_t all_ = 0, done_ = 0;
  std::map<double, double> took_;  // seconds of a row, by the size that was asked for
  std::map<double, std::size_t> rows_left_;
  Call under_way_;
  std::vector<int> round_;
  Bytes size_;
  Watchdog watchdog_;  // last: its thread sees the members above
};

}  // namespace

std::vector<RunRow> run_sweep(Backend& backend, const Sweep& sweep, const Predict& predict, const SweepEvents& events) {
  return Sweeper(backend, sweep, predict, events).rows();
}

}  // namespace wireplan
