#include "core/text/read_gpu.hpp"

namespace wireplan {
namespace {

// Rates that a preset states and nothing is calculated with yet.
void read_unused(Reader& r) {
  for (const std::string_view key : {"fp16_with_fp16_accumulate_flops_per_s", "fp8_with_fp16_accumulate_flops_per_s",
                                     "fp6_flops_per_s", "l2_bytes"}) {
    double value = 0;
    if (r.read(key, value) && !(value >= 0 && value <= 1e18))
      r.fail(key, *r.find(key), "0 to 1e18", r.path(key) + " is out of range. Nearest: leave it out");
  }
  Count year = 2020;
  if (r.read("launch_year", year) && (year < 2000 || year > 2100))
    r.fail("launch_year", *r.find("launch_year"), "2000 to 2100",
           r.path("launch_year") + " is out of range. Nearest: leave it out");
}

void read_texts(Reader& r, Gpu& g, bool is_preset) {
  r.read("name", g.name);
  r.read("architecture", g.architecture);
  r.read("form", g.form);
  r.read("source", g.source);
  r.read("verified", g.verified);
  r.read("note", g.note);
  std::string text;
  for (const std::string_view key : {"memory_type", "peak_basis", "published_vs_arithmetic", "conflicts"})
    r.read(key, text);
  if (!is_preset) return;
  r.require("name", "the GPU's name");
  r.require("source", "where the figures were read");
}

void read_links(Reader& r, Gpu& g) {
  if (const Json* json = r.stated("nvlink")) {
    Reader link(r.log(), *json, r.path("nvlink"));
    std::string kind = "nvlink";
    link.read_stated("generation", g.nvlink_generation);
    link.read("links", g.nvlink_links);
    link.require("bytes_per_s_per_direction", "a number");
    link.read("bytes_per_s_per_direction", g.nvlink);
    if (link.read("kind", kind) && kind != "nvlink" && kind != "xgmi")
      link.fail("kind", *link.find("kind"), "nvlink | xgmi",
                link.path("kind") + " cannot be \"" + kind + "\". Nearest: nvlink | xgmi");
    g.is_xgmi = kind == "xgmi";
    link.finish();
  }
  if (const Json* json = r.stated("pcie")) {
    Reader pcie(r.log(), *json, r.path("pcie"));
    pcie.read("generation", g.pcie_generation);
    pcie.read("lanes", g.pcie_lanes);
    pcie.finish();
  }
  bool p2p = false;
  if (r.read_stated("p2p_pcie", p2p)) g.p2p_pcie = p2p ? 1 : 0;
}

}  // namespace

Gpu read_gpu(Reader& r, bool is_preset) {
  Gpu g;
  read_texts(r, g, is_preset);
  r.require("memory_bytes", "a number");
  r.read("memory_bytes", g.memory);
  r.read_stated("reported_bytes", g.reported);
  r.require("hbm_bytes_per_s", "a number");
  r.read("hbm_bytes_per_s", g.hbm);
  r.read_stated("fp32_flops_per_s", g.fp32);
  r.read_stated("tf32_flops_per_s", g.tf32);
  r.read_stated("bf16_flops_per_s", g.bf16);
  r.read_stated("fp16_flops_per_s", g.fp16);
  r.read_stated("fp8_flops_per_s", g.fp8);
  r.read_stated("fp4_flops_per_s", g.fp4);
  r.read_stated("int8_ops_per_s", g.int8);
  r.read_stated("sm_count", g.sm_count);
  r.read_stated("boost_clock_hz", g.boost_clock_hz);
  r.read_stated("tdp_w", g.tdp_w);
  read_unused(r);
  read_links(r, g);
  return g;
}

Json write_gpu(const Gpu& g) {
  Json j = Json::object();
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) put(j, key, value);
  };
  const auto positive = [&](const char* key, double value) {
    if (value > 0) put(j, key, value);
  };
  text("name", g.name);
  text("architecture", g.architecture);
  text("form", g.form);
  put(j, "memory_bytes", g.memory.value);
  positive("reported_bytes", g.reported.value);
  put(j, "hbm_bytes_per_s", g.hbm.value);
  positive("fp32_flops_per_s", g.fp32.value);
  positive("tf32_flops_per_s", g.tf32.value);
  positive("bf16_flops_per_s", g.bf16.value);
  positive("fp16_flops_per_s", g.fp16.value);
  positive("fp8_flops_per_s", g.fp8.value);
  positive("fp4_flops_per_s", g.fp4.value);
  positive("int8_ops_per_s", g.int8.value);
  positive("sm_count", g.sm_count);
  positive("boost_clock_hz", g.boost_clock_hz);
  positive("tdp_w", g.tdp_w);
  if (g.nvlink.value > 0) {
    Json link = Json::object();
    if (g.nvlink_generation > 0) put(link, "generation", g.nvlink_generation);
    if (g.nvlink_links > 0) put(link, "links", g.nvlink_links);
    put(link, "bytes_per_s_per_direction", g.nvlink.value);
    if (g.is_xgmi) put(link, "kind", "xgmi");
    put(j, "nvlink", std::move(link));
  }
  Json pcie = Json::object();
  put(pcie, "generation", g.pcie_generation);
  put(pcie, "lanes", g.pcie_lanes);
  put(j, "pcie", std::move(pcie));
  if (g.p2p_pcie >= 0) put(j, "p2p_pcie", g.p2p_pcie == 1);
  text("source", g.source);
  text("verified", g.verified);
  text("note", g.note);
  return j;
}

}  // namespace wireplan
