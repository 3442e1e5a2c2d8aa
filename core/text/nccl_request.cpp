#include "core/text/nccl_request.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/cost/nccl/machine_of_cluster.hpp"
#include "core/text/answer_json.hpp"
#include "core/text/nccl_environment.hpp"
#include "core/text/nccl_machine.hpp"
#include "core/text/read_node.hpp"
#include "core/text/reader.hpp"
#include "core/text/stated_cluster.hpp"

namespace wireplan {
namespace {

using namespace nccl;

constexpr int kMostHosts = 512, kMostRanks = 4096, kMostRanksOfRack = 128;

std::vector<bool> allowed_row(std::string_view row) {
  std::vector<bool> allowed;
  for (const char c : row) allowed.push_back(c == '1');
  return allowed;
}

// "all", "none", or a row per GPU of 0 and 1.
void read_p2p(Reader& r, std::size_t gpus, Request& request) {
  std::string text;
  if (!r.read_stated("p2p", text)) return;
  if (text == "all") {
    request.p2p.clear();
    return;
  }
  if (text == "none") {
    request.p2p.assign(gpus, std::vector<bool>(gpus, false));
    return;
  }
  std::vector<std::vector<bool>> rows;
  bool is_matrix = text.find_first_not_of("01/") == std::string::npos;
  for (std::size_t at = 0; is_matrix && at <= text.size();) {
    const std::size_t end = std::min(text.find('/', at), text.size());
    rows.push_back(allowed_row(std::string_view(text).substr(at, end - at)));
    is_matrix = rows.back().size() == gpus;
    at = end + 1;
  }
  if (is_matrix && rows.size() == gpus) request.p2p = std::move(rows);
  else r.fail("p2p", Json(text), "all, none, or " + std::to_string(gpus) + " rows of " + std::to_string(gpus) + " digits 0 or 1, with / between", "p2p is " + value_text(Json(text)) + ", neither all, none nor a row of 0 and 1 for each of " + std::to_string(gpus) + " GPUs");
}

void check_gpus(Reader& r, std::size_t gpus, Request& request) {
  const Json* stated = r.find("gpus");
  for (std::size_t i = 0; i < request.gpus.size(); ++i) {
    const int g = request.gpus[i];
    if (g < 0 || static_cast<std::size_t>(g) >= gpus)
      return r.fail("gpus", *stated, "0 to " + std::to_string(gpus - 1), "there is no GPU " + std::to_string(g) + ": the machine has " + std::to_string(gpus) + ", 0 to " + std::to_string(gpus - 1));
    if (std::find(request.gpus.begin(), request.gpus.begin() + static_cast<std::ptrdiff_t>(i), g) != request.gpus.begin() + static_cast<std::ptrdiff_t>(i))
      return r.fail("gpus", *stated, "each GPU once", "GPU " + std::to_string(g) + " stands twice in the list");
  }
  if (request.gpus.empty())
    for (std::size_t g = 0; g < gpus; ++g) request.gpus.push_back(static_cast<int>(g));
}

bool read_count(Reader& r, std::string_view key, int most, int& out) {
  int value = 0;
  if (!r.read_stated(key, value)) return false;
  if (value < 1 || value > most) {
    r.fail(key, Json(value), "1 to " + std::to_string(most), std::string(key) + " is " + std::to_string(value) + ": must be 1 to " + std::to_string(most));
    return false;
  }
  out = value;
  return true;
}

// A rack of more hosts than there are is part of a rack, but where nobody counted hosts at all it would say nothing.
void check_rack(Reader& r, NcclAnswer& answer) {
  const int hosts = answer.request.hosts;
  const std::string text = "rack_nodes is " + std::to_string(answer.request.rack_hosts);
  if (answer.request.rack_hosts <= hosts) return;
  if (hosts == 1 && r.stated("nodes") == nullptr) return r.fail("rack_nodes", Json(answer.request.rack_hosts), "with nodes", text + ", but there is one node: say how many with nodes (--nodes)");
  answer.notes.push_back({Severity::info, "rack_nodes", text + ", more than the nodes (" + std::to_string(hosts) + "): all of them share one NVLink domain"});
}

// Rates are floats of a few digits; as doubles they would show digits they do not have.
double six_digits(double value) {
  if (value == 0) return 0;
  double scale = 1;
  while (std::fabs(value) * scale < 1e5) scale *= 10;
  while (std::fabs(value) * scale >= 1e6) scale /= 10;
  const double digits = std::round(value * scale);
  return scale >= 1 ? digits / scale : digits * std::round(1 / scale);
}
Json rate_json(double gb_per_s) { return number(std::round(gb_per_s * 1e4) * 1e5); }
// Six digits of a number of µs, in seconds.
Json time_json(double us) { return number(six_digits(us) / 1e6); }

Json write_paths(const nccl::Node& node) {
  const std::size_t shown = std::min<std::size_t>(node.gpus.size(), 8);
  Json gpus = Json::array(), types = Json::array(), rates = Json::array(), transports = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    Json type_row = Json::array(), rate_row = Json::array(), transport_row = Json::array();
    for (std::size_t j = 0; j < shown; ++j) {
      const nccl::Node::Pair& pair = node.pairs[i][j];
      type_row.push_back(name_of(pair.type));
      rate_row.push_back(rate_json(static_cast<double>(pair.rate)));
      transport_row.push_back(name_of(pair.transport));
    }
    gpus.push_back(node.gpu_number(static_cast<int>(i)));
    types.push_back(std::move(type_row));
    rates.push_back(std::move(rate_row));
    transports.push_back(std::move(transport_row));
  }
  Json j = Json::object();
  put(j, "gpus", std::move(gpus));
  put(j, "types", std::move(types));
  put(j, "bytes_per_s", std::move(rates));
  put(j, "transport", std::move(transports));
  return j;
}

Json write_nets(const nccl::Node& node) {
  Json nets = Json::array();
  for (const nccl::Node::Nic& nic : node.nics) {
    Json j = Json::object(), types = Json::array(), rates = Json::array(), read = Json::array(), write = Json::array();
    for (const PathType t : nic.types) types.push_back(name_of(t));
    for (const GBps rate : nic.rates) rates.push_back(rate_json(static_cast<double>(rate)));
    for (const bool b : nic.gpudirect_read) read.push_back(b);
    for (const bool b : nic.gpudirect_write) write.push_back(b);
    put(j, "dev", nic.dev);
    put(j, "bytes_per_s", rate_json(static_cast<double>(nic.rate)));
    put(j, "types", std::move(types));
    put(j, "gpu_bytes_per_s", std::move(rates));
    put(j, "gdr_read", std::move(read));
    put(j, "gdr_write", std::move(write));
    nets.push_back(std::move(j));
  }
  return nets;
}

Json write_graph(const char* kind, const Graph& g, const nccl::Node& node) {
  Json j = Json::object();
  put(j, "kind", kind);
  put(j, "pattern", name_of(g.pattern));
  put(j, "channels", g.channels);
  put(j, "intra_bytes_per_s", rate_json(static_cast<double>(g.intra)));
  put(j, "inter_bytes_per_s", rate_json(static_cast<double>(g.inter)));
  put(j, "intra_type", name_of(g.intra_type));
  put(j, "inter_type", name_of(g.inter_type));
  put(j, "cross_nic", g.cross_nic);
  put(j, "same_channels", g.same_channels ? 1 : 0);
  Json order = Json::array(), nets = Json::array(), heads = Json::array();
  for (const auto& channel : g.order) {
    Json gpus = Json::array();
    for (const int position : channel) gpus.push_back(node.gpu_number(position));
    if (g.pattern == Pattern::nvls) heads.push_back(gpus.front());
    else order.push_back(std::move(gpus));
  }
  for (const auto& [in, out] : g.nets) nets.push_back(Json::array({in, out}));
  if (g.pattern == Pattern::nvls) {
    put(j, "order", nullptr);
    put(j, "heads", std::move(heads));
  } else {
    put(j, "order", std::move(order));
  }
  if (!g.nets.empty()) put(j, "nets", std::move(nets));
  return j;
}

// Null where nothing limits.
Json write_limit(const nccl::Node& node) {
  const Limit& limit = node.ring_limit;
  if (limit.rate <= 0) return nullptr;
  Json j = Json::object();
  const auto end = [&](int position) { return position < 0 ? Json("nic" + std::to_string(limit.nic)) : Json(node.gpu_number(position)); };
  put(j, "from", end(limit.from));
  put(j, "to", end(limit.to));
  put(j, "link", name_of(limit.link));
  put(j, "bytes_per_s", rate_json(static_cast<double>(limit.rate)));
  put(j, "uses", limit.uses);
  put(j, "filled", number(six_digits(limit.filled)));
  return j;
}

Json write_choice(double size, const Choice& c) {
  return Json::array({number(size), name_of(c.algorithm), name_of(c.protocol), time_json(c.time_us), c.most_channels, c.threads, c.channels});
}

// The machine of a stated cluster, and what the cluster says of the request: a request may say otherwise.
Errors take_cluster(const Json& stated, const Presets& presets, NcclAnswer& answer) {
  Result<StatedCluster> read = stated_cluster(stated, presets);
  if (!read) return read.errors();
  const Cluster& cluster = read.value().cluster;
  Result<Constants> constants = presets.constants();
  if (!constants) return constants.errors();
  std::optional<Network> usual;
  if (!cluster.node.usual_network.empty())
    if (Result<Network> network = parse_network(cluster.node.usual_network, presets, "cluster.network")) usual = std::move(network.value());
  Result<ClusterMachine> machine = machine_of(cluster, usual, constants.value().links);
  if (!machine) return machine.errors();
  answer.name = cluster.node.name.empty() ? "the cluster's node" : cluster.node.name;
  answer.machine = std::move(machine.value().machine);
  std::vector<int> asked = std::move(answer.request.gpus);
  answer.request = std::move(machine.value().request);
  if (!asked.empty()) answer.request.gpus = std::move(asked);
  answer.assumed = std::move(read.value().assumed);
  for (Assumption& a : machine.value().assumed) answer.assumed.push_back(std::move(a));
  return {};
}

Json write_findings(const std::vector<NcclFinding>& findings) {
  Json list = Json::array();
  for (const NcclFinding& f : findings) {
    Json j = Json::object();
    put(j, "severity", name_of(f.severity));
    put(j, "rule", f.rule);
    put(j, "text", f.text);
    put(j, "remedy", f.remedy);
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

std::vector<NcclSwitch> nccl_switches(const NcclAnswer& answer, Operation operation) {
  std::vector<NcclSwitch> switches;
  for (double size = 512; size <= 16.0 * (1 << 30); size *= 2) {
    const Choice choice = choice_at(answer.decision, answer.release, operation, size);
    if (choice.is_none) continue;
    if (switches.empty() || switches.back().choice.algorithm != choice.algorithm || switches.back().choice.protocol != choice.protocol) switches.push_back({size, choice});
  }
  return switches;
}

Json write_nccl_switches(const NcclAnswer& answer, Operation operation) {
  Json list = Json::array();
  for (const NcclSwitch& s : nccl_switches(answer, operation)) list.push_back(Json::array({number(s.size), name_of(s.choice.algorithm), name_of(s.choice.protocol)}));
  return list;
}

Result<NcclAnswer> stated_nccl(const Json& request, const Presets& presets) {
  ReadLog log;
  Reader r(log, request, "");
  NcclAnswer answer;
  std::string xml, version(kDefaultRelease);
  const Json* cluster = r.stated("cluster");
  const bool has_xml = r.read_stated("xml", xml);
  if ((cluster != nullptr) == has_xml) r.fail("cluster", cluster != nullptr ? *cluster : Json(nullptr), "cluster or xml, one of them", "a request names a cluster, or holds the text of an NCCL topology file under xml");
  r.read_stated("nccl", version);
  answer.request.gpus = asked_gpus(r);
  if (!log.errors.empty()) return log.finished();

  Result<Release> release = presets.nccl_release(version);
  if (!release) {
    std::vector<std::string_view> known = presets.ids("nccl");
    r.fail("nccl", Json(version), listed(known), "NCCL " + value_text(Json(version)) + " is not known; the releases are " + listed(known));
    return log.finished();
  }
  answer.release = std::move(release.value());
  if (has_xml) {
    Result<XmlDocument> document = parse_xml(xml);
    if (!document) return document.errors();
    Result<NcclMachine> machine = nccl_machine_of(document.value());
    if (!machine) return machine.errors();
    answer.machine = std::move(machine.value().machine);
    answer.assumed = std::move(machine.value().assumed);
    answer.name = "the machine of the file";
  } else if (Errors errors = take_cluster(*cluster, presets, answer); !errors.empty()) {
    return errors;
  }
  const std::size_t gpus = answer.machine.gpus.size();
  read_count(r, "nodes", kMostHosts, answer.request.hosts);
  const bool states_rack = read_count(r, "rack_nodes", kMostHosts, answer.request.rack_hosts);
  r.read_stated("gpudirect", answer.request.gpudirect);
  read_p2p(r, gpus, answer.request);
  check_gpus(r, gpus, answer.request);
  if (const Json* variables = r.stated("env")) {
    Result<NcclEnvironment> environment = read_nccl_environment(*variables, "env");
    if (environment) {
      answer.request.environment = environment.value().environment;
      answer.notes = std::move(environment.value().notes);
    } else {
      log.add_new(environment.errors());
    }
  }
  if (states_rack) check_rack(r, answer);
  r.finish();
  if (!log.errors.empty()) return log.finished();

  const std::size_t per_host = answer.request.gpus.size(), hosts = static_cast<std::size_t>(answer.request.hosts);
  const auto too_many = [&](std::size_t found, int most, const char* what) {
    return Error{"nodes", std::to_string(found), "at most " + std::to_string(most), std::to_string(found) + what + ": the model takes at most " + std::to_string(most)};
  };
  if (per_host * hosts > kMostRanks) return too_many(per_host * hosts, kMostRanks, " ranks");
  const std::size_t of_rack = per_host * std::min(hosts, static_cast<std::size_t>(std::max(answer.request.rack_hosts, 1)));
  if (of_rack > kMostRanksOfRack) return too_many(of_rack, kMostRanksOfRack, " GPUs in one NVLink domain");
  if (per_host * hosts < 2) return Error{"gpus", "1", "two GPUs or more", "one GPU alone: NCCL decides nothing for it. Name two GPUs, or two nodes"};
  if (answer.request.hosts > 1 && answer.machine.nets.empty())
    return Error{"nodes", std::to_string(answer.request.hosts), "1, or a machine with a NIC", std::to_string(answer.request.hosts) + " nodes, but the machine has no NIC NCCL could use between them"};
  return answer;
}

Result<NcclAnswer> asked_nccl(const Json& request, const Presets& presets) {
  Result<NcclAnswer> answer = stated_nccl(request, presets);
  if (!answer) return answer;
  NcclAnswer& a = answer.value();
  a.decision = decide(a.machine, a.request, a.release);
  a.findings = nccl_findings(a.machine, a.request, a.release, a.decision);
  return answer;
}

Json write_nccl(const NcclAnswer& answer) {
  const Decision& d = answer.decision;
  const nccl::Node& node = d.nodes.front();
  Json j = Json::object(), graphs = Json::array(), channels = Json::object(), rings = Json::array(), trees = Json::array(), tuning = Json::object(), choices = Json::array(), notes = Json::array();
  put(j, "schema", "wireplan.nccl/1");
  put(j, "nccl", answer.release.version);
  put(j, "ranks", d.ranks);
  put(j, "nccl_nodes", d.nccl_nodes());
  if (!d.fails.empty()) put(j, "fails", d.fails);
  put(j, "paths", write_paths(node));
  put(j, "nets", write_nets(node));
  put(j, "max_bytes_per_s", rate_json(static_cast<double>(node.most)));
  put(j, "total_bytes_per_s", rate_json(static_cast<double>(node.total)));
  graphs.push_back(write_graph("ring", node.ring, node));
  graphs.push_back(write_graph("tree", node.tree, node));
  if (node.nvls.channels > 0) graphs.push_back(write_graph("nvls", node.nvls, node));
  put(j, "graphs", std::move(graphs));
  put(channels, "coll", d.channels);
  put(channels, "nvls", d.nvls_channels);
  put(channels, "p2p", d.p2p_channels);
  put(channels, "p2p_per_peer", d.p2p_channels_per_peer);
  put(j, "channels", std::move(channels));
  put(j, "ring_limit", write_limit(node));
  for (const Ring& ring : d.rings) rings.push_back({{"channels", ring.channels}, {"order", ring.order}});
  for (const Tree& tree : d.trees) trees.push_back({{"channels", tree.channels}, {"parent", tree.parent}});
  put(j, "rings", std::move(rings));
  put(j, "trees", std::move(trees));
  for (const Operation op : kNcclOperations) {
    Json costs = Json::object();
    for (int i = 0; i < kAlgorithms * kProtocols; ++i)
      if (const auto [a, p] = std::pair{static_cast<nccl::Algorithm>(i / kProtocols), static_cast<nccl::Protocol>(i % kProtocols)}; d.cost(op, a, p).rate > 0) {
        const Decision::Cost& cost = d.cost(op, a, p);
        costs[std::string(name_of(a)) + "/" + std::string(name_of(p))] = Json::array({time_json(cost.latency_us), number(six_digits(cost.rate) * 1e9)});
      }
    tuning[std::string(name_of(op))] = std::move(costs);
    Json choice = Json::object(), points = Json::array();
    for (const double size : kChoiceSizes)
      if (const Choice taken = choice_at(d, answer.release, op, size); !taken.is_none) points.push_back(write_choice(size, taken));
    put(choice, "op", name_of(op));
    put(choice, "points", std::move(points));
    put(choice, "switches", write_nccl_switches(answer, op));
    choices.push_back(std::move(choice));
  }
  put(j, "tuning", std::move(tuning));
  put(j, "choices", std::move(choices));
  put(j, "findings", write_findings(answer.findings));
  put(j, "assumed", write_assumed(answer.assumed));
  for (const Note& n : answer.notes) notes.push_back(write_note(n));
  put(j, "notes", std::move(notes));
  return j;
}

}  // namespace wireplan
