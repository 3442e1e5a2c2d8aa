#include "core/text/smi_tree.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/text/capture.hpp"
#include "core/text/json.hpp"

namespace wireplan {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
bool is_near(Relation r) { return r >= Relation::pix && r <= Relation::node; }

// Sets of devices that grow together.
class Sets {
 public:
  explicit Sets(int n) : of_(at(n)) {
    for (int i = 0; i < n; ++i) of_[at(i)] = i;
  }
  int of(int i) {
    while (of_[at(i)] != i) i = of_[at(i)] = of_[at(of_[at(i)])];
    return i;
  }
  void join(int a, int b) {
    a = of(a);
    b = of(b);
    of_[at(std::max(a, b))] = std::min(a, b);  // the first device stands for the set
  }

 private:
  std::vector<int> of_;
};

// Cores in a list of CPUs such as "0-31,64-95": half of them, since hyperthreads are on as a rule.
int cores_in(std::string_view list) {
  int cpus = 0, ranges = 0;
  while (!list.empty() && ranges < 1000) {
    const std::size_t end = list.find(',');
    const std::string_view part = list.substr(0, end);
    const std::size_t dash = part.find('-');
    const auto first = small_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : small_number(part.substr(dash + 1));
    if (first && last && *last >= *first && *last < 100'000) cpus += *last - *first + 1;
    ++ranges;
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return cpus / 2;
}

class SmiTree {
 public:
  SmiTree(const std::vector<SmiMatrix>& matrices, const std::map<int, SmiGpu>& gpus) : matrices_(matrices), known_(gpus) {}

  Result<TopologyDraft> draft() {
    if (!find_devices() || !find_relations()) return errors_;
    find_domains();
    find_switches();
    find_nvlinks();
    draft_.p2p_matrix = peer_matrix(matrices_, gpus_);
    add_known(known_, draft_);
    draft_.is_matrix = true;
    draft_.says_nvlink = true;
    if (!errors_.empty()) return errors_;
    return std::move(draft_);
  }

 private:
  // --- which devices there are ------------------------------------------------------------------------------------------------

  bool find_devices() {
    bool any_topology = false, any_p2p = false;
    std::vector<std::string> nic_names;
    std::map<int, bool> gpu_found;
    for (const SmiMatrix& m : matrices_) {
      (m.is_p2p ? any_p2p : any_topology) = true;
      if (m.is_p2p) continue;
      for (const SmiDevice& d : m.devices) {
        if (d.gpu >= 0) gpu_found[d.gpu] = true;
        else if (d.name.substr(0, 6) != "column" && std::find(nic_names.begin(), nic_names.end(), d.name) == nic_names.end()) nic_names.push_back(d.name);
      }
    }
    if (!any_topology && any_p2p)
      return fail("", "`nvidia-smi topo -m`", "this is `nvidia-smi topo -p2p`: it says which GPUs may reach each other's memory, not how they are wired. Paste `nvidia-smi topo -m` with it");
    if (gpu_found.empty()) return fail("", "`nvidia-smi topo -m`", "the matrix has no GPU");
    gpus_ = static_cast<int>(gpu_found.size());
    for (const auto& [index, found] : gpu_found)
      if (index >= gpus_) {
        int missing = 0;
        while (gpu_found.count(missing)) ++missing;
        return fail("GPU" + std::to_string(index), "GPU0 to GPU" + std::to_string(gpus_ - 1),
                    "the matrix has " + std::to_string(gpus_) + " GPUs, GPU" + std::to_string(index) + " among them, but no GPU" + std::to_string(missing) + ": a row and a column are missing");
      }
    if (gpus_ > kMostCapturedGpus || nic_names.size() > static_cast<std::size_t>(kMostCapturedNics))
      return fail("", "at most " + std::to_string(kMostCapturedGpus) + " GPUs", "the text has more GPUs or NICs than one machine has");
    nics_ = static_cast<int>(nic_names.size());
    names_.resize(at(gpus_));
    for (int i = 0; i < gpus_; ++i) names_[at(i)] = "GPU" + std::to_string(i);
    names_.insert(names_.end(), nic_names.begin(), nic_names.end());
    cpus_.resize(at(gpus_));
    numa_.assign(at(gpus_), -1);
    return true;
  }

  int device_of(const SmiDevice& d) const {
    if (d.gpu >= 0) return d.gpu < gpus_ ? d.gpu : -1;
    const auto found = std::find(names_.begin() + gpus_, names_.end(), d.name);
    return found == names_.end() ? -1 : static_cast<int>(found - names_.begin());
  }

  // --- how they meet -----------------------------------------------------------------------------------------------------------

  SmiCell& relation(int a, int b) { return relations_[at(a) * at(gpus_ + nics_) + at(b)]; }

  bool find_relations() {
    relations_.assign(at(gpus_ + nics_) * at(gpus_ + nics_), {});
    std::vector<bool> has_row(at(gpus_), false);
    for (const SmiMatrix& m : matrices_) {
      if (m.is_p2p) continue;
      std::vector<int> device;
      for (const SmiDevice& d : m.devices) device.push_back(device_of(d));
      for (std::size_t i = 0; i < device.size(); ++i) {
        const SmiDevice& d = m.devices[i];
        if (device[i] < 0) continue;
        if (device[i] < gpus_) {
          has_row[at(device[i])] = has_row[at(device[i])] || d.has_row;
          if (!d.cpus.empty()) cpus_[at(device[i])] = d.cpus;
          if (d.numa >= 0) numa_[at(device[i])] = d.numa;
        }
        for (std::size_t j = 0; j < device.size(); ++j) {
          const SmiCell& given = m.cell(static_cast<int>(i), static_cast<int>(j));
          if (device[j] < 0 || given.relation == Relation::unknown) continue;
          SmiCell& kept = relation(device[i], device[j]);
          if (kept.relation != Relation::unknown && (kept.relation != given.relation || kept.links != given.links) && !given.is_cut && !kept.is_cut)
            return fail_pair(device[i], device[j], kept, given);
          if (kept.relation == Relation::unknown || kept.is_cut) kept = given;
        }
      }
    }
    return fill_halves(has_row);
  }

  bool fill_halves(const std::vector<bool>& has_row) {
    std::vector<std::string> completed;
    for (int a = 0; a < gpus_ + nics_; ++a)
      for (int b = a + 1; b < gpus_ + nics_; ++b) {
        SmiCell &there = relation(a, b), &back = relation(b, a);
        if ((there.relation == Relation::self) || (back.relation == Relation::self))
          return fail(names_[at(a)], "X only in a device's own column", "the matrix says that " + shown_name(names_[at(a)]) + " and " + shown_name(names_[at(b)]) + " are the same device");
        const bool differ = there.relation != back.relation || there.links != back.links;
        if (differ && there.relation != Relation::unknown && back.relation != Relation::unknown) {
          // Where a row ends too early its last word may be the beginning of what the other half says.
          if (there.is_cut && is_beginning_of(there, back)) there = back;
          else if (back.is_cut && is_beginning_of(back, there)) back = there;
          else return fail_pair(a, b, there, back);
        }
        if (there.relation == Relation::unknown) there = back;
        if (back.relation == Relation::unknown) back = there;
        if (there.relation == Relation::unknown && b < gpus_)
          return fail(names_[at(a)] + " and " + names_[at(b)], "a row or a column for each pair of GPUs",
                      "the capture does not say how " + names_[at(a)] + " and " + names_[at(b)] + " meet: neither has a row that reaches the other. It seems cut off; paste all of it");
      }
    for (int a = 0; a < gpus_; ++a)
      if (!has_row[at(a)]) completed.push_back(names_[at(a)]);
    if (!completed.empty()) {
      std::string listed;
      for (const std::string& n : completed) listed += (listed.empty() ? "" : ", ") + n;
      assume("node.wiring", dump_json_compact(Json(completed)), "the capture has no row of " + listed + ": read from the column that the other rows have for it");
    }
    return true;
  }

  static bool is_beginning_of(const SmiCell& cut, const SmiCell& whole) {
    const std::string name = relation_name(whole);
    return name.substr(0, relation_name(cut).size()) == relation_name(cut);
  }

  // --- NUMA nodes ----------------------------------------------------------------------------------------------------------------

  // PIX to NODE join; so does the same affinity, unless SYS says otherwise.
  void find_domains() {
    const int n = gpus_ + nics_;
    Sets sets(n);
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b) {
        const Relation r = relation(a, b).relation;
        if (is_near(r)) sets.join(a, b);
        if (b < gpus_ && r != Relation::sys && has_affinity(a) && has_affinity(b) && same_affinity(a, b)) sets.join(a, b);
      }
    join_what_nothing_parts(sets);

    std::vector<int> firsts;
    for (int i = 0; i < gpus_; ++i)
      if (sets.of(i) == i) firsts.push_back(i);
    split_evenly_where_nothing_is_said(firsts);
    domain_.assign(at(n), -1);
    for (const int first : firsts) {
      TopologyDraft::Domain domain;
      for (int i = 0; i < gpus_; ++i) {
        if (halves_ ? (i * 2 / gpus_) * gpus_ / 2 != first : sets.of(i) != first) continue;
        domain_[at(i)] = static_cast<int>(draft_.domains.size());
        if (domain.numa < 0) domain.numa = numa_[at(i)];
        if (draft_.cores_per_domain == 0 && !cpus_[at(i)].empty()) draft_.cores_per_domain = cores_in(cpus_[at(i)]);
      }
      draft_.domains.push_back(domain);
    }
    // NICs stand with the GPUs they are near to. One that is near to none hangs somewhere else.
    for (int i = gpus_; i < n; ++i)
      if (const int first = sets.of(i); first < gpus_) domain_[at(i)] = domain_[at(first)];
  }

  bool has_affinity(int gpu) const { return numa_[at(gpu)] >= 0 || !cpus_[at(gpu)].empty(); }
  bool same_affinity(int a, int b) const {
    return numa_[at(a)] >= 0 && numa_[at(b)] >= 0 ? numa_[at(a)] == numa_[at(b)] : cpus_[at(a)] == cpus_[at(b)];
  }

  // GPUs without an affinity that NVLinks join may stand on one NUMA node, as long as no SYS parts them.
  void join_what_nothing_parts(Sets& sets) {
    for (int apart = 1; apart < gpus_; ++apart)  // neighbours first: they are numbered as they hang
      for (int a = 0, b = apart; b < gpus_; ++a, ++b) {
        if (sets.of(a) == sets.of(b) || relation(a, b).relation != Relation::nvlink || (has_affinity(a) && has_affinity(b))) continue;
        bool parted = false;
        for (int c = 0; c < gpus_ && !parted; ++c) {
          if (sets.of(c) != sets.of(a)) continue;
          for (int d = 0; d < gpus_ && !parted; ++d)
            if (sets.of(d) == sets.of(b))
              parted = relation(c, d).relation == Relation::sys || (has_affinity(c) && has_affinity(d) && !same_affinity(c, d));
        }
        if (!parted) sets.join(a, b);
      }
  }

  // Eight GPUs on NVSwitches and not a word about CPUs: such boards sit on two sockets.
  void split_evenly_where_nothing_is_said(std::vector<int>& firsts) {
    if (firsts.size() != 1 || gpus_ < 8 || gpus_ % 2 != 0 || nics_ > 0) return;
    for (int i = 0; i < gpus_; ++i) {
      if (has_affinity(i)) return;
      for (int j = 0; j < i; ++j)
        if (relation(i, j).relation != Relation::nvlink) return;
    }
    halves_ = true;
    firsts = {0, gpus_ / 2};
    assume("node.sockets", "2", "the capture has no CPU affinity and NVLinks between all GPUs: taken as two sockets with half of the GPUs each");
  }

  // --- switches ------------------------------------------------------------------------------------------------------------------

  // PIX: under one switch. PXB: switches above one another; where no PIX tells the lower ones apart they are drawn as one.
  void find_switches() {
    const int n = gpus_ + nics_;
    Sets leaf(n), top(n);
    for (int a = 0; a < n; ++a)
      for (int b = a + 1; b < n; ++b) {
        const Relation r = relation(a, b).relation;
        if (r == Relation::pix) leaf.join(a, b);
        if (r == Relation::pix || r == Relation::pxb) top.join(a, b);
      }
    draft_.gpus.resize(at(gpus_));
    for (int i = 0; i < n; ++i) {
      const int domain = std::max(0, domain_[at(i)]);
      if (i >= gpus_) draft_.nics.emplace_back();
      TopologyDraft::Place& place = i < gpus_ ? static_cast<TopologyDraft::Place&>(draft_.gpus[at(i)]) : draft_.nics.back();
      place.domain = domain;
      if (i >= gpus_) {
        draft_.nics.back().name = shown_name(names_[at(i)]);
        draft_.nics.back().is_untied = domain_[at(i)] < 0;
      }
    }
    const std::vector<int> in_leaf = sizes(leaf, n), in_top = sizes(top, n);
    std::vector<bool> has_lower(at(n), false);  // by the first device of a set: a leaf with a GPU in it that is not the whole
    for (int i = 0; i < gpus_; ++i)
      if (in_leaf[at(i)] > 1 && in_leaf[at(i)] < in_top[at(i)]) has_lower[at(top.of(i))] = true;
    std::vector<int> upper(at(n), -1), lower(at(n), -1);  // by the first device of a set
    for (int i = 0; i < n; ++i) {
      const int whole = top.of(i), part = leaf.of(i);
      if (whole >= gpus_ || in_top[at(i)] < 2) continue;  // GPUs come first; ports of one NIC are PIX to each other: no switch
      if (upper[at(whole)] < 0) upper[at(whole)] = add_switch(domain_[at(i)], -1);
      int place = upper[at(whole)];
      if (has_lower[at(whole)] && part < gpus_ && in_leaf[at(i)] > 1) {
        if (lower[at(part)] < 0) lower[at(part)] = add_switch(domain_[at(i)], place);
        place = lower[at(part)];
      }
      (i < gpus_ ? draft_.gpus[at(i)].above : draft_.nics[at(i - gpus_)].above) = place;
    }
  }

  static std::vector<int> sizes(Sets& sets, int n) {
    std::vector<int> count(at(n)), size(at(n));
    for (int i = 0; i < n; ++i) ++count[at(sets.of(i))];
    for (int i = 0; i < n; ++i) size[at(i)] = count[at(sets.of(i))];
    return size;
  }

  int add_switch(int domain, int above) {
    TopologyDraft::Switch s;
    s.domain = std::max(0, domain);
    s.above = above;
    draft_.switches.push_back(s);
    return static_cast<int>(draft_.switches.size()) - 1;
  }

  // --- the rest ------------------------------------------------------------------------------------------------------------------

  void find_nvlinks() {
    for (int a = 0; a < gpus_; ++a)
      for (int b = a + 1; b < gpus_; ++b) {
        const SmiCell& cell = relation(a, b);
        if (cell.relation != Relation::nvlink) continue;
        draft_.nvlinks.push_back({a, b, cell.links});
        draft_.hides_pcie = draft_.hides_pcie || draft_.gpus[at(a)].above < 0 || draft_.gpus[at(a)].above != draft_.gpus[at(b)].above;
      }
  }

  void assume(std::string path, std::string value, std::string why) { draft_.assumed.push_back({std::move(path), std::move(value), std::move(why)}); }

  bool fail(const std::string& value, std::string limit, std::string text) {
    errors_.push_back({"", value.empty() ? "" : value_text(Json(shown_name(value))), std::move(limit), std::move(text)});
    return false;
  }
  bool fail_pair(int a, int b, const SmiCell& there, const SmiCell& back) {
    const std::string x = shown_name(names_[at(a)]), y = shown_name(names_[at(b)]);
    return fail(relation_name(there) + " and " + relation_name(back), "the same in both halves of the matrix",
                "the matrix contradicts itself on " + x + " and " + y + ": " + relation_name(there) + " in one place, " + relation_name(back) + " in another. Paste the output as it is, of one machine");
  }

  const std::vector<SmiMatrix>& matrices_;
  const std::map<int, SmiGpu>& known_;
  int gpus_ = 0, nics_ = 0;
  std::vector<std::string> names_;  // GPUs, then NICs
  std::vector<std::string> cpus_;   // of GPUs
  std::vector<int> numa_;
  std::vector<SmiCell> relations_;
  std::vector<int> domain_;         // of devices, -1: of none of the GPUs'
  bool halves_ = false;
  TopologyDraft draft_;
  Errors errors_;
};

}  // namespace

std::string peer_matrix(const std::vector<SmiMatrix>& matrices, int gpus) {
  std::vector<int> allowed(at(gpus) * at(gpus), -1);
  bool any = false, only_pcie = true;
  for (const SmiMatrix& m : matrices) only_pcie = only_pcie && !(m.is_p2p && (m.letter == 'r' || m.letter == 'w' || m.letter == ' '));
  for (const SmiMatrix& m : matrices) {
    if (!m.is_p2p || m.letter == 'n' || m.letter == 'a' || (m.letter == 'p' && !only_pcie)) continue;
    for (std::size_t i = 0; i < m.devices.size(); ++i)
      for (std::size_t j = 0; j < m.devices.size(); ++j) {
        const Relation r = m.cell(static_cast<int>(i), static_cast<int>(j)).relation;
        const int a = m.devices[i].gpu, b = m.devices[j].gpu;
        if (a < 0 || b < 0 || a >= gpus || b >= gpus || (r != Relation::peers && r != Relation::no_peers)) continue;
        int& cell = allowed[at(a) * at(gpus) + at(b)];
        cell = cell == 0 || r == Relation::no_peers ? 0 : 1;
        any = true;
      }
  }
  std::string matrix;
  for (int a = 0; any && a < gpus; ++a) {
    if (a > 0) matrix += '/';
    for (int b = 0; b < gpus; ++b) {
      int cell = allowed[at(a) * at(gpus) + at(b)];
      if (cell < 0) cell = allowed[at(b) * at(gpus) + at(a)];
      matrix += a != b && cell == 1 ? '1' : '0';
    }
  }
  return matrix;
}

void add_known(const std::map<int, SmiGpu>& gpus, TopologyDraft& draft) {
  for (const auto& [index, known] : gpus) {
    if (index < 0 || at(index) >= draft.gpus.size()) continue;
    TopologyDraft::Gpu& gpu = draft.gpus[at(index)];
    gpu.name = known.name;
    gpu.memory_mib = known.memory_mib;
    if (gpu.slot.generation == 0) gpu.slot.generation = known.generation;
    if (gpu.slot.lanes != 0) continue;
    gpu.slot.lanes = known.lanes > 0 ? known.lanes : known.lanes_now;
    if (known.lanes_now == 0 || known.lanes_now >= gpu.slot.lanes) continue;
    draft.assumed.push_back({"node.wiring.pcie", std::to_string(known.lanes_now),
                             "GPU" + std::to_string(index) + " runs on " + std::to_string(known.lanes_now) + " PCIe lanes now though it could use " + std::to_string(known.lanes) + ": what it has now counts. A slot, a riser or a seat is to blame"});
    gpu.slot.lanes = known.lanes_now;
  }
}

Result<TopologyDraft> draft_of(const std::vector<SmiMatrix>& matrices, const std::map<int, SmiGpu>& gpus) { return SmiTree(matrices, gpus).draft(); }

}  // namespace wireplan
