// What NCCL builds, on the wiring: asked for once a cluster, drawn channel by channel.
#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "core/text/answer_json.hpp"
#include "core/text/nccl_request.hpp"
#include "core/text/render_nccl.hpp"
#include "tests/frame/page.hpp"
#include "web/nccl_words.hpp"

using namespace wireplan;
using namespace wireplan::test;

namespace {

std::string asked() { return parse_json(page_state()).value()["nccl"].get<std::string>(); }

// What the frame and the module do. False when nothing is asked.
bool answer_now() {
  const std::string request = asked();
  if (request.empty()) return false;
  Json j = Json::object();
  j["cluster"] = parse_json(request).value();
  const Result<NcclAnswer> answer = asked_nccl(j, app().state.presets);
  const Json said = answer ? write_nccl(answer.value()) : write_errors(answer.errors());
  REQUIRE(page_nccl(request.c_str(), dump_json_compact(said).c_str()) == 1);
  draw_until_still();
  return true;
}

// The page turned to NCCL on a cluster, answered.
App& page_on(const char* cluster, int width = 1440, int height = 2400) {
  App& page = page_at(width, height);
  page_view("wires", "nccl");
  page_view("nccl_graph", "ring");
  INFO(cluster);
  const std::string adopted = page_adopt("cluster", dump_json_compact(Json(cluster)).c_str());
  INFO(adopted);
  REQUIRE(page.state.errors.empty());
  draw_until_still();
  answer_now();
  return page;
}

void leave() { page_view("wires", "load"); }

}  // namespace

TEST_CASE("NCCL is asked about when the reader wants to know, once for a cluster") {
  App& page = page_at(1440, 3200);
  leave();
  CHECK(asked().empty());
  CHECK(row_text("nccl.problem").empty());
  REQUIRE(press_on("wiring.view.nccl"));
  CHECK(page.state.view.nccl);
  const std::string request = asked();
  REQUIRE(!request.empty());
  CHECK(!row_text("nccl.problem").empty());  // it is waited for
  REQUIRE(answer_now());
  CHECK(asked().empty());
  CHECK(page.state.nccl.request == request);
  CHECK(row_text("nccl.problem").empty());
  CHECK(row_text("nccl.channels.coll") == std::to_string(page.state.nccl.collective_channels));
  // What does not change the cluster asks nothing, what changes it does.
  page_edit("training.micro_batch_size", "2");
  CHECK(asked().empty());
  page_edit("cluster.gpus_per_node", "8");
  CHECK(!asked().empty());
  CHECK(page_nccl(request.c_str(), "{}") == 0);  // an answer that comes too late
  CHECK(page.state.known_nccl() == nullptr);
  REQUIRE(press_on("wiring.view.load"));
  CHECK(asked().empty());
  CHECK(row_text("nccl.channels.coll").empty());
}

TEST_CASE("the drawing says what the document says, and steps through its channels") {
  App& page = page_on("rtx-pro-6000-8x");
  const NcclView& nccl = page.state.nccl;
  REQUIRE(nccl.errors.empty());
  REQUIRE(page.state.known_nccl());
  for (const char* kind : {"ring", "tree"}) {
    INFO(kind);
    const NcclView::Graph* graph = nccl.graph(kind);
    REQUIRE(graph);
    CHECK(graph->all_channels == nccl.collective_channels);
    int channels = 0;
    for (const NcclView::Picture& p : graph->pictures) {
      channels += p.count;
      CHECK(p.hops.size() == (std::string_view(kind) == "ring" ? 8u : 7u));
      for (const NcclView::Hop& h : p.hops) CHECK((h.from >= 0 && h.to >= 0 && h.from < 8 && h.to < 8 && h.from != h.to));
    }
    CHECK(channels == nccl.collective_channels);
  }
  REQUIRE(press_on("nccl.graph.tree"));
  CHECK(page.state.view.nccl_graph == "tree");
  CHECK(is_drawn(page, "nccl.channels"));
  CHECK(!row_text("nccl.ring_limit").empty());
  leave();
}

