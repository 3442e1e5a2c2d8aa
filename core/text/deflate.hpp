// Raw DEFLATE (RFC 1951) and base64url (RFC 4648 section 5), for the part of a link that is not readable.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace wireplan {

// One block with the fixed codes, repeats found greedily. The same text gives the same bytes everywhere.
std::string deflated(std::string_view text);

// Reads stored, fixed and dynamic blocks. Errors (path "", for the caller to name): truncated or impossible data, more than `most` bytes.
Result<std::string> inflated(std::string_view data, std::size_t most);

std::string base64url(std::string_view data);                  // without padding
Result<std::string> base64url_decoded(std::string_view text);  // padding allowed

}  // namespace wireplan
