#include "core/text/import_nccl_tests.hpp"

#include <algorithm>
#include <array>

#include "core/base/format.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/log_text.hpp"
#include "core/text/nccl_tests_table.hpp"
#include "core/text/read_profile.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMostNotes = 50, kMostPoints = 10'000;

struct ProgramName {
  std::string_view name;
  Collective collective;
};
constexpr std::array<ProgramName, 9> kPrograms = {{{"all_reduce", Collective::all_reduce},
                                                   {"all_gather", Collective::all_gather},
                                                   {"reduce_scatter", Collective::reduce_scatter},
                                                   {"broadcast", Collective::broadcast},
                                                   {"reduce", Collective::reduce},
                                                   {"alltoall", Collective::all_to_all},
                                                   {"sendrecv", Collective::send_recv},
                                                   {"scatter", Collective::scatter},
                                                   {"gather", Collective::gather}}};

// As printed, in µs or ms, as the second nearest to those digits: 13.67 µs is 1.367e-05, not an ulp beside it.
Seconds seconds_of(double printed, bool is_ms) { return Seconds(decimal(format_exact(printed), is_ms ? -3 : -6).value_or(0)); }

// Releases of 2017 and 2018 print milliseconds: size / time tells.
bool prints_milliseconds(const NcclTestsTable& t) {
  const NcclTestsRow* row = fastest_row(t);
  const double time = row == nullptr ? 0 : row->time.value_or(row->in_place.value_or(0));
  return time > 0 && row->size.value / (time * 1e3) > 100 * row->algbw;
}

class Importer {
 public:
  ImportedMeasurements found;
  Errors errors;  // of tables that cannot be used unless the user says more

  void take(const NcclTestsTable& t, std::optional<Collective> hint, const std::string& place) {
    if (!t.program.empty() && !t.collective) return note(Severity::warning, place + ": " + t.program + "_perf measures none of the operations known here, left out");
    const std::optional<Collective> c = t.collective ? t.collective : hint ? hint : guessed_operation(t);
    if (!c)
      return fail({"op", "", names_listed<Collective>(),
                   place + " does not say what it measured, and its columns fit several operations. Nearest: state op, e.g. all_gather"});
    const std::string name = std::string(name_of(*c)) + " (" + place + ")";
    if (t.is_cpu_time) return note(Severity::warning, name + ": the table has CPU time (-C), which is not the time of the operation: left out");
    const NcclTestsPlace p = place_of(t, *c);
    if (p.ranks == 1) return note(Severity::error, name + ": each process ran alone on one GPU, so nothing was exchanged: build nccl-tests with MPI=1, or use -g");
    if (p.ranks < 2)
      return fail({"", "", "a log that lists its devices", place + " does not say how many ranks took part. Nearest: paste the log from \"# nThread\" on"});
    const NcclType type = nccl_type(t.type);
    add({*c, p.ranks, p.nodes, p.gpus, std::string(type.dtype), p.launch, points_of(t, name)});
    for (const std::string& sentence : p.notes) note(Severity::info, name + ": " + sentence);
    if (t.is_graph) note(Severity::info, name + ": measured in CUDA graphs, which launch faster than single calls");
    if (t.is_blocking) note(Severity::warning, name + ": measured with -z (blocking): every time holds a wait of the host");
    if (t.is_aggregated) note(Severity::warning, name + ": measured with several operations in one group (-m): small sizes look faster than single calls");
  }

  void note(Severity severity, std::string sentence) {
    if (found.notes.size() < kMostNotes) found.notes.push_back({severity, "", std::move(sentence)});
    else ++left_out_;
  }

  void finish() {
    for (MeasuredCurve& curve : found.profile.curves) {
      merge_repeats(curve.points);
      if (curve.points.size() > kMostPoints) curve.points.resize(kMostPoints);
      for (Note& n : tidy_points(curve.points, std::string(name_of(curve.collective)) + " on " + std::to_string(curve.ranks) + " ranks"))
        note(n.severity, std::move(n.text));
    }
    for (const Error& e : errors) note(Severity::warning, e.text);
    if (left_out_ > 0) found.notes.push_back({Severity::info, "", std::to_string(left_out_) + " more notes are not listed"});
  }

 private:
  std::size_t left_out_ = 0;

  void fail(Error error) {
    if (errors.size() < kMostNotes) errors.push_back(std::move(error));
  }

  std::vector<MeasuredCurve::Point> points_of(const NcclTestsTable& t, const std::string& name) {
    const bool is_ms = prints_milliseconds(t);
    std::vector<MeasuredCurve::Point> points;
    std::size_t wrong = 0, in_place = 0, without = 0;
    Bytes first_wrong;
    for (const NcclTestsRow& row : t.rows) {
      if (!(row.size.value >= 1 && row.size.value <= 1e15)) continue;
      if (row.is_wrong) {
        if (wrong++ == 0) first_wrong = row.size;
        continue;
      }
      const std::optional<double> printed = row.time ? row.time : row.in_place;
      const Seconds time = seconds_of(printed.value_or(0), is_ms);
      const bool has_time = time.value >= 1e-9 && time.value <= 1e6;
      if (has_time) points.push_back({row.size, time});
      without += !has_time;
      in_place += has_time && !row.time;
    }
    if (wrong > 0)
      note(Severity::error, name + ": wrong results at " + std::to_string(wrong) + (wrong == 1 ? " size" : " sizes") + ", first " + format_message_size(first_wrong) +
                                ": the links or the memory of this machine corrupt data; those points are left out. Check: dcgmi diag -r 3, nvidia-smi nvlink -e, dmesg for Xid");
    if (in_place > 0) note(Severity::info, name + ": out-of-place times are missing, in-place times are taken");
    if (without > 0) note(Severity::info, name + ": " + std::to_string(without) + (without == 1 ? " row has no time, left out" : " rows have no time, left out"));
    return points;
  }

