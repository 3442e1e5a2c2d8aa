#include "core/text/link.hpp"

#include <algorithm>
#include <cstdint>

#include "core/base/format.hpp"
#include "core/text/deflate.hpp"
#include "core/text/link_keys.hpp"
#include "core/text/plan_json.hpp"
#include "core/text/plan_paths.hpp"
#include "core/text/reader.hpp"

namespace wireplan {
namespace {

constexpr std::size_t kMaxGivenLink = 65536;

// The part of a link behind '#'; the whole text when there is none.
std::string_view fragment_of(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t hash = text.find('#');
  return hash == std::string_view::npos ? text : text.substr(hash + 1);
}

// A key, then '='.
bool starts_with_key(std::string_view fragment) {
  const std::size_t end = fragment.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.0123456789");
  return end != std::string_view::npos && end > 0 && fragment[end] == '=';
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Digits; beyond 15 of them it only matters that the number is absurd.
std::int64_t number_of(std::string_view digits) {
  std::int64_t n = 0;
  for (const char c : digits.substr(0, 15)) n = n * 10 + (c - '0');
  return n;
}

// "<node>[~nodes][~network][~gpus_per_node]": the first number counts nodes, the second GPUs.
Errors read_cluster_key(Json& plan, const std::string& text) {
  Json cluster = Json::object();
  std::size_t start = 0;
  int numbers = 0;
  for (int part = 0; start <= text.size(); ++part) {
    const std::size_t end = std::min(text.find('~', start), text.size());
    const std::string piece = text.substr(start, end - start);
    start = end + 1;
    if (part == 0)
      cluster["node"] = piece;
    else if (piece.empty())
      continue;
    else if (!is_number(piece) && !cluster.contains("network"))
      cluster["network"] = piece;
    else if (is_number(piece) && numbers < 2)
      cluster[numbers++ == 0 ? "nodes" : "gpus_per_node"] = number_of(piece);
    else
      return {{"c", value_text(Json(text)), "<node>[~nodes][~network][~gpus_per_node]",
               "c=" + value_text(Json(text)) + " has a part too many: " + value_text(Json(piece)) +
                   ". Nearest: c=dgx-a100-80gb~2~infiniband-8x200~4"}};
  }
  for (auto it = cluster.begin(); it != cluster.end(); ++it)
    set_path(plan, "cluster." + it.key(), dump_json_compact(it.value()));
  return {};
}

// "none", or "every~2" for {"every": 2}.
std::string recompute_text(const std::string& text) {
  const std::size_t tilde = text.find('~');
  if (tilde == std::string::npos) return dump_json_compact(Json(text));
  Json recompute = Json::object();
  Result<Json> n = parse_json(text.substr(tilde + 1));
  recompute[text.substr(0, tilde)] = n ? std::move(n.value()) : Json(text.substr(tilde + 1));
  return dump_json_compact(recompute);
}

std::string short_value(const ShortKey& key, const std::string& text) {
  if (key.key == "rc") return recompute_text(text);
  if (key.key == "sp") return text == "1" ? "true" : text == "0" ? "false" : text;
  if (key.key == "md" && (text == "null" || text == "none")) return "null";
  return key.is_word ? dump_json_compact(Json(text)) : text;
}

// Removes members that no plan has; their paths go to `unknown`.
void remove_unknown(Json& json, const Json& outline, const std::string& path, std::vector<std::string>& unknown) {
  if (!json.is_object() || !outline.is_object()) return;
  for (auto it = json.begin(); it != json.end();) {
    const auto known = outline.find(it.key());
    const std::string place = joined_path(path, it.key());
    if (known == outline.end()) {
      unknown.push_back(place);
      it = json.erase(it);
      continue;
    }
    remove_unknown(it.value(), *known, place, unknown);
    ++it;
  }
}

Errors unpack(Json& plan, const Json& outline, std::string_view packed, std::vector<std::string>& unknown) {
  const auto at_key = [](Errors errors) {
    for (Error& error : errors) error = {"j", error.value, error.limit, "j=: " + error.text};
    return errors;
  };
  const Result<std::string> data = base64url_decoded(packed);
  if (!data) return at_key(data.errors());
  const Result<std::string> text = inflated(data.value(), kMaxUnpacked);
  if (!text) return at_key(text.errors());
  Result<Json> json = parse_json(text.value());
  if (!json) return at_key(json.errors());
  if (!json.value().is_object())
    return {{"j", value_text(json.value()), "an object", "j= does not hold an object. Nearest: copy the whole link"}};
  remove_unknown(json.value(), outline, "", unknown);
  for (auto it = json.value().begin(); it != json.value().end(); ++it) plan[it.key()] = std::move(it.value());
  return {};
}

std::string note_text(std::string_view version, const std::vector<std::string>& unknown) {
  const bool newer = version != "1";
  std::string text = newer ? "this link was made by a newer version (v=" + value_text(Json(version)) + ")" : "";
  if (unknown.empty()) return text;
  text += (newer ? "; " : "") + format_count(static_cast<double>(unknown.size())) +
          (unknown.size() == 1 ? " key is" : " keys are") + " not known here: ";
  for (std::size_t i = 0; i < unknown.size() && i < 10; ++i)
    text += (i == 0 ? "" : ", ") + (unknown[i].size() <= 40 ? unknown[i] : value_text(Json(unknown[i])));
  return text + (unknown.size() > 10 ? ", …" : "");
}

}  // namespace

bool looks_like_link(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (text.find('#') != std::string_view::npos) return starts_with_key(fragment_of(text));
  return text.starts_with("http://") || text.starts_with("https://") ||
         (text.starts_with("v=") && text.size() > 2 && text[2] >= '0' && text[2] <= '9');
}

Result<ParsedLink> parse_link(std::string_view link) {
  if (link.size() > kMaxGivenLink) {
    const std::string size = format_count(static_cast<double>(link.size())),
                      most = format_count(static_cast<double>(kMaxGivenLink));
    return Error{"", size + " bytes", "at most " + most + " bytes",
                 "the link has " + size + " bytes, more than " + most + ". Nearest: a plan document"};
  }
  const std::string_view fragment = fragment_of(link);
  if (!starts_with_key(fragment))
    return Error{
        "", value_text(Json(link)), "#v=1&m=<model>&c=<node>…",
        "the link " + value_text(Json(link)) + " holds no plan. Nearest: #v=1&m=mistral-7b-v0.1&c=dgx-a100-80gb"};

  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t start = 0; start <= fragment.size();) {
    const std::size_t end = std::min(fragment.find('&', start), fragment.size());
    const std::string_view pair = fragment.substr(start, end - start);
    start = end + 1;
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    pairs.emplace_back(percent_decoded(pair.substr(0, equals)),
                       percent_decoded(pair.substr(std::min(equals + 1, pair.size()))));
  }

