// What holds of NCCL's decisions whatever the machine.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/nccl/connect.hpp"
#include "core/cost/nccl/search.hpp"
#include "core/cost/nccl/system.hpp"
#include "core/text/nccl_request.hpp"
#include "tests/support/nccl.hpp"
#include "tests/support/nccl_fault.hpp"

using namespace wireplan;
using namespace wireplan::testing;

namespace {

// xorshift: the same numbers everywhere.
struct Random {
  std::uint64_t state;
  int below(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<int>(state % static_cast<std::uint64_t>(n));
  }
};

// Sockets, switches below them, GPUs and NICs on either, NVLinks between some pairs or through a switch.
nccl::Machine random_machine(Random& random) {
  nccl::Machine m;
  const int cpus = 1 + random.below(2);
  const auto type = static_cast<nccl::CpuClass>(1 + random.below(7));
  for (int c = 0; c < cpus; ++c) m.cpus.push_back({c, type});
  constexpr float kRates[] = {3, 6, 12, 24, 48};
  std::vector<int> places;  // parts things hang on; -1 - cpu: the CPU itself
  for (int c = 0; c < cpus; ++c) places.push_back(-1 - c);
  const auto add = [&](nccl::PartKind kind, int place) {
    nccl::Machine::Part part;
    part.kind = kind;
    part.cpu = place < 0 ? -1 - place : m.parts[static_cast<std::size_t>(place)].cpu;
    part.above = place < 0 ? -1 : place;
    part.rate = kRates[random.below(5)];
    m.parts.push_back(part);
    return static_cast<int>(m.parts.size()) - 1;
  };
  for (int s = random.below(4); s > 0; --s) places.push_back(add(nccl::PartKind::pcie_switch, places[static_cast<std::size_t>(random.below(static_cast<int>(places.size())))]));
  const int gpus = 2 + random.below(7);
  constexpr int kCapabilities[] = {70, 80, 86, 90, 100};
  const int capability = kCapabilities[random.below(5)];
  for (int g = 0; g < gpus; ++g) {
    const int part = add(nccl::PartKind::gpu, places[static_cast<std::size_t>(random.below(static_cast<int>(places.size())))]);
    m.parts[static_cast<std::size_t>(part)].dev = g;
    m.parts[static_cast<std::size_t>(part)].compute_capability = capability;
    m.gpus.push_back(part);
  }
  const int links = random.below(3);  // none, some pairs, a switch
  for (const int a : m.gpus) {
    if (links == 2) m.parts[static_cast<std::size_t>(a)].nvlinks.push_back({nccl::Machine::NvLink::To::nvswitch, -1, 12});
    for (const int b : m.gpus)
      if (links == 1 && a < b && random.below(3) == 0) {
        const int count = 1 + random.below(4);
        m.parts[static_cast<std::size_t>(a)].nvlinks.push_back({nccl::Machine::NvLink::To::gpu, b, count});
        m.parts[static_cast<std::size_t>(b)].nvlinks.push_back({nccl::Machine::NvLink::To::gpu, a, count});
      }
  }
  const int nics = 1 + random.below(4);
  for (int n = 0; n < nics; ++n) {
    const int part = add(nccl::PartKind::nic, places[static_cast<std::size_t>(random.below(static_cast<int>(places.size())))]);
    constexpr float kNicRates[] = {1.25F, 12.5F, 25, 50};
    m.nets.push_back({part, n, static_cast<std::uint64_t>(100 + n), 1, kNicRates[random.below(4)], 0, random.below(2) == 0});
  }
  return m;
}

nccl::Request random_request(Random& random, const nccl::Machine& machine) {
  nccl::Request request;
  for (std::size_t g = 0; g < machine.gpus.size(); ++g) request.gpus.push_back(static_cast<int>(g));
  for (std::size_t g = request.gpus.size() - 1; g > 0; --g) std::swap(request.gpus[g], request.gpus[static_cast<std::size_t>(random.below(static_cast<int>(g) + 1))]);
  request.gpus.resize(static_cast<std::size_t>(1 + random.below(static_cast<int>(request.gpus.size()))));
  request.hosts = 1 + random.below(4);
  if (request.hosts == 1 && request.gpus.size() == 1) request.hosts = 2;
  request.gpudirect = random.below(3) != 0;
  if (random.below(3) == 0) request.p2p.assign(machine.gpus.size(), std::vector<bool>(machine.gpus.size(), false));
  request.environment.cross_nic = random.below(3);
  request.environment.pxn_disable = random.below(4) == 0;
  return request;
}

}  // namespace

