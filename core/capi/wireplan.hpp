// The C ABI for C++: who frees what is settled. JSON in, JSON out, as wireplan.h says; read it with any JSON library.
//
//   std::string answer = wireplan::call("estimate", R"("story")");
//
// Nothing here throws but std::bad_alloc: what is wrong with a request stands in the answer, {"errors": [...]}. Calls keep nothing
// between them, so threads may call at once; one search belongs to one thread at a time.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "wireplan.h"

namespace wireplan {

namespace detail {
inline std::string taken(char* text) {
  if (text == nullptr) throw std::bad_alloc();
  const std::unique_ptr<char, void (*)(char*)> owned(text, wireplan_free);
  return text;
}
}  // namespace detail

// One command on a JSON request; the commands stand in wireplan.h.
inline std::string call(const std::string& command, const std::string& json) { return detail::taken(wireplan_call(command.c_str(), json.c_str())); }

// Of the engine and of the presets in it.
inline std::string_view version() { return wireplan_version(); }

// The command `search` piece by piece, to show what is known meanwhile, or to stop.
class RunningSearch {
 public:
  explicit RunningSearch(const std::string& json) : search_(wireplan_search_open(json.c_str())) {
    if (!search_) throw std::bad_alloc();
  }

  // Does some work, a piece is up to a millisecond, and says how far it is: {"done", "progress", "counts", "best"}, or {"errors"}.
  std::string step(int pieces) { return detail::taken(wireplan_search_step(search_.get(), pieces)); }

  // The document by what is known.
  std::string answer() const { return detail::taken(wireplan_search_answer(search_.get())); }

 private:
  struct Close {
    void operator()(wireplan_search* search) const { wireplan_search_close(search); }
  };
  std::unique_ptr<wireplan_search, Close> search_;
};

}  // namespace wireplan
