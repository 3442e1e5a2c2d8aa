#include <catch2/catch_test_macros.hpp>
#include <string>
#include <string_view>

#include "core/text/collectives.hpp"
#include "core/text/plain_text.hpp"
#include "core/text/request.hpp"
#include "core/text/sheet.hpp"
#include "core/text/show_topology.hpp"
#include "core/text/topology_svg.hpp"

using namespace wireplan;

namespace {

const Presets presets;

TopologyAnswer asked(const Json& cluster, Json gpus = nullptr) {
  Json request{{"cluster", cluster}};
  if (!gpus.is_null()) request["gpus"] = gpus;
  Result<TopologyAnswer> answer = asked_topology(request, presets);
  REQUIRE(answer);
  return std::move(answer.value());
}

std::string refused(const Json& request, bool collectives = false) {
  Result<Json> document = answer(collectives ? "collectives" : "topology", request, presets);
  REQUIRE_FALSE(document);
  for (const Error& e : document.errors()) {
    CHECK_FALSE(e.text.empty());
    CHECK_FALSE(e.limit.empty());
    CHECK(e.value.size() <= 80);
  }
  return document.errors().front().path;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Every tag that is opened is closed, in order, and no bare ampersand or angle stands in it.
void check_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '&') {
      const std::string entity = svg.substr(at, svg.find(';', at) - at + 1);
      CHECK((entity == "&amp;" || entity == "&lt;" || entity == "&gt;" || entity == "&quot;" || entity == "&#39;"));
    }
    if (svg[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = svg.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag[0] == '/', tag.find_first_of(" /\n", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == tag.substr(1));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  CHECK(open.empty());
  CHECK_FALSE(contains(svg, "nan"));
  CHECK_FALSE(contains(svg, "inf"));
}

// A node whose user named everything with malice.
Json hostile() {
  return parse_json(R"({"node":{"name":"<img src=x onerror=alert(1)> `x` & \"y\"","gpu":"a100-80gb-pcie","gpus":2,"sockets":1,"numa_nodes":1,
    "wiring":{"kind":"graph","components":[{"id":"</text><script>alert(1)</script>","kind":"gpu","numa":0},{"id":"a&b'\"|*_","kind":"gpu","numa":0},
    {"id":"x\u202ey","kind":"cpu","numa":0},{"id":"]]><!--","kind":"pcie-switch","numa":0}],
    "links":[{"a":"</text><script>alert(1)</script>","b":"]]><!--","kind":"pcie","bytes_per_s":22e9},{"a":"a&b'\"|*_","b":"]]><!--","kind":"pcie","generation":4,"lanes":16},
    {"a":"]]><!--","b":"x\u202ey","kind":"pcie","generation":4,"lanes":16}]}}})").value();
}

}  // namespace