  // Repeated runs of one kind are one curve.
  void add(MeasuredCurve curve) {
    if (curve.points.empty()) return;
    for (MeasuredCurve& known : found.profile.curves) {
      const bool is_same = known.collective == curve.collective && known.ranks == curve.ranks && known.nodes == curve.nodes && known.gpus == curve.gpus &&
                           known.dtype == curve.dtype && known.launch == curve.launch;
      if (!is_same) continue;
      known.points.insert(known.points.end(), curve.points.begin(), curve.points.end());
      return;
    }
    found.profile.curves.push_back(std::move(curve));
  }
};

}  // namespace

std::optional<Collective> operation_of_program(std::string_view name) {
  const std::size_t perf = name.rfind("_perf");
  if (perf != std::string_view::npos) name = name.substr(0, perf);
  if (const std::size_t folder = name.rfind('/'); folder != std::string_view::npos) name.remove_prefix(folder + 1);
  for (const ProgramName& program : kPrograms)
    if (program.name == name) return program.collective;
  return value_named<Collective>(name);
}

std::vector<Note> tidy_points(std::vector<MeasuredCurve::Point>& points, const std::string& name) {
  std::vector<Note> notes;
  if (points.size() >= 3 && points[0].time.value > 2 * points[1].time.value) {
    notes.push_back({Severity::info, "", name + ": the first size, " + format_message_size(points[0].size) + ", took " + format_seconds(points[0].time) + ", more than twice the next: warm-up, left out"});
    points.erase(points.begin());
  }
  std::size_t slow = 0;
  const MeasuredCurve::Point* worst = nullptr;
  double least = points.empty() ? 0 : points.back().time.value, worst_share = 1.25;
  for (auto p = points.rbegin(); p != points.rend(); ++p) {
    if (p->time.value > 1.25 * least) {
      ++slow;
      if (p->time.value / least > worst_share) {
        worst_share = p->time.value / least;
        worst = &*p;
      }
    }
    least = std::min(least, p->time.value);
  }
  if (slow > 0 && worst != nullptr)
    notes.push_back({Severity::warning, "", name + ": " + std::to_string(slow) + " of " + std::to_string(points.size()) + " sizes took over 25 % longer than a larger one, most of all " +
                                                format_message_size(worst->size) + " (" + format_seconds(worst->time) + "): noise, or neighbours on the network"});
  return notes;
}

bool looks_like_nccl_tests(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return contains(text, "\"results\"") && contains(text, "\"bus_bw\"");
  std::size_t lines = 0;
  while (std::optional<std::string> line = next_line(text)) {
    if (++lines > 200'000) return false;
    if (contains(*line, "algbw") && contains(*line, "busbw")) return true;
    const auto words = words_of(*line);
    for (std::size_t i = 2; i + 4 < words.size(); ++i)
      if (nccl_type(words[i]).bytes > 0 && whole_number(words[i - 1]) && whole_number(words[i - 2]) && decimal(words.back())) return true;
  }
  return false;
}

Result<ImportedMeasurements> import_nccl_tests(std::string_view text, std::optional<Collective> op) {
  Result<NcclTestsLog> read = read_nccl_tests(text);
  if (!read) return read.errors();
  NcclTestsLog& log = read.value();
  if (log.tables.empty())
    return Error{"", value_text(Json(std::string(text.substr(0, 200)))), "a log of nccl-tests",
                 "there is no row of nccl-tests in this text (size count type … time algbw busbw). Nearest: paste the whole output of all_reduce_perf"};
  Importer importer;
  for (std::size_t i = 0; i < log.tables.size(); ++i) importer.take(log.tables[i], op, "table " + std::to_string(i + 1));
  ImportedMeasurements& found = importer.found;
  if (found.profile.curves.empty()) {
    Errors errors = importer.errors;
    if (errors.empty())
      for (const Note& n : found.notes) errors.push_back({"", "", "a table of times", n.text + ". Nearest: another log"});
    if (errors.empty()) errors.push_back({"", "", "rows with a size and a time", "every row has size 0 or no time. Nearest: a run with -b 8 -e 1G -f 2"});
    return errors;
  }
  if (log.is_cut) importer.note(Severity::warning, "the text has more rows or tables than are read: the rest is left out");
  importer.finish();
  // A log that was damaged may say what no machine is.
  if (Errors errors = validate(found.profile, ""); !errors.empty()) return errors;

  Json software = Json::object();
  if (!log.nccl.empty()) put(software, "nccl", log.nccl);
  if (!log.nccl_tests.empty()) put(software, "nccl_tests", log.nccl_tests);
  if (!software.empty()) found.profile.software = dump_json_compact(software);
  for (const std::string& gpu : log.gpu_names) found.profile.machine += (found.profile.machine.empty() ? "" : ", ") + gpu;
  found.profile.date = log.date;
  found.gpu_names = std::move(log.gpu_names);
  return std::move(found);
}

Json write_measurements(const ImportedMeasurements& measured) {
  Json j = Json::object(), notes = Json::array(), gpus = Json::array();
  for (const Note& n : measured.notes) notes.push_back(write_note(n));
  for (const std::string& gpu : measured.gpu_names) gpus.push_back(gpu);
  put(j, "profile", write_profile(measured.profile));
  put(j, "gpus", std::move(gpus));
  put(j, "notes", std::move(notes));
  return j;
}

}  // namespace wireplan
