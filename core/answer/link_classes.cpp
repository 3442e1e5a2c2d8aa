#include "core/answer/link_classes.hpp"

#include <cmath>

#include "core/base/format.hpp"

namespace wireplan {
namespace {

constexpr double kReached = 0.99;  // a rate is found to 1 %

struct Class { const char* name; int generation, links; };
// 0 links: PCIe ×16. Generation 0 of NVLink: the slower links of GA102 cards.
constexpr Class kClasses[] = {{"PCIe 3 ×16", 3, 0},  {"PCIe 4 ×16", 4, 0},          {"PCIe 5 ×16", 5, 0},          {"PCIe 6 ×16", 6, 0},         {"an NVLink bridge of 4 links", 0, 4},
                              {"NVLink 2, 6 links", 2, 6}, {"NVLink 3, 12 links", 3, 12}, {"NVLink 4, 18 links", 4, 18}, {"NVLink 5, 18 links", 5, 18}};

BytesPerSecond rate_of(const Class& c, const LinkConstants& k) {
  if (c.generation == 0) return k.nvlink_ga10x_per_link * c.links;
  const std::vector<BytesPerSecond>& rates = c.links > 0 ? k.nvlink_per_link : k.pcie_x16;
  const std::size_t at = static_cast<std::size_t>(c.generation);
  return at < rates.size() ? rates[at] * std::max(1, c.links) : BytesPerSecond{};
}

}  // namespace

std::string link_class_name(const AskedLink& link, BytesPerSecond rate, const LinkConstants& constants) {
  if (!link.has_classes) return "";
  if (link.place == LinkPlace::network) {
    for (const double gbit : {10, 25, 40, 50, 100, 200, 400, 800})
      if (gbit * 1e9 / 8 >= rate.value * kReached) return format_exact(gbit) + " Gbit/s per NIC";
    return "";
  }
  const Class* best = nullptr;
  for (const Class& c : kClasses)
    if (rate_of(c, constants) >= rate * kReached && (!best || rate_of(c, constants) < rate_of(*best, constants))) best = &c;
  return best ? best->name : "";
}

}  // namespace wireplan
