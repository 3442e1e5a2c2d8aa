#include "native/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/text/answer_json.hpp"
#include "core/text/render.hpp"

namespace wireplan {

int print(const std::string& text, ExitStatus status) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) return status;
  std::fprintf(stderr, "wireplan: cannot write the answer: %s\n", std::strerror(errno));
  return kBadInput;
}

int print_errors(const Errors& errors, bool json, ExitStatus status) {
  const std::string text = render_errors(errors);
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    std::fprintf(stderr, "wireplan: %s\n", text.substr(start, end - start).c_str());
    start = end + 1;
  }
  return json ? print(dump_json(write_errors(errors)), status) : status;
}

}  // namespace wireplan
