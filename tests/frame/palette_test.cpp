// Contrast after WCAG 2.2, 1.4.3 and 1.4.11; colour vision after Machado, Oliveira, Fernandes 2009, severity 1; differences as
// CIE 1976 ΔE.
#include <array>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "web/palette.hpp"

using namespace wireplan;

namespace {

using Triple = std::array<double, 3>;

Triple linear(ImU32 color) {
  Triple c{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double v = static_cast<double>(color >> (8 * i) & 0xFF) / 255;
    c[i] = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  }
  return c;
}

double luminance(ImU32 color) {
  const Triple c = linear(color);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}

double contrast(ImU32 a, ImU32 b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

constexpr std::array<std::array<Triple, 3>, 3> kVision = {{
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

Triple times(const std::array<Triple, 3>& m, const Triple& v) {
  Triple r{};
  for (std::size_t i = 0; i < 3; ++i) r[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return r;
}

Triple lab(const Triple& rgb) {
  static constexpr std::array<Triple, 3> kToXyz = {
      {{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}};
  const Triple xyz = times(kToXyz, rgb), white{0.95047, 1, 1.08883};
  Triple f{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = std::max(xyz[i], 0.0) / white[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

// The smallest difference that a person with one of three kinds of colour vision sees.
double least_difference(ImU32 a, ImU32 b) {
  double least = 1e9;
  for (const auto& vision : kVision) {
    const Triple x = lab(times(vision, linear(a))), y = lab(times(vision, linear(b)));
    least = std::min(least, std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]));
  }
  return least;
}

}  // namespace

TEST_CASE("texts can be read on every ground, outlines be seen") {
  for (const bool dark : {false, true})
    for (const bool more : {false, true}) {
      const Palette p = palette_for(dark, more);
      INFO((dark ? "dark" : "light") << (more ? ", more contrast" : ""));
      for (const ImU32 ground : {p.bg0, p.bg1, p.bg2}) {
        for (const ImU32 text : {p.ink, p.ink2, p.ink3, p.fit, p.no, p.exp, p.warn, p.focus})
          CHECK(contrast(text, ground) >= 4.5);
        CHECK(contrast(p.line2, ground) >= 2.99);
      }
      CHECK(contrast(p.no, p.no_bg) >= 4.5);
      CHECK(contrast(p.exp, p.exp_bg) >= 4.5);
      CHECK(contrast(p.fit, p.fit_bg) >= 4.5);
      CHECK(contrast(p.on_sel, p.sel) >= 4.5);
      for (const ImU32 fill : {p.params, p.grads, p.optim, p.acts, p.logits, p.gath, p.bufs, p.slack, p.forward,
                               p.backward, p.optimizer, p.gather, p.scatter, p.exposed, p.load})
        CHECK(contrast(label_on(fill), fill) >= 4.5);
    }
}

TEST_CASE("what stands side by side differs for every kind of colour vision") {
  for (const bool dark : {false, true}) {
    const Palette p = palette_for(dark, false);
    INFO((dark ? "dark" : "light"));
    for (const auto& [a, b] : {std::pair{p.fit, p.no},
                               {p.fit, p.exp},
                               {p.no, p.exp},
                               {p.backward, p.exposed},
                               {p.params, p.grads},
                               {p.grads, p.optim},
                               {p.optim, p.acts},
                               {p.acts, p.logits},
                               {p.gath, p.bufs},
                               {p.bufs, p.slack},
                               {p.gather, p.scatter},
                               {p.forward, p.backward}})
      CHECK(least_difference(a, b) >= 10);
  }
}
