#include "core/answer/nccl_links.hpp"

#include <algorithm>
#include <utility>

namespace wireplan {
namespace {

using namespace nccl;

const Machine::Part& part_at(const Machine& machine, int p) { return machine.parts[static_cast<std::size_t>(p)]; }
const Machine::Part& gpu_at(const Machine& machine, int gpu) { return part_at(machine, machine.gpus[static_cast<std::size_t>(gpu)]); }

// Whether its way to the CPU is another than PCIe.
bool has_own_way_to_cpu(const Machine::Part& gpu) {
  return gpu.c2c > 0 || std::any_of(gpu.nvlinks.begin(), gpu.nvlinks.end(), [](const Machine::NvLink& l) { return l.to == Machine::NvLink::To::cpu; });
}

bool is_below(const Machine& machine, int part, int pcie_switch) {
  for (; part >= 0; part = part_at(machine, part).above)
    if (part == pcie_switch) return true;
  return false;
}

}  // namespace

std::string numbers_text(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.empty()) return "";
  const int first = numbers.front(), last = numbers.back();
  if (numbers.size() > 2 && last - first + 1 == static_cast<int>(numbers.size())) return std::to_string(first) + " to " + std::to_string(last);
  constexpr std::size_t kMost = 8;
  std::string text = std::to_string(first);
  for (std::size_t i = 1; i < numbers.size() && i < kMost; ++i) text += (i + 1 == numbers.size() ? " and " : ", ") + std::to_string(numbers[i]);
  return numbers.size() > kMost ? text + " and " + std::to_string(numbers.size() - kMost) + " more" : text;
}

std::string gpus_text(std::vector<int> gpus) {
  const bool is_one = std::all_of(gpus.begin(), gpus.end(), [&](int g) { return g == gpus.front(); });
  return (is_one ? "GPU " : "GPUs ") + numbers_text(std::move(gpus));
}

std::string nics_text(std::vector<int> nics) {
  const bool is_one = std::all_of(nics.begin(), nics.end(), [&](int n) { return n == nics.front(); });
  return (is_one ? "NIC " : "NICs ") + numbers_text(std::move(nics));
}

int common_switch(const Machine& machine, int a, int b) {
  const int other = machine.gpus[static_cast<std::size_t>(b)];
  for (int s = gpu_at(machine, a).above; s >= 0; s = part_at(machine, s).above)
    if (is_below(machine, other, s)) return s;
  return -1;
}

NcclLink link_above(const Machine& machine, const std::vector<int>& among, int part) {
  const Machine::Part& lower = part_at(machine, part);
  std::vector<int> below;
  for (std::size_t g = 0; g < machine.gpus.size(); ++g)
    if (is_below(machine, machine.gpus[g], part) && (lower.kind == PartKind::gpu || std::find(among.begin(), among.end(), static_cast<int>(g)) != among.end())) below.push_back(static_cast<int>(g));
  if (lower.kind == PartKind::gpu) return {NcclLink::Kind::slot, lower.rate, "the PCIe link of " + gpus_text(std::move(below))};
  return {NcclLink::Kind::uplink, lower.rate, "the link upwards from the PCIe switch above " + gpus_text(std::move(below))};
}

NcclLink link_between_cpus(const Machine& machine, const Release& release, int a, int b) {
  const auto cpu = [&](int gpu) -> const Machine::Cpu& { return machine.cpus[static_cast<std::size_t>(gpu_at(machine, gpu).cpu)]; };
  const Machine::Cpu &from = cpu(a), &to = cpu(b);
  return {NcclLink::Kind::cpus, release.between_cpus[static_cast<std::size_t>(from.type)], "the link between NUMA nodes " + std::to_string(std::min(from.numa, to.numa)) + " and " + std::to_string(std::max(from.numa, to.numa))};
}

NcclLink slowest_link(const Machine& machine, const Release& release, const std::vector<int>& among, int a, int b, bool by_cpu) {
  NcclLink slowest;
  const auto offer = [&](NcclLink link) {
    if (slowest.rate == 0 || link.rate < slowest.rate) slowest = std::move(link);
  };
  const int common = by_cpu ? -1 : common_switch(machine, a, b);
  for (const int gpu : {a, b}) {
    if (has_own_way_to_cpu(gpu_at(machine, gpu))) continue;
    for (int p = machine.gpus[static_cast<std::size_t>(gpu)]; p >= 0 && p != common; p = part_at(machine, p).above) offer(link_above(machine, among, p));
  }
  if (gpu_at(machine, a).cpu != gpu_at(machine, b).cpu) offer(link_between_cpus(machine, release, a, b));
  return slowest;
}

std::vector<int> largest_on_one_cpu(const Machine& machine, const std::vector<int>& among) {
  std::vector<int> largest;
  for (const int first : among) {
    std::vector<int> group;
    for (const int g : among)
      if (gpu_at(machine, g).cpu == gpu_at(machine, first).cpu) group.push_back(g);
    if (group.size() > largest.size()) largest = std::move(group);
  }
  return largest;
}

}  // namespace wireplan