TEST_CASE("NCCL's decisions: rings visit every rank once on any machine, the same each time", "[nccl]") {
  const nccl::Release of = release();
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Random random{seed * 0x9e3779b97f4a7c15ULL};
    NcclAnswer answer, again;
    answer.machine = random_machine(random);
    answer.request = random_request(random, answer.machine);
    answer.release = of;
    again = answer;
    answer.decision = nccl::decide(answer.machine, answer.request, of);
    CHECK(decision_fault(answer.decision, of) == "");
    again.decision = nccl::decide(again.machine, again.request, of);
    CHECK(write_nccl(answer) == write_nccl(again));
  }
}

TEST_CASE("NCCL's search gives back all it took", "[nccl]") {
  const nccl::Release of = release();
  int crossing = 0;
  for (const char* file : {"hgx-h100.xml", "dgx1-v100.xml", "rtxpro6000-cascade.xml", "l40s-8x-spr-sw2-nic.xml"}) {
    INFO(file);
    const nccl::Machine machine = machine_of(file);
    nccl::Request request;
    for (std::size_t g = 0; g < machine.gpus.size(); ++g) request.gpus.push_back(static_cast<int>(g));
    request.hosts = 2;
    nccl::System system = nccl::system_of(machine, request, of, 0, 1);
    nccl::find_paths(system, request);
    nccl::keep_reachable(system, 0);
    nccl::find_paths(system, request);
    system.crosses = !system.nets.empty();
    crossing += system.crosses ? 1 : 0;
    nccl::set_bounds(system);
    const std::vector<nccl::Edge> before = system.edges;
    for (const nccl::Pattern pattern : {nccl::Pattern::ring, nccl::Pattern::balanced_tree, nccl::Pattern::nvls}) {
      const nccl::Graph first = nccl::search(system, of, {}, pattern, 1, 32);
      float most = 0;  // floats taken away and added again round, as in NCCL
      for (std::size_t e = 0; e < before.size(); ++e) most = std::max(most, std::fabs(system.edges[e].rate - before[e].rate));
      CHECK(most < 1e-3F);
      const nccl::Graph second = nccl::search(system, of, {}, pattern, 1, 32);
      CHECK(first.channels == second.channels);
      CHECK(first.order == second.order);
      CHECK(first.nets == second.nets);
      CHECK(first.intra == second.intra);
      CHECK(first.nets.empty() == (!system.crosses || first.channels == 0));
    }
  }
  CHECK(crossing >= 2);
}

TEST_CASE("NCCL's double binary tree: every node inside one tree, a leaf of the other", "[nccl]") {
  for (int nodes = 1; nodes <= 130; ++nodes) {
    INFO(nodes << " nodes");
    std::vector<std::array<nccl::TreePlace, 2>> places;
    for (int n = 0; n < nodes; ++n) places.push_back(nccl::double_tree(nodes, n));
    int bits = 0;
    while ((1 << bits) < nodes) ++bits;
    int inside_both = 0;
    for (std::size_t which = 0; which < 2; ++which) {
      int roots = 0, links = 0;
      bool ends_agree = true, is_shallow = true;
      for (int n = 0; n < nodes; ++n) {
        const nccl::TreePlace& place = places[static_cast<std::size_t>(n)][which];
        roots += place.up < 0 ? 1 : 0;
        for (const int down : {place.down0, place.down1})
          if (down >= 0) {
            ++links;
            ends_agree = ends_agree && down < nodes && places[static_cast<std::size_t>(down)][which].up == n;
          }
        int depth = 0;
        for (int at = n; at >= 0 && depth <= nodes; at = places[static_cast<std::size_t>(at)][which].up) ++depth;
        is_shallow = is_shallow && depth <= bits + 1;
      }
      CHECK(roots == 1);
      CHECK(links == nodes - 1);
      CHECK(ends_agree);
      CHECK(is_shallow);
    }
    for (const auto& place : places) inside_both += (place[0].down0 >= 0 || place[0].down1 >= 0) && (place[1].down0 >= 0 || place[1].down1 >= 0) ? 1 : 0;
    // Even: every inner node of one tree is a leaf of the other. Odd: shifted by one instead of mirrored, one may be inside both.
    CHECK(inside_both <= (nodes % 2 == 0 ? 0 : 1));
  }
}
