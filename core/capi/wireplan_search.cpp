#include <memory>
#include <optional>

#include "core/capi/copied.hpp"
#include "core/capi/wireplan.h"
#include "core/text/answer_json.hpp"
#include "core/text/search_request.hpp"

using namespace wireplan;

struct wireplan_search {
  Presets presets;
  Errors errors;
  std::unique_ptr<AskedSearch> asked;
  std::optional<Search> search;
  std::shared_ptr<Search::Worker> worker;
  std::size_t next = 0;  // piece of the block
};

wireplan_search* wireplan_search_open(const char* json) {
  auto opened = std::make_unique<wireplan_search>();
  const Result<Json> request = parse_json(json == nullptr ? "" : json);
  Result<std::unique_ptr<AskedSearch>> asked = request ? asked_search(request.value(), opened->presets) : Result<std::unique_ptr<AskedSearch>>(request.errors());
  if (!asked) {
    opened->errors = asked.errors();
    return opened.release();
  }
  opened->asked = std::move(asked.value());
  opened->search.emplace(opened->asked->plans, opened->asked->options, opened->asked->constants);
  opened->worker = opened->search->worker();
  return opened.release();
}

char* wireplan_search_step(wireplan_search* s, int pieces) {
  if (!s->search) return copied(dump_json(write_errors(s->errors)));
  Search& search = *s->search;
  for (; pieces > 0 && search.pieces() > 0; --pieces) {
    search.work(s->next++, *s->worker);
    if (s->next < search.pieces()) continue;
    search.finish_block();
    s->next = 0;
  }
  Json progress = write_search_progress(search);
  progress["done"] = search.pieces() == 0;
  return copied(dump_json(progress));
}

char* wireplan_search_answer(wireplan_search* s) {
  if (!s->search) return copied(dump_json(write_errors(s->errors)));
  const AskedSearch& asked = *s->asked;
  return copied(dump_json(write_search(asked, *s->search, search_report(*s->search, asked.base, asked.plans.back(), asked.constants, asked.unit), s->presets)));
}

void wireplan_search_close(wireplan_search* s) { delete s; }