TEST_CASE("names fit to print", "[topology-text]") {
  CHECK(plain_text("gpu0", 24) == "gpu0");
  CHECK(plain_text("a\x1b[31mb\n\x7f", 24) == "a?[31mb??");
  CHECK(plain_text("x\u202Ey\u0085", 24) == "x?y?");
  CHECK(plain_text("\xff\xc3", 24) == "??");
  CHECK(plain_text("ABCDE", 4) == "ABC…");
  CHECK(plain_text("ABCD", 4) == "ABCD");
  CHECK(plain_text("ầầầầầ", 3) == "ầầ…");
  CHECK(plain_text("`", 3) == "'");
  CHECK(xml_text("<a b=\"c\">&'", 24) == "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
  CHECK(xml_text("&&&&", 3) == "&amp;&amp;…");  // cut before it is escaped
  CHECK(markdown_text("a<b>*c*", 24) == "a\\<b\\>\\*c\\*");
}

TEST_CASE("what a user named never becomes markup", "[topology-text]") {
  const TopologyAnswer a = asked(hostile());
  const std::string svg = topology_svg(a);
  check_well_formed(svg);
  CHECK_FALSE(contains(svg, "<script"));
  CHECK_FALSE(contains(svg, "<img"));
  CHECK_FALSE(contains(svg, "\u202E"));
  CHECK(contains(svg, "&lt;/text&gt;"));
  const std::string markdown = render_topology(a, RenderFormat::markdown);
  CHECK_FALSE(contains(markdown, "\u202E"));
  CHECK_FALSE(contains(markdown, "\n**<img"));
  CHECK(contains(markdown, "\\<img"));
  CHECK_FALSE(contains(render_topology(a, RenderFormat::text), "\u202E"));
  // The rate he stated is called his, the others NCCL's.
  CHECK(contains(render_topology(a, RenderFormat::text), "22.0 GB/s *"));
  CHECK(contains(render_topology(a, RenderFormat::text), "as you stated it"));
  CHECK(contains(svg, "stated 22.0 GB/s"));
}

TEST_CASE("every shipped node is shown in every form", "[topology-text]") {
  for (std::string_view id : presets.ids("nodes")) {
    INFO(id);
    const TopologyAnswer a = asked(Json(id));
    const std::string text = render_topology(a, RenderFormat::text);
    std::size_t widest = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      widest = std::max(widest, text_width(std::string_view(text).substr(at, end - at)));
      at = end + 1;
    }
    CHECK(widest <= 100);
    CHECK_FALSE(contains(text, "% busy"));
    check_well_formed(topology_svg(a));
    CHECK(contains(topology_svg(a), "prefers-color-scheme:dark"));
    CHECK(contains(render_topology(a, RenderFormat::markdown), "```text\n"));
    const Json j = write_topology(a);
    CHECK(j.at("schema") == "wireplan.topology/1");
    CHECK(j.at("links").size() == a.prepared.graph.links.size());
    const std::string csv = render_topology(a, RenderFormat::csv);
    CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == a.prepared.graph.links.size() + 1);
    for (const Json& load : j.at("ring").at("loads")) {
      CHECK(load.at("link").get<int>() < static_cast<int>(j.at("links").size()));
      CHECK(load.at("flows").get<double>() > 0);
    }
  }
}

TEST_CASE("exactly one bottleneck is violet", "[topology-text]") {
  auto hot = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = svg.find("class=\"hot\""); at != std::string::npos; at = svg.find("class=\"hot\"", at + 1)) ++count;
    return count;
  };
  CHECK(hot(topology_svg(asked("dgx-a100-80gb"))) == 2);               // the two lanes of one pipe
  CHECK(hot(topology_svg(asked("a100-80gb-pcie-4x-pairs"))) == 5);     // and the line to its callout, and those to the two DRAM boxes
  CHECK(contains(topology_svg(asked("a100-80gb-pcie-4x-pairs")), "xGMI cpu0–cpu1"));
  CHECK(hot(topology_svg(asked("dgx1-v100-16gb"))) == 0);              // all links of a GPU: its chip
  CHECK(contains(topology_svg(asked(parse_json(R"({"nodes":4,"node":"hgx-h100-80gb","network":"infiniband-8x400"})").value())), "to 3 more such nodes"));
}

TEST_CASE("a rack shows a tray and counts the others", "[topology-text]") {
  const TopologyAnswer rack = asked("gb200-nvl72");
  CHECK(contains(topology_svg(rack), "17 more trays like it, 4 GPUs each"));
  CHECK(contains(render_topology(rack, RenderFormat::text), "34 more sockets"));
  CHECK(contains(render_topology(rack, RenderFormat::text), "2,556"));
}

TEST_CASE("the ring of some GPUs", "[topology-text]") {
  const Json pair = write_topology(asked("a100-80gb-pcie-4x-pairs", Json::array({0, 1})));
  const Json across = write_topology(asked("a100-80gb-pcie-4x-pairs", Json::array({0, 2})));
  CHECK(pair.at("ring").at("bus_bandwidth_bytes_per_s") > across.at("ring").at("bus_bandwidth_bytes_per_s"));
  CHECK(across.at("ring").at("bottleneck").get<std::string>().find("cpu0–cpu1") != std::string::npos);
  CHECK(across.at("ring").at("order") == Json::array({0, 2}));
  CHECK(pair.at("paths").at("types")[0] == Json::array({"X", "NV12", "SYS", "SYS"}));
  CHECK(pair.at("cluster_ring").is_null());
}

