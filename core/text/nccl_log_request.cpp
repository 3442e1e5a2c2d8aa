// What a log says of its communicator, as a request.
#include <algorithm>
#include <map>
#include <utility>

#include "core/text/import_nccl_log.hpp"
#include "core/text/log_text.hpp"
#include "core/text/nccl_environment.hpp"
#include "core/text/nccl_log_compare.hpp"
#include "core/text/nccl_machine.hpp"
#include "core/text/pci.hpp"

namespace wireplan {
namespace {

// "2.27.3" as numbers to compare; missing parts are 0.
std::vector<long long> parts_of(std::string_view version) {
  std::vector<long long> parts;
  while (parts.size() < 3) {
    parts.push_back(whole_number(version.substr(0, version.find('.'))).value_or(0));
    version = version.substr(std::min(version.find('.'), version.size()));
    if (!version.empty()) version.remove_prefix(1);
  }
  return parts;
}

// The newest release that is not newer than the log's, or the oldest there is.
std::string nearest_release(std::string_view logged, const Presets& presets) {
  std::string_view nearest = nccl::kDefaultRelease;
  for (const std::string_view release : presets.ids("nccl")) {
    const bool is_newer = parts_of(release) > parts_of(nearest), fits = parts_of(release) <= parts_of(logged), fitted = parts_of(nearest) <= parts_of(logged);
    if (fits == fitted ? is_newer == fits : fits) nearest = release;
  }
  return std::string(nearest);
}

std::string hosts_text(int hosts) { return std::to_string(hosts) + (hosts == 1 ? " host" : " hosts"); }

class LogRequest {
 public:
  LogRequest(const NcclLog& log, Json& request, std::vector<Note>& notes, LogMatch& match) : log_(log), request_(request), notes_(notes), match_(match) {}

  void add(const Presets& presets) {
    if (!log_.version.empty() && !has("nccl")) {
      const std::string release = nearest_release(log_.version, presets);
      request_["nccl"] = release;
      if (release != log_.version) note("the log is of NCCL " + log_.version + ", which is not known: compared with " + release);
    }
    add_hosts();
    add_variables();
  }

 private:
  const NcclLog& log_;
  Json& request_;
  std::vector<Note>& notes_;
  LogMatch& match_;

  bool has(const char* key) const { return request_.contains(key) && !request_[key].is_null(); }
  void note(std::string text) { notes_.push_back({Severity::info, "", std::move(text)}); }

  // Hosts in the order of their first ranks, with these.
  std::vector<std::vector<const NcclLog::Rank*>> hosts() const {
    std::vector<std::vector<const NcclLog::Rank*>> hosts;
    std::map<std::string_view, std::size_t> index;
    for (const NcclLog::Rank& r : log_.members) {
      const auto [at, is_new] = index.emplace(r.host, hosts.size());
      if (is_new) hosts.emplace_back();
      hosts[at->second].push_back(&r);
    }
    return hosts;
  }

  void add_hosts() {
    const auto by_host = hosts();
    const bool has_all = static_cast<int>(log_.members.size()) == log_.ranks;
    int count = has_all ? static_cast<int>(by_host.size()) : std::max(log_.nodes > 0 ? log_.nodes : log_.hosts, 1);
    if (has("nodes") && request_["nodes"].is_number_integer() && request_["nodes"] >= 1 && request_["nodes"] <= log_.ranks) {
      const int stated = request_["nodes"].get<int>();
      if (has_all && log_.hosts > 1 ? stated != count : has_all && log_.nodes == 1 && stated > 1) return note("the log is of " + hosts_text(count) + ", asked is for " + hosts_text(stated) + ": the GPUs are not taken from it");
      count = stated;
    }
    if (log_.ranks == 0 || log_.ranks % count != 0) return note("the log does not say how ranks are spread over hosts");
    const std::size_t each = static_cast<std::size_t>(log_.ranks / count);
    if (!has("nodes")) request_["nodes"] = count;
    if (log_.has_mnnvl && count > 1 && !has("rack_nodes")) {
      request_["rack_nodes"] = count;
      note("the hosts share one NVLink domain, as the log says (MNNVL 1)");
    }
    if (has("gpus")) return;
    Json gpus = Json::array();
    std::vector<int> numbers;
    if (!by_host.empty() && by_host.front().size() == each) numbers = gpus_of(by_host.front());
    for (std::size_t h = 0; has_all && h < by_host.size(); ++h) {
      if (by_host[h].size() != each || by_host[h].back()->rank - by_host[h].front()->rank + 1 != static_cast<int>(each)) {
        note("ranks are not dealt out host by host: taken as if they were, in the order of GPUs");
        numbers.clear();
        break;
      }
      if (h > 0 && gpus_of(by_host[h]) != numbers) {
        note("hosts use other GPUs than the first of them: all are taken as the first");
        break;
      }
    }
    for (std::size_t i = 0; i < each && i < 1024; ++i) gpus.push_back(numbers.empty() ? static_cast<int>(i) : numbers[i]);
    request_["gpus"] = std::move(gpus);
    if (numbers.empty()) note("the log does not say which GPUs the ranks have: taken in the order of the machine");
  }

