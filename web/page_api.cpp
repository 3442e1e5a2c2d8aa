#include "web/page_api.hpp"

#include <cmath>
#include <utility>

#include "core/text/answer_json.hpp"
#include "core/text/json.hpp"
#include "web/adopt.hpp"
#include "web/app.hpp"
#include "web/documents.hpp"
#include "web/fonts.hpp"
#include "web/json_text.hpp"
#include "web/platform.hpp"

using namespace wireplan;

namespace {

// Keeps a text for the caller until the same function is called again.
const char* kept(std::string& buffer, std::string text) {
  buffer = std::move(text);
  return buffer.c_str();
}

const EmbeddedFont& font(int index) {
  return index == 1 ? kInterSemiBold : index == 2 ? kJetBrainsMono : kInterRegular;
}

void after(bool changed) {
  if (changed) follow_change(app());
}

std::string text_or_empty(const char* text) { return text ? text : ""; }

}  // namespace

int page_start(const char* link) {
  App& a = app();
  start(a.state, text_or_empty(link));
  follow_change(a);
  return open_pictures(a) ? 1 : 0;
}

int page_open(const char* link) {
  const bool opened = open_plan(app().state, text_or_empty(link));
  after(true);
  return opened ? 1 : 0;
}

const char* page_state() {
  static std::string text;
  return kept(text, state_document(app()));
}

const char* page_form() {
  static std::string text;
  return kept(text, form_document(app().form));
}

const char* page_scenarios() {
  static std::string text;
  return kept(text, scenarios_document(app().state));
}

const char* page_explain(const char* path) {
  static std::string text;
  const AppState& s = app().state;
  const Result<Explanation> found = explain(s.answer.plan, s.constants, s.answer.estimate, text_or_empty(path));
  return kept(text, dump_json_compact(found ? write_explanation(found.value()) : write_errors(found.errors())));
}

const char* page_alternatives() {
  static std::string text;
  return kept(text, alternatives_document(app().state));
}

const char* page_words() {
  static std::string text;
  JsonText out;
  out.object();
  for (const auto& [key, words] : app().state.words.texts()) out.field(key, words);
  return kept(text, out.end_object().take());
}

void page_edit(const char* path, const char* value) {
  after(apply(app().state, {text_or_empty(path), text_or_empty(value)}));
}
const char* page_adopt(const char* kind, const char* json) {
  static std::string text;
  const Adopted adopted = adopt(app().state, text_or_empty(kind), text_or_empty(json));
  after(adopted.changed);
  return kept(text, adopted_document(adopted));
}
int page_nccl(const char* request, const char* answer) {
  const bool taken = take_nccl(app().state, text_or_empty(request), text_or_empty(answer));
  after(taken);
  return taken ? 1 : 0;
}
void page_undo() { after(undo(app().state)); }
void page_redo() { after(redo(app().state)); }

void page_reset() {
  reset(app().state);
  after(true);
}

void page_view(const char* key, const char* value) {
  after(apply(app().state, {"view." + text_or_empty(key), text_or_empty(value)}));
}

const char* page_export(const char* format) {
  static std::string text;
  return kept(text, export_text(app().state, text_or_empty(format)));
}

const char* page_rect(const char* key) {
  static std::string text;
  for (const KeyedRect& k : app().ui.keys)
    if (k.key == key)
      return kept(
          text, JsonText().array().value(k.rect.x).value(k.rect.y).value(k.rect.w).value(k.rect.h).end_array().take());
  return kept(text, "");
}

const char* page_keys() {
  static std::string text;
  JsonText out;
  out.array();
  for (const KeyedRect& k : app().ui.keys) out.value(k.key);
  return kept(text, out.end_array().take());
}

int page_frames() { return app().frames; }
void page_wake(int frames) { wake(app(), frames); }
void page_resize(int css_width, int css_height) { resize(app(), css_width, css_height); }
int page_wanted_height(int css_width) {
  return static_cast<int>(std::ceil(wanted_height(app().state, static_cast<float>(css_width))));
}
const unsigned char* page_font(int index) { return font(index).data; }
int page_font_size(int index) { return static_cast<int>(font(index).size); }
void page_restored() {
  if (app().has_pictures) platform::restore();
}