TEST_CASE("clusters may be stated in many ways", "[topology-text]") {
  const Json plain = write_topology(asked("dgx-a100-80gb"));
  CHECK(write_topology(asked(parse_json(R"({"node":"dgx-a100-80gb"})").value())).at("links") == plain.at("links"));
  CHECK(write_topology(asked(plain.at("cluster"))) == plain);
  CHECK(write_topology(asked("story")).at("cluster").at("gpus_per_node") == 4);
  CHECK(write_topology(asked(parse_json(R"({"plan":"story","set":[["cluster.node","hgx-h100-80gb"]]})").value())).at("cluster").at("node") == "hgx-h100-80gb");
  // Of a plan document only the cluster is judged.
  CHECK(write_topology(asked(parse_json(R"({"model":"no such","cluster":{"node":"dgx-a100-80gb"}})").value())) == plain);
}

TEST_CASE("requests of topology and collectives that are refused", "[topology-text]") {
  CHECK(refused(parse_json(R"({})").value()) == "cluster");
  CHECK(refused(parse_json(R"({"cluster":"dgx"})").value()) == "cluster");
  CHECK(refused(parse_json(R"({"cluster":3})").value()) == "cluster");
  CHECK(refused(parse_json(R"({"cluster":"dgx-a100-80gb","gpus":[0,8]})").value()) == "gpus");
  CHECK(refused(parse_json(R"({"cluster":"dgx-a100-80gb","gpus":[]})").value()) == "gpus");
  CHECK(refused(parse_json(R"({"cluster":"dgx-a100-80gb","extra":1})").value()) == "extra");
  const auto curves = [](const char* text) { return refused(parse_json(text).value(), true); };
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","op":"allreduce"})") == "op");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","sizes":[]})") == "sizes");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","sizes":[0]})") == "sizes");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","sizes":{"begin":10,"end":5}})") == "sizes.end");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","sizes":{"factor":1}})") == "sizes.factor");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","sizes":{"factor":2,"step":5}})") == "sizes.step");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","per_node":9})") == "per_node");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","per_node":1})") == "nodes");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","gpus":[1,1]})") == "gpus");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","dtype":"float33"})") == "dtype");
  CHECK(curves(R"({"cluster":"dgx-a100-80gb","redop":"mean"})") == "redop");
  CHECK(curves(R"({"cluster":"rtx-3090-2x","nodes":2})") == "cluster.network");
}

TEST_CASE("collectives: nccl-tests' columns and the document", "[topology-text]") {
  Result<CollectivesAnswer> a =
      asked_collectives(parse_json(R"({"cluster":"dgx-a100-80gb","op":"all","sizes":{"begin":1048576,"end":4194304,"factor":4},"per_node":4})").value(), presets);
  REQUIRE(a);
  const Json j = write_collectives(a.value());
  CHECK(j.at("schema") == "wireplan.collectives/1");
  REQUIRE(j.at("curves").size() == 9);
  for (const Json& curve : j.at("curves")) {
    CHECK(curve.at("ranks") == 4);
    CHECK(curve.at("gpus") == Json::array({0, 1, 2, 3}));
    CHECK(curve.at("points").size() == 2);
  }
  const std::string text = render_collectives(a.value(), RenderFormat::text);
  CHECK(contains(text, "busbw GB/s"));
  CHECK(contains(text, "reduce_scatter among 4 ranks"));
  CHECK(contains(render_collectives(a.value(), RenderFormat::csv), "size [bytes],count,type,redop,root"));
  // More nodes than the document says take the network such nodes usually have, and it is said.
  Result<CollectivesAnswer> many = asked_collectives(parse_json(R"({"cluster":"hgx-h100-80gb","nodes":4,"sizes":[1073741824]})").value(), presets);
  REQUIRE(many);
  CHECK(many.value().curves[0].ranks == 32);
  CHECK(contains(render_collectives(many.value(), RenderFormat::text), "cluster.network"));
}