TEST_CASE("channels that differ are stepped through, those alike are one picture") {
  App& page = page_on("dgx-a100-80gb");
  page_edit("cluster.nodes", "2");
  REQUIRE(page.state.errors.empty());
  draw_until_still();
  REQUIRE(answer_now());
  const NcclView::Graph* ring = page.state.nccl.graph("ring");
  REQUIRE(ring);
  REQUIRE(ring->pictures.size() > 1);
  for (const NcclView::Picture& p : ring->pictures) {
    CHECK((p.nic_in >= 0 && p.nic_out >= 0));
    const auto leaves = [&](bool out) { return std::count_if(p.hops.begin(), p.hops.end(), [&](const NcclView::Hop& h) { return (out ? h.to : h.from) == NcclView::kNetwork; }); };
    CHECK(leaves(true) == 1);
    CHECK(leaves(false) == 1);
  }
  REQUIRE(press_on("nccl.next"));
  CHECK(page.state.view.nccl_picture == 1);
  REQUIRE(press_on("nccl.previous"));
  CHECK(page.state.view.nccl_picture == 0);
  press_on("nccl.previous");  // there is none before the first
  CHECK(page.state.view.nccl_picture == 0);
  page_view("nccl_picture", "9999");
  page_wake(1);
  draw_until_still();
  CHECK(is_drawn(page, "nccl.channels"));
  // Another graph begins with its first picture.
  REQUIRE(press_on("nccl.graph.tree"));
  CHECK(page.state.view.nccl_picture == 0);
  leave();
}

TEST_CASE("NVLS shows its heads") {
  App& page = page_on("hgx-h100-80gb");
  const NcclView::Graph* nvls = page.state.nccl.graph("nvls");
  REQUIRE(nvls);
  REQUIRE(nvls->kind == "nvls");
  CHECK(static_cast<int>(nvls->pictures.size()) == nvls->channels);
  for (const NcclView::Picture& p : nvls->pictures) CHECK((p.head >= 0 && p.head < 8));
  REQUIRE(press_on("nccl.graph.nvls"));
  REQUIRE(press_on("nccl.next"));
  CHECK(is_drawn(page, "nccl.channels"));
  leave();
}

TEST_CASE("the limiting sentence is the program's") {
  for (const char* id : {"rtx-pro-6000-8x", "a100-80gb-pcie-4x-pairs", "hgx-h100-80gb"}) {
    INFO(id);
    App& page = page_on(id);
    Json j = Json::object();
    j["cluster"] = parse_json(page.state.nccl.request).value();
    const Result<NcclAnswer> answer = asked_nccl(j, page.state.presets);
    REQUIRE(answer);
    const std::string said = nccl_limit_text(answer.value().decision.nodes.front());
    CHECK(row_text("nccl.ring_limit") == (said.empty() ? std::string(page.state.words["nccl.no_limit"]) : said));
    leave();
  }
}

TEST_CASE("findings, or that there are none, are said in words") {
  App& page = page_on("hgx-h100-80gb");
  CHECK(row_text("nccl.findings") == page.state.words["nccl.no_findings"]);
  leave();
  page_on("rtx-pro-6000-8x");
  CHECK(row_text("nccl.findings").empty());
  CHECK(!row_text("nccl.findings.0").empty());
  leave();
}

TEST_CASE("the curve is marked where NCCL switches, for all GPUs of the cluster alone") {
  App& page = page_on("hgx-h100-80gb");
  page_edit("strategy", "ddp");
  draw_until_still();
  answer_now();
  REQUIRE(page.state.answer.chart.ranks == page.state.nccl.ranks);
  const std::vector<NcclView::Way>* ways = page.state.nccl.ways_of(name_of(page.state.answer.chart.collective));
  REQUIRE(ways);
  REQUIRE(ways->size() > 1);
  CHECK(is_drawn(page, "curve.switch.1"));
  CHECK(!row_text("nccl.switches.all_reduce").empty());
  page_edit("parallel.tensor", "2");
  draw_until_still();
  REQUIRE(page.state.errors.empty());
  CHECK(page.state.answer.chart.ranks < page.state.nccl.ranks);
  CHECK(!is_drawn(page, "curve.switch.1"));
  leave();
}

