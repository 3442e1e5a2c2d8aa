#include "core/text/read_nccl_release.hpp"

#include <span>
#include <string>

namespace wireplan {
namespace {

using nccl::Release;

// Reads a list of numbers at `key`; into a container of fixed length, or one that grows.
void read_list(Reader& r, std::string_view key, const Json* json, std::span<double> out) {
  if (json == nullptr) return;
  if (!json->is_array() || json->size() != out.size()) return r.fail_type(key, *json, "a list of " + std::to_string(out.size()) + " numbers");
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string place = std::string(key) + "." + std::to_string(i);
    if (r.read(place, &(*json)[i], out[i]) && !(out[i] >= 0 && out[i] <= 1e5)) r.fail(place, (*json)[i], "0 to 1e5", r.path(place) + " is out of range");
  }
}
void read_list(Reader& r, std::string_view key, std::span<double> out) {
  r.require(key, "a list of numbers");
  read_list(r, key, r.stated(key), out);
}
std::vector<nccl::GBps> read_speeds(Reader& r, std::string_view key) {
  const Json* json = r.stated(key);
  std::vector<double> numbers(json != nullptr && json->is_array() ? json->size() : 1);
  read_list(r, key, numbers);
  std::vector<nccl::GBps> speeds;
  for (const double n : numbers) speeds.push_back(static_cast<nccl::GBps>(n));
  return speeds;
}

void read_number(Reader& r, std::string_view key, double& out) {
  r.require(key, "a number");
  r.read(key, out);
}

void read_switch(Reader& r, std::string_view key, bool& out) {
  r.require(key, "true or false");
  r.read(key, out);
}

template <class Read>
void in_object(Reader& r, std::string_view key, Read read) {
  r.require(key, "an object");
  if (const Json* json = r.stated(key)) {
    Reader inner(r.log(), *json, r.path(key));
    read(inner);
    inner.finish();
  }
}

void read_latencies(Reader& r, std::array<Release::ByProtocol, nccl::kAlgorithms>& out) {
  for (std::size_t a = 0; a < out.size(); ++a) read_list(r, kNames<nccl::Algorithm>[a], out[a]);
}

void read_caps(Reader& r, std::string_view key, std::array<Release::ByNodes, 4>& out) {
  r.require(key, "four lists of numbers");
  const Json* json = r.stated(key);
  if (json == nullptr) return;
  if (!json->is_array() || json->size() != out.size()) return r.fail_type(key, *json, "four lists of numbers");
  for (std::size_t i = 0; i < out.size(); ++i) read_list(r, std::string(key) + "." + std::to_string(i), &(*json)[i], out[i]);
}

}  // namespace

nccl::Release read_nccl_release(Reader& r) {
  Release release;
  std::string text;
  for (const std::string_view key : {"version", "source", "date"}) r.require(key, "text");
  r.read("version", release.version);
  r.read("source", release.source);
  for (const std::string_view key : {"date", "note"}) r.read(key, text);
  for_each(r, "nvlink_gb_per_s", [&](Reader& row) {
    Release::NvLinkRate rate{0, false, 0};
    double number = 0;
    for (const std::string_view key : {"compute_capability", "rate"}) row.require(key, "a number");
    row.read("compute_capability", rate.compute_capability);
    row.read("exactly", rate.exactly);
    row.read("rate", number);
    rate.rate = static_cast<nccl::GBps>(number);
    release.nvlink.push_back(rate);
  });
  in_object(r, "between_cpus_gb_per_s", [&](Reader& row) {
    for (std::size_t c = 0; c < release.between_cpus.size(); ++c) {
      double number = 0;
      const std::string_view key = c == 0 ? std::string_view("other") : kNames<nccl::CpuClass>[c];
      row.require(key, "a number");
      row.read(key, number);
      release.between_cpus[c] = static_cast<nccl::GBps>(number);
    }
  });
  for_each(r, "speeds_gb_per_s", [&](Reader& row) {
    Release::Speeds speeds;
    row.require("compute_capability", "a number");
    row.read("compute_capability", speeds.compute_capability);
    speeds.intra = read_speeds(row, "intra");
    speeds.inter = read_speeds(row, "inter");
    release.speeds.push_back(std::move(speeds));
  });
  in_object(r, "nvls", [&](Reader& row) {
    std::array<double, 3> channels{};
    row.require("least_gpus", "a number");
    row.read("least_gpus", release.nvls_least_gpus);
    read_list(row, "channels", channels);
    for (std::size_t i = 0; i < channels.size(); ++i) release.nvls_channels[i] = static_cast<int>(channels[i]);
    read_list(row, "efficiency", release.nvls_efficiency);
    read_switch(row, "is_pipelined", release.nvls_is_pipelined);
    read_switch(row, "tree_is_corrected", release.nvls_tree_is_corrected);
    read_switch(row, "raises_channels", release.nvls_raises_channels);
  });
  read_number(r, "p2p_net_gb_per_s_per_channel", release.p2p_net_rate_per_channel);
  read_switch(r, "keeps_nets", release.keeps_nets);
  read_switch(r, "plain_order_needs_net", release.plain_order_needs_net);
  in_object(r, "base_latency_us", [&](Reader& row) { read_latencies(row, release.base_latency); });
  in_object(r, "hardware_latency_us", [&](Reader& row) {
    constexpr std::string_view kLinks[] = {"nvlink", "pcie", "network"};
    for (std::size_t i = 0; i < 3; ++i) in_object(row, kLinks[i], [&](Reader& link) { read_latencies(link, release.hardware_latency[i]); });
  });
  in_object(r, "most_gb_per_s", [&](Reader& row) {
    read_caps(row, "ll", release.ll_most);
    read_caps(row, "ring_ll128", release.ring_ll128_most);
    read_caps(row, "tree_ll128", release.tree_ll128_most);
    read_caps(row, "tree", release.tree_most);
    read_caps(row, "nvls_tree", release.nvls_tree_most);
  });
  in_object(r, "share_of_rate", [&](Reader& row) {
    read_number(row, "ring_ll", release.ring_ll);
    read_number(row, "ring_ll128", release.ring_ll128);
    read_number(row, "tree", release.tree);
    read_number(row, "tree_ll", release.tree_ll);
    read_list(row, "tree_ll128", release.tree_ll128);
    read_number(row, "unbalanced_tree", release.unbalanced_tree);
    read_number(row, "pat", release.pat);
  });
  in_object(r, "ring_hop_least_us", [&](Reader& row) {
    read_list(row, "amd", release.ring_hop_least[0]);
    read_list(row, "other", release.ring_hop_least[1]);
  });
  read_list(r, "ring_long_latency", release.ring_long_latency);
  in_object(r, "pat_latency", [&](Reader& row) {
    read_number(row, "network_share", release.pat_network_share);
    read_number(row, "per_rank_us", release.pat_per_rank);
  });
  in_object(r, "launch", [&](Reader& row) {
    read_list(row, "threads", release.threads);
    read_number(row, "slow_ring_threads", release.slow_ring_threads);
    read_number(row, "slow_ring_gb_per_s", release.slow_ring);
    read_list(row, "bytes_per_thread", release.bytes_per_thread);
    read_number(row, "least_traffic_bytes", release.least_traffic);
  });
  in_object(r, "tree_correction", [&](Reader& row) {
    for (std::size_t p = 0; p < release.tree_correction.size(); ++p) read_list(row, kNames<nccl::Protocol>[p], release.tree_correction[p]);
  });
  return release;
}

}  // namespace wireplan
