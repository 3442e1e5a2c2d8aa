#include "core/text/import_nccl_tests.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <random>

#include "core/text/read_profile.hpp"
#include "tests/core/describe/sound.hpp"

using namespace wireplan;

namespace {

std::string sample(const std::string& name) {
  std::ifstream file("tests/data/nccl_tests/" + name);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

ImportedMeasurements imported(std::string_view text, std::optional<Collective> op = std::nullopt) {
  Result<ImportedMeasurements> found = import_nccl_tests(text, op);
  if (!found) FAIL(text_of(found.errors()));
  // Whatever is imported is a sound profile.
  CHECK(validate(found.value().profile, "") == Errors{});
  return found.value();
}

// "size time size time …"
std::string points_of(const MeasuredCurve& c) {
  std::string text;
  for (const auto& p : c.points) text += (text.empty() ? "" : " ") + dump_json_compact(number(p.size.value)) + " " + dump_json_compact(number(p.time.value));
  return text;
}

bool has_note(const ImportedMeasurements& m, std::string_view part) {
  for (const Note& n : m.notes)
    if (n.text.find(part) != std::string::npos) return true;
  return false;
}

std::string notes_of(const ImportedMeasurements& m) {
  std::string text;
  for (const Note& n : m.notes) text += n.text + "\n";
  return text;
}

const std::string kSettings = "# nThread 1 nGpus 4 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n";
const std::string kHeading =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kRows =
    "     1048576        262144     float     sum      -1    47.38   22.13   33.20      0    46.11   22.74   34.11      0\n"
    "     4194304       1048576     float     sum      -1    96.20   43.60   65.40      0    95.01   44.15   66.22      0\n";

}  // namespace

TEST_CASE("nccl-tests 2.10: all_gather without redop and root, sizes of 0", "[text]") {
  const ImportedMeasurements m = imported(sample("all_gather_2.10.txt"));
  REQUIRE(m.profile.curves.size() == 1);
  const MeasuredCurve& c = m.profile.curves[0];
  CHECK(c.collective == Collective::all_gather);
  CHECK(c.ranks == 8);
  CHECK(c.nodes == 1);
  CHECK(c.gpus == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(c.dtype == "fp32");
  CHECK(c.launch == "single-process");
  CHECK(points_of(c) == "32 3.503e-5 64 3.436e-5 128 3.394e-5 4294967296 0.017016 8589934592 0.033646");
  CHECK(m.gpu_names == std::vector<std::string>{"A100-SXM4-40GB"});
  CHECK(m.profile.machine == "A100-SXM4-40GB");
  CHECK(m.notes.empty());
}

TEST_CASE("nccl-tests 2.13: groups, a full bus id, a slow size in between", "[text]") {
  const ImportedMeasurements m = imported(sample("all_reduce_2.13.txt"));
  REQUIRE(m.profile.curves.size() == 1);
  const MeasuredCurve& c = m.profile.curves[0];
  CHECK(c.collective == Collective::all_reduce);
  CHECK(c.ranks == 8);
  CHECK(c.launch == "process-per-gpu");
  CHECK(points_of(c) ==
        "8 1.367e-5 16 1.3e-5 32 6.814e-5 64 1.492e-5 128 1.587e-5 256 1.61e-5 512 1.67e-5 1024 1.694e-5 8589934592 0.031307 17179869184 0.062648");
  CHECK(m.gpu_names == std::vector<std::string>{"NVIDIA H100 80GB HBM3"});
  INFO(notes_of(m));
  REQUIRE(m.notes.size() == 1);
  CHECK(has_note(m, "1 of 10 sizes took over 25 % longer than a larger one, most of all 32 B (68.1 µs)"));
}

TEST_CASE("nccl-tests 2.17: a cut list of devices, hosts with one name", "[text]") {
  const ImportedMeasurements m = imported(sample("all_reduce_2.17.txt"));
  REQUIRE(m.profile.curves.size() == 1);
  const MeasuredCurve& c = m.profile.curves[0];
  CHECK(c.collective == Collective::all_reduce);
  CHECK(c.ranks == 16);
  CHECK(c.nodes == 2);
  CHECK(c.gpus.empty());
  CHECK(points_of(c) == "1073741824 0.0108874 2147483648 0.0215117 4294967296 0.0427477 8589934592 0.0849487");
  CHECK(m.profile.software == R"({"nccl":"2.29.3","nccl_tests":"2.17.9"})");
  CHECK(has_note(m, "taken as 2 nodes"));
}

TEST_CASE("every operation in the columns of its time", "[text]") {
  const struct {
    const char *name, *text;
    Collective op;
    int ranks;
    const char* points;
  } rows[] = {
      {"broadcast of old, a root column", "#  size  count  type  root  time  algbw  busbw  error  time  algbw  busbw  error\n 1048576 262144 float 0 50.00 20.97 20.97 0e+00 49.00 21.40 21.40 0e+00\n",
       Collective::broadcast, 4, "1048576 5e-5"},
      {"alltoall of old, redop blank", "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n 1048576 65536 float 50.00 20.97 15.73 0e+00 49.00 21.40 16.05 N/A\n",
       Collective::all_to_all, 4, "1048576 5e-5"},
      {"sendrecv of old, redop blank", "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n 1048576 262144 float 50.00 20.97 20.97 0e+00 N/A N/A N/A N/A\n",
       Collective::send_recv, 4, "1048576 5e-5"},
      {"alltoall with one N/A for the in-place block", "# Collective test starting: alltoall_perf\n 1048576 65536 float none -1 50 20.97 15.73 0 N/A\n", Collective::all_to_all, 4,
       "1048576 5e-5"},
      {"reduce_scatter told by its count", "1048576 65536 half sum 12.50 83.89 62.91 1e-02 13.00 80.66 60.49 1e-02\n", Collective::reduce_scatter, 8, "1048576 1.25e-5"},
      {"reduce told by its root", "1048576 262144 float sum 3 50.00 20.97 20.97 0 49.00 21.40 21.40 0\n", Collective::reduce, 4, "1048576 5e-5"},
      {"broadcast told by root and count", "1048576 262144 float none 0 50.00 20.97 20.97 0 49.00 21.40 21.40 0\n", Collective::broadcast, 4, "1048576 5e-5"},
      {"all_gather before June 2020: algbw is already that of the bus",
       "$ ./build/all_gather_perf -b 1M -g 4\n 1048576 65536 float 50.00 15.73 15.73 0e+00 49.00 16.05 16.05 0e+00\n", Collective::all_gather, 4, "1048576 5e-5"},
      {"out-of-place alone", "$ all_reduce_perf -g 4\n 1048576 262144 float sum -1 50.00 20.97 31.46 0\n", Collective::all_reduce, 4, "1048576 5e-5"},
      {"root and out-of-place alone", "$ reduce_perf -g 4\n 1048576 262144 float sum 0 50 20.97 20.97 0\n", Collective::reduce, 4, "1048576 5e-5"},
      {"out-of-place N/A", "$ all_reduce_perf -g 4\n 1048576 262144 float sum -1 N/A N/A N/A N/A 50.00 20.97 31.46 0\n", Collective::all_reduce, 4, "1048576 5e-5"},
      {"timestamps of -T behind", "$ all_reduce_perf -g 4\n 1048576 262144 float sum -1 50.00 20.97 31.46 0 49.00 21.40 32.10 0 2025-10-01 12:00:01\n", Collective::all_reduce, 4,
       "1048576 5e-5"},
      {"statistics of single iterations", "$ all_reduce_perf -g 4\n 1048576 262144 float sum -1 50.00 20.97 31.46 0 48.1 53.2 53.0 3.10 49.00 21.40 32.10 0 48.0 52.9 52.0 2.90\n",
       Collective::all_reduce, 4, "1048576 5e-5"},
      {"milliseconds of 2018",
       "$ all_reduce_perf -g 4\n#     bytes     N     type   op   time   algbw   busbw   res   time   algbw   busbw   res\n 67108864 16777216 float sum 1.000 67.11 100.66 1e-06 1.010 66.44 99.66 1e-06\n",
       Collective::all_reduce, 4, "67108864 0.001"},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const ImportedMeasurements m = imported((row.ranks == 8 ? "# nThread 1 nGpus 8 minBytes 1\n" : kSettings) + row.text);
    REQUIRE(m.profile.curves.size() == 1);
    CHECK(m.profile.curves[0].collective == row.op);
    CHECK(m.profile.curves[0].ranks == row.ranks);
    CHECK(points_of(m.profile.curves[0]) == row.points);
  }
}

TEST_CASE("what launchers and terminals put around a log", "[text]") {
  const std::string log = "# Collective test starting: all_reduce_perf\n" + kSettings + kHeading + kRows + "# Out of bounds values : 0 OK\n";
  const std::string expected = "1048576 4.738e-5 4194304 9.62e-5";
  const auto decorated = [&](auto&& change) {
    std::string text, line;
    for (const char c : log)
      if (c == '\n') text += change(line) + "\n", line.clear();
      else line += c;
    return text;
  };
  const std::pair<const char*, std::string> rows[] = {
      {"plain", log},
      {"Open MPI", decorated([](std::string l) { return "[1,0]<stdout>:" + l; })},
      {"Open MPI, no blank", decorated([](std::string l) { return "[1,0]<stdout>:" + l.substr(l.find_first_not_of(' ')); })},
      {"srun", decorated([](std::string l) { return "0: " + l; })},
      {"pod", decorated([](std::string l) { return "nccl-test-launcher-x7k2p " + l; })},
      {"timestamps", decorated([](std::string l) { return "2025-03-04T05:06:07.123456789Z " + l; })},
      {"CRLF", decorated([](std::string l) { return l + "\r"; })},
      {"colours", decorated([](std::string l) { return "\x1b[1;32m" + l + "\x1b[0m"; })},
      {"tabs", decorated([](std::string l) { for (char& c : l) if (c == ' ') c = '\t'; return l; })},
      {"no #", decorated([](std::string l) { return l.starts_with('#') ? l.substr(1) : l; })},
      {"Markdown", "```\n" + log + "```\n"},
  };
  for (const auto& [name, text] : rows) {
    INFO(name);
    const ImportedMeasurements m = imported(text);
    REQUIRE(m.profile.curves.size() == 1);
    CHECK(m.profile.curves[0].ranks == 4);
    CHECK(points_of(m.profile.curves[0]) == expected);
  }
}

TEST_CASE("messages of NCCL between rows and within them", "[text]") {
  const std::string head = "# Collective test starting: all_reduce_perf\n" + kSettings + kHeading;
  const ImportedMeasurements between = imported(head + "node0:3442:3442 [0] NCCL INFO Launch mode Parallel\n" + kRows);
  CHECK(points_of(between.profile.curves.at(0)) == "1048576 4.738e-5 4194304 9.62e-5");
  const ImportedMeasurements within = imported(
      head + "     1048576        262144     float     sum      -1node0:3442:3442 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
             "node0:3442:3450 [0] NCCL INFO Connected all rings\n"
             "    47.38   22.13   33.20      0node0:3442:3442 [0] NCCL WARN slow\n    46.11   22.74   34.11      0\n"
             "     4194304       1048576     float     sum      -1    96.20   43.60   65.40      0    95.01   44.15   66.22      0\n");
  const ImportedMeasurements warned = imported(
      head + "     1048576        262144     float     sum      -1\nnode0:1:2 [0] NCCL INFO x\n" + kRows +
      "     8388608       2097152     float     sum      -1 node0:1884:2346 [0] socket.c:446 NCCL WARN wrong type\n   150.00   55.92   83.89      0   151.00   55.55   83.33      0\n");
  CHECK(points_of(warned.profile.curves.at(0)) == "1048576 4.738e-5 4194304 9.62e-5 8388608 0.00015");
  INFO(notes_of(within));
  CHECK(points_of(within.profile.curves.at(0)) == "1048576 4.738e-5 4194304 9.62e-5");
}

TEST_CASE("several tables in one text", "[text]") {
  const std::string devices = "# Using devices\n#  Rank  0 Pid  1 on a device 0 [0x01] X\n#  Rank  1 Pid  2 on b device 0 [0x01] X\n";
  const ImportedMeasurements m = imported("$ mpirun all_reduce_perf -b 8\n" + devices + kHeading +
                                          "1048576 262144 float sum -1 50.00 20.97 20.97 0 49.00 21.40 21.40 0\n# Out of bounds values : 0 OK\n"
                                          "$ mpirun ./build/all_gather_perf\n" + devices + kHeading +
                                          "1048576 131072 float none -1 40.00 26.21 13.11 0 41.00 25.58 12.79 0\n"
                                          "$ mpirun all_reduce_perf -b 8 # again, and once more\n" + devices + kHeading +
                                          "1048576 262144 float sum -1 60.00 17.48 17.48 0 49.00 21.40 21.40 0\n" + devices + kHeading +
                                          "$ mpirun all_reduce_perf\n" + devices + kHeading + "1048576 262144 float sum -1 70.00 14.98 14.98 0 49.00 21.40 21.40 0\n");
  REQUIRE(m.profile.curves.size() == 2);
  CHECK(m.profile.curves[0].collective == Collective::all_reduce);
  CHECK(m.profile.curves[0].ranks == 2);
  CHECK(m.profile.curves[0].nodes == 2);
  CHECK(points_of(m.profile.curves[0]) == "1048576 6e-5");  // the median of three
  CHECK(m.profile.curves[1].collective == Collective::all_gather);
  CHECK(points_of(m.profile.curves[1]) == "1048576 4e-5");
}

TEST_CASE("wrong results, warm-up and other things the reader must know", "[text]") {
  const std::string head = "# Collective test starting: all_reduce_perf\n" + kSettings + kHeading;
  const ImportedMeasurements wrong = imported(head + kRows + "     8388608       2097152     float     sum      -1   150.00   55.92   83.89      7   151.00   55.55   83.33      0\n");
  CHECK(points_of(wrong.profile.curves.at(0)) == "1048576 4.738e-5 4194304 9.62e-5");
  REQUIRE(has_note(wrong, "wrong results at 1 size, first 8 MiB"));
  CHECK(wrong.notes[0].severity == Severity::error);

  const ImportedMeasurements warm = imported(head + "8 2 float sum -1 2193.0 0.00 0.00 0 13.0 0.00 0.00 0\n16 4 float sum -1 13.00 0.00 0.00 0 13.0 0.00 0.00 0\n32 8 float sum -1 13.10 0.00 0.00 0 13.0 0.00 0.00 0\n");
  CHECK(points_of(warm.profile.curves.at(0)) == "16 1.3e-5 32 1.31e-5");
  CHECK(has_note(warm, "warm-up, left out"));

  CHECK(has_note(imported("# nThread 1 nGpus 4 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 1\n" + kHeading + kRows), "CUDA graphs"));
  CHECK(has_note(imported("# nThread 1 nGpus 4 minBytes 8 maxBytes 8 agg iters: 8 validation: 1\n" + kHeading + kRows), "(-m)"));
  const ImportedMeasurements visible = imported("$ CUDA_VISIBLE_DEVICES=2,3 all_reduce_perf -g 2\n# Using devices\n#  Rank 0 Pid 1 on a device 0 [0x01] X\n#  Rank 1 Pid 1 on a device 1 [0x02] X\n" + kHeading +
                                                "1048576 262144 float sum -1 50.00 20.97 20.97 0 49.00 21.40 21.40 0\n");
  CHECK(visible.profile.curves.at(0).gpus.empty());
  // A damaged list that names a device twice says nothing of the GPUs.
  const ImportedMeasurements twice = imported("$ all_reduce_perf -g 4\n# Rank 0 Pid 1 on a device 0 [0x01] X\n# Rank 2 Pid 1 on a device 2 [0x01] X\n# Rank 2 Pid 1 on a device 2 [0x01] X\n" + kHeading +
                                              "1048576 262144 float sum -1 50.00 20.97 27.96 0\n");
  CHECK(twice.profile.curves.at(0).gpus.empty());
  // Neither may the numbers of a damaged log be: ranks beyond any machine, more nodes than ranks.
  CHECK_FALSE(import_nccl_tests("$ all_reduce_perf\n# nThread 100000 nGpus 100000 minBytes 1\n" + std::string("$ x\n") + "1048576 262144 float sum -1 50.00 0.00 0.00 0\n"));
  CHECK_FALSE(import_nccl_tests("$ all_reduce_perf\n# Rank 0 Pid 1 on a device 0 [0x01] X\n# Rank 1 Pid 2 on a device 3442 [0x01] X\n" + kHeading + "1048576 262144 float sum -1 50.00 0.00 0.00 0\n"));
  const std::string last = "# Rank 1 Pid 2 on a device 0 [0x01] X\n";
  CHECK(imported("$ all_reduce_perf\n# Rank 0 Pid 1 on a device 0 [0x01] X\n# Rank 112372 Pid 1 on a device 1 [0x01] X\n" + last + last + last + kHeading + "1048576 262144 float sum -1 50.00 20.97 20.97 0\n").profile.curves.at(0).nodes == 2);
  CHECK(visible.profile.curves.at(0).ranks == 2);
}

TEST_CASE("the file of -J", "[text]") {
  const std::string json = R"({"version":2,"start_time":"2025-11-02 10:00:00","args":["./build/sendrecv_perf","-J","x"],"env":["A=1"],"nccl_version":22803,
    "config":{"nthreads":1,"ngpus":1,"aggregated_iterations":1,"graph":0,"blocking_collectives":"false","devices":[
      {"rank":0,"group":0,"pid":11,"hostname":"a","device":0,"device_hex":"0000:19:00","device_info":"NVIDIA H100 80GB HBM3"},
      {"rank":1,"group":0,"pid":12,"hostname":"b","device":0,"device_hex":"0000:19:00","device_info":"NVIDIA H100 80GB HBM3"}]},
    "results":[{"size":0,"count":0,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":3.0,"alg_bw":0,"bus_bw":0,"nwrong":null},"in_place":null},
      {"size":1024,"count":256,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":12.345600,"alg_bw":0.08,"bus_bw":0.08,"nwrong":0.000000},"in_place":{"time":"nan","alg_bw":0,"bus_bw":0,"nwrong":null},"actual_iterations":20,"experiment_name":"sendrecv_perf"},
      {"size":2048,"count":512,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":13.5,"alg_bw":0.15,"bus_bw":0.15,"nwrong":2.000000}},
      {"size":4096,"count":1024,"type":"float","redop":"none","root":"    -1","out_of_place":null,"in_place":{"time":14.250000,"alg_bw":0.29,"bus_bw":0.29,"nwrong":null}}],
    "out_of_bounds":{"count":2,"okay":"false"},"end_time":"x"})";
  REQUIRE(looks_like_nccl_tests(json));
  const ImportedMeasurements m = imported(json);
  REQUIRE(m.profile.curves.size() == 1);
  const MeasuredCurve& c = m.profile.curves[0];
  CHECK(c.collective == Collective::send_recv);
  CHECK(c.ranks == 2);
  CHECK(c.nodes == 2);
  CHECK(points_of(c) == "1024 1.23456e-5 4096 1.425e-5");
  CHECK(m.profile.date == "2025-11-02 10:00:00");
  CHECK(m.profile.software == R"({"nccl":"2.28.3"})");
  CHECK(has_note(m, "wrong results at 1 size"));
}

TEST_CASE("what is refused, and how", "[text]") {
  const std::string row = "1048576 65536 float 50.00 20.97 15.73 N/A 49.00 21.40 16.05 N/A\n";
  const struct {
    const char* name;
    std::string text;
    const char *path, *part;
  } rows[] = {
      {"nothing", "", "", "no row of nccl-tests"},
      {"a topology", "\tGPU0\tGPU1\nGPU0\t X \tNV4\n", "", "no row of nccl-tests"},
      {"other JSON", R"({"a":1})", "results", "no list of results"},
      {"broken JSON", R"({"results":[)", "", ""},
      {"an unnamed operation", kSettings + row, "op", "fit several operations"},
      {"no ranks", "$ all_reduce_perf\n 1048576 262144 float sum -1 50.00 0.00 0.00 0 49.00 0.00 0.00 0\n", "", "how many ranks"},
      {"processes without MPI", "# nThread 1 nGpus 1 minBytes 8\n#  Rank  0 Pid  1 on a device 0 [0x01] X\n$ all_reduce_perf\n#  Rank  0 Pid  1 on a device 0 [0x01] X\n 1048576 262144 float sum -1 50.00 20.97 0.00 0 49.00 21.40 0.00 0\n", "", "MPI=1"},
      {"size 0 alone", "$ all_reduce_perf\n" + kSettings + "$ all_reduce_perf\n 0 0 float sum -1 50.00 0.00 0.00 0 49.00 0.00 0.00 0\n", "", ""},
      {"another program", "$ hypercube_perf -g 4\n" + row, "", "hypercube_perf"},
      {"CPU time", "$ all_reduce_perf\n# size count type redop root cputime algbw busbw #wrong\n" + kRows, "", "CPU time"},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    const Result<ImportedMeasurements> found = import_nccl_tests(r.text);
    REQUIRE_FALSE(found);
    CHECK(found.errors()[0].path == r.path);
    CHECK(found.errors()[0].text.find(r.part) != std::string::npos);
    CHECK(found.errors()[0].value.size() <= 80);
  }
  CHECK(imported(kSettings + row, Collective::all_gather).profile.curves.at(0).collective == Collective::all_gather);
}

TEST_CASE("hostile logs are read in time and never crash", "[text]") {
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += "1048576 262144 float sum -1 50.00 20.97 31.46 0\n";
  const ImportedMeasurements cut = imported("$ all_reduce_perf\n" + kSettings + "$ all_reduce_perf\n" + many);
  CHECK(has_note(cut, "left out"));
  CHECK_FALSE(import_nccl_tests(std::string(5'000'000, 'a')));
  CHECK_FALSE(import_nccl_tests(std::string(5'000'000, ' ')));
  CHECK_FALSE(import_nccl_tests(std::string(1'000'000, '\0')));
  std::string messages = kSettings;
  for (int i = 0; i < 50'000; ++i) messages += "1048576 262144 float sum -1a:1:2 [0] NCCL INFO x\n";
  CHECK_FALSE(import_nccl_tests(messages));
  std::string tables;
  for (int i = 0; i < 20'000; ++i) tables += "$ all_reduce_perf -g " + std::to_string(i % 9) + "\n" + kSettings + kRows;
  import_nccl_tests(tables);
  std::string ranks = "$ all_reduce_perf\n";
  for (int i = 0; i < 150'000; ++i) ranks += "# Rank " + std::to_string(i) + " Pid 1 on a device " + std::to_string(i % 8) + " [0x01] X\n";
  import_nccl_tests(ranks + kRows);

  const std::string sound = sample("all_reduce_2.17.txt");
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string text = sound;
    for (unsigned k = 0; k <= random() % 8; ++k) text[random() % text.size()] = static_cast<char>(random() % 3 == 0 ? random() : "0123456789 \n#eN/A."[random() % 18]);
    const Result<ImportedMeasurements> found = import_nccl_tests(text.substr(0, random() % 4 == 0 ? random() % text.size() : text.size()));
    if (found) CHECK(validate(found.value().profile, "") == Errors{});
    else CHECK_FALSE(found.errors().empty());
  }
}
