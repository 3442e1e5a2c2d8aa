// NCCL 2.27.3 and 2.29.2 against 2.28.9. A line of tests/data/nccl_versions.jsonl holds what NCCL's own code of that release, run on
// the topology, decides differently than that of 2.28.9; what a line leaves out is the same in both.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <sstream>

#include "core/cost/nccl/decision.hpp"
#include "tests/support/files.hpp"
#include "tests/support/nccl.hpp"

using namespace wireplan;
using namespace wireplan::testing;
using Catch::Matchers::WithinRel;

namespace {

nccl::Request request_of(const Json& line, std::size_t gpus) {
  nccl::Request request;
  request.gpus = line["gpus"].get<std::vector<int>>();
  request.hosts = line["nodes"].get<int>();
  if (line["p2p"] == "none") request.p2p.assign(gpus, std::vector<bool>(gpus, false));
  request.environment.nvls_enable = !line["env"].contains("NCCL_NVLS_ENABLE");
  return request;
}

std::vector<Json> lines() {
  std::vector<Json> all;
  std::istringstream text(file_text("tests/data/nccl_versions.jsonl"));
  for (std::string line; std::getline(text, line);) all.push_back(Json::parse(line));
  return all;
}

// As NCCL prints them.
Json graph_of(const nccl::Graph& g) {
  const auto rate = [](nccl::GBps r) { return std::round(static_cast<double>(r) * 100) / 100; };
  return {{"pattern", name_of(g.pattern)}, {"channels", g.channels}, {"bwIntra", rate(g.intra)}, {"bwInter", rate(g.inter)},
          {"typeIntra", name_of(g.intra_type)}, {"typeInter", name_of(g.inter_type)}, {"crossNic", g.cross_nic}, {"sameChannels", g.same_channels ? 1 : 0}};
}

Json channels_of(const nccl::Decision& d) {
  return {{"coll", d.channels}, {"nvls", d.nvls_channels}, {"p2p", d.p2p_channels}, {"p2p_per_peer", d.p2p_channels_per_peer}};
}

// [first size of a choice, algorithm, protocol], powers of two from 512 bytes to 4 GiB.
Json switches_of(const nccl::Decision& d, const nccl::Release& of, nccl::Operation op) {
  Json all = Json::array();
  for (double size = 512; size <= 4294967296.0; size *= 2) {
    const nccl::Choice choice = nccl::choice_at(d, of, op, size);
    const Json next = {size, name_of(choice.algorithm), name_of(choice.protocol)};
    if (all.empty() || all.back()[1] != next[1] || all.back()[2] != next[2]) all.push_back(next);
  }
  return all;
}

// What a line says of an operation; null: nothing.
Json of_operation(const Json& line, const char* key, nccl::Operation op) {
  if (line.contains(key))
    for (const Json& one : line[key])
      if (one["op"] == name_of(op)) return one["points"];
  return nullptr;
}

bool is_tree(const Json& graph) { return graph["pattern"] == "tree" || graph["pattern"] == "balanced-tree"; }

}  // namespace

TEST_CASE("other releases of NCCL decide what their own code decides, and the rest as 2.28.9", "[nccl]") {
  const nccl::Release usual = release("2.28.9");
  std::size_t checked = 0;
  for (const Json& line : lines()) {
    INFO(line["id"] << " " << line["nccl"]);
    const nccl::Machine machine = machine_of(line["topology_xml"].get<std::string>());
    const nccl::Request request = request_of(line, machine.gpus.size());
    const nccl::Release of = release(line["nccl"].get<std::string>());
    const nccl::Decision d = nccl::decide(machine, request, of), usually = nccl::decide(machine, request, usual);
    CHECK(usually.fails.empty());
    CHECK(d.fails.empty() != line.contains("error"));
    ++checked;
    if (line.contains("error")) continue;

    for (const auto graph : {&nccl::Node::ring, &nccl::Node::tree, &nccl::Node::nvls}) {
      const Json found = graph_of(d.nodes[0].*graph);
      Json expected = graph_of(usually.nodes[0].*graph);
      if (line.contains("graphs"))
        for (const Json& g : line["graphs"])
          if (g["pattern"] == expected["pattern"] || (is_tree(g) && is_tree(expected))) expected = g;
      if (expected["channels"] == 0) CHECK(found["channels"] == 0);
      else CHECK(found == expected);
    }
    CHECK(channels_of(d) == (line.contains("channels") ? line["channels"] : channels_of(usually)));

    for (const auto op : {nccl::Operation::all_reduce, nccl::Operation::all_gather, nccl::Operation::reduce_scatter}) {
      const Json switches = of_operation(line, "switches", op), ratios = of_operation(line, "time_ratio", op);
      CHECK(switches_of(d, of, op) == (switches.is_null() ? switches_of(usually, usual, op) : switches));
      if (!ratios.is_null())
        for (const Json& point : ratios) {
          const double size = point[0].get<double>();
          CHECK_THAT(nccl::choice_at(d, of, op, size).time_us / nccl::choice_at(usually, usual, op, size).time_us, WithinRel(point[1].get<double>(), 0.005));
        }
    }
  }
  CHECK(checked == 32);
}

TEST_CASE("where NCCL 2.29.2 finds no graph and no NIC, the decision says why it does not initialise", "[nccl]") {
  const nccl::Machine machine = machine_of("mining-8x-x1.xml");
  nccl::Request request;
  for (int g = 0; g < 8; ++g) request.gpus.push_back(g);
  const nccl::Decision d = nccl::decide(machine, request, release("2.29.2"));
  CHECK(d.nodes[0].ring.is_plain_order);
  CHECK(d.fails.find("network device") != std::string::npos);
  // With a NIC there, any at all, it does.
  nccl::Machine with_nic = machine;
  nccl::Machine::Part nic;
  nic.kind = nccl::PartKind::nic;
  nic.rate = 1;
  with_nic.parts.push_back(nic);
  nccl::Machine::Net net;
  net.nic = static_cast<int>(with_nic.parts.size()) - 1;
  net.rate = 1;
  with_nic.nets.push_back(net);
  const nccl::Decision better = nccl::decide(with_nic, request, release("2.29.2"));
  CHECK(better.nodes[0].ring.is_plain_order);
  CHECK(better.fails.empty());
  CHECK(better.nccl_nodes() == 1);
}
