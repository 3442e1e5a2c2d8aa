#include "core/text/nccl_environment.hpp"

#include <string>
#include <utility>

#include "core/text/capture.hpp"

namespace wireplan {
namespace {

using namespace nccl;

// "LOC" … "SYS", or the number of the old numbering.
std::optional<PathType> level_of(std::string_view text) {
  if (const auto type = value_named<PathType>(text); type && *type <= PathType::sys) return type;
  constexpr PathType kOld[] = {PathType::loc, PathType::pix, PathType::pxb, PathType::phb, PathType::sys};
  const auto number = small_number(text);
  if (!number) return std::nullopt;
  return kOld[*number < 5 ? *number : 4];
}

// "Ring,Tree", "^LL128", "LL,Simple;allreduce:^LL": a list for all operations, then lists for single ones. Calls mark(operation, element,
// allowed) for every pair a list speaks of; false: not understood.
template <class Mark>
bool read_lists(std::string_view text, std::span<const std::string_view> elements, Mark mark) {
  constexpr std::string_view kOperationNames[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
  for (std::size_t at = 0, entry = 0; at <= text.size(); ++entry) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string_view list = text.substr(at, end - at);
    at = end + 1;
    int only = -1;
    if (const std::size_t colon = list.find(':'); colon != std::string_view::npos) {
      for (std::size_t i = 0; i < std::size(kOperationNames); ++i)
        if (lower(trimmed(list.substr(0, colon))) == kOperationNames[i]) only = static_cast<int>(i);
      if (only < 0) return false;
      list = list.substr(colon + 1);
    } else if (entry > 0) {
      return false;
    }
    list = trimmed(list);
    const bool excludes = !list.empty() && list.front() == '^';
    if (excludes) list = list.substr(1);
    std::vector<bool> named(elements.size(), false);
    for (std::size_t from = 0; from <= list.size();) {
      const std::size_t comma = std::min(list.find(',', from), list.size());
      const std::string word = lower(trimmed(list.substr(from, comma - from)));
      from = comma + 1;
      bool known = false;
      for (std::size_t e = 0; e < elements.size(); ++e)
        if (word == elements[e]) {
          known = true;
          named[e] = true;
        }
      if (!known) return false;
    }
    for (int op = 0; op < kOperations; ++op)
      if (only < 0 || op == only)
        for (std::size_t e = 0; e < elements.size(); ++e) mark(static_cast<std::size_t>(op), e, named[e] != excludes);
  }
  return true;
}

class Reading {
 public:
  explicit Reading(std::string path) : path_(std::move(path)) {}

  Result<NcclEnvironment> read(const Json& variables) {
    if (!variables.is_object()) return Error{path_, value_text(variables), "an object of NCCL_* variables", path_ + " must be an object of NCCL_* variables, not " + value_text(variables)};
    if (variables.size() > 100) return Error{path_, std::to_string(variables.size()), "at most 100 variables", path_ + " has more than 100 variables"};
    for (auto it = variables.begin(); it != variables.end(); ++it) {
      const std::string value = it.value().is_string() ? it.value().get<std::string>() : dump_json_compact(it.value());
      read_variable(it.key(), value);
    }
    if (!errors_.empty()) return errors_;
    return std::move(found_);
  }

 private:
  void read_variable(const std::string& name, const std::string& value) {
    Environment& e = found_.environment;
    const auto flag = [&](auto set) {
      if (const auto number = whole(value)) set(*number);
      else fail(name, value, "a whole number");
    };
    const auto level = [&](std::optional<PathType>& out) {
      const auto read = level_of(value);
      if (!read) return fail(name, value, "LOC, NVL, NVB, PIX, PXB, PXN, PHB, SYS, or 0 to 5");
      if (out != PathType::loc) out = read;  // NCCL_P2P_DISABLE wins
    };
    const auto channels = [&](int& out) {
      const auto number = whole(value);
      if (!number || *number < 1 || *number > 64) return fail(name, value, "1 to 64");
      out = *number;
    };
    if (name == "NCCL_P2P_DISABLE") flag([&](int n) { if (n == 1) e.p2p_level = PathType::loc; });
    else if (name == "NCCL_P2P_LEVEL") level(e.p2p_level);
    else if (name == "NCCL_NET_GDR_LEVEL") level(e.gpudirect_level);
    else if (name == "NCCL_CROSS_NIC") flag([&](int n) { if (n < 0 || n > 2) fail(name, value, "0, 1 or 2"); else e.cross_nic = n; });
    else if (name == "NCCL_NET_DISABLE_INTRA") flag([&](int n) { e.net_disable_intra = n == 1; });
    else if (name == "NCCL_NVB_DISABLE") flag([&](int n) { e.nvb_disable = n != 0; });
    else if (name == "NCCL_NVLS_ENABLE") flag([&](int n) { e.nvls_enable = n != 0; });
    else if (name == "NCCL_PXN_DISABLE") flag([&](int n) { e.pxn_disable = n == 1; });
    else if (name == "NCCL_MIN_NCHANNELS" || name == "NCCL_MIN_NRINGS") channels(e.min_channels);
    else if (name == "NCCL_MAX_NCHANNELS" || name == "NCCL_MAX_NRINGS") channels(e.max_channels);
    else if (name == "NCCL_ALGO") algorithms(value);
    else if (name == "NCCL_PROTO") protocols(value);
    else if (name.starts_with("NCCL_")) found_.notes.push_back({Severity::info, "env." + shown_name(name), shown_name(name) + " is not part of this model: the answer is the same with and without it"});
    else fail(name, value, "a variable whose name begins with NCCL_");
  }

  void algorithms(const std::string& value) {
    // CollNet needs switches that reduce, which this model does not have.
    constexpr std::string_view kNamesOfAlgorithms[] = {"tree", "ring", "nvls", "nvlstree", "pat", "collnetdirect", "collnetchain"};
    const bool read = read_lists(value, kNamesOfAlgorithms, [&](std::size_t op, std::size_t e, bool allowed) {
      if (e < kAlgorithms) found_.environment.algorithms[op][e] = !allowed;
    });
    if (!read) fail("NCCL_ALGO", value, "a list of Tree, Ring, NVLS, NVLSTree, PAT, CollNetDirect, CollNetChain; ^ excludes");
    else if (lower(value).find("collnet") != std::string::npos) found_.notes.push_back({Severity::info, "env.NCCL_ALGO", "CollNet (SHARP) is not part of this model"});
  }

  void protocols(const std::string& value) {
    const bool read = read_lists(value, wireplan::kNames<nccl::Protocol>, [&](std::size_t op, std::size_t e, bool allowed) { found_.environment.protocols[op][e] = allowed ? 1 : -1; });
    if (!read) fail("NCCL_PROTO", value, "a list of LL, LL128, Simple; ^ excludes");
  }

  static std::optional<int> whole(std::string_view text) {
    text = trimmed(text);
    const bool is_negative = !text.empty() && text.front() == '-';
    const auto number = small_number(is_negative ? text.substr(1) : text);
    if (!number) return std::nullopt;
    return is_negative ? -*number : *number;
  }

  void fail(const std::string& name, const std::string& value, std::string limit) {
    errors_.push_back({path_ + "." + shown_name(name), value_text(Json(value)), limit, shown_name(name) + "=" + value_text(Json(value)) + ": must be " + limit});
  }

  std::string path_;
  NcclEnvironment found_;
  Errors errors_;
};

}  // namespace

Result<NcclEnvironment> read_nccl_environment(const Json& variables, const std::string& path) { return Reading(path).read(variables); }

}  // namespace wireplan
