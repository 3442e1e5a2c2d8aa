// JSON in: strict, bounded, with a place for every error. JSON out: fixed key order, same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/units.hpp"

namespace wireplan {

using Json = nlohmann::ordered_json;

// Limits of any document: 4 MB of text, 64 levels of nesting.
inline constexpr std::size_t kMaxDocumentBytes = 4'000'000;
inline constexpr int kMaxDocumentDepth = 64;

// Parses one document. Errors (path "", value = the text near the fault) for: too long, too deep, not JSON (with line and
// column), a key given twice, a number outside the range of a double, bytes that are not UTF-8. Never throws, never recurses.
Result<Json> parse_json(std::string_view text);

// Two-space indented text with a final newline; numbers that are whole and below 2^53 print without a point; every other number as the
// shortest text that reads back as the same double; text that is not UTF-8 is replaced, never an abort.
std::string dump_json(const Json& json);
std::string dump_json_compact(const Json& json);

// A JSON number for a double: integer when it is whole and exact, null is never produced (the core has no NaN or infinity).
Json number(double value);

// object[key] = value, numbers as number() makes them. A call of one of these is a fraction of what the library's own templates
// expand to, and there are hundreds.
void put(Json& object, const char* key, Json value);
void put(Json& object, const char* key, std::nullptr_t);
void put(Json& object, const char* key, double value);
void put(Json& object, const char* key, std::int64_t value);
void put(Json& object, const char* key, int value);
void put(Json& object, const char* key, bool value);
void put(Json& object, const char* key, std::string_view text);
void put(Json& object, const char* key, const std::string& text);
void put(Json& object, const char* key, const char* text);
template <class Dimension>
void put(Json& object, const char* key, Quantity<Dimension> value) { put(object, key, value.value); }
// null unless the value is positive
void put_or_null(Json& object, const char* key, double value);

// JSON text of a value, cut at 80 characters on a UTF-8 border: the `value` of an error.
std::string value_text(const Json& json);

}  // namespace wireplan