TEST_CASE("GPUs that NCCL does not run on, and one GPU alone, are a sentence") {
  App& page = page_on("mi300x-8x");
  CHECK(row_text("nccl.problem").find(page.state.answer.plan.cluster.node.gpu.name) != std::string::npos);
  CHECK(row_text("nccl.channels.coll").empty());
  page_edit("cluster", "hgx-h100-80gb");
  page_edit("cluster.gpus_per_node", "1");
  draw_until_still();
  CHECK(asked().empty());
  CHECK(row_text("nccl.problem") == page.state.words["wire.one_gpu"]);
  CHECK(!is_drawn(page, "wiring.view.load"));
  leave();
}

TEST_CASE("it is drawn at every width on every machine, within the page") {
  for (const char* id : {"hgx-h100-80gb", "rtx-pro-6000-8x", "rtx-4090-8x", "a100-80gb-pcie-4x-pairs", "dgx1-v100-16gb", "gb200-nvl72", "p40-8x", "dgx2-v100-32gb"})
    for (const int width : {1440, 1100, 800, 390})
      for (const char* language : {"en", "vi"}) {
        DYNAMIC_SECTION(id << ' ' << width << ' ' << language) {
          page_at(width, 3000);
          App& page = page_on(id, width, 3000);
          page_view("language", language);
          for (const char* kind : {"ring", "tree", "nvls"}) {
            page_view("nccl_graph", kind);
            draw_until_still();
            for (const KeyedRect& k : page.ui.keys) {
              INFO(k.key);
              REQUIRE((std::isfinite(k.rect.x) && std::isfinite(k.rect.y)));
              CHECK(k.rect.right() <= static_cast<float>(width) + 12);
            }
          }
          const std::string limit = row_text("nccl.ring_limit");
          CHECK(!limit.empty());
          CHECK(std::find(page.ui.cut.begin(), page.ui.cut.end(), page.state.words["wire.title"]) == page.ui.cut.end());
          leave();
        }
      }
}

TEST_CASE("findings stand below, each with its remedy") {
  App& page = page_on("rtx-pro-6000-8x");
  leave();
  page_view("wires", "nccl");
  page_edit("cluster.gpus_per_node", "4");
  draw_until_still();
  const std::string request = asked();
  REQUIRE(!request.empty());
  const char* answer = R"({"nccl":"2.28.9","ranks":4,"findings":[{"severity":"warning","text":"No graph was found.","remedy":"Set NCCL_MIN_NCHANNELS."},{"severity":"info","text":"So it is."}]})";
  REQUIRE(page_nccl(request.c_str(), answer) == 1);
  draw_until_still();
  CHECK(is_drawn(page, "nccl.findings.1"));
  CHECK(row_text("nccl.findings.0") == "No graph was found. Set NCCL_MIN_NCHANNELS.");
  CHECK(row_text("nccl.findings.1") == "So it is.");
  leave();
}

TEST_CASE("whatever an answer holds, the page goes on") {
  for (const char* answer : {"", "{", "[]", "null", R"({"errors":[{}]})", R"({"graphs":[{"kind":7,"channels":-5,"nets":[[1]]}],"rings":[{"channels":[-1,1e99],"order":[-3,99999,0,"x"]}],"nccl_nodes":1e12})",
                             R"({"graphs":[{"kind":"nvls","heads":[-9,4000]}],"ring_limit":{"from":"n","to":[],"bytes_per_s":1e300},"choices":[{"op":1,"switches":[[],[1,2,3],["a","b","c"]]}]})",
                             R"({"graphs":[{"kind":"tree","channels":1}],"trees":[{"channels":[0],"parent":[0,0,-1,7]}]})"}) {
    INFO(answer);
    page_at(1440, 3200);
    page_view("wires", "nccl");
    page_edit("cluster", "hgx-h100-80gb");
    page_edit("cluster", "rtx-pro-6000-8x");
    app().state.nccl = {};
    const std::string request = asked();
    REQUIRE(!request.empty());
    CHECK(page_nccl(request.c_str(), answer) == 1);
    draw_until_still();
    CHECK(asked().empty());
    CHECK(is_drawn(app(), "panel.wiring"));
    leave();
  }
}