  // Indices of GPUs by bus id where the machine's file has all of them, else by NVML's number, else by CUDA's.
  std::vector<int> gpus_of(const std::vector<const NcclLog::Rank*>& ranks) {
    read_buses();
    std::vector<int> by_bus, by_nvml, by_cuda;
    std::vector<std::uint64_t> logged;
    for (const NcclLog::Rank* r : ranks) {
      const auto bus = bus_number(r->bus_id);
      const auto found = bus ? std::find(buses_.begin(), buses_.end(), *bus) : buses_.end();
      if (bus) logged.push_back(*bus);
      if (found != buses_.end()) by_bus.push_back(static_cast<int>(found - buses_.begin()));
      if (r->nvml_device >= 0) by_nvml.push_back(r->nvml_device);
      if (r->device >= 0) by_cuda.push_back(r->device);
    }
    if (by_bus.empty() && !buses_.empty() && logged.size() > 1 && logged.front() != logged.back()) {
      if (!match_.are_buses_foreign) note("no GPU of the log has a bus id of the topology file");
      match_.are_buses_foreign = true;
    }
    match_.are_buses_same = !by_bus.empty() && by_bus.size() == ranks.size();
    for (const auto* list : {&by_bus, &by_nvml, &by_cuda})
      if (list->size() == ranks.size() && are_different(*list)) return *list;
    return {};
  }
  static bool are_different(std::vector<int> list) {
    std::sort(list.begin(), list.end());
    return std::adjacent_find(list.begin(), list.end()) == list.end();
  }

  void read_buses() {
    if (has_read_ || !has("xml") || !request_["xml"].is_string()) return;
    has_read_ = true;
    const Result<XmlDocument> document = parse_xml(request_["xml"].get_ref<const std::string&>());
    if (!document) return;  // asked_nccl says it
    Result<NcclMachine> machine = nccl_machine_of(document.value());
    if (machine) buses_ = std::move(machine.value().buses);
  }
  bool has_read_ = false;
  std::vector<std::uint64_t> buses_;

  // Variables that change the decision; what the user states himself wins.
  void add_variables() {
    Json variables = has("env") && request_["env"].is_object() ? request_["env"] : Json::object();
    if (has("env") && !request_["env"].is_object()) return;
    std::string taken, own;
    for (const auto& [name, value] : variables.items())
      if (log_.variable(name).empty()) own += (own.empty() ? "" : ", ") + name;
    match_.has_own_variables = !own.empty();
    if (!own.empty()) note("asked for and not in the log, so that differences may come from it: " + own);
    for (const auto& [name, value] : log_.environment) {
      if (variables.contains(name)) continue;
      Json one = Json::object();
      one[name] = value;
      const Result<NcclEnvironment> read = read_nccl_environment(one, "env");
      if (!read) note(name + "=" + value + ", as the log says, is left out: " + read.errors().front().text);
      else if (read.value().notes.empty()) taken += (taken.empty() ? "" : ", ") + name + "=" + value;
      if (read && read.value().notes.empty()) variables[name] = value;
    }
    if (taken.empty()) return;
    note("set by the log and taken into the decision: " + taken);
    request_["env"] = std::move(variables);
  }
};

std::string shape_text(int ranks, int hosts) { return std::to_string(ranks) + " ranks on " + hosts_text(hosts); }

// Containers of several hosts may share a name: then NCCL counts more nodes than there are names.
bool is_spread_said(const NcclLog& log) { return static_cast<int>(log.members.size()) == log.ranks ? log.hosts > 1 || log.nodes <= 1 : log.nodes > 0 || log.hosts > 1; }

}  // namespace

Json request_of_log(const NcclLog& log, Json request, const Presets& presets, std::vector<Note>& notes, LogMatch* match) {
  LogMatch unasked;
  if (request.is_object()) LogRequest(log, request, notes, match != nullptr ? *match : unasked).add(presets);
  return request;
}

Result<NcclBesideLog> asked_nccl_beside_log(const Json& request, const NcclLog& log, const Presets& presets) {
  std::vector<Note> notes = nccl_log_notes(log);
  LogMatch match;
  Json asked = request_of_log(log, request, presets, notes, &match);
  Result<NcclAnswer> answer = asked_nccl(asked, presets);
  NcclLogComparison other;
  if (!answer) {
    // What is wrong with the user's own request is said as such; the rest is the log's.
    Result<NcclAnswer> alone = asked_nccl(request, presets);
    if (!alone) return alone.errors();
    const int own = alone.value().decision.ranks;
    if (!is_spread_said(log) && !request.contains("nodes") && log.ranks % own == 0) {
      asked = request;
      asked["nodes"] = log.ranks / own;
      notes = nccl_log_notes(log);
      notes.push_back({Severity::info, "", "the log does not say on how many hosts its ranks are: taken as " + shape_text(log.ranks, log.ranks / own)});
      match = {};
      asked = request_of_log(log, std::move(asked), presets, notes, &match);
      if (Result<NcclAnswer> spread = asked_nccl(asked, presets); spread) answer = std::move(spread);
    }
    if (!answer) {
      const bool has_hosts = asked.contains("nodes") && asked["nodes"].is_number_integer();
      other.lines.push_back({"ranks and hosts", shape_text(log.ranks, has_hosts ? asked["nodes"].get<int>() : 1), shape_text(own, alone.value().request.hosts), false, "", ""});
      other.is_other_machine = true;
      other.verdict = "This log looks to be of another machine: it says " + other.lines[0].log + ". What does not fit: " + answer.errors().front().text;
      other.notes = std::move(notes);
      answer = std::move(alone);
    }
  }
  if (!other.is_other_machine) other = compare_with_log(log, answer.value(), std::move(notes), match);
  return NcclBesideLog{std::move(answer.value()), std::move(other)};
}

}  // namespace wireplan