  ParsedLink parsed;
  Errors errors;
  std::vector<std::string> unknown;
  std::string version = "1";
  const Json outline = plan_outline();
  parsed.plan = Json::object();
  parsed.plan["schema"] = "wireplan.plan/1";
  const auto append = [&](Errors more) { errors.insert(errors.end(), more.begin(), more.end()); };
  // What is packed comes first, so that everything readable can be changed by hand.
  for (const auto& [key, value] : pairs)
    if (key == "j") append(unpack(parsed.plan, outline, value, unknown));
  for (const auto& [key, value] : pairs) {
    const auto found =
        std::find_if(kShortKeys.begin(), kShortKeys.end(), [&](const ShortKey& s) { return s.key == key; });
    if (key == "j") continue;
    if (key == "v")
      version = value;
    else if (key == "m")
      append(set_path(parsed.plan, "model", dump_json_compact(Json(value))));
    else if (key == "c")
      append(read_cluster_key(parsed.plan, value));
    else if (found != kShortKeys.end())
      append(set_path(parsed.plan, found->path, short_value(*found, value)));
    else if (std::find(kViewKeys.begin(), kViewKeys.end(), key) != kViewKeys.end())
      parsed.view.emplace_back(key, value);
    else if (is_plan_path(outline, key))
      append(set_path(parsed.plan, key, value));
    else
      unknown.push_back(key);
  }
  if (!errors.empty()) return errors;
  const std::string note = note_text(version, unknown);
  if (!note.empty()) parsed.notes.push_back({Severity::warning, "", note});
  return parsed;
}

}  // namespace wireplan
